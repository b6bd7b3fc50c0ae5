//! Executes tasks (spec 10): begins their executions, ends them and merges them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::links::link_target;
use crate::names::{call_title, distinct_title, reference_title};
use crate::nouns::{
    BlobId, ExecutionId, ExecutionMode, MergePolicy, Phase, Policy, Reference, SkillMode, Slug, ToolCall,
};
use crate::record::{CallKey, EffectKey, ResultParts};

use super::attempts::Attempts;
use super::effect::Effect;
use super::execution::{Execution, ExecutionPhase, Merge, MergeBy, RunInput, ToolOutput, ToolRun};
use super::failure::{Cause, Failure};
use super::limit::Limit;
use super::operators::FOR_EACH;
use super::resume::Resume;
use super::reviews::has_reviewed_result;
use super::state::State;
use super::task::{ExecutionStage, TaskPhase, TaskRun};
use super::task_change::TaskChange;
use super::units::Units;
use super::{Run, limits};

/// Begins and ends the executions of tasks.
pub(super) struct Executing<'a>(pub &'a mut Run);

impl Executing<'_> {
    /// Begins the executions of a task (spec 10.1). Finished ones with the same inputs are kept (spec 10.5).
    pub fn begin(&mut self, slug: &Slug) {
        let now = self.0.changes.revision();
        let Some(task) = self.0.tasks.get_mut(slug) else { return };
        if task.is_on_hold() {
            return task.continue_execution();
        }
        let former = std::mem::take(&mut task.runs);
        let planned = plan_runs(task);
        task.runs.reserve_exact(planned.len());
        for Planned { name, references, calls } in planned {
            let input = RunInput {
                need: task.task.need.clone(),
                expected: task.task.expected.clone(),
                skill: task.skill.as_ref().and_then(|skill| skill.hash.clone()),
                references,
                calls,
            };
            let seen = seen_by(task, &input);
            let same = |run: &&Execution| {
                let unmoved = run.gave_at(now) || run.seen.is_some() && run.seen == seen;
                // With other references, an execution has another number. An execution that acted keeps its own
                // number.
                let has_result = run.is_finished() || run.has_open_review();
                (run.id == name.id || run.calls.is_empty()) && run.input == input && has_result && unmoved
            };
            let kept = former.iter().find(same).cloned();
            let run = match kept {
                Some(run) => Execution { id: name.id, title: name.title, slug: name.slug, ..run },
                None => Execution { seen, ..new_run(name, input, task.is_loop()) },
            };
            task.runs.push(run);
        }
        task.merge = None;
        task.execution = ExecutionStage::Begun;
    }

    /// Fails tasks whose time is over (spec 12.6).
    pub fn end_overdue(&mut self) -> bool {
        let run = &mut *self.0;
        run.tasks.refresh();
        let (now, due) = (run.clock.now(), run.tasks.next_due_ms());
        // The time of a task passes only while it has a slot.
        let all = (due <= now).then(|| run.tasks.all_holding()).into_iter().flatten();
        let mut next_due = if due <= now { u64::MAX } else { due };
        let mut overdue: Vec<Slug> = Vec::new();
        let goes_on = |task: &&TaskRun| matches!(task.state(), State::Refining | State::Ready | State::Running);
        for task in all.chain(run.tasks.unsettled()).filter(goes_on) {
            let left = limits::task_time_left_ms(run, task);
            // A call ends by itself at that time. The reviewed result then counts.
            if left == 0 && !has_reviewed_result(run, task) {
                overdue.push(task.slug());
            } else {
                next_due = next_due.min(now.saturating_add(left));
            }
        }
        run.tasks.set_next_due_ms(next_due);
        overdue.sort();
        overdue.dedup();
        for slug in &overdue {
            let at_work = calls_at_work(run, slug).join(", ");
            Resume(run).settle_tools(slug);
            run.progress.notified_mut().note_reached(Limit::TaskTimeout);
            let during = if at_work.is_empty() { at_work } else { format!(" while {at_work} ran") };
            let reason = format!("it ran out of time{during}");
            let cause = Cause::Limit(Limit::TaskTimeout);
            TaskChange(run).fail(slug, Failure { reason, cause, ..Failure::default() });
        }
        !overdue.is_empty()
    }

    /// Ends executions and tasks that cannot continue. Returns whether something changed.
    pub fn end_all(&mut self) -> bool {
        let mut moved = false;
        self.0.tasks.refresh();
        let executing: Vec<Slug> =
            self.0.tasks.unsettled().filter(|task| task.is_executing()).map(TaskRun::slug).collect();
        for slug in executing {
            moved |= self.end_limited_units(&slug);
            moved |= self.end_failed_calls(&slug) || self.end(&slug);
        }
        self.0.tasks.refresh();
        let refining = self.0.tasks.unsettled().filter(|task| task.state() == State::Refining).map(TaskRun::slug);
        for slug in refining.collect::<Vec<_>>() {
            moved |= self.end_limited_refinement(&slug);
        }
        moved
    }

    fn end(&mut self, slug: &Slug) -> bool {
        self.end_process(slug);
        let Some(task) = self.0.tasks.get(slug) else { return false };
        if task.merge.is_some() || !task.runs.iter().all(Execution::is_ended) {
            return false;
        }
        let failures: Vec<&Failure> = task.runs.iter().filter_map(Execution::failure).collect();
        if let Some(first) = failures.first() {
            let failure = Failure {
                reason: first.reason.clone(),
                issues: failures.iter().flat_map(|failure| failure.issues.clone()).collect(),
                communication: failures.iter().all(|failure| failure.communication),
                cause: first.cause,
            };
            TaskChange(self.0).fail(slug, failure);
            return true;
        }
        if let [only] = task.runs.as_slice() {
            let result = only.shared_result().unwrap_or_default();
            let mut change = TaskChange(self.0);
            change.enter_running(slug);
            change.finish(slug, result);
            return true;
        }
        let own = task.skill.as_ref().and_then(|skill| skill.merge);
        // No call has seen the parts of a split material together (spec 10.1).
        let default = if task.apart.is_some() { MergePolicy::Model } else { self.0.settings().merge };
        let by_model = own.unwrap_or(default) == MergePolicy::Model;
        let by = if by_model { MergeBy::Model } else { MergeBy::Code };
        if let Some(task) = self.0.tasks.get_mut(slug) {
            task.merges = task.merges.saturating_add(1);
            task.merge = Some(Merge { n: task.merges, by, attempts: Attempts::default() });
        }
        true
    }

    /// Refines a task again if all its calls failed, and tells the model what the tools said. The second time the
    /// task fails (spec 10.4).
    fn end_failed_calls(&mut self, slug: &Slug) -> bool {
        let refine = self.0.settings().refine;
        let Some(task) = self.0.tasks.get_mut(slug).filter(|task| task.has_only_failed_calls()) else { return false };
        let policy = task.skill.as_ref().and_then(|skill| skill.refine).unwrap_or(refine);
        if !task.sent_back && policy != Policy::Never {
            task.send_back();
            let mut change = TaskChange(self.0);
            change.abort_in_flight(slug);
            change.enter(slug, TaskPhase::Refining);
            return true;
        }
        let calls = task.runs.iter().flat_map(|run| &run.calls);
        let said: Vec<String> = calls.map(|call| call_fault(&call.call, call.fault.as_deref())).collect();
        let reason = format!("all its calls failed: {}", said.join("; "));
        TaskChange(self.0).fail(slug, Failure { reason, ..Failure::default() });
        true
    }

    /// Ends a process. Its result is the output of its call, without an evaluation.
    fn end_process(&mut self, slug: &Slug) {
        let revision = self.0.changes.revision();
        let Some(task) = self.0.tasks.get(slug).filter(|task| task.is_process()) else { return };
        let over = |run: &&Execution| !run.is_ended() && run.calls.iter().all(|call| call.output().is_some());
        let Some(id) = task.runs.iter().find(over).map(|run| run.id.clone()) else { return };
        let Some(run) = self.0.tasks.get_mut(slug).and_then(|task| task.run_mut(&id)) else { return };
        let printed = run.calls.iter().find_map(|call| match call.output() {
            Some(ToolOutput::Text { blob, .. }) => Some(blob.clone()),
            _ => None,
        });
        run.finish(ResultParts { document: printed, ..ResultParts::default() }, revision);
        run.attempts.close();
    }

    /// Notes that code merged the executions of a task.
    pub fn merged(&mut self, slug: &Slug, result: &ResultParts) {
        let mut change = TaskChange(self.0);
        change.enter_running(slug);
        change.finish(slug, Arc::new(result.clone()));
    }

    /// Fails the units whose next model call a limit of the task forbids. A merge falls back to code.
    fn end_limited_units(&mut self, slug: &Slug) -> bool {
        let Some(task) = self.0.tasks.get(slug) else { return false };
        let Some((limit, cause)) = limits::ends_task(self.0, task) else { return false };
        let mut ended = Vec::new();
        let open = |run: &Execution| !run.is_ended() && !run.has_open_review();
        for (index, run) in task.runs.iter().enumerate().filter(|(_, run)| open(run)) {
            let work = Units(self.0).work_of_execution(task, run).work;
            if work.iter().any(|(effect, in_flight)| matches!(effect, Effect::AskModel(_)) && !in_flight) {
                ended.push(index);
            }
        }
        let key = CallKey { phase: Phase::Merge, task: Some(slug.clone()), run: None, n: 0 };
        let merge_in_flight = self.asks_in_flight(&key);
        let Some(task) = self.0.tasks.get_mut(slug) else { return false };
        let mut moved = !ended.is_empty();
        for index in ended {
            if let Some(run) = task.runs.get_mut(index) {
                let reason = format!("it reached its limit {}", limit.name());
                run.fail(Failure { reason, cause, ..Failure::default() });
            }
        }
        if let Some(merge) = &mut task.merge
            && merge.by == MergeBy::Model
            && merge.attempts.reading.is_none()
            && !merge_in_flight
        {
            merge.fall_back();
            moved = true;
        }
        if moved {
            self.0.progress.notified_mut().note_reached(limit);
        }
        moved
    }

    fn end_limited_refinement(&mut self, slug: &Slug) -> bool {
        let key = CallKey { phase: Phase::Refine, task: Some(slug.clone()), run: None, n: 0 };
        let Some(task) = self.0.tasks.get(slug) else { return false };
        let Some((limit, cause)) = limits::ends_task(self.0, task) else { return false };
        if task.refine.reading.is_some() || self.asks_in_flight(&key) {
            return false;
        }
        self.0.progress.notified_mut().note_reached(limit);
        let reason = format!("it reached its limit {}", limit.name());
        TaskChange(self.0).fail(slug, Failure { reason, cause, ..Failure::default() });
        true
    }

    /// Whether a call of the same unit as `key` is in flight, under any number.
    fn asks_in_flight(&self, key: &CallKey) -> bool {
        self.0.in_flight.iter().any(|effect| match effect {
            EffectKey::Ask(call) => call.phase == key.phase && call.task == key.task && call.run == key.run,
            _ => false,
        })
    }
}

