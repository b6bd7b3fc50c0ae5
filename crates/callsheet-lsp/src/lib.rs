//! A language server for sheets, skills and templates, over stdio. It understands texts. For the content of the project
//! and the issues of a file, it asks a [`Project`]. It runs nothing and writes nothing: a rename is a proposal to the
//! editor.
//!
//! No type of the protocol leaves this crate.

mod answers;
mod complete;
mod cursor;
mod hover;
mod lines;
mod project;
mod rename;
mod server;
#[cfg(test)]
mod tests;

pub use project::{Entry, Finding, Kind, Project, Weight};
pub use server::{ServeFault, serve};
