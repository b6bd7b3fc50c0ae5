//! Putting a prompt together: what the call is about is taken from the run at once (`gather`), files and pages are read
//! when the call is made (`render`), so that references are never older than the call (spec 2.8).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::prompt::Note;
use callsheet_core::run::{Asked, ExecRun, Run, TaskRun};
use callsheet_core::spec::{BlobId, Phase, Skill, SkillMode, TokenCount, ToolSpec};
use callsheet_core::template::DataSource;
use callsheet_format::grammar::Form;
use callsheet_format::prompt::{
    ContinuationPrompt, ExecutionKind, ExecutionPrompt, HandlerPrompt, IterationPrompt, MergePrompt, PlanPrompt,
    RefinementPrompt, Rendered, Retry,
};
use serde::{Deserialize, Serialize};

use crate::ports::{Capabilities, Constraint, Message, Model, ModelFault, ModelInfo, ModelRequest, NativeTool};
use crate::references::{Allowance, Level, Request, Resolved, Wanted, resolve};

use super::constraint::Notation;
use super::handler::Sources;
use super::known::{self, Texts};
use super::work::Work;
use super::{DriveFault, World, constraint, conversation, handler};

/// From here on a window is long enough for replies with reasoning.
const LONG_WINDOW: u32 = 65_536;

/// A prompt as recorded: the request exactly as sent, and what of the project it showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// The canonical request.
    pub request: ModelRequest,
    /// Project files shown whole, with the hash of what was shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shown_in_full: BTreeMap<String, BlobId>,
    /// Project files shown in part, with the hash of the whole file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shown_in_part: BTreeMap<String, BlobId>,
    /// Of a handler: the files it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<DataSource>,
    /// Of a handler: the strongest source that gave a file (spec "Templates" 5).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context_source: String,
    /// Of a handler: files that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Tokens it has by estimate and may have, for the fact of its call.
    #[serde(skip)]
    pub size: Option<(u32, u32)>,
    /// A token budget leaves its reply less than it might have had.
    #[serde(skip)]
    pub shortened: bool,
}

impl PromptRecord {
    /// The same prompt without its constraint; `None` if it has none.
    pub(super) fn freed(&self) -> Option<Self> {
        let constraint = self.request.constraint.as_ref()?;
        let mut freed = self.clone();
        freed.request.constraint = None;
        if let Some(form) = &constraint.form
            && let Some(Message::User { text }) = freed.request.messages.first_mut()
        {
            let kept = text.strip_suffix(&constraint::twin_note(form)).map(str::len);
            text.truncate(kept.unwrap_or(text.len()));
        }
        Some(freed)
    }
}

/// What a call is about, owned, so that the run may go on.
pub(super) struct Parts {
    job: Job,
    label: String,
    wanted: Vec<Wanted>,
    restricted: BTreeSet<String>,
    writer_before: bool,
    task_name: Option<String>,
    allowance: Allowance,
    allow_http: bool,
    texts: Texts,
    capabilities: Capabilities,
    notation: Notation,
    output_tokens: u32,
    description: String,
    /// Tokens a prompt may have, if the model's window is known.
    max_prompt: Option<u32>,
    /// Tokens that the budgets leave to prompt and reply.
    max_tokens: Option<u64>,
    /// They leave more when others return what they hold.
    may_wait: bool,
}

/// Why there is no prompt.
pub enum Unprepared {
    /// As if the model had refused it.
    Model(ModelFault),
    /// It has more tokens than it may have.
    TooLarge(u32, u32),
    /// Its tokens, and those that the budgets leave to it and its reply.
    NoRoom(u64, u64),
    /// A reference does not hold; the issue in words.
    Reference(String),
}

impl From<ModelFault> for Unprepared {
    fn from(fault: ModelFault) -> Self {
        Self::Model(fault)
    }
}

/// The first page that could not be fetched, or may not be.
fn lost_page(issues: &[Issue]) -> Option<&Issue> {
    let is_page = |issue: &&Issue| {
        let target = issue.place.item.as_deref().unwrap_or_default();
        target.starts_with("http://") || target.starts_with("https://")
    };
    issues.iter().filter(|issue| issue.severity == Severity::Error).find(is_page)
}

