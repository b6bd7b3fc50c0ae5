//! Chooses the template for a call.

use callsheet_core::nouns::Phase;
use callsheet_core::run::{ModelCall, Run, TaskRun};
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
        // If its skill is missing, the call itself reports that.
        (true, _) if document(services, task).is_ok_and(|path| path.is_some()) => PromptKey::Document,
        (true, true) => PromptKey::DirectWrite,
        (true, false) => PromptKey::ExecutionWrite,
        (false, true) => PromptKey::Direct,
        (false, false) => PromptKey::Execution,
    }
}
