//! A run as one HTML file that opens anywhere, and its timeline as a picture. Nothing that a model, a tool or a file said
//! becomes markup.

mod approvals;
mod changes;
mod cost;
mod machine;
mod markdown;
mod page;
mod picture;
mod scale;
mod tasks;
mod timeline;
mod troubles;
mod zoom;

pub use machine::{junit, sarif};
pub use markdown::markdown;
pub use timeline::{TIMELINE_STYLE, timeline};
pub use zoom::Zoom;

use callsheet_app::{Folded, RunControl, RunView, omitted_rules, result_of_tree, warnings_of_tree};
use callsheet_core::events::LogEntry;
use callsheet_core::nouns::BlobId;
use callsheet_core::template::TaskResult;
use callsheet_core::view::civil;
use callsheet_core::visible::readable;
use callsheet_runtime::ports::RunSummary;
use callsheet_runtime::shown::{Shown, mask};

/// Tasks up to which a report tells each whole. Of more it tells so those that failed or changed files.
const WHOLE: usize = 200;

/// The input of a report.
struct Source<'a> {
    /// Name of the run.
    name: &'a str,
    /// When the run began, in words.
    began: String,
    /// The run, folded from `entries`.
    run: &'a RunView,
    /// The log of the run.
    entries: &'a [LogEntry],
    /// The result, if a template ran.
    of_tree: Option<TaskResult>,
    /// The warnings of the tasks of templates.
    warnings: Vec<String>,
    /// Looks up texts of the record.
    blob: &'a dyn Fn(&BlobId) -> Option<String>,
    /// Rules of the project that did not fit into prompts.
    omitted: Vec<String>,
}

/// A run as one self-contained HTML file without scripts.
pub fn report(runs: &dyn RunControl, found: &RunSummary, Folded { run, entries, .. }: &Folded) -> Shown {
    Shown::html(&page::html(&Source {
        name: found.run.as_str(),
        began: began(run, found.started_at),
        run,
        entries,
        of_tree: result_of_tree(runs, run),
        warnings: warnings_of_tree(runs, run),
        blob: &|blob| runs.blob(blob).ok().map(|bytes| mask(&String::from_utf8_lossy(&bytes)).into_owned()),
        omitted: omitted_rules(runs, run),
    }))
}

fn began(run: &RunView, at: u64) -> String {
    let (year, month, day, seconds) = civil(at);
    let date = format!("{year:04}-{month:02}-{day:02}, {:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60);
    if run.about().follow_ups.is_empty() { date } else { format!("{date}, continued later") }
}

/// Untrusted text with its hidden characters made visible. `maud` escapes markup.
fn shown(text: &str) -> String {
    readable(text.trim_end())
}
