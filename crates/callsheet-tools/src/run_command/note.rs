//! A note of what was protected in a project before a command, kept in the user's state folder while the command runs.
//! If the supervising process is killed, nobody puts back what the command left. The next start in the project then
//! does, with the help of the note.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use callsheet_runtime::paths::{PLACES, Places, create_private_folder, private};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with};
use serde::{Deserialize, Serialize};

use super::entry::{Entry, is_at};
use super::guard::Guard;
use super::protected::ProtectedPaths;
use super::released::{Freed, Released};

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// How long after the last sign of life a command may still have been running.
const SLACK: Duration = Duration::from_secs(10);
/// The folder of a project that receives what a command may have left.
const ASIDE: &str = "callsheet-set-aside";

/// Ending of a note's file name.
const NOTE: &str = ".json";
/// Locked while a process looks at the project.
const LOCK: &str = "lock";

/// A note on disk.
pub(super) struct Note {
    /// Locked as long as the supervisor or the first process of the command lives.
    file: fs::File,
    path: PathBuf,
    /// The thread that shows signs of life. It ends with this value, because it also holds the lock.
    beat: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Drop for Note {
    fn drop(&mut self) {
        if let Some((beats, thread)) = self.beat.take() {
            drop(beats);
            let _ended = thread.join();
        }
    }
}

/// The content of a note.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Noted {
    /// The project.
    pub root: OsString,
    /// The protected paths that existed. If the command can change one, its content too.
    pub before: Vec<(OsString, Option<Entry>)>,
    /// The targets of links, and whether each is a git folder.
    pub linked: Vec<(OsString, bool)>,
    /// What the command may change, as paths below the project.
    pub released: Freed,
    /// Entries that could turn a folder into a repository together with others.
    pub makings: Vec<OsString>,
    /// Whether the whole project was searched.
    pub nested: bool,
}

fn write(places: &Places, folder: &Path) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(places)?)?;
    file.persist(folder.join(PLACES))?;
    Ok(())
}

/// What other commands tell about a project.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// What running commands found before they started.
    pub at_work: Vec<Noted>,
    /// Whether the project was once small enough to be searched for nested projects. From then on it is always
    /// searched, however large a command makes it.
    pub searched: bool,
    /// What git's settings name that cannot be read where the check runs.
    pub named: Vec<PathBuf>,
}

impl Noted {
    /// Whether the note applies to a project: it is the same project, or one contains the other. A note of a project
    /// that was too large to search says nothing about nested projects.
    pub(super) fn concerns(&self, project: &Path) -> bool {
        let own = Path::new(&self.root);
        own == project || own.starts_with(project) || self.nested && project.starts_with(own)
    }
}

impl Known {
    fn of(folder: &Path, project: &Path) -> Self {
        let notes = notes(folder).into_iter().filter(|path| {
            let is_at_work = |file: fs::File| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
            fs::File::open(path).is_ok_and(is_at_work)
        });
        let at_work = notes.filter_map(|path| serde_json::from_slice::<Noted>(&fs::read(path).ok()?).ok());
        let at_work = at_work.filter(|noted| noted.concerns(project)).collect();
        Self { at_work, searched: Places::read(folder).searched.contains(project.as_os_str()), named: Vec::new() }
    }
}

/// The notes in their folder.
fn notes(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.to_string_lossy().ends_with(NOTE)).collect()
}

impl Note {
    /// Looks at a project and writes a note before a command starts. If two start at once, one knows of the other.
    pub(super) fn take(
        folder: &Path,
        project: &Path,
        changeable: &[PathBuf],
        look: impl FnOnce(&Known) -> Guard,
    ) -> io::Result<(Known, Guard, Self)> {
        create_private_folder(folder)?;
        let lock = private().create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        lock.lock()?;
        let known = Known::of(folder, project);
        let guard = look(&known);
        let noted = guard.noted();
        let (mut places, found) = (Places::read(folder), changeable.iter().map(|path| path.clone().into_os_string()));
        let count = (places.changeable.len(), places.searched.len());
        places.changeable.extend(found);
        places.searched.extend(noted.nested.then(|| project.as_os_str().to_owned()));
        if count != (places.changeable.len(), places.searched.len()) {
            write(&places, folder)?;
        }
        let note = Self::put(folder, &noted)?;
        Ok((known, guard, note))
    }

    /// Writes a note before a command starts.
    fn put(folder: &Path, noted: &Noted) -> io::Result<Self> {
        create_private_folder(folder)?;
        let (mut file, path) = tempfile::Builder::new().suffix(NOTE).tempfile_in(folder)?.keep()?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(noted)?)?;
        Ok(Self { file, path, beat: None })
    }

    /// Shows from now on that the command is running.
    pub(super) fn beat(&mut self) -> io::Result<()> {
        let file = self.file.try_clone()?;
        let (beats, over) = channel();
        let thread = std::thread::spawn(move || {
            while over.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                let _full = file.set_modified(SystemTime::now());
            }
        });
        self.beat = Some((beats, thread));
        Ok(())
    }

    /// Everything has been put back.
    pub(super) fn over(self) {
        let _gone = fs::remove_file(&self.path);
    }
}

