//! The templates and their placeholders (spec 8.7), as one table.

use std::fmt;
use std::str::FromStr;

use callsheet_core::nouns::{NEED_TOKENS, SKILL_TOKENS};
use callsheet_core::prompt::PromptError;

/// One of the templates of spec 8.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptKey {
    /// `task_creation_initial`.
    Plan,
    /// `task_direct`.
    Direct,
    /// `task_direct_write`.
    DirectWrite,
    /// `task_document`.
    Document,
    /// `task_execution`.
    Execution,
    /// `task_execution_loop`.
    ExecutionLoop,
    /// `task_execution_write`.
    ExecutionWrite,
    /// `task_handler`.
    Handler,
    /// `task_join`.
    Join,
    /// `task_list_continue`.
    Continuation,
    /// `task_list_iteration`.
    Iteration,
    /// `task_post_exec`.
    Merge,
    /// `task_refinement`.
    Refinement,
    /// `task_route`.
    Route,
}

/// The part of a template in which a placeholder belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Before the separator.
    System,
    /// After it.
    User,
}

/// How much of a fragment the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// All of it. For a person's words, which are never cut (spec 2.1), and for text that was already cut to its budget
    /// (5.8).
    Whole,
    /// Its first lines.
    Lines(usize),
    /// About this many tokens from its start and end.
    Tokens(u32),
}

/// A placeholder of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Name in the braces.
    pub name: &'static str,
    /// The part in which it belongs.
    pub part: Part,
    /// Whether a template without it is rejected.
    pub required: bool,
    /// How much of the fragment is shown.
    pub cap: Cap,
}

/// The block of the form (spec 8.7).
pub(super) const FORM_SLOT: &str = "form";

const fn slot(name: &'static str, cap: Cap) -> Slot {
    Slot { name, part: Part::User, required: false, cap }
}

const fn need(name: &'static str, cap: Cap) -> Slot {
    Slot { name, part: Part::User, required: true, cap }
}

/// Shows the form of the reply. Not needed if something enforces the form.
const FORM: Slot = Slot { name: FORM_SLOT, part: Part::System, required: false, cap: Cap::Whole };
const CATALOG: Slot = Slot { name: "skill_catalog", part: Part::System, required: true, cap: Cap::Tokens(8_000) };
const ENVIRONMENT: Slot = slot("environment", Cap::Lines(8));
// The host cuts it, between rules.
const DESCRIPTION: Slot = slot("project_description", Cap::Whole);
const PROJECT_FILES: Slot = slot("project_files", Cap::Whole);
const ORIGINAL: Slot = need("original_prompt", Cap::Whole);
const SKILL: Slot = need("skill_definition", Cap::Tokens(SKILL_TOKENS));
const QUERY: Slot = need("query", Cap::Tokens(NEED_TOKENS));
const ISSUES: Slot = need("issues", Cap::Tokens(6_000));
const PROPOSAL: Slot = need("previous_proposal", Cap::Tokens(6_000));
const PROPOSAL_ISSUES: Slot = need("previous_proposal_issues", Cap::Tokens(6_000));
const FOLLOW_UPS: Slot = need("follow_up_prompts", Cap::Whole);
const GOALS: Slot = need("goals_summary", Cap::Tokens(2_000));
const OUTPUTS: Slot = need("precursor_with_completed_outputs", Cap::Tokens(24_000));
// A task that is not shown would be lost: a reply removes what it leaves out.
const CURRENT_LIST: Slot = need("current_task_list", Cap::Whole);
const PROBLEMS: Slot = need("task_problems", Cap::Tokens(6_000));

const SYSTEM: Slot = Slot { name: "system", part: Part::System, required: true, cap: Cap::Whole };
const FILES: Slot = Slot { name: "files", part: Part::System, required: true, cap: Cap::Whole };

const HANDLER: &[Slot] = &[
    SYSTEM,
    FILES,
    need("inherited_context", Cap::Whole),
    need("previous_outputs", Cap::Whole),
    need("related_material", Cap::Whole),
    need("inputs", Cap::Whole),
    need("task", Cap::Whole),
    need("expected_output", Cap::Whole),
    need("output_format", Cap::Whole),
    ISSUES,
];

const PLAN: &[Slot] = &[
    CATALOG,
    FORM,
    ENVIRONMENT,
    DESCRIPTION,
    PROJECT_FILES,
    slot("current_file", Cap::Lines(200)),
    slot("open_files", Cap::Lines(50)),
    need("user_prompt", Cap::Whole),
    PROPOSAL,
    PROPOSAL_ISSUES,
];

const REFINEMENT: &[Slot] = &[
    FORM,
    ENVIRONMENT,
    DESCRIPTION,
    ORIGINAL,
    need("skill_details", Cap::Tokens(6_000)),
    slot("skill_input_requirements", Cap::Tokens(2_000)),
    need("tool_instructions", Cap::Whole),
    need("task_reference_contents", Cap::Tokens(24_000)),
    need("task_data", Cap::Tokens(8_000)),
    ISSUES,
];

// What tasks of all skills share comes first, so that a provider processes it only once.
const EXECUTION: &[Slot] = &[FORM, DESCRIPTION, ORIGINAL, SKILL, need("precursor", Cap::Whole), QUERY, ISSUES];