/// Offers and links, which cost a walk through the project, are there for models that take a grammar.
enum Job {
    Plan {
        prompt: PlanPrompt,
        offer: Option<constraint::ListOffer>,
    },
    /// With a follow-up it is a continuation.
    Iterate {
        prompt: IterationPrompt,
        follow_up: Option<String>,
        offer: Option<constraint::ListOffer>,
    },
    Refine {
        prompt: Box<RefinementPrompt>,
        links: Vec<String>,
        needs_call: bool,
    },
    Execute {
        prompt: Box<ExecutionPrompt>,
        outputs: String,
        later: Vec<Message>,
        tools: Vec<ToolSpec>,
    },
    Merge(Box<MergePrompt>),
    /// A handler of a template.
    Handler {
        prompt: Box<HandlerPrompt>,
        later: Vec<Message>,
        tools: Vec<ToolSpec>,
        /// Tools the model knows by heart, in place of some of these.
        native: Vec<NativeTool>,
        sources: Sources,
        /// What holds its reply to the declared output.
        declared: Option<Constraint>,
    },
}

/// Takes from the run what the call needs.
pub(super) fn gather(world: &World, run: &Run, asked: &Asked, model: &dyn Model) -> Result<Parts, DriveFault> {
    let window = model.info().window;
    let capabilities = model.info().capabilities;
    let notation = Notation::of(model.info(), &world.refused_constraints);
    let task = asked.key.task.as_ref().and_then(|slug| run.task(slug));
    let skill_limit = task.and_then(|task| task.skill.as_ref()).and_then(|skill| skill.limits.reference_tokens);
    if let Some(task) = task.filter(|task| task.is_handler()) {
        return handler_parts(world, run, asked, task, model);
    }
    let wanted = task.map(|task| wanted(run, task, asked)).unwrap_or_default();
    let mut parts = Parts {
        job: job(world, run, asked, model.info(), notation)?,
        label: callsheet_core::view::call_words(&asked.key, run.part(&asked.key)),
        restricted: run.no_longer_relevant().iter().cloned().collect(),
        writer_before: task.is_some_and(|task| known::writer_before(run, &task.task.slug)),
        task_name: task.map(|task| task.task.name.clone()),
        allowance: Allowance::new(&run.settings().budget, skill_limit, window, asked.budget_scale),
        allow_http: run.settings().allow_http,
        texts: Texts::of(world, run, &wanted),
        wanted,
        capabilities,
        notation,
        output_tokens: output_tokens(asked.key.phase, task, window),
        description: known::project_description(world),
        max_prompt: window.map(|window| share(window, run.settings().limits.max_context_fraction)),
        max_tokens: asked.max_tokens,
        may_wait: asked.may_wait,
    };
    if let Job::Plan { offer: Some(offer), .. } | Job::Iterate { offer: Some(offer), .. } = &parts.job {
        parts.output_tokens = offer.tokens();
    }
    parts.describe();
    Ok(parts)
}

/// The call of a handler: its own files and budgets, and the conversation so far.
fn handler_parts(
    world: &World,
    run: &Run,
    asked: &Asked,
    task: &TaskRun,
    model: &dyn Model,
) -> Result<Parts, DriveFault> {
    let capabilities = model.info().capabilities;
    let offered = handler::offered(world, run, task);
    let text_tools = if capabilities.tools { Vec::new() } else { offered.clone() };
    let exec = asked.key.run.as_ref().and_then(|id| task.run(id));
    let exec = exec.ok_or_else(|| DriveFault::defect("a call of an unknown execution run"))?;
    let handler::Told { prompt, wanted, fraction, sources, declared } = handler::told(world, run, task, &text_tools)?;
    let window = model.info().window.unwrap_or(handler::UNKNOWN_WINDOW);
    let fraction = fraction.unwrap_or(run.settings().limits.max_context_fraction);
    Ok(Parts {
        job: Job::Handler {
            prompt: Box::new(prompt),
            later: conversation::later(world, run, task, exec, asked)?,
            native: native_tools(model, &offered),
            tools: offered,
            sources,
            declared: declared.and_then(|schema| constraint::declared(model.info(), schema)),
        },
        label: callsheet_core::view::call_words(&asked.key, run.part(&asked.key)),
        restricted: BTreeSet::new(),
        writer_before: false,
        task_name: Some(task.task.name.clone()),
        allowance: handler::allowance(window, asked.budget_scale),
        allow_http: false,
        texts: Texts::of(world, run, &wanted),
        wanted,
        capabilities,
        notation: Notation::Free,
        output_tokens: output_tokens(Phase::Execute, Some(task), model.info().window),
        description: String::new(),
        max_prompt: Some(share(window, fraction)),
        max_tokens: asked.max_tokens,
        may_wait: asked.may_wait,
    })
}

