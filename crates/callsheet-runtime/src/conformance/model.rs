//! The suite of the port `Model`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::nouns::Phase;
use callsheet_core::record::StopReason;
use callsheet_format::reading::ReadContext;
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::reply::task::read_merge;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ports::{Model, ModelFault, ModelReply, ModelRequest};

use super::{CheckOutcome, Finding, requests};

/// Time that a cancelled call may take. The port promises 50 ms; a busy test machine gets more.
const CANCEL_BOUND: Duration = Duration::from_secs(1);

/// Deadline of the check on deadlines.
const SHORT_DEADLINE: Duration = Duration::from_millis(150);

/// How the other side behaves in a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// Answers a plain question.
    Text,
    /// Answers more than the output cap allows.
    Length,
    /// Answers without end, at least for some seconds after the first word.
    Slow,
    /// Calls the tool.
    Tool,
    /// Answers after two tool results.
    Results,
    /// Answers in JSON.
    Schema,
    /// Answers with the JSON form of a reply.
    Twin,
    /// Answers according to a grammar.
    Grammar,
    /// Refuses the key.
    Refused,
    /// Does not know the model.
    UnknownModel,
    /// Is busy and says when to retry.
    Overloaded,
    /// Fails inside.
    ServerError,
    /// Breaks off within the reply.
    BrokenOff,
    /// Sends an empty answer.
    Empty,
    /// Reports that the prompt is too long.
    Overflow,
    /// Is not there.
    Unreachable,
}

impl Scene {
    /// All scenes.
    pub const ALL: [Self; 16] = [
        Self::Text,
        Self::Length,
        Self::Slow,
        Self::Tool,
        Self::Results,
        Self::Schema,
        Self::Twin,
        Self::Grammar,
        Self::Refused,
        Self::UnknownModel,
        Self::Overloaded,
        Self::ServerError,
        Self::BrokenOff,
        Self::Empty,
        Self::Overflow,
        Self::Unreachable,
    ];

    /// The scene's name in fixtures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Length => "length",
            Self::Slow => "slow",
            Self::Tool => "tool",
            Self::Results => "results",
            Self::Schema => "schema",
            Self::Twin => "twin",
            Self::Grammar => "grammar",
            Self::Refused => "refused",
            Self::UnknownModel => "unknown-model",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server-error",
            Self::BrokenOff => "broken-off",
            Self::Empty => "empty",
            Self::Overflow => "overflow",
            Self::Unreachable => "unreachable",
        }
    }
}

/// An adapter under test.
pub trait Subject: Send + Sync {
    /// A model that plays a scene. `Err` says why there is none.
    fn model(&self, scene: Scene) -> Result<Arc<dyn Model>, String>;

    /// The key in use. No fault may show it.
    fn secret(&self) -> Option<&str> {
        None
    }

    /// `Retry-After` of [`Scene::Overloaded`].
    fn retry_after(&self) -> Option<Duration> {
        None
    }

    /// Size of a prompt in tokens that is too long for [`Scene::Overflow`].
    fn too_many_tokens(&self) -> u32 {
        1_000
    }
}

type Verdict = Result<(), String>;

/// Makes every check.
pub async fn check_model(subject: &dyn Subject) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |check: &'static str, outcome: CheckOutcome| findings.push(Finding { check, outcome });
    add("text", with(subject, Scene::Text, text).await);
    add("length-stop", with(subject, Scene::Length, length).await);
    add("cancel-before-the-call", with(subject, Scene::Text, cancel_before).await);
    add("cancel-inside-the-stream", with(subject, Scene::Slow, cancel_inside).await);
    add("deadline", with(subject, Scene::Slow, deadline).await);
    add("tool-call", with_ability(subject, Scene::Tool, tool).await);
    add("several-tool-results", with_ability(subject, Scene::Results, results).await);
    add("schema", with_ability(subject, Scene::Schema, schema).await);
    add("twin", with_ability(subject, Scene::Twin, twin).await);
    add("grammar", with_ability(subject, Scene::Grammar, grammar).await);
    for (check, scene) in [
        ("fault-of-a-refused-key", Scene::Refused),
        ("fault-of-an-unknown-model", Scene::UnknownModel),
        ("fault-of-an-overloaded-server", Scene::Overloaded),
        ("fault-of-a-failing-server", Scene::ServerError),
        ("fault-of-a-broken-stream", Scene::BrokenOff),
        ("fault-of-an-empty-stream", Scene::Empty),
        ("fault-of-a-prompt-too-long", Scene::Overflow),
        ("fault-of-an-absent-server", Scene::Unreachable),
    ] {
        add(check, with(subject, scene, |model| fault(subject, scene, model)).await);
    }
    findings
}

