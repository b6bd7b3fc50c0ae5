//! Builds a prompt. The subject of the call is taken from the run at once; files and pages are read later, by
//! [`render`](super::render).

use std::collections::BTreeSet;

use callsheet_core::nouns::{Phase, Skill, SkillMode, Target, ToolSpec};
use callsheet_core::prompt::Note;
use callsheet_core::run::{Execution, ModelCall, Run, TaskRun};
use callsheet_format::prompt::{
    ExecutionKind, ExecutionPrompt, HandlerPrompt, IterationPrompt, JoinPrompt, MergePrompt, PlanPrompt,
    RefinementPrompt, Retry, RoutePrompt,
};

use crate::fault::DriveFault;
use crate::ports::{Constraint, Message, Model, ModelInfo, NativeTool, ShownPicture};
use crate::prompting::constraint::Notation;
use crate::prompting::handler::Sources;
use crate::prompting::run_texts::Texts;
use crate::prompting::sampling::Sampling;
use crate::prompting::size::{larger, output_tokens, share};
use crate::prompting::{constraint, conversation, handler, project, recorded, task_references, texts};
use crate::reading::aim::{WriteAim, document, files_named, write_aim};
use crate::reading::route::candidates;
use crate::references::{Allowance, Wanted};
use crate::rules::Omitted;
use crate::services::{Services, UNKNOWN_WINDOW};

/// The subject of a call, owned, so that the run may continue.
pub(crate) struct PromptDraft {
    pub(super) job: Job,
    pub(super) label: String,
    pub(super) wanted: Vec<Wanted>,
    pub(super) restricted: BTreeSet<String>,
    pub(super) writer_before: bool,
    pub(super) task_name: Option<String>,
    /// What its task needs.
    pub(super) need: String,
    pub(super) allowance: Allowance,
    pub(super) allow_http: bool,
    pub(super) texts: Texts,
    pub(super) model: ModelInfo,
    /// Pictures of tool outputs that the prompt shows, before those of its references.
    pub(super) pictures: Vec<ShownPicture>,
    pub(super) notation: Notation,
    pub(super) sampling: Sampling,
    pub(super) output_tokens: u32,
    pub(super) description: String,
    /// Rules of the project that did not fit.
    pub(super) omitted: Vec<Omitted>,
    /// The maximum number of tokens of a prompt, if the model's window is known.
    pub(super) max_prompt: Option<u32>,
    /// Tokens that the budgets leave for prompt and reply.
    pub(super) max_tokens: Option<u64>,
    /// Whether the budgets leave more when other calls return what they reserved.
    pub(super) may_wait: bool,
}

/// Offers and links, which require a walk through the project, are filled only for models that accept a grammar.
pub(super) enum Job {
    Route(RoutePrompt),
    Plan {
        prompt: PlanPrompt,
        offer: Option<constraint::ListOffer>,
    },
    /// If there is a follow-up, it is a continuation.
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
        /// For a task that changes files and whose reply has a constrained form: the files that it is about.
        aim: WriteAim,
    },
    Merge(Box<MergePrompt>),
    /// Together they have this many tokens.
    Join {
        prompt: JoinPrompt,
        tokens: u32,
    },
    /// A handler of a template.
    Handler {
        prompt: Box<HandlerPrompt>,
        later: Vec<Message>,
        tools: Vec<ToolSpec>,
        /// Native tools of the model that replace some of these.
        native: Vec<NativeTool>,
        sources: Sources,
        /// What constrains its reply to the declared output.
        declared: Option<Constraint>,
    },
}

