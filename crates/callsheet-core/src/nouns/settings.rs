//! Settings of a run (spec 12.6) and its limits. Every limit is one field here, checked only where effects are derived.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Slug;

/// Defines a struct whose fields stand beside their defaults, so a setting is one row.
macro_rules! with_defaults {
    ($(#[$outer:meta])* pub struct $name:ident { $($(#[$inner:meta])* pub $field:ident: $kind:ty = $value:expr,)* }) => {
        $(#[$outer])*
        pub struct $name {
            $($(#[$inner])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $value,)* }
            }
        }
    };
}

/// When an optional phase takes place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Only if it adds something.
    #[default]
    Auto,
    /// Each time.
    Always,
    /// Not at all.
    Never,
}

impl Policy {
    /// The word in files and sheets.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// How the results of several execution runs are merged (spec 3.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MergePolicy {
    /// By code.
    #[default]
    Code,
    /// By one model call.
    Model,
}

/// How the sections of a list order its tasks (spec 2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionOrder {
    /// Sections are for people. A task that only reads starts when its inputs exist and no task that changes files is
    /// left in an earlier section.
    #[default]
    Dependencies,
    /// A section starts when the one before it has ended.
    Strict,
}

/// Which approvals a person is asked for (spec 11.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Before a task that changes files runs, and before its changes are applied.
    #[default]
    Both,
    /// Only before tasks that change files run.
    BeforeRun,
    /// Only before changes are applied and calls that change something are made.
    BeforeApply,
    /// No gate.
    Never,
}

/// What happens at an approval if nobody can be asked (spec 11.8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headless {
    /// Save and stop with `approval_required`.
    #[default]
    Stop,
    /// Deny with the words "no approver present".
    Deny,
    /// Approve everything in this run, at both gates.
    Approve,
    /// Approve these tasks at both gates, and stop at others. `TASK/NAME` is a task of the template that TASK calls;
    /// TASK alone includes all of them.
    Slugs(Vec<Slug>),
}

with_defaults! {
/// Token budgets of prompts (spec 5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Budget {
    /// For one reference at execution.
    pub reference: u32 = 8_000,
    /// For all references of one prompt at execution.
    pub prompt: u32 = 24_000,
    /// For the material of a task that the host creates from a request (spec 2.3).
    pub material: u32 = 6_000,
    /// For one reference at refinement.
    pub preview: u32 = 600,
}
}

with_defaults! {
/// All limits, for sheets and templates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Assistant messages of one loop task; the default of sheets is 20.
    pub max_turns: u32 = 20,
    /// Share of the model's window that a prompt may fill.
    pub max_context_fraction: f64 = 0.8,
    /// Bytes of one model reply or one stream of a process.
    pub max_output_bytes: u64 = 262_144,
    /// Model calls of a run.
    pub max_calls: u32 = 1_000,
    /// Tokens of a run, input and output.
    pub max_tokens: Option<u64> = None,
    /// Cost of a run, US dollars.
    pub max_cost_usd: Option<f64> = None,
    /// Cost of the run that the limit of a day leaves (spec 12.10), US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_share_usd: Option<f64> = None,
    /// Whether models with an unknown price may be used under a cost limit, which cannot hold them.
    pub allow_unpriced: bool = false,
    /// Wall time of one task in seconds, without time waiting for a person.
    pub timeout_seconds: u32 = 600,
    /// Wall time of a run in seconds, without time waiting for a person.
    pub run_timeout_seconds: Option<u64> = None,
    /// Nesting of subtasks, and how often one template may be on the call stack.
    #[serde(skip_serializing_if = "is_default_depth")]
    pub max_depth: u32 = DEPTH,
    /// The maximum number of elements that a `map` or `reduce` accepts.
    #[serde(skip_serializing_if = "is_default_items")]
    pub max_items: u32 = ITEMS,
    /// Number of equal consecutive turns after which a handler of a template ends.
    #[serde(skip_serializing_if = "is_default_repeats")]
    pub no_progress_repeats: u32 = REPEATS,
    /// Share of a limit at which a person is warned.
    pub warning_threshold: f64 = 0.8,
}
}

