//! The answer of a run: what a person asked for, as far as the tasks gave it.

use crate::record::Outcome;
use crate::run::{Run, State, TaskRun};

/// Results of a finished run that nobody else builds on: those of done tasks whose output no other done task reads. One
/// stands as it is; several stand each under the name of its task. After a follow-up only its own tasks count, if it has
/// any. A run that is not finished has no answer, nor has one of a template: that has a result.
///
/// `shown`: the summary of a task as the person is to read it, its links leading from where the person stands.
pub fn answer(run: &Run, shown: &dyn Fn(&TaskRun, &str) -> String) -> String {
    if run.operators().tree().is_some() || !run.outcome().is_some_and(Outcome::is_finished) {
        return String::new();
    }
    let done: Vec<&TaskRun> = run.tasks().filter(|task| task.state() == State::Done).collect();
    let reads = |reader: &TaskRun, task: &TaskRun| {
        let mut read = reader.producers().filter_map(|slug| run.task(slug));
        read.any(|producer| producer.task.slug == task.task.slug)
    };
    let last = done.iter().copied().filter(|task| !done.iter().any(|reader| reads(reader, task)));
    let (latest, earlier): (Vec<&TaskRun>, Vec<&TaskRun>) = last.partition(|task| run.is_of_latest(task));
    let last = if latest.is_empty() { earlier } else { latest };
    let summary = |task: &TaskRun| {
        let summary = task.result().map(|result| result.summary.trim()).unwrap_or_default();
        shown(task, summary)
    };
    match last.as_slice() {
        [] => String::new(),
        [only] => summary(only),
        several => {
            several.iter().map(|task| format!("{}\n{}", task.task.name, summary(task))).collect::<Vec<_>>().join("\n\n")
        }
    }
}
