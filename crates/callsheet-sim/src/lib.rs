//! The run machine under a seed: random lists, good and bad replies, faults, repeated and late events, a random order
//! of completion, crashes at any place of the log, failing writes, lost tails, clock jumps, two drivers, edits, and
//! random answers at gates. The promises are the functions of [`checkers`]. A broken promise names its seed, and
//! `cargo run -p callsheet-sim -- --seed N` shows its log.

mod answers;
mod blows;
mod books;
mod changes;
pub mod checkers;
mod checks;
mod ends;
mod faults;
mod joins;
mod library;
mod logs;
mod many;
mod marks;
mod people;
mod plan;
mod process;
pub mod random;
mod reviews;
mod routes;
mod settings;
mod shell;
mod slots;
mod steering;
mod store;
pub mod tree_checkers;
mod trees;
pub mod why;
mod world;

pub use faults::Fault;
pub use many::{Summary, simulate_all};
pub use marks::Marks;
pub use shell::{Broken, Report, simulate, simulate_faulty, simulate_tree};
