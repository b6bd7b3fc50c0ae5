//! Sheets, the Markdown form of a task list: names, references and rendering. Reading is in `reply`.

mod anchors;
mod fence;
pub mod fill;
mod mark;
mod merge;
pub mod names;
pub mod reference;
mod render;
mod symbols;
mod titles;

pub use anchors::{Heading, find_heading, headings};
pub use fence::{block, fence};
pub use mark::split_mark;
pub use merge::{RunText, merge_runs};
pub use names::{heading_key, slug_of};
pub use reference::{is_restricted, link, link_target, parse_name, parse_target};
pub use render::{TaskForm, has_reasoning_tag, render_goals, render_list, render_plan, render_sheet, render_task};
pub use symbols::{Symbol, SymbolKind, SymbolMatch, find_symbol, is_symbol_suffix};
pub use titles::{call_title, distinct_title, reference_title};
