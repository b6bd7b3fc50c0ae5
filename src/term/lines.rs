//! What the states of tasks do not say.

use callsheet_core::events::Event;
use callsheet_core::run::{Run, State};
use callsheet_core::view::own_failure;

use super::state_mark;

/// A task with parts that failed by itself: it is no task of the list, whose states are told.
pub(super) fn own_failure_line(event: &Event, run: &Run) -> Option<String> {
    let (mark, word) = state_mark(State::Failed);
    own_failure(event, run).map(|task| format!("{mark} {task} {word}"))
}
