//! Renders a prompt. Files and pages are read when the call is made, so references are never older than the call (spec
//! 2.8).

use std::collections::BTreeMap;

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::nouns::BlobId;
use callsheet_core::template::DataSource;
use callsheet_format::grammar::Form;
use callsheet_format::prompt::{ContinuationPrompt, Example, ExecutionKind, Rendered};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::ports::{Message, ModelFault, ModelInfo, ModelRequest};
use crate::prompting::assemble::{Job, PromptDraft};
use crate::prompting::constraint::Notation;
use crate::prompting::fault::PromptFault;
use crate::prompting::size::{check_window, hold_to_budget};
use crate::prompting::{constraint, handler};
use crate::references::{Level, Request, Resolved, resolve};
use crate::rules::Omitted;
use crate::services::Services;

/// A recorded prompt: the request exactly as sent, and what it showed of the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// The canonical request.
    pub request: ModelRequest,
    /// Project files that were shown completely, with the hash of the shown content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shown_in_full: BTreeMap<String, BlobId>,
    /// Project files that were shown in part, with the hash of the whole file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shown_in_part: BTreeMap<String, BlobId>,
    /// The path of the new file, if the reply is its text (spec 3.9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// For a handler: the files that it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<DataSource>,
    /// For a handler: the strongest source that provided a file (spec "Templates" 5).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context_source: String,
    /// Rules of the project that did not fit, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules_omitted: Vec<String>,
    /// For a handler: missing files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Its estimated tokens and the most that it may have, for the fact of its call.
    #[serde(skip)]
    pub size: Option<(u32, u32)>,
    /// Whether a token budget leaves its reply less than it could have had.
    #[serde(skip)]
    pub shortened: bool,
}

impl PromptRecord {
    /// The same prompt without its constraint. `None` if it has none.
    pub(crate) fn freed(&self) -> Option<Self> {
        let constraint = self.request.constraint.as_ref()?;
        let mut freed = self.clone();
        freed.request.constraint = None;
        if let Some(form) = &constraint.form {
            let note = constraint::twin_note(form);
            for message in &mut freed.request.messages {
                let Message::User { text, .. } = message else { continue };
                text.truncate(text.strip_suffix(&note).map_or(text.len(), str::len));
            }
        }
        Some(freed)
    }
}

/// Why a question has no answer, for a person.
const NOTHING_TO_READ: &str =
    "there is nothing to read: this folder has no text files, or none that match the words of the request";

/// Turns of examples.
fn turns(examples: Vec<Example>) -> Vec<Message> {
    let mut messages = Vec::with_capacity(examples.len() * 2 + 1);
    for example in examples {
        messages.push(Message::user(example.user));
        messages.push(Message::Assistant { text: example.assistant, calls: Vec::new() });
    }
    messages
}

/// Tells which pictures the model does not get.
fn tell_of_pictures(services: &Services, model: &ModelInfo, resolved: &Resolved) {
    if resolved.unseen {
        services.tell_unseen(model);
    }
    resolved.too_large.iter().for_each(|path| services.tell_too_large(path));
}

/// The first page that could not be fetched, or may not be.
fn lost_page(issues: &[Issue]) -> Option<&Issue> {
    let is_page = |issue: &&Issue| {
        let target = issue.place.item.as_deref().unwrap_or_default();
        target.starts_with("http://") || target.starts_with("https://")
    };
    issues.iter().filter(|issue| issue.severity == Severity::Error).find(is_page)
}

impl PromptDraft {
    /// Adds the project's description to every prompt with room for it.
    pub(super) fn describe(&mut self) {
        let text = std::mem::take(&mut self.description);
        match &mut self.job {
            Job::Plan { prompt, .. } => prompt.project_description = text,
            Job::Iterate { prompt, .. } => prompt.project_description = text,
            Job::Refine { prompt, .. } => prompt.project_description = text,
            Job::Execute { prompt, .. } => prompt.project_description = text,
            Job::Route(_) | Job::Merge(_) | Job::Join { .. } | Job::Handler { .. } => {}
        }
    }

