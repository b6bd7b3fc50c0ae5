//! Sheets, the Markdown form of a task list: rendering, headings and merging. Reading is in `reply`.

mod anchors;
mod mark;
mod merge;
mod render;

pub use anchors::{Heading, find_heading, headings, titles_of};
pub use mark::split_mark;
pub use merge::{RunText, join_items, merge_runs};
pub(crate) use render::key as render_key;
pub use render::{
    ALLOW_FAILURES, IN, SheetTask, TaskForm, has_reasoning_tag, render_goals, render_list, render_plan, render_sheet,
    render_task, write_for_each,
};
