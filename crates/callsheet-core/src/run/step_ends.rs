//! When the steps of a list could have ended with unlimited slots (spec 2.14).

use super::task::TaskRun;

/// When the tasks of a step could have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepEnd {
    all: u64,
    writers: u64,
}

/// The possible ends of all steps.
#[derive(Clone, Debug, Default)]
pub(super) struct StepEnds(Vec<StepEnd>);

impl StepEnd {
    pub fn of<'a>(tasks: impl Iterator<Item = &'a TaskRun>) -> Self {
        tasks.fold(Self::default(), |end, task| {
            let (all, writes) = (task.ideal_end_ms, task.writer.is_some());
            end.later(Self { all, writers: if writes { all } else { 0 } })
        })
    }

    fn later(self, other: Self) -> Self {
        Self { all: self.all.max(other.all), writers: self.writers.max(other.writers) }
    }
}

impl StepEnds {
    /// Adds a step at the end.
    pub fn start_step(&mut self) {
        self.0.push(StepEnd::default());
    }

    pub fn note(&mut self, step: Option<usize>, end: StepEnd) {
        if let Some(known) = step.and_then(|step| self.0.get_mut(step)) {
            *known = known.later(end);
        }
    }

    /// The latest end that a task must wait for in the steps before its own: that of the writers, or of all tasks if
    /// it is a writer.
    pub fn before(&self, step: usize, of_writer: bool) -> u64 {
        let ends = self.0.iter().take(step).map(|end| if of_writer { end.all } else { end.writers });
        ends.max().unwrap_or(0)
    }
}

impl FromIterator<StepEnd> for StepEnds {
    fn from_iter<T: IntoIterator<Item = StepEnd>>(ends: T) -> Self {
        Self(ends.into_iter().collect())
    }
}
