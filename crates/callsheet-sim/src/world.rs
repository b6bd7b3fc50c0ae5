//! The simulated world: settings, skills, tools, lists, and the answers of models, tools and people.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::evaluate::{SCRIPT, SCRIPT_READ};
use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::issue::{Issue, IssueCode, Location, Severity, Span};
use callsheet_core::links::link_target;
use callsheet_core::nouns::{
    BlobId, ForEach, Phase, Reference, Refinement, RepeatClass, RunId, Settings, SkillMode, SkillPolicy, Slug, Target,
    Task, ToolCall, ToolEffect,
};
use callsheet_core::placement::place;
use callsheet_core::record::{
    AdoptedList, Apart, CallFault, CallKey, Entry, Gate, GateKind, Outcome, PlannedTask, Removal, ResultParts,
    ReusedCall, StopReason, ToolPolicy, ToolRecord, Usage,
};
use callsheet_core::run::{Effect, ModelCall, Run, SPAWN_SUBTASK, State, ToolState};

use crate::changes::{changes, moved};
use crate::checks::checked;
use crate::random::Random;
use crate::reviews::verdict;
use crate::routes;
use crate::settings::{REVIEWS, settings, skills};
use crate::trees::Trees;

const TOOLS: [(&str, ToolEffect, RepeatClass, bool); 7] = [
    ("read_file", ToolEffect::Read, RepeatClass::Read, false),
    ("ask_user", ToolEffect::Read, RepeatClass::Read, false),
    ("write_file", ToolEffect::Write, RepeatClass::Idempotent, false),
    ("run_command", ToolEffect::Execute, RepeatClass::Once, false),
    ("build", ToolEffect::Read, RepeatClass::Idempotent, true),
    ("script", ToolEffect::Execute, RepeatClass::Once, false),
    // This tool is not registered, so it counts as `Write`, `Once`.
    ("unknown", ToolEffect::Write, RepeatClass::Once, false),
];

/// Separates the random stream that decides whether the machine of a world restricts commands.
const HOLDS: u64 = 0x9E37_79B9_7F4A_7C15;

/// The tool of the skill that is a template.
pub(crate) const TEMPLATE: &str = "water_report";

/// The cost of every call in US dollars.
pub const COST: f64 = 0.01;

/// The world of one seed.
pub struct World {
    /// Its random numbers.
    pub random: Random,
    /// The settings of the run.
    pub settings: Settings,
    /// The registered tools.
    pub tools: BTreeMap<String, ToolPolicy>,
    pub(crate) skills: BTreeMap<String, SkillPolicy>,
    pub(crate) names: u32,
    calls: u32,
    /// Whether models, tools and people now behave, so that the run ends.
    pub tame: bool,
    /// Whether only the order and crashes are random, so that the result must stay the same.
    pub calm: bool,
    /// The tree, for a template run.
    pub trees: Option<Trees>,
    seed: u64,
    /// The trees of the templates that tasks call.
    called: Option<Trees>,
}

impl World {
    /// The world of a sheet.
    pub fn of_sheets(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut tools = BTreeMap::new();
        // A separate stream, so that the rest of the world does not depend on whether commands are restricted.
        let holds = !Random::new(seed ^ HOLDS).chance(20);
        for (name, effect, repeat, exclusive) in TOOLS.into_iter().take(6) {
            let unheld = !holds && effect == ToolEffect::Execute;
            tools.insert(name.to_owned(), ToolPolicy { effect, repeat, exclusive, unheld, named_only: false });
        }
        let read = ToolPolicy {
            effect: ToolEffect::Read,
            repeat: RepeatClass::Read,
            exclusive: false,
            unheld: false,
            named_only: false,
        };
        tools.insert(TEMPLATE.to_owned(), read);
        tools.insert(SPAWN_SUBTASK.to_owned(), read);
        tools.insert(SCRIPT_READ.to_owned(), read);
        let settings = settings(&mut random);
        let skills = skills(&mut random);
        let (names, calls, tame, calm) = (0, 0, false, false);
        let (trees, called) = (None, None);
        Self { random, settings, tools, skills, names, calls, tame, calm, trees, seed, called }
    }

