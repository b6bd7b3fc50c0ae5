//! What a command may do: what it sees, what it may change, and what it may connect to.

use std::io;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::Workspace;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::holding::holding;
use super::limits::Limits;
use super::released::Freed;
use super::worktree::Worktree;

/// What lies below a home of programs, of what they fetched, and of git's settings, but no secrets. Commands read it.
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
    /// It reads these besides the folders of the system.
    pub shown: Vec<PathBuf>,
    /// It may change these.
    pub writable: Vec<PathBuf>,
    /// It only reads these, wherever they lie.
    pub closed: Vec<PathBuf>,
    /// Folders that it may change but not move.
    pub steady: Vec<PathBuf>,
    /// It sees nothing of these, wherever they lie.
    pub hidden: Vec<PathBuf>,
    /// What commands of any project can change or could, this one among them: no link that lies there leads to what is shown.
    pub changeable: Vec<PathBuf>,
    /// What of it commands of this project can change.
    pub own: Vec<PathBuf>,
    /// Where it is noted what commands of any project can change.
    pub noted: Option<PathBuf>,
    /// Its home: empty but for what is shown, and gone with the command.
    pub home: Option<PathBuf>,
}

/// Variables that name folders of programs which the user chose. Commands read them.
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
    /// It is not started where the system cannot hold it to this.
    pub(super) required: bool,
    /// The project whose protected part is compared and put back after it.
    pub(super) guarded: Option<PathBuf>,
    /// What of it the command may change, by paths below the project.
    pub(super) released: Freed,
    /// Where it is noted what was protected before.
    pub(super) notes: Option<PathBuf>,
}

impl Confined {
    /// It may change the project, but for its protected part, and temporary files.
    pub(crate) fn to(workspace: &Workspace) -> Self {
        let (root, granted) = (workspace.root(), workspace.granted());
        let mut confined = Self::at(root, workspace);
        // Programs that lie in the project are a part of it, such as those of an environment of Python.
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

    /// It may change this copy of the project, which nobody needs afterwards, and temporary files.
    pub(crate) fn to_copy(copy: &Path, workspace: &Workspace) -> Self {
        Self::at(copy, workspace)
    }

    fn at(folder: &Path, workspace: &Workspace) -> Self {
        let view = View { writable: vec![folder.to_path_buf()], ..view(workspace) };
        Self { connects: true, ..Self::seen(view, workspace) }
    }

    /// It may change nothing but temporary files, and open no socket. `required`: it runs what an author wrote and nobody
    /// was asked about, so it must be held to it.
    pub(crate) fn reading(workspace: &Workspace, required: bool) -> Self {
        let mut view = view(workspace);
        view.shown.push(workspace.root().to_path_buf());
        view.shown.extend(Worktree::of(workspace.root()).map(|worktree| worktree.common));
        Self { required, ..Self::seen(view, workspace) }
    }

    /// It sees this and does nothing else.
    fn seen(view: View, workspace: &Workspace) -> Self {
        let limits = Limits::of(workspace.granted());
        let (hosts, released) = (Vec::new(), Freed::default());
        Self { view, connects: false, hosts, limits, required: false, guarded: None, released, notes: None }
    }

    /// It reads this too.
    pub(crate) fn seeing(mut self, path: &Path) -> Self {
        self.view.shown.push(path.to_path_buf());
        self
    }

    /// The same with a temporary folder where the system gives a command none of its own.
    pub(crate) fn with(mut self, temporary: &Temporary) -> Self {
        self.view.writable.extend(temporary.path().map(Path::to_path_buf));
        self
    }
}

/// What every command sees of the user's files: programs, and what the user granted.
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

/// What commands of this project can change, canonical.
fn own(workspace: &Workspace) -> Vec<PathBuf> {
    let mut folders = vec![workspace.root().to_path_buf()];
    folders.extend(workspace.granted().writable.iter().cloned());
    folders.extend(Worktree::of(workspace.root()).iter().flat_map(Worktree::parts));
    folders
}

/// A new temporary folder, which its owner alone looks into, whatever the process's mask is.
pub(crate) fn private_folder() -> io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new().prefix("callsheet-").permissions(std::fs::Permissions::from_mode(0o700)).tempdir()
}

/// The folder of a command's temporary files where the system gives it none of its own.
pub(crate) struct Temporary(Option<TempDir>);

impl Temporary {
    /// A new one, if it is needed.
    pub(crate) fn new() -> io::Result<Self> {
        let needed = !holding().is_whole();
        Ok(Self(if needed { Some(private_folder()?) } else { None }))
    }

    /// Where it is, which a command has to be told.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(TempDir::path)
    }
}
