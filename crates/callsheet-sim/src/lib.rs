//! The run machine under a seed: random lists, replies good and bad, faults, repeated and late facts, random order of
//! completion, crashes at any place of the log, gates answered at random. The promises are the functions of
//! [`checkers`]; a broken one names its seed, and `cargo run -p callsheet-sim -- --seed N` shows its log.

mod answers;
mod changes;
pub mod checkers;
mod checks;
mod joins;
mod library;
mod logs;
mod plan;
pub mod random;
mod reviews;
mod routes;
mod settings;
mod shell;
mod slots;
pub mod tree_checkers;
mod trees;
pub mod why;
mod world;

pub use shell::{Broken, Report, simulate, simulate_tree};
