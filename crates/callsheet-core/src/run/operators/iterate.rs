//! `director_evaluator_loop`: director, script if there is one, evaluator, then the check, which is an evaluation.

use super::{Moment, Move, Place, View};

pub(super) fn next(view: View<'_>, has_script: bool) -> Move {
    let iteration = view.op.iteration.max(1);
    let parts = [
        Some(Place::Director { iteration }),
        has_script.then_some(Place::Script { iteration }),
        Some(Place::Evaluator { iteration }),
    ];
    for place in parts.into_iter().flatten() {
        match view.part(place) {
            Ok(child) if child.failed() => return Move::Owe(Moment::Close),
            Ok(_) => {}
            Err(what) => return what,
        }
    }
    Move::Owe(Moment::Judge)
}
