//! What a command may do: what it sees, what it may change, and where it may connect.

use std::io;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::Workspace;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::holding::holding;
use super::limits::Limits;
use super::released::Freed;
use super::worktree::Worktree;

/// Folders and files of a home that hold programs, their downloads and git's settings, but no secrets. Commands can
/// read them.
pub(super) const OF_TOOLS: [&str; 35] = [
    ".asdf",
    ".bun",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".dotnet/tools",
    ".gem/ruby",
    ".gem/specs",
    ".gitconfig",
    ".ghcup",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".m2/repository",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    "go",
];

/// What a command sees and may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct View {
    /// What it can read besides the folders of the system.
    pub shown: Vec<PathBuf>,
    /// What it may change.
    pub writable: Vec<PathBuf>,
    /// What it can only read, wherever it is.
    pub closed: Vec<PathBuf>,
    /// Folders whose content it may change, but which it may not move.
    pub steady: Vec<PathBuf>,
    /// What it cannot see at all, wherever it is.
    pub hidden: Vec<PathBuf>,
    /// What commands of any project, including this one, can change or could ever change. A link there must not lead to
    /// what is shown.
    pub changeable: Vec<PathBuf>,
    /// The part of it that commands of this project can change.
    pub own: Vec<PathBuf>,
    /// Where the list of what commands of any project can change is kept.
    pub noted: Option<PathBuf>,
    /// Its home folder. It is empty except for what is shown, and disappears with the command.
    pub home: Option<PathBuf>,
}

/// Variables that name folders of programs that the user chose. Commands can read these folders.
const OF_PROGRAMS: [&str; 10] = [
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
];

/// What a command may do besides reading what it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confined {
    /// What it sees and may change.
    pub(super) view: View,
    /// Whether it may open sockets.
    pub(super) connects: bool,
    /// Hosts that it may reach beyond its own processes.
    pub(super) hosts: Vec<String>,
    /// How much it may use.
    pub(super) limits: Limits,
    /// Whether to refuse to start it if the system cannot enforce this.
    pub(super) required: bool,
    /// The project whose protected part is compared and put back after the command.
    pub(super) guarded: Option<PathBuf>,
    /// What the command may change in the protected part, as paths below the project.
    pub(super) released: Freed,
    /// Where the state of the protected part before the command is noted.
    pub(super) notes: Option<PathBuf>,
}

impl Confined {
    /// It may change the project, except for its protected part, and temporary files.
    pub(crate) fn to(workspace: &Workspace) -> Self {
        let (root, granted) = (workspace.root(), workspace.granted());
        let mut confined = Self::at(root, workspace);
        // Programs inside the project belong to it, such as those of a Python environment.
        confined.view.shown.retain(|path| !path.canonicalize().is_ok_and(|real| real.starts_with(root)));
        let worktree = Worktree::of(root);
        confined.view.shown.extend(worktree.iter().map(|worktree| worktree.common.clone()));
        let mut commits = Vec::new();
        for folder in &granted.writable {
            match (&worktree, folder.strip_prefix(root)) {
                (Some(worktree), _) if worktree.common == *folder => confined.view.writable.extend(worktree.writable()),
                (_, Ok(below)) if below.ends_with(".git") => commits.push(below.to_path_buf()),
                _ => confined.view.writable.push(folder.clone()),
            }
        }
        confined.hosts = granted.hosts.clone();
        confined.guarded = Some(root.to_path_buf());
        confined.released = Freed { whole: granted.protected.clone(), commits };
        confined.notes = workspace.notes().map(Path::to_path_buf);
        confined
    }

    /// It may change this temporary copy of the project, and temporary files.
    pub(crate) fn to_copy(copy: &Path, workspace: &Workspace) -> Self {
        Self::at(copy, workspace)
    }

    fn at(folder: &Path, workspace: &Workspace) -> Self {
        let view = View { writable: vec![folder.to_path_buf()], ..view(workspace) };
        Self { connects: true, ..Self::seen(view, workspace) }
    }

    /// It may change nothing but temporary files, and open no socket. With `required`, it runs what an author wrote
    /// without asking anybody, so the system must be able to enforce this.
    pub(crate) fn reading(workspace: &Workspace, required: bool) -> Self {
        let mut view = view(workspace);
        view.shown.push(workspace.root().to_path_buf());
        view.shown.extend(Worktree::of(workspace.root()).map(|worktree| worktree.common));
        Self { required, ..Self::seen(view, workspace) }
    }

    /// It sees this and may do nothing else.
    fn seen(view: View, workspace: &Workspace) -> Self {
        let limits = Limits::of(workspace.granted());
        let (hosts, released) = (Vec::new(), Freed::default());
        Self { view, connects: false, hosts, limits, required: false, guarded: None, released, notes: None }
    }

    /// It can read this too.
    pub(crate) fn seeing(mut self, path: &Path) -> Self {
        self.view.shown.push(path.to_path_buf());
        self
    }

    /// Adds a temporary folder, if the system gives the command none of its own.
    pub(crate) fn with(mut self, temporary: &Temporary) -> Self {
        self.view.writable.extend(temporary.path().map(Path::to_path_buf));
        self
    }
}

/// The part of the user's files that every command sees: programs, and what the user granted.
fn view(workspace: &Workspace) -> View {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let of_tools = home.iter().flat_map(|home| OF_TOOLS.iter().map(move |name| home.join(name)));
    let programs = std::env::var_os("PATH").unwrap_or_default();
    let holds_home = |folder: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(folder));
    let chosen = OF_PROGRAMS.iter().filter_map(|name| std::env::var_os(name).map(PathBuf::from));
    let programs = std::env::split_paths(&programs).chain(chosen);
    let programs = programs.filter(|folder| folder.is_absolute() && !holds_home(folder));
    let programs: Vec<PathBuf> = programs.filter(|folder| folder.parent().is_some()).collect();
    let granted = workspace.granted();
    let others = workspace.read_roots().iter().chain(&granted.shown).cloned();
    View {
        shown: of_tools.chain(programs).chain(others).filter(|path| path.exists()).collect(),
        hidden: workspace.kept().to_vec(),
        changeable: workspace.changeable().into_iter().chain(own(workspace)).collect(),
        own: own(workspace),
        noted: workspace.notes().map(Path::to_path_buf),
        home,
        ..View::default()
    }
}

/// What commands of this project can change, as canonical paths.
fn own(workspace: &Workspace) -> Vec<PathBuf> {
    let mut folders = vec![workspace.root().to_path_buf()];
    folders.extend(workspace.granted().writable.iter().cloned());
    folders.extend(Worktree::of(workspace.root()).iter().flat_map(Worktree::parts));
    folders
}

/// A new temporary folder that only its owner can read, whatever the process's umask.
pub(crate) fn private_folder() -> io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new().prefix("callsheet-").permissions(std::fs::Permissions::from_mode(0o700)).tempdir()
}

/// The folder for a command's temporary files, if the system gives it none of its own.
pub(crate) struct Temporary(Option<TempDir>);

impl Temporary {
    /// Creates one, if it is needed.
    pub(crate) fn new() -> io::Result<Self> {
        let needed = !holding().is_whole();
        Ok(Self(if needed { Some(private_folder()?) } else { None }))
    }

    /// Its path, which the command must be told.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(TempDir::path)
    }
}
