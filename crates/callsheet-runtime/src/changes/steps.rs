//! Moves files from one content to another in small steps, and puts them back.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::{BlobHasher, BlobId};
use callsheet_core::record::ChangeSet;
use rustix::fs::{AtFlags, FileType};

use crate::paths::{NewFile, Workspace, open_dir_creating, open_parent, open_regular, remove_entry, stat_entry};
use crate::ports::Store;

/// What is at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Absent,
    File {
        hash: BlobId,
        mode: u32,
    },
    /// A directory, a link or a device.
    Other,
}

impl State {
    pub(super) fn is(&self, content: Option<&BlobId>) -> bool {
        match (self, content) {
            (Self::Absent, None) => true,
            (Self::File { hash, .. }, Some(id)) => hash == id,
            _ => false,
        }
    }
}

/// One file that changes from one content to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) path: PathBuf,
    pub(super) from: Option<BlobId>,
    pub(super) to: Option<BlobId>,
    /// Permission bits, if the file must be created.
    pub(super) mode: Option<u32>,
}

/// The moves that apply a set.
pub(super) fn forwards(set: &ChangeSet) -> Vec<Move> {
    set.files
        .iter()
        .map(|file| Move {
            path: PathBuf::from(&file.path),
            from: file.before.clone(),
            to: file.after.clone(),
            mode: file.mode,
        })
        .collect()
}

/// The moves that revert a set.
pub(super) fn backwards(set: &ChangeSet) -> Vec<Move> {
    let turned = |file: Move| Move { from: file.to, to: file.from, ..file };
    forwards(set).into_iter().map(turned).collect()
}

/// One step. The process may die between any two steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    MakeDirectories(PathBuf),
    WriteBeside(Move),
    PutInPlace(Move),
    Remove(Move),
}

/// The steps of some moves: all contents are written beside their destinations before the first is put in place.
pub(super) fn steps(moves: &[Move]) -> Vec<Step> {
    let parents: BTreeSet<PathBuf> =
        moves.iter().filter(|file| file.to.is_some()).filter_map(|file| file.path.parent()).map(Into::into).collect();
    let written = moves.iter().filter(|file| file.to.is_some());
    let removed = moves.iter().filter(|file| file.to.is_none());
    let mut steps: Vec<Step> = parents.into_iter().map(Step::MakeDirectories).collect();
    steps.extend(written.clone().cloned().map(Step::WriteBeside));
    steps.extend(written.cloned().map(Step::PutInPlace));
    steps.extend(removed.cloned().map(Step::Remove));
    steps
}

/// The project's files, reached from its open root and never through links.
pub(super) struct Disk<'a> {
    workspace: &'a Workspace,
}