/// Moves aside what commands with a killed supervisor may have left, and returns a line about each. What a person
/// created since stays.
pub fn set_aside_left(folder: &Path, project: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for path in notes(folder) {
        let Ok(file) = fs::File::open(&path) else { continue };
        // A running command holds the lock.
        if file.try_lock().is_err() {
            continue;
        }
        let last = file.metadata().and_then(|found| found.modified()).unwrap_or_else(|_| SystemTime::now());
        // A truncated note belongs to a command that never started.
        let noted: Option<Noted> = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if noted.as_ref().is_some_and(|noted| noted.root != project) {
            continue;
        }
        let left = noted.map(|noted| Left::of(project, &noted, last + SLACK)).unwrap_or_default();
        lines.extend(left.settle(project));
        let _gone = fs::remove_file(&path);
    }
    lines
}

/// What a command may have left.
#[derive(Default)]
struct Left {
    /// New, and created while the command ran.
    made: BTreeSet<PathBuf>,
    /// New, and created after the command.
    later: BTreeSet<PathBuf>,
    /// Existed before, and has changed.
    changed: BTreeSet<PathBuf>,
}

impl Left {
    fn of(project: &Path, noted: &Noted, end: SystemTime) -> Self {
        let mut look = ProtectedPaths::again(project, noted.nested);
        let makings = noted.makings.iter().map(PathBuf::from).collect();
        look.made_before = Some(&makings);
        look.project();
        noted.linked.iter().for_each(|(path, of_git)| look.linked(Path::new(path), *of_git));
        let released = Released::of(project, &noted.released);
        let before: BTreeMap<&Path, &Option<Entry>> =
            noted.before.iter().map(|(path, was)| (Path::new(path), was)).collect();
        let mut left = Self::default();
        for path in look.paths.iter().filter(|path| !before.contains_key(path.as_path()) && !released.covers(path)) {
            let known = |paths: &BTreeSet<PathBuf>| path.ancestors().any(|folder| paths.contains(folder));
            let way = released.leads_from(path) && path.is_dir();
            if way || known(&left.made) || known(&left.later) {
                continue;
            }
            let since = path.symlink_metadata().and_then(|found| found.created()).is_ok_and(|made| made > end);
            if since {
                left.later.insert(path.clone())
            } else {
                left.made.insert(path.clone())
            };
        }
        let differs = |(path, was): &(&&Path, &&Option<Entry>)| {
            was.as_ref().is_some_and(|was| !is_at(path, was, &BTreeMap::new()))
        };
        left.changed = before.iter().filter(differs).map(|(path, _)| path.to_path_buf()).collect();
        left
    }

    fn settle(&self, project: &Path) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(project).unwrap_or(path).display().to_string();
        let why = "a command whose supervisor was killed may have created it";
        let moved = |path: &PathBuf| match move_aside(project, path) {
            Ok(to) => format!("moved {} to {}: {why}; move it back if it is yours", name(path), name(&to)),
            Err(error) => {
                format!("look at {} before anything else runs: {why}, and it can't be moved: {error}", name(path))
            }
        };
        let mut lines: Vec<String> = self.made.iter().map(moved).collect();
        let said = [
            (
                &self.later,
                "was created after a command whose supervisor was killed, and stays; look at it if it is not yours",
            ),
            (&self.changed, "was changed during or after a command whose supervisor was killed; look at it"),
        ];
        for (paths, words) in said {
            lines.extend(paths.iter().map(|path| format!("{} {words}", name(path))));
        }
        lines
    }
}

