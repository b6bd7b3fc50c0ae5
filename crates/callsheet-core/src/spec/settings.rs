//! Settings of a run (spec 12.6) and its limits. Every limit is one field here and is checked where effects are
//! derived, nowhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Slug;

/// A struct whose fields stand with their values: a setting is one row.
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

/// When an optional phase is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Only where it adds something.
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

/// How several execution runs become one result (spec 3.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergePolicy {
    /// By code.
    #[default]
    Code,
    /// By one model call.
    Model,
}

/// What the sections of a list say about the order of its tasks (spec 2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionOrder {
    /// Sections are for people: a task that only reads starts once what it reads is there and no writer of an earlier section is
    /// left.
    #[default]
    Dependencies,
    /// A section starts when the one before it has ended.
    Strict,
}

/// Which gates ask a person (spec 11.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Before a writer runs and before its changes are applied.
    #[default]
    Both,
    /// Only before writers run.
    BeforeRun,
    /// Only before changes are applied and write calls made.
    BeforeApply,
    /// No gate.
    Never,
}

/// What happens at a gate when nobody can be asked (spec 11.8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headless {
    /// Save and stop with `approval_required`.
    #[default]
    Stop,
    /// Deny with the words "no approver present".
    Deny,
    /// Approve everything of this run, at both gates.
    Approve,
    /// Approve these tasks at both gates, stop at others. `TASK/NAME` is a task of the template that TASK calls; TASK
    /// alone means all of them as well.
    Slugs(Vec<Slug>),
}

with_defaults! {
/// Token budgets of prompts (spec 5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// One reference at execution.
    pub reference: u32 = 8_000,
    /// All references of one prompt at execution.
    pub prompt: u32 = 24_000,
    /// What a task reads that the host makes of a request (spec 2.3).
    pub material: u32 = 6_000,
    /// One reference at refinement.
    pub preview: u32 = 600,
}
}

with_defaults! {
/// The one table of limits for both front ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Assistant messages of one loop task; the default of sheets is 20.
    pub max_turns: u32 = 20,
    /// Share of the model's window a prompt may fill.
    pub max_context_fraction: f64 = 0.8,
    /// Bytes of one model reply or one stream of a process.
    pub max_output_bytes: u64 = 262_144,
    /// Model calls of a run.
    pub max_calls: u32 = 1_000,
    /// Tokens of a run, input and output.
    pub max_tokens: Option<u64> = None,
    /// Cost of a run, US dollars.
    pub max_cost_usd: Option<f64> = None,
    /// Models whose price nobody knows may be asked under a limit of cost, which does not hold them.
    pub allow_unpriced: bool = false,
    /// Wall time of one task without waiting for a person, seconds.
    pub timeout_seconds: u32 = 600,
    /// Wall time of a run without waiting for a person, seconds.
    pub run_timeout_seconds: Option<u64> = None,
    /// Nesting of subtasks, and the times one template may stand on the call stack.
    #[serde(skip_serializing_if = "is_default_depth")]
    pub max_depth: u32 = DEPTH,
    /// Elements a `map` or `reduce` takes.
    #[serde(skip_serializing_if = "is_default_items")]
    pub max_items: u32 = ITEMS,
    /// Equal turns in a row after which a handler of a template ends.
    #[serde(skip_serializing_if = "is_default_repeats")]
    pub no_progress_repeats: u32 = REPEATS,
    /// Share of a limit at which a person is told.
    pub warning_threshold: f64 = 0.8,
}
}

const DEPTH: u32 = 5;
const ITEMS: u32 = 1_000;
const REPEATS: u32 = 3;

// Limits of templates alone are left out of the records of sheets.

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
    /// Turns of the loop of spec 2.4.
    pub max_rounds: u32 = 5,
    /// Work units in flight (spec 2.6).
    pub jobs: u32 = 4,
    /// Attempts of a phase (spec 12).
    pub attempts: u32 = 5,
    /// Sends inside one attempt for communication failures (spec 12.1).
    pub comm_tries: u32 = 3,
    /// Whether a request is planned (spec 2.3). `auto`: unless it is one task.
    pub plan: Policy = Policy::Auto,
    /// Refinement policy (spec 2.12).
    pub refine: Policy = Policy::Auto,
    /// Iteration policy (spec 2.13).
    pub iterate: Policy = Policy::Auto,
    /// What sections say about the order of tasks (spec 2.6).
    pub sections: SectionOrder = SectionOrder::Dependencies,
    /// Merge policy (spec 3.12).
    pub merge: MergePolicy = MergePolicy::Code,
    /// Whether a model is asked if a result is complete (spec 10.9). `auto` asks never.
    pub review: Policy = Policy::Auto,
    /// Whether a model writes one answer from several results (spec 2.15). `auto`: where a model planned them.
    pub join: Policy = Policy::Auto,
    /// Which gates ask.
    pub approval: ApprovalMode = ApprovalMode::Both,
    /// What happens when nobody can be asked.
    pub headless: Headless = Headless::Stop,
    /// `http(s)` references may be read.
    pub allow_http: bool = false,
    /// Directories outside the project that may be read, absolute.
    pub read_roots: Vec<String> = Vec::new(),
    /// Only these skills are offered, in catalog order; empty: all.
    pub skills: Vec<String> = Vec::new(),
    /// Warnings of model replies and checked files count as errors (spec 4.8).
    pub strict: bool = false,
    /// Subtasks of templates inherit nothing unless their request says so (spec "Templates" 5).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_subtask_context: bool = false,
    /// Temperature of executions; everything whose reply is a form is asked for at 0. The default of servers, 0.7 and more,
    /// lets a small model miss the name or number that it has just read. 0 would let it repeat a sentence until its tokens
    /// are used up, which a little chance prevents.
    pub temperature: f64 = 0.2,
    /// Seed of the first attempt of each call, so that a run can be repeated where a server takes one.
    pub seed: u64 = 1,
    /// Commands by name that check the changes of writers whose skill names one (spec 10.10): a program and its arguments.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, Vec<String>> = BTreeMap::new(),
    /// Token budgets.
    pub budget: Budget = Budget::default(),
    /// Limits.
    pub limits: Limits = Limits::default(),
    /// The run only plans: once it has a list, it is `planned`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan_only: bool = false,
    /// `PROVIDER/MODEL` that was chosen at the start, so that a resume goes on with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String> = None,
}
}
