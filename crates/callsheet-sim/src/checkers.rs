//! The promises, each a function with its name. A checker keeps its own books. It never asks the machine whether the
//! machine was right.

mod again;

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::nouns::{
    ApprovalMode, BlobId, ExecutionId, Phase, Refinement, RepeatClass, SectionOrder, Settings, Slug, Task, ToolEffect,
};
use callsheet_core::record::{
    AdoptedList, Answer, CallFault, CallKey, ChangeSet, EffectKey, Gate, GateKind, ToolPolicy, ToolRecord, Verdict,
};
use callsheet_core::run::{Effect, Run, Stage, State, TaskRun};

use crate::checks::{Checks, nothing_is_applied_unchecked};
use crate::joins::Answers;
use crate::people::part;
use crate::plan::{Plan, ended_tasks_stay_ended};
use crate::reviews::{ReviewedExecution, Verdicts};
use crate::world::COST;

pub(crate) type Kept = Result<(), String>;

/// Books about the accepted events.
#[derive(Default)]
pub struct Witness {
    settings: Settings,
    tools: BTreeMap<String, ToolPolicy>,
    /// How often a task was listed again. Finished work may be repeated for the new text.
    listing: BTreeMap<Slug, u32>,
    finished_calls: BTreeSet<CallKey>,
    started_calls: BTreeSet<CallKey>,
    finished_tools: BTreeSet<(Slug, ExecutionId, String, u32)>,
    started_once: BTreeSet<(Slug, ExecutionId, String, u32)>,
    finished_runs: BTreeSet<(Slug, ExecutionId, u32)>,
    verdicts: Verdicts,
    checks: Checks,
    answers: Answers,
    /// The contents of a task's references at its last check.
    contents: BTreeMap<Slug, BTreeMap<String, BlobId>>,
    applied: BTreeSet<(Slug, u32)>,
    approved_tasks: BTreeSet<Slug>,
    approved_things: BTreeSet<GateKind>,
    /// The process commands that a person approved. An approval is valid for the whole run (spec "Templates" 8).
    approved_argv: BTreeSet<String>,
    /// The change sets that people saw and approved, or the parts that they kept.
    approved_changes: BTreeMap<GateKind, ChangeSet>,
    all_writers: bool,
    calls: u32,
    /// The calls in flight.
    open_calls: BTreeSet<CallKey>,
    /// The number of calls that a resume or a cancellation interrupted. No limit counts them.
    cut_calls: u32,
    tokens: u64,
    cost: f64,
    task_calls: BTreeMap<Slug, u32>,
    states: BTreeMap<Slug, State>,
    /// The tasks that an edit removed before they started.
    removed: BTreeSet<Slug>,
    plan: Plan,
    resumed: bool,
}

impl Witness {
    /// Sees an event before it is applied.
    ///
    /// # Errors
    /// A promise is about to be broken.
    pub fn before(&mut self, run: &Run, fact: &LogEntry) -> Kept {
        let Event::Started(events::Started { effect, .. }) = &fact.event else { return Ok(()) };
        if run.is_in_flight(effect) || !run.is_outstanding(effect) {
            return Ok(());
        }
        self.nothing_finished_is_performed_again(run, effect)?;
        self.no_change_before_approval(run, effect)?;
        self.no_limit_is_passed(run, effect)?;
        nothing_is_applied_unchecked(run, effect)?;
        self.steps_go_in_order(run, effect)
    }

