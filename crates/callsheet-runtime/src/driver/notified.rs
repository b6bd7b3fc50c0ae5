//! What is recorded once so that it is said once: the prompt files a run uses (spec 8.1), and limits that are nearly
//! used up.

use std::collections::BTreeMap;

use callsheet_core::record::{Event, PromptFile};
use callsheet_core::run::{Effect, LimitUse, ModelCall, Run, TaskRun};
use callsheet_core::spec::Phase;
use callsheet_format::prompt::PromptKey;

use crate::reading::aim::document;
use crate::services::Services;

/// The template a call is made of.
pub(crate) fn prompt_key(services: &Services, run: &Run, asked: &ModelCall) -> PromptKey {
    match asked.key.phase {
        Phase::Route => PromptKey::Route,
        Phase::Plan => PromptKey::Plan,
        Phase::Iterate => PromptKey::Iteration,
        Phase::Continue => PromptKey::Continuation,
        Phase::Refine => PromptKey::Refinement,
        Phase::Merge => PromptKey::Merge,
        Phase::Join => PromptKey::Join,
        Phase::Execute | Phase::Review => match asked.key.task.as_ref().and_then(|slug| run.task(slug)) {
            Some(task) => execution_key(services, task),
            None => PromptKey::Execution,
        },
    }
}

fn execution_key(services: &Services, task: &TaskRun) -> PromptKey {
    let writes = task.skill.as_ref().is_some_and(|skill| skill.writes_files);
    match (writes, task.direct) {
        _ if task.is_loop() => PromptKey::ExecutionLoop,
        // Without its skill the call says so itself.
        (true, _) if document(services, task).is_ok_and(|path| path.is_some()) => PromptKey::Document,
        (true, true) => PromptKey::DirectWrite,
        (true, false) => PromptKey::ExecutionWrite,
        (false, true) => PromptKey::Direct,
        (false, false) => PromptKey::Execution,
    }
}

fn file(services: &Services, key: PromptKey) -> Option<PromptFile> {
    let source = services.templates.source(key)?.path.clone();
    Some(PromptFile { source, hash: services.templates.hash(key)? })
}

/// Templates that these effects use and that the log does not hold as they are now.
pub(crate) fn prompts_used(services: &Services, run: &Run, effects: &[Effect]) -> Option<Event> {
    let mut prompts = BTreeMap::new();
    for effect in effects {
        let Effect::AskModel(asked) = effect else { continue };
        let key = prompt_key(services, run, asked);
        if let Some(file) = file(services, key).filter(|file| run.prompts_used().get(key.as_str()) != Some(file)) {
            prompts.insert(key.as_str().to_owned(), file);
        }
    }
    (!prompts.is_empty()).then_some(Event::PromptsUsed { prompts })
}

/// Templates whose text is another one than the run used before. Each is reported, since a prompt that was judged
/// with one text continues with another.
pub(crate) fn prompts_changed(services: &Services, run: &Run) -> Option<Event> {
    let mut prompts = BTreeMap::new();
    for (name, former) in run.prompts_used() {
        let now = name.parse().ok().and_then(|key| file(services, key));
        let Some(now) = now.filter(|now| now.hash != former.hash) else { continue };
        services.notice(&format!(
            "note: the prompt {name} changed since this run used it: it was {} and is now {}",
            former.source, now.source
        ));
        prompts.insert(name.clone(), now);
    }
    (!prompts.is_empty()).then_some(Event::PromptsUsed { prompts })
}

/// Limits to tell of.
pub(crate) fn limits_near(run: &Run) -> Vec<Event> {
    let near = run.limits_near().into_iter();
    let event = |one: LimitUse| {
        let limit = one.limit.name().to_owned();
        Event::LimitNear { task: one.task, limit, used: one.used, max: one.max }
    };
    near.map(event).collect()
}