    /// Reads what the prompt shows and fills the template.
    ///
    /// # Errors
    /// The prompt is too large or was cancelled, or a page that an execution refers to cannot be fetched, without which
    /// the model is not asked.
    pub async fn render(
        mut self,
        services: &Services,
        cancel: &CancellationToken,
    ) -> Result<PromptRecord, PromptFault> {
        // If a result were cut, its part would be joined as if it were complete.
        if let Job::Join { tokens, .. } = &self.job
            && *tokens > self.allowance.prompt
        {
            return Err(PromptFault::TooLarge(*tokens, self.allowance.prompt));
        }
        // If nothing of the project can be shown, an answer about it would be made up.
        if let Job::Execute { prompt, .. } = &self.job
            && matches!(prompt.kind, ExecutionKind::Direct)
            && self.wanted.is_empty()
        {
            return Err(PromptFault::Reference(NOTHING_TO_READ.to_owned()));
        }
        let level = if matches!(self.job, Job::Refine { .. }) { Level::Preview } else { Level::Whole };
        let request = Request {
            references: &self.wanted,
            level,
            allowance: self.allowance,
            task: self.task_name.as_deref(),
            need: &self.need,
            writer_before: self.writer_before,
            restricted: &self.restricted,
            first_picture: self.model.capabilities.vision.then_some(self.pictures.len() + 1),
        };
        let sources = self.texts.sources(services, self.allow_http);
        let resolved = resolve(&request, &sources, cancel).await.map_err(|_| ModelFault::Cancelled)?;
        if let (Job::Execute { .. }, Some(page)) = (&self.job, lost_page(&resolved.issues)) {
            return Err(PromptFault::Reference(page.to_string()));
        }
        if let Job::Handler { sources, .. } = &self.job
            && let Some(file) = handler::lost_file(&resolved, sources)
        {
            return Err(PromptFault::Reference(file));
        }
        let filled = self.fill(services, &resolved)?;
        let mut request = self.request(filled, &resolved);
        let document = match &self.job {
            Job::Execute { prompt, .. } => prompt.document().map(str::to_owned),
            _ => None,
        };
        let size = check_window(&request, self.max_prompt)?;
        let shortened = hold_to_budget(&mut request, self.max_tokens, self.may_wait)?;
        let (mut shown, mut word, mut warnings) = (Vec::new(), "", Vec::new());
        if let Job::Handler { sources, .. } = &mut self.job {
            shown = handler::shown(&resolved, sources);
            (word, warnings) = (sources.word, std::mem::take(&mut sources.warnings));
        }
        Ok(PromptRecord {
            request,
            shown_in_full: resolved.shown_in_full,
            shown_in_part: resolved.shown_in_part,
            document,
            sources: shown,
            context_source: word.to_owned(),
            rules_omitted: self.omitted.iter().map(Omitted::words).collect(),
            warnings,
            size,
            shortened,
        })
    }

    fn fill(&mut self, services: &Services, resolved: &Resolved) -> Result<Rendered, ModelFault> {
        tell_of_pictures(services, &self.model, resolved);
        let held = self.form(resolved).map(|_| services.templates.held());
        let templates = held.as_ref().unwrap_or(&services.templates);
        let rendered = match &mut self.job {
            Job::Route(prompt) => prompt.render(templates),
            Job::Plan { prompt, .. } => prompt.render(templates),
            Job::Iterate { prompt, follow_up: Some(text), .. } => {
                let (state, follow_up) = (std::mem::take(prompt), std::mem::take(text));
                ContinuationPrompt { state, follow_up }.render(templates)
            }
            Job::Iterate { prompt, .. } => prompt.render(templates),
            Job::Refine { prompt, .. } => {
                prompt.reference_contents = resolved.text();
                prompt.render(templates)
            }
            Job::Execute { prompt, outputs, .. } => {
                let pieces = [resolved.text(), std::mem::take(outputs)];
                prompt.precursor = pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n");
                prompt.render(templates)
            }
            Job::Handler { prompt, .. } => {
                prompt.files = resolved.text();
                prompt.render(templates)
            }
            Job::Merge(prompt) => prompt.render(templates),
            Job::Join { prompt, .. } => prompt.render(templates),
        };
        rendered.map_err(|fault| ModelFault::Configuration { message: fault.to_string() })
    }

