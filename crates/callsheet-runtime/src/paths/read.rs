//! Reads located paths: types, whole files up to a cap, listings.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Dir, FileType};

use super::{Located, PathFault, Workspace, beneath};

/// How many bytes of a file are searched for NUL to distinguish text from binary (spec 5.4).
pub const BINARY_PROBE: usize = 8 * 1024;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file with its size in bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A device, a pipe or a socket: never opened.
    Special,
}

/// The content of a file, up to a cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    /// The first bytes, at most as many as requested.
    pub bytes: Vec<u8>,
    /// Whether the file continues after them.
    pub truncated: bool,
}

/// Names in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names, sorted by bytes. Directories end with `/`. Characters that would break a line are replaced.
    pub names: Vec<String>,
    /// How many more there are.
    pub left_out: usize,
}

impl FileBytes {
    /// Whether the first 8 KiB contain NUL (spec 5.4).
    pub fn is_binary(&self) -> bool {
        is_binary(&self.bytes)
    }
}

/// Whether the first 8 KiB of a file contain NUL (spec 5.4).
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_PROBE).any(|byte| *byte == 0)
}

/// Reads a file, wherever it is. A pipe or a device is never opened, because it could block the reader for ever.
///
/// # Errors
/// It cannot be read, or is not a regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file that is read in this way.
///
/// # Errors
/// As [`read_regular`]; or it is not UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// The system's reason as a short clause.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

impl Workspace {
    /// The type of a located path now.
    ///
    /// # Errors
    /// `Missing` or `Unreadable`, also if a part of it became a symbolic link since it was located.
    pub fn kind(&self, located: &Located) -> Result<EntryKind, PathFault> {
        let base = self.base_fd(located)?;
        let stat = beneath::open_parent(base, &located.relative)
            .and_then(|parent| match parent {
                None => Ok(None),
                Some((directory, name)) => match beneath::stat_entry(&directory, name)? {
                    Some(stat) => Ok(Some(stat)),
                    None => Err(io::Error::from(io::ErrorKind::NotFound)),
                },
            })
            .map_err(|error| fault(located, &error))?;
        let Some(stat) = stat else { return Ok(EntryKind::Directory) };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File(u64::try_from(stat.st_size).unwrap_or(0)),
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => {
                let reason = crate::issues::path_reason("became-a-link");
                return Err(PathFault::Unreadable { path: located.text.clone(), reason });
            }
            _ => EntryKind::Special,
        })
    }

    /// Opens a located regular file for reading.
    ///
    /// # Errors
    /// `Missing` or `Unreadable`; anything but a regular file is unreadable.
    pub fn open(&self, located: &Located) -> Result<File, PathFault> {
        let base = self.base_fd(located)?;
        let open = || match beneath::open_parent(base, &located.relative)? {
            Some((directory, name)) => beneath::open_regular(&directory, name),
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        };
        open().map_err(|error| fault(located, &error))
    }

    /// Reads a located file, at most `limit` bytes.
    ///
    /// # Errors
    /// As `open`.
    pub fn read(&self, located: &Located, limit: usize) -> Result<FileBytes, PathFault> {
        let mut bytes = Vec::new();
        let more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let file = self.open(located)?;
        file.take(more).read_to_end(&mut bytes).map_err(|error| fault(located, &error))?;
        let truncated = bytes.len() > limit;
        bytes.truncate(limit);
        Ok(FileBytes { bytes, truncated })
    }

    /// Names in a located directory, at most `limit`, without ignored files and version control (spec 5.1).
    ///
    /// # Errors
    /// `Missing` or `Unreadable`.
    pub fn list(&self, located: &Located, limit: usize) -> Result<Listing, PathFault> {
        let unreadable = |error: io::Error| fault(located, &error);
        let directory = beneath::open_dir(self.base_fd(located)?, &located.relative).map_err(unreadable)?;
        let wanted = self.not_ignored(located);
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory).map_err(|errno| unreadable(errno.into()))? {
            let entry = entry.map_err(|errno| unreadable(errno.into()))?;
            let bytes = entry.file_name().to_bytes();
            // Names that the walk with ignore files does not list are left out, and so are files that no longer exist.
            if !wanted.contains(bytes) {
                continue;
            }
            let mut name = printable(&String::from_utf8_lossy(bytes));
            if entry.file_type() == FileType::Directory {
                name.push('/');
            }
            names.push(name);
        }
        names.sort_unstable();
        let left_out = names.len().saturating_sub(limit);
        names.truncate(limit);
        Ok(Listing { names, left_out })
    }

    fn not_ignored(&self, located: &Located) -> BTreeSet<Vec<u8>> {
        use std::os::unix::ffi::OsStrExt;
        let Some(base) = self.bases().get(located.base) else { return BTreeSet::new() };
        walker(&base.path.join(&located.relative))
            .max_depth(Some(1))
            .build()
            .flatten()
            .filter(|entry| entry.depth() == 1)
            .map(|entry| entry.file_name().as_bytes().to_vec())
            .collect()
    }

    fn base_fd(&self, located: &Located) -> Result<&std::os::fd::OwnedFd, PathFault> {
        let missing = || PathFault::Missing(located.text.clone());
        self.bases().get(located.base).map(|base| &base.fd).ok_or_else(missing)
    }
}

/// Whether a folder contains what tools downloaded or created, whatever the ignore files say. Packages of Node.js have
/// a folder with a fixed name; Python environments and caches contain a file that marks them.
pub fn is_fetched(folder: &Path) -> bool {
    folder.ends_with("node_modules") || ["pyvenv.cfg", "CACHEDIR.TAG"].iter().any(|mark| folder.join(mark).is_file())
}

/// Ignore files that a walk opens when it enters a folder.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// The maximum number of bytes of one of them.
const MOST_IGNORE_BYTES: u64 = 1 << 20;

/// Whether a walk may read the ignore files of a folder. A pipe or a device in the place of such a file would block it,
/// or never end.
pub fn has_plain_ignore_files(folder: &Path) -> bool {
    let found = IGNORE_FILES.iter().filter_map(|name| folder.join(name).metadata().ok());
    found.into_iter().all(|found| found.is_file() && found.len() <= MOST_IGNORE_BYTES)
}

/// A walk that leaves out ignored files, what tools downloaded, version control and `.callsheet/`, does not follow
/// links, and shows hidden files. It does not use the person's global ignore file, so a run sees the same on every
/// machine.
pub(crate) fn walker(directory: &Path) -> ignore::WalkBuilder {
    let mut walker = ignore::WalkBuilder::new(directory);
    let plain = has_plain_ignore_files(directory);
    walker.ignore(plain).git_ignore(plain).git_exclude(plain);
    walker.hidden(false).require_git(false).git_global(false).follow_links(false).filter_entry(|entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_protected = super::PROTECTED_NAMES.iter().any(|name| entry.file_name() == *name);
        let is_left_out = || is_folder && (is_fetched(entry.path()) || !has_plain_ignore_files(entry.path()));
        entry.depth() == 0 || !(is_protected || is_left_out())
    });
    walker
}

/// The text with control characters replaced, so that it stays on one line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character }).collect()
}

fn fault(located: &Located, error: &io::Error) -> PathFault {
    let path = located.text.clone();
    match error.kind() {
        io::ErrorKind::NotFound => PathFault::Missing(path),
        _ => PathFault::Unreadable { path, reason: reason(error) },
    }
}
