//! What no command may change in a project, because it decides what runs later or what a model is told: git's hooks and
//! configuration, and Callsheet's own files except the views, at any depth. It is compared after the command and put
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callsheet_runtime::paths::{decides, read_settled, remove_tree_settled};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use super::border::View;
use super::entry::{Entry, Snapshot, entry, is_at, is_folder, put};
use super::git_settings;
use super::imports::brought_in;
#[cfg(target_os = "linux")]
use super::note::{Known, Noted};
#[cfg(target_os = "linux")]
use super::protected::is_closed;
use super::protected::{OWN, OWNER, ProtectedPaths, folder_mode, followed, set_mode};
use super::released::{Freed, Released};
use super::worktree::Worktree;

/// How long removing may take.
const REMOVING: Duration = Duration::from_secs(10);

/// The protected part of a project as it was before a command.
pub(super) struct Guard {
    root: PathBuf,
    before: Snapshot,
    /// The folders above, with their modes. If a folder cannot be read, its content cannot be compared.
    ways: BTreeMap<PathBuf, u32>,
    /// The targets of links in the protected part, and whether each is a git folder. Links that a command creates are
    /// never followed, because their targets belong to the project.
    linked: BTreeMap<PathBuf, bool>,
    /// Folders of a repository elsewhere that commits write to. No new link may remain in them.
    written: Vec<PathBuf>,
    /// Entries that existed before and could turn a folder into a repository together with others.
    makings: BTreeSet<PathBuf>,
    /// What git's settings name.
    pub(super) named: Vec<PathBuf>,
    /// The part that commands may change.
    released: Released,
    /// Whether the project is small enough to search it for nested projects.
    nested: bool,
    /// The sheets of runs.
    #[cfg(target_os = "linux")]
    sheets: Snapshot,
}

/// What a command changed although no command may, as paths below the project.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restored {
    /// All changed paths.
    pub changed: Vec<String>,
    /// What could not be put back.
    pub open: Vec<String>,
    /// What a person could grant, so that it would not be put back.
    pub grantable: Vec<String>,
    /// What was moved aside, in words, because no process was left inside to put it back.
    pub left: Vec<String>,
    /// The names under which things remain that were moved aside and could not be removed in time.
    pub rest: Vec<String>,
}

impl Guard {
    /// Looks at a project with a canonical path. `released` holds paths below it that commands may change.
    pub(super) fn of(root: &Path, released: &Freed, changeable: &[PathBuf]) -> Self {
        Self::looking(ProtectedPaths::new(root), root, released, changeable, Vec::new())
    }

    /// Like `of`, but when other commands may be running in the project or have run there. What they created or
    /// changed does not count as existing before.
    #[cfg(target_os = "linux")]
    pub(super) fn knowing(root: &Path, released: &Freed, changeable: &[PathBuf], known: &Known) -> Self {
        let look = if known.searched { ProtectedPaths::again(root, true) } else { ProtectedPaths::new(root) };
        let mut guard = Self::looking(look, root, released, changeable, known.named.clone());
        for noted in known.at_work.iter().filter(|noted| noted.concerns(root) && guard.nested) {
            let there = Path::new(&noted.root);
            // What the other command could not change, or was allowed to change, is taken as it is.
            let (free, inside) = (Released::of(there, &noted.released), |path: &Path| path.starts_with(there));
            let before: BTreeMap<&Path, _> = noted.before.iter().map(|(path, was)| (Path::new(path), was)).collect();
            let stays = |path: &Path| !inside(path) || before.contains_key(path) || free.covers(path);
            guard.before.retain(|path, _| stays(path));
            let made = |path: &PathBuf| noted.makings.iter().any(|known| Path::new(known) == path);
            guard.makings.retain(|path| !inside(path) || made(path));
            let linked = |path: &PathBuf| noted.linked.iter().any(|(linked, _)| Path::new(linked) == path);
            guard.linked.retain(|path, _| !inside(path) || linked(path));
            let was = before.iter().filter_map(|(path, was)| Some((path.to_path_buf(), (*was).clone()?)));
            guard.before.extend(was.filter(|(path, _)| path.starts_with(root) && !guard.released.covers(path)));
        }
        guard
    }

