//! The tables, and how an older file becomes a newer one.

use callsheet_runtime::ports::StoreFault;
use rusqlite::{Connection, TransactionBehavior};

/// Scripts in order; the file's `user_version` counts those it has had. A script is never changed once released.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001.sql"),
    include_str!("../migrations/0002.sql"),
    include_str!("../migrations/0003.sql"),
];

/// Why a file could not be brought up to date.
pub(crate) enum MigrationFault {
    Sqlite(rusqlite::Error),
    TooNew(StoreFault),
}

impl From<rusqlite::Error> for MigrationFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Brings the file to the newest schema, in one transaction. Several processes may try at once.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), MigrationFault> {
    if version(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated between the look and the lock.
    let done = version(&transaction)?;
    if done > MIGRATIONS.len() {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        return Err(MigrationFault::TooNew(StoreFault::TooNew {
            found: number(done),
            known: number(MIGRATIONS.len()),
        }));
    }
    for script in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(script)?;
    }
    transaction.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))?;
    transaction.commit()?;
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, rusqlite::Error> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
