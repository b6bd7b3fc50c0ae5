//! What a person does to a run, as data, and what came of it.

use std::collections::BTreeMap;

use callsheet_core::nouns::RunId;
use callsheet_core::record::{AnsweredBy, OrderId};
use callsheet_format::edit::HunkVerdict;
use callsheet_runtime::driver::Undone;
use callsheet_runtime::ports::AskingCall;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::view::Cursor;

/// Ranges of hunk numbers, both ends included.
pub type HunkRanges = Vec<(u32, u32)>;

/// How much of a command a grant covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordCount {
    /// The whole command.
    All,
    /// Its first words, and whatever follows them.
    First(u32),
}

/// What a person does to a run. Empty lists of gates and tasks mean all that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum RunCommand {
    /// Approve what gates ask.
    Approve {
        /// Numbers of the gates that the person saw.
        gates: Vec<u32>,
        /// Names of tasks.
        tasks: Vec<String>,
        /// Also approve all later plans of the run, but no change of files.
        later: bool,
        /// Also allow commands like these from now on.
        always: Option<WordCount>,
    },
    /// Approve some hunks of a change.
    Keep {
        /// Numbers of the gates that the person saw.
        gates: Vec<u32>,
        /// Names of tasks.
        tasks: Vec<String>,
        /// Hunks to keep; `None`: all.
        hunks: Option<HunkRanges>,
        /// Edited texts of hunks by number. A text that is unchanged is no edit.
        edits: BTreeMap<u32, String>,
        /// Why the other hunks are rejected; may be empty.
        because: String,
    },
    /// Deny what gates ask.
    Deny {
        /// Numbers of the gates that the person saw.
        gates: Vec<u32>,
        /// Names of tasks.
        tasks: Vec<String>,
        /// Why; may be empty.
        because: String,
    },
    /// Answer a question that a task asks.
    Reply {
        /// The question.
        to: AskingCall,
        /// The answer, verbatim.
        text: String,
    },
    /// Have tasks done again that ended, with what reads their results; all that failed if none is named.
    Retry {
        /// Names of tasks.
        tasks: Vec<String>,
        /// Also if changes of what is done again stand in files: they stay.
        keep_changes: bool,
    },
    /// Take tasks off the plan.
    Remove {
        /// Names of tasks.
        tasks: Vec<String>,
    },
    /// Raise limits: all, or none if one is not higher.
    Raise {
        /// New bounds by the names of the limits, in the unit of each.
        limits: Vec<(String, f64)>,
    },
    /// Write an edit of the run's plan file, as an editor would.
    Edit {
        /// The text that the person began with.
        seen: String,
        /// The edited text.
        text: String,
    },
    /// Stop the run.
    Stop,
    /// Take changes of the run back.
    Undo {
        /// Names of the tasks whose changes these are; empty: all.
        tasks: Vec<String>,
    },
}

impl RunCommand {
    /// Keeps the hunks of a change that these verdicts do not refuse, as they are or as they were edited.
    pub fn keep(gate: u32, verdicts: &BTreeMap<u32, HunkVerdict>, because: String) -> Self {
        let kept = verdicts.iter().filter(|(_, verdict)| **verdict != HunkVerdict::Refuse);
        let hunks = Some(kept.map(|(number, _)| (*number, *number)).collect());
        let edit = |(number, verdict): (&u32, &HunkVerdict)| match verdict {
            HunkVerdict::Edited(text) => Some((*number, text.clone())),
            _ => None,
        };
        let edits = verdicts.iter().filter_map(edit).collect();
        Self::Keep { gates: vec![gate], tasks: Vec::new(), hunks, edits, because }
    }
}

/// A command, and who gives it. An order may be given again, as by a page that lost its connection: it has one effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Where the person is.
    pub by: AnsweredBy,
    /// Unlike the key of any other order; the same when this order is given again.
    pub key: String,
    /// How much of the log the person had seen when they decided; `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Cursor>,
    /// What to do.
    #[serde(flatten)]
    pub command: RunCommand,
}

impl Order {
    /// An order that was not given before.
    ///
    /// # Errors
    /// The system has no random bytes for its key.
    pub fn new(by: AnsweredBy, command: RunCommand) -> Result<Self, Refusal> {
        Ok(Self { by, key: new_key()?, revision: None, command })
    }

    /// The name of its message of this number, from 0.
    pub(crate) fn id(&self, message: usize) -> OrderId {
        OrderId { by: self.by, key: format!("{}/{message}", self.key) }
    }

    /// Whether a message belongs to it.
    pub(crate) fn owns(&self, id: &OrderId) -> bool {
        id.key.rsplit_once('/').is_some_and(|(key, _)| key == self.key)
    }
}

/// A key that no order has.
///
/// # Errors
/// The system has no random bytes.
pub fn new_key() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::internal(format!("the system gives no random bytes: {error}"), ""))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// When a command takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// The named process drives the run and has it at once.
    Sent {
        /// Process id and host.
        owner: String,
    },
    /// It counts when the run resumes.
    Saved,
    /// It is done.
    Done,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The run.
    pub run: RunId,
    /// What was left or done, in a few words: `the answer`, `2 answers`.
    pub what: String,
    /// When it takes effect.
    pub arrival: Arrival,
    /// What else the person should know, a line each.
    pub notes: Vec<String>,
    /// What `undo` took back.
    pub undone: Option<Undone>,
}

impl Receipt {
    pub(crate) fn new(run: &RunId, what: impl Into<String>, owner: Option<&String>) -> Self {
        let arrival = owner.map_or(Arrival::Saved, |owner| Arrival::Sent { owner: owner.clone() });
        Self { run: run.clone(), what: what.into(), arrival, notes: Vec::new(), undone: None }
    }

    pub(crate) fn done(run: &RunId, what: impl Into<String>) -> Self {
        Self { run: run.clone(), what: what.into(), arrival: Arrival::Done, notes: Vec::new(), undone: None }
    }

    /// Whether a process drives the run.
    pub fn is_sent(&self) -> bool {
        matches!(self.arrival, Arrival::Sent { .. })
    }

    /// What happened, in one sentence without its full stop.
    pub fn words(&self) -> String {
        let Self { what, run, arrival, .. } = self;
        match arrival {
            Arrival::Sent { owner } => format!("sent {what} to {run} ({owner})"),
            Arrival::Saved => format!("saved {what} for {run}; it counts when the run resumes"),
            Arrival::Done => what.clone(),
        }
    }
}