    fn looking<'a>(
        mut look: ProtectedPaths<'a>,
        root: &'a Path,
        released: &Freed,
        changeable: &[PathBuf],
        named: Vec<PathBuf>,
    ) -> Self {
        let mut guard = Self {
            root: root.to_path_buf(),
            before: Snapshot::new(),
            ways: BTreeMap::new(),
            linked: BTreeMap::new(),
            written: Vec::new(),
            makings: BTreeSet::new(),
            named,
            released: Released::of(root, released),
            nested: true,
            #[cfg(target_os = "linux")]
            sheets: sheets(root),
        };
        guard.nested = look.project();
        let worktree = Worktree::of(root);
        if let Some(Worktree { own, common }) = &worktree {
            look.linked(own, true);
            guard.linked.insert(own.clone(), true);
            guard.written = ["refs", "logs"].map(|name| common.join(name)).to_vec();
            guard.written.iter().for_each(|folder| look.links(folder));
        }
        let common = worktree.as_ref().map(|worktree| worktree.common.as_path());
        guard.named.extend(git_settings::of(root, common, &look.paths, changeable));
        guard.named.clone().iter().for_each(|path| guard.follow(&mut look, path, false));
        guard.follow_links(&mut look);
        brought_in(root, &look.paths).iter().for_each(|path| guard.follow(&mut look, path, false));
        look.paths.retain(|path| !guard.released.covers(path));
        let folders = look.paths.iter().flat_map(|path| path.ancestors().skip(1));
        let ways: BTreeSet<&Path> = folders.filter(|way| way.starts_with(root) && !look.paths.contains(*way)).collect();
        let mode = |way: &Path| look.widened.get(way).copied().or_else(|| folder_mode(way));
        guard.ways = ways.into_iter().filter_map(|way| Some((way.to_path_buf(), mode(way)?))).collect();
        let before = |path: &PathBuf| Some((path.clone(), entry(path, &look.widened)?));
        guard.before = look.paths.iter().filter_map(before).collect();
        narrow(&look.widened);
        guard.makings = look.makings;
        guard
    }

    /// Protects the targets of links in the protected part, and the targets of links in those.
    fn follow_links(&mut self, look: &mut ProtectedPaths<'_>) {
        let mut open: Vec<PathBuf> = look.paths.iter().cloned().collect();
        while let Some(path) = open.pop() {
            let own = self.released.is_own(&path);
            if let Some((real, of_git)) = self.behind(&path) {
                let known = look.paths.clone();
                if self.linked.insert(real.clone(), of_git).is_none() {
                    look.linked(&real, of_git);
                    open.extend(look.paths.difference(&known).cloned());
                }
                if own && self.released.keep(&real) {
                    open.extend(look.paths.iter().filter(|path| path.starts_with(&real)).cloned());
                }
            }
            if path.is_symlink() {
                let of_git = path.file_name().is_some_and(|name| name == ".git" || name == "commondir");
                let skills = path.file_name().is_some_and(|name| name == ".agents");
                self.follow(look, &if skills { path.join("skills") } else { path.clone() }, of_git);
            }
        }
    }

    /// Protects the links in a path, and their targets, except for git folders.
    fn follow(&mut self, look: &mut ProtectedPaths<'_>, path: &Path, of_git: bool) {
        let (links, last) = followed(&self.root, path);
        for way in links.into_iter().chain(last.filter(|_| !of_git)) {
            if self.is_inside(&way) && self.linked.insert(way.clone(), false).is_none() {
                look.linked(&way, false);
            }
        }
    }

    /// Whether no command may change a path below the project, also if nothing is there. All hidden files count, which is more
    /// than what is put back after a command here.
    pub(super) fn protects(&self, below: &Path) -> bool {
        let path = self.root.join(below);
        let holds = |way: &Path| self.before.contains_key(way) || self.linked.contains_key(way);
        !self.released.covers(&path) && (decides(&self.root, below) || path.ancestors().any(holds))
    }

    /// Closes the protected part in what a command sees, so that the command can neither write nor move it. Returns the
    /// part that a person could grant.
    #[cfg(target_os = "linux")]
    pub(super) fn close(&self, view: &mut View) -> Vec<String> {
        let as_whole = |path: &Path| self.before.contains_key(path) && !self.released.leads_from(path);
        let within = |path: &Path| path.ancestors().skip(1).any(as_whole);
        let outer = self.before.iter().filter(|(path, entry)| {
            let closed = as_whole(path) && !within(path) && is_closed(&self.root, path);
            closed && !matches!(entry, Entry::Link(_))
        });
        let closed: Vec<PathBuf> = outer.map(|(path, _)| path.clone()).collect();
        let mut names = self.grantable(closed.iter());
        let shared = Worktree::of(&self.root).map(|worktree| worktree.common);
        names.extend(shared.filter(|common| !self.writes_to(view, common)).map(|common| common.display().to_string()));
        let above = closed.iter().flat_map(|path| path.ancestors().skip(1));
        let above: BTreeSet<&Path> = above.filter(|way| way.starts_with(&self.root) && **way != self.root).collect();
        view.steady.extend(above.into_iter().map(Path::to_path_buf));
        view.closed.extend(closed);
        names
    }

    /// Whether a person allowed commands to commit to the repository of a linked worktree.
    #[cfg(target_os = "linux")]
    fn writes_to(&self, view: &View, common: &Path) -> bool {
        view.writable.iter().any(|folder| folder.starts_with(common) || common.starts_with(folder))
    }

    /// The outermost of these paths that belong to the project and not to Callsheet.
    fn grantable<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
        let of_project = |path: &&PathBuf| path.starts_with(&self.root) && !self.ways.contains_key(*path);
        let mut outer: BTreeSet<PathBuf> = BTreeSet::new();
        for path in paths.filter(of_project).filter(|path| !self.released.is_own(path)) {
            if !path.ancestors().any(|folder| outer.contains(folder)) {
                outer.insert(path.clone());
            }
        }
        self.names(&outer)
    }

    /// Puts back what changed since.
    pub(super) fn restore(&self) -> Restored {
        let mut widened = BTreeMap::new();
        let mut changed = self.open_ways(&mut widened);
        let seen = self.changed();
        changed.extend(seen.changed);
        for (folder, mode) in &seen.widened {
            widened.entry(folder.clone()).or_insert(*mode);
        }
        let mut aside = Vec::new();
        // A folder that took the place of a file need not have a protected name.
        let there = |path: &&PathBuf| seen.paths.contains(*path) || self.before.contains_key(*path);
        for path in changed.iter().rev().filter(there) {
            widen(path.parent(), &mut widened);
            told(path, self.clear(path, &mut aside));
        }
        for path in &changed {
            if let Some(entry) = self.before.get(path) {
                widen(path.parent(), &mut widened);
                told(path, put(path, entry));
            }
        }
        let until = Instant::now() + REMOVING;
        aside.retain(|folder| remove_tree_settled(folder, until).is_err());
        narrow(&widened);
        if changed.is_empty() {
            return Restored::default();
        }
        let folders = self.before.iter().filter_map(|(path, entry)| Some((path, is_folder(entry)?)));
        let modes: BTreeMap<&PathBuf, u32> = folders.chain(self.ways.iter().map(|(way, mode)| (way, *mode))).collect();
        for (path, mode) in modes.into_iter().rev().filter(|(path, _)| changed.contains(*path)) {
            if folder_mode(path).is_some() {
                told(path, set_mode(path, mode));
            }
        }
        let Seen { changed: mut open, widened, .. } = self.changed();
        narrow(&widened);
        open.extend(self.ways.iter().filter(|(way, mode)| !is_open(way, **mode)).map(|(way, _)| way.clone()));
        let (grantable, rest) = (self.grantable(changed.iter()), self.names(&aside.into_iter().collect()));
        Restored { changed: self.names(&changed), open: self.names(&open), grantable, left: Vec::new(), rest }
    }

    fn names(&self, paths: &BTreeSet<PathBuf>) -> Vec<String> {
        let name = |path: &PathBuf| match path.strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
            Ok(below) => below.display().to_string(),
            Err(_) => path.display().to_string(),
        };
        paths.iter().map(name).collect()
    }

    /// Makes the folders above readable as before. Returns those that were not.
    fn open_ways(&self, widened: &mut BTreeMap<PathBuf, u32>) -> BTreeSet<PathBuf> {
        let mut changed = BTreeSet::new();
        // Outer folders come first.
        for (way, mode) in self.ways.iter().filter(|(way, mode)| !is_open(way, **mode)) {
            if folder_mode(way).is_none() {
                // If something else took its place, the path leads elsewhere.
                widen(way.parent(), widened);
                let _not_there = fs::remove_file(way);
                told(way, fs::create_dir_all(way));
            }
            told(way, set_mode(way, mode | OWNER));
            changed.insert(way.clone());
        }
        changed
    }

    /// What differs from before, and what exists now.
    fn changed(&self) -> Seen {
        // The content of a new folder is removed with the folder, so a command cannot make the host list it.
        let into = |path: &Path| {
            let was_there = self.before.get(path).and_then(is_folder).is_some();
            was_there || self.released.leads_from(path) || self.holds_own(path)
        };
        let mut look = ProtectedPaths::again(&self.root, self.nested);
        look.into = Some(&into);
        look.made_before = Some(&self.makings);
        look.project();
        self.linked.iter().for_each(|(path, of_git)| look.linked(path, *of_git));
        self.written.iter().for_each(|folder| look.links(folder));
        let now = look.paths.iter().filter(|path| !self.released.covers(path));
        let paths: BTreeSet<&PathBuf> = self.before.keys().chain(now).collect();
        // What is reached only through a new link is ignored.
        let differs = |path: &&PathBuf| {
            let same = |entry: &Entry| look.paths.contains(*path) && is_at(path, entry, &look.widened);
            let new_way = || self.released.leads_from(path) && folder_mode(path).is_some();
            self.before.get(*path).map_or_else(|| !new_way(), |entry| !same(entry))
        };
        let changed = paths.into_iter().filter(differs).cloned().collect();
        Seen { changed, paths: look.paths, widened: look.widened }
    }

    /// Removes what is new or has become something else. A folder is moved aside in one step, and removed when
    /// everything is put back.
    fn clear(&self, path: &Path, aside: &mut Vec<PathBuf>) -> io::Result<()> {
        let Ok(now) = path.symlink_metadata() else { return Ok(()) };
        let stays = match self.before.get(path) {
            Some(Entry::Folder(_)) => now.is_dir(),
            // A file replaces another file directly.
            Some(Entry::File(..)) => now.is_file(),
            Some(_) | None => false,
        };
        match (stays, now.is_dir()) {
            (true, _) => Ok(()),
            (false, true) if self.holds_own(path) => fs::remove_dir(path),
            (false, true) => {
                aside.push(move_beside(path).unwrap_or_else(|_| path.to_path_buf()));
                Ok(())
            }
            (false, false) => fs::remove_file(path),
        }
    }

    /// What to look at if no process is left to put anything back.
    #[cfg(target_os = "linux")]
    pub(super) fn noted(&self) -> Noted {
        let open = |path: &Path, entry: &Entry| (!is_closed(&self.root, path)).then(|| entry.clone());
        Noted {
            root: self.root.clone().into(),
            before: self.before.iter().map(|(path, entry)| (path.into(), open(path, entry))).collect(),
            linked: self.linked.iter().map(|(path, of_git)| (path.into(), *of_git)).collect(),
            released: self.released.below(),
            makings: self.makings.iter().map(Into::into).collect(),
            nested: self.nested,
        }
    }

    /// Moves aside the sheets that were written since, because nobody is left who knows who wrote them (spec 11.11). A
    /// resumed run writes its sheet again.
    #[cfg(target_os = "linux")]
    pub(super) fn set_aside(&self) {
        for (sheet, now) in sheets(&self.root) {
            if self.sheets.get(&sheet) != Some(&now) {
                told(&sheet, fs::rename(&sheet, sheet.with_file_name("sheet-ignored.md")));
            }
        }
    }

    /// The protected target of a path that leads elsewhere in the project, and whether it is a git folder. A target
    /// that contains the protected part of the project itself does not count.
    fn behind(&self, path: &Path) -> Option<(PathBuf, bool)> {
        let of_git = path.file_name().is_some_and(|name| name == ".git" || name == "commondir");
        let skills = path.file_name().is_some_and(|name| name == ".agents");
        let metadata = path.symlink_metadata().ok()?;
        let led = if metadata.is_symlink() {
            if skills { path.join("skills") } else { path.to_path_buf() }
        } else if of_git && metadata.is_file() && metadata.len() < 4096 {
            let text = String::from_utf8(read_settled(path).ok()?).ok()?;
            let written = text.strip_prefix("gitdir:").unwrap_or(&text).trim();
            path.parent()?.join(written)
        } else {
            return None;
        };
        let real = led.canonicalize().ok()?;
        self.is_inside(&real).then_some((real, of_git))
    }

    /// Whether a canonical path is in the project and does not contain the protected part of the project itself.
    fn is_inside(&self, real: &Path) -> bool {
        let holds = [".git", ".callsheet", ".agents/skills"].iter().any(|own| self.root.join(own).starts_with(real));
        real.starts_with(&self.root) && !holds
    }

    /// Whether this program itself writes in this folder.
    fn holds_own(&self, path: &Path) -> bool {
        OWN.iter().any(|own| self.root.join(own).starts_with(path))
    }
}

