//! What is recorded of task trees (spec "Templates" 1, 8): the tree as it was when the run began, and what every
//! evaluation of one of its tasks gave. The machine steps through the tree by these; it computes no value itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::{BlobId, SkillPolicy, ToolCall};
use crate::template::{ReturnStatus, Settings, Template};

use super::Outcome;

/// Everything a run of a template executes. Recorded whole, so that a template edited since never changes a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tree {
    /// The template it begins with.
    pub entry: String,
    /// Every template it can reach, by the name that calls use.
    pub templates: BTreeMap<String, Template>,
    /// Texts of `schemas/NAME.json`, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, String>,
    /// Variables the caller gave.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
    /// Paths the caller gave: the frame of the top task, and the files of an explicit request (spec 5).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Paths that the caller's text names and that exist: they are in the frame of the top task, and replace nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Text the caller gave beside the variables.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Hashes of the template files, to tell of those that were edited since.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, BlobId>,
    /// The date of the run, `YYYY-MM-DD`.
    pub date: String,
    /// Registered tools that ask for a subtask, by name (spec 12, 14).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub subtask_tools: BTreeMap<String, SubtaskTool>,
    /// The template by which a model chooses among the files that a lookup found (spec 13); `None`: all are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Paths that a template names, or the caller gave, and that led to nothing that may be read when the run began, with
    /// those that may be meant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, Vec<String>>,
    /// Models and providers that a tree may name; `None`: they are not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// What is configured of models when a run begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Served {
    /// Models that are listed, as `PROVIDER/MODEL` or bare.
    pub models: BTreeSet<String>,
    /// Providers; true if a provider serves models that are not listed.
    pub providers: BTreeMap<String, bool>,
}

/// A registered tool whose calls become requests for a subtask (spec 14).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubtaskTool {
    /// What a model reads of it.
    pub description: String,
    /// Templates or tags that its subtasks are matched with.
    pub template_hints: Vec<String>,
}

/// What a task became when it was opened: its inputs are bound, its texts filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// What it goes through.
    pub plan: Plan,
    /// The names it binds for what is below it, as JSON; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<BlobId>,
    /// Its context settings in force.
    pub context: Settings,
    /// The template that runs below it, as the request for it changed it; `None`: what the tree says (spec 12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<Box<Template>>,
}

/// What an opened task goes through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// One handler.
    Handler(Box<HandlerPlan>),
    /// A process.
    Process {
        /// The call of the tool `script`.
        call: ToolCall,
        /// Seconds it may take.
        timeout_seconds: u32,
        /// For a person.
        title: String,
    },
    /// The children that the operator names, or the body of a call.
    Children,
    /// As many elements.
    Items {
        /// How many.
        count: u32,
    },
    /// One branch of a `cond`; `None` is `else`.
    Branch {
        /// From 0.
        case: Option<u32>,
    },
}

/// An atomic task, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandlerPlan {
    /// For a person: the description, cut.
    pub title: String,
    /// The resolved task as JSON: texts without open placeholders, files, declared output.
    pub task: BlobId,
    /// Tools, model, limits.
    pub policy: SkillPolicy,
    /// Why it is a writer; `None`: it only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Tokens that a call reserves of the budgets above it (spec 9): its prompt by estimate and the cap of a reply.
    #[serde(default)]
    pub reserve: u64,
}

/// How a task came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// Whether its content is whole.
    pub status: ReturnStatus,
    /// How a run would end by it (spec 6, exit codes).
    pub outcome: Outcome,
    /// The whole `TaskResult` as JSON.
    pub result: BlobId,
    /// It fails whatever is above it: a budget of an ancestor is spent, or a person stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fatal: bool,
    /// Of a subtask: what the model that asked for it is told (spec 12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<BlobId>,
}

/// How looking for the context of a task came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retrieval {
    /// What was found, as JSON.
    Found(BlobId),
    /// The lookup failed.
    Failed {
        /// Why.
        message: String,
        /// What was found all the same, as JSON.
        partial: BlobId,
    },
}

/// What an evaluation gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Before the task can be opened something is to be found for it: the request as JSON (spec 5, assembly).
    Seeks {
        /// The request.
        request: BlobId,
    },
    /// A model is to choose among what was found, before the task is opened (spec 13).
    Matches,
    /// The task is opened.
    Opened(Box<Opened>),
    /// A loop goes on with another iteration.
    GoesOn,
    /// The failed handler is tried again with another one (spec 15).
    Again {
        /// The result of the failed attempt, as JSON.
        result: BlobId,
        /// What the new handler is told of the earlier error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issues: Option<BlobId>,
    },
    /// The failed handler's task is to be split by a model (spec 11).
    Reparse {
        /// The result of the failed attempt, as JSON.
        result: BlobId,
        /// The template that asks for the split.
        ask: Box<Template>,
    },
    /// The split was checked and runs in the place of the failed task.
    Regrown {
        /// What runs.
        called: Box<Template>,
    },
    /// The task has come back.
    Closed(Closed),
}
