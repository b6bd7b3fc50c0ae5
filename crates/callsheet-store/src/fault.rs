//! Converts errors of SQLite and the file system to faults of the port.

use std::io;
use std::path::Path;

use callsheet_runtime::ports::StoreFault;
use rusqlite::{ErrorCode, ffi};

/// The fault for an SQLite error on the database at `path`.
pub(crate) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> StoreFault {
    let file = path.display();
    let rusqlite::Error::SqliteFailure(code, _) = error else {
        return StoreFault::Broken(format!("{file}: {error}"));
    };
    match code.code {
        ErrorCode::DiskFull | ErrorCode::TooBig => StoreFault::Full(format!("{file}: {error}")),
        // SQLite reports "full" only for ENOSPC. A quota or a file size limit appears as a refused write.
        ErrorCode::SystemIoFailure if refused_write(code.extended_code) => StoreFault::Full(format!(
            "{file}: could not write to the disk (no space, a quota or a file size limit): {error}"
        )),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreFault::Broken(format!(
            "{file} is damaged ({error}). Move it away together with {file}-wal and {file}-shm to start fresh; \
             `sqlite3 {file} .recover` saves what can still be read"
        )),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreFault::Broken(format!(
            "{file} is locked by another process ({error}). Retry, or find it with `fuser {file}`"
        )),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => StoreFault::Broken(format!(
            "{file} cannot be opened for writing ({error}). Check its owner and permissions"
        )),
        _ => StoreFault::Broken(format!("{file}: {error}")),
    }
}

fn refused_write(extended: i32) -> bool {
    matches!(
        extended,
        ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_TRUNCATE | ffi::SQLITE_IOERR_SHMSIZE
    )
}

/// The fault for a file system error at `path`.
pub(crate) fn of_io(path: &Path, error: &io::Error) -> StoreFault {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StoreFault::Full(text)
        }
        _ => StoreFault::Broken(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sqlite_says_is_told_by_kind() {
        let say =
            |code| of_sqlite(Path::new("callsheet.db"), &rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_TOOBIG] {
            assert!(matches!(say(code), StoreFault::Full(_)), "{code}");
        }
        let advice = [
            (ffi::SQLITE_CORRUPT, ".recover"),
            (ffi::SQLITE_NOTADB, "Move it away"),
            (ffi::SQLITE_BUSY, "Retry"),
            (ffi::SQLITE_READONLY, "permissions"),
            (ffi::SQLITE_CANTOPEN, "permissions"),
            (ffi::SQLITE_IOERR_READ, "callsheet.db"),
        ];
        for (code, words) in advice {
            assert!(matches!(say(code), StoreFault::Broken(text) if text.contains(words)), "{code}");
        }
    }

    #[test]
    fn a_file_system_without_room_is_full() {
        let say = |kind: io::ErrorKind| of_io(Path::new("x"), &kind.into());
        assert!(matches!(say(io::ErrorKind::StorageFull), StoreFault::Full(_)));
        assert!(matches!(say(io::ErrorKind::PermissionDenied), StoreFault::Broken(_)));
    }
}
