//! Weights: a small catalogue of files that are known to work, which of them this machine has, and how to fetch the
//! others.

mod catalogue;
mod digest;
mod download;
mod fault;
mod find;
mod pip;
mod pull;

pub use catalogue::{Offer, Source, SourceFault, WeightsRow, catalogue, row, unasked};
pub use download::{Chunks, Download, DownloadFault, Opened};
pub use fault::WeightsFault;
pub use find::{HubCache, hub_address, installed};
pub use pull::{Fallback, Progress, PullOptions, Pulled, pull};
