//! What Callsheet reads of a run besides its record: the journal of its applies and the pages that it fetched. It is in
//! the user's state folder, beside the store. No command writes there, so no command can mislead Callsheet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::RunId;
use rustix::fs::{Mode, OFlags};

use crate::paths::{PathFault, Workspace};

use super::folder::{Folder, RunFileFault, one_component};

/// Folder of the runs' folders.
const RUNS: &str = "kept";

/// The folder of one run, beside the store of its project.
#[derive(Clone, Debug)]
pub struct KeptFiles {
    state: PathBuf,
    directory: PathBuf,
    run: RunId,
}

impl KeptFiles {
    /// For a run whose store is, or will be, in the folder `state`. Creates nothing before the first file.
    ///
    /// # Errors
    /// If the name of the run is not one path component.
    pub fn new(state: &Path, run: &RunId) -> Result<Self, RunFileFault> {
        let directory = Path::new(RUNS).join(one_component(run.as_str())?);
        Ok(Self { state: state.to_path_buf(), directory, run: run.clone() })
    }

    fn folder(&self) -> Result<Folder, RunFileFault> {
        // If the record is kept in memory, the folder does not exist yet.
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&self.state).map_err(|error| RunFileFault {
            path: self.state.display().to_string(),
            reason: crate::paths::reason(&error),
        })?;
        let fault =
            |fault: PathFault| RunFileFault { path: self.state.display().to_string(), reason: fault.to_string() };
        let root = Workspace::new(&self.state, &[]).map_err(fault)?;
        Ok(Folder::new(&root, self.directory.clone()))
    }

    /// The run.
    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    pub(crate) fn write(&self, name: &str, content: &[u8], durable: bool) -> Result<(), RunFileFault> {
        self.folder()?.write(name, content, durable)
    }

    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RunFileFault> {
        if self.state.exists() { self.folder()?.read(name) } else { Ok(None) }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), RunFileFault> {
        self.folder()?.remove(name)
    }

    /// Names of the files in a folder of the run.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.state.join(&self.directory).join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// A file that all runs of the project share, open for reading and writing.
    pub(crate) fn open_shared(&self, name: &str) -> io::Result<File> {
        let folder = self.folder().map_err(|fault| io::Error::other(fault.to_string()))?;
        let directory = folder.at(PathBuf::new()).open_directory(Path::new(""))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&directory, name, flags, Mode::from_raw_mode(0o600))?))
    }
}
