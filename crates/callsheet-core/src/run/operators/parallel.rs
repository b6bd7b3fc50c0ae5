//! `parallel`: its children, at most so many at once.

use crate::record::Plan;
use crate::template::{Kind, OnError};

use super::rules::{Rules, nth};
use super::{EvalPhase, Move, Place, View, Work, pool};

pub(super) static RULES: Rules = Rules { next, below, collects, ..Rules::LEAF };

fn next(view: View<'_>, kind: &Kind, _: &Plan) -> Move {
    let Kind::Parallel { children, max_parallel, on_error } = kind else { return Move::Owe(EvalPhase::Close) };
    pool::next(view, children.len(), *max_parallel, *on_error, |index| Place::Child { index })
}

fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    match (kind, place) {
        (Kind::Parallel { children, .. }, Place::Child { index }) => nth(children, *index),
        _ => None,
    }
}

fn collects(kind: &Kind) -> bool {
    matches!(kind, Kind::Parallel { on_error: OnError::Collect, .. })
}
