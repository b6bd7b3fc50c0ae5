//! Large files, read and hashed once per run as long as they do not change.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::files::Content;

/// The maximum number of contents kept. Each holds at most the two ends of a file.
const MOST: usize = 8;

/// A file that changed less than this ago may change again without a visible change of its times.
const SETTLED: Duration = Duration::from_secs(2);

/// Contents by file and window of lines.
type CachedContents = BTreeMap<(Stamp, (u32, u32)), Content>;

/// The contents of large files when they were read. A content is returned again only if the file's identity, size and
/// times prove that it is unchanged.
#[derive(Debug)]
pub struct LargeFiles {
    kept: Mutex<CachedContents>,
    settled: Duration,
    scans: AtomicU64,
}

/// Proves that a file is the same, with the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Default for LargeFiles {
    fn default() -> Self {
        Self { kept: Mutex::default(), settled: SETTLED, scans: AtomicU64::new(0) }
    }
}

impl LargeFiles {
    /// Trusts times at once, for tests, which cannot wait.
    #[cfg(test)]
    pub(crate) fn trusting() -> Self {
        Self { settled: Duration::ZERO, ..Self::default() }
    }

    /// How often a file was read.
    #[cfg(test)]
    pub(crate) fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// The content of an open file for a window of lines: the kept one, or the result of `scan`.
    pub(super) fn content(
        &self,
        file: File,
        window: (u32, u32),
        scan: impl FnOnce(File) -> io::Result<Content>,
    ) -> io::Result<Content> {
        let again = file.try_clone()?;
        let stamp = Stamp::of(&file)?;
        if let Some(known) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&(stamp, window)) {
            return Ok(known.clone());
        }
        self.scans.fetch_add(1, Ordering::Relaxed);
        let content = scan(file)?;
        if Stamp::of(&again)? == stamp && stamp.settled_since(self.settled) {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MOST {
                kept.clear();
            }
            kept.insert((stamp, window), content.clone());
        }
        Ok(content)
    }
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        Ok(Self::of_metadata(&file.metadata()?))
    }

    /// Like `of`, but from the metadata.
    pub(crate) fn of_metadata(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// Whether the file was unchanged for long enough that its times show every change.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled_since(SETTLED)
    }

    fn settled_since(&self, by: Duration) -> bool {
        let seconds = u64::try_from(self.changed.0.max(self.modified.0)).unwrap_or(0);
        let last = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        SystemTime::now().duration_since(last).is_ok_and(|since| since >= by)
    }
}
