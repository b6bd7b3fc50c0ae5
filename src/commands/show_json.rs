//! `show --json`: prints a run as one JSON object with everything that the text form contains.

use callsheet_app::{CallRecord, Problem, Review, RunView, TaskRun, answer_text, join_json, results_json, run_folder};
use callsheet_core::record::CallKey;
use callsheet_core::view::call_words;
use callsheet_runtime::ports::RunSummary;
use serde_json::{Value, json};

use crate::setup::Setup;

use super::show::standing;

/// The run without the keys that need the store or its other parts: `waits`, `question`, `task_result`.
pub(super) fn run_json(setup: &Setup, run: &RunView, found: &RunSummary) -> Value {
    let (id, driven) = (&found.run, found.owner.is_some());
    let tasks: Vec<Value> = run.all_tasks().map(|task| task_json(run, task, driven)).collect();
    let about = run.about();
    json!({
        "run": id,
        "outcome": about.outcome,
        "driven": driven,
        "request": about.prompt,
        "follow_ups": about.follow_ups,
        "goals": about.goals.text,
        "tasks": tasks,
        "problems": problems_json(run),
        "parts_failed": run.collected(),
        "calls": run.calls().iter().map(call_json).collect::<Vec<_>>(),
        "answer": answer_text(&setup.program(), run),
        "join": join_json(run),
        "results": results_json(&setup.program(), run),
        "summary": run.summary(driven),
        "files": run_folder(id),
    })
}

/// The tasks that ended without output, each with the reason.
pub(super) fn problems_json(run: &RunView) -> Value {
    let problem =
        |problem: Problem<'_>| json!({ "task": problem.task.task.slug, "message": run.problem_line(&problem) });
    run.all_problems().map(problem).collect()
}

pub(super) fn task_json(run: &RunView, task: &TaskRun, driven: bool) -> Value {
    // A task of an earlier list has no step.
    let step = run.step_of(&task.task.slug).map(|step| step + 1);
    json!({
        "task": task.task.slug,
        "name": task.task.name,
        "skill": task.task.skill,
        "below": task.below,
        "state": standing(run, task, driven).as_str(),
        "step": step,
        "writes": task.may_change(),
        "needs_approval": task.writer,
        "replaced": run.is_replaced(task),
        "changed": task.changed_files(),
        "taken_back": task.taken_back_files(),
        "reviews": task.reviews().map(review_json).collect::<Vec<_>>(),
        "unsupported": task.result().map(|result| result.unsupported.as_slice()).unwrap_or_default(),
    })
}

/// A review. `missing` is what the reviewer says is missing. `failed` is why there is no verdict or no second result.
pub(super) fn review_json(review: &Review) -> Value {
    json!({ "over": review.is_over(), "missing": review.missing, "failed": review.failed() })
}

pub(super) fn call_json(call: &CallRecord) -> Value {
    let CallKey { phase, task, .. } = &call.key;
    json!({
        "call": call.number,
        "what": call_words(&call.key, &call.part),
        "phase": phase,
        "task": task,
        "part": Some(&call.part).filter(|part| !part.is_empty()),
        "attempt": call.attempt,
        "model": call.model,
        "reused": call.reused,
        "accepted": call.accepted,
        "repairs": call.repairs.len(),
        "issues": call.issues.len(),
        "not_made": call.rejected,
        "usage": call.usage,
        "ms": call.ms,
    })
}