/// The native tools of a model that stand for nothing but what is offered (spec "Templates" 14).
fn native_tools(model: &dyn Model, offered: &[ToolSpec]) -> Vec<NativeTool> {
    let is_offered = |name: &String| offered.iter().any(|tool| tool.name == *name);
    model.native_tools().iter().filter(|tool| tool.executes.iter().all(is_offered)).cloned().collect()
}

/// Hard cap of a reply. A quarter of a small window is left to it; a long or unknown window takes thinking models.
fn output_tokens(phase: Phase, task: Option<&TaskRun>, window: Option<u32>) -> u32 {
    let writes = task.and_then(|task| task.skill.as_ref()).is_some_and(|skill| skill.writes_files);
    let plain = match phase {
        Phase::Plan | Phase::Iterate | Phase::Continue => 3_072,
        Phase::Refine => 2_048,
        Phase::Execute if writes => 8_192,
        Phase::Execute | Phase::Merge => 4_096,
    };
    match window {
        Some(window) if window < LONG_WINDOW => plain.min((window / 4).max(256)),
        _ => plain * 2,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, which is wanted")]
fn share(window: u32, fraction: f64) -> u32 {
    (f64::from(window) * fraction).floor() as u32
}

/// References of the unit with those carried along from the summaries of producers (spec 2.12).
fn wanted(run: &Run, task: &TaskRun, asked: &Asked) -> Vec<Wanted> {
    let own = match (&asked.key.phase, &asked.key.run) {
        (Phase::Execute, Some(id)) => task.run(id).map(|exec| exec.input.references.clone()).unwrap_or_default(),
        (Phase::Refine, _) => task.task.references.clone(),
        _ => return Vec::new(),
    };
    let carried: Vec<Wanted> = if asked.key.phase == Phase::Execute { known::carried(run, &own) } else { Vec::new() };
    own.into_iter().map(|reference| Wanted { reference, carried: false }).chain(carried).collect()
}

fn job(world: &World, run: &Run, asked: &Asked, model: &ModelInfo, notation: Notation) -> Result<Job, DriveFault> {
    let held = notation != Notation::Free;
    let window = model.window;
    match asked.key.phase {
        Phase::Plan => plan(world, run, asked, window, held),
        Phase::Iterate | Phase::Continue => iterate(world, run, asked, window, held),
        Phase::Refine => refine(world, run, asked, held),
        Phase::Execute => execute(world, run, asked, model.capabilities),
        Phase::Merge => merge(world, run, asked),
    }
}

fn owner<'a>(run: &'a Run, asked: &Asked) -> Result<&'a TaskRun, DriveFault> {
    let slug = asked.key.task.as_ref().ok_or_else(|| DriveFault::defect("a call of a task names none"))?;
    run.task(slug).ok_or_else(|| DriveFault::defect(format!("a call of the unknown task {slug}")))
}

/// The refused proposal and its issues, for plan and iteration.
fn retry(world: &World, run: &Run, asked: &Asked) -> Result<Option<Retry>, DriveFault> {
    let Some(attempts) = run.attempts(&asked.key) else { return Ok(None) };
    let Some(refused) = &attempts.refused else { return Ok(None) };
    Ok(Some(Retry { proposal: known::proposal(world, run, refused)?, issues: known::issues_text(&attempts.issues) }))
}