/// The state of a project after a command.
struct Seen {
    /// What differs from before.
    changed: BTreeSet<PathBuf>,
    /// Everything protected that exists.
    paths: BTreeSet<PathBuf>,
    /// Folders that were made readable, with their original modes.
    widened: BTreeMap<PathBuf, u32>,
}

/// Renames a folder within its parent folder.
fn move_beside(path: &Path) -> io::Result<PathBuf> {
    let parent = path.parent().unwrap_or(path);
    let place = tempfile::Builder::new().prefix(".callsheet-removed-").tempdir_in(parent)?;
    fs::rename(path, place.path())?;
    Ok(place.keep())
}

fn told(path: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(path = %path.display(), %error, "what a command changed could not be put back");
    }
}

/// Whether a path is a folder that is as accessible to its owner as before.
fn is_open(way: &Path, mode: u32) -> bool {
    folder_mode(way).is_some_and(|now| now & OWNER == mode & OWNER)
}

/// Lets this process change the content of a folder.
fn widen(folder: Option<&Path>, widened: &mut BTreeMap<PathBuf, u32>) {
    let Some((folder, mode)) = folder.and_then(|folder| Some((folder, folder_mode(folder)?))) else { return };
    if mode & OWNER != OWNER && set_mode(folder, mode | OWNER).is_ok() {
        widened.entry(folder.to_path_buf()).or_insert(mode);
    }
}

/// Restores the modes of folders, inner ones first.
fn narrow(widened: &BTreeMap<PathBuf, u32>) {
    for (folder, mode) in widened.iter().rev().filter(|(folder, _)| folder_mode(folder).is_some()) {
        told(folder, set_mode(folder, *mode));
    }
}

#[cfg(target_os = "linux")]
fn sheets(root: &Path) -> Snapshot {
    let runs = fs::read_dir(root.join(".callsheet/runs")).into_iter().flatten().flatten().map(|run| run.path());
    let sheets = runs.filter(|run| folder_mode(run).is_some()).map(|run| run.join("sheet.md"));
    sheets.filter_map(|sheet| entry(&sheet, &BTreeMap::new()).map(|found| (sheet, found))).collect()
}

#[cfg(test)]
mod tests;
