//! The sheet file: what a run begins with, what the host writes, what a person may edit, and what a command may not.

mod edit;
mod given;
mod report;
mod text;
mod tracker;
mod watch;

pub(crate) use edit::{Edit, Refused};
pub use edit::{EditPreview, preview_edit};
pub(crate) use given::adopt_host_list;
pub use given::{SheetReading, check_sheet};
pub use text::sheet_text;
pub(crate) use tracker::{Look, Place, SheetTracker};
pub use tracker::{is_edited, is_of_person};
pub(crate) use watch::SheetWatch;
