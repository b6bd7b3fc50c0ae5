//! A run as one HTML file that opens anywhere, and its timeline as a picture. Pure: from a record to text. Nothing that a
//! model, a tool or a file said becomes markup.

mod approvals;
mod changes;
mod cost;
mod markdown;
mod page;
mod picture;
mod scale;
mod tasks;
mod timeline;
mod troubles;
mod zoom;

pub use markdown::markdown;
pub use page::html;
pub use timeline::{TIMELINE_STYLE, timeline};
pub use zoom::Zoom;

use callsheet_core::events::LogEntry;
use callsheet_core::run::Run;
use callsheet_core::spec::BlobId;
use callsheet_core::template::TaskResult;
use callsheet_core::visible::readable;

/// What a report is made of.
pub struct Source<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// When it began, in words.
    pub began: &'a str,
    /// The run, folded from `facts`.
    pub run: &'a Run,
    /// Its log.
    pub facts: &'a [LogEntry],
    /// The result of the run of a template.
    pub of_tree: Option<&'a TaskResult>,
    /// Texts of the record.
    pub blob: &'a dyn Fn(&BlobId) -> Option<String>,
    /// Rules of the project that prompts had no room for.
    pub omitted: &'a [String],
    /// The version that makes the report.
    pub version: &'a str,
}

/// Untrusted text, its hidden characters shown. `maud` escapes what would be markup.
fn shown(text: &str) -> String {
    readable(text.trim_end())
}
