//! What the full screen needs of the program: the record, the gates, the person's editor, and the way to leave messages.

use std::path::PathBuf;
use std::sync::Arc;

use callsheet_core::record::{Gate, LogEntry};
use callsheet_core::run::Run;
use callsheet_core::spec::{BlobId, RunId};
use callsheet_core::symbols::Coloured;
use callsheet_format::edit::Hunk;
use callsheet_runtime::driver::undo as take_back;
use callsheet_runtime::effects::part_fault;
use callsheet_runtime::ports::{GateView, InboxMessage, Store};
use callsheet_tui::Desk;

use crate::setup::Setup;
use crate::term::{edit_file, edit_hunk, gate_text};

use super::answered::answer_text;
use super::drive::{drive_failure, run_folder};
use super::undo::lines;
use super::waits::seen;

/// The desk of one run.
pub(super) struct RunDesk {
    pub setup: Setup,
    pub store: Arc<dyn Store>,
    pub id: RunId,
}

impl Desk for RunDesk {
    fn colours(&self, path: &str, text: &str) -> Vec<Coloured> {
        crate::wiring::colours(path, text)
    }

    fn blob(&self, id: &BlobId) -> Option<String> {
        self.store.blob(id).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn entries(&self) -> Vec<LogEntry> {
        self.store.read(&self.id, 1).unwrap_or_default()
    }

    fn gate(&self, run: &Run, gate: &Gate) -> Result<GateView, String> {
        seen(&self.setup, &*self.store, run, gate).map_err(|failure| failure.what)
    }

    fn gate_text(&self, view: &GateView) -> String {
        gate_text(view, false).as_str().to_owned()
    }

    fn send(&self, run: &Run, message: InboxMessage) -> Result<(), String> {
        if let InboxMessage::Part { gate: Some(gate), part, .. } = &message {
            let fault = part_fault(&*self.store, run, gate, part).map_err(|fault| fault.to_string())?;
            if let Some(fault) = fault {
                return Err(format!("can't apply the edited change: {fault}"));
            }
        }
        self.store.post(&self.id, &message).map_err(|fault| fault.to_string())
    }

    fn answer(&self, run: &Run) -> String {
        let of_tree = callsheet_core::evaluate::result_of_run(run, &|blob| self.store.blob(blob).ok());
        of_tree.map_or_else(|| answer_text(&self.setup, run, &self.id), |result| result.words().into_owned())
    }

    fn sheet_file(&self) -> PathBuf {
        self.setup.project.join(run_folder(&self.id)).join("sheet.md")
    }

    fn edit_sheet(&self) -> Result<(), String> {
        edit_file(&self.sheet_file())
    }

    fn edit_hunk(&self, hunk: &Hunk) -> Result<Option<String>, String> {
        edit_hunk(hunk)
    }

    fn undo(&self) -> Result<String, String> {
        let undone = take_back(&self.store, &self.setup.project, &self.setup.store_folder(), &self.id, &|_| ())
            .map_err(|fault| drive_failure(&fault, &self.id).what)?;
        let words = lines(&undone, self.id.as_str()).join("; ");
        if undone.refused.is_empty() { Ok(words) } else { Err(words) }
    }

    fn interrupt(&self) {
        // The same way as a key of the terminal would go: this process listens for it.
        let _gone = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
    }
}
