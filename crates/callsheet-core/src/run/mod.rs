//! The machine: `apply` folds one log entry, and `outstanding` says what the driver must do.
//!
//! # How it works
//!
//! A [`Run`] is a value. Nothing in it reads a clock or performs work. The only time it knows is the `at` of log entries.
//! It consists of parts: `setup`, `clock`, `progress` (with `rounds`, `notified`, `joined`), `follow_ups`, `sheet`,
//! `tasks`, `operators`, `gates`, `changes`, `calls`, `in_flight`, `ledger`. Each part is a file with private fields, and
//! its methods define what may be done with it. Code that needs several parts is a type of its own over a run:
//!
//! 1. **check** (`events`, with the rules of `lists`, `answers`, `mounts` and `operators`) decides whether the event fits.
//!    If not, it returns a [`Reject`], and nothing has changed.
//! 2. **fold** (`events`, and the types `Replies`, `Conversations`, `ToolResults`, `Changing`, `Answers`, `Lists`,
//!    `Reviews`, `Joins`, `Commands`, `Continuation`, `Resume`, `Mounts`, `Trees`) applies the event. A fold cannot fail.
//! 3. **advance** (`advance`, with `steps`, `execute`, `operators`) makes every transition that needs no new input. It
//!    releases waiting tasks, blocks readers of lost outputs, opens gates, begins executions, and ends tasks, steps and
//!    rounds. Every change of a task goes through `TaskChange` and follows [`State::may_become`], the table of spec 2.10.
//!    Every change of the run's stage that has further consequences goes through `NextStage`.
//! 4. **schedule** (`schedule`, `scheduler`, with every limit in `limits`) derives which effects must be performed now: at
//!    most `jobs` pieces of work, then gates and questions (`approval`). It changes nothing. [`Run::outstanding`] returns
//!    the result.
//!
//! What a task, an execution or a tool call does is one value ([`TaskPhase`], [`ExecutionPhase`], [`ToolState`]), which
//! contains the data that it needs: the failure of a failed task, the result of a done task, the gate of a gated call.
//!
//! For each outstanding effect that it is not performing, the driver appends `Started`, applies it, and performs the
//! effect. It needs no `Started` for reading replies, checking references and merging by code, which are pure. It then
//! appends and applies the resulting events. It cancels an effect that leaves the list. Folding a log again therefore
//! gives the same run and the same list. A crash loses only what was in flight, and `RunResumed` (`resume`) settles that.
//!
//! A log entry concerns one or two tasks. Advancing and scheduling therefore examine only these tasks, the tasks that read
//! from them, and the units in slots. `tasks` says where to look. The result is the same as that of examining everything.
//! `is_settled` compares the two, and the transcripts and the simulation call it after every entry.
//!
//! [`Run::explain`] (`explain`) says why a task is not done. It uses the same predicates and the same scheduler.
//!
//! # Words
//!
//! A *unit* is one refinement, one execution, one merge, or the call for a list. Its model calls are its [`Attempts`]. An
//! *admitted* unit has a slot until it ends or waits for a person. A [`Stage`] is what the run as a whole does: prepare,
//! pass, iterate, conclude. A *round* is one pass and one iteration.
//!
//! # Where new things go
//!
//! * A new event is a file in `events`, a line in the list there, and a method of the type that folds it.
//! * A new limit goes into `limit` and `limits`, nowhere else.
//! * New state of one part is a field of that part. Code that needs several parts goes into the type that knows them.
//!   A file never imports one that imports it. Queries for viewers are in `access` (parts alone) or `views` (anything).
//! * A template operator is a file in `operators`. A tree of operators runs in this same machine, alone
//!   ([`Stage::Operate`]) or below a task that calls it (`mounts`). Its leaves are `TaskRun`s, so units, gates, limits and
//!   resume are the same code.

mod access;
mod advance;
mod after_limit;
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
mod supply;
mod task;
mod task_change;
mod task_sets;
mod tasks;
mod time_split;
mod tools;
mod totals;
mod unended;
mod units;
mod views;

pub use crate::template::operators::{ChildSlot, EvalPhase, Work};
pub use access::{LimitUse, Problem, ProblemKind};
pub use attempts::Attempts;
pub use calls::CallReuse;
pub use clock::{Reuse, Times};
pub use effect::{Effect, ModelCall};
pub use execution::{
    AppliedSet, Execution, ExecutionPhase, Merge, MergeBy, PersonAnswer, Review, ReviewPhase, RunInput, ToolOutput,
    ToolRun, ToolState, Turn,
};
pub use explain::{Explainer, Why};
pub use failure::{Cause, Failure};
pub use joined::Joined;
pub use ledger::Spent;
pub use limit::Limit;
pub use operators::{
    Caller, EditedTasks, FOR_EACH, ITEMS, NodeInstance, OpState, Operators, Reparse, SPAWN_SUBTASK, SUBTASK_REQUEST,
};
pub use parts::RunPart;
pub use refused::RefusedMove;
pub use reject::Reject;
pub use state::{Stage, State, Stopwatch};
pub use task::{ExecutionStage, Notice, ReferenceCheck, Refined, RemovedBy, TaskPhase, TaskRun};
pub use totals::{CallRecord, Totals};

use crate::events::LogEntry;

/// The state of a run, derived from its log. Each part has private fields and one responsibility.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    setup: setup::Setup,
    clock: clock::Clock,
    progress: progress::Progress,
    follow_ups: follow_ups::FollowUps,
    sheet: sheet::Sheet,
    tasks: tasks::TaskTable,
    /// The task trees of the run.
    operators: Operators,
    gates: gates::Gates,
    changes: changes::ChangeSets,
    calls: calls::Calls,
    in_flight: in_flight::InFlight,
    /// The costs of model calls.
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
    /// The entry does not fit. The run is unchanged.
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

    /// Checks whether `apply` would accept the entry, for a driver that records before it applies.
    ///
    /// # Errors
    /// The entry does not fit.
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

    /// What the driver must do: at most `jobs` pieces of work, then open gates and questions. Units in flight come first,
    /// then new ones in the order of spec 2.6. An effect in flight stays until its result is applied.
    pub fn outstanding(&self) -> Vec<Effect> {
        self.in_flight.pending().cloned().collect()
    }

    /// What the driver must do and has not started.
    pub fn to_begin(&self) -> impl Iterator<Item = &Effect> {
        self.in_flight.to_begin()
    }

    /// A counter of how often an effect in flight may have stopped being outstanding without a result. When it changes,
    /// the driver checks which of the effects that it performs are still outstanding.
    pub fn losses(&self) -> u64 {
        self.in_flight.losses()
    }

    /// Whether the run is the same as if all tasks, and not only the affected ones, had been examined after every entry.
    /// This is always so. Tests and the simulation check it.
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
