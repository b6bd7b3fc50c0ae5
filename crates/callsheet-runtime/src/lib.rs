//! The shell around the pure core: ports to the world, resolution of references, staged changes, and the driver that
//! performs what a run owes. No concrete adapter is named here.

#[cfg(feature = "conformance")]
pub mod conformance;

pub mod changes;

pub mod edge;

mod issues;

pub mod paths;

pub mod ports;

pub mod references;

pub mod runfiles;

#[cfg(test)]
mod testing;
