//! Prompts of plan, refinement, execution and merge.

use callsheet_core::fence::fence;
use callsheet_core::nouns::{Skill, SkillLayer, ToolSpec};
use callsheet_core::prompt::{Note, PromptError};

use crate::skill::skill_input_requirements;

use super::excerpt::cut_tokens;
use super::fragment::{CurrentFile, Environment, Fill, Retry, tool_instructions};
use super::{PromptKey, Rendered, Templates};

/// Fills a template.
pub(super) fn rendered(templates: &Templates, key: PromptKey, fill: Fill) -> Result<Rendered, PromptError> {
    templates.render(key, fill.values())
}

/// Turns a request into a list (spec 2.3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanPrompt {
    /// `Catalog::render`.
    pub skill_catalog: String,
    /// Where the run takes place.
    pub environment: Environment,
    /// The project's description. May be empty.
    pub project_description: String,
    /// Paths of the project's files, including a note about those left out. May be empty.
    pub project_files: Vec<String>,
    /// The file that a person has open.
    pub current_file: Option<CurrentFile>,
    /// Paths of files that a person has open.
    pub open_files: Vec<String>,
    /// The request, verbatim.
    pub user_prompt: String,
    /// The rejected list of the previous attempt.
    pub retry: Option<Retry>,
}

impl PlanPrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(PromptKey::Plan);
        fill.catalog(&self.skill_catalog);
        fill.place(&self.environment, &self.project_description);
        fill.paths("project_files", "Project files", &self.project_files);
        match &self.current_file {
            Some(file) => {
                let language = if file.language.is_empty() { "text" } else { &file.language };
                fill.quoted("current_file", &format!("Current File - {}", file.path), language, &file.text);
            }
            None => fill.plain("current_file", ""),
        }
        fill.paths("open_files", "Open files", &self.open_files);
        fill.quoted("user_prompt", "Original prompt", "text", &self.user_prompt);
        fill.retry(self.retry.as_ref());
        rendered(templates, PromptKey::Plan, fill)
    }
}

/// Makes one task precise and chooses its tool calls (spec 2.5, 3.7).
#[derive(Clone, Debug, PartialEq)]
pub struct RefinementPrompt {
    /// The pinned skill of the task.
    pub skill: Skill,
    /// The tools that the skill may use and that are registered and enabled.
    pub tools: Vec<ToolSpec>,
    /// Where the run takes place.
    pub environment: Environment,
    /// The project's description. May be empty.
    pub project_description: String,
    /// The request, verbatim.
    pub original_prompt: String,
    /// Blocks of the references for refinement (spec 5.8, 5.9).
    pub reference_contents: String,
    /// The task in REFINEMENT form (spec 9).
    pub task_data: String,
    /// Text forms of the issues about the current references, from before any reply.
    pub checked: String,
    /// Text forms of the issues of the previous attempt, with raw blocks.
    pub issues: String,
}

impl RefinementPrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(PromptKey::Refinement);
        let details = if self.skill.refinement.is_empty() { &self.skill.description } else { &self.skill.refinement };
        fill.plain("skill_details", details);
        let requirements = skill_input_requirements(&self.skill);
        let requirements = if details.contains(requirements) { "" } else { requirements };
        fill.titled("skill_input_requirements", "Input requirements", requirements);
        fill.plain("tool_instructions", &tool_instructions(&self.tools));
        fill.place(&self.environment, &self.project_description);
        fill.quoted("original_prompt", "Original prompt", "text", &self.original_prompt);
        fill.material("task_reference_contents", &self.reference_contents);
        fill.titled("task_data", "Task", &self.task_data);
        if self.issues.trim().is_empty() {
            fill.issues("issues", Note::IssuesReferences, &self.checked);
        } else {
            let issues = [self.checked.as_str(), &self.issues].join("\n");
            fill.issues("issues", Note::IssuesReply, &issues);
        }
        rendered(templates, PromptKey::Refinement, fill)
    }
}

/// The kind of reply that an execution asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExecutionKind {
    /// A result (spec 3.8).
    #[default]
    Plain,
    /// A result with changes (spec 3.9).
    Write,
    /// An answer in prose, from material that comes before the request (spec 2.3).
    Direct,
    /// Changes, from the same kind of material.
    DirectWrite,
    /// The text of one new file: the reply is the file (spec 3.9).
    Document {
        /// Its path.
        path: String,
    },
    /// A tool conversation (spec 10.7).
    Loop {
        /// Tools that are called by text, for a provider without tool calling. Empty if calls are native or there are
        /// no tools.
        text_tools: Vec<ToolSpec>,
    },
}

/// Executes one task, or one execution run of it (spec 10.4).
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionPrompt {
    /// The kind of reply that it asks for.
    pub kind: ExecutionKind,
    /// The pinned skill of the task, or the built-in reader (spec 7.8).
    pub skill: Skill,
    /// Where the run takes place.
    pub environment: Environment,
    /// The project's description. May be empty.
    pub project_description: String,
    /// The request, verbatim.
    pub original_prompt: String,
    /// Reference blocks, `## Tool Calls` and tool outputs, cut to their budgets (spec 5.8, 10.4).
    pub precursor: String,
    /// What is needed.
    pub need: String,
    /// Expected output.
    pub expected: String,
    /// Text forms of the issues of the previous attempt, with raw blocks.
    pub issues: String,
}

