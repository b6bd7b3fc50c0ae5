//! Reviews (spec 10.9): a model is asked whether a result is complete. If it says no, the task is repeated once. If
//! the review or the second result does not come, the existing result counts.

use crate::issue::{Issue, IssueCode, Repair};
use crate::nouns::{ExecutionId, Phase, Policy, Slug};
use crate::record::{CallFault, CallKey, CallSizes, ResultParts};

use super::approval::Approval;
use super::changing::Changing;
use super::effect::Effect;
use super::execution::{Execution, Review, ReviewPhase};
use super::limit::Limit;
use super::task::TaskRun;
use super::task_change::TaskChange;
use super::units::Units;
use super::{Run, limits};

/// Has results reviewed and applies the verdicts.
pub(super) struct Reviews<'a>(pub &'a mut Run);

impl Reviews<'_> {
    /// Puts an accepted result under review if it needs one. Returns whether it does. A second result needs none.
    pub fn put_under_review(&mut self, key: &CallKey, result: &ResultParts) -> bool {
        let (Some(slug), Some(id)) = (&key.task, &key.run) else { return false };
        let wanted = self.0.tasks.get(slug).is_some_and(|task| wants_review(self.0, task));
        let revision = self.0.changes.revision();
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return false };
        if let Some(review) = &mut run.review {
            review.phase = ReviewPhase::Over { failed: None };
            return false;
        }
        if !wanted {
            return false;
        }
        let (of, result) = (key.clone(), result.clone());
        run.review = Some(Box::new(Review { of, result, revision, phase: ReviewPhase::Asked, missing: None }));
        run.attempts.reading = None;
        run.attempts.counted = false;
        true
    }

    /// Applies a verdict.
    pub fn reviewed(&mut self, key: &CallKey, missing: Option<&str>, repairs: &[Repair], issues: &[Issue]) {
        let (Some(slug), Some(id)) = (&key.task, &key.run) else { return };
        self.0.calls.note_reading(key, true, repairs, issues);
        let unreadable = issues.iter().find(|issue| issue.code == IssueCode::ReviewUnreadable);
        let Some(missing) = missing else {
            return self.count_result(slug, id, unreadable.map(|issue| issue.what.clone()));
        };
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return };
        let Some(review) = &mut run.review else { return };
        review.missing = Some(missing.to_owned());
        review.phase = ReviewPhase::OnceMore;
        run.attempts.reading = None;
        run.attempts.attempt = run.attempts.attempt.saturating_add(1);
        run.attempts.issues = issues.to_vec();
        run.attempts.refused = self.0.calls.get(&review.of).map(|record| record.reply.clone());
    }

    /// Notes that a review gave no reply.
    pub fn failed(&mut self, key: &CallKey, fault: &CallFault, message: &str, sizes: Option<CallSizes>) {
        let (Some(slug), Some(id)) = (&key.task, &key.run) else { return };
        let needed = sizes.map_or(0, |sizes| sizes.prompt);
        let waits = *fault == CallFault::Budget
            && limits::short_of_tokens(self.0, self.0.tasks.get(slug), needed) == limits::Shortfall::Now;
        // Such a call waits until other calls return what they have reserved.
        if *fault != CallFault::Cancelled && !waits {
            self.count_result(slug, id, Some(message.to_owned()));
        }
    }

    /// Lets the result under review count as it is. `failed` says why no better result is known.
    fn count_result(&mut self, slug: &Slug, id: &ExecutionId, failed: Option<String>) {
        let run = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(id));
        let Some(review) = run.and_then(|run| run.review.as_mut()) else { return };
        review.phase = ReviewPhase::Over { failed };
        let result = review.result.clone();
        TaskChange(self.0).enter_running(slug);
        Changing(self.0).accepted(slug, id, &result);
    }

    /// Lets the first result count, because the repetition failed. Returns false if there is no first result.
    pub fn keep(&mut self, slug: &Slug, id: &ExecutionId, reason: &str) -> bool {
        let open = self.0.tasks.get(slug).and_then(|task| task.run(id)).is_some_and(Execution::has_open_review);
        if open {
            self.count_result(slug, id, Some(reason.to_owned()));
        }
        open
    }

    /// Lets results count whose review or repetition a limit forbids. Returns whether there was one.
    pub fn end_forbidden(&mut self) -> bool {
        let run = &mut *self.0;
        run.tasks.refresh();
        let open = run.tasks.reviewed().filter(|task| task.is_executing() && Approval(run).has(task));
        let forbidden = open.filter_map(|task| {
            let exec = task.runs.iter().find(|exec| exec.has_open_review())?;
            let limit = forbids(run, task, exec)?;
            Some((task.slug(), exec.id.clone(), limit))
        });
        let forbidden: Vec<(Slug, ExecutionId, Limit)> = forbidden.collect();
        for (slug, id, limit) in &forbidden {
            self.0.progress.notified_mut().note_reached(*limit);
            self.count_result(slug, id, Some(format!("the limit {} is reached", limit.name())));
        }
        !forbidden.is_empty()
    }
}

/// The number of attempts in the phase of a call. A repetition that a review asked for has a single attempt.
pub(super) fn attempts(run: &Run, key: &CallKey) -> u32 {
    let task = key.task.as_ref().and_then(|slug| run.tasks.get(slug));
    let exec = key.run.as_ref().and_then(|id| task?.run(id)).filter(|_| key.phase == Phase::Execute);
    if exec.is_some_and(Execution::is_done_once_more) { 0 } else { limits::attempts(run) }
}

/// Whether results of the task are reviewed, by its own policy, that of its skill, or that of the run. `auto` means
/// no.
fn wants_review(run: &Run, task: &TaskRun) -> bool {
    let of_skill = task.skill.as_ref().and_then(|skill| skill.review);
    let policy = task.task.review.or(of_skill).unwrap_or(run.settings().review);
    // A part of a result does not show whether the whole is complete.
    policy == Policy::Always && task.runs.len() == 1
}

/// Whether the task has a finished result that was reviewed, or a result whose review or repetition is in flight.
pub(super) fn has_reviewed_result(run: &Run, task: &TaskRun) -> bool {
    let works = || run.in_flight.works_by_itself(&task.task.slug);
    task.runs.iter().any(|exec| exec.review.is_some() && exec.is_finished() || exec.has_open_review() && works())
}

fn forbids(run: &Run, task: &TaskRun, exec: &Execution) -> Option<Limit> {
    if limits::task_time_left_ms(run, task) == 0 && !run.in_flight.works_by_itself(&task.task.slug) {
        return Some(Limit::TaskTimeout);
    }
    let work = Units(run).work_of_execution(task, exec).work;
    let asks = |(effect, in_flight): &(Effect, bool)| matches!(effect, Effect::AskModel(_)) && !in_flight;
    if work.iter().any(asks) { limits::forbids_review(run, task, exec) } else { None }
}