/// Takes from the run what the call needs.
pub(crate) fn gather(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    model: &dyn Model,
) -> Result<PromptDraft, DriveFault> {
    let window = model.info().window;
    let notation = Notation::of(model.info(), &services.refused_constraints);
    let task = asked.key.task.as_ref().and_then(|slug| run.task(slug));
    let skill_limit = task.and_then(|task| task.skill.as_ref()).and_then(|skill| skill.limits.reference_tokens);
    if let Some(task) = task.filter(|task| task.is_handler()) {
        return handler_parts(services, run, asked, task, model);
    }
    let wanted = task.map(|task| wanted(run, task, asked)).unwrap_or_default();
    let attempt = run.attempts(&asked.key).map_or(1, |attempts| attempts.attempt);
    let read = task.map(|task| read_files(task, asked, &wanted)).unwrap_or_default();
    let (description, omitted) = project::project_description(services, asked.key.phase, &read, window);
    let (job, pictures) = job(services, run, asked, model.info(), notation)?;
    let mut parts = PromptDraft {
        job,
        label: callsheet_core::view::call_words(&asked.key, run.part(&asked.key)),
        restricted: run.no_longer_relevant().iter().cloned().collect(),
        writer_before: task.is_some_and(|task| run.has_writer_before(&task.task.slug)),
        task_name: task.map(|task| task.task.name.clone()),
        need: task.map(|task| task.task.need.clone()).unwrap_or_default(),
        allowance: Allowance::new(&run.settings().budget, skill_limit, window, asked.budget_scale),
        allow_http: run.settings().allow_http,
        texts: Texts::of(services, run, &wanted),
        wanted,
        model: model.info().clone(),
        pictures,
        notation,
        sampling: Sampling::of(run, asked),
        output_tokens: larger(output_tokens(asked.key.phase, task, window, attempt), run.attempts(&asked.key), window),
        description,
        omitted,
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

/// Paths that a task reads: those that it names, and those that its calls have named so far.
fn read_files(task: &TaskRun, asked: &ModelCall, wanted: &[Wanted]) -> Vec<String> {
    let named = wanted.iter().filter_map(|wanted| match &wanted.reference.target {
        Target::File { path, .. } => Some(path.clone()),
        Target::Directory(path) => Some(format!("{}/", path.trim_end_matches('/'))),
        _ => None,
    });
    let exec = asked.key.run.as_ref().and_then(|id| task.run(id));
    let calls = exec.into_iter().flat_map(|exec| &exec.calls);
    let called = calls.filter_map(|call| call.call.arguments.get("path")?.as_str().map(str::to_owned));
    named.chain(called).collect()
}

/// The parts of a handler's call: its own files and budgets, and the conversation so far.
fn handler_parts(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    task: &TaskRun,
    model: &dyn Model,
) -> Result<PromptDraft, DriveFault> {
    let capabilities = model.info().capabilities;
    let offered = handler::offered(services, run, task);
    let text_tools = if capabilities.tools { Vec::new() } else { offered.clone() };
    let exec = asked.key.run.as_ref().and_then(|id| task.run(id));
    let exec = exec.ok_or_else(|| DriveFault::defect("a call of an unknown execution run"))?;
    let handler::HandlerInput { prompt, wanted, fraction, sources, declared } =
        handler::input(services, run, task, &text_tools)?;
    let window = model.info().window.unwrap_or(UNKNOWN_WINDOW);
    let fraction = fraction.unwrap_or(run.settings().limits.max_context_fraction);
    Ok(PromptDraft {
        job: Job::Handler {
            prompt: Box::new(prompt),
            later: conversation::later(services, run, task, exec, asked, model.info())?,
            native: native_tools(model, &offered),
            tools: offered,
            sources,
            declared: declared.and_then(|schema| constraint::declared(model.info(), schema)),
        },
        label: callsheet_core::view::call_words(&asked.key, run.part(&asked.key)),
        restricted: BTreeSet::new(),
        writer_before: false,
        task_name: Some(task.task.name.clone()),
        need: task.task.need.clone(),
        allowance: handler::allowance(window, asked.budget_scale),
        allow_http: false,
        texts: Texts::of(services, run, &wanted),
        wanted,
        model: model.info().clone(),
        pictures: Vec::new(),
        notation: Notation::Free,
        sampling: Sampling::of(run, asked),
        output_tokens: output_tokens(Phase::Execute, Some(task), model.info().window, 1),
        description: String::new(),
        omitted: Vec::new(),
        max_prompt: Some(share(window, fraction)),
        max_tokens: asked.max_tokens,
        may_wait: asked.may_wait,
    })
}

/// The native tools of a model that replace only offered tools (spec "Templates" 14).
fn native_tools(model: &dyn Model, offered: &[ToolSpec]) -> Vec<NativeTool> {
    let is_offered = |name: &String| offered.iter().any(|tool| tool.name == *name);
    model.native_tools().iter().filter(|tool| tool.executes.iter().all(is_offered)).cloned().collect()
}

/// References of the unit, and those carried over from the summaries of producers (spec 2.12).
fn wanted(run: &Run, task: &TaskRun, asked: &ModelCall) -> Vec<Wanted> {
    let own = match (&asked.key.phase, &asked.key.run) {
        (Phase::Execute, Some(id)) => task.run(id).map(|exec| exec.input.references.clone()).unwrap_or_default(),
        (Phase::Refine, _) => task.task.references.clone(),
        _ => return Vec::new(),
    };
    let carried: Vec<Wanted> =
        if asked.key.phase == Phase::Execute { task_references::carried(run, &own) } else { Vec::new() };
    own.into_iter().map(|reference| Wanted { reference, carried: false }).chain(carried).collect()
}

fn job(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    model: &ModelInfo,
    notation: Notation,
) -> Result<(Job, Vec<ShownPicture>), DriveFault> {
    let held = notation != Notation::Free;
    let window = model.window;
    let job = match asked.key.phase {
        Phase::Route => route(services, run, asked),
        Phase::Plan => plan(services, run, asked, window, held)?,
        Phase::Iterate | Phase::Continue => iterate(services, run, asked, window, held)?,
        Phase::Refine => refine(services, run, asked, held)?,
        Phase::Execute => return execute(services, run, asked, model, held),
        Phase::Merge => merge(services, run, asked)?,
        Phase::Join => join(services, run)?,
        Phase::Review => return Err(DriveFault::defect("a review has the prompt of what it reviews")),
    };
    Ok((job, Vec::new()))
}

fn owner<'a>(run: &'a Run, asked: &ModelCall) -> Result<&'a TaskRun, DriveFault> {
    let slug = asked.key.task.as_ref().ok_or_else(|| DriveFault::defect("a call of a task names none"))?;
    run.task(slug).ok_or_else(|| DriveFault::defect(format!("a call of the unknown task {slug}")))
}

