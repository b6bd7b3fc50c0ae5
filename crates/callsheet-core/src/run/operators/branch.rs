//! `cond` and `call`: one child, whose result is theirs.

use super::{Moment, Move, Place, View};

/// The branch that was chosen. A `cond` of which nothing holds and that has no `else` is closed instead of opened.
pub(super) fn next(view: View<'_>, case: Option<u32>) -> Move {
    only(view, Place::Branch { case })
}

/// The body of the called template.
pub(super) fn body(view: View<'_>) -> Move {
    only(view, Place::Body)
}

fn only(view: View<'_>, place: Place) -> Move {
    match view.part(place) {
        Ok(_) => Move::Owe(Moment::Close),
        Err(what) => what,
    }
}
