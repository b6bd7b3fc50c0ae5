//! Brings back what a command wrote in a copy of the project (spec 15.23).

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use callsheet_core::issue::{Issue, IssueCode};
use callsheet_core::record::{ChangeSet, FileChange};
use serde::{Deserialize, Serialize};

use crate::paths::{Workspace, set_mode_settled};
use crate::ports::Store;

use super::apply::{ApplyFault, Means, apply, roll_back};
use super::journal::Journal;
use super::stage::refused;
use super::steps::{Disk, State, backwards};

/// The largest file that a command can change in a copy.
const LARGEST: usize = 64 * 1024 * 1024;

/// What a command wrote in a copy of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Files with other contents, new files and removed ones.
    pub files: Vec<FileChange>,
    /// Files that have become programs, or no longer are. A new program is here, too.
    pub programs: BTreeMap<String, bool>,
}

impl Written {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.programs.is_empty()
    }

    /// The path of everything that was written.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str()).chain(self.programs.keys().map(String::as_str))
    }
}

/// Makes all of it in the project, or nothing if a file is no longer as it was when the copy was made. What an earlier call
/// did, also in part, is not done twice.
///
/// # Errors
/// See [`ApplyFault`].
pub fn bring_back(written: &Written, journal: &Journal, means: Means<'_>) -> Result<(), ApplyFault> {
    let Means { workspace, store, .. } = means;
    let moved: Vec<Issue> = written.paths().filter_map(|path| misplaced(path, workspace)).collect();
    if !moved.is_empty() {
        return Err(ApplyFault::Refused(moved));
    }
    // The bits of a file stay as they are here. Whoever names it gives it no others.
    let disk = Disk::new(workspace);
    let mode = |file: &FileChange| match disk.state(Path::new(&file.path)) {
        Ok(State::File { mode, .. }) => Some(mode),
        _ => None,
    };
    let files = written.files.iter().map(|file| FileChange { mode: mode(file), ..file.clone() });
    let set = ChangeSet { files: files.collect(), diff: None };
    if journal.is_begun()? {
        roll_back(&set, journal, means)?;
    }
    if !is_there(&set, workspace) {
        keep_originals(&set, workspace, store)?;
        apply(&set, journal, means)?;
        journal.discard()?;
    }
    for (path, runs) in &written.programs {
        set_program(path, *runs, workspace).map_err(|error| {
            let reason = crate::paths::reason(&error);
            ApplyFault::Refused(vec![refused(IssueCode::FileUnreadable, "not-written", path, &reason)])
        })?;
    }
    Ok(())
}

/// A path that is not written as the place where it leads.
fn misplaced(path: &str, workspace: &Workspace) -> Option<Issue> {
    let leads = workspace.locate_writable(path).ok().is_some_and(|located| located.path() == path);
    (!leads).then(|| refused(IssueCode::StaleLines, "stale", path, ""))
}

/// Whether every file is as the set makes it.
fn is_there(set: &ChangeSet, workspace: &Workspace) -> bool {
    let disk = Disk::new(workspace);
    backwards(set).iter().all(|file| disk.state(&file.path).is_ok_and(|state| state.is(file.from.as_ref())))
}

/// Keeps the contents that are replaced, which are needed if not all of the set can be made.
fn keep_originals(set: &ChangeSet, workspace: &Workspace, store: &dyn Store) -> Result<(), ApplyFault> {
    for file in set.files.iter().filter(|file| file.before.is_some()) {
        let located = workspace.locate_writable(&file.path).ok();
        let now = located.and_then(|located| workspace.read(&located, LARGEST).ok());
        // If it has another content, or none, the set is refused.
        if let Some(now) = now.filter(|now| !now.truncated) {
            store.put_blob(&now.bytes)?;
        }
    }
    Ok(())
}

