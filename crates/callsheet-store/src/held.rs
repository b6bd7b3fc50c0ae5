//! A file for each lock on a run. The process that has the lock holds the file by a lock of the system, which ends with the
//! process, whatever the machine is called and whichever processes can be seen from here.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use callsheet_runtime::paths::{create_private_folder, private};

use crate::owner::{Life, Owner};

/// The files of the locks that this process has, by token.
#[derive(Debug)]
pub(crate) struct HeldFiles {
    folder: PathBuf,
    files: Mutex<BTreeMap<String, File>>,
}

impl HeldFiles {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, files: Mutex::default() }
    }

    /// Holds a file for a lock until it is released or this process ends.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn hold(&self, token: &str) -> io::Result<()> {
        create_private_folder(&self.folder)?;
        let file = private().write(true).create_new(true).open(self.folder.join(token))?;
        // Where files cannot be locked, the process id must do.
        let _unsupported = file.try_lock();
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(token.to_owned(), file);
        Ok(())
    }

    /// Removes the file of a lock that ended.
    pub(crate) fn release(&self, token: &str) {
        let _was_not_there = std::fs::remove_file(self.folder.join(token));
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    /// Whether the process that has this lock may still write.
    pub(crate) fn life(&self, token: &str, owner: &Owner) -> Life {
        if !owner.is_of_this_machine() {
            return Life::MayRun;
        }
        let file = match File::open(self.folder.join(token)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Life::Dead,
            Err(_) => return owner.life(),
        };
        // Two that look at the same time do not take each other for the holder.
        match file.try_lock_shared() {
            Ok(()) => Life::Dead,
            Err(TryLockError::WouldBlock) => Life::MayRun,
            Err(TryLockError::Error(_)) => owner.life(),
        }
    }
}
