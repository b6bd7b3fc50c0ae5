//! The example programs in other languages, against the built program.
#![cfg(feature = "page")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::Command;

use crate::e2e_api::{Served, token};
use crate::support::garden::TestProject;
use crate::support::root;

/// What an example prints. `None` if the language is missing on this machine, which is said.
fn printed(garden: &TestProject, language: &str, file: &str) -> Option<String> {
    if Command::new(language).arg("--version").output().is_err() {
        eprintln!("skipped: {language} is not installed, so {file} was not run");
        return None;
    }
    let served = Served::open(garden);
    let mut command = Command::new(language);
    command.arg(root().join("examples/http").join(file)).arg("Note the level of the water in level.md.");
    command.env("CALLSHEET_API", served.address()).env("CALLSHEET_TOKEN", token(garden, "example", "approve"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{file}: {said}{}", String::from_utf8_lossy(&output.stderr));
    Some(said)
}

/// Whether an example started a run, showed the change, approved it, and printed the answer.
fn works(language: &str, file: &str) {
    let garden = TestProject::with("api");
    let Some(said) = printed(&garden, language, file) else { return };
    assert!(said.contains("before_apply: note") && said.contains("+41 cm"), "{said}");
    assert!(said.trim_end().ends_with("Wrote [the level](level.md)."), "{said}");
    assert_eq!(garden.read("level.md"), "41 cm\n");
}

/// covers: 11.22
#[test]
fn the_example_in_python_starts_a_run_and_approves_it() {
    works("python3", "run.py");
}

/// covers: 11.22
#[test]
fn the_example_in_javascript_starts_a_run_and_approves_it() {
    works("node", "run.mjs");
}
