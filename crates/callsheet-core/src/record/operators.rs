//! What is recorded about task trees (spec "Templates" 1, 8): the tree as it was when the run began, and the result of
//! every evaluation of one of its tasks. The machine uses these to step through the tree; it computes no values itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::nouns::BlobId;
pub use crate::template::operators::{HandlerPlan, Plan};
use crate::template::{ReturnStatus, Settings, Template};

use super::Outcome;

/// Everything that a run of a template executes. It is recorded completely, so later edits of a template never change a
/// run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tree {
    /// The template with which it begins.
    pub entry: String,
    /// Every template that it can reach, by the name that calls use.
    pub templates: BTreeMap<String, Template>,
    /// Texts of `schemas/NAME.json`, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<String, String>,
    /// Variables from the caller.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Value>,
    /// Paths from the caller. They are the frame of the top task, and the files of an explicit request (spec 5).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Existing paths that the caller's text names. They are in the frame of the top task, and replace nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// The caller's text beside the variables.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Hashes of the template files, to report those that were edited since.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, BlobId>,
    /// The date of the run, `YYYY-MM-DD`.
    pub date: String,
    /// Registered tools whose calls ask for a subtask, by name (spec 12, 14).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub subtask_tools: BTreeMap<String, SubtaskTool>,
    /// The template with which a model chooses among the files that a lookup found (spec 13). `None` means that all of
    /// them are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Paths that a template or the caller named and that led to nothing readable when the run began, with suggestions.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, Vec<String>>,
    /// Models and providers that a tree may name. `None` means that they are not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// Which models are configured when a run begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Served {
    /// Listed models, as `PROVIDER/MODEL` or without a provider.
    pub models: BTreeSet<String>,
    /// Providers. True if the provider also serves models that are not listed.
    pub providers: BTreeMap<String, bool>,
}

/// A registered tool whose calls become requests for a subtask (spec 14).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubtaskTool {
    /// The description for a model.
    pub description: String,
    /// Templates or tags with which its subtasks are matched.
    pub template_hints: Vec<String>,
}

/// A task after it was opened: its inputs are bound and its texts filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The steps that it goes through.
    pub plan: Plan,
    /// The names that it binds for the tasks below it, as JSON. `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<BlobId>,
    /// The context settings that apply to it.
    pub context: Settings,
    /// The template that runs below it, as modified by the request for it. `None` if the tree's own version runs (spec
    /// 12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<Box<Template>>,
}

/// How a task returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// Whether its content is complete.
    pub status: ReturnStatus,
    /// How a run would end because of it (spec 6, exit codes).
    pub outcome: Outcome,
    /// The whole `TaskResult` as JSON.
    pub result: BlobId,
    /// Whether it fails whatever is above it, because the budget of an ancestor is spent or a person stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fatal: bool,
    /// For a subtask: what the model that asked for it is told (spec 12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<BlobId>,
}

/// The result of looking up the context of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Retrieval {
    /// What was found, as JSON.
    Found(BlobId),
    /// The lookup failed.
    Failed {
        /// Why it failed.
        message: String,
        /// What was found anyway, as JSON.
        partial: BlobId,
    },
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Something must be looked up before the task can be opened. The request is JSON (spec 5, assembly).
    Seeks {
        /// The request.
        request: BlobId,
    },
    /// A model must choose among the findings before the task is opened (spec 13).
    Matches,
    /// The task is opened.
    Opened(Box<Opened>),
    /// A loop continues with another iteration.
    GoesOn,
    /// The failed handler is replaced by another attempt (spec 15).
    Again {
        /// The result of the failed attempt, as JSON.
        result: BlobId,
        /// What the new handler is told about the earlier error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issues: Option<BlobId>,
    },
    /// A model should split the failed handler's task (spec 11).
    Reparse {
        /// The result of the failed attempt, as JSON.
        result: BlobId,
        /// The template that asks for the split.
        ask: Box<Template>,
    },
    /// The split was checked, and runs instead of the failed task.
    Regrown {
        /// What runs.
        called: Box<Template>,
    },
    /// The task has returned.
    Closed(Closed),
}