/// The rejected proposal and its issues, for plan and iteration.
fn retry(services: &Services, run: &Run, asked: &ModelCall) -> Result<Option<Retry>, DriveFault> {
    let Some(attempts) = run.attempts(&asked.key) else { return Ok(None) };
    let Some(refused) = &attempts.refused else { return Ok(None) };
    Ok(Some(Retry {
        proposal: recorded::proposal(services, run, refused)?,
        issues: texts::issues_text(&attempts.issues),
    }))
}

/// The request, or the task of a list that waits for its skill.
fn route(services: &Services, run: &Run, asked: &ModelCall) -> Job {
    let candidates = candidates(run, &services.skills(run.settings()));
    let request = run.routed_task(&asked.key).map_or_else(|| run.prompt().to_owned(), |task| task.need.clone());
    let paths = if run.routed_task(&asked.key).is_none() { files_named(services, &request) } else { Vec::new() };
    Job::Route(RoutePrompt { candidates, request, paths })
}

fn plan(services: &Services, run: &Run, asked: &ModelCall, window: Option<u32>, held: bool) -> Result<Job, DriveFault> {
    let loaded = services.skills(run.settings());
    let mut suggested = services.offer.as_ref().map(|offer| offer.suggestions(run.prompt())).unwrap_or_default();
    suggested.retain(|name| loaded.catalog.offered().any(|skill| skill.name == *name));
    let mut skill_catalog = loaded.catalog.render();
    if !suggested.is_empty() {
        let names = suggested.join(", ");
        skill_catalog.push_str(&format!("\n\n{}", Note::TemplateSuggestions.fill(&[("names", &names)])));
    }
    let prompt = PlanPrompt {
        skill_catalog,
        environment: services.environment.clone(),
        project_description: String::new(),
        project_files: project::project_files(services, run.prompt()),
        current_file: project::current_file(services),
        open_files: services.open_files.clone(),
        user_prompt: run.prompt().to_owned(),
        retry: retry(services, run, asked)?,
    };
    Ok(Job::Plan { prompt, offer: held.then(|| constraint::ListOffer::new(services, run, window)) })
}

