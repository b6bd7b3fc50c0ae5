//! Callsheet as a server (spec 13.5). Other programs start runs and look at them. If the person allows it, they also
//! approve and answer.

mod replies;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_app::{
    AdviceStep, Arrival, Cursor, NewRun, Order, Refusal, RunCommand, RunControl, RunStarter, RunView, Started,
    no_question, settled, unknown_run,
};
use callsheet_core::nouns::RunId;
use callsheet_core::record::{AnsweredBy, Outcome};
use callsheet_core::view::outcome_words;
use callsheet_runtime::ports::RunSummary;
use callsheet_runtime::shown::Shown;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::say;

use replies::{Done, NewName, Planned, RunLine, RunList, RunResult, Status, TemplateLine, TemplateList, schema};
use wait::{Until, Waited, Waiter};

/// How many runs `runs` lists.
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
    async fn call(&self, name: &str, arguments: Value, waiter: &Waiter) -> Result<Value, String> {
        match name {
            "plan" => {
                let PlanArguments { request } = given(arguments)?;
                self.plan(request, waiter).await
            }
            "status" => {
                let StatusArguments { run, wait } = given(arguments)?;
                self.status(run, wait, waiter).await
            }
            _ => {
                let name = name.to_owned();
                self.at_once(move |server| server.call_at_once(&name, arguments)).await
            }
        }
    }

    /// Does work that may block on a thread that may block.
    async fn at_once<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&server)).await;
        done.map_err(|error| error.to_string())?
    }

    /// Carries out a call that waits for nothing.
    fn call_at_once(&self, name: &str, arguments: Value) -> Result<Value, String> {
        match name {
            "run" => self.start(given(arguments)?),
            "runs" => {
                let NoArguments {} = given(arguments)?;
                self.listed()
            }
            "result" => {
                let RunArguments { run } = given(arguments)?;
                self.result(&run)
            }
            "approve" => self.approve(given(arguments)?),
            "answer" => self.answer(given(arguments)?),
            "resume" => {
                let RunArguments { run } = given(arguments)?;
                let run = self.steered(&run, "resume")?;
                let resumed = self.runs.resume(&run).map_err(words)?.words();
                reply(&Done { run: run.to_string(), done: vec![resumed] })
            }
            "cancel" => {
                let RunArguments { run } = given(arguments)?;
                let run = self.steered(&run, "cancel")?;
                self.order(&run, RunCommand::Stop)
            }
            "retry" => self.retry(given(arguments)?),
            "templates" => {
                let NoArguments {} = given(arguments)?;
                let templates = self.starter.templates().map_err(words)?;
                reply(&TemplateList { templates: templates.into_iter().map(TemplateLine::of).collect() })
            }
            other => Err(say("serve-unknown", &[("tool", &other)])),
        }
    }

    fn start(&self, arguments: StartArguments) -> Result<Value, String> {
        let what = match (arguments.request, arguments.sheet, arguments.template) {
            (Some(request), None, None) => NewRun::Request(request),
            (None, Some(sheet), None) => NewRun::Sheet(sheet),
            (None, None, Some(name)) => NewRun::Template { name, values: arguments.values },
            _ => return Err(say("serve-one-of", &[])),
        };
        let run = self.begin(what)?;
        reply(&NewName { run: run.to_string() })
    }

    fn begin(&self, what: NewRun) -> Result<RunId, String> {
        let run = self.starter.start(what).map_err(words)?;
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone());
        Ok(run)
    }

    /// Plans a request and waits for the plan. If the program withdraws the call, planning stops.
    async fn plan(&self, request: String, waiter: &Waiter) -> Result<Value, String> {
        let run = self.at_once(move |server| server.begin(NewRun::Plan(request))).await?;
        let waited = waiter.follow(Arc::clone(&self.runs), run.clone(), Until::Ended).await?;
        self.at_once(move |server| match waited {
            Waited::Withdrawn => server.order(&run, RunCommand::Stop),
            Waited::Over => server.planned(&run),
        })
        .await
    }

    fn planned(&self, run: &RunId) -> Result<Value, String> {
        let view = self.view(run)?;
        let about = view.about();
        if about.outcome != Some(Outcome::Planned) {
            let how = about.message.or(about.outcome.map(outcome_words)).unwrap_or_default();
            return Err(say("serve-no-plan", &[("run", run), ("how", &how)]));
        }
        reply(&Planned { run: run.to_string(), sheet: self.runs.sheet(&view).map_err(words)? })
    }

    /// The run that the program wants to stop, resume or retry. A program that may not approve can steer only the runs
    /// that it started. `command` is the person's.
    fn steered(&self, run: &str, command: &str) -> Result<RunId, String> {
        let run = self.found(run)?.run;
        let is_own = self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&run);
        if !self.may_approve && !is_own {
            return Err(say("serve-may-not", &[("command", &format!("callsheet {command} {run}"))]));
        }
        Ok(run)
    }

    fn found(&self, run: &str) -> Result<RunSummary, String> {
        let runs = self.runs.list().map_err(words)?;
        let found = runs.iter().find(|known| known.run.as_str() == run).cloned();
        found.ok_or_else(|| words(unknown_run(run, &runs)))
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
        reply(&RunList { runs: runs.iter().take(LISTED).map(RunLine::of).collect() })
    }

    async fn status(&self, run: String, wait: bool, waiter: &Waiter) -> Result<Value, String> {
        if wait {
            let name = run.clone();
            let found = self.at_once(move |server| server.found(&name)).await?;
            waiter.follow(Arc::clone(&self.runs), found.run, Until::Rests).await?;
        }
        self.at_once(move |server| {
            let found = server.found(&run)?;
            let view = server.view(&found.run)?;
            let gates = server.runs.gates(&view).map_err(words)?;
            // A process that was started a moment ago may not drive the run yet.
            let works = found.owner.is_some() || server.runs.started(&found.run) == Some(Started::Working);
            let faults = server.runs.edit_errors(&view).map_err(words)?;
            reply(&Status::of(&found, works, &view, &gates, faults))
        })
        .await
    }

    fn result(&self, run: &str) -> Result<Value, String> {
        let found = self.found(run)?;
        let answer = self.runs.answer(&self.view(&found.run)?);
        if answer.is_empty() {
            return Err(say("serve-not-ended", &[("run", &run)]));
        }
        reply(&RunResult { run: run.to_owned(), outcome: found.outcome, answer })
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
        let question = questions.iter().find(|question| question.task == task);
        let question = question.ok_or_else(|| words(no_question(&questions, &task)))?;
        self.order(&run, RunCommand::Reply { to: question.asking.clone(), text })
    }

    fn retry(&self, arguments: RetryArguments) -> Result<Value, String> {
        let RetryArguments { run, task, because } = arguments;
        let run = self.steered(&run, "retry")?;
        let tasks = task.into_iter().collect();
        self.order(&run, RunCommand::Retry { tasks, keep_changes: false, because })
    }

    /// Sends a command to a run. If no process drives the run, resumes it, unless the command stops it.
    fn order(&self, run: &RunId, command: RunCommand) -> Result<Value, String> {
        let resumes = !matches!(command, RunCommand::Stop);
        let order = Order::new(AnsweredBy::Client, command).map_err(words)?;
        let order = Order { revision: Some(self.view(run)?.cursor()), ..order };
        let sent = self.runs.order(run, &order).map_err(words)?;
        let receipt = settled(&*self.runs, &order, sent).map_err(words)?;
        let mut said = vec![receipt.words()];
        said.extend(receipt.notes.steps().iter().map(advised));
        if resumes && receipt.arrival == Arrival::Saved {
            said.push(self.runs.resume(run).map_err(words)?.words());
        }
        reply(&Done { run: run.to_string(), done: said })
    }
}

