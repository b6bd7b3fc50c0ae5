//! Bundled templates in a project of their own, on scripted replies.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::Command;

use crate::support::garden::TestProject;

const REVIEW: &str = r#"
[[rule]]
phase = "execute"
prompt = "+Water twice."
text = '{"summary": "One doubt.", "faults": []}'
"#;

const ENTRY: &str = r#"
[[rule]]
phase = "execute"
prompt = "Second bed"
text = "Added: the second bed"
"#;

/// A garden under version control with one commit and the tag `first`.
fn garden(script: &str) -> TestProject {
    let garden = TestProject::scripted(script);
    garden.write(".gitignore", ".callsheet/\n");
    git(&garden, &["init", "--quiet"]);
    git(&garden, &["add", "."]);
    commit(&garden, "First bed");
    git(&garden, &["tag", "first"]);
    garden
}

fn commit(garden: &TestProject, words: &str) {
    let who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"];
    git(garden, &[who.as_slice(), &["commit", "--quiet", "--allow-empty", "-m", words]].concat());
}

fn git(garden: &TestProject, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(garden.project()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let status = command.env("GIT_CONFIG_NOSYSTEM", "1").status().expect("git is there");
    assert!(status.success(), "git {arguments:?}");
}

fn run(garden: &TestProject, template: &str, given: &[&str]) -> crate::support::garden::Ended {
    garden.expect(0, &[["template", "run", "--approval", "never", template].as_slice(), given].concat())
}

/// Where nothing changed no model is asked; else it is asked about the change.
#[test]
fn review_diff_asks_no_model_about_nothing() {
    let garden = garden(REVIEW);
    let ended = run(&garden, "review_diff", &[]);
    assert_eq!(ended.out.trim(), r#"{"summary": "Nothing changed.", "faults": []}"#, "{}", ended.err);
    assert!(garden.asked().is_empty(), "{:?}", garden.asked());
    let water = garden.read("water.md");
    garden.write("water.md", format!("{water}Water twice.\n"));
    let ended = run(&garden, "review_diff", &[]);
    assert!(ended.out.contains("One doubt."), "{}", ended.err);
    assert_eq!(garden.asked().len(), 1);
}

/// The same of commits.
#[test]
fn changelog_asks_no_model_about_no_commits() {
    let garden = garden(ENTRY);
    let ended = run(&garden, "changelog", &["from=first"]);
    assert_eq!(ended.out.trim(), "No commits from first to HEAD.", "{}", ended.err);
    assert!(garden.asked().is_empty(), "{:?}", garden.asked());
    commit(&garden, "Second bed");
    let ended = run(&garden, "changelog", &["from=first"]);
    assert_eq!(ended.out.trim(), "Added: the second bed", "{}", ended.err);
    assert_eq!(garden.asked().len(), 1);
}

/// What is given as a commit is one, and no option of git that writes a file.
#[test]
fn what_is_given_to_bundled_templates_is_no_option() {
    let garden = garden(ENTRY);
    for (template, given) in [("changelog", "from=--output=made"), ("review_diff", "against=--output=made")] {
        garden.expect(5, &["template", "run", "--approval", "never", template, given]);
        let made = garden.files().into_iter().any(|(file, _)| file.to_string_lossy().contains("made"));
        assert!(!made, "{template}");
    }
}
