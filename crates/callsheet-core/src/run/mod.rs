//! The machine: `apply` folds one log entry, `outstanding` says what the shell is to do.
//!
//! # How it hangs together
//!
//! A [`Run`] is a value. Nothing in it reads a clock or does anything; the only time it knows is the `at` of log entries.
//! It is made of parts, one idea each: `setup`, `clock`, `progress` (with `rounds`, `notified`, `joined`), `follow_ups`,
//! `sheet`, `tasks`, `operators`, `gates`, `changes`, `calls`, `in_flight`, `ledger`. A part is a file; its fields are its own, and
//! what it allows is its methods. What needs several parts is a type of its own over a run, with one idea:
//!
//! 1. **check** (`events`, with the rules of `lists`, `answers`, `mounts` and `operators`): whether the event fits; else it is
//!    refused with a [`Reject`], and nothing has changed.
//! 2. **fold** (`events`, and the type of each idea: `Replies`, `Conversations`, `ToolResults`, `Changing`, `Answers`, `Lists`,
//!    `Reviews`, `Joins`, `Commands`, `Continuation`, `Resume`, `Mounts`, `Trees`): note what it says. A fold cannot fail.
//! 3. **advance** (`advance`, with `steps`, `execute`, `operators`): make every transition that needs nobody: release waiting
//!    tasks, block readers of lost outputs, open gates, begin executions, end tasks, steps and rounds. Every change of a
//!    task goes through `TaskChange`, by [`State::may_become`], the table of spec 2.10; every change of the run's stage that
//!    is more than that through `NextStage`.
//! 4. **schedule** (`schedule`, `scheduler`, with every limit in `limits`): which effects are to be performed now, at most
//!    `jobs` pieces of work, then gates and questions (`approval`). Nothing is changed by that. [`Run::outstanding`] hands
//!    the result out.
//!
//! What a task, an execution or a tool call does is one value ([`TaskPhase`], [`ExecutionPhase`], [`ToolState`]) that
//! carries what it needs: a failed task its failure, a done one its result, a gated call its gate.
//!
//! The driver's loop is: for each outstanding effect that it is not performing, append `Started` (not for reading
//! replies, checking references and merging by code, which are pure), apply it, perform it; append and apply what
//! came out. An effect that leaves the list is cancelled. So folding a log again gives the same run and the same
//! list, and a crash loses only what was in flight: `RunResumed` (`resume`) settles that.
//!
//! A log entry concerns a task or two, so advancing and scheduling look at those, at the tasks that read from them and at
//! what holds a slot, not at the whole list: `tasks` says where to look. What is advanced so is what looking at everything
//! would give; `is_settled` compares the two, and the transcripts and the simulation ask it after every entry.
//!
//! [`Run::explain`] (`explain`) says why a task is not done: it asks the same predicates and the same scheduler.
//!
//! # Words
//!
//! A *unit* is one refinement, one execution, one merge, or the call for a list. Its model calls are its
//! [`Attempts`]. A unit that is *admitted* holds a slot until it ends or waits for a person. A [`Stage`] is what the
//! run as a whole does: prepare, pass, iterate, conclude. A *round* is one pass and one iteration.
//!
//! # Where new things go
//!
//! * A new event: a file in `events` and a line in its list, and a method of the type of its idea. A
//!   new limit: `limit` and `limits`, nowhere else.
//! * What is known of one idea: a field of its part. What it means for others: the type that knows them both. No file
//!   imports one that imports it; queries that viewers need stand in `access` (parts alone) or `views` (anything).
//! * A template operator: a file in `operators`, which says how. A tree of operators runs in this same machine, alone
//!   ([`Stage::Operate`]) or below a task that calls it (`mounts`); its leaves are `TaskRun`s, so units, gates, limits and
//!   resume are the same code.

