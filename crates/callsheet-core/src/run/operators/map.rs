//! `map`: its body for each element, at most so many at once.

use crate::record::Plan;
use crate::template::{Kind, OnError};

use super::rules::Rules;
use super::{EvalPhase, Move, Place, View, Work, pool};

pub(super) static RULES: Rules = Rules { next, below, collects, ..Rules::LEAF };

fn next(view: View<'_>, kind: &Kind, plan: &Plan) -> Move {
    match (kind, plan) {
        (Kind::Map { max_parallel, on_error, .. }, Plan::Items { count }) => {
            pool::next(view, super::count_of(*count), *max_parallel, *on_error, |index| Place::Item { index })
        }
        _ => Move::Owe(EvalPhase::Close),
    }
}

fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    match (kind, place) {
        (Kind::Map { body, .. }, Place::Item { .. }) => Some(Work::Node(body)),
        _ => None,
    }
}

fn collects(kind: &Kind) -> bool {
    matches!(kind, Kind::Map { on_error: OnError::Collect, .. })
}
