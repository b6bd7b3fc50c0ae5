//! A call of a tool from its start to its result. In between, the server may ask a person.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CancelledNotificationParam, ClientRequest, ElicitResult, InputRequest, InputRequiredResult,
    InputResponses, Request, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::connection::{Asked, Connection};
use crate::form::Form;
use crate::limits::QUESTIONS;
use crate::results::{Answer, answer};
use crate::trouble::Trouble;

/// A call without a result yet.
pub(crate) struct Call {
    connection: Arc<Connection>,
    params: CallToolRequestParams,
    cap: usize,
    open: OpenCall,
    response: BoxFuture<'static, Result<ServerResult, ServiceError>>,
    /// How many questions it may still ask.
    left: usize,
    /// Who waits for the answer to the current question.
    asks: Option<Asks>,
}

/// Who waits for an answer.
enum Asks {
    /// The server, which asked during the call.
    Server(oneshot::Sender<ElicitResult>),
    /// The next round of the call.
    Round(Round),
}

/// What the server wants to know before it gets the call again.
struct Round {
    /// The name of the current question.
    name: String,
    /// The questions after it.
    rest: BTreeMap<String, Form>,
    given: InputResponses,
    state: Option<String>,
}

/// What a call led to.
pub(crate) enum Step {
    /// Its result.
    Ended(Answer),
    /// A question.
    Asks(Box<Call>, Form),
}

impl Call {
    /// Sends a call.
    pub(crate) async fn begin(
        connection: Arc<Connection>,
        name: String,
        arguments: &Value,
        cap: usize,
    ) -> Result<Step, Trouble> {
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        let (open, response) = sent(&connection, &params).await?;
        let call = Self { connection, params, cap, open, response, left: QUESTIONS, asks: None };
        call.step().await
    }

    /// Goes on with an answer.
    pub(crate) async fn go_on(mut self, result: ElicitResult) -> Result<Step, Trouble> {
        match self.asks.take() {
            // The server may have withdrawn its question.
            Some(Asks::Server(waits)) => drop(waits.send(result)),
            Some(Asks::Round(mut round)) => {
                let given = serde_json::to_value(result).unwrap_or_default();
                round.given.insert(std::mem::take(&mut round.name), given);
                if let Some(form) = self.next_of(round).await? {
                    return Ok(Step::Asks(Box::new(self), form));
                }
            }
            None => {}
        }
        self.step().await
    }

    /// Waits for the result, or for a question.
    async fn step(mut self) -> Result<Step, Trouble> {
        let connection = Arc::clone(&self.connection);
        loop {
            let answered = tokio::select! {
                biased;
                answered = connection.asked(&mut self.response) => answered,
                Asked { form, answer } = connection.question() => {
                    // Without an answer, the question is cancelled.
                    if let Some(left) = self.left.checked_sub(1) {
                        (self.left, self.asks) = (left, Some(Asks::Server(answer)));
                        return Ok(Step::Asks(Box::new(self), form));
                    }
                    continue;
                }
            };
            self.open.id = None;
            let cap = self.cap;
            let of_value = |value: &Value| Ok(Step::Ended(answer(value, cap)));
            return match answered? {
                ServerResult::CallToolResult(result) => of_value(&serde_json::to_value(result).unwrap_or_default()),
                ServerResult::CustomResult(result) if result.0.is_object() => of_value(&result.0),
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => of_value(&Value::Null),
                ServerResult::InputRequiredResult(wanted) => {
                    let round = self.round(wanted)?;
                    match self.next_of(round).await? {
                        Some(form) => Ok(Step::Asks(Box::new(self), form)),
                        None => continue,
                    }
                }
                ServerResult::CreateTaskResult(_) => Err(self.asks_back()),
                _ => Err(Trouble::Odd { server: self.connection.name().to_owned() }),
            };
        }
    }

    /// What a server wants to know. Anything but questions to a person is refused.
    fn round(&mut self, wanted: InputRequiredResult) -> Result<Round, Trouble> {
        let mut rest = BTreeMap::new();
        for (name, request) in wanted.input_requests.unwrap_or_default() {
            let form = match request {
                InputRequest::Elicitation(asked) => Form::of(asked.params),
                _ => None,
            };
            rest.insert(name, form.ok_or_else(|| self.asks_back())?);
        }
        // A round without questions counts, too, or a server could go on forever.
        self.left = self.left.checked_sub(rest.len().max(1)).ok_or_else(|| self.asks_back())?;
        Ok(Round { name: String::new(), rest, given: InputResponses::new(), state: wanted.request_state })
    }

    /// The next question of a round. `None` if there is none, so that the next round has begun.
    async fn next_of(&mut self, mut round: Round) -> Result<Option<Form>, Trouble> {
        if let Some((name, form)) = round.rest.pop_first() {
            round.name = name;
            self.asks = Some(Asks::Round(round));
            return Ok(Some(form));
        }
        self.params.input_responses = Some(round.given);
        self.params.request_state = round.state;
        (self.open, self.response) = sent(&self.connection, &self.params).await?;
        Ok(None)
    }

    fn asks_back(&self) -> Trouble {
        Trouble::AsksBack { server: self.connection.name().to_owned() }
    }
}

type Sent = (OpenCall, BoxFuture<'static, Result<ServerResult, ServiceError>>);

async fn sent(connection: &Connection, params: &CallToolRequestParams) -> Result<Sent, Trouble> {
    let request = ClientRequest::CallToolRequest(Request::new(params.clone()));
    let peer = connection.peer();
    let sent = connection.asked(peer.send_cancellable_request(request, PeerRequestOptions::no_options())).await?;
    let open = OpenCall { peer: peer.clone(), id: Some(sent.id.clone()), _counted: connection.begins_call() };
    Ok((open, Box::pin(sent.await_response())))
}

/// A call without an answer. If it is dropped, the server gets a cancellation, so that it can stop.
struct OpenCall {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
    /// A server may ask only while a call is open.
    _counted: Arc<()>,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), None)).await {
                    tracing::debug!(%error, "can't notify a server that a call was cancelled");
                }
            });
        }
    }
}
