//! States of a task (spec 2.10) and stages of a run (spec 2.4).

use serde::{Deserialize, Serialize};

use crate::record::Outcome;

/// Where a task stands. Ended states are `Done`, `Failed`, `Blocked`, `Denied`, `Cancelled` and `Dropped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Accepted, nothing started.
    Planned,
    /// A referenced output does not exist yet.
    Waiting,
    /// Refinement calls in progress.
    Refining,
    /// Waits for its step, a unit or approval.
    Ready,
    /// Execution runs, merge, change validation and apply.
    Running,
    /// Result stored; final.
    Done,
    /// Ended without output.
    Failed,
    /// A task it reads from ended without output.
    Blocked,
    /// A person refused it.
    Denied,
    /// Stopped by cancellation.
    Cancelled,
    /// Removed from the list.
    Dropped,
}

impl State {
    /// Every state, in the order of the table.
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

    /// The table of spec 2.10: whether a task may go from this state to `to`. Everything else is a defect.
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

    /// The same in a run at which nothing works.
    pub fn at_rest(self) -> Self {
        match self {
            Self::Refining => Self::Planned,
            Self::Running => Self::Ready,
            other => other,
        }
    }

    /// It counts as ended for its step (spec 2.6).
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Blocked | Self::Denied | Self::Cancelled | Self::Dropped)
    }

    /// It ended, and there is nothing to read from it: readers of it are blocked (spec 2.9).
    pub fn is_without_output(self) -> bool {
        self.is_ended() && self != Self::Done
    }

    /// The iteration must hear of it (spec 2.9).
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Failed | Self::Blocked | Self::Denied)
    }

    /// The word used in views and logs.
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

/// What a run as a whole is doing. One stage at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// No fact yet.
    #[default]
    Empty,
    /// The plan call and its retries (spec 2.3).
    Prepare,
    /// The host's list, read from a sheet or built from a skill, follows as the next fact.
    AwaitList,
    /// A pass over the steps of the list (spec 2.6-2.9).
    Pass,
    /// A task tree goes its way (spec "Templates" 8).
    Operate,
    /// The iteration call and its retries (spec 2.11).
    Iterate,
    /// The call that makes a list of a follow-up, and its retries (spec 2.17).
    Continue,
    /// The call that answers the request from several results; what the run then ends with (spec 2.15).
    Join(Outcome),
    /// The report is outstanding.
    Conclude(Outcome),
    /// The report is written.
    Concluded(Outcome),
}

impl Stage {
    /// Tasks run, and people may be asked.
    pub fn is_working(self) -> bool {
        matches!(self, Self::Pass | Self::Operate)
    }
}

/// A clock that is driven by the times of facts: it counts while something is in flight, so time in which only a
/// person is awaited is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopwatch {
    spent_ms: u64,
    since: Option<u64>,
}

impl Stopwatch {
    /// Runs or stands from `now` on.
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

    /// Milliseconds counted up to `now`.
    pub fn spent_ms(&self, now: u64) -> u64 {
        self.spent_ms.saturating_add(self.since.map_or(0, |since| now.saturating_sub(since)))
    }
}
