//! The shell around the pure core: ports to the world, resolution of references, staged changes, and the driver that
//! performs the pending effects of a run. It names no concrete adapter.

pub mod branch;
pub mod changes;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod driver;
pub mod effects;
pub mod fault;
pub mod file_index;
pub mod grants;
mod issues;
pub mod material;
pub mod paths;
pub mod pictures;
pub mod ports;
pub mod prompting;
pub mod prompts;
mod reading;
pub mod references;
mod replay;
pub mod rules;
pub mod runfiles;
pub mod services;
pub mod sheetfile;
pub mod shown;
pub mod skills;
pub mod templates;
#[cfg(test)]
mod testing;
pub mod transport_policy;
pub mod trust;
