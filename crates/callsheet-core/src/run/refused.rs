//! Moves that the machine itself refused. Each one is a defect of the machine.

use std::fmt;

use crate::nouns::Slug;

use super::State;

/// A change of a task's state that an accepted event asked for and that the table of spec 2.10 does not contain. The
/// task kept its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMove {
    /// The task.
    pub task: Slug,
    /// Its state. `None` if there is no such task.
    pub from: Option<State>,
    /// The state that was asked for.
    pub to: State,
    /// The number of the last event before the move.
    pub after: u64,
}

impl fmt::Display for RefusedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.map_or("unknown", State::as_str);
        write!(f, "after event {}: {} should have gone from {from} to {}", self.after, self.task, self.to.as_str())
    }
}

/// All refused moves of a run.
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
