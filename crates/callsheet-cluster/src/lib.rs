//! A run on a durable engine that several processes share. The engine keeps the log of each run and lets one writer at a
//! time change it. The dispatcher folds the log and hands the effects to workers. The machine is the same as in a local run:
//! [`callsheet_runtime`] folds the log and says what is to be done.
//!
//! The engine is Restate. No type of it leaves this crate: a program starts [`Engine`], serves with [`serve`], performs
//! with [`work`], and uses runs through [`RemoteStore`], which is a store like any other.

mod blobs;
mod brought;
mod bucket;
mod calls;
mod checkouts;
mod client;
mod collect;
mod copies;
mod desk;
mod door;
mod engine;
mod fault;
mod host;
mod hosted_store;
mod landings;
mod limits;
mod live;
mod objects;
mod own_work;
mod placement;
mod records;
mod remote;
mod rights;
mod serve;
mod snapshots;
mod summary;
mod texts;
mod tls;
mod worker;

pub use bucket::Bucket;
pub use calls::Offer;
pub use checkouts::Checkout;
pub use client::Access;
pub use collect::Unnamed;
pub use desk::WorkerView;
pub use engine::{Engine, Installed, LICENCE, Sockets, installed};
pub use fault::ClusterFault;
pub use host::{Project, ProjectFiles};
pub use limits::WorkerSlots;
pub use live::WorkerTexts;
pub use remote::RemoteStore;
pub use serve::{Serving, serve};
pub use tls::{Certificate, Fingerprint, Trust};
pub use worker::{Place, Worker, work};
