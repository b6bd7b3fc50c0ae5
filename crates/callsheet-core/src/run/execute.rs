//! Execution of a task (spec 10): building its runs, ending them, merging them.

use std::collections::{BTreeMap, BTreeSet};

use crate::links::link_target;
use crate::names::{call_title, distinct_title, reference_title};
use crate::record::{CallKey, EffectKey, ResultParts};
use crate::spec::{BlobId, ExecRunId, Execution, MergePolicy, Reference, SkillMode, Slug, ToolCall};

use super::{Attempts, ExecRun, Failure, Merge, Reject, Run, RunInput, State, TaskRun, ToolRun, limits};

impl Run {
    /// The execution runs of a task (spec 10.1). Finished ones with the same inputs are kept (spec 10.5).
    pub(super) fn build_runs(&mut self, slug: &Slug) {
        let world = self.world;
        let Some(task) = self.tasks.get_mut(slug) else { return };
        if std::mem::take(&mut task.kept) {
            task.go_on();
            return;
        }
        let former = std::mem::take(&mut task.runs);
        for Planned { name, references, calls } in plan_runs(task) {
            let input = RunInput {
                need: task.task.need.clone(),
                expected: task.task.expected.clone(),
                skill: task.skill.as_ref().and_then(|skill| skill.hash.clone()),
                references,
                calls,
            };
            let seen = seen_by(task, &input);
            let same = |run: &&ExecRun| {
                let same_world = run.finished_world == world || run.seen.is_some() && run.seen == seen;
                // Among other references a run has another number; one that acted keeps its own.
                let has_result = run.finished || run.has_open_review();
                (run.id == name.id || run.calls.is_empty()) && run.input == input && has_result && same_world
            };
            let kept = former.iter().find(same).cloned();
            let run = match kept {
                Some(run) => ExecRun { id: name.id, title: name.title, slug: name.slug, ..run },
                None => ExecRun { seen, ..new_run(name, input, task.is_loop()) },
            };
            task.runs.push(run);
        }
        task.merge = None;
        task.executing = true;
    }

