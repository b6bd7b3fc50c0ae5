//! What people see: each page as pieces of markup. Texts of people, models and files are always plain text.

pub(crate) mod asks;
pub(crate) mod board;
pub(crate) mod call;
pub(crate) mod changes;
pub(crate) mod diff;
pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sheet;
pub(crate) mod task;
pub(crate) mod timeline;
