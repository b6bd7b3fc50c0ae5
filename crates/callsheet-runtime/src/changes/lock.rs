//! The lock under which only one process at a time changes files of a project.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::time::{Duration, Instant, SystemTime};

use callsheet_core::nouns::RunId;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::runfiles::KeptFiles;

/// How long a waiting process sleeps between two tries: short enough to react soon to a cancellation.
const PAUSE: Duration = Duration::from_millis(20);

/// A process that waits longer says whom it waits for.
const QUIET: Duration = Duration::from_secs(1);

/// Held while files are changed. Released when dropped, or by the system when the process ends.
#[derive(Debug)]
pub struct ProjectLock {
    file: File,
}

/// Who holds the lock. Used only to inform people who wait.
#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    run: RunId,
    since: SystemTime,
}

impl ProjectLock {
    /// Waits for the lock of a run's project, and reports whom it waits for. Blocks its thread.
    ///
    /// # Errors
    /// `Ok(None)` if cancelled while waiting; the system's error if the lock file cannot be opened.
    #[allow(clippy::disallowed_methods, reason = "changes run on a blocking thread")]
    pub fn take(files: &KeptFiles, tell: &dyn Fn(&str), cancel: &CancellationToken) -> io::Result<Option<Self>> {
        let mut file = files.open_shared("apply.lock")?;
        let begun = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if cancel.is_cancelled() => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    if !told && begun.elapsed() >= QUIET {
                        told = true;
                        tell(&waiting_for(&mut file));
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        let holder = Holder { pid: std::process::id(), run: files.run().clone(), since: SystemTime::now() };
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(&serde_json::to_vec(&holder).unwrap_or_default()));
        if let Err(error) = written {
            tracing::debug!(%error, "cannot say who holds the lock");
        }
        Ok(Some(Self { file }))
    }
}

impl Drop for ProjectLock {
    fn drop(&mut self) {
        let _who_waits_is_told_less = self.file.set_len(0);
    }
}

fn waiting_for(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    let holder = read.ok().and_then(|_| serde_json::from_slice::<Holder>(&bytes).ok());
    match holder {
        Some(Holder { pid, run, since }) => {
            let seconds = since.elapsed().unwrap_or_default().as_secs();
            format!("waiting for process {pid}, which has been changing files for run {run} for {seconds} s")
        }
        None => "waiting for another process that changes files of this project".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_hears_whose_the_lock_is() {
        let state = tempfile::tempdir().unwrap();
        let files = KeptFiles::new(state.path(), &RunId::new("run-1")).unwrap();
        let held = ProjectLock::take(&files, &|_| (), &CancellationToken::new()).unwrap();
        let words = waiting_for(&mut files.open_shared("apply.lock").unwrap());
        let own = format!("process {}, which has been changing files for run run-1 for ", std::process::id());
        assert!(words.contains(&own), "{words}");
        drop(held);
        let words = waiting_for(&mut files.open_shared("apply.lock").unwrap());
        assert!(words.contains("another process"), "{words}");
    }
}