async fn with<F>(subject: &dyn Subject, scene: Scene, check: impl FnOnce(Arc<dyn Model>) -> F) -> CheckOutcome
where
    F: Future<Output = Verdict>,
{
    match subject.model(scene) {
        Err(reason) => CheckOutcome::Skipped { reason },
        Ok(model) => match check(model).await {
            Ok(()) => CheckOutcome::Passed,
            Err(message) => CheckOutcome::Failed { message },
        },
    }
}

/// Like `with`, but skipped if the model says that it lacks the ability.
async fn with_ability<F>(subject: &dyn Subject, scene: Scene, check: impl FnOnce(Arc<dyn Model>) -> F) -> CheckOutcome
where
    F: Future<Output = Verdict>,
{
    let Ok(model) = subject.model(scene) else { return with(subject, scene, check).await };
    let can = model.info().capabilities;
    let able = match scene {
        Scene::Tool | Scene::Results => can.tools,
        Scene::Schema | Scene::Twin => can.json_schema,
        Scene::Grammar => can.grammar,
        _ => true,
    };
    if !able {
        return CheckOutcome::Skipped { reason: "the model does not offer it".to_owned() };
    }
    with(subject, scene, |_| check(model)).await
}

/// One call, with the text that was streamed.
async fn ask(model: &Arc<dyn Model>, request: &ModelRequest) -> (Result<ModelReply, ModelFault>, String) {
    let streamed = Mutex::new(String::new());
    let sink = |text: &str| streamed.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    let result = model.ask(request, &sink, &CancellationToken::new()).await;
    (result, streamed.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// A reply whose deltas, usage and name fulfil what every reply must.
async fn replied(model: &Arc<dyn Model>, request: &ModelRequest) -> Result<ModelReply, String> {
    let (result, streamed) = ask(model, request).await;
    let reply = result.map_err(|fault| format!("no reply: {fault:?}"))?;
    demand(streamed == reply.text, || format!("streamed {streamed:?}, replied {:?}", reply.text))?;
    demand(reply.usage.input > 0, || format!("no input tokens counted: {:?}", reply.usage))?;
    demand(reply.usage.output > 0 || reply.text.is_empty(), || format!("no output counted: {:?}", reply.usage))?;
    demand(reply.model == model.info().id, || format!("the reply names {}", reply.model))?;
    Ok(reply)
}

fn demand(holds: bool, message: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(message()) }
}

async fn text(model: Arc<dyn Model>) -> Verdict {
    let reply = replied(&model, &requests::text()).await?;
    demand(!reply.text.trim().is_empty(), || "the text is blank".to_owned())?;
    demand(reply.calls.is_empty(), || format!("calls nobody offered: {:?}", reply.calls))?;
    demand(matches!(reply.stop, StopReason::End | StopReason::Length), || format!("stopped by {:?}", reply.stop))
}

async fn length(model: Arc<dyn Model>) -> Verdict {
    let reply = replied(&model, &requests::story_request(12)).await?;
    demand(reply.stop == StopReason::Length, || format!("stopped by {:?}", reply.stop))?;
    demand(reply.usage.output <= 16, || format!("{} tokens came, 12 were allowed", reply.usage.output))
}

async fn cancel_before(model: Arc<dyn Model>) -> Verdict {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = model.ask(&requests::text(), &|_| {}, &cancel).await;
    demand(result == Err(ModelFault::Cancelled), || format!("{result:?}"))
}

async fn cancel_inside(model: Arc<dyn Model>) -> Verdict {
    let cancel = CancellationToken::new();
    let cancelled_at: Mutex<Option<Instant>> = Mutex::new(None);
    let sink = |text: &str| {
        if !text.is_empty() {
            cancelled_at.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
            cancel.cancel();
        }
    };
    let result = model.ask(&requests::story_request(4_000), &sink, &cancel).await;
    let took = cancelled_at.into_inner().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed());
    demand(result == Err(ModelFault::Cancelled), || format!("{result:?}"))?;
    demand(took.is_some_and(|took| took < CANCEL_BOUND), || format!("it took {took:?}"))
}