    /// The world of a task tree. In a calm world, `order` gives another order of the same events.
    ///
    /// # Errors
    /// The tree has errors.
    pub fn of_trees(seed: u64, order: Option<u64>) -> Result<Self, String> {
        let mut world = Self::of_sheets(seed);
        world.trees = Some(Trees::new(seed, order.is_none())?);
        let spawns = ToolPolicy {
            effect: ToolEffect::Read,
            repeat: RepeatClass::Read,
            exclusive: false,
            unheld: false,
            named_only: false,
        };
        world.tools.insert(SPAWN_SUBTASK.to_owned(), spawns);
        if !world.random.chance(70) {
            world.tools.remove(SCRIPT_READ);
        }
        if let Some(order) = order {
            world.calm = true;
            world.tools.values_mut().for_each(|tool| tool.unheld = false);
            world.random = Random::new(seed ^ order.wrapping_mul(0x5851_F42D_4C95_7F2D));
            world.settings = Settings { jobs: world.settings.jobs, ..Settings::default() };
            // A lost process runs again, so its result does not depend on the crash.
            let policy = ToolPolicy {
                effect: ToolEffect::Execute,
                repeat: RepeatClass::Idempotent,
                exclusive: false,
                unheld: false,
                named_only: false,
            };
            world.tools.insert(SCRIPT.to_owned(), policy);
        }
        Ok(world)
    }

    /// The events with which a run begins, recorded in one batch.
    pub fn begin(&mut self) -> Vec<Event> {
        let (settings, tools, run) = (self.settings.clone(), self.tools.clone(), RunId::new("simulated"));
        if let Some(trees) = &self.trees {
            return trees.begin(settings, tools);
        }
        let prompt = "Explain retries.".to_owned();
        if self.random.chance(50) {
            return vec![events::RunStarted { run, entry: Entry::Prompt { prompt }, settings, tools }.into()];
        }
        let entry = Entry::Sheet { prompt };
        let list = self.list(None);
        vec![
            events::RunStarted { run, entry, settings, tools }.into(),
            events::ListAdopted { origin: ListOrigin::Host, list, repairs: Vec::new(), issues: Vec::new() }.into(),
        ]
    }

    pub(crate) fn misbehaves(&mut self, percent: usize) -> bool {
        !self.tame && !self.calm && self.random.chance(percent)
    }

    /// A list of new tasks, with some existing tasks of `run` if it is given.
    pub(crate) fn list(&mut self, run: Option<&Run>) -> AdoptedList {
        let mut list = AdoptedList::default();
        list.goals.plan_complete = self.random.chance(50);
        list.goals.plan_continues = self.random.chance(20);
        if let Some(run) = run {
            list.beside.removed = self.removals(run);
        }
        if run.is_some() && (self.tame || self.random.chance(30)) {
            return list;
        }
        let mut known: Vec<Slug> =
            run.map_or(Vec::new(), |run| run.done().map(|task| task.task.slug.clone()).collect());
        let mut again: Vec<PlannedTask> = Vec::new();
        for task in run.iter().flat_map(|run| run.tasks()) {
            let relisted = !matches!(task.state(), State::Done | State::Dropped | State::Cancelled | State::Running);
            let goes = list.beside.removed.iter().any(|removal| removal.task == task.task.slug);
            if relisted && !goes && self.random.chance(60) {
                let unchanged = !task.state().is_ended() && self.random.chance(60);
                let mut planned =
                    PlannedTask { task: task.task.clone(), unchanged, writer: task.writer.clone(), direct: false };
                if !unchanged && self.random.chance(50) {
                    planned.task.need.push_str(" again");
                }
                again.push(planned);
            }
        }
        for _ in 0..=self.random.below(3) {
            let mut step = Vec::new();
            for _ in 0..=self.random.below(3) {
                step.push(match again.pop() {
                    Some(planned) => planned,
                    None => self.task(&known),
                });
                known.extend(step.last().map(|planned: &PlannedTask| planned.task.slug.clone()));
            }
            list.steps.push(step);
        }
        list.skills = self.skills.clone();
        placed(list, run)
    }

