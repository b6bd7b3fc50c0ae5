//! Explains why a task is not done: what it waits for, or what is being done for it. This module decides nothing. It
//! takes the reasons from the settling code (`steps`, `gates`, `operators`) and from the scheduler that hands out
//! slots.

use serde::Serialize;

use crate::nouns::{ExecutionId, Phase, SectionOrder, Slug};
use crate::record::{EffectKey, Gate, GateKind, Outcome};

use super::access::LimitUse;
use super::approval::Approval;
use super::effect::Effect;
use super::execution::ToolState;
use super::gates::gate_names;
use super::limit::Limit;
use super::operators::{NodeInstance, OpState, TreeQuery};
use super::schedule::Schedule;
use super::scheduler::{Refusal, Scheduler};
use super::state::{Stage, State};
use super::steps::run_ahead;
use super::task::{TaskPhase, TaskRun};
use super::units::Units;
use super::{Run, limits};

/// Why a task is not done.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// The task has ended.
    Ended {
        /// The state in which it ended.
        state: State,
        /// The reason in words. May be empty.
        reason: String,
        /// The other task that caused the end, if there is one.
        cause: Option<Slug>,
    },
    /// Work for the task is in flight.
    Running {
        /// The effects in flight.
        work: Vec<EffectKey>,
    },
    /// The task is next.
    Owed {
        /// What the driver must do for it.
        work: Vec<EffectKey>,
    },
    /// The task waits for a person at a gate.
    Gate {
        /// The gate.
        gate: Gate,
    },
    /// A tool of the task asks the person a question.
    Question {
        /// The execution.
        run: ExecutionId,
        /// Call id.
        call: String,
        /// The question.
        question: String,
    },
    /// The task reads the outputs of other tasks, or consists of other tasks, that are not done.
    WaitsForTask {
        /// The tasks that it waits for.
        tasks: Vec<Slug>,
    },
    /// An earlier section has not ended.
    WaitsForSection {
        /// The number of that section, from 1.
        section: usize,
        /// The tasks of that section that have not ended.
        tasks: Vec<Slug>,
    },
    /// The section of the task begins with a gate, and writers that the gate lists must still be refined.
    WaitsForWriters {
        /// These writers.
        tasks: Vec<Slug>,
    },
    /// Another writer goes first, because only one writer works at a time.
    Writer {
        /// The writer that works now, or that comes first.
        by: Slug,
    },
    /// The list must be made first, or made again.
    List {
        /// The phase that makes the list.
        phase: Phase,
    },
    /// A limit leaves nothing for the task.
    Limit {
        /// The limit.
        limit: Limit,
        /// How much is used, in the unit of the limit.
        used: Option<f64>,
        /// The maximum.
        max: Option<f64>,
    },
    /// All slots are in use.
    Slot {
        /// The number of slots.
        jobs: usize,
        /// The effects that use them.
        work: Vec<EffectKey>,
    },
    /// Another call of the same tool is in flight, and the tool runs only one call at a time.
    ExclusiveTool {
        /// The tool.
        tool: String,
        /// The task that uses the tool.
        by: Option<Slug>,
    },
    /// Problems hold the section of the task until an accepted iteration has seen them (spec 2.9).
    Held {
        /// The tasks that ended with a problem.
        tasks: Vec<Slug>,
    },
    /// A faulty edit of the sheet changes or removes the task (spec 2.18).
    SheetErrors,
    /// Other calls have reserved a part of a budget, and return what they do not use.
    Budget {
        /// The limit that sets the budget.
        limit: Limit,
        /// These calls.
        work: Vec<EffectKey>,
    },
    /// An interrupted apply must be rolled back first (spec 2.18).
    RollBack {
        /// The task whose changes were being applied.
        of: Slug,
    },
    /// The run has ended before the task did.
    Concluded {
        /// How the run ended.
        outcome: Outcome,
    },
    /// The task does not exist, or no reason is found, which is a defect.
    Unknown,
}

impl Why {
    /// The tasks that must make progress before this one can.
    pub fn awaited(&self) -> Vec<&Slug> {
        match self {
            Self::WaitsForTask { tasks } | Self::WaitsForSection { tasks, .. } | Self::WaitsForWriters { tasks } => {
                tasks.iter().collect()
            }
            Self::Writer { by } | Self::ExclusiveTool { by: Some(by), .. } | Self::RollBack { of: by } => vec![by],
            _ => Vec::new(),
        }
    }
}

