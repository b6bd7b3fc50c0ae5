//! What is made once for a run and kept from one reply to the next.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callsheet_core::run::{Run, State, TaskRun};
use callsheet_core::spec::ToolSpec;
use callsheet_format::reading::KnownTask;

use crate::material::WordIndex;

/// What readers compare replies with, made once and made again only where it changed: a run has many tasks, and a
/// reply changes one.
#[derive(Debug, Default)]
pub struct Snapshots {
    pub(crate) tools: OnceLock<Vec<Arc<ToolSpec>>>,
    /// What the files tell of a project that nobody describes, the same in all prompts.
    pub(crate) overview: OnceLock<String>,
    /// The same without the names of files, for prompts that list them.
    pub(crate) overview_without_names: OnceLock<String>,
    /// The paths that prompts list, the same in all of a run.
    pub(crate) listed: OnceLock<Vec<String>>,
    /// The words of the project's files.
    pub(crate) words: WordIndex,
    /// In the order of [`Run::tasks`].
    tasks: Mutex<Vec<Arc<KnownTask>>>,
}

impl Snapshots {
    /// All tasks of the run as they are now, without those that were dropped.
    pub(crate) fn tasks(&self, run: &Run) -> Vec<Arc<KnownTask>> {
        let mut kept = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut former = std::mem::take(&mut *kept).into_iter();
        *kept = run
            .tasks_with_steps()
            .map(|(task, step)| {
                let step = step.and_then(|step| u32::try_from(step).ok());
                former
                    .next()
                    .filter(|known| is_still(known, task, step))
                    .unwrap_or_else(|| known_task(task, step).into())
            })
            .collect();
        let listed = run.tasks().zip(kept.iter()).filter(|(task, _)| task.state() != State::Dropped);
        listed.map(|(_, known)| Arc::clone(known)).collect()
    }
}

fn known_task(task: &TaskRun, step: Option<u32>) -> KnownTask {
    let result = task.result();
    KnownTask {
        task: task.task.clone(),
        step,
        done: task.state() == State::Done,
        denied: task.state() == State::Denied,
        outstanding: !task.state().is_ended(),
        headings: result.map(|result| result.headings.clone()).unwrap_or_default(),
        details: result
            .map(|result| result.details.iter().map(|detail| detail.filename.clone()).collect())
            .unwrap_or_default(),
        tokens: result.map(|result| result.tokens).unwrap_or_default(),
        writer: task.writer.is_some(),
    }
}

/// Whether [`known_task`] would give the same again.
fn is_still(known: &KnownTask, task: &TaskRun, step: Option<u32>) -> bool {
    let KnownTask { task: text, step: known_step, done, denied, outstanding, headings, details, tokens, writer } =
        known;
    let result = task.result();
    let of_result = match result {
        Some(result) => {
            *tokens == result.tokens
                && *headings == result.headings
                && details.iter().eq(result.details.iter().map(|detail| &detail.filename))
        }
        None => *tokens == 0 && headings.is_empty() && details.is_empty(),
    };
    let states = (task.state() == State::Done, task.state() == State::Denied, !task.state().is_ended());
    of_result
        && (*done, *denied, *outstanding) == states
        && *known_step == step
        && *writer == task.writer.is_some()
        && *text == task.task
}
