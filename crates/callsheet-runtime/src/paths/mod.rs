//! Confinement of paths (spec 5.6): what a written path means, whether it may be read or written, and how to open it so
//! that a directory that was replaced by a symbolic link in the meantime leads nowhere.

mod beneath;
mod deciding;
mod locate;
mod places;
mod private;
mod read;
mod seen;
mod steady;

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub use beneath::{
    is_settled_folder, open_settled, read_link_settled, read_settled, remove_tree_settled, set_mode_settled,
};
pub use deciding::{DECIDING_FILES, DECIDING_FOLDERS, RULE_FILES, decides};
pub use locate::Located;
pub use places::{PLACES, Places, ever_changeable};
pub use private::{create_private_folder, private, write_private};
pub use read::{
    BINARY_PROBE, EntryKind, FileBytes, Listing, has_plain_ignore_files, is_fetched, read_regular, read_regular_text,
};
pub use seen::{seen_files, seen_others};
pub use steady::{firm, host_folders, host_program, is_below, steady};

pub(crate) use beneath::{
    NewFile, open_dir_creating, open_parent, open_private_dir_creating, open_regular, remove_entry, stat_entry,
};
pub(crate) use read::{is_binary, open_regular as open_regular_file, printable, reason, walker};

/// The folder of a project for Callsheet's files.
pub const OWN_FOLDER: &str = ".callsheet";
/// Folders of packages and builds, which are not searched for rules or protected files.
pub const NOT_SEARCHED: [&str; 2] = ["node_modules", "target"];
/// Names that are never written to, at any depth (spec 5.6).
const PROTECTED_NAMES: [&str; 5] = [".git", ".hg", ".svn", ".jj", OWN_FOLDER];

/// The confined view of a project: what may be read and written. Every path from a model or a tool goes through it.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The project root first, then the roots that may only be read.
    bases: Arc<[Base]>,
    read_roots: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    /// The user's folders with the lists of what is approved.
    kept: Vec<PathBuf>,
    /// What the user granted to commands besides the project.
    granted: Granted,
    /// Where running commands are noted.
    notes: Option<PathBuf>,
}

/// What a user grants to commands besides the project. A project cannot set any of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Folders that commands may write to, such as a cache of tools.
    pub writable: Vec<PathBuf>,
    /// Folders and files that commands may read.
    pub shown: Vec<PathBuf>,
    /// Names of environment variables that commands see.
    pub variables: Vec<String>,
    /// Hosts that commands may connect to.
    pub hosts: Vec<String>,
    /// Protected files and folders that commands may change, as paths below the project.
    pub protected: Vec<PathBuf>,
    /// Mebibytes of memory for all processes of a command together. `None` means a share of the machine's memory.
    pub memory_mb: Option<u64>,
    /// Seconds of processor time for them together. `None` means no separate limit.
    pub cpu_seconds: Option<u64>,
    /// Whether an outer container confines commands, so that they need no sandbox of their own.
    pub contained: bool,
}

/// A canonical root, kept open: everything below it is opened relative to this descriptor.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) path: PathBuf,
    pub(crate) fd: OwnedFd,
}

/// Why a path was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// It leads out of every allowed root.
    #[error("{0} is outside the project")]
    Outside(String),
    /// It may be read but never written.
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
    /// No file with this name can be written.
    #[error("{path} cannot be written: {reason}")]
    Unwritable {
        /// As written.
        path: String,
        /// Why it cannot be written.
        reason: String,
    },
}

