//! Helpers for several tests of this crate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, RunId};

use crate::paths::Workspace;
use crate::ports::{Lock, Posted, RunSummary, Store, StoreFault};

/// A project in its own directory, which is removed when this is dropped.
pub(crate) struct Project {
    directory: tempfile::TempDir,
    pub(crate) workspace: Workspace,
}

impl Project {
    /// A project with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        std::fs::create_dir(&root).unwrap();
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let workspace = Workspace::new(&root, &[]).unwrap();
        Self { directory, workspace }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.workspace.root().join(relative)
    }

    /// A directory beside the project.
    pub(crate) fn outside(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn text(&self, relative: &str) -> Option<String> {
        std::fs::read_to_string(self.path(relative)).ok()
    }

    /// Every file and directory below the root with its content, except `.callsheet`.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut open = vec![self.workspace.root().to_path_buf()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.workspace.root()).unwrap().display().to_string();
                if name == ".callsheet" {
                    continue;
                }
                if path.is_dir() && !path.is_symlink() {
                    tree.insert(format!("{name}/"), String::new());
                    open.push(path);
                } else {
                    tree.insert(name, std::fs::read_to_string(&path).unwrap_or_else(|error| error.to_string()));
                }
            }
        }
        tree
    }
}

/// Blobs in memory. All other operations of a store fail.
#[derive(Default)]
pub(crate) struct Blobs(Mutex<BTreeMap<BlobId, Vec<u8>>>);

fn not_here<T>() -> Result<T, StoreFault> {
    Err(StoreFault::Broken("only blobs".to_owned()))
}

impl Store for Blobs {
    fn runs(&self) -> Result<Vec<RunSummary>, StoreFault> {
        not_here()
    }

    fn lock(&self, _run: &RunId) -> Result<Lock, StoreFault> {
        not_here()
    }

    fn unlock(&self, _lock: &Lock) -> Result<(), StoreFault> {
        not_here()
    }

    fn append(&self, _lock: &Lock, _facts: &[LogEntry]) -> Result<(), StoreFault> {
        not_here()
    }

    fn read(&self, _run: &RunId, _from: u64) -> Result<Vec<LogEntry>, StoreFault> {
        not_here()
    }

    fn post(&self, _run: &RunId, _letter: &Posted) -> Result<(), StoreFault> {
        not_here()
    }

    fn messages(&self, _lock: &Lock) -> Result<Vec<(u64, Posted)>, StoreFault> {
        not_here()
    }

    fn has_messages(&self, _run: &RunId) -> Result<bool, StoreFault> {
        not_here()
    }

    fn discard(&self, _lock: &Lock, _up_to: u64) -> Result<(), StoreFault> {
        not_here()
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobId, StoreFault> {
        let id = BlobId::of(bytes);
        self.0.lock().unwrap().insert(id.clone(), bytes.to_vec());
        Ok(id)
    }

    fn persist(&self) -> Result<(), StoreFault> {
        Ok(())
    }

    fn stage_blob(&self, bytes: Vec<u8>) -> BlobId {
        let id = BlobId::of(&bytes);
        self.0.lock().unwrap().insert(id.clone(), bytes);
        id
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreFault> {
        self.0.lock().unwrap().get(id).cloned().ok_or_else(|| StoreFault::NoBlob(id.clone()))
    }
}
