//! What was protected in a project before a command, noted in the user's state folder while it runs. If the process that
//! supervises it is killed, nobody puts back what the command left: the next start in the project does, by the note.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use callsheet_core::spec::BlobId;
use callsheet_runtime::paths::{create_private_folder, private};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with};
use serde::{Deserialize, Serialize};

use super::entry::mark;
use super::protected::ProtectedPaths;
use super::released::Released;

/// Between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// How long after the last sign of life a command can still have been at work.
const SLACK: Duration = Duration::from_secs(10);
/// The folder of a project into which is moved what a command may have left.
const ASIDE: &str = "callsheet-set-aside";

/// A note that stands.
pub(super) struct Note {
    /// Locked as long as the supervisor or the first process of the command lives.
    file: fs::File,
    path: PathBuf,
    /// The thread that shows signs of life. It ends with this, since it too has the lock.
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

/// What it says.
#[derive(Serialize, Deserialize)]
pub(super) struct Noted {
    /// What was there, each with what stood in it if the command can change it.
    pub before: Vec<(OsString, Option<BlobId>)>,
    /// Where links led to, and whether that is a folder of git.
    pub linked: Vec<(OsString, bool)>,
    /// What the command may change, by paths below the project.
    pub released: Vec<PathBuf>,
    /// Whether the whole project was looked at.
    pub nested: bool,
}

impl Note {
    /// Notes this before a command is started.
    pub(super) fn put(folder: &Path, noted: &Noted) -> io::Result<Self> {
        create_private_folder(folder)?;
        let path = folder.join(format!("{}.json", std::process::id()));
        let mut file = private().create(true).truncate(true).write(true).open(&path)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(noted)?)?;
        Ok(Self { file, path, beat: None })
    }

    /// Shows from here on that the command is at work.
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

    /// All is put back.
    pub(super) fn over(self) {
        let _gone = fs::remove_file(&self.path);
    }
}

/// Moves aside what commands may have left whose supervisor was killed, and says so, line by line. What a person made since
/// stays where it is.
pub fn set_aside_left(folder: &Path, project: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(file) = fs::File::open(&path) else { continue };
        // A command that is at work has the lock.
        if file.try_lock().is_err() {
            continue;
        }
        let last = file.metadata().and_then(|found| found.modified()).unwrap_or_else(|_| SystemTime::now());
        // One that was cut off belongs to a command that was never started.
        let noted: Option<Noted> = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let left = noted.map(|noted| Left::of(project, &noted, last + SLACK)).unwrap_or_default();
        lines.extend(left.settle(project));
        let _gone = fs::remove_file(&path);
    }
    lines
}

/// What a command may have left.
#[derive(Default)]
struct Left {
    /// New, and made while it ran.
    made: BTreeSet<PathBuf>,
    /// New, and made since.
    later: BTreeSet<PathBuf>,
    /// There before, and not as it was.
    changed: BTreeSet<PathBuf>,
}

impl Left {
    fn of(project: &Path, noted: &Noted, end: SystemTime) -> Self {
        let mut look = ProtectedPaths::again(project, noted.nested);
        look.project();
        noted.linked.iter().for_each(|(path, of_git)| look.linked(Path::new(path), *of_git));
        let released = Released::of(project, &noted.released);
        let before: BTreeMap<&Path, &Option<BlobId>> =
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
        let differs =
            |(path, was): &(&&Path, &&Option<BlobId>)| was.as_ref().is_some_and(|was| mark(path).as_ref() != Some(was));
        left.changed = before.iter().filter(differs).map(|(path, _)| path.to_path_buf()).collect();
        left
    }

    fn settle(&self, project: &Path) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(project).unwrap_or(path).display().to_string();
        let why = "a command may have made it whose supervisor was killed";
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
                "was made after a command whose supervisor was killed, and stays: look at it if it is not yours",
            ),
            (&self.changed, "was changed while a command ran whose supervisor was killed, or since: look at it"),
        ];
        for (paths, words) in said {
            lines.extend(paths.iter().map(|path| format!("{} {words}", name(path))));
        }
        lines
    }
}

/// Moves something of a project into its own folder for that, whatever links were put on the way meanwhile.
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
    use crate::run_command::guard::Guard;

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
        let guard = Guard::of(&root, &[PathBuf::from(".vscode")]);
        let note = Note::put(&notes, &guard.noted()).unwrap();
        fs::create_dir_all(root.join(".husky/deep")).unwrap();
        fs::create_dir_all(root.join(".vscode")).unwrap();
        for name in [".envrc", ".git/hooks/pre-commit", ".husky/deep/x", "lib/AGENTS.md", "free", ".vscode/a"] {
            fs::write(root.join(name), "new").unwrap();
        }
        assert_eq!(set_aside_left(&notes, &root), [] as [&str; 0], "the command is at work");
        // As if it had ended long ago; what is made from here on is the person's.
        let noted: Noted = serde_json::from_slice(&fs::read(&note.path).unwrap()).unwrap();
        let left = Left::of(&root, &noted, SystemTime::now() - Duration::from_secs(3600));
        assert!(left.made.is_empty() && left.later.len() == 3, "{:?}", left.later);
        drop(note);
        let lines = set_aside_left(&notes, &root).join("\n");
        for words in [
            "moved .envrc to callsheet-set-aside/1-.envrc: a command may have made it",
            "moved .git/hooks/pre-commit to callsheet-set-aside/1-pre-commit",
            "moved .husky to callsheet-set-aside/1-.husky",
            "lib/AGENTS.md was changed while",
        ] {
            assert!(lines.contains(words), "{words} is missing: {lines}");
        }
        assert_eq!(lines.lines().count(), 4, "{lines}");
        assert!(root.join("callsheet-set-aside/1-.husky/deep/x").exists() && root.join("free").exists());
        assert!(!root.join(".envrc").exists() && root.join(".vscode/a").exists());
        assert_eq!(set_aside_left(&notes, &root), [] as [&str; 0]);
        // Whatever lies in the way, nothing leaves the project.
        let note = Note::put(&notes, &Guard::of(&root, &[]).noted()).unwrap();
        fs::write(root.join(".mcp.json"), "new").unwrap();
        fs::remove_dir_all(root.join(ASIDE)).unwrap();
        std::os::unix::fs::symlink(folder.path(), root.join(ASIDE)).unwrap();
        drop(note);
        let lines = set_aside_left(&notes, &root);
        assert!(lines.len() == 1 && lines[0].starts_with("look at .mcp.json before anything else runs"), "{lines:?}");
        assert!(!folder.path().join("1-.mcp.json").exists());
    }
}