impl Workspace {
    /// A view of `root`. All roots are canonicalised.
    ///
    /// # Errors
    /// If the root or a read root does not exist or is not a directory that can be opened.
    pub fn new(root: &Path, read_roots: &[PathBuf]) -> Result<Self, PathFault> {
        let canonical = |path: &Path| path.canonicalize().map_err(|_| PathFault::Missing(path.display().to_string()));
        let read_roots: Vec<PathBuf> = read_roots.iter().map(|path| canonical(path)).collect::<Result<_, _>>()?;
        let bases: Vec<Base> = std::iter::once(canonical(root)?)
            .chain(read_roots.iter().cloned())
            .map(|path| match beneath::open_root(&path) {
                Ok(fd) => Ok(Base { path, fd }),
                Err(error) => {
                    Err(PathFault::Unreadable { path: path.display().to_string(), reason: read::reason(&error) })
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            bases: bases.into(),
            read_roots,
            protected: Vec::new(),
            kept: Vec::new(),
            granted: Granted::default(),
            notes: None,
        })
    }

    /// The same view with a further directory that changes never write to, such as a run directory outside
    /// `.callsheet/`. It need not exist yet; its existing part is canonicalised.
    #[must_use]
    pub fn protecting(mut self, directory: &Path) -> Self {
        self.protected.push(real(directory));
        self
    }

    /// The same view with a folder of the user that no command may write to, because it says what is approved.
    #[must_use]
    pub fn keeping(mut self, directory: &Path) -> Self {
        self.kept.push(real(directory));
        self
    }

    /// The same view with the folder where running commands are noted. Commands cannot write there.
    #[must_use]
    pub fn noting(mut self, folder: PathBuf) -> Self {
        self.notes = Some(folder);
        self
    }

    /// Where running commands are noted.
    pub fn notes(&self) -> Option<&Path> {
        self.notes.as_deref()
    }

    /// The same view with what the user grants to commands. The folder of notes must already be set. A granted folder
    /// is left out if it is missing, or if it contains or is in a folder that no command may write to; so is a
    /// protected path of Callsheet itself.
    #[must_use]
    pub fn granting(mut self, granted: Granted) -> Self {
        // Wherever these paths lead now, commands may have been able to write there.
        let mut changeable = self.changeable();
        changeable.extend(granted.writable.iter().map(|folder| real(folder)));
        let writable = granted.writable.iter().filter_map(|folder| steady(folder, &changeable));
        let writable = writable.filter(|real| self.may_grant_writing(real)).collect();
        let protected = granted.protected.iter().filter(|below| self.may_grant_protected(below)).cloned().collect();
        self.granted = Granted { writable, protected, ..granted };
        self
    }

    /// The folders that commands can change here, or could ever change in any project according to the notes.
    pub fn changeable(&self) -> Vec<PathBuf> {
        let own = std::iter::once(self.root().to_path_buf()).chain(self.granted.writable.iter().cloned());
        own.chain(self.notes.iter().flat_map(|notes| ever_changeable(notes))).collect()
    }

    /// Whether a user may let commands write to a canonical folder: it exists, and neither contains nor is inside a
    /// folder that no command may write to.
    pub fn may_grant_writing(&self, real: &Path) -> bool {
        let overlaps = self.kept.iter().any(|kept| kept.starts_with(real) || real.starts_with(kept));
        real.is_dir() && !overlaps
    }

    /// Whether a user may let commands change a protected path: it is in the project and not in Callsheet's own
    /// folders.
    pub fn may_grant_protected(&self, below: &Path) -> bool {
        let names = || below.components();
        let own = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(OWN_FOLDER);
        let within = names().all(|part| matches!(part, Component::Normal(_))) && names().next().is_some();
        let real = real(&self.root().join(below));
        within && !names().any(own) && !self.kept.iter().any(|kept| kept.starts_with(&real) || real.starts_with(kept))
    }

    /// What the user grants to commands.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Folders that no command may write to.
    pub fn kept(&self) -> &[PathBuf] {
        &self.kept
    }

    /// Whether the project contains one of them or is inside one, so that no command may run in it.
    pub fn holds_kept(&self) -> bool {
        self.kept.iter().any(|directory| directory.starts_with(self.root()) || self.root().starts_with(directory))
    }

    /// The canonical project root.
    pub fn root(&self) -> &Path {
        self.bases.first().map_or(Path::new("/"), |base| &base.path)
    }

    /// The canonical extra roots that may be read.
    pub fn read_roots(&self) -> &[PathBuf] {
        &self.read_roots
    }

    pub(crate) fn bases(&self) -> &[Base] {
        &self.bases
    }

    /// The open project root, for writing below it.
    pub(crate) fn root_fd(&self) -> Result<&OwnedFd, PathFault> {
        self.bases.first().map(|base| &base.fd).ok_or_else(|| PathFault::Missing("project root".to_owned()))
    }

    /// Whether a canonical path below the project root must not be written (spec 5.6).
    fn is_protected(&self, real: &Path, relative: &Path) -> bool {
        relative.components().any(|part| PROTECTED_NAMES.iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name)))
            || self.protected.iter().any(|directory| real.starts_with(directory))
    }
}

/// A path without `..`.
pub fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
        plain
    })
}

/// A path whose existing part is canonicalised.
pub fn real(path: &Path) -> PathBuf {
    let mut real = path.to_path_buf();
    let mut rest = Vec::new();
    loop {
        // `..` after a link leads up from the link's target.
        if let Ok(found) = real.canonicalize() {
            real = found;
            break;
        }
        let Some(name) = real.file_name().map(ToOwned::to_owned) else { break };
        rest.push(name);
        real.pop();
    }
    real.extend(rest.iter().rev());
    real
}
