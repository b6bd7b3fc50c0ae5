//! Every model adapter but the embedded one, behind the `Model` port: hosted vendors and local servers through pure dialects
//! on one transport, scripted models, and cassettes. Vendors are rows of `vendors.toml`.
//!
//! Nothing is opened before the first request. Keys live in `secrecy` values and never reach a log, an error or `Debug`.

mod adapt;

pub mod config;

pub mod fault;

pub mod measure;

mod notes;

pub mod probe;

pub mod replay;

pub mod scripted;

mod served;

mod tokens;

pub mod transport;

pub mod wire;
