//! The embedded durable store: one SQLite file a project.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callsheet_core::record::{LogEntry, Outcome};
use callsheet_core::spec::{BlobId, RunId};
use callsheet_runtime::paths::{create_private_folder, private};
use callsheet_runtime::ports::{Clock, InboxMessage, Lock, RunSummary, Store, StoreFault, SystemClock};
use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::checkpoint::Checkpoints;
use crate::fault::{of_io, of_sqlite};
use crate::owner::{Life, Owner, new_token};
use crate::pack::{Packed, Packer, unpack};
use crate::rows::{BlobRow, FactRow, blob_of, columns_of, hash_of, key_of, length, signed, unsigned};
use crate::schema::{MigrationFault, migrate};
use crate::staged::Staged;
use crate::summary::Columns;

/// How long a call waits for another process to finish its transaction.
const BUSY: Duration = Duration::from_secs(10);

/// Pages of the write-ahead log (16 MiB) before a fact that is recorded copies them into the database and waits for the
/// disk. [`Checkpoints`] does it earlier, beside the run.
const CHECKPOINT_PAGES: u32 = 4_096;

/// The store of a project, in `callsheet.db` of a folder that is its own.
///
/// Writing and reading have a connection each, so that a viewer that reads a long log does not hold up the run.
/// A fact is safe against the death of the process once `append` returns; `synchronous = NORMAL` means that a power
/// cut may take the last facts, never the middle of the log.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// Before the connections, so that it goes first.
    checkpoints: Checkpoints,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    /// Blobs that the next `append` writes, and the latest that were written.
    staged: Mutex<Staged>,
    packer: Packer,
}

impl SqliteStore {
    /// Opens the store in a folder, creating the folder and the database if need be.
    ///
    /// # Errors
    /// `Full` if the disk is, `TooNew` for a file of a later release, else `Broken` with what to do.
    pub fn open(folder: &Path) -> Result<Self, StoreFault> {
        let (path, writer) = open_database(folder)?;
        let reader = connect(&path, false)?;
        Ok(Self {
            path,
            checkpoints: Checkpoints::default(),
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            staged: Mutex::default(),
            packer: Packer::default(),
        })
    }

