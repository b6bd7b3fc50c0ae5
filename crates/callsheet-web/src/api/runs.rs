//! Runs: the list, starting one, its state, its answer, and its recorded texts.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use callsheet_app::{Advice, InputOffer, NewRun, RunView, TaskRun, TemplateOffer, result_of_tree};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::RunSummary;
use callsheet_runtime::shown::mask_bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::access::{Looking, Steering};
use super::answer::{Answer, Answered};
use super::problem::{Code, Problem};
use super::reading::{Asked, At, Body, key};
use super::{Api, Shared, blocking, limits};
use crate::drawn::Drawn;
use crate::record::locked;

/// A run in a list.
#[derive(Serialize, ToSchema)]
pub(super) struct RunLine {
    /// The name of the run.
    run: RunName,
    /// The first line of its request.
    request: String,
    /// How it ended or why it waits, such as `complete` or `approval_required`. `null` while it is running, or if its
    /// process was killed.
    #[schema(value_type = Option<String>)]
    outcome: Option<callsheet_core::record::Outcome>,
    /// Whether a process drives the run.
    working: bool,
    /// When it started, in milliseconds since 1970.
    started_at: u64,
    /// When something was last recorded, in milliseconds since 1970.
    changed_at: u64,
    /// The number of its last event. Orders name the revision that the client saw.
    revision: u64,
    /// Its cost in US dollars. `null` if the cost of some calls is unknown.
    cost_usd: Option<f64>,
}

/// The name of a run.
pub(super) type RunName = String;

impl RunLine {
    fn of(run: &RunSummary) -> Self {
        Self {
            run: run.run.to_string(),
            request: run.request.clone(),
            outcome: run.outcome,
            working: run.owner.is_some(),
            started_at: run.started_at,
            changed_at: run.changed_at,
            revision: run.facts,
            cost_usd: run.cost_usd,
        }
    }
}

/// Runs, newest first.
#[derive(Serialize, ToSchema)]
pub(super) struct RunList {
    runs: Vec<RunLine>,
    /// How many runs there are.
    total: usize,
}

/// Which runs to list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// How many of the newest runs to leave out.
    #[serde(default)]
    skip: usize,
}

/// Lists runs, newest first, 200 at a time.
#[utoipa::path(get, path = "/runs", params(Which), security(("token" = [])),
    responses((status = 200, description = "Done.", body = RunList), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(api): Shared, _: Looking, Asked(which): Asked<Which>) -> Answered<RunList> {
    blocking(&api, move |api| {
        let all = api.record.list()?;
        let runs = all.iter().skip(which.skip).take(limits::LISTED).map(RunLine::of).collect();
        Ok(Answer::ok(RunList { runs, total: all.len() }))
    })
    .await
}

/// A new run. Give exactly one of `request`, `sheet` and `template`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartBody {
    /// The key of this start. With the same key, no second run starts as long as this server runs.
    key: String,
    /// A request in your own words.
    request: Option<String>,
    /// The text of a sheet.
    sheet: Option<String>,
    /// The name of a template.
    template: Option<String>,
    /// The inputs of the template. Each is a text or any other JSON value.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, Value>)]
    values: BTreeMap<String, Value>,
}

/// A run that was started.
#[derive(Serialize, ToSchema)]
pub(super) struct NewName {
    /// The name of the run.
    run: RunName,
}

