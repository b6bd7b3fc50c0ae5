//! Tests staging, applying, failing at every step, crashing at every step, rolling back and reverting.

use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;

use callsheet_core::issue::{Issue, IssueCode};
use callsheet_core::nouns::{ExecutionId, RunId, Slug};
use callsheet_core::record::{ChangeSet, FileChange};
use tokio_util::sync::CancellationToken;

use crate::ports::Store;
use crate::runfiles::KeptFiles;
use crate::testing::{Blobs, Project};

use super::apply::{apply_watched, revert_watched};
use super::journal::Entry;
use super::steps::{Step, forwards, steps};
use super::{ApplyFault, Edit, Journal, Means, ProjectLock, StageFault, forgotten, revert, roll_back, stage};

const FILES: &[(&str, &str)] = &[("src/a.rs", "one\r\ntwo"), ("src/b.rs", "old\n"), ("docs/gone.md", "bye\n")];

struct World {
    project: Project,
    store: Blobs,
    journal: Journal,
    cancel: CancellationToken,
}

impl World {
    fn new() -> Self {
        let project = Project::with(FILES);
        let state = project.outside().join("state");
        std::fs::create_dir(&state).unwrap();
        let files = KeptFiles::new(&state, &RunId::new("run-1")).unwrap();
        let journal = Journal::new(&files, &Slug::new("write-1"), &ExecutionId::new("exec"), 1);
        Self { project, store: Blobs::default(), journal, cancel: CancellationToken::new() }
    }

    /// Changes two files, creates one two directories deep, deletes one.
    fn staged(&self) -> ChangeSet {
        let edits = [
            edit("src/b.rs", Some("old\n"), Some("new\n")),
            edit("deep/er/c.txt", None, Some("made\n")),
            edit("./src/a.rs", Some("one\r\ntwo"), Some("one\r\n2")),
            edit("docs/gone.md", Some("bye\n"), None),
        ];
        stage(&edits, "the diff", &self.project.workspace, &self.store).unwrap()
    }

    fn apply(&self, set: &ChangeSet, watch: &mut dyn FnMut(&Step) -> io::Result<()>) -> Result<(), ApplyFault> {
        apply_watched(set, &self.journal, self.means(), watch)
    }

    fn roll_back(&self, set: &ChangeSet) -> Result<Vec<Issue>, ApplyFault> {
        roll_back(set, &self.journal, self.means())
    }

    fn revert(&self, set: &ChangeSet) -> Result<(), ApplyFault> {
        revert(set, &self.journal, self.means())
    }

    fn means(&self) -> Means<'_> {
        Means { workspace: &self.project.workspace, store: &self.store, tell: &|_| (), cancel: &self.cancel }
    }
}

fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> Edit {
    Edit { path: path.to_owned(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
}

fn applied_tree(world: &World) -> std::collections::BTreeMap<String, String> {
    let mut tree = Project::with(FILES).tree();
    tree.remove("docs/gone.md");
    for (path, text) in [("deep/", ""), ("deep/er/", ""), ("deep/er/c.txt", "made\n"), ("src/b.rs", "new\n")] {
        tree.insert(path.to_owned(), text.to_owned());
    }
    tree.insert("src/a.rs".to_owned(), "one\r\n2".to_owned());
    assert!(world.project.path("docs").is_dir());
    tree
}

fn refused(fault: ApplyFault) -> Vec<Issue> {
    match fault {
        ApplyFault::Refused(issues) => issues,
        other => panic!("{other:?}"),
    }
}

/// Makes the step with this number fail, or kills the process before it.
fn failing(at: usize, crash: bool) -> impl FnMut(&Step) -> io::Result<()> {
    let mut count = 0;
    move |_| {
        count += 1;
        if count <= at {
            Ok(())
        } else if crash {
            resume_unwind(Box::new("the process dies"))
        } else {
            Err(io::Error::other("no space left on device"))
        }
    }
}

/// covers: 3.10
#[test]
fn a_set_is_applied_and_reverted_as_a_whole() {
    let world = World::new();
    let script = world.project.path("src/b.rs");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(world.project.path("docs/gone.md"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = world.project.tree();
    let set = world.staged();
    let paths: Vec<_> = set.files.iter().map(|file| (file.path.as_str(), file.mode)).collect();
    assert_eq!(
        paths,
        [("deep/er/c.txt", None), ("docs/gone.md", Some(0o640)), ("src/a.rs", Some(0o644)), ("src/b.rs", Some(0o755)),]
    );
    assert_eq!(world.store.blob(set.diff.as_ref().unwrap()).unwrap(), b"the diff");
    assert_eq!(world.project.tree(), before, "staging writes nothing");

    world.apply(&set, &mut |_| Ok(())).unwrap();
    assert_eq!(world.project.tree(), applied_tree(&world));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&script), 0o755);

    world.revert(&set).unwrap();
    assert_eq!(world.project.tree(), before, "directories that were created are gone too");
    assert_eq!((mode(&script), mode(&world.project.path("docs/gone.md"))), (0o755, 0o640));
    world.revert(&set).unwrap();
    assert_eq!(world.project.tree(), before, "what is taken back already is no fault");
}

/// covers: 3.10
#[test]
fn a_failure_at_any_step_puts_everything_back() {
    let world = World::new();
    let before = world.project.tree();
    let set = world.staged();
    let count = steps(&forwards(&set)).len();
    assert_eq!(count, 2 + 3 + 3 + 1);
    for at in 0..count {
        let issues = refused(world.apply(&set, &mut failing(at, false)).unwrap_err());
        assert!(issues[0].what.contains("no space left on device"), "{issues:?}");
        assert_eq!(world.project.tree(), before, "step {at}");
    }
    world.apply(&set, &mut |_| Ok(())).unwrap();
    let after = world.project.tree();
    for at in 0..steps(&super::steps::backwards(&set)).len() {
        let fault = revert_watched(&set, &world.journal, world.means(), &mut failing(at, false));
        refused(fault.unwrap_err());
        assert_eq!(world.project.tree(), after, "step {at} of the revert");
    }
}

/// covers: 2.18, 3.10
#[test]
fn a_crash_at_any_step_is_rolled_back_from_the_journal() {
    let world = World::new();
    let before = world.project.tree();
    let set = world.staged();
    let count = steps(&forwards(&set)).len();
    for at in 0..=count {
        let died = catch_unwind(AssertUnwindSafe(|| world.apply(&set, &mut failing(at, true))));
        assert_eq!(died.is_err(), at < count);
        assert_eq!(world.roll_back(&set).unwrap(), [], "step {at}");
        assert_eq!(world.project.tree(), before, "step {at}");
        assert_eq!(world.roll_back(&set).unwrap(), [], "nothing is left to roll back");
    }
    world.apply(&set, &mut |_| Ok(())).unwrap();
    assert_eq!(world.project.tree(), applied_tree(&world));
    world.journal.discard().unwrap();
    world.roll_back(&set).unwrap();
    assert_eq!(world.project.tree(), applied_tree(&world), "what is recorded is not rolled back");
}

/// Paths are checked as for an apply, and only directories with a file of the set are removed.
/// covers: 3.10, 5.6
#[test]
fn a_roll_back_writes_nothing_that_an_apply_would_not() {
    let world = World::new();
    std::fs::create_dir_all(world.project.path(".git/hooks")).unwrap();
    let entry =
        Entry { created: vec![".git".to_owned(), ".git/hooks".to_owned(), "docs".to_owned()], paths: Vec::new() };
    world.journal.begin(&entry).unwrap();
    let before = world.store.put_blob(b"#!/bin/sh\n").unwrap();
    let file =
        FileChange { path: ".git/hooks/pre-commit".to_owned(), before: Some(before), after: None, mode: Some(0o755) };
    let forged = ChangeSet { files: vec![file], diff: None };
    let tree = world.project.tree();
    assert!(matches!(world.roll_back(&forged), Err(ApplyFault::Torn(_))));
    assert_eq!(world.project.tree(), tree);
    std::fs::remove_file(world.project.path("docs/gone.md")).unwrap();
    let set = ChangeSet { files: Vec::new(), diff: None };
    world.roll_back(&set).unwrap();
    assert!(world.project.path(".git/hooks").is_dir() && world.project.path("docs").is_dir());
}

/// If the end of the record was lost with the disk's cache, the record does not know what was changed; the journal
/// does.
/// covers: 2.18
#[test]
fn changes_that_the_record_has_forgotten_are_named() {
    let world = World::new();
    let set = world.staged();
    let run = callsheet_core::run::Run::new();
    world.apply(&set, &mut failing(3, false)).unwrap_err();
    assert!(forgotten(world.journal.files(), &run).is_empty(), "all was put back");
    world.apply(&set, &mut |_| Ok(())).unwrap();
    let paths = ["deep/er/c.txt", "docs/gone.md", "src/a.rs", "src/b.rs"];
    assert_eq!(forgotten(world.journal.files(), &run), paths);
}

#[test]
fn a_roll_back_leaves_the_work_of_others_alone_and_names_it() {
    let world = World::new();
    let set = world.staged();
    // The process dies before the deletion, when everything else is in place.
    let _ = catch_unwind(AssertUnwindSafe(|| world.apply(&set, &mut failing(8, true))));
    std::fs::write(world.project.path("src/b.rs"), "by hand\n").unwrap();
    std::fs::write(world.project.path("deep/other.txt"), "by hand\n").unwrap();
    let issues = world.roll_back(&set).unwrap();
    let named: Vec<_> = issues.iter().map(|issue| (issue.code, issue.place.item.as_deref())).collect();
    assert_eq!(named, [(IssueCode::StaleLines, Some("src/b.rs"))]);
    let tree = world.project.tree();
    assert_eq!((tree["src/a.rs"].as_str(), tree["src/b.rs"].as_str()), ("one\r\ntwo", "by hand\n"));
    assert!(tree.contains_key("deep/other.txt") && !tree.contains_key("deep/er/"));
}

/// covers: 3.10
#[test]
fn nothing_of_a_set_is_applied_when_a_file_moved() {
    let world = World::new();
    let set = world.staged();
    std::fs::write(world.project.path("src/b.rs"), "newer\n").unwrap();
    let before = world.project.tree();
    let Err(ApplyFault::Moved(issues)) = world.apply(&set, &mut |_| panic!("no step")) else { panic!("moved") };
    let named: Vec<_> = issues.iter().map(|issue| (issue.code, issue.place.item.as_deref())).collect();
    assert_eq!(named, [(IssueCode::StaleLines, Some("src/b.rs"))]);
    assert_eq!(world.project.tree(), before);
}

/// A revert removes from a changed file what an apply would have added to it.
#[test]
fn a_revert_takes_its_lines_out_of_a_file_that_was_changed_elsewhere() {
    let world = World::new();
    let lines = |second: &str, last: &str| format!("one\n{second}\nthree\nfour\n{last}\n");
    let file = world.project.path("src/long.rs");
    std::fs::write(&file, lines("two", "five")).unwrap();
    world.store.put_blob(lines("two", "five").as_bytes()).unwrap();
    let edits = [edit("src/long.rs", Some(&lines("two", "five")), Some(&lines("TWO", "five")))];
    let set = stage(&edits, "the diff", &world.project.workspace, &world.store).unwrap();
    world.apply(&set, &mut |_| Ok(())).unwrap();
    std::fs::write(&file, lines("TWO", "by hand")).unwrap();
    world.revert(&set).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lines("two", "by hand"));
    // A line that both changed is left to the person.
    std::fs::write(&file, lines("Two", "by hand")).unwrap();
    refused(world.revert(&set).unwrap_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lines("Two", "by hand"));
}

#[test]
fn a_revert_refuses_when_files_were_changed_since_and_names_them_all() {
    let world = World::new();
    let set = world.staged();
    world.apply(&set, &mut |_| Ok(())).unwrap();
    std::fs::write(world.project.path("src/b.rs"), "by hand\n").unwrap();
    std::fs::remove_file(world.project.path("deep/er/c.txt")).unwrap();
    std::fs::create_dir(world.project.path("deep/er/c.txt")).unwrap();
    let before = world.project.tree();
    let issues = refused(world.revert(&set).unwrap_err());
    let named: Vec<_> = issues.iter().filter_map(|issue| issue.place.item.as_deref()).collect();
    assert_eq!(named, ["deep/er/c.txt", "src/b.rs"]);
    assert_eq!(world.project.tree(), before);
}

/// covers: outside-project, protected-path, file-exists, file-missing, stale-lines, change-overlap
#[test]
fn staging_refuses_what_does_not_fit_all_at_once() {
    let world = World::new();
    symlink("a.rs", world.project.path("src/alias.rs")).unwrap();
    symlink("/etc", world.project.path("escape")).unwrap();
    let edits = [
        edit("../x", None, Some("x")),
        edit("escape/x", None, Some("x")),
        edit(".git/hooks/pre-commit", None, Some("x")),
        edit("src/b.rs", None, Some("x")),
        edit("src/none.rs", Some("x"), Some("y")),
        edit("docs/gone.md", Some("other"), None),
        edit("src/a.rs", Some("one\r\ntwo"), Some("x")),
        edit("src/alias.rs", Some("one\r\ntwo"), Some("y")),
        edit("src", None, Some("x")),
        edit("new", None, Some("x")),
        edit("new/below", None, Some("x")),
        edit("nul\0", None, Some("x")),
        edit(&"long".repeat(100), None, Some("x")),
    ];
    let Err(StageFault::Refused(issues)) = stage(&edits, "", &world.project.workspace, &world.store) else {
        panic!("refused")
    };
    let codes: Vec<_> = issues.iter().map(|issue| issue.code.as_str()).collect();
    assert_eq!(
        codes,
        [
            "outside-project",
            "outside-project",
            "protected-path",
            "file-exists",
            "file-missing",
            "stale-lines",
            "change-overlap",
            "file-unreadable",
            "file-unreadable",
            "file-unreadable",
            "change-overlap",
        ]
    );
}

#[test]
fn a_change_of_a_linked_file_changes_what_it_links_to_and_an_empty_change_is_left_out() {
    let world = World::new();
    symlink("src/b.rs", world.project.path("alias")).unwrap();
    let edits = [edit("alias", Some("old\n"), Some("new\n")), edit("src/a.rs", Some("one\r\ntwo"), Some("one\r\ntwo"))];
    let set = stage(&edits, "", &world.project.workspace, &world.store).unwrap();
    assert_eq!(set.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["src/b.rs"]);
    world.apply(&set, &mut |_| Ok(())).unwrap();
    assert!(world.project.path("alias").is_symlink());
    assert_eq!(world.project.text("src/b.rs").unwrap(), "new\n");
}

/// covers: 5.6
#[test]
fn a_directory_exchanged_for_a_link_at_any_step_leads_nowhere() {
    let count = steps(&forwards(&World::new().staged())).len();
    for at in 0..count {
        let world = World::new();
        let outside = world.project.outside().join("outside");
        std::fs::create_dir(&outside).unwrap();
        // This would be replaced or deleted if the link were followed.
        std::fs::write(outside.join("b.rs"), "old\n").unwrap();
        std::fs::write(outside.join("gone.md"), "bye\n").unwrap();
        let set = world.staged();
        let mut count = 0;
        let mut swap = |_: &Step| {
            if count == at {
                for name in ["src", "docs"] {
                    let path = world.project.path(name);
                    std::fs::rename(&path, world.project.path(&format!("{name}-moved")))?;
                    symlink(&outside, &path)?;
                }
            }
            count += 1;
            Ok(())
        };
        let fault = world.apply(&set, &mut swap).unwrap_err();
        assert!(matches!(fault, ApplyFault::Torn(_) | ApplyFault::Refused(_)), "{fault:?}");
        let names: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "step {at}: {names:?}");
        assert_eq!(std::fs::read_to_string(outside.join("b.rs")).unwrap(), "old\n", "step {at}");
        assert!(world.roll_back(&set).is_err(), "it cannot be put back while the link is there");
        for name in ["src", "docs"] {
            std::fs::remove_file(world.project.path(name)).unwrap();
            std::fs::rename(world.project.path(&format!("{name}-moved")), world.project.path(name)).unwrap();
        }
        assert_eq!(world.roll_back(&set).unwrap(), []);
        assert_eq!(world.project.tree(), Project::with(FILES).tree(), "step {at}");
    }
}

