//! Tool conversations (spec 10.7): turns that ask for calls, and equal calls that are not made again.

use crate::issue::{Issue, Repair};
use crate::record::{Again, CallKey};
use crate::spec::{BlobId, ExecRunId, Phase, Slug, ToolCall, ToolEffect};

use super::{Cause, ExecRun, Failure, Limit, Reject, Run, TaskRun, ToolOutput, ToolRun, ToolState, Turn, limits};

impl Run {
    pub(super) fn calls_asked(
        &mut self,
        key: &CallKey,
        calls: &[ToolCall],
        (said, again): (Option<&BlobId>, Again),
        repairs: &[Repair],
        issues: &[Issue],
    ) -> Result<(), Reject> {
        let not_awaited = || Reject::NotAwaited(key.clone());
        let (Phase::Execute, Some(slug), Some(id)) = (key.phase, &key.task, &key.run) else {
            return Err(not_awaited());
        };
        let task = self.tasks.get(slug).ok_or_else(not_awaited)?;
        let run = task.run(id).filter(|run| run.is_loop).ok_or_else(not_awaited)?;
        for (index, call) in calls.iter().enumerate() {
            let earlier = calls.iter().take(index).any(|other| other.id == call.id);
            if earlier || run.call(&call.id).is_some() {
                return Err(Reject::DuplicateCall(call.id.clone()));
            }
        }
        let withdrawn = limits::withdraws_tools(self, task, run);
        let handler = task.is_handler();
        let answered = if handler {
            calls.iter().cloned().map(ToolRun::new).collect()
        } else {
            self.answer_repeats(task, run, calls, again)
        };
        self.accept(key, repairs, issues)?;
        self.enter_running(slug)?;
        if let Some(limit) = withdrawn {
            // It calls tools that were not offered: an attempt of the final reply is used.
            self.reached.insert(limit);
            let max = self.attempts_of(key);
            let exhausted = self.attempts_mut(key).is_some_and(|attempts| attempts.use_up(max));
            return if exhausted { self.exhausted(key, issues.to_vec()) } else { Ok(()) };
        }
        let reply = self.call_record(key).map(|record| record.reply.clone());
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return Ok(()) };
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
            self.end_without_progress(slug, id);
            return Ok(());
        }
        if let Some(limit) = self.tasks.get(slug).and_then(|task| limits::withdraws_tools(self, task, task.run(id)?)) {
            self.reached.insert(limit);
        }
        Ok(())
    }

    /// A handler that says and asks for the same several times in a row ends (spec "Templates" 9).
    fn end_without_progress(&mut self, slug: &Slug, id: &ExecRunId) {
        let repeats = limits::no_progress_repeats(self, slug);
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        let last = run.turns.last().and_then(|turn| turn.said.clone());
        let equal = run.turns.iter().rev().take_while(|turn| last.is_some() && turn.said == last).count();
        if equal < repeats {
            return;
        }
        let reason = format!("{equal} consecutive turns were identical");
        self.reached.insert(Limit::NoProgress);
        if self.keep_reviewed(slug, id, &reason) {
            return;
        }
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        run.failure = Some(Failure { reason, cause: Cause::NoProgress, ..Failure::default() });
        run.attempts.close();
    }

    /// Calls of a turn, those equal to an earlier one with no call since that does more than read answered from it.
    fn answer_repeats(&self, task: &TaskRun, run: &ExecRun, calls: &[ToolCall], again: Again) -> Vec<ToolRun> {
        let mut answered: Vec<ToolRun> = Vec::new();
        for call in calls {
            let mut tool = ToolRun::new(call.clone());
            // Whether another call was made since: what it gave may be why a refused one is asked for again.
            let mut since = false;
            let formers = run.calls.iter().chain(&answered).rev();
            // One that was answered from an earlier one was not made: what counts is what it stands for.
            let counts = |former: &&ToolRun| again != Again::Made || !former.is_repeated();
            for former in formers.filter(counts) {
                let of = match &former.state {
                    ToolState::Done(ToolOutput::Repeated { of }) => of,
                    _ => &former.call.id,
                };
                if former.call.name == call.name && former.call.arguments == call.arguments {
                    let undone =
                        former.had_no_effect() || task.is_taken_back(former) || since && self.was_refused(former);
                    if again != Again::No && undone {
                        break;
                    }
                    tool.state = ToolState::Done(ToolOutput::Repeated { of: of.clone() });
                    break;
                }
                let made = !former.is_repeated();
                if made && self.policy(&former.call.name).effect != ToolEffect::Read {
                    break;
                }
                since |= made;
            }
            answered.push(tool);
        }
        answered
    }

    /// A call that would have staged changes and was refused before anything was done.
    fn was_refused(&self, call: &ToolRun) -> bool {
        let failed = matches!(call.output(), Some(ToolOutput::Text { error: true, .. }));
        failed && self.policy(&call.call.name).stages_changes()
    }

    /// Whether a call of a conversation may be made again although an equal one was made before (spec 10.7): it had no
    /// effect, or none that is left.
    pub fn may_call_again(&self, task: &TaskRun, run: &ExecRun) -> Again {
        let may =
            run.calls.iter().any(|call| call.had_no_effect() || task.is_taken_back(call) || self.was_refused(call));
        if may { Again::Made } else { Again::No }
    }
}
