//! The results of tool calls (spec 10.4).

use crate::nouns::{ExecutionId, Slug};
use crate::record::{EffectKey, ToolRecord};

use super::Run;
use super::approval::Approval;
use super::changes::SetSource;
use super::changing::Changing;
use super::execution::{PersonAnswer, ToolOutput, ToolState};
use super::task::TaskRun;
use super::unended::Unended;

/// Applies the results of tool calls.
pub(super) struct ToolResults<'a>(pub &'a mut Run);

impl ToolResults<'_> {
    pub fn finished(&mut self, task: &Slug, run: &ExecutionId, call: &str, record: &ToolRecord, ms: u64) {
        self.0.in_flight.end(&EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.to_owned() });
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.ms = tool.ms.saturating_add(ms);
            if let ToolRecord::Output { error, pictures, timed_out, .. } = record {
                tool.fault.clone_from(error);
                tool.pictures.clone_from(pictures);
                tool.timed_out = *timed_out;
            }
        }
        match record {
            ToolRecord::Cut => return self.cut(task, run, call),
            ToolRecord::Lost => return self.lost(task, run, call),
            _ => {}
        }
        if !matches!(record, ToolRecord::Midway(_)) {
            self.0.calls.note_tool();
        }
        self.note_change(task, run, call);
        let state = match record {
            ToolRecord::Output { blob, error, .. } => {
                ToolState::Done(ToolOutput::Text { blob: blob.clone(), error: error.is_some() })
            }
            ToolRecord::Question(question) => ToolState::Asking { question: question.clone(), midway: false },
            ToolRecord::Midway(question) => ToolState::Asking { question: question.clone(), midway: true },
            ToolRecord::Changes(changes) => {
                let source = SetSource::Call(call.to_owned());
                ToolState::Staged(Changing(self.0).stage(task, run, source, changes.clone()))
            }
            ToolRecord::Cut | ToolRecord::Lost => return,
        };
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.state = state;
        }
        // What a process wrote until then is the result of its task. It is noted only if a person has the task repeated.
        if !self.0.tasks.get(task).is_some_and(TaskRun::is_process) {
            let mut unended = Unended(self.0);
            let ended_now =
                unended.timed_out(task).into_iter().filter(|(run_of, ended)| run_of == run && ended.id == call);
            ended_now.collect::<Vec<_>>().iter().for_each(|(_, call)| unended.note(task, call));
        }
    }

    /// Notes that the call may have changed files.
    fn note_change(&mut self, task: &Slug, run: &ExecutionId, call: &str) {
        let name = self.0.tool_mut(task, run, call).map(|tool| tool.call.name.clone()).unwrap_or_default();
        if Approval(self.0).gates_tool(&name) {
            self.0.changes.note_change();
        }
    }

    /// Marks the call as interrupted by the end of the run's time. It is not repeated before a resume.
    fn cut(&mut self, task: &Slug, run: &ExecutionId, call: &str) {
        self.note_change(task, run, call);
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.cut();
        }
    }

    /// Asks a person whether the call runs again.
    fn lost(&mut self, task: &Slug, run: &ExecutionId, call: &str) {
        self.note_change(task, run, call);
        Unended(self.0).interrupt(task, run, call);
    }

    pub fn answered(&mut self, key: &EffectKey, answer: PersonAnswer) {
        let EffectKey::Question { task, run, call } = key else { return };
        self.0.in_flight.end(key);
        self.0.progress.stop_waiting();
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.answers = tool.answers.saturating_add(1);
            match (&tool.state, answer) {
                (ToolState::Asking { midway: true, .. }, answer) => tool.state = ToolState::Answered(answer),
                (_, PersonAnswer::Given(output)) => tool.state = ToolState::Done(ToolOutput::Answered(output)),
                // Only a question in the middle of a call is declined.
                (_, PersonAnswer::Declined) => {}
            }
        }
    }
}
