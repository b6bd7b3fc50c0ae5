//! The global index of the memory system (spec "Templates" 13) in the database of a store, and a version in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::{Index, IndexEntry, IndexFault, IndexMode, check_entries};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use crate::fault::of_sqlite;
use crate::opening;

/// The index in `callsheet.db` of a folder of stores. It has its own connection, so lookups and facts do not wait for
/// each other. It opens the file when it first needs it.
#[derive(Debug)]
pub struct SqliteIndex {
    folder: PathBuf,
    connection: Mutex<Option<Connection>>,
}

impl SqliteIndex {
    /// The index of the store in a folder. Opens nothing yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), connection: Mutex::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T, rusqlite::Error>) -> Result<T, IndexFault> {
        let mut held: MutexGuard<'_, Option<Connection>> =
            self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *held {
            Some(connection) => connection,
            empty @ None => empty.insert(opening::open_database(&self.folder)?.1),
        };
        work(connection).map_err(|error| IndexFault::Store(of_sqlite(&opening::database(&self.folder), &error)))
    }
}

impl Index for SqliteIndex {
    fn update_global_index(&self, entries: &[IndexEntry], mode: IndexMode) -> Result<(), IndexFault> {
        check_entries(entries, mode)?;
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if mode == IndexMode::Replace {
                transaction.execute("DELETE FROM global_index", [])?;
            }
            {
                let mut change = transaction.prepare_cached(match mode {
                    IndexMode::Remove => "DELETE FROM global_index WHERE path = ?1",
                    IndexMode::Merge | IndexMode::Replace => {
                        "INSERT OR REPLACE INTO global_index (path, text, size, hash) VALUES (?1, ?2, ?3, ?4)"
                    }
                })?;
                for entry in entries {
                    match mode {
                        IndexMode::Remove => change.execute(params![entry.path])?,
                        IndexMode::Merge | IndexMode::Replace => {
                            let size = i64::try_from(entry.size).unwrap_or(i64::MAX);
                            change.execute(params![entry.path, entry.text, size, entry.hash.as_str()])?
                        }
                    };
                }
            }
            transaction.commit()
        })
    }

    fn entries(&self) -> Result<Vec<IndexEntry>, IndexFault> {
        self.with(|connection| {
            let mut select =
                connection.prepare_cached("SELECT path, text, size, hash FROM global_index ORDER BY path")?;
            select.query_map([], entry_of)?.collect()
        })
    }

    fn entry(&self, path: &str) -> Result<Option<IndexEntry>, IndexFault> {
        self.with(|connection| {
            let mut select =
                connection.prepare_cached("SELECT path, text, size, hash FROM global_index WHERE path = ?1")?;
            select.query_row(params![path], entry_of).optional()
        })
    }
}

fn entry_of(row: &Row<'_>) -> rusqlite::Result<IndexEntry> {
    let (size, hash): (i64, String) = (row.get(2)?, row.get(3)?);
    Ok(IndexEntry {
        path: row.get(0)?,
        text: row.get(1)?,
        size: u64::try_from(size).unwrap_or(0),
        hash: BlobId::new(hash),
    })
}

/// An index in memory, for tests and for runs without a database.
#[derive(Debug, Default)]
pub struct MemoryIndex(Mutex<BTreeMap<String, IndexEntry>>);

impl MemoryIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries_by_path(&self) -> MutexGuard<'_, BTreeMap<String, IndexEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index for MemoryIndex {
    fn update_global_index(&self, entries: &[IndexEntry], mode: IndexMode) -> Result<(), IndexFault> {
        check_entries(entries, mode)?;
        let mut held = self.entries_by_path();
        if mode == IndexMode::Replace {
            held.clear();
        }
        for entry in entries {
            match mode {
                IndexMode::Remove => drop(held.remove(&entry.path)),
                IndexMode::Merge | IndexMode::Replace => drop(held.insert(entry.path.clone(), entry.clone())),
            }
        }
        Ok(())
    }

    fn entries(&self) -> Result<Vec<IndexEntry>, IndexFault> {
        Ok(self.entries_by_path().values().cloned().collect())
    }

    fn entry(&self, path: &str) -> Result<Option<IndexEntry>, IndexFault> {
        Ok(self.entries_by_path().get(path).cloned())
    }
}
