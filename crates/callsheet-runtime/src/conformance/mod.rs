//! Suites that every adapter of a port runs, so that the tenth behaves like the first. Test code: checks panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code that adapters run")]

pub mod store;
pub mod tool;
