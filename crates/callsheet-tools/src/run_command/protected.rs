//! Finds the protected part of a project: at its top, and in every project and repository within it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::{DECIDING_FILES, DECIDING_FOLDERS, NOT_SEARCHED, RULE_FILES, plain};

/// The bits of a mode that can be set.
pub(super) const MODE: u32 = 0o7777;
/// Such files of cargo. Cargo keeps other files beside them.
const OF_CARGO: [&str; 2] = ["config", "config.toml"];
/// What this program itself writes there while a command runs.
pub(super) const OWN: [&str; 1] = [".callsheet/runs"];
/// The permissions that are needed to change a folder.
pub(super) const OWNER: u32 = 0o700;
/// The permissions that are needed to list a folder.
const LOOK: u32 = 0o500;
/// The maximum number of folders of a project that are searched for nested projects.
const MOST: usize = 50_000;
/// What makes a folder a git repository, whatever its name, by git's own rules. A linked part has `commondir` instead
/// of the folders.
const OF_REPOSITORIES: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// Unfinished operations that git continues. It runs lines of these files.
const UNFINISHED: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
/// Folders whose files say where a push goes. Git creates them empty.
const OF_REMOTES: [&str; 2] = ["remotes", "branches"];

/// One search for the protected part of a project.
pub(super) struct ProtectedPaths<'a> {
    root: &'a Path,
    /// Everything protected that exists.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Folders that were made readable, with their original modes.
    pub(super) widened: BTreeMap<PathBuf, u32>,
    /// How many more folders may be searched.
    left: usize,
    /// Which folders that are protected as a whole are searched. `None` means all.
    pub(super) into: Option<&'a dyn Fn(&Path) -> bool>,
    /// Entries that exist and could turn a folder into a repository together with others.
    pub(super) makings: BTreeSet<PathBuf>,
    /// Those of them that existed before. `None` if this is the first search.
    pub(super) made_before: Option<&'a BTreeSet<PathBuf>>,
}

impl<'a> ProtectedPaths<'a> {
    /// The first search, of a project that may be too large.
    pub(super) fn new(root: &'a Path) -> Self {
        let (paths, makings) = (BTreeSet::new(), BTreeSet::new());
        Self { root, paths, widened: BTreeMap::new(), left: MOST, into: None, makings, made_before: None }
    }

    /// A later search: of the whole project or, if it was too large, only of its top.
    pub(super) fn again(root: &'a Path, nested: bool) -> Self {
        Self { left: if nested { usize::MAX } else { 0 }, ..Self::new(root) }
    }

    /// Searches the whole project. Returns false if it is too large, so that only its top counts.
    pub(super) fn project(&mut self) -> bool {
        let folders = self.top(self.root);
        let paths = self.paths.clone();
        if self.search(folders) {
            return true;
        }
        self.paths = paths;
        false
    }

    /// Looks at a target that a link had before.
    pub(super) fn linked(&mut self, real: &Path, of_git: bool) {
        // A link in the path was put there since, so it leads elsewhere.
        let above = real.ancestors().skip(1).take_while(|way| way.starts_with(self.root) && *way != self.root);
        if let Some(link) = above.filter(|way| way.is_symlink()).last() {
            self.paths.insert(link.to_path_buf());
            return;
        }
        if of_git { self.git(real, true) } else { self.walk(real) }
    }

    fn search(&mut self, mut folders: Vec<PathBuf>) -> bool {
        while let Some(folder) = folders.pop() {
            let Some(left) = self.left.checked_sub(1) else { return false };
            self.left = left;
            folders.extend(self.top(&folder));
        }
        true
    }

    /// Finds what is protected in a folder, if it is a project or a repository. Returns the other folders in it.
    fn top(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut others = Vec::new();
        let children = self.children(folder);
        self.repository(folder, &children);
        for (path, is_folder) in children {
            match (name(&path).as_str(), is_folder) {
                (".git", true) => {
                    self.paths.insert(path.clone());
                    if self.into.is_none_or(|into| into(&path)) {
                        self.git(&path, false);
                    }
                }
                (".agents", true) => {
                    self.walk(&path.join("skills"));
                    others.push(path);
                }
                (".cargo", true) => {
                    OF_CARGO.iter().for_each(|name| self.walk(&path.join(name)));
                    others.push(path);
                }
                (".git" | ".agents" | ".cargo", false) => self.walk(&path),
                (name, _) if DECIDING_FOLDERS.contains(&name) => self.walk(&path),
                (name, false) if DECIDING_FILES.contains(&name) || RULE_FILES.contains(&name) => self.walk(&path),
                (_, true) if !NOT_SEARCHED.iter().any(|name| path.ends_with(name)) => others.push(path),
                _ => {}
            }
        }
        others
    }