mod access;
mod advance;
mod answers;
mod approval;
mod attempts;
mod calls;
mod changes;
mod changing;
mod clock;
mod commands;
mod continuation;
mod conversations;
mod effect;
pub mod events;
mod execute;
mod execution;
mod explain;
mod failure;
mod follow_ups;
mod gates;
mod ideal;
mod in_flight;
mod joined;
mod joins;
mod ledger;
mod limit;
mod limits;
mod lists;
mod mounts;
mod next_stage;
mod notified;
mod operators;
mod parts;
mod places;
mod progress;
mod refused;
mod reject;
mod replies;
mod resume;
mod reviews;
mod rounds;
mod routing;
mod schedule;
mod scheduler;
mod setup;
mod sheet;
mod state;
mod step_ends;
mod steps;
mod task;
mod task_change;
mod task_sets;
mod tasks;
mod time_split;
mod tools;
mod totals;
mod units;
mod views;

pub use crate::template::operators::{ChildSlot, EvalPhase, Work};
pub use access::{LimitUse, Problem, ProblemKind};
pub use attempts::Attempts;
pub use clock::{Reuse, Times};
pub use effect::{Effect, ModelCall};
pub use execution::{
    AppliedSet, Execution, ExecutionPhase, Merge, MergeBy, Review, ReviewPhase, RunInput, ToolOutput, ToolRun,
    ToolState, Turn,
};
pub use explain::{Explainer, Why};
pub use failure::{Cause, Failure};
pub use joined::Joined;
pub use ledger::Spent;
pub use limit::Limit;
pub use operators::{
    Caller, FOR_EACH, ITEMS, NodeInstance, OpState, Operators, Reparse, SPAWN_SUBTASK, SUBTASK_REQUEST,
};
pub use parts::RunPart;
pub use refused::RefusedMove;
pub use reject::Reject;
pub use state::{Stage, State, Stopwatch};
pub use task::{CallReuse, ExecutionStage, Notice, ReferenceCheck, Refined, RemovedBy, TaskPhase, TaskRun};
pub use totals::{CallRecord, Totals};

use crate::events::LogEntry;

/// A run: everything that its log says, and what follows from that. Each part knows one idea, and its fields are its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    setup: setup::Setup,
    clock: clock::Clock,
    progress: progress::Progress,
    follow_ups: follow_ups::FollowUps,
    sheet: sheet::Sheet,
    tasks: tasks::TaskTable,
    /// Task trees that run here.
    operators: Operators,
    gates: gates::Gates,
    changes: changes::ChangeSets,
    calls: calls::Calls,
    in_flight: in_flight::InFlight,
    /// What model calls cost.
    ledger: ledger::Ledger,
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
        self.clock.spend(at, time_split::counts_as(self, entry.event.takes_up()));
        let stage = self.stage();
        entry.event.apply(self, at);
        self.clock.tick(at, entry);
        let mut advancing = advance::Advancing(self);
        advancing.advance();
        advancing.schedule_from(stage);
        self.tasks.forget_changes();
        Ok(())
    }

    /// Whether `apply` would apply the entry: for a shell that records before it applies.
    ///
    /// # Errors
    /// As `apply`.
    pub fn check(&self, entry: &LogEntry) -> Result<(), Reject> {
        if entry.v > crate::events::VERSION {
            return Err(Reject::Version { found: entry.v });
        }
        let last = self.clock.last_entry();
        if entry.n <= last {
            return Err(Reject::Number { found: entry.n, last });
        }
        entry.event.check(self)
    }

    /// What the shell is to do: at most `jobs` pieces of work, units in flight first, then new ones in the
    /// order of spec 2.6; then open gates and questions. An effect in flight stays until its result is applied.
    pub fn outstanding(&self) -> Vec<Effect> {
        self.in_flight.pending().cloned().collect()
    }

    /// What the shell is to do and has not started.
    pub fn to_begin(&self) -> impl Iterator<Item = &Effect> {
        self.in_flight.to_begin()
    }

    /// Counts how often something in flight may have ceased to be outstanding without a result: a shell that sees another
    /// number asks which of what it performs still is.
    pub fn losses(&self) -> u64 {
        self.in_flight.losses()
    }

    /// Whether the run is what it would be if every task had been looked at after every entry, and not only those that
    /// an entry concerned. It always is; tests and the simulation ask.
    pub fn is_settled(&self) -> bool {
        let mut anew = self.clone();
        anew.tasks.walk_all();
        anew.in_flight.look_again();
        anew.operators.look_again();
        let stage = anew.stage();
        let mut advancing = advance::Advancing(&mut anew);
        advancing.advance();
        advancing.schedule_from(stage);
        anew == *self
    }
}