fn set_program(path: &str, runs: bool, workspace: &Workspace) -> std::io::Result<()> {
    let place = workspace.root().join(path);
    let mode = place.symlink_metadata()?.permissions().mode();
    // Whoever may read it may run it.
    let wanted = if runs { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    if wanted == mode { Ok(()) } else { set_mode_settled(&place, wanted & 0o7777) }
}

#[cfg(test)]
mod tests {
    use callsheet_core::nouns::{BlobId, RunId};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::changes::journal::Entry;
    use crate::runfiles::KeptFiles;
    use crate::testing::{Blobs, Project};

    struct World {
        project: Project,
        store: Blobs,
        journal: Journal,
    }

    impl World {
        fn new() -> Self {
            let project = Project::with(&[("notes/a.md", "Old.\n"), ("gone.md", "Bye.\n"), ("run.sh", "true\n")]);
            let state = project.outside().join("state");
            std::fs::create_dir(&state).unwrap();
            let files = KeptFiles::new(&state, &RunId::new("run-1")).unwrap();
            Self { project, store: Blobs::default(), journal: Journal::of_command(&files, 7) }
        }

        /// A change, a new file, a removal and a new program.
        fn written(&self) -> Written {
            let file = |path: &str, before: Option<&str>, after: Option<&str>| FileChange {
                path: path.to_owned(),
                before: before.map(|text| BlobId::of(text.as_bytes())),
                after: after.map(|text| self.store.put_blob(text.as_bytes()).unwrap()),
                mode: None,
            };
            let files = vec![
                file("gone.md", Some("Bye.\n"), None),
                FileChange { mode: Some(0o6777), ..file("made/b.bin", None, Some("\u{0}new")) },
                file("notes/a.md", Some("Old.\n"), Some("New.\n")),
            ];
            Written { files, programs: BTreeMap::from([("run.sh".to_owned(), true)]) }
        }

        fn bring(&self, written: &Written) -> Result<(), ApplyFault> {
            let cancel = CancellationToken::new();
            let means =
                Means { workspace: &self.project.workspace, store: &self.store, tell: &|_| {}, cancel: &cancel };
            bring_back(written, &self.journal, means)
        }

        fn read(&self, path: &str) -> Option<String> {
            std::fs::read_to_string(self.project.workspace.root().join(path)).ok()
        }

        fn is_made(&self) -> bool {
            let mode_of = |path: &str| self.project.path(path).metadata().unwrap().permissions().mode();
            let mode = mode_of("run.sh");
            assert_eq!(mode_of("made/b.bin") & 0o7111, 0, "nobody becomes somebody else by it");
            self.read("notes/a.md").as_deref() == Some("New.\n")
                && self.read("made/b.bin").as_deref() == Some("\u{0}new")
                && self.read("gone.md").is_none()
                && mode & 0o100 != 0
        }
    }

    /// covers: 15.23
    #[test]
    fn what_a_command_wrote_is_made_once_however_often_it_comes() {
        let world = World::new();
        let written = world.written();
        world.bring(&written).unwrap();
        assert!(world.is_made() && !world.journal.is_begun().unwrap());
        world.bring(&written).unwrap();
        assert!(world.is_made());
    }

    /// covers: 15.23
    #[test]
    fn what_was_made_in_part_is_made_whole() {
        let world = World::new();
        let written = world.written();
        world.store.put_blob(b"Old.\n").unwrap();
        world.store.put_blob(b"Bye.\n").unwrap();
        // The process ended when one of three files was in place.
        let paths = written.paths().map(str::to_owned).collect();
        world.journal.begin(&Entry { created: vec!["made".to_owned()], paths }).unwrap();
        std::fs::write(world.project.workspace.root().join("notes/a.md"), "New.\n").unwrap();
        world.bring(&written).unwrap();
        assert!(world.is_made() && !world.journal.is_begun().unwrap());
    }

    /// covers: 15.23
    #[test]
    fn nothing_is_made_if_a_file_has_changed_since_or_a_path_leads_elsewhere() {
        let world = World::new();
        let written = world.written();
        std::fs::write(world.project.workspace.root().join("gone.md"), "Still here.\n").unwrap();
        assert!(matches!(world.bring(&written), Err(ApplyFault::Moved(issues)) if issues.len() == 1));
        assert_eq!(world.read("notes/a.md").as_deref(), Some("Old.\n"));
        assert!(world.read("made/b.bin").is_none());
        let leads = |path: &str| Written { files: Vec::new(), programs: BTreeMap::from([(path.to_owned(), true)]) };
        for path in ["../run.sh", "/etc/passwd", ".git/hooks/x", "notes/../run.sh"] {
            assert!(matches!(world.bring(&leads(path)), Err(ApplyFault::Refused(_))), "{path}");
        }
    }
}
