//! The files of the project as they are now, for workers that have none. Contents stay where they are: a worker asks for one
//! by its hash, and gets it while the file has it.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callsheet_core::nouns::BlobId;

use crate::calls::{Snapshot, SnapshotFile};
use crate::host::ProjectFiles;

/// The largest file that a worker gets.
pub(crate) const LARGEST: u64 = 64 * 1024 * 1024;

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub fn of(data: &Metadata) -> Self {
        Self {
            size: data.size(),
            inode: data.ino(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }
}

/// Whether a file is a program.
pub(crate) fn runs(data: &Metadata) -> bool {
    data.mode() & 0o111 != 0
}

/// The snapshots of a project.
#[derive(Debug, Default)]
pub(crate) struct Snapshots(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Hashes of files that have not changed since.
    hashes: BTreeMap<PathBuf, (Stamp, BlobId)>,
    /// Where the contents of the newest snapshot are.
    places: BTreeMap<BlobId, PathBuf>,
}

impl Snapshots {
    /// The files as they are now. A file that goes or changes meanwhile is as it was before or after.
    pub fn take(&self, files: ProjectFiles) -> Snapshot {
        let ProjectFiles { root, paths, trusted } = files;
        let mut known = self.known();
        let mut now = Known::default();
        let mut listed = Vec::new();
        for below in paths {
            let (Some(path), place) = (below.to_str(), root.join(&below)) else { continue };
            let Ok(data) = place.symlink_metadata() else { continue };
            if !data.is_file() || data.size() > LARGEST {
                continue;
            }
            let stamp = Stamp::of(&data);
            let hash = known.hashes.remove(&place).filter(|(then, _)| *then == stamp).map(|(_, hash)| hash);
            let Ok(id) = hash.map_or_else(|| hashed(&place), Ok) else { continue };
            listed.push(SnapshotFile { path: path.to_owned(), id: id.clone(), runs: runs(&data) });
            now.places.insert(id.clone(), place.clone());
            now.hashes.insert(place, (stamp, id));
        }
        *known = now;
        let name = root.file_name().and_then(|name| name.to_str()).unwrap_or("project").to_owned();
        Snapshot { name, files: listed, trusted }
    }

    /// A content of the newest snapshot. `None` if its file has changed.
    pub fn read(&self, id: &BlobId) -> Option<Vec<u8>> {
        let place = self.known().places.get(id).cloned()?;
        std::fs::read(place).ok().filter(|bytes| BlobId::of(bytes) == *id)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hashed(place: &std::path::Path) -> io::Result<BlobId> {
    Ok(BlobId::of(&std::fs::read(place)?))
}
