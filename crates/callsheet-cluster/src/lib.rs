//! A run on a durable engine that several processes share. The engine keeps the log of each run and lets one writer at a
//! time change it. Workers perform the effects. The machine is the same as in a local run: [`callsheet_runtime`] folds
//! the log and says what is to be done.
//!
//! The engine is Restate. No type of it leaves this crate: a program starts [`Engine`], serves [`serve`], and uses runs
//! through [`RemoteStore`], which is a store like any other.

mod blobs;
mod calls;
mod client;
mod engine;
mod fault;
mod host;
mod hosted_store;
mod objects;
mod registry;
mod remote;
mod serve;
mod summary;

pub use engine::{Addresses, Engine, Installed, LICENCE, installed, is_up};
pub use fault::ClusterFault;
pub use host::Project;
pub use remote::RemoteStore;
pub use serve::{Worker, serve};
