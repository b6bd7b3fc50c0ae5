//! What the parts of a cluster say to each other, as JSON. Every type here is a message that an older or newer process
//! may have written: fields are only added, each with a default.

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::RunId;
use callsheet_core::record::EffectKey;
use callsheet_runtime::driver::{Begun, Returned};
use callsheet_runtime::ports::{Posted, RunSummary};
use serde::{Deserialize, Serialize};

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
    /// Whether a run that rests goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
}

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
    /// The run in the list of runs, if that changed.
    pub summary: Option<RunSummary>,
}

/// An effect to perform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The run.
    pub run: RunId,
    /// The effect.
    pub effect: EffectKey,
    /// The number of the entry that recorded its start.
    pub attempt: u64,
    /// Whether it must not be performed again.
    pub once: bool,
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