impl ExecutionPrompt {
    /// The path of the new file, if the reply is its text.
    pub fn document(&self) -> Option<&str> {
        match &self.kind {
            ExecutionKind::Document { path } => Some(path),
            _ => None,
        }
    }

    /// The template it uses.
    pub fn key(&self) -> PromptKey {
        match self.kind {
            ExecutionKind::Plain => PromptKey::Execution,
            ExecutionKind::Write => PromptKey::ExecutionWrite,
            ExecutionKind::Direct => PromptKey::Direct,
            ExecutionKind::DirectWrite => PromptKey::DirectWrite,
            ExecutionKind::Document { .. } => PromptKey::Document,
            ExecutionKind::Loop { .. } => PromptKey::ExecutionLoop,
        }
    }

    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(self.key());
        match &self.kind {
            ExecutionKind::Loop { text_tools } if !text_tools.is_empty() => {
                let tools = Note::LoopTextTools.fill(&[("tools", &tool_instructions(text_tools))]);
                fill.plain("skill_definition", &format!("{}\n\n{tools}", self.skill.execution));
            }
            ExecutionKind::Direct | ExecutionKind::DirectWrite | ExecutionKind::Document { .. } => {
                // Bundled skills say how to use tools, and otherwise only what the request itself says. A person's
                // skill may say more.
                let bundled = self.skill.source.layer == SkillLayer::Bundled;
                fill.plain("skill_definition", if bundled { "" } else { &self.skill.execution });
            }
            _ => fill.plain("skill_definition", &self.skill.execution),
        }
        fill.place(&self.environment, &self.project_description);
        fill.material("precursor", &self.precursor);
        match &self.kind {
            ExecutionKind::Direct | ExecutionKind::DirectWrite => fill.plain("request", &self.need),
            ExecutionKind::Document { path } => {
                fill.plain("request", &self.need);
                fill.plain("path", path);
            }
            _ => {
                fill.quoted("original_prompt", "Original prompt", "text", &self.original_prompt);
                fill.query(&self.need, &self.expected);
            }
        }
        fill.issues("issues", Note::IssuesReply, &self.issues);
        rendered(templates, self.key(), fill)
    }
}

/// Merges the documents of several execution runs (spec 3.12).
#[derive(Clone, Debug, PartialEq)]
pub struct MergePrompt {
    /// The pinned skill of the task.
    pub skill: Skill,
    /// The request, verbatim.
    pub original_prompt: String,
    /// What is needed.
    pub need: String,
    /// Expected output.
    pub expected: String,
    /// Run label and document, in run order.
    pub run_documents: Vec<(String, String)>,
    /// Text forms of the issues of the previous attempt.
    pub issues: String,
}

/// Answers the request from the results of several tasks (spec 2.15).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinPrompt {
    /// The request, verbatim.
    pub original_prompt: String,
    /// Accepted follow-ups, verbatim, in order.
    pub follow_ups: Vec<String>,
    /// Name and document of each task, in order.
    pub results: Vec<(String, String)>,
}

impl JoinPrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(PromptKey::Join);
        fill.quoted("original_prompt", "Original prompt", "text", &self.original_prompt);
        fill.quoted_each("follow_up_prompts", "Follow-ups", &self.follow_ups);
        fill.plain("task_results", &documents(self.results.iter().map(|(name, text)| (name, text.as_str()))));
        rendered(templates, PromptKey::Join, fill)
    }
}

/// Documents, each under its title in a fence that it cannot close.
fn documents<'a>(documents: impl Iterator<Item = (&'a String, impl AsRef<str>)>) -> String {
    let blocks = documents.map(|(title, text)| format!("### {title}\n\n{}", fence("markdown", text.as_ref())));
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Tokens for all run documents together, divided evenly.
const RUN_DOCUMENTS: u32 = 24_000;

impl MergePrompt {
    /// System and user text.
    ///
    /// # Errors
    /// If the template is broken.
    pub fn render(&self, templates: &Templates) -> Result<Rendered, PromptError> {
        let mut fill = Fill::new(PromptKey::Merge);
        fill.plain("skill_definition", &self.skill.execution);
        fill.quoted("original_prompt", "Original prompt", "text", &self.original_prompt);
        fill.query(&self.need, &self.expected);
        let runs = u32::try_from(self.run_documents.len()).unwrap_or(u32::MAX).max(1);
        let share = (RUN_DOCUMENTS / runs).saturating_sub(50);
        let cut = self.run_documents.iter().map(|(label, document)| (label, cut_tokens(document, share)));
        fill.plain("run_documents", &documents(cut));
        fill.issues("issues", Note::IssuesReply, &self.issues);
        rendered(templates, PromptKey::Merge, fill)
    }
}
