//! The promise that concurrent work stays within its limits.

use callsheet_core::nouns::Settings;
use callsheet_core::run::{Effect, Run};

use crate::checkers::Kept;

/// Work in flight and listed work stay within `jobs`, exclusive tools never run at the same time, and a skill's
/// `parallel` is respected.
///
/// # Errors
/// A limit is exceeded.
pub fn jobs_are_never_exceeded(run: &Run, settings: &Settings) -> Kept {
    let jobs = usize::try_from(settings.jobs.max(1)).unwrap_or(usize::MAX);
    let outstanding = run.outstanding();
    let people =
        |effect: &&Effect| matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. } | Effect::Conclude(_));
    // An evaluation is fast pure code, and a lookup delays nobody, so they use no slot.
    let slotless = |effect: &&Effect| matches!(effect, Effect::Evaluate { .. } | Effect::Retrieve { .. });
    let work = |effect: &&Effect| !people(effect) && !slotless(effect);
    let work: Vec<&Effect> = outstanding.iter().filter(work).collect();
    if work.len() > jobs {
        return Err(format!("jobs are never exceeded: {} of {jobs}", work.len()));
    }
    let builds = work.iter().filter(|effect| matches!(effect, Effect::RunTool { call, .. } if call.name == "build"));
    if builds.count() > 1 {
        return Err("jobs are never exceeded: an exclusive tool runs beside itself".to_owned());
    }
    for task in run.tasks() {
        let Some(parallel) = task.skill.as_ref().and_then(|skill| skill.limits.parallel) else { continue };
        let busy = task.runs.iter().filter(|exec| exec.attempts.admitted).count();
        if busy > usize::try_from(parallel).unwrap_or(usize::MAX) {
            return Err(format!("jobs are never exceeded: {busy} runs of {} at once", task.task.slug));
        }
    }
    Ok(())
}
