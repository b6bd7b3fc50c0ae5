//! Callsheet as a server (spec 13.5). Other programs start runs and look at them. If the person allows it, they also
//! approve and answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_app::{Cursor, NewRun, Order, Refusal, RunCommand, RunControl, RunStarter, RunView, Started};
use callsheet_core::nouns::RunId;
use callsheet_core::record::AnsweredBy;
use callsheet_runtime::ports::{GateView, RunSummary};
use callsheet_runtime::shown::Shown;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::words::say;

/// How many runs `status` lists.
const LISTED: usize = 20;

/// A server for one program.
#[derive(Clone)]
pub struct RunServer {
    runs: Arc<dyn RunControl>,
    starter: Arc<dyn RunStarter>,
    /// Whether the person allows this program to approve and answer.
    may_approve: bool,
    /// The runs that this program started.
    own: Arc<Mutex<BTreeSet<RunId>>>,
}

impl RunServer {
    /// A server for one program, which may see these runs.
    pub fn new(runs: Arc<dyn RunControl>, starter: Arc<dyn RunStarter>, may_approve: bool) -> Self {
        Self { runs, starter, may_approve, own: Arc::default() }
    }

    /// Serves the program over stdin and stdout until it disconnects.
    ///
    /// # Errors
    /// The program does not speak the protocol.
    pub async fn serve(self) -> Result<(), String> {
        let transport = (tokio::io::stdin(), tokio::io::stdout());
        let running = serve_server(self, transport).await.map_err(|error| error.to_string())?;
        running.waiting().await.map(drop).map_err(|error| error.to_string())
    }

    /// Carries out a call. Returns a value, or an error that says what is wrong.
    fn call(&self, name: &str, arguments: Value) -> Result<Value, String> {
        match name {
            "run" => self.start(given(arguments)?),
            "status" => {
                let StatusArguments { run } = given(arguments)?;
                match run {
                    Some(run) => self.status(&run),
                    None => self.listed(),
                }
            }
            "result" => {
                let RunArguments { run } = given(arguments)?;
                self.result(&run)
            }
            "approve" => self.approve(given(arguments)?),
            "answer" => self.answer(given(arguments)?),
            "cancel" => {
                let RunArguments { run } = given(arguments)?;
                self.cancel(&run)
            }
            "templates" => {
                let templates = self.starter.templates().map_err(words)?;
                let templates: Vec<Value> =
                    templates.iter().map(|(name, about)| json!({ "name": name, "about": about })).collect();
                Ok(json!({ "templates": templates }))
            }
            other => Err(say("serve-unknown", &[("tool", &other)])),
        }
    }

