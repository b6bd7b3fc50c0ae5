//! Opens the database of a store, for writing or only for reading.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet_runtime::paths::{create_private_folder, private};
use callsheet_runtime::ports::StoreFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::fault::{of_io, of_sqlite};
use crate::schema::{MigrationFault, migrate, must_be_newest};

/// How long a call waits for another process to finish its transaction.
const BUSY: Duration = Duration::from_secs(10);

/// Pages of the write-ahead log (16 MiB) after which recording a fact copies them into the database and waits for the
/// disk. [`crate::checkpoint::Checkpoints`] normally copies them earlier, in the background.
const CHECKPOINT_PAGES: u32 = 4_096;

/// How often it tries to copy a database that another process is writing.
const COPIES: u32 = 5;

/// The database in a folder of stores.
pub fn database(folder: &Path) -> PathBuf {
    folder.join("callsheet.db")
}

/// Opens the database in a folder for writing, with the newest schema. Creates both if they do not exist.
pub(crate) fn open_database(folder: &Path) -> Result<(PathBuf, Connection), StoreFault> {
    limits::writes_fail_instead_of_killing();
    create_private_folder(folder).map_err(|error| of_io(folder, &error))?;
    let path = database(folder);
    // SQLite gives the files beside it the same permissions.
    private().append(true).create(true).open(&path).map_err(|error| of_io(&path, &error))?;
    let mut writer = connect(&path, true)?;
    migrate(&mut writer, &path).map_err(|fault| of_migration(&path, fault))?;
    Ok((path, writer))
}

fn of_migration(path: &Path, fault: MigrationFault) -> StoreFault {
    match fault {
        MigrationFault::Sqlite(error) => of_sqlite(path, &error),
        MigrationFault::Refused(fault) => fault,
    }
}

/// Whether the database exists and this process may not write it.
pub(crate) fn is_read_only(folder: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let path = database(folder);
    let writable = |path: &Path| accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    path.exists() && !(writable(folder) && writable(&path))
}

/// A database for reading only, and the folder of its copy.
pub(crate) type ForReading = (PathBuf, Connection, Option<tempfile::TempDir>);

/// Opens the database in a folder only for reading. SQLite needs its own files beside a database with a log, so such a
/// database is copied, and the copy is opened. The copy is deleted together with its folder.
pub(crate) fn open_to_read(folder: &Path) -> Result<ForReading, StoreFault> {
    let path = database(folder);
    let has_log = fs::metadata(log(&path)).is_ok_and(|metadata| metadata.len() > 0);
    let (connection, copy) = if has_log {
        let copy = copied(&path).map_err(|error| of_io(&path, &error))?;
        (connect(&database(copy.path()), false)?, Some(copy))
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        (Connection::open_with_flags(immutable(&path), flags).map_err(|error| of_sqlite(&path, &error))?, None)
    };
    must_be_newest(&connection, &path).map_err(|fault| of_migration(&path, fault))?;
    Ok((path, connection, copy))
}

fn log(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

/// The database's address for SQLite, which promises that nobody writes it.
fn immutable(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let escaped = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = path.as_os_str().as_bytes().iter().map(escaped).collect();
    format!("file:{path}?immutable=1")
}

/// Copies the database and its log as they were at one moment. Copies the log first: what moves from the log into the
/// database in the meantime is then in both.
fn copied(path: &Path) -> io::Result<tempfile::TempDir> {
    let state = |path: &Path| fs::metadata(path).and_then(|at| Ok((at.len(), at.modified()?))).ok();
    for _ in 0..COPIES {
        let before = (state(path), state(&log(path)));
        let copy = tempfile::tempdir()?;
        let file = database(copy.path());
        if before.1.is_some() {
            put(&log(path), &log(&file))?;
        }
        put(path, &file)?;
        if before == (state(path), state(&log(path))) {
            return Ok(copy);
        }
    }
    Err(io::Error::other("another process keeps writing it; try again"))
}

/// Copies the bytes without the permissions, because the copy belongs to this process.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut fs::File::open(from)?, &mut fs::File::create(to)?).map(drop)
}

/// Sets `synchronous = NORMAL` from the first page on. Creating a new file waits for the disk, so a power cut leaves no
/// file, an empty one, or one with a complete first page. Everything else is in the log; a power cut leaves a beginning
/// of it that ends with a complete transaction. Without this wait, a first page of zeros could remain, which no later
/// process could open.
pub(crate) fn connect(path: &Path, create: bool) -> Result<Connection, StoreFault> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        // SQLite plans a statement once, and not again for each value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        use_wal(&connection)?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| of_sqlite(path, &error))
}

/// Switches to WAL, unless the file already uses it. SQLite does not apply its busy timeout to this switch, so this
/// code handles two processes that create the file at once.
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

mod limits {
    //! Makes a file size limit (`ulimit -f`) a fault that can be reported, instead of the death of the process.

    #[cfg(unix)]
    pub(super) fn writes_fail_instead_of_killing() {
        use std::sync::atomic::AtomicBool;
        use std::sync::{Arc, Once};
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // With any handler, the signal no longer kills the process and the write returns EFBIG. The flag itself is
            // unused.
            const SIGXFSZ: i32 = rustix::process::Signal::XFSZ.as_raw();
            if let Err(error) = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))) {
                tracing::warn!(%error, "a file size limit will end the process");
            }
        });
    }

    #[cfg(not(unix))]
    pub(super) fn writes_fail_instead_of_killing() {}
}
