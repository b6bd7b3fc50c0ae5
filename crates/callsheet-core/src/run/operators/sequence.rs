//! `sequential`: steps in order, each after the one before.

use crate::template::{Node, OnError};

use super::{Moment, Move, Place, View};

pub(super) fn next(view: View<'_>, steps: &[Node], on_error: OnError) -> Move {
    let mut failed = false;
    for (index, step) in (0..).zip(steps) {
        // With `collect`, as a sheet lowers, later steps still run up to the next one that holds a writer.
        if failed && (on_error == OnError::Fail || holds_writer(view, step)) {
            return Move::Owe(Moment::Close);
        }
        match view.part(Place::Child { index }) {
            Ok(child) if child.closed.as_ref().is_some_and(|closed| closed.fatal) => return Move::Owe(Moment::Close),
            Ok(child) => failed |= child.failed(),
            Err(what) => return what,
        }
    }
    Move::Owe(Moment::Close)
}

fn holds_writer(view: View<'_>, step: &Node) -> bool {
    step.walk().iter().any(|node| node.requires_approval(view.writes))
}