impl<'a> Disk<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace }
    }

    fn root(&self) -> io::Result<&OwnedFd> {
        self.workspace.root_fd().map_err(|fault| io::Error::other(fault.to_string()))
    }

    fn parent<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p std::ffi::OsStr)> {
        open_parent(self.root()?, path)?.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    }

    /// What is at `path`. If the parent directory is missing, nothing is there.
    pub(super) fn state(&self, path: &Path) -> io::Result<State> {
        let (directory, name) = match self.parent(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Absent),
            Err(error) => return Err(error),
        };
        let Some(stat) = stat_entry(&directory, name)? else { return Ok(State::Absent) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(State::Other);
        }
        let mut file = open_regular(&directory, name)?;
        let mut hasher = BlobHasher::default();
        let mut buffer = vec![0_u8; 64 * 1024];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(buffer.get(..read).unwrap_or_default());
        }
        Ok(State::File { hash: hasher.finish(), mode: file.metadata()?.permissions().mode() & 0o7777 })
    }

    /// Missing directories that the moves need, parents first.
    pub(super) fn missing_directories(&self, moves: &[Move]) -> Vec<String> {
        let mut missing = BTreeSet::new();
        for file in moves.iter().filter(|file| file.to.is_some()) {
            let mut parent = file.path.parent();
            while let Some(directory) = parent.filter(|directory| !directory.as_os_str().is_empty()) {
                if self.workspace.root().join(directory).symlink_metadata().is_ok() {
                    break;
                }
                missing.insert(directory.to_string_lossy().into_owned());
                parent = directory.parent();
            }
        }
        missing.into_iter().collect()
    }

    /// Performs one step.
    pub(super) fn perform(&self, step: &Step, store: &dyn Store) -> io::Result<()> {
        match step {
            Step::MakeDirectories(path) => open_dir_creating(self.root()?, path).map(|_| ()),
            Step::WriteBeside(file) => {
                let Some(content) = &file.to else { return Ok(()) };
                let bytes = store.blob(content).map_err(|fault| io::Error::other(fault.to_string()))?;
                let (directory, _) = self.parent(&file.path)?;
                let mode = match self.state(&file.path)? {
                    State::File { mode, .. } => Some(mode),
                    _ => file.mode,
                };
                new_file(&directory, &temporary_name(&file.path)).write(&bytes, mode)
            }
            Step::PutInPlace(file) => {
                self.expect(file)?;
                let (directory, name) = self.parent(&file.path)?;
                new_file(&directory, &temporary_name(&file.path)).rename_to(name)
            }
            Step::Remove(file) => {
                self.expect(file)?;
                let (directory, name) = self.parent(&file.path)?;
                remove_entry(&directory, name)?;
                Ok(rustix::fs::fsync(&directory)?)
            }
        }
    }

    /// The last check before a file is replaced.
    fn expect(&self, file: &Move) -> io::Result<()> {
        if self.state(&file.path)?.is(file.from.as_ref()) {
            Ok(())
        } else {
            Err(io::Error::other("it was changed in the meantime"))
        }
    }

    /// Puts every moved file back and removes temporary files beside them, whatever steps were done. Returns the paths
    /// that have neither content and were left alone.
    pub(super) fn put_back(&self, moves: &[Move], created: &[String], store: &dyn Store) -> io::Result<Vec<String>> {
        let mut conflicts = Vec::new();
        for file in moves {
            self.discard_temporary(file)?;
            let state = self.state(&file.path)?;
            if state.is(file.from.as_ref()) {
                continue;
            }
            if !state.is(file.to.as_ref()) {
                conflicts.push(file.path.to_string_lossy().into_owned());
                continue;
            }
            let back = Move { from: file.to.clone(), to: file.from.clone(), ..file.clone() };
            for step in steps(std::slice::from_ref(&back)) {
                self.perform(&step, store)?;
            }
        }
        self.remove_directories(created)?;
        Ok(conflicts)
    }

    /// Removes directories that an apply created, deepest first. Directories in use stay.
    pub(super) fn remove_directories(&self, created: &[String]) -> io::Result<()> {
        for path in created.iter().rev() {
            let Ok((directory, name)) = self.parent(Path::new(path)) else { continue };
            // A directory that somebody else has used in the meantime is not ours any more.
            let _ = rustix::fs::unlinkat(&directory, name, AtFlags::REMOVEDIR);
        }
        Ok(())
    }

    fn discard_temporary(&self, file: &Move) -> io::Result<()> {
        match self.parent(&file.path) {
            Ok((directory, _)) => new_file(&directory, &temporary_name(&file.path)).discard(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn new_file<'a>(directory: &'a OwnedFd, temporary: &'a OsString) -> NewFile<'a> {
    NewFile { directory, temporary, durable: true }
}

/// The name beside `path` for its new content: the same after a crash, and never too long.
fn temporary_name(path: &Path) -> OsString {
    let id = BlobId::of(path.as_os_str().as_encoded_bytes());
    OsString::from(format!(".callsheet-{}.tmp", id.as_str().get(..16).unwrap_or_default()))
}
