//! The shell around the pure core: ports to the world, resolution of references, staged changes, and the driver that
//! performs what a run owes. No concrete adapter is named here.

pub mod changes;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod driver;
pub mod edge;
mod issues;
pub mod memory;
pub mod paths;
pub mod ports;
pub mod prompts;
pub mod references;
pub mod runfiles;
pub mod skills;
pub mod templates;
#[cfg(test)]
mod testing;
pub mod trust;
