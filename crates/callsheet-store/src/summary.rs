//! The data of the list of runs, updated with each appended fact.

use callsheet_core::events::{self, Event, LogEntry, VERSION};
use callsheet_core::nouns::RunId;
use callsheet_core::record::Outcome;
use callsheet_runtime::ports::StoreFault;

/// The columns of a run that facts change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    pub request: String,
    pub started_at: u64,
    pub changed_at: u64,
    pub facts: u64,
    pub outcome: Option<Outcome>,
    pub cost_usd: Option<f64>,
}

impl Columns {
    /// Updates the columns with one appended fact. Refuses it if its number does not continue the log or its version is
    /// not ours.
    pub(crate) fn note(&mut self, run: &RunId, fact: &LogEntry) -> Result<(), StoreFault> {
        if fact.v != VERSION {
            return Err(StoreFault::TooNew { found: fact.v, known: VERSION });
        }
        if self.facts.checked_add(1) != Some(fact.n) {
            return Err(StoreFault::Broken(format!(
                "fact {} does not continue the log of {run}, which ends at {}; this is a defect of the writer, nothing \
                 was recorded",
                fact.n, self.facts
            )));
        }
        self.facts = fact.n;
        self.changed_at = fact.at;
        match &fact.event {
            Event::RunStarted(events::RunStarted { entry, .. }) => {
                self.started_at = fact.at;
                self.outcome = None;
                self.cost_usd = Some(0.0);
                self.request = first_line(entry.prompt()).to_owned();
            }
            Event::RunResumed(_) | Event::RunContinued(_) => self.outcome = None,
            Event::RunWaiting(events::RunWaiting { outcome })
            | Event::RunConcluded(events::RunConcluded { outcome, .. })
            | Event::FollowUpWithdrawn(events::FollowUpWithdrawn { outcome }) => self.outcome = Some(*outcome),
            Event::ReplyReceived(events::ReplyReceived { usage, .. }) => {
                self.cost_usd = self.cost_usd.zip(usage.cost_usd).map(|(sum, cost)| sum + cost);
            }
            _ => {}
        }
        Ok(())
    }
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}
