//! What gates and questions show, and whether somebody can answer. Answers arrive through the inbox.

use async_trait::async_trait;
use callsheet_core::nouns::{Slug, Task, ToolCall};
use callsheet_core::record::{CheckEnd, Gate};
use callsheet_format::edit::{Hunk, HunkPick};
use serde::{Deserialize, Serialize};

/// A pending task that changes files, as the before-run gate shows it (spec 11.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriterView {
    /// The task as refined so far.
    pub task: Task,
    /// Its step, from 1.
    pub step: u32,
    /// Skill with its source, and a notice if it replaces another.
    pub skill: String,
    /// Why it needs approval.
    pub reason: String,
    /// Model that will run it.
    pub model: String,
    /// Whether it is already refined, or need not be.
    pub refined: bool,
    /// Whether a model refined it.
    #[serde(default)]
    pub by_model: bool,
}

/// A check of changes and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckView {
    /// Its name.
    pub name: String,
    /// Its result.
    pub end: CheckEnd,
    /// What the command printed, or why it did not start.
    pub output: String,
}

/// What a person is told about a call that the system cannot confine to what they approve.
pub const UNHELD: &str = "this machine cannot keep a command from changing other files or using the network";

/// What a gate shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateView {
    /// Which asking.
    pub gate: Gate,
    /// Pending tasks that change files, for before-run.
    pub writers: Vec<WriterView>,
    /// The whole plan as Markdown, for before-run.
    pub plan: String,
    /// The task of a before-apply or before-call gate.
    pub task: Option<Slug>,
    /// Unified diff, for before-apply.
    pub diff: String,
    /// The hunks of the diff, numbered, for before-apply (spec 11.4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
    /// The check of the changes, if they have one (spec 10.10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckView>,
    /// The checks of the configuration, for changes that none of them checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// The call, for before-call.
    pub call: Option<ToolCall>,
    /// Whether the call, or another one that it may repeat, was started and never finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The call that never finished, if the gate asks about another one that may repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unended: Option<ToolCall>,
    /// Whether nothing on this machine confines the call to what is approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheld: bool,
    /// Calls that are asked about together with it: of the same tool, by the same node of a template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<EqualCall>,
    /// Directory in which the call would run.
    pub directory: Option<String>,
}

impl GateView {
    /// That no check ran on the changes although the configuration has checks. `None` if one ran or there is none.
    pub fn unchecked_words(&self) -> Option<String> {
        let names = self.unchecked.join(", ");
        (!names.is_empty()).then(|| format!("No check ran on this change; the configuration has: {names}."))
    }
}

/// A call that is asked about together with another one, and has its own gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EqualCall {
    /// Its gate.
    pub gate: Gate,
    /// The task that makes it.
    pub task: Slug,
    /// The call.
    pub call: ToolCall,
}

/// A person's verdicts on the hunks of a change set (spec 11.4). A hunk without a verdict is skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAnswer {
    /// Verdicts by number.
    pub hunks: Vec<HunkPick>,
    /// The reason, verbatim. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Whether somebody who could answer watches the run.
#[async_trait]
pub trait Attendance: Send + Sync {
    /// Returns when nobody watches the run any more; at once if nobody does. An answer arrives through the inbox.
    async fn ended(&self);
}

/// Nobody watches the run, so each gate and each question waits for a later answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

#[async_trait]
impl Attendance for Unattended {
    async fn ended(&self) {}
}
