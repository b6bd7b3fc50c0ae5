//! What came of tool calls (spec 10.4).

use crate::record::{EffectKey, ResultParts, ToolRecord};
use crate::spec::{BlobId, ExecRunId, Slug};

use super::Run;
use super::approval::Approval;
use super::changes::SetSource;
use super::changing::Changing;
use super::execution::{ToolOutput, ToolState};
use super::failure::Failure;
use super::inner::Stop;

/// Takes in what came of tool calls.
pub(super) struct ToolResults<'a>(pub &'a mut Run);

impl ToolResults<'_> {
    pub fn finished(&mut self, task: &Slug, run: &ExecRunId, call: &str, record: &ToolRecord, ms: u64) {
        let key = EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.to_owned() };
        self.0.flights.end(&key);
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.ms = tool.ms.saturating_add(ms);
        }
        if let ToolRecord::Cut { run: inner, spent } = record {
            self.0.charge(&key, inner.as_ref(), spent);
            return self.cut(task, run, call);
        }
        if let ToolRecord::Paused { run: inner, outcome, reason, spent, no_room } = record {
            return self.0.paused(&key, Stop { inner, outcome: *outcome, reason, no_room: *no_room }, spent);
        }
        self.0.totals.tools = self.0.totals.tools.saturating_add(1);
        self.note_change(task, run, call);
        let state = match record {
            ToolRecord::Output { blob, error } => {
                ToolState::Done(ToolOutput::Text { blob: blob.clone(), error: *error })
            }
            ToolRecord::Question(question) => ToolState::Asking(question.clone()),
            ToolRecord::Result { run: inner, result, failed, spent } => {
                self.0.charge(&key, inner.as_ref(), spent);
                self.0.failed_inside.extend(inner.clone().filter(|_| failed.is_some()));
                self.whole_result(task, run, result, failed.as_deref());
                let blob = result.document.clone().unwrap_or_else(|| BlobId::of(b""));
                ToolState::Done(ToolOutput::Text { blob, error: failed.is_some() })
            }
            ToolRecord::Changes(changes) => {
                let source = SetSource::Call(call.to_owned());
                ToolState::Staged(Changing(self.0).stage(task, run, source, changes.clone()))
            }
            ToolRecord::Paused { .. } | ToolRecord::Cut { .. } => return,
        };
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.state = state;
        }
    }

    /// What it does at once may have changed files.
    fn note_change(&mut self, task: &Slug, run: &ExecRunId, call: &str) {
        let name = self.0.tool_mut(task, run, call).map(|tool| tool.call.name.clone()).unwrap_or_default();
        if Approval(self.0).gates_tool(&name) {
            self.0.changes.note_change();
        }
    }

    /// The run's time was over before the call ended. It is not made again before a resume.
    fn cut(&mut self, task: &Slug, run: &ExecRunId, call: &str) {
        self.note_change(task, run, call);
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.cut();
        }
    }

    /// The call was the whole work of its run: there is nothing to interpret.
    fn whole_result(&mut self, task: &Slug, run: &ExecRunId, result: &ResultParts, failed: Option<&str>) {
        let revision = self.0.changes.revision();
        let Some(exec) = self.0.tasks.get_mut(task).and_then(|task| task.run_mut(run)) else { return };
        match failed {
            Some(reason) => exec.fail(Failure { reason: reason.to_owned(), ..Failure::default() }),
            None => exec.finish(result.clone(), revision),
        }
        exec.attempts.close();
    }

    pub fn answered(&mut self, key: &EffectKey, output: &BlobId) {
        let EffectKey::Question { task, run, call } = key else { return };
        self.0.flights.end(key);
        self.0.progress.stop_waiting();
        if let Some(tool) = self.0.tool_mut(task, run, call) {
            tool.state = ToolState::Done(ToolOutput::Answered(output.clone()));
        }
    }
}