async fn deadline(model: Arc<dyn Model>) -> Verdict {
    let request = ModelRequest { deadline: SHORT_DEADLINE, ..requests::story_request(4_000) };
    let (result, _) = ask(&model, &request).await;
    demand(result == Err(ModelFault::Deadline), || format!("{result:?}"))
}

async fn tool(model: Arc<dyn Model>) -> Verdict {
    let reply = replied(&model, &requests::tool()).await?;
    demand(reply.stop == StopReason::Tools, || format!("stopped by {:?}, text {:?}", reply.stop, reply.text))?;
    for call in &reply.calls {
        demand(call.name == "weather", || format!("called {}", call.name))?;
        demand(!call.id.is_empty(), || "a call has no id".to_owned())?;
        demand(call.arguments.get("city").is_some_and(Value::is_string), || format!("arguments {}", call.arguments))?;
    }
    demand(!reply.calls.is_empty(), || "no call".to_owned())
}

async fn results(model: Arc<dyn Model>) -> Verdict {
    replied(&model, &requests::results()).await.map(|_| ())
}

async fn schema(model: Arc<dyn Model>) -> Verdict {
    let reply = replied(&model, &requests::schema()).await?;
    let value: Value = serde_json::from_str(&reply.text).map_err(|error| format!("{:?}: {error}", reply.text))?;
    let colour = value.get("colour").and_then(Value::as_str);
    demand(matches!(colour, Some("red" | "green" | "yellow")), || format!("{value}"))?;
    demand(value.get("letters").is_some_and(Value::is_i64), || format!("{value}"))?;
    demand(value.as_object().is_some_and(|map| map.len() == 2), || format!("{value}"))
}

/// A whole reply under the schema of its form must become Markdown that the reader accepts.
async fn twin(model: Arc<dyn Model>) -> Verdict {
    let reply = replied(&model, &requests::twin()).await?;
    if reply.stop == StopReason::Length {
        return demand(reply.text.starts_with('{'), || format!("{:?}", reply.text));
    }
    let twin = read_json_form(&reply.text, &requests::twin_form(), Phase::Merge);
    let twin = twin.ok_or_else(|| format!("no twin: {:?}", reply.text))?;
    demand(twin.issues.is_empty() && twin.repairs.is_empty(), || format!("{:?} {:?}", twin.issues, twin.repairs))?;
    let reading = read_merge(&twin.text, &ReadContext::default());
    demand(reading.is_accepted(), || format!("{:?}\n{}", reading.issues, twin.text))
}

async fn grammar(model: Arc<dyn Model>) -> Verdict {
    let reply = replied(&model, &requests::grammar()).await?;
    demand(matches!(reply.text.as_str(), "yes" | "no"), || format!("{:?}", reply.text))
}

async fn fault(subject: &dyn Subject, scene: Scene, model: Arc<dyn Model>) -> Verdict {
    let request = match scene {
        Scene::Overflow => requests::long(subject.too_many_tokens()),
        _ => requests::text(),
    };
    let (result, _) = ask(&model, &request).await;
    let Err(fault) = result else { return Err("a reply came".to_owned()) };
    if let Some(secret) = subject.secret() {
        demand(!format!("{fault:?} {fault}").contains(secret), || "the fault shows the key".to_owned())?;
    }
    let fits = match (scene, &fault) {
        (Scene::Refused | Scene::UnknownModel, ModelFault::Configuration { .. })
        | (Scene::Overflow, ModelFault::ContextOverflow { .. })
        | (
            Scene::ServerError | Scene::BrokenOff | Scene::Empty | Scene::Unreachable,
            ModelFault::Communication { .. },
        ) => true,
        (Scene::Overloaded, ModelFault::Busy { wait, .. }) => *wait == subject.retry_after(),
        _ => false,
    };
    demand(fits, || format!("{fault:?}"))
}
