//! Removes what no run refers to any more.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::StoreFault;
use rusqlite::{Connection, params};

use crate::blobs;
use crate::owner::{Life, Owner};
use crate::pack::unpack_fact;
use crate::sqlite::SqliteStore;

/// A file is left over if its process has not written to it for this long.
const OLD: Duration = Duration::from_secs(60 * 60);

/// Characters of a hash.
const HASH: usize = 64;

/// What was removed, or would be with `dry_run`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Blobs that nothing refers to.
    pub blobs: usize,
    /// Bytes that these blobs take in the store.
    pub blob_bytes: u64,
    /// Number of run names for which no entry was ever recorded.
    pub empty_runs: usize,
    /// Number of files beside the store: streamed texts, temporary files, and pages that lost runs fetched.
    pub files: usize,
    /// Bytes of these files.
    pub file_bytes: u64,
    /// An active run, and the process that drives it. Nothing that runs refer to is removed until it has ended.
    pub at_work: Option<(RunId, String)>,
}

/// What to remove from the tables.
struct Garbage {
    blobs: Vec<(i64, u64)>,
    /// Changes when another process has written to the database.
    version: i64,
}

impl SqliteStore {
    /// Removes blobs that no run refers to, runs without an entry, and old files beside the store. With `dry_run` it
    /// only counts them. Every hash anywhere in the record counts as a reference, so nothing that a run needs is
    /// removed. An active run stores texts before it records what names them; while one is active, the tables do not
    /// change.
    ///
    /// # Errors
    /// The store's fault, if the store fails.
    pub fn collect(&self, dry_run: bool) -> Result<Collected, StoreFault> {
        let mut collected = Collected { at_work: self.at_work(&self.reading())?, ..Collected::default() };
        if collected.at_work.is_none() {
            let garbage = self.garbage()?;
            collected.empty_runs = self.empty_runs(&self.reading())?;
            if !dry_run && (!garbage.blobs.is_empty() || collected.empty_runs > 0) {
                collected.at_work = self.remove(&garbage)?;
            }
            if collected.at_work.is_none() {
                collected.blobs = garbage.blobs.len();
                collected.blob_bytes = garbage.blobs.iter().map(|(_, bytes)| bytes).sum();
            } else {
                collected.empty_runs = 0;
            }
        }
        let old = old_files(self.path().parent().unwrap_or(Path::new("")), &self.known_runs()?);
        for (path, bytes) in old {
            if dry_run || fs::remove_file(&path).is_ok() {
                collected.files += 1;
                collected.file_bytes += bytes;
            }
        }
        Ok(collected)
    }

    fn at_work(&self, connection: &Connection) -> Result<Option<(RunId, String)>, StoreFault> {
        let find = || -> rusqlite::Result<Option<(RunId, String)>> {
            let mut locks = connection.prepare("SELECT run, pid, start, host, token FROM locks")?;
            let rows = locks.query_map([], |row| {
                let owner = Owner { pid: row.get(1)?, start: row.get(2)?, host: row.get(3)? };
                Ok((row.get::<_, String>(0)?, owner, row.get::<_, String>(4)?))
            })?;
            for row in rows {
                let (run, owner, token) = row?;
                if self.held.life(&token, &owner) == Life::MayRun {
                    return Ok(Some((RunId::new(run), owner.to_string())));
                }
            }
            Ok(None)
        };
        find().map_err(|error| self.fault(&error))
    }

    fn empty_runs(&self, connection: &Connection) -> Result<usize, StoreFault> {
        connection
            .query_row("SELECT count(*) FROM runs WHERE facts = 0", [], |row| row.get::<_, i64>(0))
            .map(|count| usize::try_from(count).unwrap_or(0))
            .map_err(|error| self.fault(&error))
    }

    fn known_runs(&self) -> Result<HashSet<String>, StoreFault> {
        let connection = self.reading();
        let list = || -> rusqlite::Result<HashSet<String>> {
            connection.prepare("SELECT run FROM runs")?.query_map([], |row| row.get(0))?.collect()
        };
        list().map_err(|error| self.fault(&error))
    }

