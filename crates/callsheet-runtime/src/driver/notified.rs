//! What is recorded once so that it is reported once: the prompt files that a run uses (spec 8.1), and limits that are
//! nearly reached.

use std::collections::BTreeMap;

use callsheet_core::events::{self, Event};
use callsheet_core::record::PromptFile;
use callsheet_core::run::{Effect, LimitUse, Run};
use callsheet_format::prompt::PromptKey;

use crate::prompting::keys::prompt_key;
use crate::services::Services;

fn file(services: &Services, key: PromptKey) -> Option<PromptFile> {
    let source = services.templates.source(key)?.path.clone();
    Some(PromptFile { source, hash: services.templates.hash(key)? })
}

/// Templates that these effects use and that the log does not hold in their current form.
pub(crate) fn prompts_used(services: &Services, run: &Run, effects: &[Effect]) -> Option<Event> {
    let mut prompts = BTreeMap::new();
    for effect in effects {
        let Effect::AskModel(asked) = effect else { continue };
        let key = prompt_key(services, run, asked);
        if let Some(file) = file(services, key).filter(|file| run.prompts_used().get(key.as_str()) != Some(file)) {
            prompts.insert(key.as_str().to_owned(), file);
        }
    }
    (!prompts.is_empty()).then_some(events::PromptsUsed { prompts }.into())
}

/// Templates whose text has changed since the run last used them. Each is reported, because a prompt that was judged
/// with one text now continues with another.
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
    (!prompts.is_empty()).then_some(events::PromptsUsed { prompts }.into())
}

/// Limits to report.
pub(crate) fn limits_near(run: &Run) -> Vec<Event> {
    let near = run.limits_near().into_iter();
    let event = |one: LimitUse| {
        let limit = one.name.to_owned();
        events::LimitNear { task: one.task, limit, used: one.used, max: one.max }.into()
    };
    near.map(event).collect()
}
