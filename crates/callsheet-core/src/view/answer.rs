//! The answer of a run: what a person asked for, as far as the tasks gave it.

use crate::record::Outcome;
use crate::run::{Joined, Run, TaskRun};

/// The answer that a model wrote from the results of a run that ended; else these results: one stands as it is, several stand
/// each under the name of its task. A run that goes on, waits or was stopped has no answer, nor has one of a template: that has a
/// result.
///
/// `shown`: a text of these tasks as the person is to read it, its links leading from where the person stands.
pub fn answer(run: &Run, shown: &dyn Fn(&[&TaskRun], &str) -> String) -> String {
    if !is_answered(run) {
        return String::new();
    }
    match joined(run) {
        Some(Joined::Answer { text, .. }) => shown(&run.results(), text.trim()),
        Some(Joined::Failed(_)) | None => listed(&results(run, shown)),
    }
}

/// What came of joining the results of a finished run; `None`: they were not joined.
pub fn joined(run: &Run) -> Option<&Joined> {
    run.joined().filter(|_| is_answered(run))
}

/// The results that answer the request, each with the name of its task. Empty where [`answer`] is.
pub fn results<'a>(run: &'a Run, shown: &dyn Fn(&[&TaskRun], &str) -> String) -> Vec<(&'a TaskRun, String)> {
    let tasks = if is_answered(run) { run.results() } else { Vec::new() };
    let summary = |task: &'a TaskRun| {
        let summary = task.result().map(|result| result.summary.trim()).unwrap_or_default();
        (task, shown(&[task], summary))
    };
    tasks.into_iter().map(summary).collect()
}

/// What of the answer stands in nothing that its model read (spec 3.14), each once.
pub fn unsupported_of_answer(run: &Run) -> Vec<&str> {
    if !is_answered(run) {
        return Vec::new();
    }
    if let Some(Joined::Answer { unsupported, .. }) = joined(run) {
        return unsupported.iter().map(String::as_str).collect();
    }
    let mut marks: Vec<&str> = Vec::new();
    for mark in run.results().into_iter().filter_map(TaskRun::result).flat_map(|result| &result.unsupported) {
        if !marks.contains(&mark.as_str()) {
            marks.push(mark);
        }
    }
    marks
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
