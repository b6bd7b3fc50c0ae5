//! References of a task: from a `References` value to targets that exist (spec 5).

mod aside;
mod check;
mod links;
mod named;
mod paths;
mod scope;
mod tasks;
mod titled;

pub use check::{check_links, check_source, check_target, check_value};
pub use links::{WrittenLink, is_none, says_none, written_links};
pub use paths::is_near;
pub use scope::{Scope, one_run};

pub use crate::reading::{Producer, Producers, files_of, named_files};
