//! Prompting: builds what a call says from the record and the project.

pub(crate) mod assemble;
pub(crate) mod constraint;
pub(crate) mod conversation;
pub(crate) mod fault;
pub(crate) mod handler;
pub(crate) mod keys;
mod project;
pub(crate) mod recorded;
pub(crate) mod render;
pub(crate) mod reverted;
pub(crate) mod review;
pub(crate) mod run_texts;
pub(crate) mod sampling;
mod size;
pub(crate) mod task_references;
pub(crate) mod texts;

pub use render::PromptRecord;