fn iterate(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    window: Option<u32>,
    held: bool,
) -> Result<Job, DriveFault> {
    let loaded = services.skills(run.settings());
    // A continuation starts fresh: it is told of everything that did not succeed, even if an earlier prompt told it.
    let task_problems = match asked.key.phase {
        Phase::Continue => texts::problems_text(run, run.all_problems()),
        _ => texts::problems_text(run, run.problems()),
    };
    let prompt = IterationPrompt {
        skill_catalog: loaded.catalog.render(),
        environment: services.environment.clone(),
        project_description: String::new(),
        project_files: project::project_files(services, run.prompt()),
        original_prompt: run.prompt().to_owned(),
        follow_ups: run.follow_ups().to_vec(),
        goals_summary: run.goals().text.clone(),
        completed_outputs: texts::completed_outputs(run),
        current_task_list: texts::outstanding_list(run),
        task_problems,
        retry: retry(services, run, asked)?,
    };
    Ok(Job::Iterate {
        prompt,
        follow_up: run.pending_follow_up().filter(|_| asked.key.phase == Phase::Continue).map(str::to_owned),
        offer: held.then(|| constraint::ListOffer::new(services, run, window)),
    })
}

fn refine(services: &Services, run: &Run, asked: &ModelCall, held: bool) -> Result<Job, DriveFault> {
    let task = owner(run, asked)?;
    let skill = services.pinned(task.skill.as_ref())?;
    let mut issues = texts::failed_calls(services, task)?;
    issues.extend(run.attempts(&asked.key).into_iter().flat_map(|attempts| attempts.issues.clone()));
    let tools = services.offered_tools(&skill.policy.tools);
    let task_data = texts::task_text(&task.task, callsheet_format::sheet::TaskForm::Refinement);
    let reads_only_calls = skill.policy.mode == SkillMode::Template || task.task.references.is_empty();
    let needs_call = skill.policy.needs_arguments && reads_only_calls;
    let prompt = RefinementPrompt {
        tools,
        environment: services.environment.clone(),
        project_description: String::new(),
        original_prompt: run.prompt().to_owned(),
        reference_contents: String::new(),
        task_data: texts::asked_again(run, task, &task_data),
        checked: texts::issues_text(&task.check_issues),
        issues: texts::issues_text(&issues),
        skill,
    };
    let links = if held { constraint::task_links(services, run, task) } else { Vec::new() };
    Ok(Job::Refine { prompt: Box::new(prompt), links, needs_call })
}

