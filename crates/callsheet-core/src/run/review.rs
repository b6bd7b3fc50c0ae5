//! Reviews (spec 10.9): a model is asked whether a result is complete. A `no` has the task done once more; whatever keeps a
//! review or the second result from coming, the result that is there counts.

use crate::issue::{Issue, IssueCode, Repair};
use crate::record::{CallFault, CallKey, CallSizes, ResultParts};
use crate::spec::{ExecRunId, Phase, Policy, Slug};

use super::ledger::Listed;
use super::{Effect, ExecRun, Reject, Run, TaskRun, limits};

/// The review of the result of an execution run. There is at most one.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// The call that gave the result.
    pub of: CallKey,
    /// The result: it counts if the review finds it complete, or if nothing better comes.
    pub result: ResultParts,
    /// What the reviewer says is missing: the task is done once more.
    pub missing: Option<String>,
    /// Why there is no verdict, or no second result.
    pub failed: Option<String>,
    /// It is over: nothing is reviewed or done once more.
    pub over: bool,
}

impl Review {
    /// The verdict is awaited.
    fn is_asked(&self) -> bool {
        !self.over && self.missing.is_none()
    }
}

impl ExecRun {
    /// Its result waits for the verdict of a review.
    pub fn is_under_review(&self) -> bool {
        self.review.as_ref().is_some_and(Review::is_asked)
    }

    /// A review had it done once more, and there is no second result yet.
    pub fn is_done_once_more(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.over && review.missing.is_some())
    }

    pub(super) fn has_open_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.over)
    }
}

impl TaskRun {
    /// Reviews of its results.
    pub fn reviews(&self) -> impl Iterator<Item = &Review> {
        self.runs.iter().filter_map(|run| run.review.as_ref())
    }
}

impl Run {
    /// Tasks with a result whose review is not over.
    pub fn reviewed(&self) -> impl Iterator<Item = &TaskRun> {
        self.tasks.reviewed().filter(|task| task.runs.iter().any(ExecRun::has_open_review))
    }

    /// Attempts that the phase of a call has. What a review asks for once more has that one alone.
    pub(super) fn attempts_of(&self, key: &CallKey) -> u32 {
        let task = key.task.as_ref().and_then(|slug| self.tasks.get(slug));
        let exec = key.run.as_ref().and_then(|id| task?.run(id)).filter(|_| key.phase == Phase::Execute);
        if exec.is_some_and(ExecRun::is_done_once_more) { 0 } else { limits::attempts(self) }
    }

    /// Whether results of the task are reviewed: its own policy, that of its skill, that of the run. `auto` is no.
    fn reviews(&self, task: &TaskRun) -> bool {
        let of_skill = task.skill.as_ref().and_then(|skill| skill.review);
        let policy = task.task.review.or(of_skill).unwrap_or(self.settings.review);
        // A part says nothing of whether the whole is done.
        policy == Policy::Always && task.runs.len() == 1
    }

