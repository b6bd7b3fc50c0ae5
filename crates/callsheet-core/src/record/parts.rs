//! The parts that facts consist of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::nouns::{BlobId, ExecutionId, Phase, RepeatClass, RunId, Slug, ToolEffect, ToolSpec, tokens};

/// Number of a model call in its run, from 1, in the order replies were recorded.
pub type CallNo = u32;

/// The earlier call whose reply another call reuses, because both ask the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReusedCall {
    /// The run of the earlier call. `None` means this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The number of the call in that run.
    pub call: CallNo,
}

impl ReusedCall {
    /// In words: `call 6 of 20260301-notes`.
    pub fn words(&self) -> String {
        let run = self.run.as_ref().map(|run| format!(" of {run}")).unwrap_or_default();
        format!("call {}{run}", self.call)
    }
}

/// Identifies one model call. `n` counts the calls of the same (phase, task, run) over the whole log, so a key is never
/// used twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallKey {
    /// Phase.
    pub phase: Phase,
    /// Task, for refinement, execution and merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Slug>,
    /// Execution run, for execution. For routing, the slug of the task that needs a skill; this task is not in the run
    /// yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ExecutionId>,
    /// From 1.
    pub n: u32,
}

/// Identifies an effect. Equal keys mean the same piece of work, so the driver never performs one twice at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
        /// The number of the check of this task, counted over the whole log.
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
    /// The beginning of a template call.
    Mount {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// The result of a template call.
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
        /// The number of the merge of this task, counted over the whole log.
        n: u32,
    },
    /// Evaluating a task of a tree.
    Evaluate {
        /// Task.
        task: Slug,
        /// The number of the evaluation of this task, counted over the whole log.
        n: u32,
    },
    /// Looking up the context of a task of a tree.
    Retrieve {
        /// Task.
        task: Slug,
        /// The number of the lookup of this task, counted over the whole log.
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
        /// Number of the change set within the task, from 1.
        set: u32,
    },
    /// Applying a change set.
    Apply {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set within the task, from 1.
        set: u32,
    },
    /// Rolling back an interrupted apply.
    RollBack {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set within the task, from 1.
        set: u32,
    },
    /// Writing the report.
    Conclude,
}

/// The result of checking a change set (spec 10.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckEnd {
    /// The command exited with 0.
    Passed,
    /// It exited with another code, or its time was over.
    Failed,
    /// It could not be started.
    NotRun,
}

/// A check of a change set and its result (spec 10.10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// Name of the check.
    pub name: String,
    /// Its result.
    pub end: CheckEnd,
    /// What the command printed, or why it did not start.
    pub output: BlobId,
    /// Milliseconds it took.
    pub ms: u64,
}

/// Which approval is requested (spec 11.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// Before tasks that change files run: the offered tasks, in sheet order.
    BeforeRun(Vec<Slug>),
    /// Before a change set is applied.
    BeforeApply {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set within the task, from 1.
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

/// One request for approval. `n` counts the gates of a run, so an answer to an older gate never counts for a newer one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gate {
    /// From 1.
    pub n: u32,
    /// What is asked.
    pub kind: GateKind,
}

/// A person's answer to a gate (spec 11.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This and later before-run gates of the run.
    All,
    /// Exactly what was listed.
    Listed,
    /// Task by task. Unnamed tasks stay pending. `words` explains the denials.
    Each {
        /// Verdict by task.
        verdicts: BTreeMap<Slug, Verdict>,
        /// The person's words, verbatim.
        words: String,
    },
    /// Everything listed is denied.
    Deny {
        /// The person's words, verbatim. May be empty.
        words: String,
    },
    /// A new change set replaces the one that was asked about: it contains what the person kept, validated again as a
    /// whole (spec 11.4), and has the same number. If nothing is kept, the answer is `Deny`.
    Part {
        /// The new set.
        kept: ChangeSet,
        /// What is not.
        refused: RefusedPart,
    },
    /// Cancel the run.
    Stop,
}

/// What a person skipped of a change set (spec 11.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RefusedPart {
    /// Unified diff from the kept part to the proposed change.
    pub diff: BlobId,
    /// The skipped part in words, for the result of the task.
    pub told: String,
    /// The person's words, verbatim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Approved.
    Approve,
    /// Denied.
    Deny,
}

/// How a run begins (spec 2.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A request that a plan call turns into a list.
    Prompt {
        /// Verbatim.
        prompt: String,
    },
    /// A sheet file that was read without errors; its list follows as the first `AdoptedList`.
    Sheet {
        /// The text given with the run; else the sheet's `Original prompt`; else its goals.
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
        /// The request that it runs for, or its name.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing is pending, and no task failed, was denied or is blocked.
    Complete,
    /// Nothing is pending, but some tasks failed, were denied or are blocked.
    Incomplete,
    /// Tasks are still pending after the last round.
    MaxRounds,
    /// A plan exists, and only a plan was requested.
    Planned,
    /// No valid plan.
    PlanFailed,
    /// There is no valid iteration, and the next round could start nothing.
    IterationFailed,
    /// A gate waits and nobody can be asked.
    ApprovalRequired,
    /// A question to a person waits and nobody can be asked.
    InputRequired,
    /// The provider could not be reached.
    Unreachable,
    /// The provider refused the credentials, does not know the model, or returned another 4xx (spec 12.3).
    Misconfigured,
    /// A run limit.
    LimitReached,
    /// A person stopped it.
    Cancelled,
    /// The task of a template run failed.
    TaskFailed,
    /// Inputs of a template run are missing or have the wrong type. Nothing was asked.
    InputInvalid,
}

