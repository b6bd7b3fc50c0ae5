//! The protected paths of a project that a person lets commands change (spec 11.14). Callsheet's own files are never
//! among them, nor the targets of their links.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::OWN_FOLDER;
use serde::{Deserialize, Serialize};

/// What a person lets commands change, as paths below the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Freed {
    /// Files and folders with everything in them.
    pub(super) whole: Vec<PathBuf>,
    /// Git folders, except for their hooks and configuration.
    pub(super) commits: Vec<PathBuf>,
}

/// The paths of [`Freed`] as absolute paths in the project.
#[derive(Default)]
pub(super) struct Released {
    below: Freed,
    paths: Vec<PathBuf>,
    commits: Vec<PathBuf>,
    /// The targets of links in Callsheet's own files.
    own: BTreeSet<PathBuf>,
}

impl Released {
    /// Converts from paths below the project.
    pub(super) fn of(root: &Path, below: &Freed) -> Self {
        let at = |paths: &[PathBuf]| paths.iter().map(|path| root.join(path)).collect();
        let (paths, commits) = (at(&below.whole), at(&below.commits));
        Self { below: below.clone(), paths, commits, own: BTreeSet::new() }
    }

    /// Converts to paths below the project.
    pub(super) fn below(&self) -> Freed {
        self.below.clone()
    }

    /// Whether a path belongs to Callsheet.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        path.iter().any(|part| part.eq_ignore_ascii_case(OWN_FOLDER))
            || self.own.iter().any(|own| path.starts_with(own))
    }

    /// Makes this belong to Callsheet from now on. Returns false if it already did.
    pub(super) fn keep(&mut self, real: &Path) -> bool {
        self.own.insert(real.to_path_buf())
    }

    /// Whether commands may change it.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.paths.iter().any(|released| path.starts_with(released)) && !self.is_own(path)
    }

    /// Whether this folder contains something that commands may change.
    pub(super) fn leads_from(&self, path: &Path) -> bool {
        let above = |released: &PathBuf| released != path && released.starts_with(path);
        self.paths.iter().any(above) || self.commits.iter().any(|git| git.starts_with(path))
    }
}
