//! The durable store: one log of facts per run, blobs by content hash, one writer per run, and an inbox.

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, ExecutionId, RunId, Slug};
use callsheet_core::record::{Answer, AnsweredBy, Gate, OrderId, Outcome};
use serde::{Deserialize, Serialize};

use super::{Hosting, PartAnswer};

/// A message for a run, and the order that it was left for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Posted {
    /// The order. A second message of the same key has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderId>,
    /// The message.
    #[serde(flatten)]
    pub message: InboxMessage,
}

impl From<InboxMessage> for Posted {
    fn from(message: InboxMessage) -> Self {
        Self { order: None, message }
    }
}

/// A message for a run, left by any process. Only the owner of the lock turns it into a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum InboxMessage {
    /// An answer to a gate. `None` answers whichever gate is open.
    Answer {
        /// Which asking.
        gate: Option<Gate>,
        /// The answer.
        answer: Answer,
        /// Whether the answer names everything that the gate asks about, or nothing else waited. It then does not
        /// decide anything else that waits (spec 11.5).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        named: bool,
        /// Where the answer was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
    },
    /// An answer to a before-apply gate with verdicts on single hunks (spec 11.4). `None` answers whichever gate is
    /// open.
    Part {
        /// Which asking.
        gate: Option<Gate>,
        /// What is kept.
        part: PartAnswer,
        /// Where the answer was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
    },
    /// An answer to the open question of a tool. `None` answers the first one.
    Reply {
        /// The answer, verbatim.
        text: String,
        /// Which question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AskingCall>,
    },
    /// Run tasks again that ended without output (spec 2.18).
    Retry {
        /// Tasks to run again.
        tasks: Vec<Slug>,
        /// What was wrong with their results. May be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },
    /// Remove tasks from the list.
    Drop {
        /// Tasks.
        tasks: Vec<Slug>,
    },
    /// Raise a limit of the run.
    Raise {
        /// The limit, by the name of its setting.
        limit: String,
        /// The new limit, in its unit (seconds for times).
        max: f64,
    },
    /// A sheet that a person edited. A run of this machine reads it from its file instead.
    Edit {
        /// The whole text.
        text: String,
    },
    /// Stop the run.
    Cancel,
}

impl InboxMessage {
    /// The gate that it answers, if it names one.
    pub fn gate(&self) -> Option<&Gate> {
        match self {
            Self::Answer { gate, .. } | Self::Part { gate, .. } => gate.as_ref(),
            _ => None,
        }
    }
}

/// A tool call that asks a person something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskingCall {
    /// Its task.
    pub task: Slug,
    /// The execution that makes the call.
    pub run: ExecutionId,
    /// Name of the call within the execution.
    pub call: String,
}

/// A run in the list of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Name.
    pub run: RunId,
    /// First line of its request.
    pub request: String,
    /// When it started, milliseconds since the Unix epoch.
    pub started_at: u64,
    /// When its last fact was recorded.
    pub changed_at: u64,
    /// Number of facts in its log.
    pub facts: u64,
    /// How it ended or why it waits. `None` if it is running, or its process died.
    pub outcome: Option<Outcome>,
    /// US dollars. `None` if the cost of some calls is unknown.
    pub cost_usd: Option<f64>,
    /// The process that writes it now, if one is alive.
    pub owner: Option<String>,
}

/// Why the store refused.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// Another living process writes the run.
    #[error("{owner} is running it")]
    Locked {
        /// Process id and host, for people.
        owner: String,
    },
    /// No such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// No such blob.
    #[error("there is no blob {0}")]
    NoBlob(BlobId),
    /// The disk is full or a size limit was reached. Nothing was recorded.
    #[error("no space left: {0}")]
    Full(String),
    /// The log was written by a newer Callsheet.
    #[error("the record has version {found}, but this build reads versions up to {known}")]
    TooNew {
        /// Version found.
        found: u32,
        /// Newest version known.
        known: u32,
    },
    /// The file is damaged or cannot be opened.
    #[error("can't use the store: {0}")]
    Broken(String),
    /// The store is on another machine, which does not respond or refused. The text says which.
    #[error("{0}")]
    Remote(String),
    /// The store can be read but not changed, for the reason in the text.
    #[error("the store can only be read: {0}")]
    ReadOnly(String),
    /// The engine that drives the run did not do what was asked, for the reason in the text.
    #[error("{0}")]
    Refused(String),
    /// Another process has taken the lock; this one must stop writing.
    #[error("{owner} has continued the run")]
    LockLost {
        /// Who has the lock now.
        owner: String,
    },
}

/// Proves that its holder is the only writer of a run. `Store::unlock` releases it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Run.
    pub run: RunId,
    /// Random token of this owner.
    pub token: String,
}

/// Facts, locks, messages and blobs. Calls are short and block; the driver makes them from its own task.
pub trait Store: Send + Sync {
    /// All runs, newest first.
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault>;

    /// Takes the lock of the run for writing, and creates a new run. The lock of a dead process is taken over.
    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault>;

    /// Releases the run. Unlocking twice is no error.
    fn unlock(&self, lock: &Lock) -> Result<(), StoreFault>;

    /// Appends facts in one transaction with all staged blobs, completely or not at all. Their numbers continue the
    /// log.
    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault>;

    /// Facts with numbers from `from` on, in order, upgraded to the newest version.
    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault>;

    /// The first of these facts, so that they can be folded while the next ones are read. Fewer than `most` means that
    /// there were no more.
    fn read_page(&self, run: &RunId, from: u64, most: usize) -> Result<Vec<LogEntry>, StoreFault> {
        let _ = most;
        self.read(run, from)
    }

    /// Leaves a message for a run. Needs no lock.
    fn post(&self, run: &RunId, message: &Posted) -> Result<(), StoreFault>;

    /// Unread messages with their numbers, oldest first. They stay until `discard`.
    fn messages(&self, lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault>;

    /// Whether there are unread, readable messages. Needs no lock.
    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault>;

    /// Removes messages up to a number, after their facts are recorded.
    fn discard(&self, lock: &Lock, up_to: u64) -> Result<(), StoreFault>;

    /// Returns when a power cut can no longer take anything that was appended and put before.
    fn persist(&self) -> Result<(), StoreFault>;

    /// Stores bytes under their hash. Storing the same bytes again takes no space, and repairs them if they were
    /// damaged.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault>;

    /// Stages bytes for the next [`Store::append`] through this store, which makes them durable in its transaction. For
    /// bytes that the facts of that batch name. [`Store::blob`] returns them at once.
    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId;

    /// The bytes of a hash.
    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault>;

    /// The engine that drives the runs of this store. `None` if processes drive them under their locks.
    fn hosting(&self) -> Option<&dyn Hosting> {
        None
    }
}
