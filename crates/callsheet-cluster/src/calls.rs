//! What the parts of a cluster say to each other, as JSON. Every type here is a message that an older or newer process
//! may have written: fields are only added, each with a default.

use std::collections::BTreeMap;

use callsheet_app::Client;
use callsheet_core::events::{Event, LogEntry};
use callsheet_core::nouns::{BlobId, RunId, Slug};
use callsheet_core::record::EffectKey;
use callsheet_runtime::changes::Written;
use callsheet_runtime::driver::{Begun, Needs, Returned};
use callsheet_runtime::grants::GrantedThing;
use callsheet_runtime::ports::{Answered, Asked, Posted, RunSummary};
use serde::{Deserialize, Serialize};

use crate::limits::OwnSlots;

/// The object of a run. Its key is the name of the run.
pub(crate) const RUN: &str = "CallsheetRun";
/// The object with the list of runs.
pub(crate) const INDEX: &str = "CallsheetRuns";
/// The key of the only list.
pub(crate) const ALL: &str = "all";
/// The service that performs effects.
pub(crate) const WORK: &str = "CallsheetWork";
/// The service that stores texts.
pub(crate) const BLOBS: &str = "CallsheetBlobs";

/// The version of these messages. It grows when an older process would misread one; fields that it may leave out do not count.
pub(crate) const MESSAGES: u32 = 2;

/// What a process understands. Parts of a cluster work together only if it is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Versions {
    /// The version of log entries.
    pub log: u32,
    /// The version of the messages here.
    pub messages: u32,
}

impl Versions {
    /// Those of this process.
    pub const OWN: Self = Self { log: callsheet_core::events::VERSION, messages: MESSAGES };

    /// What a worker with these versions hears. `None` if it may work.
    pub fn refusal(self) -> Option<String> {
        let Self { log, messages } = self;
        (self != Self::OWN).then(|| {
            format!(
                "the cluster and this worker are not the same version of Callsheet (records {} and {log}, messages {MESSAGES} and \
                 {messages}); install the cluster's version here, and start the worker again",
                Self::OWN.log
            )
        })
    }
}

/// What a run has recorded, without the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The number of the last entry.
    pub position: u64,
    /// The number of pages of the log.
    pub pages: u64,
    /// A random name of this state. Two folded runs with one stamp are equal.
    pub stamp: String,
    /// The attempts in flight.
    #[serde(default)]
    pub attempts: Vec<u64>,
    /// Whether it is new and waits to be told to go on.
    #[serde(default)]
    pub rests: bool,
    /// The version of its newest entries.
    #[serde(default)]
    pub log: u32,
}

/// What is given to a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Landing {
    /// The first entries of a new run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<LogEntry>,
    /// Results of effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Returned>,
    /// Messages of people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Posted>,
    /// What somebody asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Whether a new run waits to be told to go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rests: bool,
    /// Who gives it. `None` stands for somebody with the token of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
}

/// What became of what was asked, or why it was not done. `None` if nothing was asked.
pub(crate) type Answer = Option<Result<Answered, String>>;

/// What follows from a landing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Landed {
    /// The new entries.
    pub entries: Vec<LogEntry>,
    /// The effects to perform.
    pub begun: Vec<Begun>,
    /// The attempts in flight.
    pub attempts: Vec<u64>,
    /// The name of the new state.
    pub stamp: String,
    /// Whether it is new and waits to be told to go on.
    #[serde(default)]
    pub rests: bool,
    /// What became of what was asked.
    #[serde(default)]
    pub answer: Answer,
    /// The run in the list of runs, if that changed.
    pub summary: Option<RunSummary>,
}

/// An effect to perform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The run.
    pub run: RunId,
    /// The effect.
    pub effect: EffectKey,
    /// The number of the entry that recorded its start.
    pub attempt: u64,
    /// Whether it must not be performed again.
    pub once: bool,
    /// What a worker must be able to do.
    pub needs: Needs,
}

/// A piece of work: an attempt has its own number within a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Key {
    /// The run.
    pub run: RunId,
    /// The attempt.
    pub attempt: u64,
}

impl Job {
    /// The key of this piece of work.
    pub fn key(&self) -> Key {
        Key { run: self.run.clone(), attempt: self.attempt }
    }

    /// Whether it runs a command, which may change files of the project.
    pub fn is_command(&self) -> bool {
        matches!(self.needs, Needs::Command(_))
    }
}

impl Head {
    /// Whether a run that has recorded this no longer waits for an attempt. A later landing may still record its start.
    pub fn has_left(&self, attempt: u64) -> bool {
        attempt <= self.position && !self.attempts.contains(&attempt)
    }
}

