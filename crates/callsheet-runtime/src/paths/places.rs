//! What is known about places from all commands that ever started, in any project. It is kept beside their notes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file that holds it.
pub const PLACES: &str = "places";

/// What is known.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Places {
    /// Folders that commands could change. A link there may lead anywhere, and a program there may be theirs.
    pub changeable: BTreeSet<OsString>,
    /// Projects that were once small enough to be searched for nested projects.
    pub searched: BTreeSet<OsString>,
}

impl Places {
    /// The content of the folder of notes. Empty before the first command.
    pub fn read(notes: &Path) -> Self {
        fs::read(notes.join(PLACES)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// The folders that commands of any project could ever change.
pub fn ever_changeable(notes: &Path) -> Vec<PathBuf> {
    Places::read(notes).changeable.into_iter().map(PathBuf::from).collect()
}
