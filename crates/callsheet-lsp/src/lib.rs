//! A language server for sheets, skills and templates, over stdio. It understands texts; what the project holds and what is
//! wrong with a file it asks of a [`Project`]. It runs nothing and writes nothing: a rename is a proposal to the editor.
//!
//! No type of the protocol leaks out of this crate.

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