/// A worker's right to a piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lease {
    /// The process of the worker.
    pub process: String,
    /// How often the work was given out, this time included. The result of an earlier time is refused.
    pub number: u32,
}

/// What a worker can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The providers whose models it can ask.
    pub providers: Vec<String>,
    /// The tools that it runs. `None` stands for all.
    pub tools: Option<Vec<String>>,
    /// Whether it changes files of the project.
    pub changes: bool,
    /// Whether it is where the project is. Others get nothing that may have effects there, but for commands.
    #[serde(default)]
    pub here: bool,
    /// Whether it runs commands in a copy of the project. The dispatcher lets only those that have the token for it.
    #[serde(default)]
    pub commands: bool,
    /// How much it does at the same time.
    pub at_once: usize,
}

impl Offer {
    /// Whether it covers what work needs.
    pub(crate) fn covers(&self, job: &Job) -> bool {
        if job.once && !self.here && !(self.commands && job.is_command()) {
            return false;
        }
        match &job.needs {
            Needs::Nothing => true,
            Needs::Provider(name) => self.providers.contains(name),
            Needs::Tool(name) | Needs::Command(name) => self.tools.as_ref().is_none_or(|tools| tools.contains(name)),
            Needs::Changes => self.changes,
        }
    }
}

/// What every version of a worker's question has.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Hello {
    /// What it understands.
    #[serde(default)]
    pub versions: Versions,
}

/// A worker asks for work. It asks again and again, so this also says that it lives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Take {
    /// Its name. Of two processes with one name, the later one stays.
    pub name: String,
    /// Its process.
    pub process: String,
    /// What it can do.
    pub offer: Offer,
    /// The work that it has.
    pub has: Vec<(Key, u32)>,
    /// Its slots of providers.
    #[serde(default)]
    pub slots: OwnSlots,
    /// What it understands.
    #[serde(default)]
    pub versions: Versions,
}

/// What a worker has to do from now on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Work to begin.
    #[serde(default)]
    pub begin: Vec<(Job, u32)>,
    /// Work to drop.
    #[serde(default)]
    pub drop: Vec<Key>,
}

/// How work ended at a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    /// The work.
    pub job: Job,
    /// The right to it.
    pub lease: Lease,
    /// The events of the result, or why there is none.
    pub result: Result<Option<Vec<Event>>, Unperformed>,
}

/// Why work has no result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unperformed {
    /// Whether it may have had effects.
    pub begun: bool,
    /// Why.
    pub why: String,
}

/// Something to allow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// What.
    pub what: GrantedThing,
    /// The only task that may. `None` stands for the project.
    #[serde(default)]
    pub only: Option<(RunId, Slug)>,
}

/// What is read of a part of a log that this process does not understand.
#[derive(Debug, Deserialize)]
pub(crate) struct NewerPages {
    entries: Vec<NewerEntry>,
}

#[derive(Debug, Deserialize)]
struct NewerEntry {
    v: u32,
}

impl NewerPages {
    /// The newest version in it.
    pub fn version(&self) -> u32 {
        self.entries.iter().map(|entry| entry.v).max().unwrap_or_default()
    }
}

/// What shows that a process works for a run: its leases there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The run.
    pub run: RunId,
    /// The process.
    pub process: String,
    /// Attempts, and how often each was given out.
    pub leases: Vec<(u64, u32)>,
}

/// A worker reads the record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReadLog {
    /// Its right to do so.
    pub claim: Claim,
    /// The first page.
    pub from: u64,
}

/// A worker reads a text of a run, or a file of the project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GetText {
    /// Its right to do so.
    pub claim: Claim,
    /// The text.
    pub id: BlobId,
}

/// A worker brings what a command wrote in its copy of the project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bring {
    /// The work.
    pub key: Key,
    /// The right to it.
    pub lease: Lease,
    /// What was written. The contents were given as texts of the run.
    pub written: Written,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Brought {
    /// It is in the project.
    Made,
    /// Nothing of it is, for this reason.
    Refused(String),
    /// Nobody waits for the command any more.
    Late,
}

/// The files of the project at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// The name of its folder.
    pub name: String,
    /// The files, sorted by path.
    pub files: Vec<SnapshotFile>,
    /// What is trusted: hashes by path.
    pub trusted: BTreeMap<String, String>,
}

/// A file of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotFile {
    /// Where it is below the root.
    pub path: String,
    /// Its content.
    pub id: BlobId,
    /// Whether it is a program.
    pub runs: bool,
}

/// A part of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pages {
    /// The state of the run when this was read.
    pub head: Head,
    /// The entries of these pages.
    pub entries: Vec<LogEntry>,
    /// The first page that is missing. `None` if all were read.
    pub next: Option<u64>,
}
