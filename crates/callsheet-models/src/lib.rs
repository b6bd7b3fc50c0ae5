//! Every model adapter but the embedded one, behind the `Model` port: hosted vendors through one library, local servers
//! through our own pure dialects on one transport, scripted models, and cassettes. Vendors are rows of `vendors.toml`.
//!
//! Nothing is opened before the first request. Keys live in `secrecy` values and never reach a log, an error or `Debug`.

mod adapt;

pub mod config;

pub mod fault;

#[cfg(feature = "hosted")]
mod hosted;

mod local;

pub mod measure;

mod notes;

pub mod probe;

pub mod replay;

pub mod scripted;

mod tokens;

pub mod transport;

pub mod wire;