    fn request(&mut self, mut rendered: Rendered, resolved: &Resolved) -> ModelRequest {
        // This comes before the tools are taken: a turn that offers them natively is not constrained.
        let mut constraint = self.form(resolved).and_then(|form| self.notation.constraint(form));
        // A handler that may call tools, or ask, can say more than its declared output.
        if let Job::Handler { declared, tools, .. } = &mut self.job
            && tools.is_empty()
        {
            constraint = declared.take();
        }
        if let Some(form) = constraint.as_ref().and_then(|constraint| constraint.form.as_ref()) {
            rendered.user.push_str(&constraint::twin_note(form));
            // The examples are in the other form.
            rendered.examples.clear();
        }
        let mut messages = turns(rendered.examples);
        let pictures = std::mem::take(&mut self.pictures).into_iter().chain(resolved.pictures.iter().cloned());
        messages.push(Message::User { text: rendered.user, pictures: pictures.collect() });
        let (mut tools, mut native_tools) = (Vec::new(), Vec::new());
        if let Job::Handler { native, .. } = &mut self.job
            && self.model.capabilities.tools
        {
            native_tools = std::mem::take(native);
        }
        if let Job::Execute { later, tools: offered, .. } | Job::Handler { later, tools: offered, .. } = &mut self.job {
            messages.append(later);
            if self.model.capabilities.tools {
                tools = std::mem::take(offered);
            }
        }
        let mut request = ModelRequest {
            label: std::mem::take(&mut self.label),
            system: rendered.system,
            messages,
            tools,
            native_tools,
            constraint,
            max_output_tokens: self.output_tokens,
            temperature: None,
            seed: None,
            deadline: std::time::Duration::from_secs(600),
        };
        self.sampling.write(&mut request, self.model.capabilities);
        request
    }

    /// The form of the whole reply, if something can enforce it. Turns of a loop use the provider's tool calling.
    fn form(&self, resolved: &Resolved) -> Option<Form> {
        if self.notation == Notation::Free {
            return None;
        }
        Some(match &self.job {
            Job::Route(prompt) => constraint::route(prompt),
            Job::Plan { offer, .. } => offer.as_ref()?.plan(),
            Job::Iterate { offer, follow_up: Some(_), .. } => offer.as_ref()?.continuation(),
            Job::Iterate { offer, .. } => offer.as_ref()?.iteration(),
            Job::Refine { prompt, links, needs_call } => constraint::refinement(links, &prompt.tools, *needs_call),
            Job::Execute { prompt, tools, aim, .. } => match prompt.kind {
                ExecutionKind::Loop { .. } if self.model.capabilities.tools && !tools.is_empty() => return None,
                ExecutionKind::Loop { .. } => constraint::loop_turn(tools),
                ExecutionKind::Direct | ExecutionKind::Document { .. } => return None,
                ExecutionKind::Write | ExecutionKind::DirectWrite => {
                    let direct = matches!(prompt.kind, ExecutionKind::DirectWrite);
                    constraint::write_execution(resolved, aim, &prompt.skill.policy, direct)
                }
                ExecutionKind::Plain => constraint::execution(),
            },
            Job::Handler { .. } | Job::Join { .. } => return None,
            Job::Merge(_) => constraint::merge(),
        })
    }
}