    /// An execution reply was accepted; its changes still have to be approved and applied.
    pub(super) fn evaluated(&mut self, slug: &Slug, key: &CallKey, result: &ResultParts) -> Result<(), Reject> {
        let world = self.world;
        let Some(id) = &key.run else { return Err(Reject::NotAwaited(key.clone())) };
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(id)) else {
            return Err(Reject::NotAwaited(key.clone()));
        };
        run.attempts.reading = None;
        run.result = Some(result.clone());
        match &result.changes {
            Some(changes) if !changes.files.is_empty() => {
                self.stage_changes(slug, id, super::task::SetSource::Reply, changes.clone());
            }
            _ => {
                run.finished = true;
                run.finished_world = world;
            }
        }
        Ok(())
    }

    /// Ends runs and tasks that can go no further. True if something changed.
    pub(super) fn end_executions(&mut self) -> Result<bool, Reject> {
        self.refresh();
        let mut moved = false;
        let executing: Vec<Slug> =
            self.tasks.unsettled().filter(|task| task.is_executing()).map(TaskRun::slug).collect();
        for slug in executing {
            moved |= self.end_limited_units(&slug);
            moved |= self.end_execution(&slug)?;
        }
        let refining: Vec<Slug> =
            self.tasks.unsettled().filter(|task| task.state == State::Refining).map(TaskRun::slug).collect();
        for slug in refining {
            moved |= self.end_limited_refinement(&slug)?;
        }
        Ok(moved)
    }

    fn end_execution(&mut self, slug: &Slug) -> Result<bool, Reject> {
        self.end_process(slug);
        let Some(task) = self.tasks.get_mut(slug) else { return Ok(false) };
        if task.merge.is_some() || !task.runs.iter().all(ExecRun::is_ended) {
            return Ok(false);
        }
        let failures: Vec<&Failure> = task.runs.iter().filter_map(|run| run.failure.as_ref()).collect();
        if let Some(first) = failures.first() {
            let failure = Failure {
                reason: first.reason.clone(),
                issues: failures.iter().flat_map(|failure| failure.issues.clone()).collect(),
                communication: failures.iter().all(|failure| failure.communication),
                cause: first.cause,
            };
            self.fail_task(slug, failure)?;
            return Ok(true);
        }
        if let [only] = task.runs.as_slice() {
            let result = only.result.clone().unwrap_or_default();
            self.enter_running(slug)?;
            self.finish_task(slug, &result)?;
            return Ok(true);
        }
        let own = task.skill.as_ref().and_then(|skill| skill.merge);
        task.merges = task.merges.saturating_add(1);
        task.merge = Some(Merge {
            n: task.merges,
            by_model: own.unwrap_or(self.settings.merge) == MergePolicy::Model,
            fell_back: false,
            attempts: Attempts::default(),
        });
        Ok(true)
    }

    /// A process has no evaluation: what its call gave is its result.
    fn end_process(&mut self, slug: &Slug) {
        let world = self.world;
        let Some(task) = self.tasks.get(slug).filter(|task| task.is_process()) else { return };
        let over = |run: &&ExecRun| !run.is_ended() && run.calls.iter().all(|call| call.output().is_some());
        let Some(id) = task.runs.iter().find(over).map(|run| run.id.clone()) else { return };
        let Some(run) = self.tasks.get_mut(slug).and_then(|task| task.run_mut(&id)) else { return };
        let printed = run.calls.iter().find_map(|call| match call.output() {
            Some(super::ToolOutput::Text { blob, .. }) => Some(blob.clone()),
            _ => None,
        });
        run.result = Some(ResultParts { document: printed, ..ResultParts::default() });
        run.finished = true;
        run.finished_world = world;
        run.attempts.close();
    }

    pub(super) fn runs_merged(&mut self, slug: &Slug, n: u32, result: &ResultParts) -> Result<(), Reject> {
        self.expect_task(slug)?;
        let task = self.tasks.get(slug);
        let awaited = task.filter(|task| task.is_executing()).and_then(|task| task.merge.as_ref());
        match awaited {
            Some(merge) if merge.n == n && (!merge.by_model || merge.fell_back) => {}
            _ => return Err(Reject::NotInFlight(EffectKey::Merge { task: slug.clone(), n })),
        }
        if self.stage != super::Stage::Pass {
            return Err(Reject::Concluding);
        }
        self.enter_running(slug)?;
        self.finish_task(slug, result)
    }

    /// The task is done (spec 10.5).
    pub(super) fn finish_task(&mut self, slug: &Slug, result: &ResultParts) -> Result<(), Reject> {
        let Some(task) = self.tasks.get_mut(slug) else { return Err(Reject::UnknownTask(slug.clone())) };
        let of_runs = task.runs.iter().filter_map(|run| run.result.as_ref()).any(|result| result.more_work);
        self.more_work |= of_runs || result.more_work;
        let mut result = result.clone();
        if task.merge.is_some() {
            result.details = task.details();
        }
        // Whoever reads the result hears what of it a person refused (spec 11.4).
        let told: Vec<&str> = task.refused().map(|part| part.told.as_str()).collect();
        for told in told {
            result.summary = format!("{}\n\n{told}", result.summary.trim_end());
        }
        task.result = Some(result);
        self.set_state(slug, State::Done)
    }

    /// Units whose next model call a limit of the task forbids fail; a merge falls back to code.
    fn end_limited_units(&mut self, slug: &Slug) -> bool {
        let Some(task) = self.tasks.get(slug) else { return false };
        let Some((limit, cause)) = limits::ends_task(self, task) else { return false };
        let mut ended = Vec::new();
        let open = |run: &ExecRun| !run.is_ended() && !run.has_open_review();
        for (index, run) in task.runs.iter().enumerate().filter(|(_, run)| open(run)) {
            let work = self.execution_owing(task, run).work;
            if work.iter().any(|(effect, in_flight)| matches!(effect, super::Effect::AskModel(_)) && !in_flight) {
                ended.push(index);
            }
        }
        let key = CallKey { phase: crate::spec::Phase::Merge, task: Some(slug.clone()), run: None, n: 0 };
        let merge_in_flight = self.asks_in_flight(&key);
        let Some(task) = self.tasks.get_mut(slug) else { return false };
        let mut moved = !ended.is_empty();
        for index in ended {
            if let Some(run) = task.runs.get_mut(index) {
                let reason = format!("it reached its limit {}", limit.name());
                run.failure = Some(Failure { reason, cause, ..Failure::default() });
                run.attempts.close();
            }
        }
        if let Some(merge) = &mut task.merge
            && merge.by_model
            && !merge.fell_back
            && merge.attempts.reading.is_none()
            && !merge_in_flight
        {
            merge.fell_back = true;
            merge.attempts.close();
            moved = true;
        }
        if moved {
            self.reached.insert(limit);
        }
        moved
    }

    fn end_limited_refinement(&mut self, slug: &Slug) -> Result<bool, Reject> {
        let key = CallKey { phase: crate::spec::Phase::Refine, task: Some(slug.clone()), run: None, n: 0 };
        let Some(task) = self.tasks.get(slug) else { return Ok(false) };
        let Some((limit, cause)) = limits::ends_task(self, task) else { return Ok(false) };
        if task.refine.reading.is_some() || self.asks_in_flight(&key) {
            return Ok(false);
        }
        self.reached.insert(limit);
        let reason = format!("it reached its limit {}", limit.name());
        self.fail_task(slug, Failure { reason, cause, ..Failure::default() })?;
        Ok(true)
    }

    /// Whether a call of the same unit as `key` is in flight, whatever its number.
    fn asks_in_flight(&self, key: &CallKey) -> bool {
        self.in_flight.iter().any(|effect| match effect {
            EffectKey::Ask(call) => call.phase == key.phase && call.task == key.task && call.run == key.run,
            _ => false,
        })
    }
}

