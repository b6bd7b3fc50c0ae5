//! Changes of a run are committed on a git branch (spec 3.17).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::garden::TestProject;

const RUN: [&str; 6] = ["run", "--skill", "write_document", "bring the rota up to date", "--approval", "before-apply"];

fn on_branch(name: &str) -> Vec<&str> {
    RUN.into_iter().chain(["--branch", name]).collect()
}

fn git(garden: &TestProject, words: &[&str]) -> String {
    let identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"];
    let output = Command::new("git").args(identity).args(words).current_dir(garden.project()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A garden in a repository with one commit.
fn garden() -> TestProject {
    let garden = TestProject::with("hunks");
    let rota: Vec<String> =
        (1..=30).map(|week| format!("week {week}: {}", if week < 10 { "Ana" } else { "Ben" })).collect();
    garden.write("rota.md", rota.join("\r\n"));
    in_repository(&garden);
    garden
}

/// Makes the project a repository with one commit.
fn in_repository(garden: &TestProject) {
    git(garden, &["init", "--quiet", "--initial-branch", "main"]);
    git(garden, &["config", "user.name", "Ana"]);
    git(garden, &["config", "user.email", "ana@example.org"]);
    git(garden, &["config", "core.autocrlf", "false"]);
    git(garden, &["add", "--all"]);
    git(garden, &["commit", "--quiet", "--message", "The project"]);
}

/// An approved change set is one commit with the task's words; an undo is another one. Neither contains other files.
///
/// covers: 3.17
#[test]
fn each_approved_change_set_is_one_commit() {
    let garden = garden();
    garden.plant(".git/hooks/pre-commit", "#!/bin/sh\ntouch hook-ran\n");
    garden.expect(3, &on_branch("new-rota"));
    assert_eq!(git(&garden, &["branch", "--show-current"]), "new-rota");
    assert_eq!(git(&garden, &["rev-list", "--count", "HEAD"]), "1", "nothing is committed before the approval");
    garden.write("own.txt", "Somebody else works on this.\n");
    git(&garden, &["add", "own.txt"]);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume"]);
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "1");
    let committed = git(&garden, &["show", "--name-only", "--format=%s%n%b", "HEAD"]);
    assert!(committed.contains("bring the rota up to date") && committed.contains("Callsheet-Change: "), "{committed}");
    assert!(committed.contains("rota.md") && !committed.contains("own.txt"), "{committed}");
    assert_eq!(git(&garden, &["diff", "HEAD", "--", "rota.md"]), "");
    assert!(!garden.path("hook-ran").exists());

    garden.expect(0, &["undo"]);
    assert!(git(&garden, &["log", "-1", "--format=%s"]).starts_with("Undo: "));
    assert_eq!(git(&garden, &["diff", "main", "HEAD"]), "");
    assert_eq!(git(&garden, &["diff", "--cached", "--name-only"]), "own.txt", "what the person staged stays staged");
}

/// What a person writes into a file while its change waits for approval is not in the commit, unless it is in the same
/// lines. It stays in the file.
///
/// covers: 3.17
#[test]
fn a_commit_contains_what_the_task_changed_and_nothing_else() {
    let garden = garden();
    let rota = garden.read("rota.md");
    garden.expect(3, &on_branch("new-rota"));
    garden.write("rota.md", rota.replace("week 12: Ben", "week 12: Mine"));
    garden.expect(0, &["approve"]);
    let ended = garden.call(&["resume"]);
    let ended = if ended.code == 3 { garden.expect(0, &["approve", "--resume"]) } else { ended };
    assert_eq!(ended.code, 0, "{}", ended.err);
    let committed = git(&garden, &["show", "HEAD:rota.md"]);
    assert!(committed.contains("week 3: Ana and Ben") && committed.contains("week 12: Ben"), "{committed}");
    let own = git(&garden, &["diff", "HEAD", "--", "rota.md"]);
    assert!(own.contains("+week 12: Mine") && !own.contains("Ana and Ben"), "{own}");
    garden.expect(0, &["undo"]);
    assert_eq!(git(&garden, &["diff", "main", "HEAD"]), "");
    assert!(garden.read("rota.md").contains("week 12: Mine"));
}

/// A line that a person wrote next to a change is in its commit, and everybody is told. The person's lines elsewhere in
/// the file are not, and what was staged of them stays staged.
///
/// covers: 3.17
#[test]
fn only_adjacent_lines_go_along_and_what_is_staged_stays_staged() {
    let garden = garden();
    let rota = garden.read("rota.md");
    garden.expect(3, &on_branch("new-rota"));
    let staged = rota.replace("week 20: Ben", "week 20: Staged");
    garden.write("rota.md", &staged);
    git(&garden, &["add", "rota.md"]);
    garden.write("rota.md", staged.replace("week 2: Ana", "week 2: Mine").replace("week 28: Ben", "week 28: Mine"));
    garden.expect(0, &["approve"]);
    let ended = garden.call(&["resume"]);
    let ended = if ended.code == 3 { garden.expect(0, &["approve", "--resume"]) } else { ended };
    assert_eq!(ended.code, 0, "{}", ended.err);
    let committed = git(&garden, &["show", "HEAD:rota.md"]);
    assert!(committed.contains("week 3: Ana and Ben") && committed.contains("week 2: Mine"), "{committed}");
    assert!(!committed.contains("week 20: Staged") && !committed.contains("week 28: Mine"), "{committed}");
    let staged = git(&garden, &["diff", "--cached", "--", "rota.md"]);
    assert!(staged.contains("+week 20: Staged") && !staged.contains("week 3"), "{staged}");
    let own = git(&garden, &["diff", "--", "rota.md"]);
    assert!(own.contains("+week 28: Mine") && !own.contains("week 20: Staged\n+"), "{own}");
}

/// What the person has not committed is not mixed with a run's changes, and no branch is overwritten.
///
/// covers: 3.17
#[test]
fn a_run_does_not_begin_on_a_branch_that_is_not_its_own() {
    let bare = TestProject::with("hunks");
    let told = bare.expect(2, &on_branch("new-rota")).err;
    assert!(told.contains("not in a git repository"), "{told}");

    let garden = garden();
    git(&garden, &["branch", "other"]);
    let told = garden.expect(2, &on_branch("other")).err;
    assert!(told.contains("the branch other exists already"), "{told}");
    let told = garden.expect(2, &on_branch("two..dots")).err;
    assert!(told.contains("can't be the name of a branch"), "{told}");
    git(&garden, &["config", "filter.x.clean", "touch filter-ran"]);
    let told = garden.expect(2, &on_branch("new-rota")).err;
    assert!(told.contains("starts a program (filter.x.clean)"), "{told}");
    git(&garden, &["config", "--unset", "filter.x.clean"]);
    git(&garden, &["config", "user.useConfigOnly", "true"]);
    git(&garden, &["config", "--unset", "user.email"]);
    let told = garden.expect(2, &on_branch("new-rota")).err;
    assert!(told.contains("git does not know who commits"), "{told}");
    git(&garden, &["config", "user.email", "ana@example.org"]);
    garden.write("rota.md", "Mine.\n");
    let told = garden.expect(2, &on_branch("new-rota")).err;
    assert!(told.contains("rota.md has uncommitted changes"), "{told}");
    assert_eq!(git(&garden, &["branch", "--show-current"]), "main");
    assert!(garden.expect(2, &["show"]).err.contains("there are no runs here yet"));
}

/// While another branch is checked out, no change is made. The run goes on once its branch is there again.
///
/// covers: 3.17
#[test]
fn nothing_is_changed_on_another_branch() {
    let garden = garden();
    garden.expect(3, &on_branch("new-rota"));
    garden.expect(0, &["approve"]);
    git(&garden, &["switch", "--quiet", "main"]);
    let ended = garden.expect(2, &["resume"]);
    assert!(ended.err.contains("not on the branch new-rota") && ended.err.contains("git switch"), "{}", ended.err);
    assert!(!garden.read("rota.md").contains("Ana and Ben"));
    git(&garden, &["switch", "--quiet", "new-rota"]);
    garden.expect(0, &["resume"]);
    assert!(garden.read("rota.md").contains("Ana and Ben"));
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "1");
    git(&garden, &["switch", "--quiet", "main"]);
    assert!(garden.expect(2, &["undo"]).err.contains("git switch new-rota"));
    git(&garden, &["switch", "--quiet", "new-rota"]);
    garden.expect(0, &["undo"]);
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "2");
}