    /// The tasks that a reply removes.
    fn removals(&mut self, run: &Run) -> Vec<Removal> {
        let open = run.tasks().filter(|task| task.state().may_become(State::Dropped) && task.state() != State::Running);
        let gone: Vec<Slug> = open.filter(|_| self.random.chance(15)).map(|task| task.task.slug.clone()).collect();
        gone.into_iter().map(|task| Removal { task, reason: "nobody needs it".to_owned() }).collect()
    }

    pub(crate) fn task(&mut self, known: &[Slug]) -> PlannedTask {
        self.names += 1;
        let name = format!("task-{}", self.names);
        let skills: Vec<String> = self.skills.keys().cloned().collect();
        let skill = if self.random.chance(25) { None } else { self.random.pick(&skills).cloned() };
        let skill = if self.misbehaves(3) { Some("lost".to_owned()) } else { skill };
        let policy = skill.as_ref().and_then(|skill| self.skills.get(skill)).cloned();
        let template = policy.as_ref().is_some_and(|policy| policy.mode == SkillMode::Template);
        let calls = match self.random.chance(30) {
            true if template => vec![self.call(TEMPLATE)],
            true => self.calls(),
            false => Vec::new(),
        };
        let references = self.references(known);
        let lists = references.first().is_some_and(|first| !first.target.is_shared()) && !template && calls.is_empty();
        let for_each = (lists && self.random.chance(10))
            .then(|| ForEach { name: "item".to_owned(), allow_failures: self.random.chance(50) });
        let task = Task {
            for_each,
            slug: Slug::new(&name),
            need: format!("what {name} needs"),
            name,
            aliases: Vec::new(),
            skill,
            references,
            expected: "a summary".to_owned(),
            approval: self.random.chance(10),
            review: if self.random.chance(10) { self.random.pick(&REVIEWS).copied() } else { None },
            calls: if policy.is_some() { calls } else { Vec::new() },
            extra: String::new(),
        };
        let writer = policy.and_then(|policy| policy.writer).or(task.approval.then(|| "it asks".to_owned()));
        PlannedTask { task, unchanged: false, writer, direct: self.random.chance(10) }
    }

    fn references(&mut self, known: &[Slug]) -> Vec<Reference> {
        let mut references = Vec::new();
        for _ in 0..self.random.below(4) {
            let target = match self.random.pick(known) {
                Some(slug) if self.random.chance(50) => Target::TaskOutput { slug: slug.clone(), heading: None },
                // A misbehaving reply refers to a task of a later step, or to none.
                _ if self.misbehaves(3) => {
                    Target::TaskOutput { slug: Slug::new(format!("task-{}", self.names + 1)), heading: None }
                }
                _ if self.random.chance(20) => Target::ProjectDescription,
                _ => Target::File { path: format!("file-{}", self.random.below(5)), fragment: None },
            };
            references.push(Reference { title: String::new(), target });
        }
        references
    }

    fn calls(&mut self) -> Vec<ToolCall> {
        let mut calls = Vec::new();
        for _ in 0..=self.random.below(3) {
            let name = TOOLS.get(self.random.below(TOOLS.len())).map_or("read_file", |tool| tool.0);
            calls.push(self.call(name));
        }
        calls
    }

