//! The lock that only one process at a time changes project files under.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use tokio_util::sync::CancellationToken;

use crate::paths::{Workspace, open_dir_creating};

/// How long a waiting process sleeps between two tries; short enough to end soon after a cancellation.
const PAUSE: Duration = Duration::from_millis(20);

/// Held while files are changed; given free when dropped, or by the system when the process ends.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
}

impl ProjectLock {
    /// Waits for the lock of the project. Blocks its thread.
    ///
    /// # Errors
    /// `Ok(None)` if cancelled while waiting; the system's error if the lock file cannot be opened.
    #[allow(clippy::disallowed_methods, reason = "changes run on a blocking thread")]
    pub fn take(workspace: &Workspace, cancel: &CancellationToken) -> io::Result<Option<Self>> {
        let root = workspace.root_fd().map_err(|fault| io::Error::other(fault.to_string()))?;
        let directory = open_dir_creating(root, Path::new(".callsheet"))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&directory, "apply.lock", flags, Mode::from_raw_mode(0o600))?);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { _file: file })),
                Err(TryLockError::WouldBlock) if cancel.is_cancelled() => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}
