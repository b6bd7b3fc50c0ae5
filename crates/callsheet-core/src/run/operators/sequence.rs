//! `sequential`: steps in order, each after the one before.

use crate::record::Plan;
use crate::template::{Kind, Node, OnError};

use super::rules::{Rules, nth};
use super::{EvalPhase, Move, Place, View, Work};

pub(super) static RULES: Rules = Rules { next, below, in_order: true, gives_its_last: true, ..Rules::LEAF };

fn next(view: View<'_>, kind: &Kind, _: &Plan) -> Move {
    let Kind::Sequential { steps, on_error } = kind else { return Move::Owe(EvalPhase::Close) };
    let mut failed = false;
    for (index, step) in (0..).zip(steps) {
        // With `collect` later steps still run up to the next one that holds a writer.
        if failed && (*on_error == OnError::Fail || holds_writer(view, step)) {
            return Move::Owe(EvalPhase::Close);
        }
        match view.part(Place::Child { index }) {
            Ok(child) if child.closed.as_ref().is_some_and(|closed| closed.fatal) => {
                return Move::Owe(EvalPhase::Close);
            }
            Ok(child) => failed |= child.failed(),
            Err(what) => return what,
        }
    }
    Move::Owe(EvalPhase::Close)
}

fn holds_writer(view: View<'_>, step: &Node) -> bool {
    step.walk().iter().any(|node| node.requires_approval(view.writes))
}

fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    match (kind, place) {
        (Kind::Sequential { steps, .. }, Place::Child { index }) => nth(steps, *index),
        _ => None,
    }
}