    /// The unread letters of a run.
    fn letters_of(&self, connection: &Connection, run: &RunId) -> Result<Vec<(u64, InboxMessage)>, StoreFault> {
        let rows: Vec<(i64, String)> = connection
            .prepare_cached("SELECT n, body FROM letters WHERE run = ?1 ORDER BY n")
            .and_then(|mut statement| {
                statement.query_map(params![run.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|e| self.fault(&e))?;
        let mut letters = Vec::with_capacity(rows.len());
        for (n, body) in rows {
            match serde_json::from_str(&body) {
                Ok(letter) => letters.push((unsigned(n), letter)),
                // Posted by a newer Callsheet. A run must not stand still because of a letter it cannot read.
                Err(error) => tracing::warn!(%run, letter = n, %error, "a letter cannot be read; left out"),
            }
        }
        Ok(letters)
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a run's lock away whoever holds it. Only for a person who knows that the holder is gone, such as one on
    /// another machine, which `lock` never takes over by itself.
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

    /// A fact as it is stored: JSON, with the size that it has if it is compressed.
    fn body_of(&self, fact: &LogEntry) -> Result<(Option<i64>, Value), StoreFault> {
        let text = to_json(&fact.event)?;
        Ok(match self.packer.text(&text) {
            Some(small) => (Some(length(text.len())), Value::Blob(small)),
            None => (None, Value::Text(text)),
        })
    }

    fn fault(&self, error: &rusqlite::Error) -> StoreFault {
        of_sqlite(&self.path, error)
    }

    /// Runs `work` in a transaction that holds the write lock from its start; any fault rolls it back.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| self.fault(&e))?;
        let value = work(&transaction)?;
        transaction.commit().map_err(|e| self.fault(&e))?;
        Ok(value)
    }

    fn reading(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn staged(&self) -> MutexGuard<'_, Staged> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a blob, unless it is there. One whose base is not, since what would have stored that failed or has not come so
    /// far, is stored as it is.
    fn insert_blob(&self, connection: &Connection, packed: &Packed, bytes: &[u8]) -> Result<(), StoreFault> {
        let insert = |packed: &Packed, base: Option<i64>| {
            connection
                .prepare_cached("INSERT OR IGNORE INTO blobs (hash, base, size, bytes) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![hash_of(&packed.hash), base, packed.size.map(length), packed.bytes])
        };
        let base = |hash: &BlobId| {
            let mut statement = connection.prepare_cached("SELECT id FROM blobs WHERE hash = ?1 AND base IS NULL")?;
            statement.query_row(params![hash_of(hash)], |row| row.get(0)).optional()
        };
        let inserted = match &packed.base {
            None => insert(packed, None),
            Some(hash) => base(hash).and_then(|base| match base {
                Some(_) => insert(packed, base),
                None => insert(&Packed::plain(packed.hash.clone(), bytes), None),
            }),
        };
        inserted.map(drop).map_err(|e| self.fault(&e))
    }

    /// The number that the rows of a run go by.
    fn number(&self, connection: &Connection, run: &RunId) -> Result<i64, StoreFault> {
        connection
            .prepare_cached("SELECT id FROM runs WHERE run = ?1")
            .and_then(|mut statement| statement.query_row(params![run.as_str()], |row| row.get(0)).optional())
            .map_err(|e| self.fault(&e))?
            .ok_or_else(|| StoreFault::NoRun(run.clone()))
    }

    /// The number of a run. Refuses unless `lock` is the run's lock now.
    fn must_hold(&self, connection: &Connection, lock: &Lock) -> Result<i64, StoreFault> {
        let number = self.number(connection, &lock.run)?;
        match self.holder(connection, &lock.run)? {
            Some((token, _)) if token == lock.token => Ok(number),
            Some((_, owner)) => Err(StoreFault::LockLost { owner: owner.to_string() }),
            None => Err(StoreFault::LockLost { owner: "nobody; it was unlocked".to_owned() }),
        }
    }

    fn holder(&self, connection: &Connection, run: &RunId) -> Result<Option<(String, Owner)>, StoreFault> {
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

/// The database in a folder of stores.
pub fn database(folder: &Path) -> PathBuf {
    folder.join("callsheet.db")
}

/// Opens the database in a folder for writing, creating both if need be, in the newest schema.
pub(crate) fn open_database(folder: &Path) -> Result<(PathBuf, Connection), StoreFault> {
    limits::writes_fail_instead_of_killing();
    create_private_folder(folder).map_err(|error| of_io(folder, &error))?;
    let path = database(folder);
    // SQLite gives the files beside it the mode that it has.
    private().append(true).create(true).open(&path).map_err(|error| of_io(&path, &error))?;
    let mut writer = connect(&path, true)?;
    migrate(&mut writer, &path).map_err(|fault| match fault {
        MigrationFault::Sqlite(error) => of_sqlite(&path, &error),
        MigrationFault::Refused(fault) => fault,
    })?;
    Ok((path, writer))
}

impl Store for SqliteStore {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        let connection = self.reading();
        let rows: Vec<(String, Columns, Option<Owner>)> = connection
            .prepare_cached(
                "SELECT r.request, r.started_at, r.changed_at, r.facts, r.outcome, r.cost_usd, r.run, l.pid, l.start, l.host \
                 FROM runs r LEFT JOIN locks l ON l.run = r.run \
                 WHERE r.facts > 0 ORDER BY r.started_at DESC, r.run DESC",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| {
                        let pid: Option<u32> = row.get(7)?;
                        let owner = match pid {
                            Some(pid) => Some(Owner { pid, start: row.get(8)?, host: row.get(9)? }),
                            None => None,
                        };
                        Ok((row.get(6)?, columns_of(row)?, owner))
                    })?
                    .collect()
            })
            .map_err(|e| self.fault(&e))?;
        let summary = |(run, columns, owner): (String, Columns, Option<Owner>)| RunSummary {
            run: RunId::new(run),
            request: columns.request,
            started_at: columns.started_at,
            changed_at: columns.changed_at,
            facts: columns.facts,
            outcome: columns.outcome,
            cost_usd: columns.cost_usd,
            owner: owner.filter(|owner| owner.life() == Life::MayRun).map(|owner| owner.to_string()),
        };
        Ok(rows.into_iter().map(summary).collect())
    }

    fn lock(&self, run: &RunId) -> Result<Lock, StoreFault> {
        let me = Owner::current();
        let token = new_token()?;
        self.write(|transaction| {
            if let Some((_, owner)) = self.holder(transaction, run)?
                && owner.life() == Life::MayRun
            {
                return Err(StoreFault::Locked { owner: owner.to_string() });
            }
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
        })?;
        Ok(Lock { run: run.clone(), token })
    }

    fn unlock(&self, lock: &Lock) -> Result<(), StoreFault> {
        self.write(|transaction| {
            transaction
                .execute("DELETE FROM locks WHERE run = ?1 AND token = ?2", params![lock.run.as_str(), lock.token])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })
    }

    fn append(&self, lock: &Lock, facts: &[LogEntry]) -> Result<(), StoreFault> {
        // Made before the transaction, which every other process waits for.
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
                .prepare_cached("INSERT INTO facts (key, at, v, size, body) VALUES (?1, ?2, ?3, ?4, ?5)")
                .map_err(|e| self.fault(&e))?;
            for (fact, (size, body)) in facts.iter().zip(&bodies) {
                columns.note(&lock.run, fact)?;
                insert
                    .execute(params![key_of(number, fact.n), signed(fact.at), fact.v, size, body])
                    .map_err(|e| self.fault(&e))?;
            }
            self.save(transaction, &lock.run, &columns)
        })?;
        self.staged().stored(staged);
        self.checkpoints.note(&self.path);
        Ok(())
    }

    fn read(&self, run: &RunId, from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        let connection = self.reading();
        let number = self.number(&connection, run)?;
        let rows: Vec<FactRow> = connection
            .prepare_cached("SELECT key, at, v, size, body FROM facts WHERE key BETWEEN ?1 AND ?2 ORDER BY key")
            .and_then(|mut statement| {
                let (first, last) = (key_of(number, from), key_of(number, u64::MAX));
                statement.query_map(params![first, last], FactRow::of)?.collect()
            })
            .map_err(|e| self.fault(&e))?;
        drop(connection);
        rows.into_iter().map(|row| row.fact(&self.path, run)).collect()
    }

    fn post(&self, run: &RunId, letter: &InboxMessage) -> Result<(), StoreFault> {
        let body = to_json(letter)?;
        self.write(|transaction| {
            self.number(transaction, run)?;
            transaction
                .execute("INSERT INTO letters (run, body) VALUES (?1, ?2)", params![run.as_str(), body])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })
    }

    fn messages(&self, lock: &Lock) -> Result<Vec<(u64, InboxMessage)>, StoreFault> {
        let connection = self.reading();
        self.must_hold(&connection, lock)?;
        self.letters_of(&connection, &lock.run)
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, StoreFault> {
        let connection = self.reading();
        self.number(&connection, run)?;
        self.letters_of(&connection, run).map(|letters| !letters.is_empty())
    }

    fn discard(&self, lock: &Lock, up_to: u64) -> Result<(), StoreFault> {
        self.write(|transaction| {
            self.must_hold(transaction, lock)?;
            transaction
                .execute("DELETE FROM letters WHERE run = ?1 AND n <= ?2", params![lock.run.as_str(), signed(up_to)])
                .map_err(|e| self.fault(&e))?;
            Ok(())
        })
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        let id = BlobId::of(bytes);
        let known = self
            .reading()
            .prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")
            .and_then(|mut statement| statement.exists(params![hash_of(&id)]))
            .map_err(|e| self.fault(&e))?;
        if !known {
            let packed = self.packer.pack(id.clone(), bytes);
            self.write(|transaction| self.insert_blob(transaction, &packed, bytes))?;
        }
        Ok(id)
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
        let (bytes, size, base): BlobRow = self
            .reading()
            .prepare_cached(
                "SELECT blob.bytes, blob.size, base.bytes, base.size
                 FROM blobs blob LEFT JOIN blobs base ON base.id = blob.base WHERE blob.hash = ?1",
            )
            .and_then(|mut statement| statement.query_row(params![hash_of(id)], blob_of).optional())
            .map_err(|e| self.fault(&e))?
            .ok_or_else(|| StoreFault::NoBlob(id.clone()))?;
        let base = base.map(|(bytes, size)| unpack(bytes, size, None).unwrap_or_default());
        let bytes = unpack(bytes, size, base.as_deref()).filter(|bytes| BlobId::of(bytes) == *id);
        let Some(bytes) = bytes else {
            return Err(StoreFault::Broken(format!(
                "{}: the bytes of blob {id} are not the ones that were stored; restore the file from a copy",
                self.path.display()
            )));
        };
        Ok(bytes)
    }
}

/// `synchronous = NORMAL` from the first page on, also for a new file: its making waits for the disk, so that a power
/// cut leaves no file, an empty one, or one with a whole first page. All else is in the log behind it, of which a cut
/// leaves a beginning that ends with a whole transaction. Without the wait a first page of zeros could be left, which
/// no later opening would take.
fn connect(path: &Path, create: bool) -> Result<Connection, StoreFault> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        // A statement is planned once, and not anew for each value that it is asked with.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        use_wal(&connection)?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| of_sqlite(path, &error))
}

/// Switches to WAL, unless the file is in it already. SQLite does not wait its busy timeout for this switch, so two
/// processes that create the file at once are told apart here.
#[allow(clippy::disallowed_methods, reason = "opening a store blocks by contract")]
fn use_wal(connection: &Connection) -> Result<(), rusqlite::Error> {
    let pause = Duration::from_millis(20);
    let mut tries = BUSY.as_millis() / pause.as_millis();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) && tries > 0 => {
                tries -= 1;
                std::thread::sleep(pause);
            }
            other => return other,
        }
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

mod limits {
    //! A file size limit (`ulimit -f`) must be a fault that can be told, not the death of the process.

    #[cfg(unix)]
    pub(super) fn writes_fail_instead_of_killing() {
        use std::sync::atomic::AtomicBool;
        use std::sync::{Arc, Once};
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // With any handler the signal no longer kills, and the write returns EFBIG. The flag itself is of no use.
            const SIGXFSZ: i32 = rustix::process::Signal::XFSZ.as_raw();
            if let Err(error) = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))) {
                tracing::warn!(%error, "a file size limit will end the process");
            }
        });
    }

    #[cfg(not(unix))]
    pub(super) fn writes_fail_instead_of_killing() {}
}
