//! `director_evaluator_loop`: director, script if there is one, evaluator, then the check, which is an evaluation.

use crate::record::Plan;
use crate::template::Kind;

use super::rules::Rules;
use super::{EvalPhase, Move, Place, View, Work};

pub(super) static RULES: Rules = Rules { next, below, ..Rules::LEAF };

fn next(view: View<'_>, kind: &Kind, _: &Plan) -> Move {
    let iteration = view.op.iteration.max(1);
    let has_script = matches!(kind, Kind::DirectorEvaluatorLoop { script: Some(_), .. });
    let parts = [
        Some(Place::Director { iteration }),
        has_script.then_some(Place::Script { iteration }),
        Some(Place::Evaluator { iteration }),
    ];
    for place in parts.into_iter().flatten() {
        match view.part(place) {
            Ok(child) if child.failed() => return Move::Owe(EvalPhase::Close),
            Ok(_) => {}
            Err(what) => return what,
        }
    }
    Move::Owe(EvalPhase::Judge)
}

fn below<'t>(kind: &'t Kind, place: &Place) -> Option<Work<'t>> {
    let Kind::DirectorEvaluatorLoop { director, evaluator, script, .. } = kind else { return None };
    match place {
        Place::Director { .. } => Some(Work::Node(director)),
        Place::Evaluator { .. } => Some(Work::Node(evaluator)),
        Place::Script { .. } => script.as_ref().map(Work::Script),
        _ => None,
    }
}
