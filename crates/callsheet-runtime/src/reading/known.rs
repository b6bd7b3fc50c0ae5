//! The tasks of a run as readers know them: kept from one reply to the next, and updated if something happened to a
//! task.

use callsheet_core::run::{Run, State, TaskRun};
use callsheet_format::reading::{KnownTask, KnownTasks};

/// The known tasks of one active run.
#[derive(Debug, Default)]
pub(crate) struct TaskIndex {
    /// The run's counter at the last update.
    looks: u64,
    tasks: KnownTasks,
}

impl TaskIndex {
    /// All tasks of the list as they are now, without removed ones. The run must be the same as in earlier calls.
    pub fn of(&mut self, run: &Run) -> KnownTasks {
        for (number, task, step) in run.changed_since(self.looks) {
            let step = step.and_then(|step| u32::try_from(step).ok());
            let counts = task.below.is_none() && task.state() != State::Dropped;
            self.tasks.put(number, counts.then(|| known_task(task, step).into()));
        }
        self.looks = run.looks();
        self.tasks.clone()
    }
}

fn known_task(task: &TaskRun, step: Option<u32>) -> KnownTask {
    let result = task.result();
    KnownTask {
        task: task.task.clone(),
        step,
        done: task.state() == State::Done,
        denied: task.state() == State::Denied,
        headings: result.map(|result| result.headings.clone()).unwrap_or_default(),
        details: result
            .map(|result| result.details.iter().map(|detail| detail.filename.clone()).collect())
            .unwrap_or_default(),
        tokens: result.map(|result| result.tokens).unwrap_or_default(),
        writer: task.writer.is_some(),
    }
}
