//! Tool conversations (spec 10.7): turns that ask for calls, and equal calls that are not made again.

use crate::issue::{Issue, Repair};
use crate::record::{CallKey, RepeatPolicy};
use crate::spec::{BlobId, ExecutionId, Slug, ToolCall, ToolEffect};

use super::attempts::GivenUp;
use super::execution::{Execution, ToolOutput, ToolRun, ToolState, Turn};
use super::failure::{Cause, Failure};
use super::limit::Limit;
use super::replies::Replies;
use super::reviews::Reviews;
use super::task::TaskRun;
use super::task_change::TaskChange;
use super::{Run, limits, reviews};

/// Takes in the turns of conversations.
pub(super) struct Conversations<'a>(pub &'a mut Run);

impl Conversations<'_> {
    pub fn tool_calls_requested(
        &mut self,
        key: &CallKey,
        calls: &[ToolCall],
        (said, again): (Option<&BlobId>, RepeatPolicy),
        repairs: &[Repair],
        issues: &[Issue],
    ) {
        let (Some(slug), Some(id)) = (&key.task, &key.run) else { return };
        let Some(task) = self.0.tasks.get(slug) else { return };
        let Some(run) = task.run(id) else { return };
        let withdrawn = limits::withdraws_tools(self.0, task, run);
        let handler = task.is_handler();
        let answered = if handler {
            calls.iter().cloned().map(ToolRun::new).collect()
        } else {
            answer_repeats(self.0, task, run, calls, again)
        };
        Replies(self.0).accept(key, repairs, issues);
        TaskChange(self.0).enter_running(slug);
        if let Some(limit) = withdrawn {
            // It calls tools that were not offered: an attempt of the final reply is used.
            self.0.progress.notified_mut().note_reached(limit);
            let max = reviews::attempts(self.0, key);
            if self.0.attempts_mut(key).is_some_and(|attempts| attempts.use_up(max)) {
                Replies(self.0).exhausted(key, issues.to_vec(), GivenUp::UsedUp);
            }
            return;
        }
        let reply = self.0.call_record(key).map(|record| record.reply.clone());
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        run.attempts.reading = None;
        run.attempts.counted = false;
        run.attempts.issues.clear();
        run.attempts.refused = None;
        let repeats = answered.iter().filter(|call| call.output().is_some()).count();
        run.repeats = run.repeats.saturating_add(u32::try_from(repeats).unwrap_or(u32::MAX));
        let ids = calls.iter().map(|call| call.id.clone()).collect();
        run.turns.push(Turn { key: key.clone(), reply, calls: ids, said: said.cloned() });
        run.calls.extend(answered);
        if handler {
            return self.end_without_progress(slug, id);
        }
        let task = self.0.tasks.get(slug);
        if let Some(limit) = task.and_then(|task| limits::withdraws_tools(self.0, task, task.run(id)?)) {
            self.0.progress.notified_mut().note_reached(limit);
        }
    }

    /// A handler that says and asks for the same several times in a row ends (spec "Templates" 9).
    fn end_without_progress(&mut self, slug: &Slug, id: &ExecutionId) {
        let repeats = limits::no_progress_repeats(self.0, slug);
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        let last = run.turns.last().and_then(|turn| turn.said.clone());
        let equal = run.turns.iter().rev().take_while(|turn| last.is_some() && turn.said == last).count();
        if equal < repeats {
            return;
        }
        let reason = format!("{equal} consecutive turns were identical");
        self.0.progress.notified_mut().note_reached(Limit::NoProgress);
        if Reviews(self.0).keep(slug, id, &reason) {
            return;
        }
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        run.fail(Failure { reason, cause: Cause::NoProgress, ..Failure::default() });
    }
}

/// Calls of a turn, those equal to an earlier one with no call since that does more than read answered from it.
fn answer_repeats(
    whole: &Run,
    task: &TaskRun,
    run: &Execution,
    calls: &[ToolCall],
    again: RepeatPolicy,
) -> Vec<ToolRun> {
    let mut answered: Vec<ToolRun> = Vec::new();
    for call in calls {
        let mut tool = ToolRun::new(call.clone());
        // Whether another call was made since: what it gave may be why a refused one is asked for again.
        let mut since = false;
        let formers = run.calls.iter().chain(&answered).rev();
        // One that was answered from an earlier one was not made: what counts is what it stands for.
        let counts = |former: &&ToolRun| again == RepeatPolicy::Answer || !former.is_repeated();
        for former in formers.filter(counts) {
            let of = match &former.state {
                ToolState::Done(ToolOutput::Repeated { of }) => of,
                _ => &former.call.id,
            };
            if former.call.name == call.name && former.call.arguments == call.arguments {
                let undone =
                    former.had_no_effect() || task.is_taken_back(former) || since && was_refused(whole, former);
                if again == RepeatPolicy::Remake && undone {
                    break;
                }
                tool.state = ToolState::Done(ToolOutput::Repeated { of: of.clone() });
                break;
            }
            let made = !former.is_repeated();
            if made && whole.policy(&former.call.name).effect != ToolEffect::Read {
                break;
            }
            since |= made;
        }
        answered.push(tool);
    }
    answered
}

/// A call that would have staged changes and was refused before anything was done.
fn was_refused(run: &Run, call: &ToolRun) -> bool {
    let failed = matches!(call.output(), Some(ToolOutput::Text { error: true, .. }));
    failed && run.policy(&call.call.name).stages_changes()
}

/// Whether a call of a conversation may be made again although an equal one was made before (spec 10.7): it had no
/// effect, or none that is left.
pub(super) fn may_call_again(whole: &Run, task: &TaskRun, run: &Execution) -> RepeatPolicy {
    let may = run.calls.iter().any(|call| call.had_no_effect() || task.is_taken_back(call) || was_refused(whole, call));
    if may { RepeatPolicy::Remake } else { RepeatPolicy::Answer }
}
