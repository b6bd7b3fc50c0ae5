//! Counts what simulations reach. A mark that no seed reaches shows that the simulated world lacks something.

use std::collections::BTreeMap;
use std::fmt;

use callsheet_core::events::{self, Event};
use callsheet_core::record::{Outcome, Plan};
use callsheet_core::run::{ChildSlot, Limit, Run};
use callsheet_core::template::Kind;

/// Defines the names of an enum's variants, after a prefix, and the name of a value. A new variant does not compile
/// until it is named here.
macro_rules! named {
    ($kind:ident, $name:ident, $all:ident, $before:literal, [$($variant:ident),* $(,)?]) => {
        const $all: &[&str] = &[$(concat!($before, stringify!($variant))),*];

        fn $name(value: &$kind) -> &'static str {
            match value {
                $($kind::$variant { .. } => concat!($before, stringify!($variant)),)*
            }
        }
    };
}

/// What the world does to a run in addition to events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// The process is killed.
    Killed,
    /// The process is killed while folded events are not on disk.
    KilledUnwritten,
    /// A power failure loses the last events.
    TornTail,
    /// A write fails because the disk is full.
    DiskFull,
    /// A write fails and writes nothing.
    WriteRefused,
    /// A write reports an error although it wrote everything.
    WriteUnheard,
    /// Somebody starts a second driver of the run.
    SecondDriver,
    /// Somebody takes over the lock and drives the run while the first driver lives.
    TakenOver,
    /// The first driver wants to record something after that.
    Overtaken,
    /// The clock jumps ahead.
    ClockAhead,
    /// The clock jumps back.
    ClockBack,
    /// A change by a person does not fit the run.
    Misfit,
    /// A result arrives when nobody waits for it any more.
    LateResult,
    /// An event arrives again.
    RepeatedFact,
    /// A call that may not be repeated was interrupted.
    Interrupted,
    /// Nobody is there to answer.
    Absent,
    /// A command ran that nothing restricts to what was approved.
    Unheld,
}

named!(
    Blow,
    of_blow,
    BLOWS,
    "world: ",
    [
        Killed,
        KilledUnwritten,
        TornTail,
        DiskFull,
        WriteRefused,
        WriteUnheard,
        SecondDriver,
        TakenOver,
        Overtaken,
        ClockAhead,
        ClockBack,
        Misfit,
        LateResult,
        RepeatedFact,
        Interrupted,
        Absent,
        Unheld,
    ]
);

named!(
    Limit,
    of_limit,
    LIMITS,
    "limit: ",
    [
        Jobs,
        Parallel,
        Exclusive,
        Attempts,
        MaxRounds,
        MaxCalls,
        MaxTokens,
        MaxCost,
        RunTimeout,
        TaskTimeout,
        TaskCalls,
        TaskTokens,
        MaxTurns,
        RepeatedCalls,
        NoProgress,
        Window,
        Output,
    ]
);

named!(
    Outcome,
    of_outcome,
    OUTCOMES,
    "outcome: ",
    [
        Complete,
        Incomplete,
        MaxRounds,
        Planned,
        PlanFailed,
        IterationFailed,
        ApprovalRequired,
        InputRequired,
        Unreachable,
        Misconfigured,
        LimitReached,
        Cancelled,
        TaskFailed,
        InputInvalid,
    ]
);

const EDIT: &str = "event: list_adopted, an edit";

const PARTS: &[&str] = &[
    "part: handler",
    "part: matching",
    "part: process",
    "part: items",
    "part: branch",
    "part: subtask",
    "part: body",
    "part: children",
];

/// What no simulation reaches, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("outcome: Planned", "a driver stops there that makes a plan alone"),
    ("outcome: InputInvalid", "arguments are bound before a run begins"),
    ("limit: Window", "held where a prompt is put together"),
    ("limit: Output", "held where a reply is received"),
];

fn event_mark(name: &str) -> String {
    format!("event: {name}")
}

/// Marks, each with the number of times that it was reached.
#[derive(Clone, Debug, Default)]
pub struct Marks(BTreeMap<String, u64>);

impl Marks {
    /// All marks that simulations must reach.
    pub fn all() -> Vec<String> {
        let lists = [BLOWS, LIMITS, OUTCOMES, PARTS, &[EDIT]];
        let events = Event::NAMES.iter().map(|name| event_mark(name));
        let words = lists.into_iter().flatten().map(|mark| (*mark).to_owned()).chain(events);
        let kinds = Kind::ALL.iter().map(|kind| format!("operator: {}", kind.word));
        let here = |mark: &String| !ELSEWHERE.iter().any(|(elsewhere, _)| elsewhere == mark);
        words.chain(kinds).filter(here).collect()
    }

    /// The marks that were not reached.
    pub fn missing(&self) -> Vec<String> {
        Self::all().into_iter().filter(|mark| !self.0.contains_key(mark)).collect()
    }

    /// How often a mark was reached.
    pub fn count(&self, mark: &str) -> u64 {
        self.0.get(mark).copied().unwrap_or(0)
    }

    /// Adds the marks of another run.
    pub fn add(&mut self, other: &Self) {
        for (mark, count) in &other.0 {
            *self.0.entry(mark.clone()).or_insert(0) += count;
        }
    }

    pub(crate) fn blow(&mut self, blow: Blow) {
        self.hit(of_blow(&blow));
    }

    /// Counts an event that the run has just applied.
    pub(crate) fn event(&mut self, run: &Run, event: &Event) {
        self.hit(&event_mark(event.name()));
        match event {
            Event::RunResumed(_) => {
                let mut calls = run.all_tasks().flat_map(|task| task.runs.iter().flat_map(|run| &run.calls));
                if calls.any(|call| call.asks_again()) {
                    self.blow(Blow::Interrupted);
                }
            }
            Event::RunConcluded(events::RunConcluded { outcome, .. })
            | Event::RunWaiting(events::RunWaiting { outcome }) => self.hit(of_outcome(outcome)),
            Event::ListAdopted(events::ListAdopted { origin: callsheet_core::events::ListOrigin::Edit(_), .. }) => {
                self.hit(EDIT)
            }
            _ => {}
        }
    }

    /// Counts what can be seen in a run at its end.
    pub(crate) fn end(&mut self, run: &Run) {
        run.limits_reached().for_each(|limit| self.hit(of_limit(&limit)));
        let calls = || run.all_tasks().flat_map(|task| task.runs.iter().flat_map(|run| &run.calls));
        if calls().any(|call| call.output().is_some() && run.policy(&call.call.name).unheld) {
            self.blow(Blow::Unheld);
        }
        for op in run.operators().iter() {
            if let Some(node) = run.operators().node(op) {
                self.hit(&format!("operator: {}", node.kind.word()));
            }
            if let Some(opened) = &op.opened {
                self.hit(part(&opened.plan, &op.place));
            }
        }
    }

    fn hit(&mut self, mark: &str) {
        match self.0.get_mut(mark) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(mark.to_owned(), 1)),
        }
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::all().iter().try_for_each(|mark| writeln!(f, "{:>12}  {mark}", self.count(mark)))
    }
}

fn part(plan: &Plan, place: &ChildSlot) -> &'static str {
    match plan {
        Plan::Handler(_) if *place == ChildSlot::Match => "part: matching",
        Plan::Handler(_) => "part: handler",
        Plan::Process { .. } => "part: process",
        Plan::Items { .. } => "part: items",
        Plan::Branch { .. } => "part: branch",
        Plan::Children if place.is_subtask() => "part: subtask",
        Plan::Children if *place == ChildSlot::Body => "part: body",
        Plan::Children => "part: children",
    }
}
