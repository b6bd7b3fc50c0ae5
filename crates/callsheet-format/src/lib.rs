//! What people and models write, read and printed: sheets, replies, skills, templates, prompts and grammars. It
//! converts text into the nouns of `callsheet-core` and back, and never decides what a run does next.
//!
//! Pure, like core. Modules are listed from the bottom up. Reading has stages: `markdown` turns a text into a loose
//! document, `reply` turns a document into a value. A module may use those above it in this list, never those below.

pub mod reading;

pub mod values;

mod yaml;

pub mod markdown;

pub mod items;

pub mod sheet;

pub mod edit;

pub mod grammar;

pub mod skill;

pub mod reply;

pub mod template;

pub mod prompt;
