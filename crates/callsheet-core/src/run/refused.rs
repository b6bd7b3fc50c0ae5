//! Moves that the machine refused itself. There are none, unless the machine has a defect.

use std::fmt;

use crate::nouns::Slug;

use super::State;

/// A change of a task's state that an accepted event asked for and the table of spec 2.10 does not hold. The task stayed where
/// it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMove {
    /// The task.
    pub task: Slug,
    /// Its state; `None`: there is no such task.
    pub from: Option<State>,
    /// The state that it was to have.
    pub to: State,
    /// Number of the last event before.
    pub after: u64,
}

impl fmt::Display for RefusedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.map_or("unknown", State::as_str);
        write!(f, "after event {}: {} was to go from {from} to {}", self.after, self.task, self.to.as_str())
    }
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RefusedMoves(Vec<RefusedMove>);

impl RefusedMoves {
    pub fn note(&mut self, refused: RefusedMove) {
        self.0.push(refused);
    }

    pub fn all(&self) -> &[RefusedMove] {
        &self.0
    }
}