fn plan(world: &World, run: &Run, asked: &Asked, window: Option<u32>, held: bool) -> Result<Job, DriveFault> {
    let loaded = world.skills(run.settings());
    let suggested = world.offer.as_ref().map(|offer| offer.suggestions(run.prompt())).unwrap_or_default();
    let mut skill_catalog = loaded.catalog.render();
    if !suggested.is_empty() {
        let names = suggested.join(", ");
        skill_catalog.push_str(&format!("\n\n{}", Note::TemplateSuggestions.fill(&[("names", &names)])));
    }
    let prompt = PlanPrompt {
        skill_catalog,
        environment: world.environment.clone(),
        project_description: String::new(),
        current_file: known::current_file(world),
        open_files: world.open_files.clone(),
        user_prompt: run.prompt().to_owned(),
        retry: retry(world, run, asked)?,
    };
    Ok(Job::Plan { prompt, offer: held.then(|| constraint::ListOffer::new(world, run, &loaded, window)) })
}

fn iterate(world: &World, run: &Run, asked: &Asked, window: Option<u32>, held: bool) -> Result<Job, DriveFault> {
    let loaded = world.skills(run.settings());
    // A continuation begins anew: it hears of all that did not come out, whoever has heard of it before.
    let task_problems = match asked.key.phase {
        Phase::Continue => known::problems_text(run, run.all_problems()),
        _ => known::problems_text(run, run.problems()),
    };
    let prompt = IterationPrompt {
        skill_catalog: loaded.catalog.render(),
        environment: world.environment.clone(),
        project_description: String::new(),
        original_prompt: run.prompt().to_owned(),
        follow_ups: run.follow_ups().to_vec(),
        goals_summary: run.goals().text.clone(),
        completed_outputs: known::completed_outputs(run),
        current_task_list: known::outstanding_list(run),
        task_problems,
        retry: retry(world, run, asked)?,
    };
    Ok(Job::Iterate {
        prompt,
        follow_up: run.pending_follow_up().filter(|_| asked.key.phase == Phase::Continue).map(str::to_owned),
        offer: held.then(|| constraint::ListOffer::new(world, run, &loaded, window)),
    })
}

fn refine(world: &World, run: &Run, asked: &Asked, held: bool) -> Result<Job, DriveFault> {
    let task = owner(run, asked)?;
    let skill = world.pinned(task.skill.as_ref())?;
    let issues = run.attempts(&asked.key).map(|attempts| attempts.issues.as_slice()).unwrap_or_default();
    let tools = world.offered_tools(&skill.policy.tools);
    let reads_only_calls = skill.policy.mode == SkillMode::Template || task.task.references.is_empty();
    let needs_call = skill.policy.needs_arguments && reads_only_calls;
    let prompt = RefinementPrompt {
        tools,
        environment: world.environment.clone(),
        project_description: String::new(),
        original_prompt: run.prompt().to_owned(),
        reference_contents: String::new(),
        task_data: known::task_text(&task.task, callsheet_format::sheet::TaskForm::Refinement),
        checked: known::issues_text(&task.check_issues),
        issues: known::issues_text(issues),
        skill,
    };
    let links = if held { constraint::task_links(world, run, task) } else { Vec::new() };
    Ok(Job::Refine { prompt: Box::new(prompt), links, needs_call })
}