    /// Handles a bare repository, or a part that names the rest of one. In a new repository, what made it one is
    /// protected: without that it is not a repository.
    fn repository(&mut self, folder: &Path, children: &[(PathBuf, bool)]) {
        let is_making = |path: &PathBuf| OF_REPOSITORIES.iter().any(|name| path.ends_with(name));
        let there: Vec<&PathBuf> = children.iter().map(|(path, _)| path).filter(|path| is_making(path)).collect();
        self.makings.extend(there.iter().map(|path| (*path).clone()));
        let has = |name: &str| there.iter().any(|path| path.ends_with(name));
        if !has("HEAD") || !(has("objects") && has("refs") || has("commondir")) {
            return;
        }
        let new = |path: &&&PathBuf| self.made_before.is_some_and(|before| !before.contains(**path));
        let new: Vec<PathBuf> = there.iter().filter(new).map(|path| (*path).clone()).collect();
        if new.is_empty() {
            self.git(folder, false);
        }
        self.paths.extend(new);
    }

    /// Finds what decides what git runs: in its folder and, at any depth, in those of its worktrees and modules.
    fn git(&mut self, folder: &Path, any: bool) {
        for (path, is_folder) in self.children(folder) {
            let name = name(&path);
            match (name.as_str(), is_folder) {
                ("hooks", _) => self.walk(&path),
                ("commondir" | "gitdir", _) | ("worktrees" | "modules", false) => self.walk(&path),
                (name, _) if UNFINISHED.contains(&name) => self.walk(&path),
                (name, true) if OF_REMOTES.contains(&name) => {
                    self.children(&path).iter().for_each(|(file, _)| self.walk(file));
                }
                ("worktrees" | "modules", true) => self.git(&path, true),
                (name, false) if name.starts_with("config") => self.walk(&path),
                // Git writes through a link, wherever it leads.
                (_, false) if path.is_symlink() => self.walk(&path),
                ("logs" | "refs" | "info", true) if !any => self.links(&path),
                ("objects" | "lfs", true) if !any => {}
                (_, true) if any => self.git(&path, !is_of_git(&path)),
                _ => {}
            }
        }
    }

    /// The links below a folder. Git writes through them, wherever they lead.
    pub(super) fn links(&mut self, folder: &Path) {
        for (path, is_folder) in self.children(folder) {
            if is_folder {
                self.links(&path);
            } else if path.is_symlink() {
                self.walk(&path);
            }
        }
    }

    fn walk(&mut self, path: &Path) {
        if self.paths.contains(path) || OWN.iter().any(|own| path.ends_with(own)) {
            return;
        }
        let Ok(metadata) = path.symlink_metadata() else { return };
        self.paths.insert(path.to_path_buf());
        if metadata.is_dir() && self.into.is_none_or(|into| into(path)) {
            self.children(path).iter().for_each(|(child, _)| self.walk(child));
        }
    }

    /// The content of a folder, with whether each entry is a folder itself. An unreadable folder is made readable.
    fn children(&mut self, folder: &Path) -> Vec<(PathBuf, bool)> {
        let Some(mode) = folder_mode(folder) else { return Vec::new() };
        if mode & LOOK != LOOK && set_mode(folder, mode | LOOK).is_ok() {
            self.widened.entry(folder.to_path_buf()).or_insert(mode);
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()))).collect()
    }
}

/// Whether a protected path of a project is closed to a command: everything at the top of the project, and everything
/// that belongs to git or Callsheet. Other protected files deep in a project are only put back, because files cannot be
/// moved into or out of a folder that contains a closed path.
#[cfg(target_os = "linux")]
pub(super) fn is_closed(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return true };
    let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().to_ascii_lowercase()).collect();
    let at_top = parts.len() == 1 || parts.first().is_some_and(|first| first.starts_with('.'));
    at_top || parts.iter().any(|part| [".git", ".callsheet", ".agents"].contains(&part.as_str()))
}

/// The links in a path of a project, and its target in the project, whether it exists or not. `None` if the path leads
/// out of the project.
pub(super) fn followed(root: &Path, path: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    let mut links = Vec::new();
    let mut path = path.to_path_buf();
    while let Ok(below) = path.strip_prefix(root) {
        let mut ways = below.iter().scan(root.to_path_buf(), |way, part| {
            way.push(part);
            Some(way.clone())
        });
        let Some(link) = ways.find(|way| way.is_symlink()) else { return (links, Some(path)) };
        let (Ok(to), Ok(rest)) = (fs::read_link(&link), path.strip_prefix(&link)) else { break };
        let led = plain(&link.parent().unwrap_or(root).join(to).join(rest));
        if links.contains(&link) {
            break;
        }
        links.push(link);
        path = led;
    }
    (links, None)
}

/// Whether git would treat a folder as one of its own, whatever its name.
fn is_of_git(folder: &Path) -> bool {
    ["config", "hooks", "config.worktree"].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Whether a file contains rules for models.
pub(super) fn is_rules(path: &Path) -> bool {
    RULE_FILES.contains(&name(path).as_str())
}

/// The name as a case-insensitive file system sees it.
fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// The mode of a folder. `None` if it is not a folder.
pub(super) fn folder_mode(path: &Path) -> Option<u32> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.is_dir().then(|| metadata.permissions().mode() & MODE)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    callsheet_runtime::paths::set_mode_settled(path, mode)
}
