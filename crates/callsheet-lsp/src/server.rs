//! The server: messages in, answers and diagnostics out.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ls_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Notification as _,
    PublishDiagnostics,
};
use ls_types::request::{
    CodeActionRequest, Completion, DocumentSymbolRequest, GotoDefinition, HoverRequest, PrepareRenameRequest, Rename,
    Request as _,
};
use ls_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, HoverProviderCapability,
    InitializeParams, OneOf, Position, PositionEncodingKind, PublishDiagnosticsParams, RenameOptions,
    ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkDoneProgressOptions,
};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde_json::{Value, json};

use crate::answers::View;
use crate::lines::Encoding;
use crate::project::Project;

/// The largest text that is checked, in bytes.
const LARGEST: usize = 2 * 1024 * 1024;

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeFault {
    /// The editor sent something that the protocol does not allow.
    #[error("the editor does not speak the protocol: {0}")]
    Protocol(String),
    /// Reading or writing failed.
    #[error("the connection to the editor broke: {0}")]
    Broken(#[from] std::io::Error),
}

/// Serves an editor over stdin and stdout until the editor ends the session.
///
/// # Errors
/// See [`ServeFault`].
pub fn serve(project: &dyn Project) -> Result<(), ServeFault> {
    let (connection, threads) = Connection::stdio();
    run(&connection, project)?;
    // The writing thread ends when no sender is left.
    drop(connection);
    threads.join()?;
    Ok(())
}

/// Serves one connection.
pub(crate) fn run(connection: &Connection, project: &dyn Project) -> Result<(), ServeFault> {
    let fault = |error: &dyn std::fmt::Display| ServeFault::Protocol(error.to_string());
    let (id, params) = connection.initialize_start().map_err(|error| fault(&error))?;
    let encoding = encoding(params);
    let answer = json!({
        "capabilities": capabilities(encoding),
        "serverInfo": { "name": "callsheet", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer).map_err(|error| fault(&error))?;
    let mut server = Server { connection, project, encoding, open: HashMap::new(), changed: BTreeSet::new() };
    loop {
        // Changed files are checked when no message waits, so a fast typist is not delayed.
        let message = match connection.receiver.try_recv() {
            Ok(message) => message,
            Err(_) if !server.changed.is_empty() => {
                server.tell();
                continue;
            }
            Err(_) => match connection.receiver.recv() {
                Ok(message) => message,
                Err(_) => return Ok(()),
            },
        };
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|error| fault(&error))? {
                    return Ok(());
                }
                server.send(Message::Response(server.answer(request)));
            }
            Message::Notification(notification) => server.hear(notification),
            Message::Response(_) => {}
        }
    }
}