    /// Equal calls. The first one answers the others.
    fn equal_calls(&mut self) -> Vec<ToolCall> {
        let mut calls: Vec<ToolCall> = (0..4).map(|_| self.call("read_file")).collect();
        calls.iter_mut().for_each(|call| call.arguments = serde_json::json!({ "argument": 0 }));
        calls
    }

    fn call(&mut self, name: &str) -> ToolCall {
        self.calls += 1;
        let arguments = serde_json::json!({ "argument": self.random.below(2) });
        ToolCall { name: name.to_owned(), id: format!("{name}-{}", self.calls), arguments }
    }

    /// The contents of a task's references, mostly the same as before.
    fn contents(&mut self, run: &Run, task: &Slug) -> BTreeMap<String, BlobId> {
        let references = run.task(task).map(|task| task.task.references.clone()).unwrap_or_default();
        let links = references.iter().map(|reference| link_target(&reference.target));
        links.map(|link| (link.clone(), blob(&format!("{link} {}", self.random.chance(10))))).collect()
    }

    /// The result of an effect. `None` if nobody is there to answer a gate or a question.
    pub fn perform(&mut self, run: &Run, effect: &Effect) -> Option<Event> {
        let absent = matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. }) && self.misbehaves(10);
        if absent {
            return None;
        }
        if let Some(event) = self.cut(run, effect) {
            return Some(event);
        }
        let below = self.of_call(run, effect).or_else(|| self.of_tree(run, effect));
        if below.is_some() {
            return below;
        }
        Some(match effect {
            Effect::AskModel(asked) => self.reply(asked),
            Effect::ReadReply(asked) => self.read(run, asked),
            Effect::CheckReferences { task, n, stage } => {
                let issues = if self.misbehaves(15) { vec![issue()] } else { Vec::new() };
                let apart = (task.as_str().len() % 2 == 0).then_some(Apart { tokens: 30_000, most: 24_000 });
                let (task, n, stage, contents) = (task.clone(), *n, *stage, self.contents(run, task));
                events::ReferencesChecked { task, n, stage, issues, contents, apart }.into()
            }
            Effect::RunTool { task, run: exec, call, answer, .. } => {
                let policy = run.policy(&call.name);
                let record = if answer.is_none() && self.random.chance(5) {
                    ToolRecord::Midway("Really?".to_owned())
                } else if call.name == "ask_user" && self.random.chance(50) {
                    ToolRecord::Question("Which?".to_owned())
                } else if policy.stages_changes() && self.random.chance(70) {
                    ToolRecord::Changes(changes())
                } else {
                    let timed_out = self.random.chance(5);
                    let error = (timed_out || self.random.chance(20)).then(|| "it failed".to_owned());
                    ToolRecord::Output { blob: blob("output"), error, pictures: Vec::new(), timed_out }
                };
                let (task, run, call) = (task.clone(), exec.clone(), call.id.clone());
                events::ToolFinished { task, run, call, record, ms: 200 }.into()
            }
            // A failing evaluation is a defect. Without its event, the run stalls, which a checker notices.
            Effect::Evaluate { .. } | Effect::Retrieve { .. } => return None,
            Effect::MountTemplate { .. } | Effect::ReturnTemplate { .. } => return None,
            Effect::MergeByCode { task, n } => {
                events::ExecutionsMerged { task: task.clone(), n: *n, result: ResultParts::default() }.into()
            }
            Effect::AskApproval(gate) => {
                events::GateAnswered { gate: gate.clone(), answer: self.answer(gate), by: None }.into()
            }
            Effect::AskPerson { .. } => return self.said(effect),
            effect @ Effect::TryChanges { .. } => return checked(&mut self.random, effect, issue()),
            Effect::ApplyChanges { task, run, set, changes } => {
                let (task, run, set) = (task.clone(), run.clone(), *set);
                if self.misbehaves(20) {
                    events::ChangesRejected { task, run, set, issues: vec![issue()] }.into()
                } else if self.misbehaves(20) {
                    let as_shown = self.random.chance(50);
                    events::ChangesRebased { task, run, set, changes: moved(changes), as_shown }.into()
                } else {
                    events::ChangesApplied { task, run, set, changes: changes.clone() }.into()
                }
            }
            Effect::RollBack { task, run, set, .. } => {
                events::ChangesRolledBack { task: task.clone(), run: run.clone(), set: *set }.into()
            }
            Effect::Conclude(outcome) => events::RunConcluded { outcome: *outcome, report: blob("report") }.into(),
        })
    }

    /// Near the end of the run's time, a tool may be interrupted.
    fn cut(&mut self, run: &Run, effect: &Effect) -> Option<Event> {
        let Effect::RunTool { task, run: exec, call, .. } = effect else { return None };
        let late = run.time_left_ms().is_some_and(|left| left < 2_000);
        let record = ToolRecord::Cut;
        let (task, run, call) = (task.clone(), exec.clone(), call.id.clone());
        (late && self.misbehaves(50)).then_some(events::ToolFinished { task, run, call, record, ms: 200 }.into())
    }

    /// Begins or ends the call of a template.
    fn of_call(&mut self, run: &Run, effect: &Effect) -> Option<Event> {
        match effect {
            Effect::MountTemplate { task, run: exec, call } => {
                let (task, exec, call) = (task.clone(), exec.clone(), call.id.clone());
                let trees = self.called.take().or_else(|| Trees::new(self.seed, true).ok());
                let tree = trees.as_ref().map(Trees::tree);
                self.called = trees;
                Some(match tree.filter(|_| !self.misbehaves(5)) {
                    Some(tree) => events::CallMounted { task, run: exec, call, tree, shared: BTreeSet::new() }.into(),
                    None => {
                        let (result, failed) = (Box::default(), Some("its arguments do not fit".to_owned()));
                        events::CallReturned { task, run: exec, call, result, failed }.into()
                    }
                })
            }
            Effect::ReturnTemplate { task, run: exec, call } => {
                let tool = run.task(task)?.run(exec)?.call(call)?;
                let ToolState::Mounted(mount) = tool.state else { return None };
                let top = run.operators().top_of(mount)?;
                let failed = top.failed() || run.operators().has_failed_items(top);
                let failed = failed.then(|| "it failed".to_owned());
                let (task, run, call) = (task.clone(), exec.clone(), call.clone());
                Some(events::CallReturned { task, run, call, result: Box::default(), failed }.into())
            }
            _ => None,
        }
    }

    /// The answers that differ for a task tree.
    fn of_tree(&mut self, run: &Run, effect: &Effect) -> Option<Event> {
        let task = match effect {
            Effect::AskApproval(Gate { kind: GateKind::BeforeApply { task, .. }, .. })
            | Effect::AskApproval(Gate { kind: GateKind::BeforeCall { task, .. }, .. })
            | Effect::AskPerson { task, .. } => Some(task),
            effect => effect.task(),
        };
        let is_below = task.is_some_and(|task| run.operators().get(task).is_some());
        if self.trees.is_none() && !is_below {
            return None;
        }
        let wild = !self.calm && self.misbehaves(10);
        let trees = self.trees.as_mut().or(self.called.as_mut())?;
        match effect {
            Effect::Evaluate { task, n, moment } => trees.evaluate(run, task, *n, *moment).ok(),
            Effect::Retrieve { task, n, .. } => Some(trees.look_up(task, *n)),
            Effect::AskModel(asked) if !wild => Some(trees.reply(asked)),
            Effect::ReadReply(asked) => Some(trees.read(run, asked)),
            Effect::RunTool { task, run, call, .. } => {
                let record = trees.output(task, call);
                let (task, run, call) = (task.clone(), run.clone(), call.id.clone());
                Some(events::ToolFinished { task, run, call, record, ms: 200 }.into())
            }
            Effect::AskApproval(gate) if !wild => {
                Some(events::GateAnswered { gate: gate.clone(), answer: trees.answer(run, gate), by: None }.into())
            }
            Effect::AskPerson { task, run, call, .. } => {
                let (task, run, call) = (task.clone(), run.clone(), call.clone());
                Some(events::QuestionAnswered { task, run, call, output: trees.words() }.into())
            }
            _ => None,
        }
    }

    /// What a person says to a question.
    fn said(&mut self, asked: &Effect) -> Option<Event> {
        let Effect::AskPerson { task, run, call, midway, .. } = asked else { return None };
        let (task, run, call) = (task.clone(), run.clone(), call.clone());
        if *midway && self.misbehaves(30) {
            return Some(events::QuestionDeclined { task, run, call }.into());
        }
        Some(events::QuestionAnswered { task, run, call, output: blob("answer") }.into())
    }

    fn reply(&mut self, asked: &ModelCall) -> Event {
        let key = asked.key.clone();
        if self.misbehaves(10) {
            let faults = [
                CallFault::Communication,
                CallFault::Communication,
                CallFault::ContextOverflow,
                CallFault::ContextOverflow,
                CallFault::Timeout,
                CallFault::Configuration,
                CallFault::Cancelled,
            ];
            let fault = self.random.pick(&faults).cloned().unwrap_or(CallFault::Communication);
            return events::CallFailed { key, fault, sends: 3, message: "it failed".to_owned(), sizes: None }.into();
        }
        // Like the driver: a reply may use what the budgets leave after its prompt.
        let room = asked.max_tokens.map_or(u64::MAX, |most| most.saturating_sub(100));
        if room == 0 {
            let message = "no room".to_owned();
            return events::CallFailed { key, fault: CallFault::Budget, sends: 0, message, sizes: None }.into();
        }
        let reused = asked.reuses && self.random.chance(50);
        // Some replies repeat the previous one.
        let reply = blob(&format!("reply {}", key.n - u32::from(key.n % 5 == 4)));
        events::ReplyReceived {
            key,
            prompt: blob("prompt"),
            reply,
            model: "test/model".to_owned(),
            usage: match reused {
                true => Usage { cost_usd: Some(0.0), ..Usage::default() },
                false => Usage { input: 100, output: room.min(10), cached: 0, cost_usd: Some(COST) },
            },
            ms: 500,
            sends: u32::from(!reused),
            reused: reused.then_some(ReusedCall { run: None, call: 1 }),
            pictures: Vec::new(),
            stop: StopReason::End,
            sizes: None,
        }
        .into()
    }

    fn read(&mut self, run: &Run, asked: &ModelCall) -> Event {
        let (key, repairs, issues) = (asked.key.clone(), Vec::new(), Vec::new());
        if key.phase == Phase::Review {
            return verdict(&mut self.random, key);
        }
        if key.phase == Phase::Route {
            return routes::routed(self, run, key);
        }
        if self.misbehaves(20) {
            return events::ReplyRefused { key, issues: vec![issue()], repairs, valid: None }.into();
        }
        let list_phase = matches!(key.phase, Phase::Plan | Phase::Iterate | Phase::Continue);
        if list_phase && self.random.chance(20) {
            let known = (key.phase != Phase::Plan).then_some(run);
            if let Some(list) = routes::without_skills(self, known) {
                let (list, beside) = list;
                return events::ListDrafted { key, list, beside, repairs, issues }.into();
            }
        }
        match key.phase {
            Phase::Plan => {
                let list = self.list(None);
                events::ListAdopted { origin: ListOrigin::Reply(key), list, repairs, issues }.into()
            }
            Phase::Iterate | Phase::Continue => {
                let list = self.list(Some(run));
                events::ListAdopted { origin: ListOrigin::Reply(key), list, repairs, issues }.into()
            }
            Phase::Refine => {
                let known: Vec<Slug> = run.done().map(|task| task.task.slug.clone()).collect();
                let references = if self.random.chance(40) { Some(self.references(&known)) } else { None };
                let calls = if self.random.chance(50) { self.calls() } else { Vec::new() };
                let approval = self.random.chance(5);
                let refinement = Refinement { need: None, references, expected: None, approval, calls };
                events::TaskRefined { key, refinement, repairs, issues }.into()
            }
            Phase::Join => {
                events::Joined { key, answer: "an answer".to_owned(), unsupported: Vec::new(), repairs, issues }.into()
            }
            Phase::Execute | Phase::Merge | Phase::Review | Phase::Route => self.executed(run, asked, key),
        }
    }

    fn executed(&mut self, run: &Run, asked: &ModelCall, key: CallKey) -> Event {
        let (repairs, issues) = (Vec::new(), Vec::new());
        let task = key.task.as_ref().and_then(|slug| run.task(slug));
        let talks = key.phase == Phase::Execute && task.is_some_and(|task| task.is_loop());
        if talks && (!asked.without_tools || self.misbehaves(5)) && !self.tame && self.random.chance(70) {
            let calls = if self.random.chance(15) { self.equal_calls() } else { self.calls() };
            let exec = key.run.as_ref().and_then(|id| task?.run(id));
            let repeats = task.zip(exec).map(|(task, exec)| run.repeats(task, exec, &calls)).unwrap_or_default();
            let stuck =
                calls.iter().filter(|_| self.random.chance(5)).map(|call| (call.id.clone(), blob("stuck"))).collect();
            return events::CallsAsked { key, calls, said: None, repeats, stuck, repairs, issues }.into();
        }
        let writes = key.phase == Phase::Execute && self.random.chance(40);
        let result = ResultParts {
            summary: "a summary".to_owned(),
            more_work: self.random.chance(10),
            changes: writes.then(changes),
            ..ResultParts::default()
        };
        events::ExecutionFinished { key, result, repairs, issues }.into()
    }

    /// Why nobody is there.
    pub fn absence(effect: &Effect) -> Outcome {
        if matches!(effect, Effect::AskApproval(_)) { Outcome::ApprovalRequired } else { Outcome::InputRequired }
    }
}

