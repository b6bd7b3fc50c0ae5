//! Orders to runs. Each order has a key, and names the revision of the run that the client saw.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use callsheet_app::{Arrival, Client, Cursor, Order, Receipt, RunCommand, settled};
use callsheet_core::nouns::{ExecutionId, Slug};
use callsheet_runtime::ports::AskingCall;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::access::{Approving, Steering};
use super::answer::{Answer, Answered};
use super::problem::{Code, Problem, Step};
use super::reading::{At, Body, key};
use super::runs::{RunName, summary, with_run};
use super::{Api, Shared, blocking};

/// The result of an order.
#[derive(Serialize, ToSchema)]
pub(super) struct Done {
    run: RunName,
    /// `sent`: the process that drives the run has it. `saved`: it takes effect when the run is resumed. `done`: it has
    /// taken effect.
    arrival: &'static str,
    /// What happened, in words.
    what: String,
    /// Further notes.
    notes: Vec<Step>,
}

impl Done {
    fn of(receipt: Receipt) -> Self {
        let arrival = match receipt.arrival {
            Arrival::Sent { .. } => "sent",
            Arrival::Saved => "saved",
            Arrival::Recorded | Arrival::Done => "done",
        };
        Self { run: receipt.run.to_string(), arrival, what: receipt.words(), notes: Step::all(&receipt.notes) }
    }
}

/// Sends a command to a run. The client decided on it at this revision.
async fn give(
    api: &Arc<Api>,
    client: Client,
    run: String,
    (given, revision): (String, u64),
    command: RunCommand,
) -> Answered<Done> {
    let key = key(&client.name, &given)?;
    blocking(api, move |api| {
        let (found, now) = with_run(api, &run, |found, view| Ok((found.clone(), view.cursor().0)))?;
        if revision > now {
            let what = format!("revision {revision} is not recorded; the run is at {now}");
            return Err(Problem::new(Code::NotNow, what, "send the revision that you saw"));
        }
        let order = Order { by: client.by(), key, revision: Some(Cursor(revision)), command };
        let receipt = settled(&*api.runs, &order, api.runs.order(&found.run, &order)?)?;
        api.record.forget_list();
        Ok(Answer::ok(Done::of(receipt)))
    })
    .await
}

/// Refuses an empty list of gates, because an order must name what it approves or denies.
fn named(gates: Vec<u32>) -> Result<Vec<u32>, Problem> {
    if gates.is_empty() {
        return Err(Problem::new(Code::BadRequest, "`gates` is empty", "name the gates that you saw"));
    }
    Ok(gates)
}

/// An approval.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveBody {
    /// The key of this order. If you send the order again with the same key, it has no second effect.
    key: String,
    /// The revision that the client saw.
    revision: u64,
    /// The gates to approve.
    gates: Vec<u32>,
    /// Only these tasks of the gates. Empty means all.
    #[serde(default)]
    tasks: Vec<String>,
    /// Only these hunks of the change. The others are skipped.
    hunks: Option<Vec<u32>>,
    /// Why the other hunks are skipped.
    #[serde(default)]
    because: String,
}

/// Approves tasks, a change or a call. The record names the client.
#[utoipa::path(post, path = "/runs/{run}/approve", request_body = ApproveBody, security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run.")),
    responses((status = 200, description = "Done.", body = Done), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn approve(
    State(api): Shared,
    Approving(client): Approving,
    At(run): At<String>,
    Body(body): Body<ApproveBody>,
) -> Answered<Done> {
    let ApproveBody { key, revision, gates, tasks, hunks, because } = body;
    let gates = named(gates)?;
    let command = match hunks {
        Some(hunks) if hunks.is_empty() => {
            return Err(Problem::new(Code::BadRequest, "`hunks` is empty", "name at least one hunk, or deny"));
        }
        Some(hunks) => {
            let hunks = Some(hunks.into_iter().map(|number| (number, number)).collect());
            RunCommand::Keep { gates, tasks, hunks, edits: BTreeMap::new(), because }
        }
        None if !because.is_empty() => {
            return Err(Problem::new(
                Code::BadRequest,
                "`because` needs `hunks`",
                "leave it out, or deny with this reason",
            ));
        }
        None => RunCommand::Approve { gates, tasks, later: false, always: None },
    };
    give(&api, client, run, (key, revision), command).await
}

/// A denial.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DenyBody {
    /// The key of this order.
    key: String,
    /// The revision that the client saw.
    revision: u64,
    /// The gates to deny.
    gates: Vec<u32>,
    /// Only these tasks of the gates. Empty means all.
    #[serde(default)]
    tasks: Vec<String>,
    /// The reason. The model reads it if it tries again.
    #[serde(default)]
    because: String,
}

