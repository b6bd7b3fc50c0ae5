//! The end of a run with several results (spec 2.15): one model call answers the request from them. If no answer
//! comes, the results are shown as a list.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::issue::{Issue, Repair};
use crate::nouns::{Phase, Policy, Slug};
use crate::record::{CallFault, CallKey, EffectKey, Entry, Outcome, ResultParts};

use super::joined::Joined;
use super::ledger::Listed;
use super::state::Stage;
use super::task::{TaskPhase, TaskRun};
use super::task_change::return_reserves;
use super::{Run, limits};

/// Joins results and applies the outcome.
pub(super) struct Joins<'a>(pub &'a mut Run);

impl Joins<'_> {
    /// Ends a run that has nothing left to do. Joins its results first if they are to be joined.
    pub fn finish(&mut self) {
        let run = &mut *self.0;
        let outcome = verdict(run);
        if wants_join(run, outcome) {
            run.progress.go(Stage::Join(outcome));
        } else {
            run.progress.conclude(outcome);
        }
    }

    /// Notes the answer.
    pub fn joined(
        &mut self,
        key: &CallKey,
        (answer, unsupported): (&str, &[String]),
        repairs: &[Repair],
        issues: &[Issue],
    ) {
        self.0.calls.note_reading(key, true, repairs, issues);
        self.end(Joined::Answer { text: answer.to_owned(), unsupported: unsupported.to_vec() });
    }

    /// Notes that the reply was refused.
    pub fn refused(&mut self, issues: &[Issue]) {
        let why = issues.first().map(|issue| issue.what.clone()).unwrap_or_default();
        self.end(Joined::Failed(why));
    }

    /// Notes that the call gave no reply.
    pub fn failed(&mut self, fault: &CallFault, message: &str) {
        // If a person stops the run, a resume may still join the results.
        if *fault != CallFault::Cancelled {
            self.end(Joined::Failed(message.to_owned()));
        }
    }

    /// Ends the joining if a limit forbids the call. The results are then shown as a list. Returns whether a limit
    /// forbids it.
    pub fn end_forbidden(&mut self) -> bool {
        let run = &mut *self.0;
        let reads = run.calls.list(Phase::Join).is_some_and(|attempts| attempts.reading.is_some());
        if reads || run.in_flight.iter().any(is_join) {
            return false;
        }
        let Some(limit) = limits::forbids_call(run, None, &Listed::default()) else { return false };
        run.progress.notified_mut().note_reached(limit);
        self.end(Joined::Failed(format!("the limit {} is reached", limit.name())));
        true
    }

    /// Gives up the joining because the run continues. Its results are joined at its next end.
    pub fn give_up(&mut self) {
        let run = &mut *self.0;
        let given_up = run.in_flight.abort(is_join);
        return_reserves(run, &given_up);
        run.calls.restart_list(Phase::Join);
    }

    fn end(&mut self, joined: Joined) {
        let run = &mut *self.0;
        let Stage::Join(outcome) = run.stage() else { return };
        let of = results(run);
        run.progress.answer_mut().set(of, joined);
        run.calls.restart_list(Phase::Join);
        run.progress.conclude(outcome);
    }
}

fn is_join(key: &EffectKey) -> bool {
    matches!(key, EffectKey::Ask(call) if call.phase == Phase::Join)
}

fn verdict(run: &Run) -> Outcome {
    let is_problem = run.tasks().any(|task| task.state().is_problem());
    if is_problem || !run.unwritten().is_empty() { Outcome::Incomplete } else { Outcome::Complete }
}

/// Whether one of the paths is the asked path or ends with it.
fn names(paths: &BTreeSet<&str>, asked: &str) -> bool {
    let inside = |path: &&str| path.strip_suffix(asked).is_some_and(|folder| folder.ends_with('/'));
    paths.contains(asked) || paths.iter().any(inside)
}

/// Whether results must be joined. A single result needs no joining, and the same results are joined only once.
fn wants_join(run: &Run, outcome: Outcome) -> bool {
    let planned = || matches!(run.entry(), Some(Entry::Prompt { .. })) || !run.follow_ups().is_empty();
    let wanted = match run.settings().join {
        Policy::Always => true,
        Policy::Never => false,
        Policy::Auto => outcome == Outcome::Complete && planned(),
    };
    if !wanted {
        return false;
    }
    let of = results(run);
    of.len() > 1 && run.progress.answer().of(&of).is_none()
}

fn results(run: &Run) -> Vec<(Slug, Arc<ResultParts>)> {
    let result = |task: &TaskRun| match &task.phase {
        TaskPhase::Done(result) => Some((task.slug(), Arc::clone(result))),
        _ => None,
    };
    run.results().into_iter().filter_map(result).collect()
}

impl Run {
    /// The files that the request asks for and that no change set has written, without those that a task said to need
    /// no change. Empty if something else, such as a command, may have written them.
    pub fn unwritten(&self) -> Vec<&str> {
        let other =
            |task: &TaskRun| task.writer.is_some() && !task.skill.as_ref().is_some_and(|skill| skill.writes_files);
        if self.done().any(other) {
            return Vec::new();
        }
        self.open_files(false)
    }

    /// The files that the request asks for and that a task said to need no change.
    pub fn said_unchanged(&self) -> Vec<&str> {
        self.open_files(true)
    }

    /// The files that the request asks for and that no change set has written. `said` selects those that a task said
    /// to need no change, otherwise the others.
    fn open_files(&self, said: bool) -> Vec<&str> {
        let written: BTreeSet<&str> = self.all_tasks().flat_map(TaskRun::changed_files).collect();
        let results = self.done().filter_map(TaskRun::result);
        let unchanged: BTreeSet<&str> = results.flat_map(|result| &result.unchanged).map(String::as_str).collect();
        let asked = self.progress.routing().writes().iter().map(String::as_str);
        asked.filter(|path| !names(&written, path) && names(&unchanged, path) == said).collect()
    }

    /// Whether the request was answered only by tasks that may not change anything.
    pub fn is_read_only(&self) -> bool {
        let asked = matches!(self.entry(), Some(Entry::Prompt { .. }));
        asked && self.done().next().is_some() && self.all_tasks().all(|task| task.writer.is_none())
    }

    /// The tasks whose results answer the request: done tasks whose output no other done task reads. After a
    /// follow-up, only the tasks of the follow-up, if it has any.
    pub fn results(&self) -> Vec<&TaskRun> {
        let read: BTreeSet<&Slug> = self
            .done()
            .flat_map(TaskRun::producers)
            .filter_map(|slug| self.task(slug))
            .map(|producer| &producer.task.slug)
            .collect();
        let last = self.done().filter(|task| !read.contains(&task.task.slug));
        let (latest, earlier): (Vec<&TaskRun>, Vec<&TaskRun>) = last.partition(|task| self.is_of_latest(task));
        if latest.is_empty() { earlier } else { latest }
    }

    /// The outcome of joining these results. `None` if they were not joined.
    pub fn joined(&self) -> Option<&Joined> {
        self.progress.answer().of(&results(self))
    }
}
