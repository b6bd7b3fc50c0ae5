//! Embedded inference: runs a GGUF file as a [`Model`](callsheet_runtime::ports::Model), and finds or downloads its
//! weights.
//!
//! [`weights`] compiles everywhere: the catalogue, the search on this machine, and downloads. The engine (llama.cpp
//! with constrained decoding) is the feature `engine`, because it needs a C++ compiler and minutes to build.

pub mod weights;

#[cfg(feature = "engine")]
mod engine;

#[cfg(feature = "engine")]
pub use engine::{EmbeddedModel, EmbeddedOptions, LoadFault, Timing};
