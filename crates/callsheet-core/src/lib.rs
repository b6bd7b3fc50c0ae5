//! The pure core of Callsheet: what a task is, what happened in a run, and what must happen next.
//!
//! It knows no text format: `callsheet-format` reads and prints what people and models write. Nothing here uses the
//! clock, the network, files, the environment, randomness or async. Modules are listed from the bottom up. A module may
//! use those above it in this list, never those below.

pub mod visible;

pub mod fence;

pub mod fuzzy;

pub mod texts;

pub mod words;

pub mod units;

pub mod nouns;

pub mod symbols;

pub mod names;

pub mod links;

pub mod issue;

pub mod prompt;

pub mod template;

pub mod file_index;

pub mod record;

pub mod adopt;

pub mod placement;

pub mod run;

pub use run::events;

pub mod evaluate;

pub mod view;
