//! Change sets on disk (spec 3.10): staging, applying as a whole, rolling back what was interrupted, and reverting.
//!
//! A set is applied under one lock of the project. Its journal entry is durable before the first file is touched, all
//! new contents are written beside their destinations before the first is put in place, and any failure puts all
//! originals back. After a crash at any point `roll_back` does the same with the set that the record has. Lock and journal
//! are in the user's state folder, and every path is checked as for an apply: nothing in the project says what to write.

mod apply;
mod journal;
mod lock;
mod stage;
mod steps;

pub use apply::{ApplyFault, Means, apply, holding, revert, roll_back};
pub use journal::{Journal, forgotten};
pub use lock::ProjectLock;
pub use stage::{Edit, StageFault, stage};

#[cfg(test)]
mod tests;
