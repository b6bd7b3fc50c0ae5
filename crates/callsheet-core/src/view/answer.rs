//! The answer of a run: what a person asked for, as far as the tasks gave it.

use crate::run::{Run, State, TaskRun};

/// Summaries of the tasks that nobody else builds on: done tasks whose output no other done task of the run reads.
/// One such task gives its summary as it is; several are titled by name. After a follow-up only its own tasks count, if
/// it has any. A run of a template has none: it has a result, or none yet.
pub fn answer(run: &Run) -> String {
    if run.operators().tree().is_some() {
        return String::new();
    }
    let done: Vec<&TaskRun> = run.tasks().filter(|task| task.state == State::Done).collect();
    let last =
        done.iter().filter(|task| !done.iter().any(|reader| reader.producers().any(|slug| *slug == task.task.slug)));
    let (latest, earlier): (Vec<&TaskRun>, Vec<&TaskRun>) = last.partition(|task| run.is_of_latest(task));
    let last = if latest.is_empty() { earlier } else { latest };
    let summary =
        |task: &TaskRun| task.result.as_ref().map(|result| result.summary.trim().to_owned()).unwrap_or_default();
    match last.as_slice() {
        [] => String::new(),
        [only] => summary(only),
        several => {
            several.iter().map(|task| format!("{}\n{}", task.task.name, summary(task))).collect::<Vec<_>>().join("\n\n")
        }
    }
}