/// Explains why tasks of the current run are not done.
pub struct Explainer<'a> {
    run: &'a Run,
    /// The slots as handed out. `None` if the run has ended, or if something must be done before all other work.
    scheduler: Option<Scheduler<'a>>,
    /// The task of a change set that must be rolled back before anything else.
    rolled_back: Option<Slug>,
}

impl<'a> Explainer<'a> {
    /// An explainer for several tasks of the current run.
    pub(super) fn new(run: &'a Run) -> Self {
        let schedule = Schedule(run);
        let rolled_back = schedule.roll_backs().iter().find_map(Effect::task).cloned();
        let asks = matches!(run.stage(), Stage::Prepare | Stage::Iterate | Stage::Continue | Stage::Join(_));
        let works = run.stage().is_working() || asks;
        let scheduler = (works && rolled_back.is_none()).then(|| schedule.hand_out());
        Self { run, scheduler, rolled_back }
    }
}

impl Explainer<'_> {
    /// Why a task is not done.
    pub fn why(&self, task: &Slug) -> Why {
        match (self.run.operators.get(task), self.run.task(task)) {
            (Some(op), _) if op.id == *task => self.of_op(op),
            (_, Some(task)) => self.of_task(task),
            (_, None) => Why::Unknown,
        }
    }

    fn of_op(&self, op: &NodeInstance) -> Why {
        let run = self.run;
        let leaf = run.leaf(op);
        if op.state().is_ended() {
            let failure = leaf.and_then(|leaf| leaf.failure()).filter(|_| op.failed());
            return Why::Ended {
                state: op.state(),
                reason: failure.map(|failure| failure.reason.clone()).unwrap_or_default(),
                cause: run.operators.children(op).find(|part| op.failed() && part.failed()).map(|part| part.id.clone()),
            };
        }
        if let (OpState::Open, Some(leaf)) = (&op.phase, leaf.filter(|leaf| !leaf.state().is_ended())) {
            return self.of_task(leaf);
        }
        let slot = || matches!(op.phase, OpState::Due(_)).then(|| self.slot());
        let why = self.at_work(&op.id).or_else(|| self.comes_first(None)).or_else(|| self.no_list());
        why.or_else(slot).or_else(|| self.parts(op)).unwrap_or(Why::Unknown)
    }

    /// The reason, if a task of the tree waits for parts that have not returned.
    fn parts(&self, op: &NodeInstance) -> Option<Why> {
        let open = self.run.operators.children(op).filter(|part| !part.state().is_ended());
        waits_for(open.map(|part| &part.id))
    }

    fn of_task(&self, task: &TaskRun) -> Why {
        if task.state().is_ended() {
            return self.ended(task);
        }
        let why = self.at_work(&task.task.slug).or_else(|| self.comes_first(Some(task)));
        let why = why
            .or_else(|| self.edit(task))
            .or_else(|| self.refused(task))
            .or_else(|| self.person(task))
            .or_else(|| self.held(task));
        why.or_else(|| self.no_list()).or_else(|| self.order(task)).unwrap_or(Why::Unknown)
    }

    fn ended(&self, task: &TaskRun) -> Why {
        let state = self.run.standing(task);
        let (reason, cause) = match (&task.phase, state) {
            (TaskPhase::Failed { failure, .. }, State::Failed) => (failure.reason.clone(), None),
            (TaskPhase::Denied { words, .. }, State::Denied) => (words.clone(), None),
            (TaskPhase::Blocked { by, .. }, State::Blocked) => (String::new(), Some(by.clone())),
            _ => (String::new(), None),
        };
        Why::Ended { state, reason, cause }
    }

    /// The reason, if work is in flight or outstanding for the task.
    fn at_work(&self, slug: &Slug) -> Option<Why> {
        let of_task = self.run.in_flight.pending().filter(|effect| effect.task() == Some(slug)).map(Effect::key);
        let (running, next): (Vec<_>, Vec<_>) = of_task.partition(|key| self.run.in_flight.contains(key));
        if !running.is_empty() {
            return Some(Why::Running { work: running });
        }
        (!next.is_empty()).then_some(Why::Owed { work: next })
    }

    /// The reason, if something precedes all other work: the limit that ended the run, or an apply that must be
    /// rolled back.
    fn comes_first(&self, task: Option<&TaskRun>) -> Option<Why> {
        let run = self.run;
        match (run.stage(), run.progress.ended_by(), &self.rolled_back) {
            (Stage::Conclude(Outcome::LimitReached) | Stage::Concluded(Outcome::LimitReached), Some(limit), _) => {
                Some(self.limit(task, limit))
            }
            (Stage::Conclude(Outcome::MaxRounds) | Stage::Concluded(Outcome::MaxRounds), ..) => {
                let rounds = Some(f64::from(run.settings().max_rounds));
                Some(Why::Limit { limit: Limit::MaxRounds, used: rounds, max: rounds })
            }
            (Stage::Concluded(_), ..) => None,
            (_, _, Some(of)) => Some(Why::RollBack { of: of.clone() }),
            _ => None,
        }
    }

    /// The reason, if a faulty edit holds the task.
    fn edit(&self, task: &TaskRun) -> Option<Why> {
        let held = self.run.stage().is_working() && !task.has_begun() && self.run.sheet.holds(&task.task.slug);
        held.then_some(Why::SheetErrors)
    }

    /// The reason, if the task has work and the scheduler gave it no slot.
    fn refused(&self, task: &TaskRun) -> Option<Why> {
        let scheduler = self.scheduler.as_ref()?;
        let is_outstanding = Units(self.run).of(task).any(|unit| !Units(self.run).work_of(&unit).work.is_empty());
        let refused = scheduler.refused.iter().find(|refused| *refused.task == task.task.slug);
        let refusal = refused.map(|refused| refused.refusal).or(scheduler.no_call);
        is_outstanding.then(|| match refusal {
            Some(Refusal { limit: Limit::Exclusive, .. }) => self.exclusive(task),
            Some(Refusal { limit, returns }) => {
                let budget = returns.then(|| self.budget(limit)).flatten();
                budget.unwrap_or_else(|| self.limit(Some(task), limit))
            }
            // The scheduler stops only when no slot is left or no further call is allowed.
            None => self.slot(),
        })
    }

    fn slot(&self) -> Why {
        let holds = |effect: &&Effect| {
            !matches!(
                effect,
                Effect::Retrieve { .. } | Effect::AskApproval(_) | Effect::AskPerson { .. } | Effect::Conclude(_)
            )
        };
        let work = self.run.in_flight.pending().filter(holds).map(Effect::key).collect();
        Why::Slot { jobs: limits::jobs(self.run), work }
    }

    fn budget(&self, limit: Limit) -> Option<Why> {
        let run = self.run;
        let holds = |key: &EffectKey| matches!(key, EffectKey::Ask(_));
        let work: Vec<EffectKey> = run.in_flight.pending().map(Effect::key).filter(holds).collect();
        (!work.is_empty()).then_some(Why::Budget { limit, work })
    }

    fn exclusive(&self, task: &TaskRun) -> Why {
        let run = self.run;
        let mut work = Units(run).of(task).flat_map(|unit| Units(run).work_of(&unit).work);
        let tool = work.find_map(|(effect, _)| match effect {
            Effect::RunTool { call, .. } if run.policy(&call.name).exclusive => Some(call.name),
            _ => None,
        });
        let tool = tool.unwrap_or_default();
        let uses = |effect: &&Effect| matches!(effect, Effect::RunTool { call, .. } if call.name == tool);
        let by = run.in_flight.pending().find(uses).and_then(Effect::task).cloned();
        Why::ExclusiveTool { tool, by }
    }

    /// A limit of the run, of the task, or of a task of the tree above it, and how much of it is used.
    fn limit(&self, task: Option<&TaskRun>, limit: Limit) -> Why {
        let run = self.run;
        let mut uses = limits::uses(run);
        if let Some(task) = task {
            uses.extend(limits::uses_around(run, task));
        }
        let share = |found: &LimitUse| found.used / found.max;
        let uses = uses.into_iter().filter(|found| found.limit == limit);
        let most = uses.max_by(|one, other| share(one).total_cmp(&share(other)));
        Why::Limit { limit, used: most.as_ref().map(|found| found.used), max: most.map(|found| found.max) }
    }

    /// The reason, if the task waits at a gate, for an answer to a question, or for the template of a call.
    fn person(&self, task: &TaskRun) -> Option<Why> {
        let (run, slug) = (self.run, &task.task.slug);
        if !run.stage().is_working() {
            return None;
        }
        let asks = |gate: &Gate| match &gate.kind {
            GateKind::BeforeRun(tasks) => tasks.contains(slug),
            _ => gate_names(gate, slug),
        };
        if let Some(gate) = Approval(run).open_gates().filter(asks).min_by_key(|gate| gate.n) {
            return Some(Why::Gate { gate });
        }
        let own = Approval(run).calls().filter(|(of, ..)| *of == slug);
        let mut asking = own.filter_map(|(_, exec, call)| match &call.state {
            ToolState::Asking { question, .. } => {
                let (run, call) = (exec.clone(), call.call.id.clone());
                Some(Why::Question { run, call, question: question.clone() })
            }
            _ => None,
        });
        asking.next().or_else(|| {
            let calls =
                task.runs.iter().filter(|_| task.is_executing() && Approval(run).has(task)).flat_map(|run| &run.calls);
            let tops = calls.filter_map(|call| match call.state {
                ToolState::Mounted(number) => run.operators.top_of(number),
                _ => None,
            });
            waits_for(tops.filter(|top| !top.is_closed()).map(|top| &top.id))
        })
    }

    /// The reason, if problems hold the next section.
    fn held(&self, task: &TaskRun) -> Option<Why> {
        let run = self.run;
        let goes_on = task.has_begun() && Approval(run).has(task);
        let current =
            run.tasks.current_step().filter(|_| run.operators.tree().is_none() && task.is_own() && !goes_on)?;
        let tasks: Vec<Slug> = run.held_by(current).map(TaskRun::slug).collect();
        let is_next = run.step_of(&task.task.slug) == Some(current);
        (is_next && !tasks.is_empty()).then_some(Why::Held { tasks })
    }

    /// The reason, if no list is being worked on.
    fn no_list(&self) -> Option<Why> {
        let phase = match self.run.stage() {
            Stage::Pass | Stage::Operate => return None,
            Stage::Conclude(outcome) | Stage::Concluded(outcome) => return Some(Why::Concluded { outcome }),
            Stage::Empty | Stage::AwaitList | Stage::Prepare => Phase::Plan,
            Stage::Iterate => Phase::Iterate,
            Stage::Continue => Phase::Continue,
            Stage::Join(_) => Phase::Join,
        };
        Some(Why::List { phase })
    }

    /// The reason, if the task waits for tasks that precede it in the list or in the tree.
    fn order(&self, task: &TaskRun) -> Option<Why> {
        let run = self.run;
        if let Some(caller) = task.below.clone().filter(|_| !Approval(run).is_called(task)) {
            return Some(Why::WaitsForTask { tasks: vec![caller] });
        }
        if task.has_begun() {
            let turn = TreeQuery(run).has_turn_before(task).map(|other| Why::Writer { by: other.slug() });
            let why = turn.or_else(|| self.parts(run.operators.of(task)?)).or_else(|| self.gate(task));
            // A writer whose approval is void is asked about again at the gate of its section.
            if why.is_some() || Approval(run).has(task) {
                return why;
            }
        }
        let alone = || TreeQuery(run).writes_meanwhile(task).map(|other| Why::Writer { by: other.slug() });
        if task.below.is_some() {
            return self.gate(task).or_else(alone);
        }
        if let Some(why) = waits_for(run.tasks.awaited_by(task).map(|producer| &producer.task.slug)) {
            return Some(why);
        }
        let (current, own) = (run.tasks.current_step()?, run.step_of(&task.task.slug)?);
        if current < own && run.progress.rounds().open_step() == Some(current) && own < run_ahead(run, current) {
            return None;
        }
        if current < own {
            // A task that only reads waits for the writers before it. A writer waits for all tasks before it.
            let reads = task.writer.is_none() && run.settings().sections == SectionOrder::Dependencies;
            let writer = run.tasks.writer_step_from(current).filter(|step| reads && *step < own);
            let current = writer.unwrap_or(current);
            let tasks = run.tasks.pending_of(current).map(TaskRun::slug).collect();
            return Some(Why::WaitsForSection { section: current.saturating_add(1), tasks });
        }
        self.gate(task).or_else(alone)
    }

    /// The reason, if the task waits for the gate before its section. Tasks that only read wait for it, too, until
    /// the section is open.
    fn gate(&self, task: &TaskRun) -> Option<Why> {
        let run = self.run;
        let current = run.tasks.current_step();
        let in_section = run.stage() != Stage::Operate && task.below.is_none();
        let is_open = !in_section || run.progress.rounds().open_step() == current;
        if is_open && Approval(run).has(task) {
            return None;
        }
        if let Some(gate) = run.gates.before_run() {
            return Some(Why::Gate { gate: gate.clone() });
        }
        let tasks: Vec<Slug> = Approval(run).gate_waits_for(current?).map(TaskRun::slug).collect();
        (!tasks.is_empty()).then_some(Why::WaitsForWriters { tasks })
    }
}

fn waits_for<'a>(tasks: impl Iterator<Item = &'a Slug>) -> Option<Why> {
    let mut awaited: Vec<Slug> = Vec::new();
    for task in tasks {
        if !awaited.contains(task) {
            awaited.push(task.clone());
        }
    }
    (!awaited.is_empty()).then_some(Why::WaitsForTask { tasks: awaited })
}