    /// The accepted result of an execution run goes to a review first, if it is to have one. A second result needs none.
    pub(super) fn puts_under_review(&mut self, slug: &Slug, key: &CallKey, result: &ResultParts) -> bool {
        let reviews = self.tasks.get(slug).is_some_and(|task| self.reviews(task));
        let Some(id) = &key.run else { return false };
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return false };
        if let Some(review) = &mut run.review {
            review.over = true;
            return false;
        }
        if !reviews {
            return false;
        }
        let (of, result) = (key.clone(), result.clone());
        run.review = Some(Review { of, result, missing: None, failed: None, over: false });
        run.attempts.reading = None;
        run.attempts.counted = false;
        true
    }

    /// A verdict was read.
    pub(super) fn review_read(
        &mut self,
        key: &CallKey,
        missing: Option<&str>,
        repairs: &[Repair],
        issues: &[Issue],
    ) -> Result<(), Reject> {
        let not_awaited = || Reject::NotAwaited(key.clone());
        let (Phase::Review, Some(slug), Some(id)) = (key.phase, &key.task, &key.run) else {
            return Err(not_awaited());
        };
        if !self.tasks.get(slug).and_then(|task| task.run(id)).is_some_and(ExecRun::is_under_review) {
            return Err(not_awaited());
        }
        self.accept(key, repairs, issues)?;
        let unreadable = issues.iter().find(|issue| issue.code == IssueCode::ReviewUnreadable);
        let Some(missing) = missing else {
            return self.count_result(slug, id, unreadable.map(|issue| issue.what.clone()));
        };
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else { return Ok(()) };
        let Some(review) = &mut run.review else { return Ok(()) };
        review.missing = Some(missing.to_owned());
        let of = review.of.clone();
        run.attempts.reading = None;
        run.attempts.attempt = run.attempts.attempt.saturating_add(1);
        run.attempts.issues = issues.to_vec();
        let reply = self.call_record(&of).map(|record| record.reply.clone());
        if let Some(attempts) = self.attempts_mut(key) {
            attempts.refused = reply;
        }
        Ok(())
    }

    /// A review gave no reply.
    pub(super) fn review_failed(
        &mut self,
        key: &CallKey,
        fault: &CallFault,
        message: &str,
        sizes: Option<CallSizes>,
    ) -> Result<(), Reject> {
        let (Some(slug), Some(id)) = (&key.task, &key.run) else { return Ok(()) };
        match fault {
            CallFault::Cancelled => Ok(()),
            CallFault::Budget => {
                let needed = sizes.map_or(0, |sizes| sizes.prompt);
                match limits::short_of_tokens(self, self.tasks.get(slug), needed) {
                    // It waits until others return what they hold.
                    limits::Short::Now => Ok(()),
                    _ => self.count_result(slug, id, Some(message.to_owned())),
                }
            }
            _ => self.count_result(slug, id, Some(message.to_owned())),
        }
    }

    /// The result under review counts as it is; `failed`: why no better is known of it.
    fn count_result(&mut self, slug: &Slug, id: &ExecRunId, failed: Option<String>) -> Result<(), Reject> {
        let run = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id));
        let Some(review) = run.and_then(|run| run.review.as_mut()) else { return Ok(()) };
        review.over = true;
        review.failed = failed;
        let (key, result) = (review.of.clone(), review.result.clone());
        self.enter_running(slug)?;
        self.evaluated(slug, &key, &result)
    }

    /// An execution that was done once more failed: its first result counts. False if it has none.
    pub(super) fn keep_reviewed(&mut self, slug: &Slug, id: &ExecRunId, reason: &str) -> bool {
        let open = self.tasks.get(slug).and_then(|task| task.run(id)).is_some_and(ExecRun::has_open_review);
        open && self.count_result(slug, id, Some(reason.to_owned())).is_ok()
    }

    /// Whether a result of the task waits for a review, or for a second one, that is in flight, or counts after it.
    pub(super) fn has_reviewed_result(&self, task: &TaskRun) -> bool {
        let waits = |run: &ExecRun| run.has_open_review() && self.works_by_itself(&task.task.slug);
        task.runs.iter().any(|run| run.review.is_some() && run.finished || waits(run))
    }

    /// Results whose review, or second attempt, a limit forbids count as they are. True if there is one.
    pub(super) fn end_reviews(&mut self) -> Result<bool, Reject> {
        self.refresh();
        let open = self.tasks.reviewed().filter(|task| task.is_executing() && self.is_approved(task));
        let forbidden = open.filter_map(|task| {
            let run = task.runs.iter().find(|run| run.has_open_review())?;
            let limit = self.forbids_review(task, run)?;
            Some((task.slug(), run.id.clone(), limit))
        });
        let forbidden: Vec<_> = forbidden.collect();
        for (slug, id, limit) in &forbidden {
            self.reached.insert(*limit);
            self.count_result(slug, id, Some(format!("the limit {} is reached", limit.name())))?;
        }
        Ok(!forbidden.is_empty())
    }

    fn forbids_review(&self, task: &TaskRun, run: &ExecRun) -> Option<limits::Limit> {
        if limits::task_time_is_over(self, task) && !self.works_by_itself(&task.task.slug) {
            return Some(limits::Limit::TaskTimeout);
        }
        let work = self.execution_owing(task, run).work;
        let asks = |(effect, in_flight): &(Effect, bool)| matches!(effect, Effect::AskModel(_)) && !in_flight;
        if !work.iter().any(asks) {
            return None;
        }
        // A review is no turn of a conversation.
        let of_task = match run.is_under_review() {
            true => None,
            false => limits::ends_task(self, task).map(|(limit, _)| limit),
        };
        of_task.or_else(|| limits::forbids_call(self, Some(task), &Listed::default()))
    }
}
