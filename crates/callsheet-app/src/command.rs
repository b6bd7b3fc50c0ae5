//! Commands from people to runs, as data, and their outcomes.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::nouns::RunId;
use callsheet_core::record::{AnsweredBy, OrderId};
use callsheet_format::edit::HunkVerdict;
use callsheet_runtime::driver::Undone;
use callsheet_runtime::ports::AskingCall;
use serde::{Deserialize, Serialize};

use crate::advice::Advice;
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
    /// Its first words, followed by anything.
    First(u32),
}

/// A command to a run. An empty list of gates or tasks means all that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum RunCommand {
    /// Approve what gates ask about.
    Approve {
        /// The numbers of the gates that the person saw.
        gates: Vec<u32>,
        /// The names of tasks.
        tasks: Vec<String>,
        /// Whether to approve all later plans of the run, too. This approves no changes of files.
        later: bool,
        /// Also allow commands like these from now on.
        always: Option<WordCount>,
    },
    /// Keep some hunks of a change.
    Keep {
        /// The numbers of the gates that the person saw.
        gates: Vec<u32>,
        /// The names of tasks.
        tasks: Vec<String>,
        /// The hunks to keep. `None` keeps all.
        hunks: Option<HunkRanges>,
        /// The edited texts of hunks by number. An unchanged text does not count as an edit.
        edits: BTreeMap<u32, String>,
        /// Why the other hunks are rejected. May be empty.
        because: String,
    },
    /// Deny what gates ask about.
    Deny {
        /// The numbers of the gates that the person saw.
        gates: Vec<u32>,
        /// The names of tasks.
        tasks: Vec<String>,
        /// The reason. May be empty.
        because: String,
    },
    /// Answer a question that a task asks.
    Reply {
        /// The question.
        to: AskingCall,
        /// The answer, verbatim.
        text: String,
    },
    /// Repeat ended tasks and the tasks that read their results. Without names, repeat all failed tasks.
    Retry {
        /// The names of tasks.
        tasks: Vec<String>,
        /// Whether to repeat tasks even if files contain their changes. The changes then stay.
        keep_changes: bool,
        /// What was wrong with their results, for their prompts. May be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },
    /// Remove tasks from the plan.
    Remove {
        /// The names of tasks.
        tasks: Vec<String>,
    },
    /// Raise limits. If one new bound is not higher, no limit is raised.
    Raise {
        /// The new bounds by the names of the limits, in the unit of each limit.
        limits: Vec<(String, f64)>,
    },
    /// Write an edit to the run's plan file, as an editor would.
    Edit {
        /// The text that the person started from.
        seen: String,
        /// The edited text.
        text: String,
    },
    /// Stop the run.
    Stop,
    /// Revert changes of the run.
    Undo {
        /// The names of the tasks whose changes are reverted. Empty means all tasks.
        tasks: Vec<String>,
    },
}

impl RunCommand {
    /// The command that keeps the hunks of a change that these verdicts do not refuse, unchanged or edited.
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

/// A command and who gives it. An order may be sent again, for example by a page that lost its connection. It still
/// takes effect only once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Where the person is.
    pub by: AnsweredBy,
    /// The key of the order. Different orders have different keys. An order that is sent again has the same key.
    pub key: String,
    /// How much of the log the person had seen when they decided. `None` means all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Cursor>,
    /// The command.
    #[serde(flatten)]
    pub command: RunCommand,
}

impl Order {
    /// A new order.
    ///
    /// # Errors
    /// The system cannot provide random bytes for the key.
    pub fn new(by: AnsweredBy, command: RunCommand) -> Result<Self, Refusal> {
        Ok(Self { by, key: new_key()?, revision: None, command })
    }

    /// The id of the message with this number, from 0.
    pub(crate) fn id(&self, message: usize) -> OrderId {
        OrderId { by: self.by.clone(), key: format!("{}/{message}", self.key) }
    }

    /// Whether a message belongs to this order.
    pub(crate) fn owns(&self, id: &OrderId) -> bool {
        id.key.rsplit_once('/').is_some_and(|(key, _)| key == self.key)
    }
}

/// A new key, which no other order has.
///
/// # Errors
/// The system cannot provide random bytes.
pub fn new_key() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::internal(format!("the system cannot provide random bytes: {error}"), ""))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// When a command takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// The named process drives the run and gets the command at once.
    Sent {
        /// The process id and the host.
        owner: String,
    },
    /// That process has recorded its effect.
    Recorded,
    /// When the run is resumed.
    Saved,
    /// It is done.
    Done,
}

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The run.
    pub run: RunId,
    /// What was sent or done, in a few words: `the answer`, `2 answers`.
    pub what: String,
    /// When the command takes effect.
    pub arrival: Arrival,
    /// Further notes for the person, perhaps with commands.
    pub notes: Advice,
    /// The changes that `undo` reverted.
    pub undone: Option<Undone>,
    /// What an answer is about.
    pub answers: Option<AnswerTo>,
}

/// What a person was asked when they answered. [`Awaited`](crate::Awaited) finds out whether the answer took effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTo {
    /// The end of the log at that time.
    pub seen: Cursor,
    /// The numbers of the gates.
    pub gates: BTreeSet<u32>,
    /// The question of a task.
    pub question: Option<AskingCall>,
}

impl Receipt {
    pub(crate) fn new(run: &RunId, what: impl Into<String>, owner: Option<&String>) -> Self {
        let arrival = owner.map_or(Arrival::Saved, |owner| Arrival::Sent { owner: owner.clone() });
        Self { run: run.clone(), what: what.into(), arrival, notes: Advice::default(), undone: None, answers: None }
    }

    pub(crate) fn done(run: &RunId, what: impl Into<String>) -> Self {
        Self { arrival: Arrival::Done, ..Self::new(run, what, None) }
    }

    /// Whether a process that drives the run gets the command at once.
    pub fn is_sent(&self) -> bool {
        matches!(self.arrival, Arrival::Sent { .. } | Arrival::Recorded)
    }

    /// What happened, as a sentence without a full stop.
    pub fn words(&self) -> String {
        let Self { what, run, arrival, .. } = self;
        match arrival {
            Arrival::Sent { owner } => format!("sent {what} to {run} ({owner})"),
            Arrival::Recorded => format!("recorded {what} in {run}"),
            Arrival::Saved => format!("saved {what} for {run}; it takes effect when the run resumes"),
            Arrival::Done => what.clone(),
        }
    }
}
