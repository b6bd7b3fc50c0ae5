//! The durable store: a log of facts a run, blobs by content hash, one writer a run, and an inbox.

use callsheet_core::events::LogEntry;
use callsheet_core::record::{Answer, AnsweredBy, Gate, Outcome};
use callsheet_core::spec::{BlobId, ExecutionId, RunId, Slug};
use serde::{Deserialize, Serialize};

use super::PartAnswer;

/// A message for a run, left by any process. Only the lock's owner turns it into a fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "letter", rename_all = "snake_case")]
pub enum InboxMessage {
    /// An answer to a gate; `None` answers whatever gate is open.
    Answer {
        /// Which asking.
        gate: Option<Gate>,
        /// The answer.
        answer: Answer,
        /// It was said of all that the gate asks about, by name or because nothing else waits: it is no word on the rest
        /// of what waits (spec 11.5).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        named: bool,
        /// Where it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
    },
    /// An answer to a before-apply gate, hunk by hunk (spec 11.4); `None` answers whatever gate is open.
    Part {
        /// Which asking.
        gate: Option<Gate>,
        /// What is kept.
        part: PartAnswer,
        /// Where it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
    },
    /// An answer to the open question of a tool; `None` answers the first.
    Reply {
        /// Verbatim.
        text: String,
        /// Which question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AskingCall>,
    },
    /// Have tasks that ended without output done again (spec 2.18).
    Retry {
        /// Tasks.
        tasks: Vec<Slug>,
    },
    /// Take tasks off the list.
    Drop {
        /// Tasks.
        tasks: Vec<Slug>,
    },
    /// Raise a limit of the run.
    Raise {
        /// The limit, by the name a person sets it by.
        limit: String,
        /// The new bound, in the unit of the limit (seconds for times).
        max: f64,
    },
    /// Stop the run.
    Cancel,
}

/// The call of a tool that asks a person something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskingCall {
    /// Its task.
    pub task: Slug,
    /// The execution of it.
    pub run: ExecutionId,
    /// Name of the call there.
    pub call: String,
}

/// A run as listed.
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
    /// Facts in its log.
    pub facts: u64,
    /// How it ended or why it waits; `None`: it runs, or its process died.
    pub outcome: Option<Outcome>,
    /// US dollars; `None`: the cost of some calls is unknown.
    pub cost_usd: Option<f64>,
    /// The process that writes it now, if one is alive.
    pub owner: Option<String>,
}

/// Why the store refused.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// Another living process writes the run. The text names it.
    #[error("{owner} is running it")]
    Locked {
        /// Process id and host, as a person reads them.
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
    /// It can be looked at, and not changed. The text says why.
    #[error("the store can only be read: {0}")]
    ReadOnly(String),
    /// The lock was lost to another process; this one must stop writing.
    #[error("{owner} has continued the run")]
    LockLost {
        /// Who has it now.
        owner: String,
    },
}

/// Proof of being the only writer of a run; releasing is dropping it through `Store::unlock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Run.
    pub run: RunId,
    /// Random token of this owner.
    pub token: String,
}

/// Append, read, lock, post, and blobs. Calls are short and block; the driver makes them from its own task.
pub trait Store: Send + Sync {
    /// All runs, newest first.
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault>;

    /// Takes the run for writing, creating it if new. A lock of a dead process is taken over.
    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault>;

    /// Gives the run free. Unlocking twice is no error.
    fn unlock(&self, lock: &Lock) -> Result<(), StoreFault>;

    /// Appends facts in one transaction with all staged blobs: all or none. Their numbers continue the log.
    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault>;

    /// Facts with numbers of at least `from`, in order, upgraded to the newest version.
    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault>;

    /// Leaves a message for a run; needs no lock.
    fn post(&self, run: &RunId, message: &InboxMessage) -> Result<(), StoreFault>;

    /// Unread messages, oldest first, each with its number. They stay until `discard`.
    fn messages(&self, lock: &Lock) -> Result<Vec<(u64, InboxMessage)>, StoreFault>;

    /// Whether there are unread messages that can be read; needs no lock.
    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault>;

    /// Removes messages up to a number, once the facts they became are recorded.
    fn discard(&self, lock: &Lock, up_to: u64) -> Result<(), StoreFault>;

    /// Returns once a power cut takes nothing of what was appended and put before.
    fn persist(&self) -> Result<(), StoreFault>;

    /// Stores bytes under their hash; storing the same bytes again costs no room, and repairs them if they were damaged.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault>;

    /// Keeps bytes under their hash for the next [`Store::append`] through this store, which makes them durable in
    /// its transaction: for bytes that the facts of that batch name. [`Store::blob`] gives them at once.
    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId;

    /// The bytes of a hash.
    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault>;
}
