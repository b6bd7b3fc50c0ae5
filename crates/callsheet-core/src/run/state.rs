//! States of a task (spec 2.10) and stages of a run (spec 2.4).

use serde::{Deserialize, Serialize};

use crate::record::Outcome;

/// The state of a task. `Done`, `Failed`, `Blocked`, `Denied`, `Cancelled` and `Dropped` are ended states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is accepted, and nothing has started.
    Planned,
    /// It waits for an output that it reads and that does not exist yet.
    Waiting,
    /// Its refinement calls are in progress.
    Refining,
    /// It waits for its step, a slot or approval.
    Ready,
    /// Its executions, merge, change validation or apply is in progress.
    Running,
    /// Its result is stored and final.
    Done,
    /// It ended without output.
    Failed,
    /// A task that it reads from ended without output.
    Blocked,
    /// A person denied it.
    Denied,
    /// It was cancelled.
    Cancelled,
    /// It was removed from the list.
    Dropped,
}

impl State {
    /// All states, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Planned,
        Self::Waiting,
        Self::Refining,
        Self::Ready,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Blocked,
        Self::Denied,
        Self::Cancelled,
        Self::Dropped,
    ];

    /// Whether a task may go from this state to `to` by the table of spec 2.10. Any other move is a defect.
    pub fn may_become(self, to: Self) -> bool {
        use State::{Blocked, Cancelled, Denied, Done, Dropped, Failed, Planned, Ready, Refining, Running, Waiting};
        match self {
            Planned => matches!(to, Waiting | Refining | Ready | Failed | Denied | Blocked | Dropped | Cancelled),
            Waiting => matches!(to, Refining | Ready | Planned | Failed | Denied | Blocked | Dropped | Cancelled),
            Refining => matches!(to, Ready | Planned | Failed | Denied | Blocked | Dropped | Cancelled),
            Ready => matches!(to, Running | Refining | Planned | Failed | Denied | Blocked | Dropped | Cancelled),
            Running => matches!(to, Done | Failed | Denied | Ready | Refining | Cancelled),
            Failed | Blocked | Denied => matches!(to, Planned | Dropped),
            Cancelled | Dropped => to == Planned,
            Done => false,
        }
    }

    /// The state that a task has while no process works on the run.
    pub fn at_rest(self) -> Self {
        match self {
            Self::Refining => Self::Planned,
            Self::Running => Self::Ready,
            other => other,
        }
    }

    /// Whether the task counts as ended for its step (spec 2.6).
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Blocked | Self::Denied | Self::Cancelled | Self::Dropped)
    }

    /// Whether the task ended without an output, so that its readers are blocked (spec 2.9).
    pub fn is_without_output(self) -> bool {
        self.is_ended() && self != Self::Done
    }

    /// Whether the iteration must be told (spec 2.9).
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Failed | Self::Blocked | Self::Denied)
    }

    /// The word for views and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Waiting => "waiting",
            Self::Refining => "refining",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Dropped => "dropped",
        }
    }
}

/// What a run as a whole is doing. A run has one stage at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// No event is recorded yet.
    #[default]
    Empty,
    /// The plan call and its retries (spec 2.3).
    Prepare,
    /// The run waits for the event with the host's list, which was read from a sheet or built from a skill.
    AwaitList,
    /// A pass over the steps of the list (spec 2.6-2.9).
    Pass,
    /// A task tree is executed (spec "Templates" 8).
    Operate,
    /// The iteration call and its retries (spec 2.11).
    Iterate,
    /// The call that makes a list from a follow-up, and its retries (spec 2.17).
    Continue,
    /// The call that answers the request from several results. The run then ends with this outcome (spec 2.15).
    Join(Outcome),
    /// The report is outstanding.
    Conclude(Outcome),
    /// The report is written.
    Concluded(Outcome),
}

impl Stage {
    /// Whether tasks run and people may be asked.
    pub fn is_working(self) -> bool {
        matches!(self, Self::Pass | Self::Operate)
    }
}

/// A clock driven by the times of events. It runs only while something is in flight, so it does not count time in
/// which only a person is awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopwatch {
    spent_ms: u64,
    since: Option<u64>,
}

impl Stopwatch {
    /// Starts or stops the clock at `now`.
    pub(super) fn set(&mut self, running: bool, now: u64) {
        match (running, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(since)) => {
                self.spent_ms = self.spent_ms.saturating_add(now.saturating_sub(since));
                self.since = None;
            }
            _ => {}
        }
    }

    /// The milliseconds counted up to `now`.
    pub fn spent_ms(&self, now: u64) -> u64 {
        self.spent_ms.saturating_add(self.since.map_or(0, |since| now.saturating_sub(since)))
    }
}