/// A lock of git in the way is told, and the changes stay on disk.
///
/// covers: 3.17
#[test]
fn a_commit_that_a_lock_prevents_is_told() {
    let garden = garden();
    garden.expect(3, &on_branch("new-rota"));
    garden.expect(0, &["approve"]);
    garden.plant(".git/index.lock", "");
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.err.contains("not committed to new-rota: git says: "), "{}", ended.err);
    assert!(ended.err.contains("index.lock"), "{}", ended.err);
    std::fs::remove_file(garden.path(".git/index.lock")).unwrap();
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "0");
    // The complete run makes its commit when it is named again.
    let run = garden.run_folder().file_name().and_then(|name| name.to_str()).unwrap().to_owned();
    garden.expect(0, &["resume", &run]);
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "1");
    garden.plant(".git/index.lock", "");
    let undone = garden.expect(0, &["undo", &run]);
    assert!(undone.err.contains("not committed to new-rota: git says: "), "{}", undone.err);
    std::fs::remove_file(garden.path(".git/index.lock")).unwrap();
    garden.expect(0, &["undo", &run]);
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "2");
}

/// A removal that a killed process had staged, but not committed, gets its commit.
///
/// covers: 3.17
#[test]
fn a_staged_removal_is_committed() {
    let garden = TestProject::with("steered");
    in_repository(&garden);
    garden.expect(0, &["run", "bring the notes up to date", "--headless", "approve", "--branch", "notes"]);
    let run = garden.run_folder().file_name().and_then(|name| name.to_str()).unwrap().to_owned();
    let commits = git(&garden, &["rev-list", "--count", "HEAD"]);
    garden.plant(".git/index.lock", "");
    garden.expect(0, &["undo", &run, "write-rota-1"]);
    std::fs::remove_file(garden.path(".git/index.lock")).unwrap();
    assert_eq!(git(&garden, &["rev-list", "--count", "HEAD"]), commits);
    git(&garden, &["add", "--all", "--", "rota.md"]);
    garden.expect(0, &["resume", &run]);
    assert_eq!(git(&garden, &["show", "--format=", "--name-status", "HEAD"]), "D\trota.md");
    assert_eq!(git(&garden, &["diff", "--cached", "--name-only"]), "");
}

