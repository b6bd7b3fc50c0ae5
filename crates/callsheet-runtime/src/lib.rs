//! The shell around the pure core: ports to the world, resolution of references, staged changes, and the driver that
//! performs what a run owes. No concrete adapter is named here.

pub mod changes;

pub mod edge;

mod issues;
#[cfg(feature = "conformance")]
pub mod conformance;

pub mod paths;

pub mod ports;

pub mod references;

pub mod runfiles;

#[cfg(test)]
mod testing;
pub mod prompts;

pub mod skills;
#[cfg(feature = "conformance")]
pub mod conformance;