/// Moves something of a project into the folder for set-aside files, whatever links were put into its path in the
/// meantime.
fn move_aside(project: &Path, path: &Path) -> io::Result<PathBuf> {
    let folder = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let (from, aside) = (folder(parent)?, project.join(ASIDE));
    let _there = fs::create_dir(&aside);
    let to = folder(&aside)?;
    for n in 1..10_000 {
        let mut new = OsString::from(format!("{n}-"));
        new.push(name);
        match renameat_with(&from, name, &to, &new, RenameFlags::NOREPLACE) {
            Err(rustix::io::Errno::EXIST) => {}
            done => return Ok(done.map(|()| aside.join(new))?),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 11.10
    #[test]
    fn what_one_command_left_is_not_there_before_another_that_starts_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        let notes = folder.path().join("notes");
        for name in [".git/hooks", "lib/skills", "sub/.vscode", "deep"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let kept = [".git/config", "lib/AGENTS.md", "lib/skills/a.md", "sub/.vscode/free.json", "deep/CLAUDE.md"];
        for name in kept {
            fs::write(root.join(name), "before").unwrap();
        }
        let free = Freed { whole: vec![PathBuf::from("sub/.vscode")], commits: Vec::new() };
        let none = Freed::default();
        let (known, first, note) =
            Note::take(&notes, &root, &[], |known| Guard::knowing(&root, &free, &[], known)).unwrap();
        assert!(known.at_work.is_empty() && !known.searched);
        fs::create_dir_all(root.join(".husky")).unwrap();
        fs::remove_file(root.join("deep/CLAUDE.md")).unwrap();
        // The target of this link belongs to the project, and stays.
        std::os::unix::fs::symlink("lib", root.join(".agents")).unwrap();
        for name in [".envrc", ".husky/pre-commit", "lib/AGENTS.md", "new.md"] {
            fs::write(root.join(name), "evil").unwrap();
        }
        let (known, second, other) =
            Note::take(&notes, &root, &[], |known| Guard::knowing(&root, &none, &[], known)).unwrap();
        assert!(known.at_work.len() == 1 && known.searched, "a command can make a project as large as it likes");
        assert_eq!(first.restore().open, [] as [&str; 0]);
        note.over();
        assert_eq!(second.restore(), crate::run_command::guard::Restored::default());
        other.over();
        let read = |name: &&str| fs::read_to_string(root.join(name)).unwrap_or_default();
        assert!(kept.iter().all(|name| read(name) == "before"), "{:?}", kept.map(|name| read(&name)));
        assert!(
            ["envrc", "husky", "agents"].iter().all(|name| root.join(format!(".{name}")).symlink_metadata().is_err())
        );
        let (known, ..) = Note::take(&notes, &root, &[], |known| Guard::knowing(&root, &none, &[], known)).unwrap();
        assert!(known.at_work.is_empty());
    }

    /// covers: 11.10
    #[test]
    fn what_a_killed_supervisor_left_is_moved_aside_and_what_a_person_made_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        let notes = folder.path().join("notes");
        for name in [".git/hooks", "lib"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in [".git/config", "lib/AGENTS.md", "lib/CLAUDE.md"] {
            fs::write(root.join(name), "before").unwrap();
        }
        let guard = Guard::of(&root, &Freed { whole: vec![PathBuf::from(".vscode")], commits: Vec::new() }, &[]);
        let note = Note::put(&notes, &guard.noted()).unwrap();
        fs::create_dir_all(root.join(".husky/deep")).unwrap();
        fs::create_dir_all(root.join(".vscode")).unwrap();
        for name in [".envrc", ".git/hooks/pre-commit", ".husky/deep/x", "lib/AGENTS.md", "free", ".vscode/a"] {
            fs::write(root.join(name), "new").unwrap();
        }
        assert_eq!(set_aside_left(&notes, &root), [] as [&str; 0], "the command is at work");
        // As if the command had ended long ago. What is created from here on belongs to the person.
        let noted: Noted = serde_json::from_slice(&fs::read(&note.path).unwrap()).unwrap();
        let left = Left::of(&root, &noted, SystemTime::now() - Duration::from_secs(3600));
        assert!(left.made.is_empty() && left.later.len() == 3, "{:?}", left.later);
        drop(note);
        let lines = set_aside_left(&notes, &root).join("\n");
        for words in [
            "moved .envrc to callsheet-set-aside/1-.envrc: a command whose supervisor was killed may have created it",
            "moved .git/hooks/pre-commit to callsheet-set-aside/1-pre-commit",
            "moved .husky to callsheet-set-aside/1-.husky",
            "lib/AGENTS.md was changed during or after",
        ] {
            assert!(lines.contains(words), "{words} is missing: {lines}");
        }
        assert_eq!(lines.lines().count(), 4, "{lines}");
        assert!(root.join("callsheet-set-aside/1-.husky/deep/x").exists() && root.join("free").exists());
        assert!(!root.join(".envrc").exists() && root.join(".vscode/a").exists());
        assert_eq!(set_aside_left(&notes, &root), [] as [&str; 0]);
        // Whatever is in the way, nothing leaves the project.
        let note = Note::put(&notes, &Guard::of(&root, &Freed::default(), &[]).noted()).unwrap();
        fs::write(root.join(".mcp.json"), "new").unwrap();
        fs::remove_dir_all(root.join(ASIDE)).unwrap();
        std::os::unix::fs::symlink(folder.path(), root.join(ASIDE)).unwrap();
        drop(note);
        let lines = set_aside_left(&notes, &root);
        assert!(lines.len() == 1 && lines[0].starts_with("look at .mcp.json before anything else runs"), "{lines:?}");
        assert!(!folder.path().join("1-.mcp.json").exists());
    }
}
