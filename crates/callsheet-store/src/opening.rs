//! Opening the database of a store, for writing or only to look at it.

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

/// Pages of the write-ahead log (16 MiB) before a fact that is recorded copies them into the database and waits for the
/// disk. [`crate::checkpoint::Checkpoints`] does it earlier, beside the run.
const CHECKPOINT_PAGES: u32 = 4_096;

/// Tries to copy a database that another process writes.
const COPIES: u32 = 5;

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
    migrate(&mut writer, &path).map_err(|fault| of_migration(&path, fault))?;
    Ok((path, writer))
}

fn of_migration(path: &Path, fault: MigrationFault) -> StoreFault {
    match fault {
        MigrationFault::Sqlite(error) => of_sqlite(path, &error),
        MigrationFault::Refused(fault) => fault,
    }
}

/// Whether there is a database that this process may not write.
pub(crate) fn is_read_only(folder: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let path = database(folder);
    let writable = |path: &Path| accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    path.exists() && !(writable(folder) && writable(&path))
}

/// A database that is only looked at, and the folder of its copy.
pub(crate) type ForReading = (PathBuf, Connection, Option<tempfile::TempDir>);

/// Opens the database in a folder to read it and no more. SQLite needs files of its own beside one with a log, so of such
/// a one a private copy is opened, which goes with its folder.
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

/// Its address for SQLite, with the word that nobody writes it.
fn immutable(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let escaped = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = path.as_os_str().as_bytes().iter().map(escaped).collect();
    format!("file:{path}?immutable=1")
}

/// The database and its log as they were at one moment: the log first, since what is copied from it into the database
/// meanwhile is then in both.
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

/// Copies bytes and no permissions: the copy is this process's own.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut fs::File::open(from)?, &mut fs::File::create(to)?).map(drop)
}

/// `synchronous = NORMAL` from the first page on, also for a new file: its making waits for the disk, so that a power
/// cut leaves no file, an empty one, or one with a whole first page. All else is in the log behind it, of which a cut
/// leaves a beginning that ends with a whole transaction. Without the wait a first page of zeros could be left, which
/// no later opening would take.
pub(crate) fn connect(path: &Path, create: bool) -> Result<Connection, StoreFault> {
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
