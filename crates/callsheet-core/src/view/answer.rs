//! The answer of a run: what a person asked for, as far as the tasks provided it.

use std::collections::BTreeSet;

use crate::record::Outcome;
use crate::run::{Joined, Run, TaskRun};

/// The answer that a model wrote from the results of a run that has ended. Without such an answer, the results: a
/// single one by itself, several under the names of their tasks. A run that is active, waits or was stopped has no
/// answer. Neither has a template run, because it has a result.
///
/// `shown` returns the text of these tasks for the person, with links that work from the person's place.
pub fn answer(run: &Run, shown: &dyn Fn(&[&TaskRun], &str) -> String) -> String {
    if !is_answered(run) {
        return String::new();
    }
    match joined(run) {
        Some(Joined::Answer { text, .. }) => shown(&run.results(), text.trim()),
        Some(Joined::Failed(_)) | None => listed(&results(run, shown)),
    }
}

/// The result of joining the results of a finished run. `None` if they were not joined.
pub fn joined(run: &Run) -> Option<&Joined> {
    run.joined().filter(|_| is_answered(run))
}

/// The results that answer the request, each with the name of its task. Empty if [`answer`] is empty.
pub fn results<'a>(run: &'a Run, shown: &dyn Fn(&[&TaskRun], &str) -> String) -> Vec<(&'a TaskRun, String)> {
    let tasks = if is_answered(run) { run.results() } else { Vec::new() };
    let summary = |task: &'a TaskRun| {
        let summary = task.result().map(|result| result.summary.trim()).unwrap_or_default();
        (task, shown(&[task], summary))
    };
    tasks.into_iter().map(summary).collect()
}

/// The parts of the answer that its model did not read (spec 3.14), without duplicates.
pub fn unsupported_of_answer(run: &Run) -> Vec<&str> {
    if !is_answered(run) {
        return Vec::new();
    }
    if let Some(Joined::Answer { unsupported, .. }) = joined(run) {
        return unsupported.iter().map(String::as_str).collect();
    }
    let mut known = BTreeSet::new();
    let marks = run.results().into_iter().filter_map(TaskRun::result).flat_map(|result| &result.unsupported);
    marks.map(String::as_str).filter(|mark| known.insert(*mark)).collect()
}

/// Several results, each under the name of its task.
pub fn listed(results: &[(&TaskRun, String)]) -> String {
    match results {
        [(_, only)] => only.clone(),
        several => {
            let named = several.iter().map(|(task, text)| format!("{}\n{text}", task.task.name));
            named.collect::<Vec<_>>().join("\n\n")
        }
    }
}

fn is_answered(run: &Run) -> bool {
    run.operators().tree().is_none() && run.outcome().is_some_and(Outcome::has_answer)
}
