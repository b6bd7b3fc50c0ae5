//! Sheets, the Markdown form of a task list: names, references and rendering. Reading is in `reply`.

mod adopt;
mod fence;
pub mod fill;
mod merge;
pub mod names;
pub mod reference;
mod render;

pub use adopt::{Adoption, Former, adopt, writer};
pub use fence::{block, fence};
pub use merge::{RunText, merge_runs};
pub use names::{heading_key, slug_of};
pub use reference::{link, link_target, parse_target};
pub use render::{TaskForm, render_goals, render_list, render_plan, render_sheet, render_task};
