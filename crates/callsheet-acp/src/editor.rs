//! A session's connection to its editor.

use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationFormMode, ElicitationSessionScope,
    ReadTextFileRequest, RequestPermissionRequest, RequestPermissionResponse, SessionId, SessionNotification,
    SessionUpdate, WriteTextFileRequest,
};
use agent_client_protocol::{Client, JsonRpcRequest, RequestCancellationHandle};

use crate::form::Form;
use crate::gate::Shows;

/// An editor. Messages to an editor that has disconnected are dropped, because the record contains everything.
#[derive(Clone)]
pub(crate) struct Editor {
    connection: ConnectionTo<Client>,
    session: SessionId,
    can: Abilities,
}

/// What an editor can do.
#[derive(Clone, Copy, Default)]
pub(crate) struct Abilities {
    /// It sends the text of a file, with changes that are not saved.
    pub reads: bool,
    /// It writes the text of a file, also of one that is open.
    pub writes: bool,
    /// It shows forms.
    pub forms: bool,
}

impl Editor {
    pub fn new(connection: ConnectionTo<Client>, session: &str, can: Abilities) -> Self {
        Self { connection, session: SessionId::new(session), can }
    }

    /// Whether the editor has disconnected.
    pub fn is_gone(&self) -> bool {
        self.connection.is_incoming_closed() || self.connection.termination().is_some()
    }

    /// Sends updates to the editor.
    pub fn tell(&self, updates: impl IntoIterator<Item = SessionUpdate>) {
        for update in updates {
            let _left = self.connection.send_notification(SessionNotification::new(self.session.clone(), update));
        }
    }

    /// The text of an open file. `None` if the editor does not send it within this time.
    pub fn text_of(&self, path: &Path, within: Duration) -> Option<String> {
        if !self.can.reads {
            return None;
        }
        let (sender, answer) = channel();
        let request = self.connection.send_request(ReadTextFileRequest::new(self.session.clone(), path));
        let sent = request.on_receiving_result(async move |result| {
            let _late = sender.send(result);
            Ok(())
        });
        sent.ok()?;
        answer.recv_timeout(within).ok()?.ok().map(|response| response.content)
    }

    /// Whether the editor can be asked about open files, and change them.
    pub fn changes_files(&self) -> bool {
        self.can.reads && self.can.writes
    }

    /// Writes the text of a file through the editor. Returns whether the editor did so within this time.
    pub fn write(&self, path: &Path, text: &str, within: Duration) -> bool {
        let (sender, answer) = channel();
        let request = self.connection.send_request(WriteTextFileRequest::new(self.session.clone(), path, text));
        let sent = request.on_receiving_result(async move |result| {
            let _late = sender.send(result.is_ok());
            Ok(())
        });
        sent.is_ok() && answer.recv_timeout(within) == Ok(true)
    }

    /// Whether the editor shows forms.
    pub fn shows_forms(&self) -> bool {
        self.can.forms
    }

    /// Asks the person about a gate, and returns without waiting for the answer.
    pub fn ask(&self, shows: &Shows) -> Asking<RequestPermissionResponse> {
        let options = shows.choices.iter().map(|(option, _)| option.clone()).collect();
        self.asking(RequestPermissionRequest::new(self.session.clone(), shows.call.clone(), options))
    }

    /// Shows the person a form, and returns without waiting for the answer.
    pub fn fill(&self, form: Form) -> Asking<CreateElicitationResponse> {
        let mode = ElicitationFormMode::new(ElicitationSessionScope::new(self.session.clone()), form.schema);
        self.asking(CreateElicitationRequest::new(mode, form.words))
    }

    fn asking<R: JsonRpcRequest>(&self, request: R) -> Asking<R::Response>
    where
        R::Response: Send + 'static,
    {
        let (sender, answer) = channel();
        let request = self.connection.send_request(request);
        let withdrawal = request.cancellation_handle();
        let _left = request.on_receiving_result(async move |result| {
            let _late = sender.send(result.ok());
            Ok(())
        });
        Asking { answer, withdrawal }
    }
}

/// A question that waits for its answer.
pub(crate) struct Asking<T> {
    answer: Receiver<Option<T>>,
    withdrawal: RequestCancellationHandle,
}

/// The state of a question.
pub(crate) enum Answered<T> {
    NotYet,
    /// No answer will come: the editor cannot ask, or it has disconnected.
    Never,
    Yes(T),
}

impl<T> Asking<T> {
    pub fn answered(&self) -> Answered<T> {
        match self.answer.try_recv() {
            Ok(Some(response)) => Answered::Yes(response),
            Ok(None) | Err(TryRecvError::Disconnected) => Answered::Never,
            Err(TryRecvError::Empty) => Answered::NotYet,
        }
    }

    /// Withdraws the question. A later answer is ignored.
    pub fn withdraw(self) {
        let _answered = self.withdrawal.cancel();
    }
}
