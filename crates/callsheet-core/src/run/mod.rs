//! The machine: `apply` folds one fact, `outstanding` derives what the shell owes the world.
//!
//! # How it hangs together
//!
//! A [`Run`] is a value. Nothing in it reads a clock or does anything; the only time it knows is the `at` of facts.
//! Every [`Run::apply`] does three things:
//!
//! 1. **fold** (`fold`, `calls`, `lists`, `tools`, `mounts`, `gates`, `resume`, `follow`, `steer`): check that the fact fits, else refuse it with
//!    a [`Reject`] and change nothing; then note what it says.
//! 2. **settle** (`rounds`, `steps`, `execute`): make every transition that needs nobody: release waiting tasks,
//!    block readers of lost outputs, open gates, build execution runs, end tasks, steps and rounds. Each of them
//!    goes through [`State::may_become`], the table of spec 2.10.
//! 3. **derive** (`units`, with every limit in `limits`): which effects are owed now, at most `jobs` pieces of work,
//!    then gates and questions. [`Run::outstanding`] hands the result out.
//!
//! The driver's loop is: for each outstanding effect that it is not performing, append `Started` (not for reading
//! replies, checking references and merging by code, which are pure), apply it, perform it; append and apply what
//! came out. An effect that leaves the list is cancelled. So folding a log again gives the same run and the same
//! list, and a crash loses only what was in flight: `RunResumed` (`resume`) settles that.
//!
//! A fact concerns a task or two, so settling and deriving look at those, at the tasks that read from them and at what
//! holds a slot, not at the whole list: `tasks` says where to look. What is settled so is what looking at everything
//! would give; `is_settled` compares the two, and the transcripts and the simulation ask it after every fact.
//!
//! [`Run::explain`] (`explain`) says why a task is not done: it asks the same predicates and the same scheduler.
//!
//! # Words
//!
//! A *unit* is one refinement, one execution run, one merge, or the plan or iteration call. Its model calls are its
//! [`Attempts`]. A unit that is *admitted* holds a slot until it ends or waits for a person. A [`Stage`] is what the
//! run as a whole does: prepare, pass, iterate, conclude. A *round* is one pass and one iteration.
//!
//! # Where new things go
//!
//! * A new fact: `record::Event`, then the fold in the file of its idea. A new limit: `limits`, nowhere else.
//! * A template operator: a file in `operators`, which says how. A tree of operators runs in this same machine, alone
//!   ([`Stage::Operate`]) or below a task that calls it (`mounts`); its leaves are `TaskRun`s, so units, gates, limits and
//!   resume are the same code.

mod access;
mod attempts;
mod calls;
mod effect;
mod execute;
mod explain;
mod fold;
mod follow;
mod gates;
mod ledger;
pub mod limits;
mod lists;
mod loops;
mod mounts;
mod operators;
mod parts;
mod reject;
mod resume;
mod review;
mod rounds;
mod scheduler;
mod state;
mod steer;
mod steps;
mod task;
mod tasks;
mod told;
mod tools;
mod totals;
mod units;

pub use access::{LimitUse, Problem, ProblemKind};
pub use attempts::Attempts;
pub use effect::{Asked, Effect};
pub use explain::{Explainer, Why};
pub use ledger::Spent;
pub use limits::Limit;
pub use operators::{
    Caller, EvalPhase, OpState, Operators, Place, Reparse, SPAWN_SUBTASK, SUBTASK_REQUEST, TaskOp, Work,
};
pub use parts::RunPart;
pub use reject::Reject;
pub use review::Review;
pub use state::{Stage, State, Stopwatch};
pub use task::{
    AppliedSet, Cause, Check, ExecRun, Failure, Merge, RunInput, TaskRun, ToolOutput, ToolRun, ToolState, Turn,
};
pub use totals::{CallRecord, Totals};

use std::collections::{BTreeMap, BTreeSet};

use ledger::Ledger;
use steps::Pass;
use task::{PendingSet, SetKey};
use tasks::Tasks;
use told::Told;

use crate::record::{CallKey, EffectKey, Entry, Gate, LogEntry, Outcome, ToolPolicy};
use crate::spec::{BlobId, ExecRunId, Goals, Phase, RunId, Settings, Slug};

