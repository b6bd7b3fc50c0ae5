//! Agent Client Protocol (spec 13.8): Callsheet as an agent in editors. An editor session is one run, or several runs
//! one after another. This crate turns prompts and answers into run commands, and shows runs as plans, tool calls and
//! messages. It makes no decisions of its own and treats everything an editor sends as data. The types of the protocol
//! library stay inside this crate.

mod commands;
mod editor;
mod form;
mod gate;
mod limits;
mod project;
mod request;
mod serve;
mod session;
mod stream;
mod teller;
mod turn;
mod words;

pub use project::{Driving, Project, Said, Work, Workplace};
pub use serve::serve;