impl Limits {
    /// What the run may cost, US dollars: the lower one of its own limit and what the limit of a day leaves.
    pub fn cost_usd(&self) -> Option<f64> {
        match (self.max_cost_usd, self.day_share_usd) {
            (Some(own), Some(day)) => Some(own.min(day)),
            (own, day) => own.or(day),
        }
    }

    /// Whether the limit of a day leaves less than the run's own limit.
    pub fn is_held_by_day(&self) -> bool {
        self.day_share_usd.is_some_and(|day| self.max_cost_usd.is_none_or(|own| day < own))
    }
}

const DEPTH: u32 = 5;
const ITEMS: u32 = 1_000;
const REPEATS: u32 = 3;

// Limits that apply only to templates are left out of the records of sheets.

fn is_default_depth(value: &u32) -> bool {
    *value == DEPTH
}

fn is_default_items(value: &u32) -> bool {
    *value == ITEMS
}

fn is_default_repeats(value: &u32) -> bool {
    *value == REPEATS
}

with_defaults! {
/// Settings of one run, recorded at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Rounds of the loop of spec 2.4.
    pub max_rounds: u32 = 5,
    /// The maximum number of pieces of work in flight (spec 2.6).
    pub jobs: u32 = 4,
    /// Attempts of a phase (spec 12).
    pub attempts: u32 = 5,
    /// Sends within one attempt if communication fails (spec 12.1).
    pub comm_tries: u32 = 3,
    /// Whether a request is planned (spec 2.3). `auto`: unless it is a single task.
    pub plan: Policy = Policy::Auto,
    /// Refinement policy (spec 2.12).
    pub refine: Policy = Policy::Auto,
    /// Iteration policy (spec 2.13).
    pub iterate: Policy = Policy::Auto,
    /// How sections order tasks (spec 2.6).
    pub sections: SectionOrder = SectionOrder::Dependencies,
    /// Merge policy (spec 3.12).
    pub merge: MergePolicy = MergePolicy::Code,
    /// Whether a model is asked if a result is complete (spec 10.9). `auto` means never.
    pub review: Policy = Policy::Auto,
    /// Whether a model writes one answer from several results (spec 2.15). `auto`: if a model planned them.
    pub join: Policy = Policy::Auto,
    /// Which gates ask.
    pub approval: ApprovalMode = ApprovalMode::Both,
    /// What happens when nobody can be asked.
    pub headless: Headless = Headless::Stop,
    /// Whether `http(s)` references may be read.
    pub allow_http: bool = false,
    /// Directories outside the project that may be read, absolute.
    pub read_roots: Vec<String> = Vec::new(),
    /// Only these skills are offered, in catalog order. Empty means all.
    pub skills: Vec<String> = Vec::new(),
    /// Whether warnings of model replies and checked files count as errors (spec 4.8).
    pub strict: bool = false,
    /// Whether subtasks of templates inherit nothing unless their request asks for it (spec "Templates" 5).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_subtask_context: bool = false,
    /// Temperature of executions. Replies with a fixed form are requested at 0. At the default of servers, 0.7 and
    /// more, a small model may miss the name or number that it has just read. At 0 it could repeat a sentence until its
    /// tokens are used up, which a little randomness prevents.
    pub temperature: f64 = 0.2,
    /// Seed of the first attempt of each call, so that a run can be repeated if the server accepts a seed.
    pub seed: u64 = 1,
    /// Commands by name that check changes of tasks whose skill names one (spec 10.10): a program and its arguments.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, Vec<String>> = BTreeMap::new(),
    /// Token budgets.
    pub budget: Budget = Budget::default(),
    /// Limits.
    pub limits: Limits = Limits::default(),
    /// Whether the run only plans. It is `planned` once it has a list.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan_only: bool = false,
    /// The `PROVIDER/MODEL` that was chosen at the start, so that a resume continues with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String> = None,
    /// The git branch on which each applied change set is committed (spec 3.17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String> = None,
}
}
