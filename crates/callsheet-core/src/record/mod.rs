//! The log: one entry a line, numbered, dated. It is what `run` folds.

mod answered;
mod blobs;
mod event;
mod list;
mod operators;
mod parts;
mod stop;

pub use answered::AnsweredBy;
pub use event::{Event, ListOrigin};
pub use operators::{Closed, HandlerPlan, Opened, Plan, Retrieval, Served, Step, SubtaskTool, Tree};

pub use list::{Beside, ListAdopted, PlannedTask, Removal};
pub use parts::{
    Answer, Apart, CallFault, CallKey, CallNo, CallSizes, ChangeSet, CheckEnd, CheckReport, DetailBlob, EffectKey,
    Entry, FileChange, Gate, GateKind, Outcome, PromptFile, ReferenceStage, RefusedPart, ResultParts, ToolPolicy,
    ToolRecord, Usage, Verdict,
};
pub use stop::StopReason;

use serde::{Deserialize, Serialize};

/// The record version written by this build.
pub const VERSION: u32 = 1;

/// One recorded fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Record version.
    pub v: u32,
    /// Position in the log of its run, from 1.
    pub n: u64,
    /// Milliseconds since the Unix epoch, by the shell's clock; never decreasing inside a run.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}
