//! The tables, and how an older file is migrated.

use std::path::Path;

use callsheet_runtime::ports::StoreFault;
use rusqlite::{Connection, TransactionBehavior};

/// Scripts in order. A released script never changes.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001.sql")];

/// Number of schema versions that were never released. The file's `user_version` counts them and the scripts that it
/// has had.
const NEVER_RELEASED: usize = 5;

const NEWEST: usize = NEVER_RELEASED + MIGRATIONS.len();

/// Why a file could not be migrated.
pub(crate) enum MigrationFault {
    Sqlite(rusqlite::Error),
    Refused(StoreFault),
}

impl From<rusqlite::Error> for MigrationFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Migrates the file at `path` to the newest schema, in one transaction. Several processes may try at once.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), MigrationFault> {
    if version(connection)? == NEWEST {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the file before this one got the lock.
    let found = version(&transaction)?;
    must_be_known(found, path)?;
    for script in MIGRATIONS.iter().skip(found.saturating_sub(NEVER_RELEASED)) {
        transaction.execute_batch(script)?;
    }
    transaction.pragma_update(None, "user_version", i64::try_from(NEWEST).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(())
}

/// Refuses a file that would have to be migrated before it can be read.
pub(crate) fn must_be_newest(connection: &Connection, path: &Path) -> Result<(), MigrationFault> {
    let found = version(connection)?;
    must_be_known(found, path)?;
    if found == NEWEST {
        return Ok(());
    }
    let older = format!("{} has an older format, and this process may not write to it", path.display());
    Err(MigrationFault::Refused(StoreFault::ReadOnly(older)))
}

fn must_be_known(found: usize, path: &Path) -> Result<(), MigrationFault> {
    if found > NEWEST {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let fault = StoreFault::TooNew { found: number(found), known: number(NEWEST) };
        return Err(MigrationFault::Refused(fault));
    }
    if (1..=NEVER_RELEASED).contains(&found) {
        let file = path.display();
        return Err(MigrationFault::Refused(StoreFault::Broken(format!(
            "{file} has the format of an unreleased Callsheet. Move it away to start fresh"
        ))));
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, rusqlite::Error> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
