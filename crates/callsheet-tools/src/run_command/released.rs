//! Which of the protected part of a project a person let commands change (spec 11.14). Callsheet's own files are never
//! among it, nor what their links lead to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::OWN_FOLDER;
use serde::{Deserialize, Serialize};

/// What a person let commands change, by paths below the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Freed {
    /// Files and folders, with all in them.
    pub(super) whole: Vec<PathBuf>,
    /// Folders of git, but for its hooks and configuration.
    pub(super) commits: Vec<PathBuf>,
}

/// The same in the project where it lies.
#[derive(Default)]
pub(super) struct Released {
    below: Freed,
    paths: Vec<PathBuf>,
    commits: Vec<PathBuf>,
    /// Where links of Callsheet's own files lead to.
    own: BTreeSet<PathBuf>,
}

impl Released {
    /// From paths below the project.
    pub(super) fn of(root: &Path, below: &Freed) -> Self {
        let at = |paths: &[PathBuf]| paths.iter().map(|path| root.join(path)).collect();
        let (paths, commits) = (at(&below.whole), at(&below.commits));
        Self { below: below.clone(), paths, commits, own: BTreeSet::new() }
    }

    /// The paths below the project.
    pub(super) fn below(&self) -> Freed {
        self.below.clone()
    }

    /// Whether a path belongs to Callsheet.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        path.iter().any(|part| part.eq_ignore_ascii_case(OWN_FOLDER))
            || self.own.iter().any(|own| path.starts_with(own))
    }

    /// From here on this belongs to Callsheet too; false if it did.
    pub(super) fn keep(&mut self, real: &Path) -> bool {
        self.own.insert(real.to_path_buf())
    }

    /// Whether commands may change it.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.paths.iter().any(|released| path.starts_with(released)) && !self.is_own(path)
    }

    /// Whether it is a folder above something that commands may change.
    pub(super) fn leads_from(&self, path: &Path) -> bool {
        let above = |released: &PathBuf| released != path && released.starts_with(path);
        self.paths.iter().any(above) || self.commits.iter().any(|git| git.starts_with(path))
    }
}
