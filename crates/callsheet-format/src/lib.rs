//! What people and models write, read and printed: sheets, replies, skills, templates, prompts and grammars. It turns text
//! into the nouns of `callsheet-core` and back, and never decides what a run does next.
//!
//! Pure, as core is. Modules are listed from the bottom up, reading by stage: `markdown` makes a loose document of a text,
//! `reply` a value of a document. A module may use those above it in this list, never those below.

pub mod reading;

pub mod values;

mod yaml;

pub mod markdown;

pub mod sheet;

pub mod edit;

pub mod grammar;

pub mod skill;

pub mod reply;

pub mod template;

pub mod prompt;