fn execute(world: &World, run: &Run, asked: &Asked, capabilities: Capabilities) -> Result<Job, DriveFault> {
    let task = owner(run, asked)?;
    let exec = asked.key.run.as_ref().and_then(|id| task.run(id));
    let exec: &ExecRun = exec.ok_or_else(|| DriveFault::defect("a call of an unknown execution run"))?;
    let skill: Skill = world.pinned(task.skill.as_ref())?;
    let offered =
        if exec.is_loop && !asked.without_tools { world.offered_tools(&skill.policy.tools) } else { Vec::new() };
    let kind = if exec.is_loop {
        ExecutionKind::Loop { text_tools: if capabilities.tools { Vec::new() } else { offered.clone() } }
    } else if skill.policy.writes_files {
        ExecutionKind::Write
    } else {
        ExecutionKind::Plain
    };
    let later = if exec.is_loop { conversation::later(world, run, task, exec, asked)? } else { Vec::new() };
    let issues = match (exec.is_loop, run.attempts(&asked.key)) {
        (false, Some(attempts)) => known::issues_text(&attempts.issues),
        _ => String::new(),
    };
    let outputs = if exec.is_loop {
        String::new()
    } else {
        conversation::fixed_outputs(world, run, task, exec, asked.budget_scale)?
    };
    let prompt = ExecutionPrompt {
        kind,
        environment: world.environment.clone(),
        project_description: String::new(),
        original_prompt: run.prompt().to_owned(),
        precursor: String::new(),
        need: task.task.need.clone(),
        expected: task.task.expected.clone(),
        issues,
        skill,
    };
    Ok(Job::Execute { prompt: Box::new(prompt), outputs, later, tools: offered })
}

fn merge(world: &World, run: &Run, asked: &Asked) -> Result<Job, DriveFault> {
    let task = owner(run, asked)?;
    let mut run_documents = Vec::new();
    for part in task.parts() {
        let document = match &part.result.document {
            Some(blob) => part.text(run, task, &world.text(blob)?),
            None => String::new(),
        };
        run_documents.push((part.title(task).to_owned(), document));
    }
    let issues = run.attempts(&asked.key).map(|attempts| attempts.issues.as_slice()).unwrap_or_default();
    let prompt = MergePrompt {
        skill: world.pinned(task.skill.as_ref())?,
        original_prompt: run.prompt().to_owned(),
        need: task.task.need.clone(),
        expected: task.task.expected.clone(),
        run_documents,
        issues: known::issues_text(issues),
    };
    Ok(Job::Merge(Box::new(prompt)))
}

impl Parts {
    /// The description goes into every prompt that has room for it.
    fn describe(&mut self) {
        let text = std::mem::take(&mut self.description);
        match &mut self.job {
            Job::Plan { prompt, .. } => prompt.project_description = text,
            Job::Iterate { prompt, .. } => prompt.project_description = text,
            Job::Refine { prompt, .. } => prompt.project_description = text,
            Job::Execute { prompt, .. } => prompt.project_description = text,
            Job::Merge(_) | Job::Handler { .. } => {}
        }
    }

    /// Reads what the prompt shows and fills the template.
    ///
    /// # Errors
    /// It is too large, was cancelled, or a page that an execution refers to cannot be had: without it nothing is asked.
    pub async fn render(mut self, work: &Work) -> Result<PromptRecord, Unprepared> {
        let world = &work.world;
        let level = if matches!(self.job, Job::Refine { .. }) { Level::Preview } else { Level::Whole };
        let request = Request {
            references: &self.wanted,
            level,
            allowance: self.allowance,
            task: self.task_name.as_deref(),
            writer_before: self.writer_before,
            restricted: &self.restricted,
        };
        let sources = self.texts.sources(world, self.allow_http);
        let resolved = resolve(&request, &sources, &work.cancel).await.map_err(|_| ModelFault::Cancelled)?;
        if let (Job::Execute { .. }, Some(page)) = (&self.job, lost_page(&resolved.issues)) {
            return Err(Unprepared::Reference(page.to_string()));
        }
        let filled = self.fill(world, &resolved)?;
        let mut request = self.request(filled, &resolved);
        let size = self.check_window(&request)?;
        let shortened = self.hold_to_budget(&mut request)?;
        let (mut shown, mut word, mut warnings) = (Vec::new(), "", Vec::new());
        if let Job::Handler { sources, .. } = &mut self.job {
            shown = handler::shown(&resolved, sources);
            (word, warnings) = (sources.word, std::mem::take(&mut sources.warnings));
        }
        Ok(PromptRecord {
            request,
            shown_in_full: resolved.shown_in_full,
            shown_in_part: resolved.shown_in_part,
            sources: shown,
            context_source: word.to_owned(),
            warnings,
            size,
            shortened,
        })
    }

