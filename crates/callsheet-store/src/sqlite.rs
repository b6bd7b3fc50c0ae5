//! The embedded durable store: one SQLite file per project.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::Outcome;
use callsheet_runtime::ports::{Clock, Lock, Posted, RunSummary, Store, StoreFault, SystemClock};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::blobs;
use crate::checkpoint::Checkpoints;
use crate::fault::{of_io, of_sqlite};
use crate::held::HeldFiles;
use crate::opening::{connect, is_read_only, open_database, open_to_read};
use crate::owner::{Life, Owner, new_token};
use crate::pack::{Packed, Packer};
use crate::rows::{FactRow, columns_of, key_of, length, signed, unsigned};
use crate::staged::Staged;
use crate::summary::Columns;

/// The token of a lock, and the process that has it.
type Holder = (String, Owner);

/// The store of a project, in `callsheet.db` in a separate folder.
///
/// Writing and reading use separate connections, so that a viewer that reads a long log does not delay the run. Once
/// `append` returns, a fact survives the death of the process. `synchronous = NORMAL` means that a power cut may take
/// the last facts, but never facts in the middle of the log.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Declared before the connections, so that it is dropped first.
    checkpoints: Checkpoints,
    /// `None` if the store is open only for reading.
    writer: Option<Mutex<Connection>>,
    reader: Mutex<Connection>,
    /// Blobs that the next `append` writes, and the latest that were written.
    staged: Mutex<Staged>,
    packer: Packer,
    /// The files of the locks that this store has.
    pub(crate) held: HeldFiles,
    /// What `reader` reads if there is no `writer`. Dropped last.
    _copy: Option<tempfile::TempDir>,
}

impl SqliteStore {
    /// Opens the store in a folder, and creates the folder and the database if necessary. A database that this process
    /// may not write can still be read; every change then returns `ReadOnly`.
    ///
    /// # Errors
    /// `Full` if the disk is full, `TooNew` for a file of a later release, else `Broken` with what to do.
    pub fn open(folder: &Path) -> Result<Self, StoreFault> {
        let (path, writer, reader, copy) = if is_read_only(folder) {
            let (path, reader, copy) = open_to_read(folder)?;
            (path, None, reader, copy)
        } else {
            let (path, writer) = open_database(folder)?;
            let reader = connect(&path, false)?;
            (path, Some(Mutex::new(writer)), reader, None)
        };
        Ok(Self {
            path,
            checkpoints: Checkpoints::default(),
            held: HeldFiles::new(folder.join("locks")),
            writer,
            reader: Mutex::new(reader),
            staged: Mutex::default(),
            packer: Packer::default(),
            _copy: copy,
        })
    }

