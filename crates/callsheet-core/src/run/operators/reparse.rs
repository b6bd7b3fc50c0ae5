//! A failed atomic task that a model splits (spec 11): a handler is asked for the split, an evaluation checks it, and
//! what it gave runs in the place of the task.

use crate::template::operators::{ChildSlot, EvalPhase, Move, Parts};

use super::{Reparse, View};

pub(super) fn next(view: &View<'_>, reparse: &Reparse) -> Move {
    match (view.after(ChildSlot::Split), &reparse.grown) {
        (Err(what), _) => what,
        (Ok(_), None) => Move::Owe(EvalPhase::Judge),
        (Ok(_), Some(_)) => match view.after(ChildSlot::Regrown) {
            Err(what) => what,
            Ok(_) => Move::Owe(EvalPhase::Close),
        },
    }
}
