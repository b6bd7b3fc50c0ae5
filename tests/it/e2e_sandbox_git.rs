//! What a command leaves for the git that a person starts afterwards, and for the git that Callsheet starts.
//!
//! covers: 11.10
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::e2e_grants::{RUN, follow, garden};
use crate::e2e_sandbox::holds;
use crate::support::garden::TestProject;

const MARK: &str = "ran";

/// A line that leaves a program which leaves a mark beside the project.
fn plant(garden: &TestProject, program: &str) -> String {
    let mark = garden.path("..").join(MARK);
    let folder = program.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let text = format!("#!/bin/sh\\ntouch {}\\n", mark.display());
    format!("'mkdir -p {folder}; printf \"{text}\" > {program}; chmod +x {program}'")
}

/// A command of the person, who has these variables.
fn at_work(garden: &TestProject, arguments: &[&str], variables: &[(&str, String)]) -> Command {
    let mut command = garden.command(arguments);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Whether the commit that the person makes after a run starts the hook that the run left.
fn hook_runs(place: &str, variables: &[(&str, &str)]) -> bool {
    let mut garden = garden(&[]);
    let git = |garden: &TestProject| {
        let mut command = Command::new("git");
        command.current_dir(garden.project()).env("HOME", garden.home()).env("GIT_AUTHOR_NAME", "Otter");
        command.env("GIT_AUTHOR_EMAIL", "o@example.org").env("GIT_COMMITTER_NAME", "Otter");
        command.env("GIT_COMMITTER_EMAIL", "o@example.org");
        command
    };
    assert!(git(&garden).args(["init", "-q"]).status().unwrap().success());
    let settings = "[core]\n\thooksPath = tools/hooks\n";
    if !place.is_empty() {
        let file = garden.path("..").join(place);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, settings).unwrap();
    }
    let beside = garden.path("..").canonicalize().unwrap();
    let variables: Vec<(&str, String)> =
        variables.iter().map(|(name, value)| (*name, value.replace("BESIDE", beside.to_str().unwrap()))).collect();
    let line = plant(&garden, "tools/hooks/pre-commit");
    follow(&mut garden, &[&line]);
    let approved = [RUN, &["--headless", "approve"]].concat();
    let _either_way = at_work(&garden, &approved, &variables).output().unwrap();
    assert_eq!(garden.count("tool_finished"), 1, "{place}");
    let mut commit = git(&garden);
    commit.args(["commit", "-q", "--allow-empty", "-m", "x"]).envs(variables);
    assert!(commit.status().unwrap().success());
    beside.join(MARK).exists()
}

#[test]
fn no_commit_of_the_person_starts_a_hook_that_a_command_left() {
    if !holds() {
        return;
    }
    let by_variable =
        [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "tools/hooks")];
    for (place, variables) in [
        ("home/.gitconfig", &[][..]),
        ("settings", &[("GIT_CONFIG_GLOBAL", "BESIDE/settings")]),
        ("settings", &[("GIT_CONFIG_SYSTEM", "BESIDE/settings")]),
        ("xdg/git/config", &[("XDG_CONFIG_HOME", "BESIDE/xdg")]),
        ("", &by_variable),
    ] {
        assert!(!hook_runs(place, variables), "{place} {variables:?}");
    }
}

/// `index` asks git when files changed; a command may have left another program of that name.
#[test]
fn index_starts_no_git_that_a_command_left() {
    if !holds() {
        return;
    }
    // A folder of the project is among those of programs only later: no command writes one that is.
    for (folder, granted) in [("bin", false), ("../tools", true)] {
        let mut garden = garden(&[]);
        let bin = garden.path(folder);
        std::fs::create_dir_all(&bin).unwrap();
        let bin = bin.canonicalize().unwrap();
        if granted {
            garden.expect(0, &["grants", "add", "write", folder]);
        }
        let program = bin.join("git");
        let line = plant(&garden, program.to_str().unwrap());
        follow(&mut garden, &[&line]);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let variables = [("PATH", path)];
        let approved = [RUN, &["--headless", "approve"]].concat();
        let during = &variables[..usize::from(granted)];
        assert!(at_work(&garden, &approved, during).status().unwrap().success());
        assert_eq!(program.metadata().unwrap().permissions().mode() & 0o111, 0o111, "the program is there");
        assert!(at_work(&garden, &["index"], &variables).status().unwrap().success());
        assert!(!garden.path("..").join(MARK).exists(), "{folder}");
    }
}

/// A folder of programs in the project, such as that of an environment of Python, is the project's, and is written to. Another
/// project sees nothing behind a link that a command puts in its place.
#[test]
fn programs_of_a_project_are_its_own_and_lead_no_other_project_astray() {
    if !holds() {
        return;
    }
    let mut first = garden(&[]);
    let bin = first.project().canonicalize().unwrap().join(".venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = [("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))];
    let approved = [RUN, &["--headless", "approve"]].concat();
    let secret = first.path("../secret").canonicalize().unwrap_or_else(|_| {
        std::fs::create_dir(first.path("../secret")).unwrap();
        std::fs::write(first.path("../secret/key"), "the secret").unwrap();
        first.path("../secret").canonicalize().unwrap()
    });
    // A folder that the second project was granted lies in the first one, and becomes a link too.
    std::fs::create_dir(first.path("shared")).unwrap();
    let line = format!(
        "'touch .venv/bin/new && mv .venv/bin .venv/old && ln -s {0} .venv/bin; rmdir shared; ln -s {0} shared'",
        secret.display()
    );
    let mut second = garden(&[]);
    let home = first.home();
    let shared = first.path("shared").canonicalize().unwrap();
    let mut grant = at_work(&second, &["grants", "add", "write", shared.to_str().unwrap()], &path);
    assert!(grant.env("CALLSHEET_HOME", &home).status().unwrap().success());
    follow(&mut first, &[&line]);
    assert!(at_work(&first, &approved, &path).status().unwrap().success());
    assert!(first.path(".venv/old/new").exists() && first.path(".venv/bin").is_symlink());
    let line = format!("'cat {}/key > found; echo evil > {}/evil; true'", bin.display(), shared.display());
    follow(&mut second, &[&line]);
    let mut run = at_work(&second, &approved, &path);
    run.env("CALLSHEET_HOME", &home);
    // The skill is trusted in the state folder of the other project.
    let mut trust = at_work(&second, &["trust", "--yes"], &path);
    assert!(trust.env("CALLSHEET_HOME", &home).status().unwrap().success());
    assert!(run.status().unwrap().success());
    assert_eq!(second.read("found"), "");
    assert!(!secret.join("evil").exists());
    // Nor does `index` there start a git from a folder of the first project.
    std::fs::remove_file(first.path(".venv/bin")).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let mark = first.path("..").join(MARK);
    std::fs::write(bin.join("git"), format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut index = at_work(&second, &["index"], &path);
    assert!(index.env("CALLSHEET_HOME", &home).status().unwrap().success());
    assert!(!mark.exists());
}
