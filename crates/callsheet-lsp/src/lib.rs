//! A language server for sheets, skills and templates, over stdio. It understands texts. For the content of the project
//! and the issues of a file, it asks a [`Project`]. It runs nothing and writes nothing: renames and corrections are
//! proposals to the editor.
//!
//! No type of the protocol leaves this crate.

mod answers;
mod complete;
mod cursor;
mod definition;
mod hover;
mod lines;
mod project;
mod rename;
mod server;
#[cfg(test)]
mod tests;

pub use project::{Definition, Entry, Finding, Fix, Kind, Named, Project, Weight};
pub use server::{ServeFault, serve};
