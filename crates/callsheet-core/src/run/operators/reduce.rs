//! `reduce`: for each input, strictly one after the other, `inner_task` and then `reduction_task`.

use crate::record::Plan;
use crate::template::Kind;

use super::rules::Rules;
use super::{EvalPhase, Move, Place, View, Work};

pub(super) static RULES: Rules = Rules { next, below, in_order: true, gives_its_last: true, ..Rules::LEAF };

fn next(view: View<'_>, _: &Kind, plan: &Plan) -> Move {
    let Plan::Items { count } = plan else { return Move::Owe(EvalPhase::Close) };
    for index in 0..*count {
        for place in [Place::Inner { index }, Place::Reduction { index }] {
            match view.part(place) {
                Ok(child) if child.failed() => return Move::Owe(EvalPhase::Close),
                Ok(_) => {}
                Err(what) => return what,
            }
        }
    }
    Move::Owe(EvalPhase::Close)
}

fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    let Kind::Reduce { inner, reduction, .. } = kind else { return None };
    match place {
        Place::Inner { .. } => Some(Work::Node(inner)),
        Place::Reduction { .. } => Some(Work::Node(reduction)),
        _ => None,
    }
}
