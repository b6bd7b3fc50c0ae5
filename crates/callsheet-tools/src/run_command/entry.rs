//! Records what is at a path, so that it can be compared and put back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::{open_settled, read_link_settled, read_settled};
use serde::{Deserialize, Serialize};

use super::protected::{MODE, OWNER, set_mode};

/// Everything that is protected, by path.
pub(super) type Snapshot = BTreeMap<PathBuf, Entry>;

/// One protected path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(super) enum Entry {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
    /// Something else, or not readable: its mode and inode number.
    Other(u32, u64),
}

/// The serialised form, which keeps every byte of a name.
#[derive(Serialize, Deserialize)]
enum Written {
    Folder(u32),
    Text(u32, String),
    Bytes(u32, Vec<u8>),
    Link(OsString),
    Other(u32, u64),
}

impl From<Entry> for Written {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Folder(mode) => Self::Folder(mode),
            Entry::File(mode, bytes) => String::from_utf8(bytes)
                .map_or_else(|odd| Self::Bytes(mode, odd.into_bytes()), |text| Self::Text(mode, text)),
            Entry::Link(to) => Self::Link(to.into()),
            Entry::Other(mode, number) => Self::Other(mode, number),
        }
    }
}

impl From<Written> for Entry {
    fn from(written: Written) -> Self {
        match written {
            Written::Folder(mode) => Self::Folder(mode),
            Written::Text(mode, text) => Self::File(mode, text.into_bytes()),
            Written::Bytes(mode, bytes) => Self::File(mode, bytes),
            Written::Link(to) => Self::Link(to.into()),
            Written::Other(mode, number) => Self::Other(mode, number),
        }
    }
}

/// Creates an entry where there is nothing, or where there is already a folder or file.
pub(super) fn put(path: &Path, entry: &Entry) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match entry {
        Entry::Folder(mode) => {
            fs::create_dir_all(path)?;
            set_mode(path, mode | OWNER)
        }
        Entry::File(mode, bytes) => put_file(path, *mode, bytes),
        Entry::Link(target) => symlink(target, path),
        Entry::Other(..) => Err(io::Error::other("it could not be read before")),
    }
}

/// Writes a file beside its place and moves it there, so a partial write never replaces the file.
fn put_file(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let beside = || -> io::Result<()> {
        let parent = path.parent().unwrap_or(path);
        let mut file = tempfile::Builder::new().prefix(".callsheet-put-back-").tempfile_in(parent)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        file.persist(path)?;
        Ok(())
    };
    match beside() {
        // On a full disk, the space of the changed file itself is still available.
        Err(error) if error.kind() == io::ErrorKind::StorageFull => fs::write(path, bytes).and(set_mode(path, mode)),
        done => done,
    }
}

/// The mode of a folder.
pub(super) fn is_folder(entry: &Entry) -> Option<u32> {
    match entry {
        Entry::Folder(mode) => Some(*mode),
        Entry::File(..) | Entry::Link(_) | Entry::Other(..) => None,
    }
}

/// What is at a path now. Folders that were widened so that they can be read count with their original modes.
pub(super) fn entry(path: &Path, widened: &BTreeMap<PathBuf, u32>) -> Option<Entry> {
    let metadata = path.symlink_metadata().ok()?;
    let mode = metadata.permissions().mode() & MODE;
    let other = Entry::Other(metadata.mode(), metadata.ino());
    Some(if metadata.is_dir() {
        Entry::Folder(widened.get(path).copied().unwrap_or(mode))
    } else if metadata.is_symlink() {
        read_link_settled(path).map_or(other, Entry::Link)
    } else if metadata.is_file() {
        read_settled(path).map_or(other, |bytes| Entry::File(mode, bytes))
    } else {
        other
    })
}

/// Whether a path is unchanged. A file is read only if it still has its length, and never all at once.
pub(super) fn is_at(path: &Path, was: &Entry, widened: &BTreeMap<PathBuf, u32>) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    match was {
        Entry::File(mode, bytes) => {
            let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let alike = metadata.is_file() && metadata.permissions().mode() & MODE == *mode && metadata.len() == len;
            alike && holds(path, bytes).unwrap_or(false)
        }
        Entry::Other(mode, number) => metadata.mode() == *mode && metadata.ino() == *number,
        Entry::Link(target) => read_link_settled(path).is_ok_and(|now| now == *target),
        Entry::Folder(mode) => {
            let now = widened.get(path).copied().unwrap_or(metadata.permissions().mode() & MODE);
            metadata.is_dir() && now == *mode
        }
    }
}

fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = open_settled(path)?;
    let mut buffer = vec![0; 64 * 1024];
    let mut rest = bytes;
    loop {
        let count = file.read(&mut buffer)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { return Ok(rest.is_empty()) };
        match rest.strip_prefix(read) {
            Some(more) => rest = more,
            None => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command of another run replaces a folder or a file by a link while the host looks. The host never follows it.
    /// covers: 11.10
    #[test]
    fn a_link_that_was_put_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("secrets")).unwrap();
        fs::create_dir_all(root.join("project/real")).unwrap();
        fs::write(root.join("secrets/AGENTS.md"), "the secret").unwrap();
        symlink("elsewhere", root.join("secrets/CLAUDE.md")).unwrap();
        symlink("../secrets", root.join("project/sub")).unwrap();
        let none = BTreeMap::new();
        let (file, link) = (root.join("project/sub/AGENTS.md"), root.join("project/sub/CLAUDE.md"));
        let found = [entry(&file, &none), entry(&link, &none)];
        assert!(found.iter().all(|found| matches!(found, Some(Entry::Other(..)))), "{found:?}");
        let was = Entry::File(0o644, b"the secret".to_vec());
        assert!(!is_at(&file, &was, &none) && !is_at(&link, &Entry::Link("elsewhere".into()), &none));
        let before = root.join("secrets").metadata().unwrap().permissions();
        assert!(set_mode(&root.join("project/sub"), 0o777).is_err() && set_mode(&file, 0o777).is_err());
        assert_eq!(root.join("secrets").metadata().unwrap().permissions(), before);
    }
}
