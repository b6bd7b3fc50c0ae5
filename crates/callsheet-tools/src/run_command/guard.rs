//! What no command may change in a project, since it decides what runs later or what a model is told: hooks and
//! configuration of git, and Callsheet's own files but the views. It is compared after the command and put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Files and whole folders.
const PROTECTED: [&str; 5] = [".callsheet", ".agents/skills", ".git/hooks", ".git/config", ".git/config.worktree"];
/// What this program itself writes there while a command runs.
const OWN: [&str; 2] = [".callsheet/runs", ".callsheet/apply.lock"];
/// The bits of a mode that can be set.
const MODE: u32 = 0o7777;

/// The protected part of a project as it was before a command.
pub(super) struct Guard {
    root: PathBuf,
    before: Seen,
    /// Where links of the protected part led to. Links that a command makes are never followed: what they lead to is the
    /// project's.
    linked: BTreeSet<PathBuf>,
    /// The sheets of runs.
    #[cfg(target_os = "linux")]
    sheets: Seen,
}

type Seen = BTreeMap<PathBuf, Entry>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
    /// Neither, or not to be read.
    Other,
}

impl Guard {
    /// Looks at a project; the path is canonical.
    pub(super) fn of(root: &Path) -> Self {
        let mut guard = Self {
            root: root.to_path_buf(),
            before: Seen::new(),
            linked: BTreeSet::new(),
            #[cfg(target_os = "linux")]
            sheets: sheets(root),
        };
        let mut before = guard.look();
        // A link may lead to others.
        let mut open: Vec<PathBuf> = before.keys().cloned().collect();
        while let Some(path) = open.pop() {
            for real in before.get(&path).map(|found| guard.behind(&path, found)).unwrap_or_default() {
                if guard.linked.insert(real.clone()) {
                    let known: BTreeSet<PathBuf> = before.keys().cloned().collect();
                    guard.walk(&real, &mut before);
                    open.extend(before.keys().filter(|path| !known.contains(*path)).cloned());
                }
            }
        }
        guard.before = before;
        guard
    }

    /// Puts back what was changed since. Returns its paths below the project.
    pub(super) fn restore(&self) -> Vec<String> {
        let after = self.look();
        let paths: BTreeSet<&PathBuf> = self.before.keys().chain(after.keys()).collect();
        let changed: Vec<&PathBuf> =
            paths.into_iter().filter(|path| self.before.get(*path) != after.get(*path)).collect();
        for path in &changed {
            if let Some(Entry::Folder(mode)) = after.get(*path) {
                // Whoever may not look into it cannot put anything back.
                told(path, set_mode(path, mode | 0o700));
            }
        }
        for path in changed.iter().rev() {
            match (self.before.get(*path), after.get(*path)) {
                (_, None) | (Some(Entry::Folder(_)), Some(Entry::Folder(_))) => {}
                (_, Some(Entry::Folder(_))) => told(path, self.remove_folder(path)),
                (_, Some(_)) => told(path, fs::remove_file(path)),
            }
        }
        for path in &changed {
            if let Some(entry) = self.before.get(*path) {
                told(path, put(path, entry));
            }
        }
        for path in changed.iter().rev() {
            if let Some(Entry::Folder(mode)) = self.before.get(*path) {
                told(path, set_mode(path, *mode));
            }
        }
        changed.iter().map(|path| path.strip_prefix(&self.root).unwrap_or(path).display().to_string()).collect()
    }

    /// Sets aside the sheets that were written since, for when nobody is left who can tell by whom (spec 11.11). A run that
    /// is taken up writes its sheet anew.
    #[cfg(target_os = "linux")]
    pub(super) fn set_aside(&self) {
        for (sheet, now) in sheets(&self.root) {
            if self.sheets.get(&sheet) != Some(&now) {
                told(&sheet, fs::rename(&sheet, sheet.with_file_name("sheet-ignored.md")));
            }
        }
    }

    fn look(&self) -> Seen {
        let mut seen = Seen::new();
        for path in PROTECTED {
            let full = self.root.join(path);
            // Folders on the way are of no interest; something else in their place leads elsewhere.
            let way = full.ancestors().skip(1).take_while(|folder| *folder != self.root);
            let detour = way.filter_map(|folder| Some((folder, entry(folder)?))).find(|(_, found)| !is_folder(found));
            match detour {
                None => self.walk(&full, &mut seen),
                Some((folder, found)) => drop(seen.insert(folder.to_path_buf(), found)),
            }
        }
        self.linked.iter().for_each(|path| self.walk(path, &mut seen));
        seen
    }

    fn walk(&self, path: &Path, seen: &mut Seen) {
        if seen.contains_key(path) || OWN.iter().any(|own| path.starts_with(self.root.join(own))) {
            return;
        }
        let Some(found) = entry(path) else { return };
        let children = if is_folder(&found) { fs::read_dir(path).ok() } else { None };
        seen.insert(path.to_path_buf(), found);
        for child in children.into_iter().flatten().flatten() {
            self.walk(&child.path(), seen);
        }
    }

