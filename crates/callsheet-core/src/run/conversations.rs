//! Tool conversations (spec 10.7): turns that ask for calls, and equal calls that are not repeated.

use std::collections::BTreeMap;

use crate::issue::{Issue, Repair};
use crate::nouns::{BlobId, ExecutionId, Slug, ToolCall, ToolEffect};
use crate::record::CallKey;

use super::attempts::GivenUp;
use super::execution::{Execution, ToolOutput, ToolRun, ToolState, Turn};
use super::failure::{Cause, Failure};
use super::limit::Limit;
use super::replies::Replies;
use super::reviews::Reviews;
use super::task::TaskRun;
use super::task_change::TaskChange;
use super::{Run, limits, reviews};

/// Applies the turns of conversations.
pub(super) struct Conversations<'a>(pub &'a mut Run);

impl Conversations<'_> {
    pub fn tool_calls_requested(
        &mut self,
        key: &CallKey,
        calls: &[ToolCall],
        (said, repeats, stuck): (Option<&BlobId>, &BTreeMap<String, String>, &BTreeMap<String, BlobId>),
        repairs: &[Repair],
        issues: &[Issue],
    ) {
        let (Some(slug), Some(id)) = (&key.task, &key.run) else { return };
        let Some(task) = self.0.tasks.get(slug) else { return };
        let Some(run) = task.run(id) else { return };
        let withdrawn = limits::withdraws_tools(self.0, task, run);
        let handler = task.is_handler();
        Replies(self.0).accept(key, repairs, issues);
        TaskChange(self.0).enter_running(slug);
        if let Some(limit) = withdrawn {
            // The model called tools that were not offered, which uses up an attempt at the final reply.
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
        run.repeats = run.repeats.saturating_add(u32::try_from(repeats.len()).unwrap_or(u32::MAX));
        let ids = calls.iter().map(|call| call.id.clone()).collect();
        run.turns.push(Turn { key: key.clone(), reply, calls: ids, said: said.cloned() });
        for call in calls {
            let mut tool = ToolRun::new(call.clone());
            if let Some(of) = repeats.get(&call.id) {
                tool.state = ToolState::Done(ToolOutput::Repeated { of: of.clone() });
            } else if let Some(why) = stuck.get(&call.id) {
                tool.state = ToolState::Done(ToolOutput::Text { blob: why.clone(), error: true });
            }
            run.calls.push(tool);
        }
        if handler {
            return self.end_without_progress(slug, id);
        }
        let task = self.0.tasks.get(slug);
        if let Some(limit) = task.and_then(|task| limits::withdraws_tools(self.0, task, task.run(id)?)) {
            self.0.progress.notified_mut().note_reached(limit);
        }
    }

    /// Ends a handler that says and asks for the same several times in a row (spec "Templates" 9).
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

/// An earlier call that may answer an equal one.
struct Former<'a> {
    call: &'a ToolCall,
    /// The execution's call, if it was made in an earlier turn.
    run: Option<&'a ToolRun>,
}

/// The calls of a turn that an equal earlier call answers, by id, each with the id of the earlier call. The earlier
/// call must have had an effect that still exists, and every call since then must only read (spec 10.7).
pub(super) fn repeats(whole: &Run, task: &TaskRun, run: &Execution, calls: &[ToolCall]) -> BTreeMap<String, String> {
    // A call that an earlier call answered was not made itself. Only the earlier call counts.
    let made = run.calls.iter().filter(|call| !call.is_repeated());
    let mut made: Vec<Former<'_>> = made.map(|run| Former { call: &run.call, run: Some(run) }).collect();
    let mut repeats = BTreeMap::new();
    for call in calls {
        match equal_before(whole, task, &made, call) {
            Some(of) => drop(repeats.insert(call.id.clone(), of.to_owned())),
            None => made.push(Former { call, run: None }),
        }
    }
    repeats
}

/// The earlier call that answers an equal one.
fn equal_before<'a>(whole: &Run, task: &TaskRun, made: &[Former<'a>], call: &ToolCall) -> Option<&'a str> {
    // Whether another call was made since. Its output may be the reason why the model repeats a refused call.
    let mut since = false;
    for former in made.iter().rev() {
        if former.call.name == call.name && former.call.arguments == call.arguments {
            let undone = former.run.is_some_and(|run| {
                run.timed_out || run.was_rejected() || task.is_taken_back(run) || since && was_refused(whole, run)
            });
            return (!undone).then_some(former.call.id.as_str());
        }
        if whole.policy(&former.call.name).effect != ToolEffect::Read {
            return None;
        }
        since = true;
    }
    None
}

/// Whether the call would have staged changes and was refused before it did anything.
fn was_refused(run: &Run, call: &ToolRun) -> bool {
    call.has_failed() && run.policy(&call.call.name).stages_changes()
}