/// covers: 2.16, 3.10
#[test]
fn the_lock_is_waited_for_until_cancelled() {
    let world = World::new();
    let set = world.staged();
    let held = ProjectLock::take(world.journal.files(), &|_| (), &world.cancel).unwrap().unwrap();
    world.cancel.cancel();
    assert!(matches!(world.apply(&set, &mut |_| Ok(())), Err(ApplyFault::Cancelled)));
    drop(held);
    world.apply(&set, &mut |_| Ok(())).unwrap();
}

#[test]
fn a_content_that_is_not_in_the_store_is_found_before_anything_is_touched() {
    let world = World::new();
    let mut set = world.staged();
    set.files[3].after = Some(callsheet_core::nouns::BlobId::of(b"unknown"));
    let before = world.project.tree();
    assert!(matches!(world.apply(&set, &mut |_| panic!("no step")), Err(ApplyFault::Store(_))));
    assert_eq!(world.project.tree(), before);
}

/// The process may write files of only a few KiB, as if the disk were nearly full.
#[test]
fn a_full_disk_changes_nothing() {
    const CHILD: &str = "CALLSHEET_TEST_SMALL_FILES";
    if std::env::var_os(CHILD).is_none() {
        let script =
            "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact changes::tests::a_full_disk_changes_nothing --nocapture";
        let output =
            Command::new("sh").args(["-c", script]).arg(std::env::current_exe().unwrap()).env(CHILD, "1").output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let world = World::new();
    let before = world.project.tree();
    let large = "x".repeat(1 << 20);
    let edits = [edit("src/a.rs", Some("one\r\ntwo"), Some("small")), edit("src/b.rs", Some("old\n"), Some(&large))];
    let set = stage(&edits, "", &world.project.workspace, &world.store).unwrap();
    let issues = refused(world.apply(&set, &mut |_| Ok(())).unwrap_err());
    assert_eq!(issues[0].what, "src/b.rs could not be written: file too large");
    assert_eq!(world.project.tree(), before);
}
