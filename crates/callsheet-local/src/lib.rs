//! Embedded inference: a GGUF file as a [`Model`](callsheet_runtime::ports::Model), and the weights it needs.
//!
//! [`weights`] compiles everywhere: the catalogue, what is already on this machine, and downloads. The engine (llama.cpp
//! with constrained decoding) is the feature `engine`, because it needs a C++ compiler and minutes to build.

pub mod weights;

#[cfg(feature = "engine")]
mod engine;

#[cfg(feature = "engine")]
pub use engine::{EmbeddedModel, EmbeddedOptions, LoadFault, Timing};
