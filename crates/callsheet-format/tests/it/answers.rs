//! Answers are read, and texts compared with their material, as the fixtures say; `UPDATE_EXPECT=1` writes what was found.
#![allow(clippy::disallowed_methods, reason = "the test reads fixtures")]
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_format::reply::{read_answer, still_said, unsupported};

/// Every fixture of a folder: `made` gives what is expected of the text before `===== expect`.
fn check(folder: &str, made: impl Fn(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 5);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let (given, expected) = text.split_once("===== expect\n").unwrap();
        let actual = made(given);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, format!("{given}===== expect\n{actual}")).unwrap();
            continue;
        }
        assert_eq!(actual, expected, "{}", path.display());
    }
}

#[test]
fn answers_read_as_the_fixtures_say() {
    check("answers", |given| {
        let (head, reply) = given.split_once("===== reply\n").unwrap();
        let reading = read_answer(reply, head.lines().any(|line| line == "cut"));
        let mut text = format!("{}\n", reading.value);
        reading.repairs.iter().for_each(|repair| text.push_str(&format!("repair {}\n", repair.code)));
        let issues = reading.issues.iter();
        issues.for_each(|issue| text.push_str(&format!("{:?} {}: {issue}\n", issue.severity, issue.code)));
        text
    });
}

#[test]
fn what_was_not_read_is_marked_as_the_fixtures_say() {
    check("unsupported", |given| {
        let (material, text) = given.split_once("===== material\n").unwrap().1.split_once("===== text\n").unwrap();
        unsupported(text, &[material]).iter().map(|mark| format!("{mark}\n")).collect()
    });
}

/// covers: 3.14
#[test]
fn what_a_merged_text_still_says_stays_marked() {
    let marks = ["\"the pump is cleaned\"".to_owned(), "`poll_twice()`".to_owned(), "4711".to_owned()];
    assert_eq!(still_said("**The pump**\nis cleaned by `poll_twice()`.", &marks), marks[..2]);
}
