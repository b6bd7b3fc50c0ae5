//! Tests of the engine, as one binary: each binary is linked for itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

mod player;
#[allow(dead_code, reason = "each test uses its part")]
mod sections;
#[allow(dead_code, reason = "each test uses its part")]
mod transcript;

mod coverage;
mod file_index;
mod operator_acceptance;
mod operators;
mod states;
mod subtasks;
mod transcripts;
