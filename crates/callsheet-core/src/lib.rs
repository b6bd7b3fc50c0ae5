//! The pure core of Callsheet: what a sheet is, how model output is read, and what a run owes next.
//!
//! Nothing here touches the clock, the network, files, the environment, randomness or async. Modules are listed
//! from the bottom up; a module may use those above it in this list, never those below.

pub mod visible;

pub mod spec;

pub mod grammar;

pub mod sheet;

pub mod skill;

pub mod reply;

pub mod template;

pub mod memory;

pub mod record;

pub mod adopt;

pub mod prompt;

pub mod run;

pub mod evaluate;

pub mod view;
