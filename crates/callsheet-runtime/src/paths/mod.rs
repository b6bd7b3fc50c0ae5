//! Confinement of paths (spec 5.6).

use std::path::{Path, PathBuf};

/// The confined view of a project: what may be read and written. Every path a model or a tool names goes through it.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    read_roots: Vec<PathBuf>,
}

/// Why a path was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// It leads out of every allowed root.
    #[error("{0} is outside the project")]
    Outside(String),
    /// It may be read and never written.
    #[error("{0} is protected")]
    Protected(String),
    /// Nothing is there.
    #[error("{0} does not exist")]
    Missing(String),
    /// It cannot be read.
    #[error("{path} cannot be read: {reason}")]
    Unreadable {
        /// As written.
        path: String,
        /// The system's reason.
        reason: String,
    },
}

impl Workspace {
    /// A view of `root`; both are canonicalised.
    ///
    /// # Errors
    /// If the root does not exist.
    pub fn new(root: &Path, read_roots: &[PathBuf]) -> Result<Self, PathFault> {
        let canonical = |path: &Path| path.canonicalize().map_err(|_| PathFault::Missing(path.display().to_string()));
        Ok(Self {
            root: canonical(root)?,
            read_roots: read_roots.iter().map(|path| canonical(path)).collect::<Result<_, _>>()?,
        })
    }

    /// The canonical project root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The canonical extra roots that may be read.
    pub fn read_roots(&self) -> &[PathBuf] {
        &self.read_roots
    }
}
