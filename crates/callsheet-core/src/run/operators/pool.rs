//! What `map` and `parallel` share: children beside each other, at most so many at once, in any order of completion.

use crate::template::OnError;

use super::{EvalPhase, Move, Place, View};

pub(super) fn next(
    view: View<'_>,
    count: usize,
    max_parallel: u32,
    on_error: OnError,
    place: impl Fn(u32) -> Place,
) -> Move {
    let (mut opened, mut running, mut stops) = (0_usize, 0_usize, false);
    for child in view.parts() {
        opened += 1;
        running += usize::from(child.closed.is_none());
        let fatal = child.closed.as_ref().is_some_and(|closed| closed.fatal);
        stops |= fatal || (on_error == OnError::Fail && child.failed());
    }
    if !stops && opened < count {
        let room = super::count_of(max_parallel).max(1).saturating_sub(running);
        let last = count.min(opened.saturating_add(room));
        let places: Vec<Place> = (opened..last).filter_map(|index| u32::try_from(index).ok().map(&place)).collect();
        return if places.is_empty() { Move::Wait } else { Move::Open(places) };
    }
    // Running siblings finish and are kept.
    if running > 0 { Move::Wait } else { Move::Owe(EvalPhase::Close) }
}