    /// Sees an event after it was accepted.
    ///
    /// # Errors
    /// A promise was broken.
    pub fn after(&mut self, run: &Run, fact: Option<&LogEntry>) -> Kept {
        let Some(fact) = fact else { return Ok(()) };
        self.applied_as_approved(&fact.event)?;
        self.removed_tasks_never_start(&fact.event)?;
        self.note(run, &fact.event);
        self.note_sent_back(run);
        self.open_calls.retain(|key| run.is_in_flight(&EffectKey::Ask(key.clone())));
        self.no_limit_is_passed_in_all(run)?;
        self.plan.done_tasks_are_never_altered(run)?;
        self.plan.keeps_its_tasks(run, &fact.event)?;
        ended_tasks_stay_ended(&mut self.states, run, &fact.event)
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn policy(&self, tool: &str) -> ToolPolicy {
        self.tools.get(tool).copied().unwrap_or_default()
    }

    fn epoch(&self, slug: &Slug) -> u32 {
        self.listing.get(slug).copied().unwrap_or(0)
    }

    fn note(&mut self, run: &Run, event: &Event) {
        match event {
            Event::RunStarted(events::RunStarted { settings, tools, .. }) => {
                (self.settings, self.tools) = (settings.clone(), tools.clone())
            }
            Event::RunResumed(events::RunResumed { settings }) => self.note_resumed(settings),
            Event::Started(events::Started { effect, .. }) => self.note_start(run, effect),
            Event::RunContinued(events::RunContinued { settings, .. }) => {
                self.note_resumed(settings);
                self.all_writers = false;
            }
            Event::TaskRetried(events::TaskRetried { task: retried, .. }) => {
                self.removed.remove(retried);
                self.note_retried(run, retried);
            }
            Event::TaskContinued(_) => self.note_continued(run),
            Event::TaskDropped(events::TaskDropped { task }) if part(run, task).is_some() => {
                self.note_retried(run, task);
            }
            Event::TreeEdited(events::TreeEdited { tree_number, .. }) => self.note_edited(run, *tree_number),
            Event::ReplyReceived(events::ReplyReceived { key, usage, reused, .. }) => {
                if reused.is_some() {
                    self.note_unsent(key);
                }
                self.finished_calls.insert(key.clone());
                self.tokens += usage.input + usage.output;
                self.cost += usage.cost_usd.unwrap_or(0.0);
            }
            Event::CallFailed(events::CallFailed { key, sends: 0, .. }) => self.note_unsent(key),
            Event::CallFailed(events::CallFailed { key, fault: CallFault::Cancelled, .. }) => self.note_cut(key),
            Event::ExecutionFinished(events::ExecutionFinished { key, .. }) => {
                if let (Phase::Execute, Some(task), Some(exec)) = (key.phase, &key.task, &key.run) {
                    self.finished_runs.insert((task.clone(), exec.clone(), self.epoch(task)));
                }
            }
            Event::Joined(_) => self.answers.note(run),
            Event::Reviewed(events::Reviewed { key, missing, .. }) => self.note_verdict(key, missing.is_some()),
            // Executions whose references have changed may be repeated.
            Event::ReferencesChecked(events::ReferencesChecked { task, contents, .. }) => {
                let before = self.contents.insert(task.clone(), contents.clone());
                if before.is_some_and(|before| before != *contents) {
                    self.finished_runs.retain(|(of, ..)| of != task);
                    self.verdicts.forget(task);
                }
            }
            Event::TaskRefined(events::TaskRefined { key, refinement, .. }) => self.note_refined(run, key, refinement),
            Event::ChangesRejected(events::ChangesRejected { task, run: exec, .. }) => {
                self.finished_runs.remove(&(task.clone(), exec.clone(), self.epoch(task)));
            }
            Event::ChangesRebased(_) => self.note_rebased(run, event),
            Event::ChangesChecked(_) => self.note_checked(run, event),
            Event::ChangesApplied(events::ChangesApplied { task, set, .. }) => {
                self.applied.insert((task.clone(), *set));
            }
            Event::ToolFinished(finished) => self.note_tool(finished),
            Event::ListAdopted(events::ListAdopted { list, origin, .. }) => {
                self.note_list(run, list, matches!(origin, ListOrigin::Edit(_)));
            }
            Event::GateAnswered(events::GateAnswered { gate, answer, .. }) => self.note_answer(run, gate, answer),
            // The simulated world raises no other limit.
            Event::LimitRaised(events::LimitRaised { max, .. }) => self.settings.limits.max_calls = *max as u32,
            _ => {}
        }
    }

    fn note_list(&mut self, run: &Run, list: &AdoptedList, edit: bool) {
        // An edit may put a step before a running one.
        self.resumed |= edit;
        self.note_removed(run, list, edit);
        for planned in list.steps.iter().flatten().filter(|planned| !planned.unchanged) {
            // An edit leaves running tasks alone.
            if !edit || run.task(&planned.task.slug).is_none_or(|task| task.state() != State::Running) {
                self.starts_anew(&planned.task.slug);
            }
        }
    }

    /// Finished work for another text, or by tools before the task was sent back, may be repeated (spec 10.5).
    fn note_refined(&mut self, run: &Run, key: &CallKey, refinement: &Refinement) {
        let Some(task) = key.task.as_ref().and_then(|slug| run.task(slug)) else { return };
        let same_text = Refinement { approval: refinement.approval, ..Refinement::default() } == *refinement;
        if !same_text || task.is_loop() {
            self.finished_runs.retain(|(of, ..)| *of != task.task.slug);
            self.verdicts.forget(&task.task.slug);
        }
    }

    fn note_checked(&mut self, run: &Run, event: &Event) {
        if let Some((task, exec)) = self.checks.note(run, event) {
            let epoch = self.epoch(&task);
            self.finished_runs.remove(&(task, exec, epoch));
        }
    }

    fn note_verdict(&mut self, key: &CallKey, missing: bool) {
        let Some(execution) = self.execution(key) else { return };
        if missing {
            self.finished_runs.remove(&execution);
        }
        self.verdicts.note(execution, missing);
    }

    fn note_tool(&mut self, finished: &events::ToolFinished) {
        let events::ToolFinished { task, run, call, record, .. } = finished;
        let key = (task.clone(), run.clone(), call.clone(), self.epoch(task));
        match record {
            // A task that continues makes the call again.
            ToolRecord::Cut | ToolRecord::Output { timed_out: true, .. } => {}
            // The call goes on with the answer.
            ToolRecord::Midway(_) => {
                self.started_once.remove(&key);
            }
            _ => {
                self.finished_tools.insert(key);
            }
        }
    }

    /// An approval is transferred to a replacing change set only if a person sees the same lines in it.
    fn note_rebased(&mut self, run: &Run, event: &Event) {
        let Event::ChangesRebased(events::ChangesRebased { task, run: exec, set, changes, as_shown: true }) = event
        else {
            return;
        };
        let thing = |set| GateKind::BeforeApply { task: task.clone(), run: exec.clone(), set };
        if !self.approved_things.contains(&thing(*set)) {
            return;
        }
        let next = (*set..set + 1_000).skip(1).find(|next| run.pending_changes(task, exec, *next) == Some(changes));
        if let Some(next) = next {
            self.approved_things.insert(thing(next));
            self.approved_changes.insert(thing(next), changes.clone());
        }
    }

    /// Every applied hunk was shown to the person who approved it, or no gate was asked.
    fn applied_as_approved(&self, event: &Event) -> Kept {
        let Event::ChangesApplied(events::ChangesApplied { task, run, set, changes }) = event else { return Ok(()) };
        let thing = GateKind::BeforeApply { task: task.clone(), run: run.clone(), set: *set };
        match self.approved_changes.get(&thing) {
            Some(approved) if approved != changes => {
                Err(format!("what is applied was approved: set {set} of {task} is another one"))
            }
            _ => Ok(()),
        }
    }

    /// All calls together, including those of called templates, never exceed a limit of the run.
    fn no_limit_is_passed_in_all(&self, run: &Run) -> Kept {
        let max = self.settings.limits.max_calls;
        let counted = self.calls - self.cut_calls;
        if counted > max {
            return Err(format!("no limit is passed: {counted} calls of {max}"));
        }
        // Calls in flight have reserved what they may use. Every call costs the same, and the last one may exceed the
        // limit.
        if let Some(max) = self.settings.limits.max_cost_usd.filter(|max| self.cost > max + COST * 1.001) {
            return Err(format!("no limit is passed by two calls: {} US dollars of {max}", self.cost));
        }
        if let Some(max) = self.settings.limits.max_tokens.filter(|max| self.tokens > *max) {
            return Err(format!("no limit is passed: {} tokens of {max}", self.tokens));
        }
        if run.totals().calls != self.calls {
            return Err(format!("calls are counted once: {} calls, not {}", run.totals().calls, self.calls));
        }
        Ok(())
    }

    /// The execution of a call, as the task is listed now.
    fn execution(&self, key: &CallKey) -> Option<ReviewedExecution> {
        let (task, run) = key.task.as_ref().zip(key.run.as_ref())?;
        Some((task.clone(), run.clone(), self.epoch(task)))
    }

    fn note_resumed(&mut self, settings: &Settings) {
        self.settings = settings.clone();
        self.resumed = true;
        std::mem::take(&mut self.open_calls).iter().for_each(|key| self.note_cut(key));
    }

    /// Notes a call that was never sent, which does not count (spec "Templates" 9).
    fn note_unsent(&mut self, key: &CallKey) {
        self.calls -= 1;
        self.note_uncounted(key);
    }

    /// Notes a call without a reply that no limit counts.
    fn note_cut(&mut self, key: &CallKey) {
        self.cut_calls += 1;
        self.note_uncounted(key);
    }

    fn note_uncounted(&mut self, key: &CallKey) {
        if let Some(calls) = key.task.as_ref().and_then(|task| self.task_calls.get_mut(task)) {
            *calls = calls.saturating_sub(1);
        }
    }

    /// Notes tasks that were sent back. Their finished work may be repeated, and their approval is void. A task whose
    /// calls all failed is refined again and then has other calls (spec 10.4).
    fn note_sent_back(&mut self, run: &Run) {
        // A task that had begun is ready again after a resume.
        let begun = |state: &State| matches!(state, State::Running | State::Ready);
        let ran = |task: &&TaskRun| self.states.get(&task.task.slug).is_some_and(begun);
        let back = run.tasks().filter(|task| task.state() == State::Refining).filter(ran);
        let back: Vec<Slug> = back.map(|task| task.task.slug.clone()).collect();
        for slug in back {
            *self.listing.entry(slug).or_insert(0) += 1;
        }
    }

    fn starts_anew(&mut self, slug: &Slug) {
        *self.listing.entry(slug.clone()).or_insert(0) += 1;
        self.approved_tasks.remove(slug);
        self.task_calls.remove(slug);
    }

    fn note_start(&mut self, run: &Run, effect: &EffectKey) {
        match effect {
            EffectKey::Ask(key) => {
                self.started_calls.insert(key.clone());
                self.open_calls.insert(key.clone());
                self.calls += 1;
                if let Some(task) = &key.task {
                    *self.task_calls.entry(task.clone()).or_insert(0) += 1;
                }
            }
            EffectKey::Tool { task, run: exec, call } => {
                let tool = run.task(task).and_then(|task| task.run(exec)).and_then(|exec| exec.call(call));
                if tool.is_some_and(|tool| self.policy(&tool.call.name).repeat == RepeatClass::Once) {
                    let epoch = self.epoch(task);
                    self.started_once.insert((task.clone(), exec.clone(), call.clone(), epoch));
                }
            }
            _ => {}
        }
    }

    fn note_answer(&mut self, run: &Run, gate: &Gate, answer: &Answer) {
        match &gate.kind {
            GateKind::BeforeRun(slugs) => {
                self.all_writers |= *answer == Answer::All;
                for slug in slugs {
                    let approved = match answer {
                        Answer::All | Answer::Listed => true,
                        Answer::Each { verdicts, .. } => verdicts.get(slug) == Some(&Verdict::Approve),
                        Answer::Deny { .. } | Answer::Part { .. } | Answer::Stop => false,
                    };
                    if approved {
                        self.approved_tasks.insert(slug.clone());
                    }
                }
            }
            kind => {
                let approved = match answer {
                    Answer::Listed => true,
                    Answer::Each { verdicts, .. } => verdicts.values().all(|verdict| *verdict == Verdict::Approve),
                    Answer::Part { .. } => true,
                    _ => false,
                };
                if approved {
                    let seen = match (kind, answer) {
                        (_, Answer::Part { kept, .. }) => Some(kept),
                        (GateKind::BeforeApply { task, run: exec, set }, _) => run.pending_changes(task, exec, *set),
                        _ => None,
                    };
                    self.approved_changes.extend(seen.map(|changes| (kind.clone(), changes.clone())));
                    if let GateKind::BeforeCall { task, run: exec, call } = kind {
                        self.approved_argv.extend(argv(run, task, exec, call));
                        // A person may approve the repetition when asked.
                        let epoch = self.epoch(task);
                        self.started_once.remove(&(task.clone(), exec.clone(), call.clone(), epoch));
                    }
                    self.approved_things.insert(kind.clone());
                }
            }
        }
    }

    /// Replies, tool calls, executions, applies and done tasks are never repeated once they are recorded (spec 2.18).
    /// A call that may not be repeated is never started twice.
    fn nothing_finished_is_performed_again(&self, run: &Run, effect: &EffectKey) -> Kept {
        let again = match effect {
            EffectKey::Ask(key) if key.phase == Phase::Review => {
                self.execution(key).map_or(Ok(()), |execution| self.verdicts.are_given_once(&execution))?;
                self.started_calls.contains(key)
            }
            EffectKey::Ask(key) if key.phase == Phase::Join => {
                self.answers.are_joined_once(run, &self.settings)?;
                self.started_calls.contains(key)
            }
            EffectKey::Ask(key) => {
                let of_run = key.task.as_ref().zip(key.run.as_ref());
                let finished = of_run.is_some_and(|(task, exec)| {
                    self.finished_runs.contains(&(task.clone(), exec.clone(), self.epoch(task)))
                });
                finished || self.started_calls.contains(key)
            }
            EffectKey::Tool { task, run: exec, call } => {
                let key = (task.clone(), exec.clone(), call.clone(), self.epoch(task));
                self.finished_tools.contains(&key) || self.started_once.contains(&key)
            }
            EffectKey::Try { task, set, .. } => self.checks.is_over(task, *set),
            EffectKey::Apply { task, set, .. } => self.applied.contains(&(task.clone(), *set)),
            EffectKey::Conclude => matches!(run.stage(), Stage::Concluded(_)),
            _ => false,
        };
        let task = task_of(effect).and_then(|slug| run.task(slug));
        if again || task.is_some_and(|task| task.state() == State::Done) {
            return Err(format!("nothing finished is performed again: {effect:?}"));
        }
        Ok(())
    }

    /// No writer runs, no change is applied and no acting call is made before a person approved it (spec 11).
    fn no_change_before_approval(&self, run: &Run, effect: &EffectKey) -> Kept {
        let Some(task) = task_of(effect).and_then(|slug| run.task(slug)) else { return Ok(()) };
        let slug = &task.task.slug;
        let mode = self.settings.approval;
        let before_run = matches!(mode, ApprovalMode::Both | ApprovalMode::BeforeRun);
        let approved = self.all_writers || self.approved_tasks.contains(slug);
        let executes = match effect {
            EffectKey::Ask(key) => key.phase != Phase::Refine,
            EffectKey::Tool { .. } | EffectKey::Try { .. } | EffectKey::Apply { .. } => true,
            _ => false,
        };
        if executes && before_run && task.writer.is_some() && !approved {
            return Err(format!("no change before approval: writer {slug} runs: {effect:?}"));
        }
        let thing = match effect {
            EffectKey::Apply { task, run, set } => {
                GateKind::BeforeApply { task: task.clone(), run: run.clone(), set: *set }
            }
            EffectKey::Tool { task: slug, run: exec, call } => {
                let name = task.run(exec).and_then(|exec| exec.call(call)).map(|call| call.call.name.clone());
                let name = name.unwrap_or_default();
                let policy = run.policy(&name);
                if policy.effect == ToolEffect::Read || policy.stages_changes() {
                    return Ok(());
                }
                let gate = GateKind::BeforeCall { task: slug.clone(), run: exec.clone(), call: call.clone() };
                if self.policy(&name).unheld && !self.approved_things.contains(&gate) {
                    return Err(format!("nothing said before covers an unheld command: {effect:?}"));
                }
                gate
            }
            _ => return Ok(()),
        };
        if let (EffectKey::Apply { task, run: exec, set }, Some(approved)) = (effect, self.approved_changes.get(&thing))
            && run.pending_changes(task, exec, *set) != Some(approved)
        {
            return Err(format!("what is applied was approved: another set is made: {effect:?}"));
        }
        let known = match effect {
            EffectKey::Tool { task, run: exec, call } => argv(run, task, exec, call),
            _ => None,
        };
        if known.is_some_and(|argv| self.approved_argv.contains(&argv)) {
            return Ok(());
        }
        let agreed = match mode {
            ApprovalMode::Never => true,
            ApprovalMode::BeforeRun => approved || self.approved_things.contains(&thing),
            ApprovalMode::Both | ApprovalMode::BeforeApply => self.approved_things.contains(&thing),
        };
        if agreed { Ok(()) } else { Err(format!("no change before approval: {effect:?}")) }
    }

    /// Checks the limits of the run and of tasks at every start of a call.
    fn no_limit_is_passed(&self, run: &Run, effect: &EffectKey) -> Kept {
        let EffectKey::Ask(key) = effect else { return Ok(()) };
        let limits = &self.settings.limits;
        let asked = run.outstanding().into_iter().find_map(|effect| match effect {
            Effect::AskModel(asked) if asked.key == *key => Some(asked),
            _ => None,
        });
        let task = key.task.as_ref().and_then(|slug| run.task(slug));
        let of_skill = task.and_then(|task| task.skill.as_ref()).map(|skill| &skill.limits.task);
        let turns = of_skill.and_then(|limits| limits.max_turns).unwrap_or(limits.max_turns);
        let calls = key.task.as_ref().and_then(|slug| self.task_calls.get(slug)).copied().unwrap_or(0);
        let is_loop = task.is_some_and(|task| task.is_loop()) && key.phase == Phase::Execute;
        let more = self.execution(key).map_or(0, |execution| self.verdicts.attempts(&execution));
        let attempts = self.settings.attempts.max(1).saturating_add(more);
        // The last turn of a handler keeps its tools. Asking for a call then ends the handler (spec "Templates" 9).
        let handler = task.is_some_and(|task| task.is_handler());
        let passed = [
            ("max_calls", self.calls - self.cut_calls >= limits.max_calls),
            ("max_tokens", limits.max_tokens.is_some_and(|max| self.tokens >= max)),
            ("max_cost_usd", limits.max_cost_usd.is_some_and(|max| self.cost >= max)),
            ("attempts", asked.as_ref().is_some_and(|asked| asked.attempt > attempts)),
            ("max_turns", is_loop && asked.as_ref().is_some_and(|asked| asked.turn > turns.max(1))),
            (
                "max_turns",
                is_loop && !handler && asked.is_some_and(|asked| asked.turn == turns && !asked.without_tools),
            ),
            ("max_calls of the skill", of_skill.and_then(|limits| limits.max_calls).is_some_and(|max| calls >= max)),
            ("max_rounds", run.round() > self.settings.max_rounds),
        ];
        match passed.iter().find(|(_, passed)| *passed) {
            Some((limit, _)) => Err(format!("no limit is passed: {limit} by {effect:?}")),
            None => Ok(()),
        }
    }

    /// A task executes only if earlier steps have no open writer, and a writer only if they have no open task (spec
    /// 2.6). A resume may plan a task of an earlier step again while a later one is under way (spec 12.4).
    fn steps_go_in_order(&self, run: &Run, effect: &EffectKey) -> Kept {
        let executes = match effect {
            EffectKey::Ask(key) => matches!(key.phase, Phase::Execute | Phase::Merge),
            EffectKey::Tool { .. } => true,
            _ => false,
        };
        let step = task_of(effect).and_then(|slug| run.step_of(slug));
        let (true, Some(step), false) = (executes, step, self.resumed) else { return Ok(()) };
        let writes = task_of(effect).and_then(|slug| run.task(slug)).is_some_and(|task| task.writer.is_some());
        let waits_for_all = writes || self.settings.sections == SectionOrder::Strict;
        let mut earlier = run.steps().iter().take(step).flatten().filter_map(|slug| run.task(slug));
        // A refinement that asks for approval may turn an earlier task into a writer after later ones have begun.
        let may_change = |task: &TaskRun| task.writer.as_ref().is_some_and(|why| why != Task::ASKS_FOR_APPROVAL);
        if earlier.any(|task| !task.state().is_ended() && (waits_for_all || may_change(task))) {
            return Err(format!("steps go in order: {effect:?}"));
        }
        Ok(())
    }

    fn note_removed(&mut self, run: &Run, list: &AdoptedList, edit: bool) {
        let listed: BTreeSet<&Slug> = list.steps.iter().flatten().map(|planned| &planned.task.slug).collect();
        self.removed.retain(|slug| !listed.contains(slug));
        let runs = |slug: &Slug| run.task(slug).is_some_and(|task| task.state() == State::Running);
        let removed = self.states.iter().filter(|(slug, state)| edit && !state.is_ended() && !listed.contains(slug));
        let removed: Vec<Slug> = removed.map(|(slug, _)| slug.clone()).filter(|slug| !runs(slug)).collect();
        self.removed.extend(removed);
    }

    /// A task that an accepted edit removed before its start never starts (spec 2.18).
    fn removed_tasks_never_start(&self, event: &Event) -> Kept {
        let task = match event {
            Event::Started(events::Started { effect: EffectKey::Ask(key), .. }) => key.task.as_ref(),
            Event::Started(events::Started { effect: EffectKey::Tool { task, .. }, .. }) => Some(task),
            _ => None,
        };
        match task.filter(|slug| self.removed.contains(*slug)) {
            Some(slug) => Err(format!("a removed task never starts: {slug}")),
            None => Ok(()),
        }
    }
}

/// The command of a template's process.
pub(crate) fn argv(run: &Run, task: &Slug, exec: &ExecutionId, call: &str) -> Option<String> {
    let task = run.task(task).filter(|task| task.is_process())?;
    Some(task.run(exec)?.call(call)?.call.arguments.get("argv")?.to_string())
}

fn task_of(effect: &EffectKey) -> Option<&Slug> {
    match effect {
        EffectKey::Ask(key) | EffectKey::Read(key) => key.task.as_ref(),
        EffectKey::Check { task, .. }
        | EffectKey::Evaluate { task, .. }
        | EffectKey::Retrieve { task, .. }
        | EffectKey::Tool { task, .. }
        | EffectKey::Mount { task, .. }
        | EffectKey::Return { task, .. }
        | EffectKey::Merge { task, .. }
        | EffectKey::Question { task, .. }
        | EffectKey::Try { task, .. }
        | EffectKey::Apply { task, .. } => Some(task),
        EffectKey::RollBack { .. } | EffectKey::Gate(_) | EffectKey::Conclude => None,
    }
}
