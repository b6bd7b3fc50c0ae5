//! The run as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::nouns::{Goals, RunId, Settings, Slug};
use callsheet_core::record::{Outcome, Tree};
use callsheet_core::run::{Limit, Run, Stage};

/// What a face shows of a run without its tasks.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// The name of the run. `None` if nothing is recorded yet.
    pub id: Option<&'a RunId>,
    /// The request, verbatim.
    pub prompt: &'a str,
    /// Accepted follow-ups, verbatim, in order.
    pub follow_ups: &'a [String],
    /// The follow-up that has no list yet.
    pub pending_follow_up: Option<&'a str>,
    /// Whether that follow-up waits until nothing else is left to do.
    pub follow_up_waits: bool,
    /// Goals of the latest list.
    pub goals: &'a Goals,
    /// What the latest list reply said about the tasks, for the person only.
    pub remarks: &'a [String],
    /// Settings in force.
    pub settings: &'a Settings,
    /// Whether a list was accepted.
    pub has_list: bool,
    /// The template that it runs. `None` if it works on a list.
    pub tree: Option<&'a Arc<Tree>>,
    /// The tasks that do not start until errors in the edited sheet are fixed. `None` if there are no errors.
    pub held_by_edit: Option<&'a BTreeSet<Slug>>,
    /// What it is doing.
    pub stage: Stage,
    /// How it ended, or why it waits.
    pub outcome: Option<Outcome>,
    /// The limit that ended it.
    pub ended_by: Option<Limit>,
    /// The message for a person that goes with the outcome.
    pub message: Option<&'a str>,
    /// The time of the last entry, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Milliseconds in which work was in flight.
    pub busy_ms: u64,
}

impl<'a> About<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        Self {
            id: run.id(),
            prompt: run.prompt(),
            follow_ups: run.follow_ups(),
            pending_follow_up: run.pending_follow_up(),
            follow_up_waits: run.follow_up_waits(),
            goals: run.goals(),
            remarks: run.remarks(),
            settings: run.settings(),
            has_list: run.has_list(),
            tree: run.operators().tree(),
            held_by_edit: run.held_by_edit(),
            stage: run.stage(),
            outcome: run.outcome(),
            ended_by: run.ended_by(),
            message: run.message(),
            now_ms: run.now_ms(),
            busy_ms: run.busy_ms(),
        }
    }
}
