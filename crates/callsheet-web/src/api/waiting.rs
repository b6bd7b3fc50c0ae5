//! What a run waits for: approvals, with everything that a person would see of them, and questions.

use axum::extract::State;
use callsheet_core::record::GateKind;
use callsheet_runtime::ports::GateView;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::access::Looking;
use super::answer::{Answer, Answered};
use super::problem::Problem;
use super::reading::At;
use super::runs::{RunName, with_run};
use super::{Shared, blocking};

/// What a run waits for.
#[derive(Serialize, ToSchema)]
pub(super) struct Waiting {
    run: RunName,
    /// The revision that this shows. Send it with your orders.
    revision: u64,
    /// The open approvals, oldest first.
    gates: Vec<GateLine>,
    questions: Vec<QuestionLine>,
}

/// An approval that a run waits for.
#[derive(Serialize, ToSchema)]
pub(super) struct GateLine {
    /// The number of the gate. Orders to approve or deny name it.
    gate: u32,
    /// `before_run` (tasks that can change files), `before_apply` (a change) or `before_call` (a tool call).
    kind: &'static str,
    /// The task that makes the change or the call.
    task: Option<String>,
    /// The tasks that would run.
    tasks: Vec<WriterLine>,
    /// The whole plan in Markdown, for `before_run`.
    plan: String,
    /// The change as a unified diff.
    diff: String,
    /// The parts of the diff. An approval can select some of them.
    hunks: Vec<HunkLine>,
    /// The check of the change: its name, its result, and its output.
    check: Option<Value>,
    /// The call: its tool and its arguments.
    call: Option<Value>,
    /// The folder in which the call runs.
    directory: Option<String>,
    /// Whether the call, or another one that it may repeat, was started and never finished.
    again: bool,
    /// That other call.
    unended: Option<Value>,
    /// Whether this machine cannot confine the call to what is approved.
    not_confined: bool,
    /// Equal calls of the same tool, each with its own gate.
    also: Vec<Value>,
}

/// A task that waits for approval before it runs.
#[derive(Serialize, ToSchema)]
pub(super) struct WriterLine {
    task: String,
    name: String,
    need: String,
    /// Why it needs approval.
    why: String,
    model: String,
}

/// A part of a change.
#[derive(Serialize, ToSchema)]
pub(super) struct HunkLine {
    number: u32,
    path: String,
    text: String,
}

/// A task's question.
#[derive(Serialize, ToSchema)]
pub(super) struct QuestionLine {
    task: String,
    /// The execution that asks.
    execution: String,
    /// The call that asks.
    call: String,
    text: String,
}

fn gate_line(view: &GateView) -> GateLine {
    let kind = match view.gate.kind {
        GateKind::BeforeRun(_) => "before_run",
        GateKind::BeforeApply { .. } => "before_apply",
        GateKind::BeforeCall { .. } => "before_call",
    };
    let tasks = view.writers.iter().map(|writer| WriterLine {
        task: writer.task.slug.to_string(),
        name: writer.task.name.clone(),
        need: writer.task.need.clone(),
        why: writer.reason.clone(),
        model: writer.model.clone(),
    });
    let hunks = view.hunks.iter();
    GateLine {
        gate: view.gate.n,
        kind,
        task: view.task.as_ref().map(ToString::to_string),
        tasks: tasks.collect(),
        plan: view.plan.clone(),
        diff: view.diff.clone(),
        hunks: hunks
            .map(|hunk| HunkLine { number: hunk.number, path: hunk.path.clone(), text: hunk.text.clone() })
            .collect(),
        check: view.check.as_ref().map(|check| json!(check)),
        call: view.call.as_ref().map(|call| json!(call)),
        directory: view.directory.clone(),
        again: view.again,
        unended: view.unended.as_ref().map(|call| json!(call)),
        not_confined: view.unheld,
        also: view
            .also
            .iter()
            .map(|also| json!({ "gate": also.gate.n, "task": also.task, "call": also.call }))
            .collect(),
    }
}

/// Shows what a run waits for.
#[utoipa::path(get, path = "/runs/{run}/waiting", params(("run" = String, Path, description = "The name of the run.")),
    security(("token" = [])),
    responses((status = 200, description = "Done.", body = Waiting), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn waiting(State(api): Shared, _: Looking, At(run): At<String>) -> Answered<Waiting> {
    blocking(&api, move |api| {
        with_run(api, &run, |summary, view| {
            let gates = api.runs.gates(view)?;
            let questions = view.questions().into_iter().map(|question| QuestionLine {
                task: question.task,
                execution: question.asking.run.to_string(),
                call: question.asking.call,
                text: question.text,
            });
            Ok(Answer::ok(Waiting {
                run: summary.run.to_string(),
                revision: view.cursor().0,
                gates: gates.iter().map(gate_line).collect(),
                questions: questions.collect(),
            }))
        })
    })
    .await
}
