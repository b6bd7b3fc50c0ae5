//! The machine: `apply` folds one fact, `outstanding` derives what the shell owes the world.

mod effect;

pub use effect::{Asked, Effect};
