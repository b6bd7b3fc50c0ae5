//! A run with its log.

use callsheet_core::events::LogEntry;

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

    /// What has been taken.
    pub fn cursor(&self) -> Cursor {
        self.run.cursor()
    }
}