    /// The unread messages in the inbox of a run.
    fn messages_of(&self, connection: &Connection, run: &RunId) -> Result<Vec<(u64, Posted)>, StoreFault> {
        let rows: Vec<(i64, String)> = connection
            .prepare_cached("SELECT n, body FROM messages WHERE run = ?1 ORDER BY n")
            .and_then(|mut statement| {
                statement.query_map(params![run.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|e| self.fault(&e))?;
        let mut messages = Vec::with_capacity(rows.len());
        for (n, body) in rows {
            match serde_json::from_str(&body) {
                Ok(message) => messages.push((unsigned(n), message)),
                // A newer Callsheet posted it. The run must not stop because of a message that it cannot read.
                Err(error) => tracing::warn!(%run, message = n, %error, "a message cannot be read; left out"),
            }
        }
        Ok(messages)
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a run's lock from whoever holds it. Only for a person who knows that the holder has gone, such as a
    /// process on another machine, whose lock `lock` never takes over automatically.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn break_lock(&self, run: &RunId) -> Result<(), StoreFault> {
        self.write(|transaction| {
            transaction
                .execute("DELETE FROM locks WHERE run = ?1", params![run.as_str()])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })
    }

    /// One entry of a log.
    pub(crate) fn entry(&self, run: &RunId, n: u64) -> Result<Option<LogEntry>, StoreFault> {
        let connection = self.reading();
        let number = self.number(&connection, run)?;
        let row = connection
            .prepare_cached("SELECT key, at, v, size, body, orders FROM facts WHERE key = ?1")
            .and_then(|mut statement| statement.query_row(params![key_of(number, n)], FactRow::of).optional())
            .map_err(|e| self.fault(&e))?;
        row.map(|row| row.fact(&self.path, run)).transpose()
    }

    /// Returns the space of removed data to the disk, unless another process uses the file.
    pub(crate) fn shrink(&self) {
        let Some(writer) = &self.writer else { return };
        let connection = writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);") {
            tracing::debug!(%error, "the file keeps its size for now");
        }
    }

    /// A fact in its stored form: JSON, and its size if it is compressed.
    fn body_of(&self, fact: &LogEntry) -> Result<(Option<i64>, Value), StoreFault> {
        let text = to_json(&fact.event)?;
        Ok(match self.packer.fact(&text) {
            Some(small) => (Some(length(text.len())), Value::Blob(small)),
            None => (None, Value::Text(text)),
        })
    }

    pub(crate) fn fault(&self, error: &rusqlite::Error) -> StoreFault {
        of_sqlite(&self.path, error)
    }

    /// Runs `work` in a transaction that holds the write lock from the start. Any fault rolls it back.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreFault>,
    ) -> Result<T, StoreFault> {
        let writer = self.writer.as_ref().ok_or_else(|| {
            StoreFault::ReadOnly(format!("{}, or its folder, is not writable for you", self.path.display()))
        })?;
        let mut connection = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| self.fault(&e))?;
        let value = work(&transaction)?;
        transaction.commit().map_err(|e| self.fault(&e))?;
        Ok(value)
    }

    pub(crate) fn reading(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn staged(&self) -> MutexGuard<'_, Staged> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a blob, unless it is already stored undamaged.
    fn insert_blob(&self, connection: &Connection, packed: &Packed, bytes: &[u8]) -> Result<(), StoreFault> {
        blobs::insert(connection, packed, bytes).map_err(|e| self.fault(&e))
    }

    /// The number that identifies the rows of a run.
    fn number(&self, connection: &Connection, run: &RunId) -> Result<i64, StoreFault> {
        connection
            .prepare_cached("SELECT id FROM runs WHERE run = ?1")
            .and_then(|mut statement| statement.query_row(params![run.as_str()], |row| row.get(0)).optional())
            .map_err(|e| self.fault(&e))?
            .ok_or_else(|| StoreFault::NoRun(run.clone()))
    }

    /// The number of a run. Refuses if `lock` is not the run's current lock.
    fn must_hold(&self, connection: &Connection, lock: &Lock) -> Result<i64, StoreFault> {
        let number = self.number(connection, &lock.run)?;
        match self.holder(connection, &lock.run)? {
            Some((token, _)) if token == lock.token => Ok(number),
            Some((_, owner)) => Err(StoreFault::LockLost { owner: owner.to_string() }),
            None => Err(StoreFault::LockLost { owner: "nobody; it was unlocked".to_owned() }),
        }
    }

    fn holder(&self, connection: &Connection, run: &RunId) -> Result<Option<Holder>, StoreFault> {
        connection
            .prepare_cached("SELECT token, pid, start, host FROM locks WHERE run = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row(params![run.as_str()], |row| {
                        Ok((row.get(0)?, Owner { pid: row.get(1)?, start: row.get(2)?, host: row.get(3)? }))
                    })
                    .optional()
            })
            .map_err(|e| self.fault(&e))
    }

    fn columns(&self, connection: &Connection, run: &RunId) -> Result<Columns, StoreFault> {
        connection
            .prepare_cached("SELECT request, started_at, changed_at, facts, outcome, cost_usd FROM runs WHERE run = ?1")
            .and_then(|mut statement| statement.query_row(params![run.as_str()], columns_of))
            .map_err(|e| self.fault(&e))
    }

    fn save(&self, connection: &Connection, run: &RunId, columns: &Columns) -> Result<(), StoreFault> {
        let outcome = columns.outcome.map(|outcome| word_of(&outcome)).transpose()?;
        connection
            .prepare_cached(
                "UPDATE runs SET request = ?2, started_at = ?3, changed_at = ?4, facts = ?5, outcome = ?6, cost_usd = ?7
                 WHERE run = ?1",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    run.as_str(),
                    columns.request,
                    signed(columns.started_at),
                    signed(columns.changed_at),
                    signed(columns.facts),
                    outcome,
                    columns.cost_usd
                ])
            })
            .map_err(|e| self.fault(&e))?;
        Ok(())
    }
}