pub(crate) fn blob(text: &str) -> BlobId {
    BlobId::new(text)
}

fn issue() -> Issue {
    let place =
        Location { phase: Phase::Plan, section: None, task: None, item: None, key: None, span: Span::default() };
    Issue {
        code: IssueCode::FileMissing,
        severity: Severity::Error,
        place,
        what: "it is wrong".to_owned(),
        todo: "mend it".to_owned(),
        allowed: Vec::new(),
        raw: None,
    }
}

/// Assigns the tasks of a reply to the steps of the plan. A task keeps only references to tasks that are listed
/// before it.
fn placed(mut list: AdoptedList, run: Option<&Run>) -> AdoptedList {
    let known = |planned: &PlannedTask| run.and_then(|run| run.step_of(&planned.task.slug));
    let sections: Vec<Vec<Option<usize>>> = list.steps.iter().map(|step| step.iter().map(known).collect()).collect();
    let places = place(&sections, run.map_or(0, |run| run.steps().len()));
    let tasks: Vec<PlannedTask> = std::mem::take(&mut list.steps).into_iter().flatten().collect();
    let mut at: BTreeMap<Slug, usize> = BTreeMap::new();
    for (mut planned, step) in tasks.into_iter().zip(places.into_iter().flatten()) {
        planned.task.references.retain(|reference| {
            let listed = reference.target.producer().and_then(|slug| at.get(slug));
            listed.is_none_or(|producer| *producer <= step)
        });
        at.insert(planned.task.slug.clone(), step);
        list.steps.resize(list.steps.len().max(step + 1), Vec::new());
        list.steps.get_mut(step).into_iter().for_each(|tasks| tasks.push(planned.clone()));
    }
    list
}
