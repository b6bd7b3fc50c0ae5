//! The parts that facts are made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::{BlobId, ExecutionId, Phase, RepeatClass, RunId, Slug, ToolEffect, ToolSpec};

/// Number of a model call in its run, from 1, in the order replies were recorded.
pub type CallNo = u32;

/// The earlier call whose reply another call has, since both ask the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedCall {
    /// Its run; `None`: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its number there.
    pub call: CallNo,
}

impl ReusedCall {
    /// In words: `call 6 of 20260301-notes`.
    pub fn words(&self) -> String {
        let run = self.run.as_ref().map(|run| format!(" of {run}")).unwrap_or_default();
        format!("call {}{run}", self.call)
    }
}

/// Identity of one model call. `n` counts the calls of the same (phase, task, run) over the whole log, so a key is
/// never used twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    /// Phase.
    pub phase: Phase,
    /// Task, for refinement, execution and merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Slug>,
    /// Execution run, for execution; for routing, the slug of the task that is to get a skill: it is no task of the run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ExecutionId>,
    /// From 1.
    pub n: u32,
}

/// Identity of an effect: equal keys mean the same piece of work, so the driver never performs one twice at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKey {
    /// A model call.
    Ask(CallKey),
    /// Reading a recorded reply.
    Read(CallKey),
    /// Checking a task's references.
    Check {
        /// Task.
        task: Slug,
        /// Counts the checks of this task over the whole log.
        n: u32,
    },
    /// A tool call.
    Tool {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// The begin of a call of a template.
    Mount {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// The result of a call of a template.
    Return {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// A merge by code.
    Merge {
        /// Task.
        task: Slug,
        /// Counts the merges of this task over the whole log.
        n: u32,
    },
    /// Evaluating a task of a tree.
    Evaluate {
        /// Task.
        task: Slug,
        /// Counts the evaluations of this task over the whole log.
        n: u32,
    },
    /// Looking up the context of a task of a tree.
    Retrieve {
        /// Task.
        task: Slug,
        /// Counts the lookups of this task over the whole log.
        n: u32,
    },
    /// A gate.
    Gate(Gate),
    /// A question of a tool to a person.
    Question {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// Checking a change set on a copy of the project.
    Try {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task, from 1.
        set: u32,
    },
    /// Applying a change set.
    Apply {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task, from 1.
        set: u32,
    },
    /// Taking back an apply that was interrupted.
    RollBack {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task, from 1.
        set: u32,
    },
    /// Writing the report.
    Conclude,
}

/// How a check of a change set came out (spec 10.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckEnd {
    /// The command ended with 0.
    Passed,
    /// It ended otherwise, or its time was over.
    Failed,
    /// It could not be started.
    NotRun,
}

/// A check of a change set and what came of it (spec 10.10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Name of the check.
    pub name: String,
    /// How it came out.
    pub end: CheckEnd,
    /// What the command printed, or why it did not start.
    pub output: BlobId,
    /// Milliseconds it took.
    pub ms: u64,
}

/// Which approval is asked (spec 11.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Before writers run: the tasks offered, in sheet order.
    BeforeRun(Vec<Slug>),
    /// Before a change set is applied.
    BeforeApply {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task, from 1.
        set: u32,
    },
    /// Before a call whose effect class is not `Read` is made (spec 11.4).
    BeforeCall {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
}

/// One asking of a gate. `n` counts the gates of a run, so an answer to an older asking is never taken for a newer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gate {
    /// From 1.
    pub n: u32,
    /// What is asked.
    pub kind: GateKind,
}

/// A person's answer to a gate (spec 11.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This and later before-run gates of the run.
    All,
    /// Exactly what was listed.
    Listed,
    /// Task by task; unnamed tasks stay pending. `words` explains the denials.
    Each {
        /// Verdict by task.
        verdicts: BTreeMap<Slug, Verdict>,
        /// Words of the person, verbatim.
        words: String,
    },
    /// All that was listed is denied.
    Deny {
        /// Words of the person, verbatim; may be empty.
        words: String,
    },
    /// Another change set is made in place of the one that was asked about: what a person kept of it, validated whole
    /// again (spec 11.4). It keeps the number of the set. Nothing kept is `Deny`.
    Part {
        /// The set that is made.
        kept: ChangeSet,
        /// What is not.
        refused: RefusedPart,
    },
    /// Cancel the run.
    Stop,
}

