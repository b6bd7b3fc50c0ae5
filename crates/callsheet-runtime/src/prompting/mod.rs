//! Prompting: what a call says is put together from the record and the project.

pub(crate) mod assemble;
pub(crate) mod constraint;
mod conversation;
pub(crate) mod handler;
pub(crate) mod known;

pub use assemble::PromptRecord;
