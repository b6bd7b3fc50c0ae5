//! The shell around the pure core: ports to the world, resolution of references, staged changes, and the driver that
//! performs what a run owes. No concrete adapter is named here.

pub mod paths;

pub mod ports;

#[cfg(feature = "conformance")]
pub mod conformance;
