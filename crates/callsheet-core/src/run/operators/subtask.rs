//! Subtasks (spec 12): calls of a handler that are tasks of the tree. Each is a child of the handler's operator and
//! has one child itself, the body of its template. When a subtask returns, its call has an output, and the
//! conversation goes on. The requests of one turn run concurrently and are answered in their order.

use crate::nouns::ToolCall;
use crate::record::Closed;
use crate::run::{Cause, Failure, TaskRun, ToolOutput, ToolState};
use crate::template::ReturnStatus;
use crate::template::operators::ChildSlot;

use super::tree::{TreeQuery, Trees};
use super::{NodeInstance, OpState, Operators};

/// The tool by which a model asks for a subtask.
pub const SPAWN_SUBTASK: &str = "spawn_subtask";
/// The call that represents a reply with `CONTINUATION`. It is not offered to models, and no tool produces its
/// output.
pub const SUBTASK_REQUEST: &str = "subtask_request";

impl Operators {
    /// Whether calls of a tool become subtasks.
    pub fn is_subtask_tool(&self, tool: &str) -> bool {
        let mut trees = self.trees();
        trees.any(|tree| matches!(tool, SPAWN_SUBTASK | SUBTASK_REQUEST) || tree.subtask_tools.contains_key(tool))
    }
}

impl TreeQuery<'_> {
    /// The calls of a handler that are not opened yet.
    pub(super) fn subtasks_asked(self, op: &NodeInstance, task: &TaskRun) -> Vec<ChildSlot> {
        if !task.is_handler() || !task.is_executing() {
            return Vec::new();
        }
        let attempt = u32::try_from(op.runs.len()).unwrap_or(u32::MAX);
        let calls = task.runs.iter().filter(|run| !run.is_ended()).flat_map(|run| (0..).zip(&run.calls));
        calls
            .filter(|(_, call)| call.output().is_none() && self.0.operators.is_subtask_tool(&call.call.name))
            .map(|(call, _)| ChildSlot::Subtask { attempt, call })
            .filter(|place| self.0.operators.child(op, *place).is_none())
            .collect()
    }

    /// The result of an equal request from before a person had the handler repeated. The request is not repeated.
    pub(super) fn given_before(self, parent: usize, place: &ChildSlot) -> Option<Closed> {
        let (parent, ChildSlot::Subtask { attempt, call }) = (self.0.operators.at(parent)?, place) else { return None };
        let asked = |attempt: u32, call: u32| {
            let run = self.0.tasks.at(parent.run(attempt)?)?.runs.first()?;
            Some(&run.calls.get(super::index_of(call)?)?.call)
        };
        let own = asked(*attempt, *call)?;
        self.0.operators.children(parent).filter(|child| !child.failed()).find_map(|child| {
            let ChildSlot::Subtask { attempt: before, call } = child.place else { return None };
            let was_retried =
                before < *attempt && super::index_of(before).is_some_and(|before| before <= parent.retried);
            let equal = |known: &ToolCall| known.name == own.name && known.arguments == own.arguments;
            child.closed().cloned().filter(|_| was_retried && asked(before, call).is_some_and(equal))
        })
    }
}

impl Trees<'_> {
    /// Closes the task that was opened last with a result that already exists.
    pub(super) fn op_given(&mut self, closed: &Closed) {
        let number = self.0.operators.list.len().saturating_sub(1);
        self.change_op(number, |op| op.phase = OpState::Closed(closed.clone()));
        self.answer_call(number, closed);
    }

    /// Answers the call that asked for a subtask with the result of the subtask. If the subtask failed because a
    /// budget above it is used up, the handler ends.
    pub(super) fn answer_call(&mut self, number: usize, closed: &Closed) {
        let Some(op) = self.0.operators.at(number) else { return };
        let ChildSlot::Subtask { attempt, call } = op.place else { return };
        let above = op.parent.and_then(|above| self.0.operators.at(above));
        let Some(handler) = above.and_then(|above| above.run(attempt)) else { return };
        let Some(run) = self.0.tasks.at_mut(handler).and_then(|task| task.runs.first_mut()) else { return };
        if closed.fatal && !run.is_ended() {
            run.fail(Failure { cause: Cause::Subtask, ..Failure::default() });
        }
        let error = closed.status != ReturnStatus::Complete;
        let blob = closed.response.clone().unwrap_or_else(|| closed.result.clone());
        if let Some(call) = super::index_of(call).and_then(|index| run.calls.get_mut(index)) {
            call.state = ToolState::Done(ToolOutput::Text { blob, error });
        }
    }
}
