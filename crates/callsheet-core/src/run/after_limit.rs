//! What a limit had ended continues with what it has, once the limit is raised (spec 2.18).

use crate::nouns::Slug;

use super::Run;
use super::changes::ChangeSets;
use super::execution::{AppliedSet, Execution, ExecutionPhase, ToolOutput, ToolRun, ToolState};
use super::state::{State, Stopwatch};
use super::task::{ExecutionStage, TaskRun};
use super::task_change::TaskChange;
use super::unended::Unended;

/// Continues executions that ended without a result.
pub(super) struct AfterLimit<'a>(pub &'a mut Run);

impl AfterLimit<'_> {
    /// Continues the executions of a task. Their calls and turns stay, and only what did not end is done again. A call
    /// that the time of the task ended is one of these. The time of the task starts again.
    pub fn go_on(&mut self, slug: &Slug) {
        TaskChange(self.0).reopen(slug);
        let Run { tasks, changes, .. } = &mut *self.0;
        let Some(task) = tasks.get_mut(slug) else { return };
        task.clock = Stopwatch::default();
        task.execution = ExecutionStage::OnHold;
        let is_handler = task.is_handler();
        let TaskRun { runs, applied, .. } = task;
        runs.iter_mut().for_each(|exec| go_on(exec, slug, (changes, applied), is_handler));
        let asks = Unended(self.0).timed_out(slug);
        let task = self.0.tasks.get_mut(slug).into_iter();
        let calls = task.flat_map(|task| &mut task.runs).flat_map(|exec| &mut exec.calls);
        calls.filter(|call| call.timed_out).for_each(ToolRun::begin_again);
        asks.iter().for_each(|(exec, call)| Unended(self.0).interrupt(slug, exec, &call.id));
    }
}

/// Continues an execution. Changes that were dropped when its task failed are proposed again. Those that were applied
/// after that stay.
fn go_on(exec: &mut Execution, slug: &Slug, (changes, applied): (&ChangeSets, &[AppliedSet]), is_handler: bool) {
    let has_changes = changes.of_execution(slug, &exec.id).next().is_some();
    let continues = match exec.phase {
        ExecutionPhase::Working => false,
        ExecutionPhase::Failed(_) => true,
        ExecutionPhase::Accepted(_) => !has_changes,
        // Its last reply was cut off.
        ExecutionPhase::Finished { .. } => is_handler,
    };
    if continues {
        exec.phase = ExecutionPhase::Working;
        (exec.attempts.attempt, exec.attempts.communication) = (1, false);
    }
    for call in &mut exec.calls {
        let ToolState::Staged(set) = call.state else { continue };
        if applied.iter().any(|one| (&one.run, one.set, one.reverted) == (&exec.id, set, false)) {
            call.state = ToolState::Done(ToolOutput::Applied { set });
        } else if !has_changes {
            call.state = ToolState::Queued;
        }
    }
}

/// Whether the executions of a task that ended can continue. A handler whose last reply was cut off has a result, which is
/// of no use.
pub(super) fn goes_on(run: &Run, task: &TaskRun) -> bool {
    let has_begun = task.has_begun() && !task.runs.is_empty() && !task.has_only_failed_calls();
    has_begun
        && !task.is_process()
        && !task.calls_template()
        && match task.state() {
            State::Failed => true,
            State::Done if task.is_handler() => {
                run.turns_of(&task.task.slug).next_back().is_some_and(|call| call.stop.is_cut())
            }
            _ => false,
        }
}
