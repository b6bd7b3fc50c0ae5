//! The shell around the pure core: ports to the world, resolution of references, staged changes, and the driver that
//! performs what a run owes. No concrete adapter is named here.

pub mod changes;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod driver;
mod effects;
mod fault;
mod issues;
pub mod memory;
pub mod paths;
pub mod ports;
mod prompting;
pub mod prompts;
pub mod references;
pub mod runfiles;
mod services;
mod sheetfile;
pub mod skills;
pub mod templates;
#[cfg(test)]
mod testing;
pub mod transport_policy;
pub mod trust;
