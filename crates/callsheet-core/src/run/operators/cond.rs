//! `cond`: the branch that was chosen, whose result is its own. One of which nothing holds and that has no `else` is
//! closed instead of opened.

use crate::record::Plan;
use crate::template::Kind;

use super::rules::{Rules, only};
use super::{EvalPhase, Move, Place, View, Work};

pub(super) static RULES: Rules = Rules { next, below, gives_its_last: true, ..Rules::LEAF };

fn next(view: View<'_>, _: &Kind, plan: &Plan) -> Move {
    match plan {
        Plan::Branch { case } => only(view, Place::Branch { case: *case }),
        _ => Move::Owe(EvalPhase::Close),
    }
}

fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    let (Kind::Cond { cases, otherwise }, Place::Branch { case }) = (kind, place) else { return None };
    match case {
        Some(case) => cases.get(super::index_of(*case)?).map(|case| Work::Node(&case.body)),
        None => otherwise.as_deref().map(Work::Node),
    }
}
