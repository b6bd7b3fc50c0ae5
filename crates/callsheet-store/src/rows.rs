//! Rows of the tables and their types.

use std::path::Path;

use callsheet_core::events::{Event, LogEntry, VERSION};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::ports::StoreFault;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::pack::unpack_fact;
use crate::summary::Columns;

/// A hash in its stored form: 32 bytes.
pub(crate) fn hash_of(id: &BlobId) -> Vec<u8> {
    let pair = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = id.as_str().as_bytes().chunks(2).map(pair).collect();
    bytes.unwrap_or_else(|| id.as_str().as_bytes().to_vec())
}

/// The key of a fact. The facts of a run are stored together, ordered by number.
pub(crate) fn key_of(run: i64, n: u64) -> i64 {
    run.saturating_mul(1 << 32).saturating_add(i64::from(u32::try_from(n).unwrap_or(u32::MAX)))
}

/// A fact in its stored form.
pub(crate) struct FactRow {
    n: u64,
    at: u64,
    v: u32,
    size: Option<i64>,
    body: Vec<u8>,
    orders: Option<String>,
}

impl FactRow {
    pub fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let key: i64 = row.get(0)?;
        let body = match row.get_ref(4)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        };
        Ok(Self {
            n: unsigned(key & 0xffff_ffff),
            at: unsigned(row.get(1)?),
            v: row.get(2)?,
            size: row.get(3)?,
            body,
            orders: row.get(5)?,
        })
    }

    pub fn fact(self, path: &Path, run: &RunId) -> Result<LogEntry, StoreFault> {
        let Self { n, at, v, size, body, orders } = self;
        if v > VERSION {
            return Err(StoreFault::TooNew { found: v, known: VERSION });
        }
        let broken = |why: &dyn std::fmt::Display| {
            StoreFault::Broken(format!(
                "{}: fact {n} of {run} cannot be read ({why}); restore the file from a copy, or fork the run before it",
                path.display()
            ))
        };
        let size = size.map(|size| usize::try_from(size).unwrap_or(0));
        let body = unpack_fact(body, size).ok_or_else(|| broken(&"it is damaged"))?;
        let event: Event = serde_json::from_slice(&body).map_err(|error| broken(&error))?;
        let orders =
            orders.map_or(Ok(Vec::new()), |orders| serde_json::from_str(&orders)).map_err(|error| broken(&error))?;
        Ok(LogEntry { v, n, at, event, orders })
    }
}

pub(crate) fn columns_of(row: &Row<'_>) -> rusqlite::Result<Columns> {
    let outcome: Option<String> = row.get(4)?;
    Ok(Columns {
        request: row.get(0)?,
        started_at: unsigned(row.get(1)?),
        changed_at: unsigned(row.get(2)?),
        facts: unsigned(row.get(3)?),
        outcome: outcome.and_then(|word| serde_json::from_value(serde_json::Value::String(word)).ok()),
        cost_usd: row.get(5)?,
    })
}

pub(crate) fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// SQLite's integers are signed. Larger numbers do not occur here and are clamped.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