fn reply(value: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// The value with known keys masked, as in all output (spec 11.16).
fn shown(value: &Value) -> serde_json::Result<Value> {
    serde_json::from_str(Shown::json(&value.to_string()).as_str())
}

/// Tools that do what a command of a person does, when the command has at most this many names: a run, then a task.
const TOOLS: [(&str, &str, usize); 8] = [
    ("run", "run", 1),
    ("runs", "runs", 1),
    ("show", "status", 1),
    ("resume", "resume", 1),
    ("cancel", "cancel", 1),
    ("retry", "retry", 2),
    ("approve", "approve", 1),
    ("deny", "approve", 1),
];

fn words(refusal: Refusal) -> String {
    let Refusal { what, advice, .. } = refusal;
    if advice.is_empty() { what } else { format!("{what}. {}", advice.drawn(advised)) }
}

/// A step of advice for the program: with its own tool, or else as something that the person can do.
fn advised(step: &AdviceStep) -> String {
    let AdviceStep { text, command } = step;
    let Some((word, names)) = command.split_first() else { return text.clone() };
    match TOOLS.iter().find(|(known, _, most)| known == word && names.len() <= *most) {
        Some((_, tool, _)) => say("serve-advice-tool", &[("text", text), ("tool", tool)]),
        None => {
            let command = step.command_line("callsheet");
            say("serve-advice-person", &[("text", text), ("command", &command)])
        }
    }
}

fn given<T: for<'a> Deserialize<'a>>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartArguments {
    request: Option<String>,
    sheet: Option<String>,
    template: Option<String>,
    #[serde(default)]
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanArguments {
    request: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusArguments {
    run: String,
    #[serde(default)]
    wait: bool,
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
struct RetryArguments {
    run: String,
    task: Option<String>,
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
        let mut tools: Vec<Tool> = serde_json::from_str(include_str!("../../prompts/serve.json"))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        for tool in &mut tools {
            tool.output_schema = schema(&tool.name);
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.call(&request.name, arguments, &Waiter::of(&context)).await {
            Ok(value) => CallToolResult::structured(
                shown(&value).map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
            ),
            Err(words) => CallToolResult::error(vec![ContentBlock::text(Shown::text(&words).as_str())]),
        };
        Ok(CallToolResponse::Complete(result))
    }
}

#[cfg(test)]
mod tests {
    use callsheet_app::Advice;

    use super::*;

    #[test]
    fn advice_names_tools_and_what_only_a_person_can_do() {
        let advice = Advice::command("look at it", ["show", "r1"]).or("revert it", ["undo", "r1", "a"]).and("or wait");
        let told = words(Refusal::usage("it has ended", advice));
        let person = "revert it: callsheet undo r1 a (only the person can do this, in a terminal)";
        assert_eq!(told, format!("it has ended. look at it: the tool `status`; {person}; or wait"));
        let advice =
            Advice::command("retry it", ["retry", "r1", "a"]).or("with them", ["retry", "r1", "a", "--keep-changes"]);
        let person = "with them: callsheet retry r1 a --keep-changes (only the person can do this, in a terminal)";
        assert_eq!(words(Refusal::usage("x", advice)), format!("x. retry it: the tool `retry`; {person}"));
    }
}