/// Starts a run in a process of its own. The run has the settings of the project, and waits at its gates for approval.
#[utoipa::path(post, path = "/runs", request_body = StartBody, security(("token" = [])),
    responses((status = 201, description = "Started.", body = NewName), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn start(
    State(api): Shared,
    Steering(client): Steering,
    Body(body): Body<StartBody>,
) -> Answered<NewName> {
    let key = key(&client.name, &body.key)?;
    let what = new_run(body)?;
    blocking(&api, move |api| {
        let started = || {
            let run = api.starter.start(what).map_err(|refusal| Problem::of(refusal, Code::CannotRun))?;
            api.record.forget_list();
            Ok(run.to_string())
        };
        let run = api.once.run(&format!("start {key}"), started)?;
        Ok(Answer { status: StatusCode::CREATED, value: NewName { run } })
    })
    .await
}

fn new_run(body: StartBody) -> Result<NewRun, Problem> {
    let StartBody { request, sheet, template, values, .. } = body;
    let wrong = |what: &str| Err(Problem::new(Code::BadRequest, what, "openapi.json describes the body"));
    if template.is_none() && !values.is_empty() {
        return wrong("only a template has `values`");
    }
    match (request, sheet, template) {
        (Some(text), None, None) | (None, Some(text), None) if text.trim().is_empty() => wrong("the text is empty"),
        (Some(request), None, None) => Ok(NewRun::Request(request)),
        (None, Some(sheet), None) => Ok(NewRun::Sheet(sheet)),
        (None, None, Some(name)) => {
            let value = |(name, value): (String, Value)| match value {
                Value::String(text) => (name, text),
                other => (format!("{name}:"), other.to_string()),
            };
            Ok(NewRun::Template { name, values: values.into_iter().map(value).collect() })
        }
        _ => wrong("give one of `request`, `sheet` and `template`"),
    }
}

/// A template.
#[derive(Serialize, ToSchema)]
pub(super) struct TemplateLine {
    /// The name of the template.
    name: String,
    /// The purpose of the template.
    about: String,
    /// The values that it takes, in order.
    inputs: Vec<InputLine>,
}

/// A value that a template takes.
#[derive(Serialize, ToSchema)]
pub(super) struct InputLine {
    /// The name of the value.
    name: String,
    /// The type of the value: `string`, `number`, `boolean`, `object`, `array`, `string[]` or `any`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What the value is. May be empty.
    about: String,
    /// Whether a run without this value is refused.
    required: bool,
    /// The value if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
}

impl TemplateLine {
    fn of(TemplateOffer { name, about, inputs }: TemplateOffer) -> Self {
        Self { name, about, inputs: inputs.into_iter().map(InputLine::of).collect() }
    }
}

impl InputLine {
    fn of(InputOffer { name, kind, about, required, default }: InputOffer) -> Self {
        Self { name, kind, about, required, default }
    }
}

/// Lists templates.
#[utoipa::path(get, path = "/templates", security(("token" = [])),
    responses((status = 200, description = "Done.", body = [TemplateLine]), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn templates(State(api): Shared, _: Looking) -> Answered<Vec<TemplateLine>> {
    blocking(&api, |api| {
        let templates = api.starter.templates()?.into_iter();
        Ok(Answer::ok(templates.map(TemplateLine::of).collect()))
    })
    .await
}

/// A task of a run. Its fields have the names that `callsheet show --json` uses.
#[derive(Serialize, ToSchema)]
pub(super) struct TaskLine {
    task: String,
    name: String,
    /// `planned`, `waiting`, `refining`, `ready`, `running`, `done`, `failed`, `blocked`, `denied`, `cancelled` or
    /// `dropped`.
    state: &'static str,
    /// The number of its step in the current plan, from 1.
    step: Option<usize>,
    /// The task that called the template to which this task belongs.
    below: Option<String>,
    skill: Option<String>,
    /// Whether the task can change files.
    writes: bool,
    /// The files that the task changed.
    changed: Vec<String>,
}

fn task_line(run: &RunView, task: &TaskRun, driven: bool) -> TaskLine {
    let state = run.standing(task);
    TaskLine {
        task: task.task.slug.to_string(),
        name: task.task.name.clone(),
        state: if driven { state } else { state.at_rest() }.as_str(),
        step: run.step_of(&task.task.slug).map(|step| step.saturating_add(1)),
        below: task.below.as_ref().map(ToString::to_string),
        skill: task.task.skill.as_ref().map(ToString::to_string),
        writes: task.may_change(),
        changed: task.changed_files().into_iter().map(|file| file.to_string()).collect(),
    }
}

/// The state of a run.
#[derive(Serialize, ToSchema)]
pub(super) struct RunStatus {
    #[serde(flatten)]
    line: RunLine,
    /// The goals of the plan.
    goals: String,
    tasks: Vec<TaskLine>,
    /// How many approvals it waits for.
    gates: usize,
    /// How many answers it waits for.
    questions: usize,
    /// Errors in an edited `sheet.md`, with their places, and what failed, was denied or is blocked, and why.
    problems: Vec<String>,
    /// Whether orders wait that the run has not handled yet. If no process drives the run, a resume handles them.
    saved: bool,
}

/// Shows the state of a run.
#[utoipa::path(get, path = "/runs/{run}", params(("run" = String, Path, description = "The name of the run.")),
    security(("token" = [])),
    responses((status = 200, description = "Done.", body = RunStatus), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn status(State(api): Shared, _: Looking, At(run): At<String>) -> Answered<RunStatus> {
    blocking(&api, move |api| {
        with_run(api, &run, |summary, view| {
            let driven = summary.owner.is_some();
            let failed = view.all_problems().map(|problem| view.problem_line(&problem));
            let problems = api.runs.edit_errors(view)?.into_iter().chain(failed).collect();
            Ok(Answer::ok(RunStatus {
                line: RunLine { revision: view.cursor().0, ..RunLine::of(summary) },
                goals: view.about().goals.text.clone(),
                tasks: view.all_tasks().map(|task| task_line(view, task, driven)).collect(),
                gates: view.open_gates().len(),
                questions: view.questions().len(),
                problems,
                saved: api.runs.has_messages(&summary.run)?,
            }))
        })
    })
    .await
}

/// Calls `see` with a run in its current state. Refuses an unknown run, and one whose record is damaged.
pub(super) fn with_run<T>(
    api: &Api,
    run: &str,
    see: impl FnOnce(&RunSummary, &RunView) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let summary = summary(api, run)?;
    let known = api.record.folded(&summary.run)?;
    let known = locked(&known);
    if let Some(broken) = &known.folded.broken {
        return Err(Problem::new(Code::Failed, broken.clone(), Advice::command("check the record", ["doctor"])));
    }
    see(&summary, &known.folded.run)
}

/// The current summary of a run.
pub(super) fn summary(api: &Api, run: &str) -> Result<RunSummary, Problem> {
    api.record.summary(&RunId::new(run)).map_err(|refusal| Problem::of(refusal, Code::NotFound))
}

/// The answer of a run.
#[derive(Serialize, ToSchema)]
pub(super) struct RunResult {
    run: RunName,
    /// How it ended.
    #[schema(value_type = Option<String>)]
    outcome: Option<callsheet_core::record::Outcome>,
    /// The answer, in Markdown.
    answer: String,
    /// The results of the tasks that answer the request.
    results: Vec<TaskAnswer>,
    /// The result of the template, if this is a template run.
    task_result: Option<Value>,
}

/// The result of a task.
#[derive(Serialize, ToSchema)]
pub(super) struct TaskAnswer {
    task: String,
    name: String,
    text: String,
}

/// Shows the answer of a run that has one.
#[utoipa::path(get, path = "/runs/{run}/result", params(("run" = String, Path, description = "The name of the run.")),
    security(("token" = [])),
    responses((status = 200, description = "Done.", body = RunResult), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn result(State(api): Shared, _: Looking, At(run): At<String>) -> Answered<RunResult> {
    blocking(&api, move |api| {
        with_run(api, &run, |summary, view| {
            let answer = api.runs.answer(view);
            let task_result = result_of_tree(&*api.runs, view).and_then(|result| serde_json::to_value(result).ok());
            if answer.is_empty() && task_result.is_none() {
                return Err(Problem::new(Code::NotNow, format!("run {run} has no answer"), "check its state first"));
            }
            let results = view.results().into_iter().map(|(task, text)| TaskAnswer {
                task: task.task.slug.to_string(),
                name: task.task.name.clone(),
                text,
            });
            let results = results.collect();
            let RunSummary { run, outcome, .. } = summary;
            Ok(Answer::ok(RunResult { run: run.to_string(), outcome: *outcome, answer, results, task_result }))
        })
    })
    .await
}

/// Sends a recorded text, such as a prompt. Events name these texts by their hashes. Provider keys are masked.
#[utoipa::path(get, path = "/blobs/{hash}", params(("hash" = String, Path, description = "The hash in an event.")),
    security(("token" = [])),
    responses((status = 200, description = "Done.", body = String, content_type = "application/octet-stream"),
        (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn blob(State(api): Shared, _: Looking, At(hash): At<String>) -> Result<Response, Problem> {
    let is_hash = hash.len() == 64 && hash.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    let none = || Problem::new(Code::NotFound, "there is no such text", "use a hash that an event names");
    if !is_hash {
        return Err(none());
    }
    let bytes = blocking(&api, move |api| api.runs.blob(&BlobId::new(hash)).map_err(|_| none())).await?;
    if bytes.len() > limits::BLOB {
        let what = format!("this text has {} bytes; the limit is {}", bytes.len(), limits::BLOB);
        return Err(Problem::new(Code::TooLarge, what, Advice::command("print it", ["show"])));
    }
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], Drawn::bytes(&mask_bytes(&bytes))).into_response())
}