/// A process that is killed after the change and before its commit loses no commit: `resume` makes it.
///
/// covers: 3.17
#[test]
fn a_kill_between_a_change_and_its_commit_loses_no_commit() {
    let garden = garden();
    garden.expect(3, &on_branch("new-rota"));
    garden.expect(0, &["approve"]);
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("commits");
    let path = std::env::var("PATH").unwrap();
    let stops = format!(
        "#!/bin/sh\ncase \" $* \" in *\" commit \"*) echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600;; esac\nPATH='{path}' exec git \"$@\"\n",
        marker.display()
    );
    let git_that_stops = folder.path().join("git");
    std::fs::write(&git_that_stops, stops).unwrap();
    std::fs::set_permissions(&git_that_stops, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut resume = garden.command(&["resume"]);
    let mut resume = resume.env("PATH", format!("{}:{path}", folder.path().display())).spawn().unwrap();
    while !marker.exists() {
        assert!(resume.try_wait().unwrap().is_none(), "it ended before it committed anything");
        std::thread::sleep(Duration::from_millis(10));
    }
    garden.kill_driver();
    let stopped = std::fs::read_to_string(&marker).unwrap();
    let stopped = rustix::process::Pid::from_raw(stopped.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(stopped, rustix::process::Signal::KILL).unwrap();
    resume.wait().unwrap();
    assert!(garden.read("rota.md").contains("Ana and Ben"));
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "0");

    garden.expect(0, &["resume"]);
    assert_eq!(git(&garden, &["rev-list", "--count", "main..HEAD"]), "1");
    assert_eq!(git(&garden, &["diff", "HEAD", "--", "rota.md"]), "");
}

/// A command does not run on a branch to which somebody switched in the middle of the run. It has not begun then, so the
/// resume asks nothing about it.
///
/// covers: 3.17
#[test]
fn no_command_runs_on_a_branch_to_which_somebody_switched() {
    let call = "```json\n{\"name\": \"run_command\", \"id\": \"c1\", \"arguments\": {\"command\": [\"touch\", \"made\"]}}\n```";
    let garden = TestProject::scripted(&format!(
        "[[rule]]\nphase = \"refine\"\nuntil = \"switched\"\ntext = '''\n## Task\n- **What is needed** Make a file.\n## Tool Calls\n\
         {call}\n'''\n[[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nIt is made.\n'''\n"
    ));
    let task =
        "- **Name** Try\n- **What is needed** Make a file.\n- **Skill** run_checks\n- **Expected output** A file.\n";
    garden.write(
        "work.md",
        format!("## Goals / summary\nTry.\n\n**plan complete**\n## Tasks\n### Task section 1\n{task}"),
    );
    in_repository(&garden);
    let run = ["run", "--sheet", "work.md", "--approval", "never", "--branch", "tries"];
    let mut running = garden.command(&run).stderr(Stdio::piped()).spawn().unwrap();
    while !garden.call(&["show", "--events"]).out.contains("\"started\"") {
        assert!(running.try_wait().unwrap().is_none(), "it ended before it asked a model");
        std::thread::sleep(Duration::from_millis(10));
    }
    git(&garden, &["switch", "--quiet", "main"]);
    std::fs::write(garden.project().with_file_name("switched"), "").unwrap();
    let ended = running.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{told}");
    assert!(told.contains("not on the branch tries"), "{told}");
    assert!(!garden.path("made").exists());
    git(&garden, &["switch", "--quiet", "tries"]);
    garden.expect(0, &["resume"]);
    assert!(garden.path("made").exists());
}