/// What an execution run is called.
struct RunName {
    id: ExecRunId,
    title: String,
    slug: Slug,
}

struct Planned {
    name: RunName,
    references: Vec<Reference>,
    calls: Vec<ToolCall>,
}

/// The table of spec 10.1; shared references go to every run and are not counted (spec 10.2).
fn plan_runs(task: &TaskRun) -> Vec<Planned> {
    let all = || task.task.references.clone();
    let calls = &task.task.calls;
    if task.is_loop() {
        return vec![Planned { name: RunName::of_all("loop"), references: all(), calls: Vec::new() }];
    }
    let mut taken = BTreeSet::new();
    let mut numbered = |kind: &str, number: usize, title: &str| {
        let (title, slug) = distinct_title(title, &mut taken);
        RunName { id: ExecRunId::new(format!("{kind}-{}", number + 1)), title, slug }
    };
    let template = task.skill.as_ref().filter(|skill| skill.mode == SkillMode::Template);
    if let Some(name) = template.and_then(|skill| skill.tools.first()).filter(|_| calls.is_empty()) {
        // Without required inputs there is nothing to refine, and no call yet.
        let arguments = serde_json::Value::Object(serde_json::Map::new());
        let call = ToolCall { name: name.clone(), id: format!("{name}-1"), arguments };
        return vec![Planned { name: numbered("tool", 0, &call_title(&call)), references: all(), calls: vec![call] }];
    }
    if !calls.is_empty() && task.execution() != Execution::Together {
        let runs = calls.iter().enumerate().map(|(index, call)| Planned {
            name: numbered("tool", index, &call_title(call)),
            references: all(),
            calls: vec![call.clone()],
        });
        return runs.collect();
    }
    let parted = task.execution() == Execution::PerReference || task.apart.is_some();
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

impl RunName {
    /// The only run of its task.
    fn of_all(id: &str) -> Self {
        Self { id: ExecRunId::new(id), title: String::new(), slug: Slug::new(id) }
    }
}

impl TaskRun {
    fn execution(&self) -> Execution {
        self.skill.as_ref().map(|skill| skill.execution).unwrap_or_default()
    }

    /// Its references; duplicates are read once (spec 5.9).
    fn references_once(&self) -> impl Iterator<Item = &Reference> {
        let mut seen = BTreeSet::new();
        self.task.references.iter().filter(move |reference| seen.insert(&reference.target))
    }

    /// Its references may be read one by one.
    fn may_part(&self) -> bool {
        let mode = self.skill.as_ref().map(|skill| skill.mode).unwrap_or_default();
        let parts = mode == SkillMode::Interpret && self.writer.is_none() && self.execution() != Execution::Together;
        let counted = self.references_once().filter(|reference| !reference.target.is_shared());
        parts && self.task.calls.is_empty() && counted.count() > 1
    }

    /// Its references are about to be read together, if one prompt has room for them (spec 10.1).
    pub fn needs_room(&self) -> bool {
        self.may_part() && self.execution() == Execution::PerCall && !self.kept
    }
}

impl TaskRun {
    /// Execution that had begun goes on. A run that read something else than is there now begins anew.
    fn go_on(&mut self) {
        self.executing = true;
        let seen: Vec<_> = self.runs.iter().map(|run| seen_by(self, &run.input)).collect();
        for (run, seen) in self.runs.iter_mut().zip(seen) {
            if run.seen.is_some() && seen.is_some() && run.seen != seen {
                let name = RunName { id: run.id.clone(), title: run.title.clone(), slug: run.slug.clone() };
                *run = ExecRun { seen, ..new_run(name, run.input.clone(), run.is_loop) };
                self.merge = None;
            }
        }
    }
}

/// What a run reads as it was at the last check, without what only its siblings read. What tools find is not known.
fn seen_by(task: &TaskRun, input: &RunInput) -> Option<BTreeMap<String, BlobId>> {
    let of_run = |link: &str| input.references.iter().any(|reference| link_target(&reference.target) == link);
    let of_task = |link: &str| task.task.references.iter().any(|reference| link_target(&reference.target) == link);
    let known = input.references.iter().all(|reference| task.seen.contains_key(&link_target(&reference.target)));
    let seen = task.seen.iter().filter(|(link, _)| of_run(link) || !of_task(link));
    (known && input.calls.is_empty() && !task.is_loop())
        .then(|| seen.map(|(link, at)| (link.clone(), at.clone())).collect())
}

fn new_run(name: RunName, input: RunInput, is_loop: bool) -> ExecRun {
    let calls = input.calls.iter().cloned().map(ToolRun::new).collect();
    ExecRun {
        id: name.id,
        title: name.title,
        slug: name.slug,
        is_loop,
        input,
        calls,
        turns: Vec::new(),
        repeats: 0,
        attempts: Attempts::default(),
        result: None,
        review: None,
        finished: false,
        finished_world: 0,
        seen: None,
        failure: None,
    }
}
