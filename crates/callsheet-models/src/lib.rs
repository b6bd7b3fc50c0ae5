//! Every model adapter except the embedded one, behind the `Model` port: hosted vendors and local servers, with pure
//! dialects on one transport; scripted models; and cassettes. Vendors are rows of `vendors.toml`.
//!
//! Nothing is opened before the first request. Keys are `secrecy` values and never reach a log, an error or `Debug`.

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