    /// What is protected behind a link, as far as it is in the project and does not hold what is protected anyway.
    fn behind(&self, path: &Path, found: &Entry) -> Vec<PathBuf> {
        if !matches!(found, Entry::Link(_)) {
            return Vec::new();
        }
        let protected: Vec<PathBuf> = PROTECTED.iter().map(|name| self.root.join(name)).collect();
        let below = protected.iter().filter(|full| full.as_path() != path && full.starts_with(path));
        let mut wanted: Vec<&Path> = below.map(PathBuf::as_path).collect();
        if wanted.is_empty() {
            wanted.push(path);
        }
        let real = wanted.into_iter().filter_map(|path| path.canonicalize().ok());
        let holds = |real: &PathBuf| protected.iter().any(|full| full.starts_with(real));
        real.filter(|real| real.starts_with(&self.root) && !holds(real)).collect()
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let holds_own = OWN.iter().any(|own| self.root.join(own).starts_with(path));
        if holds_own { fs::remove_dir(path) } else { fs::remove_dir_all(path) }
    }
}

fn told(path: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        tracing::warn!(path = %path.display(), %error, "what a command changed could not be put back");
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Makes an entry where nothing is, or where it is a folder already.
fn put(path: &Path, entry: &Entry) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match entry {
        Entry::Folder(_) => fs::create_dir_all(path),
        Entry::File(mode, bytes) => {
            let _not_there = fs::remove_file(path);
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(bytes)?;
            set_mode(path, *mode)
        }
        Entry::Link(target) => {
            let _not_there = fs::remove_file(path);
            symlink(target, path)
        }
        Entry::Other => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn sheets(root: &Path) -> Seen {
    let runs = fs::read_dir(root.join(".callsheet/runs")).into_iter().flatten().flatten().map(|run| run.path());
    let sheets = runs.filter(|run| entry(run).is_some_and(|run| is_folder(&run))).map(|run| run.join("sheet.md"));
    sheets.filter_map(|sheet| entry(&sheet).map(|found| (sheet, found))).collect()
}

fn is_folder(entry: &Entry) -> bool {
    matches!(entry, Entry::Folder(_))
}

fn entry(path: &Path) -> Option<Entry> {
    let metadata = path.symlink_metadata().ok()?;
    let mode = metadata.permissions().mode() & MODE;
    Some(if metadata.is_dir() {
        Entry::Folder(mode)
    } else if metadata.is_symlink() {
        fs::read_link(path).map_or(Entry::Other, Entry::Link)
    } else if metadata.is_file() {
        fs::read(path).map_or(Entry::Other, |bytes| Entry::File(mode, bytes))
    } else {
        Entry::Other
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in [".git/hooks", ".callsheet/skills", ".callsheet/runs/one", "shared"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, text) in
            [(".git/config", "[core]\n"), (".callsheet/skills/a.md", "A\n"), ("shared/b.md", "B\n"), ("free.txt", "")]
        {
            fs::write(root.join(name), text).unwrap();
        }
        symlink("../../shared", root.join(".callsheet/skills/linked")).unwrap();
        (folder, root)
    }

    #[test]
    fn what_is_free_is_left_alone() {
        let (_keep, root) = project();
        let guard = Guard::of(&root);
        fs::write(root.join("free.txt"), "changed").unwrap();
        fs::write(root.join(".callsheet/runs/one/sheet.md"), "view").unwrap();
        fs::write(root.join(".callsheet/apply.lock"), "").unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        assert_eq!(guard.restore(), [] as [&str; 0]);
        assert_eq!(fs::read_to_string(root.join(".callsheet/runs/one/sheet.md")).unwrap(), "view");
    }

    /// covers: 11.10
    #[test]
    fn what_is_protected_is_put_back_whatever_was_done_to_it() {
        let (_keep, root) = project();
        fs::write(root.join(".git/hooks/pre-push"), "#!/bin/sh\n").unwrap();
        set_mode(&root.join(".git/hooks/pre-push"), 0o755).unwrap();
        let guard = Guard::of(&root);
        fs::write(root.join(".git/config"), "[core]\nhooksPath = evil\n").unwrap();
        fs::remove_file(root.join(".git/hooks/pre-push")).unwrap();
        fs::write(root.join(".git/hooks/post-commit"), "evil").unwrap();
        fs::write(root.join("shared/b.md"), "evil").unwrap();
        fs::rename(root.join(".callsheet/skills"), root.join("moved")).unwrap();
        symlink("../moved", root.join(".callsheet/skills")).unwrap();
        symlink("shared", root.join(".agents")).unwrap();
        symlink("../shared", root.join(".callsheet/mine")).unwrap();
        fs::create_dir_all(root.join(".callsheet/templates/deep")).unwrap();
        fs::write(root.join(".callsheet/templates/deep/x.xml"), "<templates/>").unwrap();
        let changed = guard.restore();
        for name in [".git/config", ".git/hooks/pre-push", ".git/hooks/post-commit", "shared/b.md", ".callsheet/skills"]
        {
            assert!(changed.iter().any(|path| path == name), "{name} is missing: {changed:?}");
        }
        assert_eq!(guard.look(), guard.before);
        assert_eq!(guard.restore(), [] as [&str; 0]);
        assert!(root.join("moved/a.md").exists(), "behind a new link lies what is the project's");
        let hook = root.join(".git/hooks/pre-push");
        assert_eq!(hook.metadata().unwrap().permissions().mode() & MODE, 0o755);
    }
}