/// UTF-8 if the editor offers it, else the default of the protocol.
fn encoding(params: Value) -> Encoding {
    let offered = serde_json::from_value::<InitializeParams>(params).ok();
    let offered = offered.and_then(|params| params.capabilities.general?.position_encodings).unwrap_or_default();
    if offered.contains(&PositionEncodingKind::UTF8) { Encoding::Utf8 } else { Encoding::Utf16 }
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let triggers = ["(", "#", "/", "{", ":", " "];
    ServerCapabilities {
        position_encoding: Some(match encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

struct Server<'a> {
    connection: &'a Connection,
    project: &'a dyn Project,
    encoding: Encoding,
    /// Open files by address, with their text in the editor.
    open: HashMap<String, Open>,
    /// Addresses of the files that changed since they were checked.
    changed: BTreeSet<String>,
}

struct Open {
    uri: Uri,
    file: PathBuf,
    text: String,
    version: Option<i32>,
}

impl Server<'_> {
    /// If the editor has gone, the next read notices it.
    fn send(&self, message: Message) {
        let _gone = self.connection.sender.send(message);
    }

    fn hear(&mut self, notification: Notification) {
        let Notification { method, params, .. } = notification;
        let document = params.get("textDocument").cloned().unwrap_or_default();
        let Some(address) = document.get("uri").and_then(Value::as_str).map(str::to_owned) else { return };
        let version = document.get("version").and_then(Value::as_i64).and_then(|version| i32::try_from(version).ok());
        let text = match method.as_str() {
            DidOpenTextDocument::METHOD => document.get("text").and_then(Value::as_str),
            DidChangeTextDocument::METHOD => {
                let changes = params.get("contentChanges").and_then(Value::as_array);
                changes.and_then(|changes| changes.last()?.get("text")?.as_str())
            }
            DidCloseTextDocument::METHOD => {
                if let Some(open) = self.open.remove(&address) {
                    self.publish(&open, Vec::new());
                }
                self.changed.remove(&address);
                return;
            }
            // Other files may have changed together with it.
            DidSaveTextDocument::METHOD => {
                self.changed.extend(self.open.keys().cloned());
                return;
            }
            _ => return,
        };
        let Some(text) = text.filter(|text| text.len() <= LARGEST).map(str::to_owned) else { return };
        let Ok(uri) = address.parse::<Uri>() else { return };
        // A file that was never saved is checked like a file of the project.
        let file = uri.to_file_path().map_or_else(|| PathBuf::from("untitled.md"), |file| file.into_owned());
        self.open.insert(address.clone(), Open { uri, file, text, version });
        self.changed.insert(address);
    }

    /// Checks one file that changed and reports its issues.
    fn tell(&mut self) {
        let Some(address) = self.changed.pop_first() else { return };
        let Some(open) = self.open.get(&address) else { return };
        let found = self.view(open).map(|view| view.diagnostics()).unwrap_or_default();
        self.publish(open, found);
    }

    fn publish(&self, open: &Open, diagnostics: Vec<ls_types::Diagnostic>) {
        let params = PublishDiagnosticsParams { uri: open.uri.clone(), diagnostics, version: open.version };
        self.send(Message::Notification(Notification::new(PublishDiagnostics::METHOD.to_owned(), params)));
    }

    fn view<'o>(&'o self, open: &'o Open) -> Option<View<'o>> {
        let file: &Path = &open.file;
        let kind = self.project.kind(file, &open.text)?;
        Some(View { project: self.project, kind, file, text: &open.text, encoding: self.encoding })
    }

    fn answer(&self, request: Request) -> Response {
        let Request { id, method, params, .. } = request;
        let known = [
            Completion::METHOD,
            HoverRequest::METHOD,
            GotoDefinition::METHOD,
            CodeActionRequest::METHOD,
            PrepareRenameRequest::METHOD,
            Rename::METHOD,
            DocumentSymbolRequest::METHOD,
        ];
        if !known.contains(&method.as_str()) {
            return Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("there is no {method} here"));
        }
        let address = params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default();
        let open = self.open.get(address);
        let Some((open, view)) = open.and_then(|open| Some((open, self.view(open)?))) else {
            return Response::new_ok(id, Value::Null);
        };
        let position = params.get("position").cloned().unwrap_or_default();
        let position: Position = serde_json::from_value(position).unwrap_or_default();
        match method.as_str() {
            Completion::METHOD => Response::new_ok(id, view.completion(position)),
            HoverRequest::METHOD => Response::new_ok(id, view.hover(position)),
            GotoDefinition::METHOD => Response::new_ok(id, view.definition(&open.uri, position)),
            CodeActionRequest::METHOD => {
                let range = params.get("range").cloned().unwrap_or_default();
                Response::new_ok(id, view.actions(&open.uri, serde_json::from_value(range).unwrap_or_default()))
            }
            PrepareRenameRequest::METHOD => Response::new_ok(id, view.prepare_rename(position)),
            DocumentSymbolRequest::METHOD => Response::new_ok(id, view.symbols()),
            _ => {
                let to = params.get("newName").and_then(Value::as_str).unwrap_or_default();
                match view.rename(open.uri.clone(), position, to) {
                    Ok(edit) => Response::new_ok(id, edit),
                    Err(why) => Response::new_err(id, ErrorCode::InvalidParams as i32, why.to_owned()),
                }
            }
        }
    }
}
