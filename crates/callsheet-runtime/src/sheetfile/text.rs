//! The saved sheet (spec 3.4).

use callsheet_core::nouns::Slug;
use callsheet_core::run::{RemovedBy, Run, TaskPhase, TaskRun};
use callsheet_format::sheet;
use callsheet_format::sheet::SheetTask;

use crate::shown::{Shown, edited};

/// The maximum number of characters of the words about how a task ended.
const MAX_STATE: usize = 300;

/// The saved sheet (spec 3.4): the prompt, the goals, and every task of the plan in its step, with how it ended.
/// Invisible characters are marked, and known keys are masked.
pub fn sheet_text(run: &Run) -> String {
    Shown::text(&words(run)).into_string()
}

/// What a person meant with a sheet: lines that they left as shown are those of the run.
pub(super) fn meant(run: &Run, text: &str) -> String {
    edited(&words(run), Shown::text, text)
}

fn words(run: &Run) -> String {
    let shown = |slug: &Slug| {
        let task = run.task(slug)?;
        let output = task.result().map_or("", |result| result.summary.as_str());
        Some(SheetTask { task: &task.task, state: state(run, task), output })
    };
    let steps: Vec<Vec<SheetTask<'_>>> =
        run.steps().iter().map(|step| step.iter().filter_map(shown).collect()).collect();
    sheet::render_sheet(run.prompt(), run.goals(), &steps, run.no_longer_relevant())
}

/// How a task ended, in one line. Empty if it has not ended.
fn state(run: &Run, task: &TaskRun) -> String {
    let words = match &task.phase {
        TaskPhase::Done(_) => "done".to_owned(),
        TaskPhase::Failed { failure, .. } => said("failed", &failure.reason),
        TaskPhase::Denied { words, .. } => said("denied", words),
        TaskPhase::Blocked { by, .. } => match run.task(by).filter(|cause| cause.task.slug != task.task.slug) {
            Some(cause) => format!("blocked by {}", cause.task.name),
            None => "blocked".to_owned(),
        },
        TaskPhase::Dropped(RemovedBy::Reply { reason }) => said("removed", reason),
        TaskPhase::Dropped(_) => "removed".to_owned(),
        _ => String::new(),
    };
    let mut line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(MAX_STATE) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

fn said(state: &str, words: &str) -> String {
    if words.trim().is_empty() { state.to_owned() } else { format!("{state}: {words}") }
}
