//! Change sets on disk (spec 3.10): staging, applying as a whole, rolling back interrupted sets, and reverting.
//!
//! A set is applied under one lock of the project. Its journal entry is durable before the first file is touched. All
//! new contents are written beside their destinations before the first one is put in place, and any failure puts all
//! originals back. After a crash at any point, `roll_back` does the same with the set in the record. Lock and journal
//! are in the user's state folder, and every path is checked as for an apply, so nothing in the project decides what is
//! written.

mod apply;
mod brought;
mod journal;
mod lock;
mod stage;
mod steps;

pub use apply::{ApplyFault, Means, apply, holding, originals, revert, roll_back};
pub use brought::{Written, bring_back};
pub use journal::{Journal, forgotten};
pub use lock::ProjectLock;
pub use stage::{Edit, StageFault, stage};

#[cfg(test)]
mod tests;