fn execute(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    model: &ModelInfo,
    held: bool,
) -> Result<(Job, Vec<ShownPicture>), DriveFault> {
    let task = owner(run, asked)?;
    let exec = asked.key.run.as_ref().and_then(|id| task.run(id));
    let exec: &Execution = exec.ok_or_else(|| DriveFault::defect("a call of an unknown execution run"))?;
    let mut skill: Skill = services.pinned(task.skill.as_ref())?;
    if let Some(folder) = services.shown_skill_dir(task) {
        let told = Note::SkillFolder.fill(&[("folder", &folder)]);
        skill.execution.push_str(&format!("\n\n{}", told.trim_end()));
    }
    let offered =
        if exec.is_loop && !asked.without_tools { services.offered_tools(&skill.policy.tools) } else { Vec::new() };
    let kind = if exec.is_loop {
        ExecutionKind::Loop { text_tools: if model.capabilities.tools { Vec::new() } else { offered.clone() } }
    } else if let Some(path) = document(services, task)? {
        ExecutionKind::Document { path }
    } else if skill.policy.writes_files {
        if task.direct { ExecutionKind::DirectWrite } else { ExecutionKind::Write }
    } else if task.direct {
        ExecutionKind::Direct
    } else {
        ExecutionKind::Plain
    };
    let later = if exec.is_loop { conversation::later(services, run, task, exec, asked, model)? } else { Vec::new() };
    let issues = match (exec.is_loop, run.attempts(&asked.key)) {
        (false, Some(attempts)) => texts::issues_text(&attempts.issues),
        _ => String::new(),
    };
    let (outputs, pictures) = if exec.is_loop {
        (String::new(), Vec::new())
    } else if let Some(part) = one_part(task, exec) {
        (part, Vec::new())
    } else {
        conversation::fixed_outputs(services, run, task, exec, asked.budget_scale, model)?
    };
    let prompt = ExecutionPrompt {
        kind,
        environment: services.environment.clone(),
        project_description: String::new(),
        original_prompt: run.prompt().to_owned(),
        precursor: String::new(),
        need: texts::asked_again(run, task, &task.task.need),
        expected: task.task.expected.clone(),
        issues,
        skill,
    };
    let writes = held && matches!(prompt.kind, ExecutionKind::Write | ExecutionKind::DirectWrite);
    let edits = prompt.skill.policy.new_files_named;
    let aim = if writes { write_aim(services, &task.task, edits) } else { WriteAim::default() };
    Ok((Job::Execute { prompt: Box::new(prompt), outputs, later, tools: offered, aim }, pictures))
}

/// What an execution is told if it reads only a part of what its task reads (spec 10.1).
fn one_part(task: &TaskRun, exec: &Execution) -> Option<String> {
    let at = task.runs.iter().position(|run| run.id == exec.id)?;
    let (number, count) = ((at + 1).to_string(), task.runs.len().to_string());
    let parted = task.apart.is_some() && task.runs.len() > 1;
    parted.then(|| Note::OnePart.fill(&[("number", &number), ("count", &count)]))
}

fn merge(services: &Services, run: &Run, asked: &ModelCall) -> Result<Job, DriveFault> {
    let task = owner(run, asked)?;
    let mut run_documents = Vec::new();
    for part in task.parts() {
        let document = match &part.result.document {
            Some(blob) => part.text(run, task, &services.text(blob)?),
            None => String::new(),
        };
        run_documents.push((part.title(task).to_owned(), document));
    }
    let issues = run.attempts(&asked.key).map(|attempts| attempts.issues.as_slice()).unwrap_or_default();
    let prompt = MergePrompt {
        skill: services.pinned(task.skill.as_ref())?,
        original_prompt: run.prompt().to_owned(),
        need: task.task.need.clone(),
        expected: task.task.expected.clone(),
        run_documents,
        issues: texts::issues_text(issues),
    };
    Ok(Job::Merge(Box::new(prompt)))
}

/// The results that answer the request, complete.
fn join(services: &Services, run: &Run) -> Result<Job, DriveFault> {
    let mut results = Vec::new();
    let mut tokens = 0_u32;
    for task in run.results() {
        let Some(result) = task.result() else { continue };
        let document = match &result.document {
            Some(blob) => services.text(blob)?,
            None => result.summary.clone(),
        };
        tokens = tokens.saturating_add(callsheet_core::nouns::tokens(&document));
        results.push((task.task.name.clone(), document));
    }
    let original_prompt = run.prompt().to_owned();
    let prompt = JoinPrompt { original_prompt, follow_ups: run.follow_ups().to_vec(), results };
    Ok(Job::Join { prompt, tokens })
}