impl Outcome {
    /// Whether the run is complete: nothing is pending, and its results are its answer.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Complete | Self::Incomplete | Self::TaskFailed | Self::InputInvalid)
    }

    /// Whether the results so far are printed: the run has ended, and nobody stopped it.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallFault {
    /// The connection, TLS or a timeout failed, the stream broke or was empty, or the status was 408, 425, 429 or 5xx.
    /// The phase ends.
    Communication,
    /// Credentials, an unknown model, another 4xx, or a missing model file. The run ends.
    Configuration,
    /// The prompt did not fit. Reference budgets are reduced by 30 %, and one attempt is used up.
    ContextOverflow,
    /// The task's time was over.
    Timeout,
    /// A token budget leaves no room for a reply, so the prompt was not sent (spec "Templates" 9).
    Budget,
    /// The prompt alone would cost at least what is left of a cost limit, so it was not sent.
    Cost,
    /// A reference of the prompt has become unreadable, so it was not sent.
    Reference,
    /// Callsheet cancelled it. This is not a failure of the call.
    Cancelled,
}

/// The sizes and the size limits of a prompt and a reply (spec "Templates" 9). A limit of 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CallSizes {
    /// Estimated tokens of the prompt.
    pub prompt: u64,
    /// The maximum number of tokens that it may have.
    pub prompt_limit: u64,
    /// Bytes of the reply.
    pub reply: u64,
    /// The maximum number of bytes that it may have.
    pub reply_limit: u64,
}

/// What a call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Input tokens that the provider had cached.
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

/// When references are checked, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReferenceStage {
    /// To decide whether refinement can be skipped (spec 2.12).
    Skip,
    /// To see whether they still exist at the start of execution (spec 2.8).
    Start,
}

/// A details file of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DetailBlob {
    /// One path component.
    pub filename: String,
    /// Content.
    pub blob: BlobId,
}

/// One file of a change set: its content before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileChange {
    /// Relative to the project root.
    pub path: String,
    /// Content before. `None` if the file did not exist.
    pub before: Option<BlobId>,
    /// Content after. `None` if the file is deleted.
    pub after: Option<BlobId>,
    /// Unix permission bits to keep, if the file existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// All changes of one reply or write call, validated together (spec 3.10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangeSet {
    /// Files in path order, without duplicates.
    pub files: Vec<FileChange>,
    /// The unified diff as it is shown and stored.
    pub diff: Option<BlobId>,
}

/// The content of an execution or merge reply, with texts as blobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Validated changes that wait for approval and for being applied. `None` if there is no change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeSet>,
    /// Existing files that need no change, according to a task that may change them (spec 3.11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// Canonical file targets of links in the summary, for carried references (spec 2.12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Quotations, names in code style and numbers in it that its prompt did not show (spec 3.14).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
}

/// Tokens of a document that are no more than the heading of its summary.
const HEADING: u32 = 10;

impl ResultParts {
    /// Whether the document says more than the summary.
    pub fn says_more(&self) -> bool {
        self.document.is_some() && self.tokens > tokens(&self.summary).saturating_add(HEADING)
    }
}

/// References that do not fit into one prompt together (spec 5.8, 10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Apart {
    /// Their tokens, each within its own limit.
    pub tokens: u64,
    /// The maximum number of tokens of references in one prompt.
    pub most: u32,
}

/// What the run machine must know about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolPolicy {
    /// Effect on the world.
    pub effect: ToolEffect,
    /// Whether a call may be repeated.
    pub repeat: RepeatClass,
    /// Whether calls of this tool never run in parallel (spec 10.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// Whether nothing confines its calls to what was approved. Each call then needs its own answer, whatever was
    /// decided before (spec 11.10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheld: bool,
    /// Whether only tasks get it whose skill or template names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named_only: bool,
}

impl Default for ToolPolicy {
    /// An unknown tool: `Write`, `Once` (spec 11.1).
    fn default() -> Self {
        Self {
            effect: ToolEffect::Write,
            repeat: RepeatClass::Once,
            exclusive: false,
            unheld: false,
            named_only: false,
        }
    }
}

impl From<&ToolSpec> for ToolPolicy {
    fn from(spec: &ToolSpec) -> Self {
        let ToolSpec { effect, repeat, exclusive, named_only, .. } = *spec;
        Self { effect, repeat, exclusive, unheld: false, named_only }
    }
}

impl ToolPolicy {
    /// Whether its calls change nothing by themselves. They return a change set, which the before-apply gate shows, so
    /// they need no before-call gate. A tool that acts at once declares `Once`.
    pub fn stages_changes(self) -> bool {
        self.effect == ToolEffect::Write && self.repeat == RepeatClass::Idempotent
    }
}

/// A prompt template in the version that a run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptFile {
    /// Path as shown to a person. `bundled` for a bundled template.
    pub source: String,
    /// Hash of the text.
    pub hash: BlobId,
}
