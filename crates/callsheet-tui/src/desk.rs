//! What the screen needs of the program around it, as a port: it draws and reads keys, and does nothing else itself.

use std::path::PathBuf;

use callsheet_core::record::{Gate, LogEntry};
use callsheet_core::run::Run;
use callsheet_core::spec::BlobId;
use callsheet_core::symbols::Coloured;
use callsheet_format::edit::Hunk;
use callsheet_runtime::ports::{GateView, InboxMessage};

/// The program around the screen. Errors are words for the person.
pub trait Desk: Send {
    /// What the pieces of a code text are, by the path that tells its language; nothing, if that is not known.
    fn colours(&self, _path: &str, _text: &str) -> Vec<Coloured> {
        Vec::new()
    }

    /// A recorded text.
    fn blob(&self, id: &BlobId) -> Option<String>;

    /// All log entries of the run so far.
    fn entries(&self) -> Vec<LogEntry>;

    /// What an open gate shows.
    ///
    /// # Errors
    /// The record cannot be read.
    fn gate(&self, run: &Run, gate: &Gate) -> Result<GateView, String>;

    /// The same as text, whole: what is approved must be what was seen.
    fn gate_text(&self, view: &GateView) -> String;

    /// Leaves a message for the run, as `callsheet approve` and the like do.
    ///
    /// # Errors
    /// It cannot be left, or would not be taken.
    fn send(&self, run: &Run, message: InboxMessage) -> Result<(), String>;

    /// The answer of a run that has ended; empty: there is none.
    fn answer(&self, run: &Run) -> String;

    /// The sheet of the run, which a person may edit.
    fn sheet_file(&self) -> PathBuf;

    /// Opens the sheet in the person's editor and waits until they are done. The screen is theirs meanwhile.
    ///
    /// # Errors
    /// There is no editor, or it failed.
    fn edit_sheet(&self) -> Result<(), String>;

    /// The same with a hunk; `None`: nothing of it was left.
    ///
    /// # Errors
    /// There is no editor, or it failed.
    fn edit_hunk(&self, hunk: &Hunk) -> Result<Option<String>, String>;

    /// Takes all changes of a run that rests back, as `callsheet undo` does; gives what came of it in words.
    ///
    /// # Errors
    /// A process drives the run, or some files could not be put back.
    fn undo(&self) -> Result<String, String>;

    /// Stops the run as Ctrl-C does; the second time at once.
    fn interrupt(&self);
}