/// The tools whose calls the end of a task's time found at work: those that are in flight, and those that ended
/// because of it.
fn calls_at_work(run: &Run, slug: &Slug) -> Vec<String> {
    let Some(task) = run.tasks.get(slug).filter(|task| !task.is_process()) else { return Vec::new() };
    let calls = task.runs.iter().flat_map(|exec| exec.calls.iter().map(move |call| (exec, call)));
    let at_work = calls.filter(|(exec, call)| {
        let (task, run_of, call_id) = (slug.clone(), exec.id.clone(), call.call.id.clone());
        let key = EffectKey::Tool { task, run: run_of, call: call_id };
        call.timed_out || run.in_flight.contains(&key)
    });
    let names: BTreeSet<&str> = at_work.map(|(_, call)| call.call.name.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// A failed call and the message of its tool.
fn call_fault(call: &ToolCall, fault: Option<&str>) -> String {
    let title = call_title(call);
    fault.map_or(title.clone(), |fault| format!("{title} ({fault})"))
}

/// The name of an execution.
struct RunName {
    id: ExecutionId,
    title: String,
    slug: Slug,
}

struct Planned {
    name: RunName,
    references: Vec<Reference>,
    calls: Vec<ToolCall>,
}

/// The executions of a task by the table of spec 10.1. Every execution gets the shared references, which are not
/// counted (spec 10.2).
fn plan_runs(task: &TaskRun) -> Vec<Planned> {
    let all = || task.task.references.clone();
    let calls = &task.task.calls;
    if task.is_loop() {
        return vec![Planned { name: RunName::of_all("loop"), references: all(), calls: Vec::new() }];
    }
    let mut taken = BTreeSet::new();
    let mut numbered = |kind: &str, number: usize, title: &str| {
        let (title, slug) = distinct_title(title, &mut taken);
        RunName { id: ExecutionId::new(format!("{kind}-{}", number + 1)), title, slug }
    };
    if task.task.for_each.is_some() {
        let call = ToolCall { name: FOR_EACH.to_owned(), id: format!("{FOR_EACH}-1"), arguments: no_arguments() };
        return vec![Planned { name: RunName::of_all(FOR_EACH), references: all(), calls: vec![call] }];
    }
    let template = task.skill.as_ref().filter(|skill| skill.mode == SkillMode::Template);
    if let Some(name) = template.and_then(|skill| skill.tools.first()).filter(|_| calls.is_empty()) {
        // A tool without required inputs needs no refinement, so there is no call yet.
        let call = ToolCall { name: name.clone(), id: format!("{name}-1"), arguments: no_arguments() };
        return vec![Planned { name: numbered("tool", 0, &call_title(&call)), references: all(), calls: vec![call] }];
    }
    if !calls.is_empty() && task.execution() != ExecutionMode::Together {
        let runs = calls.iter().enumerate().map(|(index, call)| Planned {
            name: numbered("tool", index, &call_title(call)),
            references: all(),
            calls: vec![call.clone()],
        });
        return runs.collect();
    }
    let parted = task.execution() == ExecutionMode::PerReference || task.apart.is_some();
    if !task.may_part() || !parted {
        return vec![Planned { name: RunName::of_all("exec"), references: all(), calls: calls.clone() }];
    }
    let (shared, counted): (Vec<Reference>, Vec<Reference>) =
        task.references_once().cloned().partition(|reference| reference.target.is_shared());
    let runs = counted.into_iter().enumerate().map(|(index, reference)| {
        let name = numbered("ref", index, &reference_title(&reference));
        let mut references = shared.clone();
        references.push(reference);
        Planned { name, references, calls: Vec::new() }
    });
    runs.collect()
}

fn no_arguments() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

impl RunName {
    /// The name of the only execution of a task.
    fn of_all(id: &str) -> Self {
        Self { id: ExecutionId::new(id), title: String::new(), slug: Slug::new(id) }
    }
}

impl TaskRun {
    fn execution(&self) -> ExecutionMode {
        self.skill.as_ref().map(|skill| skill.execution).unwrap_or_default()
    }

    /// Its references, without duplicates (spec 5.9).
    fn references_once(&self) -> impl Iterator<Item = &Reference> {
        let mut seen = BTreeSet::new();
        self.task.references.iter().filter(move |reference| seen.insert(&reference.target))
    }

    /// Whether its references may be read one by one.
    fn may_part(&self) -> bool {
        let mode = self.skill.as_ref().map(|skill| skill.mode).unwrap_or_default();
        let parts = self.task.for_each.is_none()
            && mode == SkillMode::Interpret
            && self.writer.is_none()
            && self.execution() != ExecutionMode::Together;
        let counted = self.references_once().filter(|reference| !reference.target.is_shared());
        parts && self.task.calls.is_empty() && counted.count() > 1
    }

    /// Whether its references are about to be read together, if one prompt has room for them (spec 10.1).
    pub fn needs_room(&self) -> bool {
        self.may_part() && self.execution() == ExecutionMode::PerCall && !self.is_on_hold()
    }
}

impl TaskRun {
    /// Continues an execution that was on hold. It begins again if the references that it reads have changed.
    fn continue_execution(&mut self) {
        self.execution = ExecutionStage::Begun;
        let seen: Vec<_> = self.runs.iter().map(|run| seen_by(self, &run.input)).collect();
        for (run, seen) in self.runs.iter_mut().zip(seen) {
            if run.seen.is_some() && seen.is_some() && run.seen != seen {
                let name = RunName { id: run.id.clone(), title: run.title.clone(), slug: run.slug.clone() };
                *run = Execution { seen, ..new_run(name, run.input.clone(), run.is_loop) };
                self.merge = None;
            }
        }
    }
}

/// The content that an execution reads, as of the last check, without the references that only its siblings read.
/// `None` if it acts by tools, because what tools find is not known.
fn seen_by(task: &TaskRun, input: &RunInput) -> Option<BTreeMap<String, BlobId>> {
    let of_run = |link: &str| input.references.iter().any(|reference| link_target(&reference.target) == link);
    let of_task = |link: &str| task.task.references.iter().any(|reference| link_target(&reference.target) == link);
    let known = input.references.iter().all(|reference| task.seen.contains_key(&link_target(&reference.target)));
    let seen = task.seen.iter().filter(|(link, _)| of_run(link) || !of_task(link));
    (known && input.calls.is_empty() && !task.is_loop())
        .then(|| seen.map(|(link, at)| (link.clone(), at.clone())).collect())
}

fn new_run(name: RunName, input: RunInput, is_loop: bool) -> Execution {
    let calls = input.calls.iter().cloned().map(ToolRun::new).collect();
    Execution {
        id: name.id,
        title: name.title,
        slug: name.slug,
        is_loop,
        input,
        calls,
        turns: Vec::new(),
        repeats: 0,
        attempts: Attempts::default(),
        phase: ExecutionPhase::Working,
        seen: None,
        review: None,
        checked_again: false,
    }
}
