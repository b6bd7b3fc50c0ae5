//! Files below one folder. Each is written completely in one step, and opened without following links.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::paths::{NewFile, Workspace, open_parent, open_private_dir_creating, open_regular, remove_entry};

/// The largest file that is read.
pub(super) const READ_LIMIT: u64 = 16 * 1024 * 1024;

/// Mode of the files: only their owner can read them.
const PRIVATE: u32 = 0o600;

/// Why a run file could not be written or read. The message contains the file and the system's reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct RunFileFault {
    /// Relative to the common folder of its kind of path.
    pub path: String,
    /// The system's reason.
    pub reason: String,
}

/// A folder below an open root.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    root: Workspace,
    directory: PathBuf,
}

impl Folder {
    pub fn new(root: &Workspace, directory: PathBuf) -> Self {
        Self { root: root.clone(), directory }
    }

    /// Another folder below the same root.
    pub fn at(&self, directory: PathBuf) -> Self {
        Self { directory, ..self.clone() }
    }

    /// Relative to the root.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The whole path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.root().join(&self.directory).join(name)
    }

    pub fn create(&self) -> Result<(), RunFileFault> {
        self.open_directory(Path::new("")).map(drop).map_err(|error| self.fault(Path::new(""), &error))
    }

    pub fn write(&self, name: &str, content: &[u8], durable: bool) -> Result<(), RunFileFault> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = OsString::from(format!(".tmp-{}-{number}", std::process::id()));
        let relative = Path::new(name);
        let write = || {
            let directory = self.open_directory(relative.parent().unwrap_or(Path::new("")))?;
            let target = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let file = NewFile { directory: &directory, temporary: &temporary, durable };
            file.write(content, Some(PRIVATE)).and_then(|()| file.rename_to(target)).inspect_err(|_| {
                let _was_not_there = file.discard();
            })
        };
        write().map_err(|error: io::Error| self.fault(relative, &error))
    }

    /// `None` if the file does not exist.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RunFileFault> {
        self.with(name, |file| {
            let mut bytes = Vec::new();
            file.take(READ_LIMIT).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    /// Calls `look` with a file. `None` if it does not exist.
    pub fn with<T>(&self, name: &str, look: impl FnOnce(File) -> io::Result<T>) -> Result<Option<T>, RunFileFault> {
        match self.open(name).and_then(look) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.fault(Path::new(name), &error)),
        }
    }

    /// A missing file is no error.
    pub fn remove(&self, name: &str) -> Result<(), RunFileFault> {
        let relative = Path::new(name);
        let remove = || {
            let directory = self.open_directory(relative.parent().unwrap_or(Path::new("")))?;
            relative.file_name().map_or(Ok(()), |name| remove_entry(&directory, name))
        };
        remove().map_err(|error| self.fault(relative, &error))
    }

    /// The folder `below` this one. It is created if necessary.
    pub fn open_directory(&self, below: &Path) -> io::Result<OwnedFd> {
        open_private_dir_creating(self.open_root()?, &self.directory.join(below))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let path = self.directory.join(name);
        let parent = open_parent(self.open_root()?, &path)?;
        let (directory, name) = parent.ok_or(io::ErrorKind::NotFound)?;
        open_regular(&directory, name)
    }

    fn open_root(&self) -> io::Result<&OwnedFd> {
        self.root.root_fd().map_err(|fault| io::Error::new(io::ErrorKind::NotFound, fault.to_string()))
    }

    fn fault(&self, below: &Path, error: &io::Error) -> RunFileFault {
        RunFileFault { path: self.directory.join(below).display().to_string(), reason: crate::paths::reason(error) }
    }
}

/// Checks that a name is one ordinary path component.
pub(super) fn one_component(name: &str) -> Result<&str, RunFileFault> {
    let refused = name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']);
    if refused {
        let reason = "is not the name of one file".to_owned();
        return Err(RunFileFault { path: name.escape_debug().to_string(), reason });
    }
    Ok(name)
}