/// What a person refused of a change set (spec 11.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPart {
    /// Unified diff from what is kept to what was asked for.
    pub diff: BlobId,
    /// It in words, for the result of the task.
    pub told: String,
    /// Words of the person, verbatim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Approved.
    Approve,
    /// Denied.
    Deny,
}

/// How a run begins (spec 2.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A request that a plan call turns into a list.
    Prompt {
        /// Verbatim.
        prompt: String,
    },
    /// A sheet file that was read without errors; its list follows as the first `AdoptedList`.
    Sheet {
        /// The text given with the run, else its `Original prompt`, else its goals.
        prompt: String,
    },
    /// One skill and one text; its one-task list follows as the first `AdoptedList`.
    Skill {
        /// Verbatim.
        prompt: String,
    },
    /// A template; its tree follows as `TreeAdopted`.
    Template {
        /// Its name.
        name: String,
        /// The request it is run for, or its name.
        prompt: String,
    },
}

impl Entry {
    /// The original prompt (spec 2.1).
    pub fn prompt(&self) -> &str {
        match self {
            Self::Prompt { prompt }
            | Self::Sheet { prompt }
            | Self::Skill { prompt }
            | Self::Template { prompt, .. } => prompt,
        }
    }
}

/// How a run ended or why it waits (spec 2.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing pending, no task failed, denied or blocked.
    Complete,
    /// Nothing pending, some are.
    Incomplete,
    /// Still pending after the last round.
    MaxRounds,
    /// There is a plan, and only that was asked for.
    Planned,
    /// No valid plan.
    PlanFailed,
    /// No valid iteration, and the next round could start nothing.
    IterationFailed,
    /// A gate waits and nobody can be asked.
    ApprovalRequired,
    /// A question to a person waits and nobody can be asked.
    InputRequired,
    /// The provider could not be reached.
    Unreachable,
    /// Refused credentials, unknown model and other 4xx (spec 12.3).
    Misconfigured,
    /// A run limit.
    LimitReached,
    /// A person stopped it.
    Cancelled,
    /// The task of a template run failed.
    TaskFailed,
    /// Inputs of a template run are missing or of a wrong type, before anything was asked.
    InputInvalid,
}

impl Outcome {
    /// Whether the run came to its end: nothing of it is pending, and what it gave is its answer.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Incomplete | Self::TaskFailed | Self::InputInvalid)
    }

    /// Whether what is done so far is printed: the run has ended, and nobody stopped it.
    pub fn has_answer(self) -> bool {
        let cut_short = matches!(
            self,
            Self::IterationFailed | Self::MaxRounds | Self::LimitReached | Self::Unreachable | Self::Misconfigured
        );
        self.is_finished() || cut_short
    }
}

/// Why a model call gave no reply, after the driver's sends (spec 12.1-12.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallFault {
    /// Connect, TLS, timeout, broken or empty stream, 408, 425, 429, 5xx: the phase ends.
    Communication,
    /// Credentials, unknown model, other 4xx, missing model file: the run ends.
    Configuration,
    /// The prompt did not fit: reference budgets are cut by 30 % and one attempt is used.
    ContextOverflow,
    /// The task's time was over.
    Timeout,
    /// What is left of a token budget leaves no room for a reply: it was not sent (spec "Templates" 9).
    Budget,
    /// The prompt alone would cost what is left of a limit of cost, or more: it was not sent.
    Cost,
    /// A reference of the prompt cannot be read any more: it was not sent.
    Reference,
    /// Cancelled by us; not a failure of the call.
    Cancelled,
}

