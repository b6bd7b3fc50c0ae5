//! What gates and questions show, and whether somebody is there to answer. Answers come through the inbox.

use async_trait::async_trait;
use callsheet_core::record::{CheckEnd, Gate};
use callsheet_core::spec::{Slug, Task, ToolCall};
use callsheet_format::edit::{Hunk, HunkPick};
use serde::{Deserialize, Serialize};

/// A pending writer as the before-run gate shows it (spec 11.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriterView {
    /// The task as refined so far.
    pub task: Task,
    /// Its step, from 1.
    pub step: u32,
    /// Skill with source, and a notice if it replaces another.
    pub skill: String,
    /// Why it is a writer.
    pub reason: String,
    /// Model that will run it.
    pub model: String,
    /// It is refined already, or need not be.
    pub refined: bool,
    /// A model refined it.
    #[serde(default)]
    pub by_model: bool,
}

/// A check of changes, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckView {
    /// Its name.
    pub name: String,
    /// How it came out.
    pub end: CheckEnd,
    /// What the command printed, or why it did not start.
    pub output: String,
}

/// What a person is told of a call that nothing holds to what they approve.
pub const UNHELD: &str = "this machine cannot keep a command from changing other files or using the network";

/// What a gate shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateView {
    /// Which asking.
    pub gate: Gate,
    /// Pending writers, for before-run.
    pub writers: Vec<WriterView>,
    /// The whole sheet as Markdown, for before-run.
    pub plan: String,
    /// Task of a before-apply or before-call gate.
    pub task: Option<Slug>,
    /// Unified diff, for before-apply.
    pub diff: String,
    /// The hunks of the diff, numbered, for before-apply (spec 11.4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
    /// The check of the changes, if they have one (spec 10.10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckView>,
    /// The call, for before-call.
    pub call: Option<ToolCall>,
    /// The call was made before, and its process was killed before it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Nothing on this machine holds the call to what is approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheld: bool,
    /// Calls that are asked about with it: of the same tool, by the same node of a template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<EqualCall>,
    /// Directory a call would run in.
    pub directory: Option<String>,
}

/// A call that is asked about with another one, and waits at a gate of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EqualCall {
    /// Its gate.
    pub gate: Gate,
    /// The task that makes it.
    pub task: Slug,
    /// The call.
    pub call: ToolCall,
}

/// What a person says of the hunks of a change set (spec 11.4). A hunk that is not named is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAnswer {
    /// Verdicts by number.
    pub hunks: Vec<HunkPick>,
    /// Why, verbatim; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Whether somebody looks at a run who could answer.
#[async_trait]
pub trait Attendance: Send + Sync {
    /// Returns when nobody looks at the run any more; at once if nobody does. An answer comes through the inbox.
    async fn ended(&self);
}

/// Nobody looks at the run: each gate and each question waits for a later answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

#[async_trait]
impl Attendance for Unattended {
    async fn ended(&self) {}
}