/// Denies tasks, a change or a call.
#[utoipa::path(post, path = "/runs/{run}/deny", request_body = DenyBody, security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run.")),
    responses((status = 200, description = "Done.", body = Done), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn deny(
    State(api): Shared,
    Approving(client): Approving,
    At(run): At<String>,
    Body(body): Body<DenyBody>,
) -> Answered<Done> {
    let DenyBody { key, revision, gates, tasks, because } = body;
    let command = RunCommand::Deny { gates: named(gates)?, tasks, because };
    give(&api, client, run, (key, revision), command).await
}

/// An answer to a question.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    /// The key of this order.
    key: String,
    /// The revision that the client saw.
    revision: u64,
    /// The task that asks, as in the answer of `waiting`.
    task: String,
    /// The execution that asks.
    execution: String,
    /// The call that asks.
    call: String,
    /// The answer, verbatim.
    text: String,
}

/// Answers a task's question.
#[utoipa::path(post, path = "/runs/{run}/answer", request_body = AnswerBody, security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run.")),
    responses((status = 200, description = "Done.", body = Done), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn answer(
    State(api): Shared,
    Approving(client): Approving,
    At(run): At<String>,
    Body(body): Body<AnswerBody>,
) -> Answered<Done> {
    let AnswerBody { key, revision, task, execution, call, text } = body;
    let to = AskingCall { task: Slug::new(task), run: ExecutionId::new(execution), call };
    give(&api, client, run, (key, revision), RunCommand::Reply { to, text }).await
}

/// A retry.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryBody {
    /// The key of this order.
    key: String,
    /// The revision that the client saw.
    revision: u64,
    /// The tasks to retry. Empty means all failed tasks.
    #[serde(default)]
    tasks: Vec<String>,
    /// Whether to retry tasks even if their changes are in files.
    #[serde(default)]
    keep_changes: bool,
    /// What was wrong with their results. The prompts of these tasks contain it.
    #[serde(default)]
    because: String,
}

/// Retries tasks.
#[utoipa::path(post, path = "/runs/{run}/retry", request_body = RetryBody, security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run.")),
    responses((status = 200, description = "Done.", body = Done), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn retry(
    State(api): Shared,
    Steering(client): Steering,
    At(run): At<String>,
    Body(body): Body<RetryBody>,
) -> Answered<Done> {
    let RetryBody { key, revision, tasks, keep_changes, because } = body;
    give(&api, client, run, (key, revision), RunCommand::Retry { tasks, keep_changes, because }).await
}

/// A cancellation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelBody {
    /// The key of this order.
    key: String,
    /// The revision that the client saw.
    revision: u64,
}

/// Stops a run that a process drives. The record is kept, and the run can be resumed.
#[utoipa::path(post, path = "/runs/{run}/cancel", request_body = CancelBody, security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run.")),
    responses((status = 200, description = "Done.", body = Done), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel(
    State(api): Shared,
    Steering(client): Steering,
    At(run): At<String>,
    Body(body): Body<CancelBody>,
) -> Answered<Done> {
    give(&api, client, run, (body.key, body.revision), RunCommand::Stop).await
}

/// An order to resume a run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeBody {
    /// The key of this order. With the same key, it has no second effect as long as this server runs.
    key: String,
}

/// Resumes a run that no process drives, in a new process.
#[utoipa::path(post, path = "/runs/{run}/resume", request_body = ResumeBody, security(("token" = [])),
    params(("run" = String, Path, description = "The name of the run.")),
    responses((status = 200, description = "Done.", body = Done), (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn resume(
    State(api): Shared,
    Steering(client): Steering,
    At(run): At<String>,
    Body(body): Body<ResumeBody>,
) -> Answered<Done> {
    let key = key(&client.name, &body.key)?;
    blocking(&api, move |api| {
        let found = summary(api, &run)?;
        let resumed = || {
            let receipt = api.runs.resume(&found.run)?;
            api.record.forget_list();
            Ok(receipt.words())
        };
        let what = api.once.run(&format!("resume {run} {key}"), resumed)?;
        Ok(Answer::ok(Done { run, arrival: "done", what, notes: Vec::new() }))
    })
    .await
}
