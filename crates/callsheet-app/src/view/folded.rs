//! A run with its log.

use callsheet_core::events::LogEntry;
use callsheet_core::record::Gate;

use super::{Cursor, RunView};

/// A run and all of its log that was taken.
#[derive(Default)]
pub struct Folded {
    /// As the log says.
    pub run: RunView,
    /// The log.
    pub entries: Vec<LogEntry>,
    /// An entry that does not fit: what follows it is not taken.
    pub broken: Option<String>,
}

impl Folded {
    /// Takes what was recorded since.
    pub fn take(&mut self, entries: Vec<LogEntry>) {
        for entry in entries {
            if self.broken.is_some() {
                return;
            }
            match self.run.take(&entry) {
                Ok(()) => self.entries.push(entry),
                Err(reject) => {
                    self.broken = Some(format!("event {} of the record does not fit: {reject}", entry.n));
                }
            }
        }
    }

    /// The gates that were open when so much was recorded.
    pub(crate) fn gates_at(&self, cursor: Cursor) -> Vec<Gate> {
        let mut then = RunView::default();
        let until = self.entries.iter().take_while(|entry| entry.n <= cursor.0);
        until.for_each(|entry| drop(then.take(entry)));
        then.open_gates()
    }

    /// What has been taken.
    pub fn cursor(&self) -> Cursor {
        self.run.cursor()
    }
}
