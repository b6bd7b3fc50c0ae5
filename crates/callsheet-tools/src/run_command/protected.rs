//! Where the protected part of a project lies: at its top, and in every project and repository within it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::{NOT_SEARCHED, plain};

/// The bits of a mode that can be set.
pub(super) const MODE: u32 = 0o7777;
/// Folders with rules and configuration of programs that people run, or of models.
const OF_PROGRAMS: [&str; 10] = [
    ".callsheet",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".gemini",
    ".githooks",
    ".husky",
    ".idea",
    ".vscode",
];
/// Such files.
const FILES: [&str; 2] = [".envrc", ".mcp.json"];
/// Files with rules for models.
const RULES: [&str; 3] = ["agents.md", "claude.md", "gemini.md"];
/// Such files of cargo, which keeps others beside them.
const OF_CARGO: [&str; 2] = ["config", "config.toml"];
/// What this program itself writes there while a command runs.
pub(super) const OWN: [&str; 1] = [".callsheet/runs"];
/// What whoever changes a folder needs.
pub(super) const OWNER: u32 = 0o700;
/// What whoever looks into a folder needs.
const LOOK: u32 = 0o500;
/// Folders of a project that are searched for others within it.
const MOST: usize = 50_000;
/// What makes a folder a repository of git, whatever its name is, as git itself sees it. A part of one has `commondir` instead
/// of the folders.
const OF_REPOSITORIES: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// What git continues with: lines of it are run.
const UNFINISHED: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];
/// Folders whose files say where a push goes. Git makes them empty.
const OF_REMOTES: [&str; 2] = ["remotes", "branches"];

/// A look at the protected part of a project.
pub(super) struct ProtectedPaths<'a> {
    root: &'a Path,
    /// All that is protected and there.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Folders that were opened to look into them, with the modes they had.
    pub(super) widened: BTreeMap<PathBuf, u32>,
    /// How many more folders are searched.
    left: usize,
    /// Which folders are looked into that are protected as a whole; `None`: all.
    pub(super) into: Option<&'a dyn Fn(&Path) -> bool>,
    /// What could make a folder a repository together with others, and is there.
    pub(super) makings: BTreeSet<PathBuf>,
    /// What of it was there before; `None`: this is the first look.
    pub(super) made_before: Option<&'a BTreeSet<PathBuf>>,
}

impl<'a> ProtectedPaths<'a> {
    /// The first look, at a project that may be too large to search.
    pub(super) fn new(root: &'a Path) -> Self {
        let (paths, makings) = (BTreeSet::new(), BTreeSet::new());
        Self { root, paths, widened: BTreeMap::new(), left: MOST, into: None, makings, made_before: None }
    }

    /// A later one: all of the project or, if it was too large, its top alone.
    pub(super) fn again(root: &'a Path, nested: bool) -> Self {
        Self { left: if nested { usize::MAX } else { 0 }, ..Self::new(root) }
    }

    /// Looks at the whole project; false: it is too large, and only its top counts.
    pub(super) fn project(&mut self) -> bool {
        let folders = self.top(self.root);
        let paths = self.paths.clone();
        if self.search(folders) {
            return true;
        }
        self.paths = paths;
        false
    }

    /// Looks at what a link of before led to.
    pub(super) fn linked(&mut self, real: &Path, of_git: bool) {
        // A link on the way was put there since: it leads elsewhere.
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

    /// What is protected in a folder, if it is a project or a repository. Returns the other folders in it.
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
                (name, _) if OF_PROGRAMS.contains(&name) => self.walk(&path),
                (name, false) if FILES.contains(&name) || RULES.contains(&name) => self.walk(&path),
                (_, true) if !NOT_SEARCHED.iter().any(|name| path.ends_with(name)) => others.push(path),
                _ => {}
            }
        }
        others
    }

    /// A repository without a folder of files around it, or the part of one that names the rest. In one that is new, what made
    /// it one is protected: without that it is none.
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

    /// What decides what git runs: in its folder and, at any depth, in those of its worktrees and modules.
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

    /// What is in a folder, each with whether it is a folder itself. One that may not be looked into is opened.
    fn children(&mut self, folder: &Path) -> Vec<(PathBuf, bool)> {
        let Some(mode) = folder_mode(folder) else { return Vec::new() };
        if mode & LOOK != LOOK && set_mode(folder, mode | LOOK).is_ok() {
            self.widened.entry(folder.to_path_buf()).or_insert(mode);
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()))).collect()
    }
}

/// Whether a protected path of a project is closed to a command: at the top of the project, and whatever belongs to git or
/// to Callsheet. What else is protected deep in a project is only put back, since files cannot be moved into or out of a
/// folder that holds a closed path.
#[cfg(target_os = "linux")]
pub(super) fn is_closed(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return true };
    let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().to_ascii_lowercase()).collect();
    let at_top = parts.len() == 1 || parts.first().is_some_and(|first| first.starts_with('.'));
    at_top || parts.iter().any(|part| [".git", ".callsheet", ".agents"].contains(&part.as_str()))
}

/// The links on the way to a path of a project, and where they lead in it, be it there or not; `None`: out of it.
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

/// Whether git would take a folder for one of its own, whatever its name is.
fn is_of_git(folder: &Path) -> bool {
    ["config", "hooks", "config.worktree"].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Whether a file holds rules for models.
pub(super) fn is_rules(path: &Path) -> bool {
    RULES.contains(&name(path).as_str())
}

/// As systems see it that do not tell large letters from small ones.
fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// The mode of a folder; `None`: it is none.
pub(super) fn folder_mode(path: &Path) -> Option<u32> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.is_dir().then(|| metadata.permissions().mode() & MODE)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    callsheet_runtime::paths::set_mode_settled(path, mode)
}
