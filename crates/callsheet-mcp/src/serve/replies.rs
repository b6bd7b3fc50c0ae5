//! What the tools of the server return. Their output schemas come from these types.

use std::sync::Arc;

use callsheet_app::{InputOffer, RunView, TemplateOffer};
use callsheet_core::record::Outcome;
use callsheet_runtime::ports::{GateView, RunSummary};
use rmcp::handler::server::common::schema_for_output;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// The output schema of a tool. `None` if there is no such tool.
pub(super) fn schema(tool: &str) -> Option<Arc<JsonObject>> {
    let schema = match tool {
        "plan" => schema_for_output::<Planned>(),
        "run" => schema_for_output::<NewName>(),
        "runs" => schema_for_output::<RunList>(),
        "status" => schema_for_output::<Status>(),
        "result" => schema_for_output::<RunResult>(),
        "approve" | "answer" | "resume" | "cancel" | "retry" => schema_for_output::<Done>(),
        "templates" => schema_for_output::<TemplateList>(),
        _ => return None,
    };
    let mut schema = Value::Object(Arc::unwrap_or_clone(schema));
    leave_out_widths(&mut schema);
    schema.as_object().cloned().map(Arc::new)
}

/// Removes formats such as `uint32`. JSON Schema has none for numbers, and programs warn about unknown ones.
fn leave_out_widths(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            let is_text = keys.get("type").is_some_and(|of| of == "string");
            if !is_text && keys.get("format").is_some_and(Value::is_string) {
                keys.remove("format");
            }
            keys.values_mut().for_each(leave_out_widths);
        }
        Value::Array(all) => all.iter_mut().for_each(leave_out_widths),
        _ => {}
    }
}

/// A plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct Planned {
    /// The name of the run. None of its tasks has started.
    pub run: String,
    /// The plan as a sheet, in Markdown.
    pub sheet: String,
}

/// A run that was started.
#[derive(Serialize, JsonSchema)]
pub(super) struct NewName {
    /// The name of the run.
    pub run: String,
}

/// Runs, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunList {
    pub runs: Vec<RunLine>,
}

/// A run in a list.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunLine {
    /// The name of the run.
    run: String,
    /// The first line of its request.
    request: String,
    /// How it ended or why it waits. `null` while it works, or if its process was killed.
    #[schemars(with = "Option<String>")]
    outcome: Option<Outcome>,
    /// Whether a process drives it.
    works: bool,
}

impl RunLine {
    pub fn of(run: &RunSummary) -> Self {
        Self {
            run: run.run.to_string(),
            request: run.request.clone(),
            outcome: run.outcome,
            works: run.owner.is_some(),
        }
    }
}

/// The state of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct Status {
    /// The name of the run.
    run: String,
    /// Whether a process drives it.
    works: bool,
    /// How it ended or why it waits. `null` while it works, or if its process was killed.
    #[schemars(with = "Option<String>")]
    outcome: Option<Outcome>,
    tasks: Vec<TaskLine>,
    /// What waits for approval.
    approvals: Vec<Approval>,
    /// What tasks ask.
    questions: Vec<TaskQuestion>,
    /// Errors in an edited `sheet.md`, with their places, and what failed, was denied or is blocked, and why.
    problems: Vec<String>,
}

impl Status {
    pub fn of(run: &RunSummary, works: bool, view: &RunView, gates: &[GateView], faults: Vec<String>) -> Self {
        let task = |task: &callsheet_app::TaskRun| TaskLine {
            task: task.task.slug.to_string(),
            need: task.task.name.clone(),
            state: if works { view.standing(task) } else { view.standing(task).at_rest() }.as_str(),
        };
        let questions = view.questions().into_iter();
        Self {
            run: run.run.to_string(),
            works,
            outcome: run.outcome,
            tasks: view.all_tasks().map(task).collect(),
            approvals: gates.iter().map(Approval::of).collect(),
            questions: questions.map(|asked| TaskQuestion { task: asked.task, question: asked.text }).collect(),
            problems: faults
                .into_iter()
                .chain(view.all_problems().map(|problem| view.problem_line(&problem)))
                .collect(),
        }
    }
}

/// A task of a run.
#[derive(Serialize, JsonSchema)]
struct TaskLine {
    task: String,
    need: String,
    /// `planned`, `waiting`, `refining`, `ready`, `running`, `done`, `failed`, `blocked`, `denied`, `cancelled` or
    /// `dropped`.
    state: &'static str,
}

/// A question of a task.
#[derive(Serialize, JsonSchema)]
struct TaskQuestion {
    /// The task that asks.
    task: String,
    question: String,
}

/// What waits for approval, with everything that a person would see of it.
#[derive(Serialize, JsonSchema)]
struct Approval {
    /// The number of the approval.
    approval: u32,
    /// The task that makes the change or the call.
    task: Option<String>,
    /// The tasks that would run.
    tasks: Vec<Writer>,
    /// The change as a unified diff.
    diff: String,
    /// The check of the change: its name, its result, and its output.
    check: Value,
    /// The call: its tool and its arguments.
    call: Value,
    /// The folder in which the call runs.
    directory: Option<String>,
    /// Equal calls, each with its own approval.
    also: Value,
    /// Whether the call, or another one that it may repeat, was started and never finished.
    again: bool,
    /// That other call.
    unended: Value,
    /// Whether this machine cannot confine the call to what is approved.
    not_confined: bool,
}

impl Approval {
    fn of(view: &GateView) -> Self {
        let writer = |writer: &callsheet_runtime::ports::WriterView| Writer {
            task: writer.task.slug.to_string(),
            need: writer.task.need.clone(),
            why: writer.reason.clone(),
        };
        Self {
            approval: view.gate.n,
            task: view.task.as_ref().map(ToString::to_string),
            tasks: view.writers.iter().map(writer).collect(),
            diff: view.diff.clone(),
            check: json!(view.check),
            call: json!(view.call),
            directory: view.directory.clone(),
            also: json!(view.also),
            again: view.again,
            unended: json!(view.unended),
            not_confined: view.unheld,
        }
    }
}

/// A task that waits for approval before it runs.
#[derive(Serialize, JsonSchema)]
struct Writer {
    task: String,
    need: String,
    /// Why it needs approval.
    why: String,
}

/// The answer of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunResult {
    /// The name of the run.
    pub run: String,
    /// How it ended.
    #[schemars(with = "Option<String>")]
    pub outcome: Option<Outcome>,
    /// The answer, in Markdown.
    pub answer: String,
}

/// What a command did.
#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    /// The name of the run.
    pub run: String,
    /// What happened, in sentences.
    pub done: Vec<String>,
}

/// Templates of the project.
#[derive(Serialize, JsonSchema)]
pub(super) struct TemplateList {
    pub templates: Vec<TemplateLine>,
}

/// A template.
#[derive(Serialize, JsonSchema)]
pub(super) struct TemplateLine {
    /// The name of the template.
    name: String,
    /// Its purpose.
    about: String,
    /// The values that it takes, in order.
    inputs: Vec<InputLine>,
}

/// A value that a template takes.
#[derive(Serialize, JsonSchema)]
struct InputLine {
    /// The name of the value.
    name: String,
    /// The type of the value.
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
    pub fn of(TemplateOffer { name, about, inputs }: TemplateOffer) -> Self {
        let input =
            |InputOffer { name, kind, about, required, default }| InputLine { name, kind, about, required, default };
        Self { name, about, inputs: inputs.into_iter().map(input).collect() }
    }
}
