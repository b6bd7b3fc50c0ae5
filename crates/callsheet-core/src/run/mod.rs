//! The machine: `apply` folds one fact, `outstanding` derives what the shell owes the world.
//!
//! # How it hangs together
//!
//! A [`Run`] is a value. Nothing in it reads a clock or does anything; the only time it knows is the `at` of facts.
//! Every [`Run::apply`] does three things:
//!
//! 1. **fold** (`fold`, `calls`, `lists`, `tools`, `inner`, `gates`, `resume`, `follow`, `steer`): check that the fact fits, else refuse it with
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
//! * A template operator: a file in `operators`, which says how. A tree of operators is a stage of this same machine
//!   ([`Stage::Operate`]); its leaves are `TaskRun`s, so units, gates, limits and resume are the same code.

mod access;
mod advance;
mod answers;
mod approval;
mod attempts;
mod calls;
mod changes;
mod changing;
mod check;
mod clock;
mod commands;
mod continuation;
mod conversations;
mod effect;
mod execute;
mod execution;
mod explain;
mod failure;
mod flights;
mod fold;
mod follow_ups;
mod gates;
mod ideal;
mod inner;
pub mod limits;
mod lists;
mod next_stage;
mod notified;
mod operators;
mod parts;
mod progress;
mod reject;
mod replies;
mod resume;
mod rounds;
mod schedule;
mod scheduler;
mod setup;
mod sheet;
mod state;
mod steps;
mod task;
mod task_change;
mod tasks;
mod tools;
mod totals;
mod units;
mod views;

pub use access::{LimitUse, Problem, ProblemKind};
pub use attempts::Attempts;
pub use effect::{Asked, Effect};
pub use execution::{
    AppliedSet, ExecRun, ExecutionPhase, Merge, MergeBy, RunInput, ToolOutput, ToolRun, ToolState, Turn,
};
pub use explain::{Explainer, Why};
pub use failure::{Cause, Failure};
pub use inner::{Loan, PausedCall};
pub use limits::Limit;
pub use operators::{
    EvalPhase, OpState, Operators, Place, Reparse, SPAWN_SUBTASK, SUBTASK_REQUEST, Spent, TaskOp, Work,
};
pub use parts::RunPart;
pub use reject::Reject;
pub use state::{Stage, State, Stopwatch};
pub use task::{ExecutionStage, Notice, ReferenceCheck, TaskPhase, TaskRun};
pub use totals::{CallRecord, Totals};

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{CallKey, EffectKey, LogEntry, Spending};
use crate::spec::RunId;

/// A run: everything that its log says, and what follows from that. Each part knows one idea, and its fields are its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    setup: setup::Setup,
    clock: clock::Clock,
    progress: progress::Progress,
    follow_ups: follow_ups::FollowUps,
    sheet: sheet::Sheet,
    tasks: tasks::TaskTable,
    /// The task tree of a template run.
    operators: Operators,
    gates: gates::Gates,
    changes: changes::ChangeSets,
    calls: calls::Calls,
    flights: flights::Flights,
    notified: notified::Notified,
    /// Tokens that calls in flight have reserved of the run's limit.
    reserved: BTreeMap<CallKey, u64>,
    /// What runs inside calls may use; a loan stays until its account comes back.
    loans: BTreeMap<EffectKey, Loan>,
    /// Since when calls inside of which runs work have been in flight without a gap, in milliseconds since the Unix epoch.
    calls_inside_since: u64,
    /// Milliseconds since then that were given back, since a person was awaited.
    waited_inside_ms: u64,
    /// What runs inside calls were charged for, each in all.
    accounts: BTreeMap<RunId, Spending>,
    /// Runs inside calls that ended in a failure; a call that is made again begins another one.
    failed_inside: BTreeSet<RunId>,
    totals: Totals,
    /// What was left of the run's limit of tokens when a call had no room in it.
    no_room: Option<limits::NoRoom>,
}

impl Run {
    /// A run without a log. It has nothing to do until `RunStarted`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies one log entry.
    ///
    /// # Errors
    /// It does not fit; the run is unchanged.
    pub fn apply(&mut self, entry: &LogEntry) -> Result<(), Reject> {
        self.check(entry)?;
        let at = entry.at.max(self.clock.now());
        fold::Fold(self).event(&entry.event, at);
        self.clock.tick(at, entry.n);
        let mut advancing = advance::Advancing(self);
        advancing.advance();
        advancing.schedule();
        Ok(())
    }

    /// Whether `apply` would apply the entry: for a shell that records before it applies.
    ///
    /// # Errors
    /// As `apply`.
    pub fn check(&self, entry: &LogEntry) -> Result<(), Reject> {
        if entry.v > crate::record::VERSION {
            return Err(Reject::Version { found: entry.v });
        }
        let last = self.clock.last_entry();
        if entry.n <= last {
            return Err(Reject::Number { found: entry.n, last });
        }
        check::Check(self).event(&entry.event)
    }

    /// What the shell is to do: at most `jobs` pieces of work, units in flight first, then new ones in the
    /// order of spec 2.6; then open gates and questions. An effect in flight stays until its result is applied.
    pub fn outstanding(&self) -> Vec<Effect> {
        self.flights.pending().to_vec()
    }

    /// Whether the run is what it would be if every task had been looked at after every entry, and not only those that
    /// an entry concerned. It always is; tests and the simulation ask.
    pub fn is_settled(&self) -> bool {
        let mut anew = self.clone();
        anew.tasks.walk_all();
        let mut advancing = advance::Advancing(&mut anew);
        advancing.advance();
        advancing.schedule();
        anew == *self
    }
}
