//! A run with its log.

use callsheet_core::events::LogEntry;
use callsheet_core::record::Gate;

use super::{Cursor, RunView};

/// A run and the part of its log that was read.
#[derive(Default)]
pub struct Folded {
    /// The run after this part of the log.
    pub run: RunView,
    /// The log.
    pub entries: Vec<LogEntry>,
    /// The message about an entry that does not fit. The entries after it were not read.
    pub broken: Option<String>,
}

impl Folded {
    /// Takes newly recorded entries.
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

    /// The gates that were open when the log ended at `cursor`.
    pub(crate) fn gates_at(&self, cursor: Cursor) -> Vec<Gate> {
        let mut then = RunView::default();
        let until = self.entries.iter().take_while(|entry| entry.n <= cursor.0);
        until.for_each(|entry| drop(then.take(entry)));
        then.open_gates()
    }

    /// How much of the log was read.
    pub fn cursor(&self) -> Cursor {
        self.run.cursor()
    }
}
