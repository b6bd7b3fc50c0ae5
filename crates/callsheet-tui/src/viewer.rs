//! The run on the screen: where it is read, and what carries out commands.

use std::path::PathBuf;
use std::sync::Arc;

use callsheet_app::{Awaited, Cursor, Order, Receipt, Refusal, RunCommand, RunControl, RunView};
use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::{AnsweredBy, Gate};
use callsheet_core::symbols::Coloured;
use callsheet_format::edit::Hunk;
use callsheet_runtime::ports::GateView;

/// What the screen needs from its terminal. Errors are messages for the person.
pub trait Outside: Send {
    /// The whole text of a gate, because a person must approve exactly what they saw.
    fn gate_text(&self, view: &GateView) -> String;

    /// The plan file of the run, which the person may edit.
    fn sheet_file(&self) -> PathBuf;

    /// Opens the plan file in the person's editor and waits until the editor ends. The editor has the screen
    /// meanwhile.
    ///
    /// # Errors
    /// There is no editor, or it failed.
    fn edit_sheet(&self) -> Result<(), String>;

    /// Opens a hunk in the person's editor and waits until the editor ends. `None` if the person deleted the hunk.
    ///
    /// # Errors
    /// There is no editor, or it failed.
    fn edit_hunk(&self, hunk: &Hunk) -> Result<Option<String>, String>;

    /// Stops the process that this program started for the run. The first call lets it end cleanly, the second ends
    /// it at once. Returns false if there was no process.
    fn interrupt(&self) -> bool;
}

/// A run that a person looks at.
pub struct Viewer {
    /// The runs of the project.
    pub runs: Arc<dyn RunControl>,
    /// The run on the screen.
    pub run: RunId,
    /// The terminal.
    pub outside: Box<dyn Outside>,
}

impl Viewer {
    /// A recorded text.
    pub(crate) fn blob(&self, id: &BlobId) -> Option<String> {
        self.runs.blob(id).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// All log entries of the run so far.
    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.runs.watch(&self.run, Cursor::default()).unwrap_or_default()
    }

    /// The view of an open gate.
    pub(crate) fn gate(&self, run: &RunView, gate: &Gate) -> Result<GateView, String> {
        self.runs.gate(run, gate).map_err(|refusal| words(&refusal))
    }

    /// The answer of a run that has ended. Empty if there is none.
    pub(crate) fn answer(&self, run: &RunView) -> String {
        self.runs.answer(run)
    }

    /// The kinds of the pieces of code in a text.
    pub(crate) fn colours(&self, path: &str, text: &str) -> Vec<Coloured> {
        self.runs.colours(path, text)
    }

    /// Gives a command.
    pub(crate) fn order(&self, command: RunCommand) -> Result<Receipt, String> {
        self.order_at(None, command)
    }

    /// Gives a command. `revision` is how much of the log the person had seen when they decided.
    pub(crate) fn order_at(&self, revision: Option<Cursor>, command: RunCommand) -> Result<Receipt, String> {
        let order = Order::new(AnsweredBy::Terminal, command).map(|order| Order { revision, ..order });
        order.and_then(|order| self.runs.order(&self.run, &order)).map_err(|refusal| words(&refusal))
    }

    /// Gives an answer. Also returns it if it takes effect once it is recorded.
    pub(crate) fn give(&self, command: RunCommand) -> Result<(Receipt, Option<Awaited>), String> {
        let give = |order: Order| {
            let receipt = self.runs.order(&self.run, &order)?;
            let awaited = Awaited::of(&order, &receipt);
            Ok((receipt, awaited))
        };
        Order::new(AnsweredBy::Terminal, command).and_then(give).map_err(|refusal| words(&refusal))
    }

    /// Whether an answer took effect. The error says why it was not used.
    pub(crate) fn is_recorded(&self, answer: &Awaited) -> Result<bool, String> {
        answer.look(&*self.runs).map(|receipt| receipt.is_some()).map_err(|refusal| words(&refusal))
    }
}

fn words(refusal: &Refusal) -> String {
    if refusal.advice.is_empty() { refusal.what.clone() } else { format!("{}: {}", refusal.what, refusal.advice) }
}
