//! Words that say that nothing is left to do (spec 3.5, 4.4 `empty-done`).

use callsheet_core::fuzzy::normalize;

const DONE: &[&str] = &[
    "",
    "none",
    "n a",
    "nothing",
    "nothing left",
    "nothing left to do",
    "nothing to do",
    "empty",
    "done",
    "all done",
    "finished",
    "complete",
    "completed",
    "no task",
    "no tasks",
    "no more tasks",
    "no further tasks",
    "no other tasks",
    "no new tasks",
    "no open tasks",
    "no tasks left",
    "no tasks remain",
    "no tasks remaining",
    "no remaining tasks",
    "no outstanding tasks",
    "no tasks are outstanding",
    "no tasks outstanding",
    "all tasks done",
    "all tasks are done",
    "all tasks complete",
    "all tasks are complete",
    "all tasks completed",
    "all tasks are completed",
    "all tasks have been completed",
    "all tasks finished",
    "all tasks are finished",
];

/// Whether a text is empty or only says that nothing is left.
pub fn says_done(text: &str) -> bool {
    text.len() <= 80 && DONE.contains(&normalize(text).as_str())
}