impl Store for SqliteStore {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        let connection = self.reading();
        let rows: Vec<(String, Columns, Option<Holder>)> = connection
            .prepare_cached(
                "SELECT r.request, r.started_at, r.changed_at, r.facts, r.outcome, r.cost_usd, r.run, l.pid, l.start, l.host, l.token \
                 FROM runs r LEFT JOIN locks l ON l.run = r.run \
                 WHERE r.facts > 0 ORDER BY r.started_at DESC, r.run DESC",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| {
                        let pid: Option<u32> = row.get(7)?;
                        let owner = match pid {
                            Some(pid) => Some((row.get(10)?, Owner { pid, start: row.get(8)?, host: row.get(9)? })),
                            None => None,
                        };
                        Ok((row.get(6)?, columns_of(row)?, owner))
                    })?
                    .collect()
            })
            .map_err(|e| self.fault(&e))?;
        let at_work = |(token, owner): &Holder| self.held.life(token, owner) == Life::MayRun;
        let summary = |(run, columns, owner): (String, Columns, Option<Holder>)| RunSummary {
            run: RunId::new(run),
            request: columns.request,
            started_at: columns.started_at,
            changed_at: columns.changed_at,
            facts: columns.facts,
            outcome: columns.outcome,
            cost_usd: columns.cost_usd,
            owner: owner.filter(at_work).map(|(_, owner)| owner.to_string()),
        };
        Ok(rows.into_iter().map(summary).collect())
    }

    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault> {
        let me = Owner::current();
        let token = new_token()?;
        let locked = self.write(|transaction| {
            if let Some((former, owner)) = self.holder(transaction, run)? {
                if self.held.life(&former, &owner) == Life::MayRun {
                    return Err(StoreFault::Locked { owner: owner.to_string() });
                }
                self.held.release(&former);
            }
            self.held.hold(&token).map_err(|error| StoreFault::Broken(format!("can't lock run {run}: {error}")))?;
            transaction
                .execute("INSERT OR IGNORE INTO runs (run) VALUES (?1)", params![run.as_str()])
                .and_then(|_| {
                    transaction.execute(
                        "INSERT OR REPLACE INTO locks (run, token, pid, start, host, since)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                        params![run.as_str(), token, me.pid, me.start, me.host, signed(SystemClock.now_ms())],
                    )
                })
                .map_err(|e| self.fault(&e))
        });
        if locked.is_err() {
            self.held.release(&token);
        }
        locked.map(|_| Lock { run: run.clone(), token })
    }

    fn unlock(&self, lock: &Lock) -> Result<(), StoreFault> {
        self.write(|transaction| {
            transaction
                .execute("DELETE FROM locks WHERE run = ?1 AND token = ?2", params![lock.run.as_str(), lock.token])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })?;
        self.held.release(&lock.token);
        Ok(())
    }

    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
        // Packed before the transaction, because every other process waits for that.
        let bodies = facts.iter().map(|fact| self.body_of(fact)).collect::<Result<Vec<_>, _>>()?;
        let staged = self.staged().waiting();
        let packed: Vec<Packed> = staged.iter().map(|(id, bytes)| self.packer.pack(id.clone(), bytes)).collect();
        self.write(|transaction| {
            let number = self.must_hold(transaction, lock)?;
            for (blob, (_, bytes)) in packed.iter().zip(&staged) {
                self.insert_blob(transaction, blob, bytes)?;
            }
            let mut columns = self.columns(transaction, &lock.run)?;
            let mut insert = transaction
                .prepare_cached("INSERT INTO facts (key, at, v, size, body, orders) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
                .map_err(|e| self.fault(&e))?;
            for (fact, (size, body)) in facts.iter().zip(&bodies) {
                columns.note(&lock.run, fact)?;
                let orders = (!fact.orders.is_empty()).then(|| to_json(&fact.orders)).transpose()?;
                insert
                    .execute(params![key_of(number, fact.n), signed(fact.at), fact.v, size, body, orders])
                    .map_err(|e| self.fault(&e))?;
            }
            self.save(transaction, &lock.run, &columns)
        })?;
        let bytes: usize = staged.iter().map(|(_, bytes)| bytes.len()).sum();
        tracing::debug!(run = %lock.run, entries = facts.len(), texts = staged.len(), bytes, "recorded");
        self.staged().stored(staged);
        self.checkpoints.note(&self.path);
        Ok(())
    }

    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        self.read_page(run, from, usize::MAX)
    }

    fn read_page(&self, run: &RunId, from: u64, most: usize) -> Result<Vec<LogEntry>, StoreFault> {
        let connection = self.reading();
        let number = self.number(&connection, run)?;
        let query =
            "SELECT key, at, v, size, body, orders FROM facts WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3";
        let rows: Vec<FactRow> = connection
            .prepare_cached(query)
            .and_then(|mut statement| {
                let (first, last) = (key_of(number, from), key_of(number, u64::MAX));
                statement.query_map(params![first, last, length(most)], FactRow::of)?.collect()
            })
            .map_err(|e| self.fault(&e))?;
        drop(connection);
        rows.into_iter().map(|row| row.fact(&self.path, run)).collect()
    }

    fn post(&self, run: &RunId, message: &Posted) -> Result<(), StoreFault> {
        let body = to_json(message)?;
        self.write(|transaction| {
            self.number(transaction, run)?;
            transaction
                .execute("INSERT INTO messages (run, body) VALUES (?1, ?2)", params![run.as_str(), body])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })
    }

    fn messages(&self, lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault> {
        let connection = self.reading();
        self.must_hold(&connection, lock)?;
        self.messages_of(&connection, &lock.run)
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault> {
        let connection = self.reading();
        self.number(&connection, run)?;
        self.messages_of(&connection, run).map(|messages| !messages.is_empty())
    }

    fn discard(&self, lock: &Lock, up_to: u64) -> Result<(), StoreFault> {
        self.write(|transaction| {
            self.must_hold(transaction, lock)?;
            transaction
                .execute("DELETE FROM messages WHERE run = ?1 AND n <= ?2", params![lock.run.as_str(), signed(up_to)])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        let id = BlobId::of(bytes);
        let known = blobs::holds(&self.reading(), &id, bytes).map_err(|e| self.fault(&e))?;
        if !known {
            let packed = self.packer.pack(id.clone(), bytes);
            self.write(|transaction| self.insert_blob(transaction, &packed, bytes))?;
        }
        Ok(id)
    }

    fn persist(&self) -> Result<(), StoreFault> {
        // The log holds everything committed that is not in the database yet. What the database holds was synced when
        // it was copied.
        let log = self.path.with_extension("db-wal");
        match std::fs::File::open(&log).and_then(|log| log.sync_all()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(of_io(&log, &error)),
            _ => Ok(()),
        }
    }

    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.staged().add(id.clone(), bytes);
        id
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        if let Some(bytes) = self.staged().get(id) {
            return Ok(bytes.to_vec());
        }
        let found = blobs::read(&self.reading(), id).map_err(|e| self.fault(&e))?;
        found.ok_or_else(|| StoreFault::NoBlob(id.clone()))?.ok_or_else(|| {
            StoreFault::Broken(format!("{}: blob {id} is damaged; restore the file from a copy", self.path.display()))
        })
    }
}

fn word_of(outcome: &Outcome) -> Result<String, StoreFault> {
    match serde_json::to_value(outcome) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        other => Err(StoreFault::Broken(format!("an outcome is not a word: {other:?}"))),
    }
}

fn to_json(value: &impl serde::Serialize) -> Result<String, StoreFault> {
    serde_json::to_string(value)
        .map_err(|error| StoreFault::Broken(format!("a fact cannot be written as JSON: {error}")))
}
