//! A session's connection to its editor.

use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ReadTextFileRequest, RequestPermissionRequest, RequestPermissionResponse, SessionId, SessionNotification,
    SessionUpdate, WriteTextFileRequest,
};
use agent_client_protocol::{Client, RequestCancellationHandle};

use crate::gate::Shows;

/// An editor. Messages to an editor that has disconnected are dropped, because the record contains everything.
#[derive(Clone)]
pub(crate) struct Editor {
    connection: ConnectionTo<Client>,
    session: SessionId,
    files: Files,
}

/// What an editor can do with files.
#[derive(Clone, Copy, Default)]
pub(crate) struct Files {
    /// It sends the text of a file, with changes that are not saved.
    pub reads: bool,
    /// It writes the text of a file, also of one that is open.
    pub writes: bool,
}

impl Editor {
    pub fn new(connection: ConnectionTo<Client>, session: &str, files: Files) -> Self {
        Self { connection, session: SessionId::new(session), files }
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
        if !self.files.reads {
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
        self.files.reads && self.files.writes
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

    /// Asks the person, and returns without waiting for the answer.
    pub fn ask(&self, shows: &Shows) -> Asking {
        let options = shows.choices.iter().map(|(option, _)| option.clone()).collect();
        let request = RequestPermissionRequest::new(self.session.clone(), shows.call.clone(), options);
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
pub(crate) struct Asking {
    answer: Receiver<Option<RequestPermissionResponse>>,
    withdrawal: RequestCancellationHandle,
}

/// The state of a question.
pub(crate) enum Answered {
    NotYet,
    /// No answer will come: the editor cannot ask, or it has disconnected.
    Never,
    Yes(RequestPermissionResponse),
}

impl Asking {
    pub fn answered(&self) -> Answered {
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
