//! A run as a file that can be sent to somebody.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::run::Run;
use callsheet_core::template::TaskResult;
use callsheet_core::view::civil;
use callsheet_report::Source;
use callsheet_runtime::ports::{RunSummary, Store};
use callsheet_runtime::prompting::PromptRecord;
use callsheet_runtime::shown::{Shown, mask};

use crate::local::Folded;

/// The report as one page.
pub fn report_html(store: &Arc<dyn Store>, found: &RunSummary, Folded { run, facts }: &Folded) -> Shown {
    Shown::html(&callsheet_report::html(&Source {
        name: found.run.as_str(),
        began: &began(run, found.started_at),
        run,
        facts,
        of_tree: result_of_tree(store, run).as_ref(),
        blob: &|blob| store.blob(blob).ok().map(|bytes| mask(&String::from_utf8_lossy(&bytes)).into_owned()),
        version: env!("CARGO_PKG_VERSION"),
        omitted: &omitted_rules(store, run),
    }))
}

/// Rules of the project that prompts had no room for, each once.
pub fn omitted_rules(store: &Arc<dyn Store>, run: &Run) -> Vec<String> {
    let prompts = run.calls().iter().filter_map(|call| store.blob(&call.prompt).ok());
    let prompts = prompts.filter_map(|bytes| serde_json::from_slice::<PromptRecord>(&bytes).ok());
    let words: BTreeSet<String> = prompts.flat_map(|prompt| prompt.rules_omitted).collect();
    words.into_iter().collect()
}

/// The result of the run of a template.
pub fn result_of_tree(store: &Arc<dyn Store>, run: &Run) -> Option<TaskResult> {
    callsheet_core::evaluate::result_of_run(run, &|blob| store.blob(blob).ok())
}

fn began(run: &Run, at: u64) -> String {
    let (year, month, day, seconds) = civil(at);
    let date = format!("{year:04}-{month:02}-{day:02}, {:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60);
    if run.follow_ups().is_empty() { date } else { format!("{date}, continued later") }
}