    /// `max_context_fraction`, before anything is sent: tokens of the prompt, and how many it may have.
    fn check_window(&self, request: &ModelRequest) -> Result<Option<(u32, u32)>, Unprepared> {
        let Some(max) = self.max_prompt else { return Ok(None) };
        let mut count = TokenCount::default();
        count.add(&request.system);
        request.messages.iter().for_each(|message| count.add(message.text()));
        let used = count.tokens();
        if used <= max { Ok(Some((used, max))) } else { Err(Unprepared::TooLarge(used, max)) }
    }

    /// Holds the reply to what the token budgets leave beside the prompt; true if that is less than it might have had
    /// (spec "Templates" 9).
    fn hold_to_budget(&self, request: &mut ModelRequest) -> Result<bool, Unprepared> {
        let Some(left) = self.max_tokens else { return Ok(false) };
        let used = request.estimated_tokens();
        let room = left.saturating_sub(used);
        let shortened = room < u64::from(request.max_output_tokens);
        if room == 0 || (shortened && self.may_wait) {
            return Err(Unprepared::NoRoom(used, left));
        }
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        request.max_output_tokens = request.max_output_tokens.min(room);
        Ok(shortened)
    }

    fn fill(&mut self, world: &World, resolved: &Resolved) -> Result<Rendered, ModelFault> {
        let templates = &world.templates;
        let rendered = match &mut self.job {
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
        };
        rendered.map_err(|fault| ModelFault::Configuration { message: fault.to_string() })
    }

    fn request(&mut self, rendered: Rendered, resolved: &Resolved) -> ModelRequest {
        // Before the tools are taken: a turn that offers them natively is not constrained.
        let mut constraint = self.form(resolved).and_then(|form| self.notation.constraint(form));
        // A handler that may call tools, or ask, has more to say than its declared output.
        if let Job::Handler { declared, tools, .. } = &mut self.job
            && tools.is_empty()
        {
            constraint = declared.take();
        }
        let mut messages = vec![Message::User { text: rendered.user }];
        let (mut tools, mut native_tools) = (Vec::new(), Vec::new());
        if let Job::Handler { native, .. } = &mut self.job
            && self.capabilities.tools
        {
            native_tools = std::mem::take(native);
        }
        if let Job::Execute { later, tools: offered, .. } | Job::Handler { later, tools: offered, .. } = &mut self.job {
            messages.append(later);
            if self.capabilities.tools {
                tools = std::mem::take(offered);
            }
        }
        if let Some(form) = constraint.as_ref().and_then(|constraint| constraint.form.as_ref())
            && let Some(Message::User { text }) = messages.first_mut()
        {
            text.push_str(&constraint::twin_note(form));
        }
        ModelRequest {
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
        }
    }

    /// The form of the whole reply, where something can hold it. Turns of a loop keep the provider's tool calling.
    fn form(&self, resolved: &Resolved) -> Option<Form> {
        if self.notation == Notation::Free {
            return None;
        }
        Some(match &self.job {
            Job::Plan { offer, .. } => offer.as_ref()?.plan(),
            Job::Iterate { offer, follow_up: Some(_), .. } => offer.as_ref()?.continuation(),
            Job::Iterate { offer, .. } => offer.as_ref()?.iteration(),
            Job::Refine { prompt, links, needs_call } => constraint::refinement(links, &prompt.tools, *needs_call),
            Job::Execute { prompt, tools, .. } => match prompt.kind {
                ExecutionKind::Loop { .. } if self.capabilities.tools && !tools.is_empty() => return None,
                ExecutionKind::Loop { .. } => constraint::loop_turn(tools),
                ExecutionKind::Write => constraint::write_execution(resolved),
                ExecutionKind::Plain => constraint::execution(),
            },
            Job::Handler { .. } => return None,
            Job::Merge(_) => constraint::merge(),
        })
    }
}
