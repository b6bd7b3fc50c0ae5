//! `reduce`: for each input, strictly one after the other, `inner_task` and then `reduction_task`.

use super::{Moment, Move, Place, View};

pub(super) fn next(view: View<'_>, count: u32) -> Move {
    for index in 0..count {
        for place in [Place::Inner { index }, Place::Reduction { index }] {
            match view.part(place) {
                Ok(child) if child.failed() => return Move::Owe(Moment::Close),
                Ok(_) => {}
                Err(what) => return what,
            }
        }
    }
    Move::Owe(Moment::Close)
}