/// How large a prompt and a reply are, and how large they may be (spec "Templates" 9). A limit of 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSizes {
    /// Tokens of the prompt, by estimate.
    pub prompt: u64,
    /// Tokens it may have.
    pub prompt_limit: u64,
    /// Bytes of the reply.
    pub reply: u64,
    /// Bytes it may have.
    pub reply_limit: u64,
}

/// What a call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens of the input the provider had cached.
    pub cached: u64,
    /// US dollars, if known.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// When references are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceStage {
    /// May refinement be skipped (spec 2.12)?
    Skip,
    /// Are they still there at the start of execution (spec 2.8)?
    Start,
}

/// A details file of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailBlob {
    /// One path component.
    pub filename: String,
    /// Content.
    pub blob: BlobId,
}

/// One file of a change set: what it was, what it becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the project root.
    pub path: String,
    /// Content before; `None`: the file did not exist.
    pub before: Option<BlobId>,
    /// Content after; `None`: the file is deleted.
    pub after: Option<BlobId>,
    /// Unix permission bits to keep, if the file existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// All changes of one reply or write call, validated together (spec 3.10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Files in path order, each once.
    pub files: Vec<FileChange>,
    /// The unified diff as shown and stored.
    pub diff: Option<BlobId>,
}

/// What an execution or merge reply gave, with texts as blobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultParts {
    /// Summary text.
    pub summary: String,
    /// The document.
    pub document: Option<BlobId>,
    /// Heading keys of the document, for references to sections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// Tokens of the document.
    #[serde(default)]
    pub tokens: u32,
    /// Recorded details files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<DetailBlob>,
    /// `**more work needed**` (spec 2.13).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_work: bool,
    /// Validated changes that wait to be approved and applied; `None`: no change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeSet>,
    /// Existing files that need no change, as a writer says (spec 3.11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// Canonical file targets linked from the summary, for carried references (spec 2.12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// What it quotes, names in code style or counts, and what stands in nothing that its prompt showed (spec 3.14).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
}

/// References that one prompt has no room for together (spec 5.8, 10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    /// Tokens that they would be shown with, each within its own limit.
    pub tokens: u64,
    /// Tokens that one prompt may have of references.
    pub most: u32,
}

/// What the run machine must know of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPolicy {
    /// Effect on the world.
    pub effect: ToolEffect,
    /// Whether a call may be repeated.
    pub repeat: RepeatClass,
    /// Calls of this tool never run beside each other (spec 10.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// Nothing holds its calls to what was approved: each needs an answer of its own, whatever was said before (spec 11.10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheld: bool,
}

impl Default for ToolPolicy {
    /// An unknown tool: `Write`, `Once` (spec 11.1).
    fn default() -> Self {
        Self { effect: ToolEffect::Write, repeat: RepeatClass::Once, exclusive: false, unheld: false }
    }
}

impl From<&ToolSpec> for ToolPolicy {
    fn from(spec: &ToolSpec) -> Self {
        Self { effect: spec.effect, repeat: spec.repeat, exclusive: spec.exclusive, unheld: false }
    }
}

impl ToolPolicy {
    /// Its calls change nothing by themselves: they give a change set, and the before-apply gate shows it. Such a
    /// call needs no before-call gate. A tool that acts at once declares `Once`.
    pub fn stages_changes(self) -> bool {
        self.effect == ToolEffect::Write && self.repeat == RepeatClass::Idempotent
    }
}

/// A prompt template as a run used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFile {
    /// Path as shown to a person; `bundled` for the shipped one.
    pub source: String,
    /// Hash of the text.
    pub hash: BlobId,
}

/// What a tool call gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRecord {
    /// Text for the model; an error text is output too, marked.
    Output {
        /// Whole output.
        blob: BlobId,
        /// The tool failed: the first line of what it said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Validated file changes that wait to be approved and applied.
    Changes(ChangeSet),
    /// A question to a person; the answer becomes the output.
    Question(String),
    /// The run's own time was over before it ended (spec "Templates" 9): nothing of it counts. A resume makes the call again,
    /// or, if it may not be repeated, treats it as one that was never seen to finish.
    Cut,
}
