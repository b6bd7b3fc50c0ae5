//! Serves an editor over stdin and stdout.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ElicitationCapabilities, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, SessionCapabilities,
    SessionId, SessionInfo, SessionListCapabilities,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, JsonRpcResponse, Lines, Result, on_receive_notification, on_receive_request,
};
use futures_util::{SinkExt, StreamExt};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

use crate::commands::offered;
use crate::editor::{Abilities, Editor};
use crate::limits::MESSAGE;
use crate::project::Workplace;
use crate::session::{Session, Sessions};
use crate::turn::prompt;
use crate::words::line;

/// Serves the editor over stdin and stdout until it disconnects. Its runs continue until they need a person.
///
/// # Errors
/// The editor does not speak the protocol, or a message is too large.
pub async fn serve(workplace: Arc<dyn Workplace>) -> std::result::Result<(), String> {
    let of_codec = |error: LinesCodecError| match error {
        LinesCodecError::Io(error) => error,
        error @ LinesCodecError::MaxLineLengthExceeded => io::Error::other(error),
    };
    let codec = LinesCodec::new_with_max_length(MESSAGE);
    let incoming = FramedRead::new(tokio::io::stdin(), codec.clone()).map(move |line| line.map_err(of_codec));
    let outgoing = FramedWrite::new(tokio::io::stdout(), codec);
    let has_left = Arc::new(AtomicBool::new(false));
    let left = Arc::clone(&has_left);
    let outgoing = SinkExt::<String>::sink_map_err(outgoing, move |error| {
        let error = of_codec(error);
        left.fetch_or(error.kind() == io::ErrorKind::BrokenPipe, Ordering::SeqCst);
        error
    });
    let agent = Arc::new(Served { sessions: Sessions::new(workplace), can: Mutex::default() });
    match agent.connect(Lines::new(outgoing, incoming)).await {
        // A broken pipe is no failure: an editor may disconnect while a message is sent to it.
        Err(error) if !has_left.load(Ordering::SeqCst) => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// What the handlers of one editor share.
struct Served {
    sessions: Sessions,
    can: Mutex<Abilities>,
}

type At = ConnectionTo<Client>;

impl Served {
    async fn connect(self: Arc<Self>, transport: impl agent_client_protocol::ConnectTo<Agent> + 'static) -> Result<()> {
        let [first, new, load, list, prompted, cancelled] = std::array::from_fn(|_| Arc::clone(&self));
        Agent
            .v1()
            .name("callsheet")
            .on_receive_request(
                async move |request: InitializeRequest, responder: Responder<InitializeResponse>, _: At| {
                    responder.respond(first.initialized(&request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: NewSessionRequest, responder: Responder<NewSessionResponse>, at: At| {
                    aside(responder, &new, move |served, responder| served.new_session(&request, responder, &at));
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: LoadSessionRequest, responder: Responder<LoadSessionResponse>, at: At| {
                    aside(responder, &load, move |served, responder| served.load_session(&request, responder, &at));
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ListSessionsRequest, responder: Responder<ListSessionsResponse>, _: At| {
                    aside(responder, &list, move |served, responder| {
                        responder.respond_with_result(served.listed(&request))
                    });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: PromptRequest, responder: Responder<PromptResponse>, at: At| {
                    Self::prompted(&prompted, request, responder, at)
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |note: CancelNotification, _: At| {
                    cancelled.sessions.find(&note.session_id.0).iter().for_each(|session| session.cancel());
                    Ok(())
                },
                on_receive_notification!(),
            )
            .connect_to(transport)
            .await
    }

    fn initialized(&self, request: &InitializeRequest) -> InitializeResponse {
        let can = &request.client_capabilities;
        let forms = can.elicitation.as_ref().is_some_and(ElicitationCapabilities::supports_form);
        *self.can.lock().unwrap_or_else(PoisonError::into_inner) =
            Abilities { reads: can.fs.read_text_file, writes: can.fs.write_text_file, forms };
        let prompts = PromptCapabilities::new().embedded_context(true);
        let sessions = SessionCapabilities::new().list(SessionListCapabilities::new());
        let can =
            AgentCapabilities::new().load_session(true).prompt_capabilities(prompts).session_capabilities(sessions);
        let info = Implementation::new("callsheet", env!("CARGO_PKG_VERSION")).title("Callsheet".to_owned());
        InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(can).agent_info(info)
    }

    fn editor(&self, at: &At, session: &str) -> Editor {
        Editor::new(at.clone(), session, *self.can.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn new_session(
        &self,
        request: &NewSessionRequest,
        responder: Responder<NewSessionResponse>,
        at: &At,
    ) -> Result<()> {
        let session = match self.sessions.begin(&request.cwd) {
            Ok(session) => session,
            Err(words) => return responder.respond_with_error(wrong(words)),
        };
        session.note_servers(request.mcp_servers.len());
        responder.respond(NewSessionResponse::new(session.name.clone()))?;
        self.offer(at, &session);
        Ok(())
    }

    fn load_session(
        &self,
        request: &LoadSessionRequest,
        responder: Responder<LoadSessionResponse>,
        at: &At,
    ) -> Result<()> {
        let name = &*request.session_id.0;
        let (session, history) = match self.sessions.load(name, &request.cwd) {
            Ok(loaded) => loaded,
            Err(words) => return responder.respond_with_error(wrong(words)),
        };
        session.note_servers(request.mcp_servers.len());
        // The protocol sends the history before the response.
        self.editor(at, name).tell(history);
        responder.respond(LoadSessionResponse::new())?;
        self.offer(at, &session);
        Ok(())
    }

    /// Offers the commands to the editor.
    fn offer(&self, at: &At, session: &Session) {
        let (templates, fault) = session.templates();
        let editor = self.editor(at, &session.name);
        editor.tell(fault);
        editor.tell([offered(&templates)]);
    }

    fn listed(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse> {
        let mut sessions = Vec::new();
        for folder in request.cwd.clone().map_or_else(|| self.sessions.folders(), |folder| vec![folder]) {
            let session = |run: callsheet_runtime::ports::RunSummary| {
                let id = SessionId::new(run.run.to_string());
                SessionInfo::new(id, folder.clone()).title(line(&run.request))
            };
            sessions.extend(self.sessions.list(&folder).map_err(wrong)?.into_iter().map(session));
        }
        Ok(ListSessionsResponse::new(sessions))
    }

    fn prompted(
        served: &Arc<Self>,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
        at: At,
    ) -> Result<()> {
        let Some(session) = served.sessions.find(&request.session_id.0) else {
            let words = format!("there is no open session {}", line(&request.session_id.0));
            return responder.respond_with_error(wrong(words));
        };
        // The turn begins before the thread does, so that the next message can already cancel it.
        let Some(turn) = session.begin_turn() else {
            return responder.respond_with_error(wrong("this session is busy: stop it first, or wait"));
        };
        aside(responder, served, move |served, responder| {
            let editor = served.editor(&at, &turn.session.name);
            match prompt(turn, &editor, &request.prompt) {
                Ok(reason) => responder.respond(PromptResponse::new(reason)),
                Err(words) => responder.respond_with_error(wrong(words)),
            }
        });
        Ok(())
    }
}

/// Handles a request on its own thread, so that other messages are read meanwhile.
fn aside<T: JsonRpcResponse + Send + 'static>(
    responder: Responder<T>,
    served: &Arc<Served>,
    work: impl FnOnce(&Arc<Served>, Responder<T>) -> Result<()> + Send + 'static,
) {
    let served = Arc::clone(served);
    // If the editor has disconnected, nobody reads the response, and the record has everything. If no thread can be
    // started, the responder is dropped, and the library responds with an error.
    let _none = std::thread::Builder::new().spawn(move || drop(work(&served, responder)));
}

/// The error for a request that cannot be carried out.
fn wrong(words: impl Into<String>) -> Error {
    Error::new(agent_client_protocol::ErrorCode::INVALID_PARAMS, words.into())
}
