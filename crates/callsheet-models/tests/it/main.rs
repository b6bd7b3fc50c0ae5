//! Tests of the models in one binary, because each binary is linked separately.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

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
mod vendors;