    /// Blobs to which no entry and no message refers.
    fn garbage(&self) -> Result<Garbage, StoreFault> {
        let connection = self.reading();
        let find = || -> rusqlite::Result<Garbage> {
            let version = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
            // One transaction, so that everything is read at the same moment, whatever other processes write.
            let moment = connection.unchecked_transaction()?;
            let mut marks = Marks::of(&moment)?;
            let mut bodies =
                moment.prepare("SELECT size, body FROM facts UNION ALL SELECT NULL, body FROM messages")?;
            let mut rows = bodies.query([])?;
            while let Some(row) = rows.next()? {
                let size: Option<i64> = row.get(0)?;
                let body = row.get_ref(1)?.as_bytes().unwrap_or_default().to_vec();
                let size = size.map(|size| usize::try_from(size).unwrap_or(0));
                marks.note(&unpack_fact(body, size).unwrap_or_default());
            }
            while let Some(id) = marks.queue.pop() {
                if let Some(Some(bytes)) = blobs::read(&moment, &id)? {
                    marks.note(&bytes);
                }
            }
            Ok(Garbage { blobs: marks.unmarked(), version })
        };
        find().map_err(|error| self.fault(&error))
    }

    /// Removes the garbage, unless a run has started in the meantime; then returns that run.
    fn remove(&self, garbage: &Garbage) -> Result<Option<(RunId, String)>, StoreFault> {
        let begun = self.write(|transaction| {
            if let Some(begun) = self.at_work(transaction)? {
                return Ok(Some(begun));
            }
            let remove = || -> rusqlite::Result<bool> {
                let version: i64 = self.reading().pragma_query_value(None, "data_version", |row| row.get(0))?;
                if version != garbage.version {
                    return Ok(false);
                }
                let mut delete = transaction.prepare("DELETE FROM blobs WHERE id = ?1")?;
                for (id, _) in &garbage.blobs {
                    delete.execute(params![id])?;
                }
                transaction.execute("DELETE FROM locks", [])?;
                transaction.execute("DELETE FROM messages WHERE run IN (SELECT run FROM runs WHERE facts = 0)", [])?;
                transaction.execute("DELETE FROM runs WHERE facts = 0", [])?;
                Ok(true)
            };
            match remove().map_err(|error| self.fault(&error))? {
                true => Ok(None),
                false => Err(StoreFault::Broken("another process has just written to the store; try again".to_owned())),
            }
        })?;
        if begun.is_none() {
            self.shrink();
        }
        Ok(begun)
    }
}

/// Blobs by hash, and which of them are referred to.
struct Marks {
    blobs: HashMap<BlobId, (i64, Option<i64>, u64)>,
    marked: HashSet<i64>,
    queue: Vec<BlobId>,
}

impl Marks {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let mut select = connection.prepare("SELECT lower(hex(hash)), id, base, length(bytes) FROM blobs")?;
        let row = |row: &rusqlite::Row<'_>| {
            let bytes: i64 = row.get(3)?;
            let of_blob = (row.get(1)?, row.get(2)?, crate::rows::unsigned(bytes));
            Ok((BlobId::new(row.get::<_, String>(0)?), of_blob))
        };
        let blobs = select.query_map([], row)?.collect::<Result<_, _>>()?;
        Ok(Self { blobs, marked: HashSet::new(), queue: Vec::new() })
    }

    /// Marks every hash in a text.
    fn note(&mut self, text: &[u8]) {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        for run in text.split(|byte| !is_digit(byte)).filter(|run| run.len() == HASH) {
            let Ok(id) = std::str::from_utf8(run).map(BlobId::new) else { continue };
            if let Some((row, base, _)) = self.blobs.get(&id)
                && self.marked.insert(*row)
            {
                self.marked.extend(base);
                self.queue.push(id);
            }
        }
    }

    fn unmarked(self) -> Vec<(i64, u64)> {
        let free = self.blobs.into_values().filter(|(row, ..)| !self.marked.contains(row));
        free.map(|(row, _, bytes)| (row, bytes)).collect()
    }
}

/// Files that processes left behind: streamed texts, unfinished files, and pages of runs that are not in the store. The
/// journal of such a run is kept, because it holds what a lost record does not.
fn old_files(folder: &Path, known: &HashSet<String>) -> Vec<(std::path::PathBuf, u64)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let live = entries(&folder.join("live"));
    let kept = entries(&folder.join("kept")).flat_map(|run| {
        let is_known = run.file_name().and_then(|name| name.to_str()).is_some_and(|name| known.contains(name));
        let pages = run.join("pages");
        let inside = entries(&run.join("journal")).chain(entries(&pages)).collect::<Vec<_>>();
        inside.into_iter().filter(move |file| is_unfinished(file) || (!is_known && file.starts_with(&pages)))
    });
    let age = |at: SystemTime| at.elapsed().unwrap_or_default();
    let old = |file: std::path::PathBuf| {
        let metadata = file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        (age(metadata.modified().ok()?) > OLD).then_some((file, metadata.len()))
    };
    live.chain(kept).filter_map(old).collect()
}

fn is_unfinished(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".tmp-"))
}
