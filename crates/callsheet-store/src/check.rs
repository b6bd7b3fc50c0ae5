//! Reads everything in the store and reports which runs are undamaged.

use std::collections::BTreeMap;
use std::fmt;

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::{Store, StoreFault};

use crate::blobs;
use crate::rows::unsigned;
use crate::sqlite::SqliteStore;

/// The result of checking a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreCheck {
    /// Number of runs that were read.
    pub runs: usize,
    /// Number of blobs that were read.
    pub blobs: usize,
    /// The damage, run by run. Damage of the file itself comes first and names no run.
    pub damaged: Vec<(Option<RunId>, Damage)>,
}

/// What a run or the file has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Damage in the structure of the file.
    File(String),
    /// The log ends early, or cannot be read from some entry on.
    Log {
        /// How many entries are readable, from the first one.
        read: u64,
        /// How many entries were recorded.
        recorded: u64,
        /// Why reading stopped.
        why: String,
    },
    /// Texts that entries name are missing or damaged.
    Texts {
        /// How many texts.
        count: usize,
        /// The first entry that names one.
        first: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(what) => write!(f, "the file is damaged: {what}"),
            Self::Log { read, recorded, why } => {
                write!(f, "only the first {read} of its {recorded} entries can be read ({why})")
            }
            Self::Texts { count, first } => {
                write!(f, "{count} of its stored texts are lost; entry {first} is the first to name one")
            }
        }
    }
}

impl SqliteStore {
    /// Reads every blob and every entry.
    ///
    /// # Errors
    /// The file cannot be read at all.
    pub fn check(&self) -> Result<StoreCheck, StoreFault> {
        let mut damaged: Vec<(Option<RunId>, Damage)> =
            self.damage_of_file()?.into_iter().map(|damage| (None, damage)).collect();
        let blobs = self.checked_blobs()?;
        let runs = self.recorded()?;
        for (run, recorded) in &runs {
            damaged.extend(self.damage_of_run(run, *recorded, &blobs).map(|damage| (Some(run.clone()), damage)));
        }
        Ok(StoreCheck { runs: runs.len(), blobs: blobs.len(), damaged })
    }

    fn damage_of_file(&self) -> Result<Option<Damage>, StoreFault> {
        let said: String = self
            .reading()
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.fault(&error))?;
        Ok((said != "ok").then_some(Damage::File(said)))
    }

    /// All blobs, and whether each is undamaged.
    fn checked_blobs(&self) -> Result<BTreeMap<BlobId, bool>, StoreFault> {
        let connection = self.reading();
        let list = || -> rusqlite::Result<BTreeMap<BlobId, bool>> {
            let mut hashes = connection.prepare("SELECT lower(hex(hash)) FROM blobs")?;
            let ids: Vec<String> = hashes.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let whole = |id: BlobId| {
                // A blob that cannot be read at all is damaged, too.
                let whole = matches!(blobs::read(&connection, &id), Ok(Some(Some(_))));
                (id, whole)
            };
            Ok(ids.into_iter().map(BlobId::new).map(whole).collect())
        };
        list().map_err(|error| self.fault(&error))
    }

    /// All runs, and how many entries each should have.
    fn recorded(&self) -> Result<Vec<(RunId, u64)>, StoreFault> {
        let connection = self.reading();
        let list = || -> rusqlite::Result<Vec<(RunId, u64)>> {
            let mut runs = connection.prepare("SELECT run, facts FROM runs WHERE facts > 0 ORDER BY run")?;
            let row = |row: &rusqlite::Row<'_>| Ok((RunId::new(row.get::<_, String>(0)?), unsigned(row.get(1)?)));
            runs.query_map([], row)?.collect()
        };
        list().map_err(|error| self.fault(&error))
    }

    fn damage_of_run(&self, run: &RunId, recorded: u64, blobs: &BTreeMap<BlobId, bool>) -> Option<Damage> {
        let (entries, why) = match self.read(run, 1) {
            Ok(entries) => (entries, "entries are missing".to_owned()),
            Err(fault) => (self.readable(run, recorded), fault.to_string()),
        };
        let read = (1..).zip(&entries).take_while(|(n, entry)| entry.n == *n).count() as u64;
        if read < recorded {
            return Some(Damage::Log { read, recorded, why });
        }
        let is_lost = |id: &&BlobId| !blobs.get(*id).copied().unwrap_or(false);
        let lost = |entry: &LogEntry| entry.event.blobs().into_iter().filter(is_lost).count();
        let first = entries.iter().find(|entry| lost(entry) > 0)?.n;
        let count = entries.iter().map(lost).sum();
        Some(Damage::Texts { count, first })
    }

    /// The entries before the first one that cannot be read.
    fn readable(&self, run: &RunId, recorded: u64) -> Vec<LogEntry> {
        (1..=recorded).map_while(|n| self.entry(run, n).ok().flatten()).collect()
    }
}