// Only a task that makes calls needs to know where it runs.
const LOOP: &[Slot] = &[FORM, ENVIRONMENT, DESCRIPTION, ORIGINAL, SKILL, need("precursor", Cap::Whole), QUERY, ISSUES];

const ROUTE: &[Slot] = &[
    Slot { name: "skill_names", part: Part::System, required: true, cap: Cap::Tokens(4_000) },
    need("request", Cap::Tokens(2_000)),
];

// The material comes first, because any two requests about a project share it.
const MATERIAL: Slot = Slot { name: "precursor", part: Part::System, required: true, cap: Cap::Whole };
const REQUEST: Slot = need("request", Cap::Whole);

const DIRECT: &[Slot] = &[MATERIAL, SKILL, REQUEST, ISSUES];

// Its form also comes after the material.
const DIRECT_WRITE: &[Slot] = &[MATERIAL, SKILL, REQUEST, Slot { part: Part::User, ..FORM }, ISSUES];

const DOCUMENT: &[Slot] = &[MATERIAL, SKILL, REQUEST, need("path", Cap::Whole), ISSUES];

const MERGE: &[Slot] = &[FORM, SKILL, ORIGINAL, QUERY, need("run_documents", Cap::Tokens(24_000)), ISSUES];

// Results that do not fit are not joined.
const JOIN: &[Slot] = &[ORIGINAL, FOLLOW_UPS, need("task_results", Cap::Whole)];

const ITERATION: &[Slot] = &[
    CATALOG,
    FORM,
    ENVIRONMENT,
    DESCRIPTION,
    PROJECT_FILES,
    ORIGINAL,
    FOLLOW_UPS,
    GOALS,
    OUTPUTS,
    CURRENT_LIST,
    PROBLEMS,
    PROPOSAL,
    PROPOSAL_ISSUES,
];

const CONTINUATION: &[Slot] = &[
    CATALOG,
    FORM,
    ENVIRONMENT,
    DESCRIPTION,
    PROJECT_FILES,
    ORIGINAL,
    FOLLOW_UPS,
    GOALS,
    OUTPUTS,
    CURRENT_LIST,
    PROBLEMS,
    need("user_follow_up", Cap::Whole),
    PROPOSAL,
    PROPOSAL_ISSUES,
];

/// The other name of the iteration template.
const ITERATION_ALIAS: &str = "task_post_completion";

impl PromptKey {
    /// Every key, sorted by its text.
    pub const ALL: &'static [Self] = &[
        Self::Plan,
        Self::Direct,
        Self::DirectWrite,
        Self::Document,
        Self::Execution,
        Self::ExecutionLoop,
        Self::ExecutionWrite,
        Self::Handler,
        Self::Join,
        Self::Continuation,
        Self::Iteration,
        Self::Merge,
        Self::Refinement,
        Self::Route,
    ];

    /// The key: the file's name without `.md`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "task_creation_initial",
            Self::Direct => "task_direct",
            Self::DirectWrite => "task_direct_write",
            Self::Document => "task_document",
            Self::Execution => "task_execution",
            Self::ExecutionLoop => "task_execution_loop",
            Self::ExecutionWrite => "task_execution_write",
            Self::Handler => "task_handler",
            Self::Join => "task_join",
            Self::Continuation => "task_list_continue",
            Self::Iteration => "task_list_iteration",
            Self::Merge => "task_post_exec",
            Self::Refinement => "task_refinement",
            Self::Route => "task_route",
        }
    }

    /// File stems that hold this template, the canonical one first.
    pub fn stems(self) -> &'static [&'static str] {
        match self {
            Self::Plan => &["task_creation_initial"],
            Self::Direct => &["task_direct"],
            Self::DirectWrite => &["task_direct_write"],
            Self::Document => &["task_document"],
            Self::Execution => &["task_execution"],
            Self::ExecutionLoop => &["task_execution_loop"],
            Self::ExecutionWrite => &["task_execution_write"],
            Self::Handler => &["task_handler"],
            Self::Join => &["task_join"],
            Self::Continuation => &["task_list_continue"],
            Self::Iteration => &["task_list_iteration", ITERATION_ALIAS],
            Self::Merge => &["task_post_exec"],
            Self::Refinement => &["task_refinement"],
            Self::Route => &["task_route"],
        }
    }

    /// The placeholders of the template, in the order of spec 8.7.
    pub fn slots(self) -> &'static [Slot] {
        match self {
            Self::Plan => PLAN,
            Self::Refinement => REFINEMENT,
            Self::Route => ROUTE,
            Self::Direct => DIRECT,
            Self::DirectWrite => DIRECT_WRITE,
            Self::Document => DOCUMENT,
            Self::Execution | Self::ExecutionWrite => EXECUTION,
            Self::ExecutionLoop => LOOP,
            Self::Handler => HANDLER,
            Self::Merge => MERGE,
            Self::Join => JOIN,
            Self::Iteration => ITERATION,
            Self::Continuation => CONTINUATION,
        }
    }
}

impl fmt::Display for PromptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PromptKey {
    type Err = PromptError;

    fn from_str(text: &str) -> Result<Self, PromptError> {
        Self::ALL.iter().copied().find(|key| key.stems().contains(&text)).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|key| key.as_str()).collect();
            PromptError::UnknownKey { key: text.to_owned(), known: known.join(", ") }
        })
    }
}