/// A run: everything that its facts say, and what follows from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    id: Option<RunId>,
    entry: Option<Entry>,
    settings: Settings,
    tool_policies: BTreeMap<String, ToolPolicy>,
    stage: Stage,
    waiting: Option<Outcome>,
    goals: Goals,
    former_goals: Vec<Goals>,
    no_longer_relevant: Vec<String>,
    remarks: String,
    message: Option<String>,
    list_adopted: bool,
    round: u32,
    rounds: u32,
    iteration_due: bool,
    more_work: bool,
    tasks: Tasks,
    /// Former slugs of renamed tasks (spec 6.4).
    aliases: BTreeMap<Slug, Slug>,
    pass: Pass,
    /// Task trees that run here.
    operators: Operators,
    before_run: Option<Gate>,
    writer_approval: bool,
    /// Words of processes that a person approved.
    approved_argv: BTreeSet<String>,
    /// Tasks of processes that were started and did not end, as long as nobody agrees that they run again.
    unended: BTreeSet<Slug>,
    gates: u32,
    sets: BTreeMap<SetKey, PendingSet>,
    plan: Attempts,
    iterate: Attempts,
    follow: Attempts,
    /// The follow-up whose list is not accepted yet (spec 2.17).
    follow_up: Option<String>,
    /// No list could be had for it: all else goes before it.
    follow_up_failed: bool,
    /// How the run had ended when the follow-up came; `None` once something else was done since.
    before_follow_up: Option<Outcome>,
    /// Accepted follow-ups, in order.
    follow_ups: Vec<String>,
    /// Rounds before the latest accepted follow-up.
    rounds_before: u32,
    /// Hashes of every rendered sheet (spec 2.18).
    sheets: BTreeSet<BlobId>,
    /// What the sheet was to hold last, or was read last, and when that was.
    last_sheet: Option<(BlobId, u64)>,
    /// The run was taken up and had nothing to do.
    idle: bool,
    in_flight: BTreeSet<EffectKey>,
    call_numbers: BTreeMap<(Phase, Option<Slug>, Option<ExecRunId>), u32>,
    calls: Vec<CallRecord>,
    call_index: BTreeMap<CallKey, usize>,
    /// Places in `calls` of those of each task.
    task_calls: BTreeMap<Slug, Vec<usize>>,
    /// What model calls cost.
    ledger: Ledger,
    /// Tool calls finished.
    finished_tools: u32,
    /// Repairs by code (spec 4.3).
    repairs: BTreeMap<String, u32>,
    minimum_calls: u32,
    /// Counts what may have changed files: applied sets, calls of tools that do not only read, resumes.
    world: u32,
    clock: Stopwatch,
    /// Milliseconds at which the current list could have existed with unlimited slots.
    ideal_list_ms: u64,
    now: u64,
    last_fact: u64,
    reached: BTreeSet<Limit>,
    /// The limit that left nothing to do.
    ended_by: Option<Limit>,
    /// What was left of the run's limit of tokens when a call had no room in it.
    no_room: Option<u64>,
    told: Told,
    owed: Vec<Effect>,
    /// Calls that are owed as well, and wait for what others reserved of a budget.
    waits_for_room: Vec<EffectKey>,
}

impl Run {
    /// A run without facts. It owes nothing until `RunStarted`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds one fact.
    ///
    /// # Errors
    /// The fact does not fit; the run is unchanged.
    pub fn apply(&mut self, fact: &LogEntry) -> Result<(), Reject> {
        if fact.v > crate::record::VERSION {
            return Err(Reject::Version { found: fact.v });
        }
        if fact.n <= self.last_fact {
            return Err(Reject::Number { found: fact.n, last: self.last_fact });
        }
        let at = fact.at.max(self.now);
        self.fold(&fact.event, at)?;
        self.now = at;
        self.last_fact = fact.n;
        self.settle()?;
        self.derive();
        Ok(())
    }

    /// Whether `apply` would take the fact, without changing anything: for a shell that records before it applies.
    ///
    /// # Errors
    /// As `apply`.
    pub fn check(&self, fact: &LogEntry) -> Result<(), Reject> {
        self.clone().apply(fact)
    }

    /// What the shell owes the world: at most `jobs` pieces of work, units in flight first, then new ones in the
    /// order of spec 2.6; then open gates and questions. An effect in flight stays until its result is applied.
    pub fn outstanding(&self) -> Vec<Effect> {
        self.owed.clone()
    }

    /// Whether the run is what it would be if every task had been looked at after every fact, and not only those that
    /// a fact concerned. It always is; tests and the simulation ask.
    pub fn is_settled(&self) -> bool {
        let mut anew = self.clone();
        anew.tasks.walk_all();
        let settled = anew.settle().is_ok();
        anew.derive();
        settled && anew == *self
    }

    /// Whether the effect is outstanding.
    pub fn is_outstanding(&self, key: &EffectKey) -> bool {
        self.owed.iter().any(|effect| effect.key() == *key)
    }

    /// Whether the effect has been started and its result has not been applied.
    pub fn is_in_flight(&self, key: &EffectKey) -> bool {
        self.in_flight.contains(key)
    }
}
