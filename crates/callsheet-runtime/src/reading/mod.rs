//! What readers compare texts with, and the lookups that they need.

pub(crate) mod aim;
pub(crate) mod known;
pub(crate) mod list;
pub(crate) mod route;

use std::sync::Arc;

use callsheet_core::nouns::{Phase, Settings, Skill};
use callsheet_core::run::Run;
use callsheet_format::reading::{Answer, KnownTasks, Lookup, ReadContext, Reading};

use crate::references;
use crate::services::Services;

/// What readers of lists compare with, without answers to lookups.
pub(crate) fn list_context(
    services: &Services,
    run: &Run,
    tasks: KnownTasks,
    settings: &Settings,
    catalog: Vec<Skill>,
) -> ReadContext {
    ReadContext {
        taken: run.taken().cloned().collect(),
        steps: run.steps().len(),
        ..context(services, run, tasks, settings, catalog)
    }
}

/// Like `list_context`, but for a reply that names no new task.
pub(crate) fn context(
    services: &Services,
    run: &Run,
    tasks: KnownTasks,
    settings: &Settings,
    catalog: Vec<Skill>,
) -> ReadContext {
    ReadContext {
        catalog,
        tasks,
        broken: services.offer.as_ref().map(|offer| offer.broken.clone()).unwrap_or_default(),
        untrusted: services.offer.as_ref().map(|offer| offer.untrusted.clone()).unwrap_or_default(),
        tools: services
            .snapshots
            .tools
            .get_or_init(|| services.tool_specs().into_iter().map(Arc::new).collect())
            .clone(),
        disabled_tools: services.disabled_tools.clone(),
        prompts: run.prompts().into_iter().map(str::to_owned).collect(),
        allow_http: settings.allow_http,
        current_file: services.current_file.clone(),
        prompt_budget: prompt_budget(services, settings),
        reference_budget: settings.budget.reference,
        refine: settings.refine,
        restricted: run.no_longer_relevant().iter().cloned().collect(),
        strict: settings.strict,
        ..ReadContext::default()
    }
}

/// Tokens for the references of one execution prompt: the budget, or half of the window if that is less (spec 5.8).
fn prompt_budget(services: &Services, settings: &Settings) -> u32 {
    let window = services.models.model(Phase::Execute, None).ok().and_then(|model| model.info().window);
    window.map_or(settings.budget.prompt, |window| settings.budget.prompt.min(window / 2))
}

/// Whether a tool call can start.
fn startable(services: &Services, call: &Lookup) -> Answer {
    let Lookup::Call { tool, arguments } = call else { return Answer::Startable };
    let arguments = serde_json::from_str(arguments).unwrap_or_default();
    let tool = services.tools.get(tool);
    let obstacle = tool.and_then(|tool| tool.obstacle(&arguments, &services.workspace));
    obstacle.map_or(Answer::Startable, Answer::Stuck)
}

/// Reads a text and answers all its lookups. Reads it again as long as that raises new lookups (spec 4.1). Most replies
/// ask nothing and are read once.
pub(crate) fn read_with<T>(
    services: &Services,
    text: &str,
    context: &mut ReadContext,
    read: impl Fn(&str, &ReadContext) -> Reading<T>,
) -> Reading<T> {
    let mut reading = read(text, context);
    for _ in 0..4 {
        if reading.wanted.is_empty() {
            break;
        }
        let (calls, rest): (Vec<_>, Vec<_>) =
            reading.wanted.iter().partition(|lookup| matches!(lookup, Lookup::Call { .. }));
        context.answers.extend(references::answer(rest, services.disk()));
        context.answers.extend(calls.into_iter().map(|call| (call.clone(), startable(services, call))));
        reading = read(text, context);
    }
    reading
}
