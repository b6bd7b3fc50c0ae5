//! A model splits a failed atomic task (spec 11). A handler is asked for the split, an evaluation checks it, and the
//! resulting template runs in place of the task.

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
