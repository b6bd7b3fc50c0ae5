//! Tests of the models, as one binary: each binary is linked for itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

mod config;
mod conformance;
mod dialects;
mod faults;
mod hosted;
mod llamacpp_server;
mod probe;
mod replay;
mod replies;
mod scripted;
mod silence;
