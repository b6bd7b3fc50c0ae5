//! Agent Client Protocol (spec 13.8): Callsheet as an agent in editors. A session of an editor is a run, or several runs
//! one after another. This crate turns prompts and answers into commands for runs, and draws runs as plans, activities
//! and messages. It decides nothing. What an editor says is data, and no type of the protocol's library leaves this
//! crate.

mod commands;
mod editor;
mod gate;
mod limits;
mod project;
mod request;
mod serve;
mod session;
mod teller;
mod turn;
mod words;

pub use project::{Driving, Project, Said, Work, Workplace};
pub use serve::serve;