    fn start(&self, arguments: StartArguments) -> Result<Value, String> {
        let what = match (arguments.request, arguments.template) {
            (Some(request), None) => NewRun::Request(request),
            (None, Some(name)) => NewRun::Template { name, values: arguments.values },
            _ => return Err(say("serve-one-of", &[])),
        };
        let run = self.starter.start(what).map_err(words)?;
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone());
        Ok(json!({ "run": run }))
    }

    /// Stops a run. A program that may not approve can stop only the runs that it started.
    fn cancel(&self, run: &str) -> Result<Value, String> {
        let run = self.found(run)?.run;
        let is_own = self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&run);
        if !self.may_approve && !is_own {
            return Err(say("serve-may-not", &[("command", &format!("callsheet cancel {run}"))]));
        }
        self.order(&run, RunCommand::Stop)
    }

    fn found(&self, run: &str) -> Result<RunSummary, String> {
        let runs = self.runs.list().map_err(words)?;
        let found = runs.into_iter().find(|known| known.run.as_str() == run);
        found.ok_or_else(|| say("serve-no-run", &[("run", &run)]))
    }

    fn view(&self, run: &RunId) -> Result<RunView, String> {
        let mut view = RunView::default();
        for entry in self.runs.watch(run, Cursor::default()).map_err(words)? {
            view.take(&entry).map_err(|error| error.to_string())?;
        }
        Ok(view)
    }

    fn listed(&self) -> Result<Value, String> {
        let runs = self.runs.list().map_err(words)?;
        let line = |run: &RunSummary| json!({ "run": run.run, "request": run.request, "outcome": run.outcome, "works": run.owner.is_some() });
        Ok(json!({ "runs": runs.iter().take(LISTED).map(line).collect::<Vec<_>>() }))
    }

    fn status(&self, run: &str) -> Result<Value, String> {
        let found = self.found(run)?;
        let driven = found.owner.is_some();
        let view = self.view(&found.run)?;
        let tasks: Vec<Value> = view
            .all_tasks()
            .map(
                |task| json!({ "task": task.task.slug, "need": task.task.name, "state": view.standing(task).as_str() }),
            )
            .collect();
        let gates = self.runs.gates(&view).map_err(words)?;
        let questions: Vec<Value> = view
            .questions()
            .iter()
            .map(|question| json!({ "task": question.task, "question": question.text }))
            .collect();
        let problems: Vec<String> = view.all_problems().map(|problem| view.problem_line(&problem)).collect();
        Ok(json!({
            "run": found.run,
            // A process that was started a moment ago may not drive the run yet.
            "works": driven || self.runs.started(&found.run) == Some(Started::Working),
            "outcome": found.outcome,
            "tasks": tasks,
            "approvals": gates.iter().map(approval).collect::<Vec<_>>(),
            "questions": questions,
            "problems": problems,
        }))
    }

    fn result(&self, run: &str) -> Result<Value, String> {
        let found = self.found(run)?;
        let answer = self.runs.answer(&self.view(&found.run)?);
        if answer.is_empty() {
            return Err(say("serve-not-ended", &[("run", &run)]));
        }
        Ok(json!({ "run": found.run, "outcome": found.outcome, "answer": answer }))
    }

    fn approve(&self, arguments: ApproveArguments) -> Result<Value, String> {
        let ApproveArguments { run, approval, deny, because } = arguments;
        let run = self.found(&run)?.run;
        if !self.may_approve {
            return Err(say("serve-may-not", &[("command", &format!("callsheet approve {run}"))]));
        }
        let (gates, tasks) = (vec![approval], Vec::new());
        let command = if deny {
            RunCommand::Deny { gates, tasks, because }
        } else {
            RunCommand::Approve { gates, tasks, later: false, always: None }
        };
        self.order(&run, command)
    }

    fn answer(&self, arguments: AnswerArguments) -> Result<Value, String> {
        let AnswerArguments { run, task, text } = arguments;
        let run = self.found(&run)?.run;
        if !self.may_approve {
            return Err(say("serve-may-not", &[("command", &format!("callsheet resume {run} --answer TEXT"))]));
        }
        let questions = self.view(&run)?.questions();
        let question = questions.into_iter().find(|question| question.task == task);
        let question = question.ok_or_else(|| say("serve-no-question", &[("task", &task)]))?;
        self.order(&run, RunCommand::Reply { to: question.asking, text })
    }

    /// Sends a command to a run. If no process drives the run, resumes it, unless the command stops it.
    fn order(&self, run: &RunId, command: RunCommand) -> Result<Value, String> {
        let resumes = !matches!(command, RunCommand::Stop);
        let order = Order::new(AnsweredBy::Client, command).map_err(words)?;
        let receipt = self.runs.order(run, &order).map_err(words)?;
        let mut said = vec![receipt.words()];
        said.extend(receipt.notes.iter().cloned());
        if resumes && !receipt.is_sent() {
            said.push(self.runs.resume(run).map_err(words)?.words());
        }
        Ok(json!({ "run": run, "done": said }))
    }
}

/// A waiting approval, with everything that a person would see of it.
fn approval(view: &GateView) -> Value {
    let writers: Vec<Value> = view
        .writers
        .iter()
        .map(|writer| json!({ "task": writer.task.slug, "need": writer.task.need, "why": writer.reason }))
        .collect();
    json!({
        "approval": view.gate.n,
        "task": view.task,
        "tasks": writers,
        "diff": view.diff,
        "check": view.check,
        "call": view.call,
        "directory": view.directory,
        "also": view.also,
        "again": view.again,
        "not_confined": view.unheld,
    })
}

/// The value with known keys masked, as in all output (spec 11.16).
fn shown(value: &Value) -> serde_json::Result<Value> {
    serde_json::from_str(Shown::json(&value.to_string()).as_str())
}

fn words(refusal: Refusal) -> String {
    let Refusal { what, advice, .. } = refusal;
    if advice.is_empty() { what } else { format!("{what}. {advice}") }
}

fn given<T: for<'a> Deserialize<'a>>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartArguments {
    request: Option<String>,
    template: Option<String>,
    #[serde(default)]
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusArguments {
    run: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    run: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApproveArguments {
    run: String,
    approval: u32,
    #[serde(default)]
    deny: bool,
    #[serde(default)]
    because: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerArguments {
    run: String,
    task: String,
    text: String,
}

impl ServerHandler for RunServer {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("callsheet", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(say("serve-instructions", &[]));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools: Vec<Tool> = serde_json::from_str(include_str!("../prompts/serve.json"))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let server = self.clone();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let called = tokio::task::spawn_blocking(move || server.call(&request.name, arguments)).await;
        let internal = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let result = match called.map_err(|error| internal(&error))? {
            Ok(value) => CallToolResult::structured(shown(&value).map_err(|error| internal(&error))?),
            Err(words) => CallToolResult::error(vec![ContentBlock::text(Shown::text(&words).as_str())]),
        };
        Ok(CallToolResponse::Complete(result))
    }
}
