//! Task lists in all the forms that are read: every repair and issue of lists by name.
//!
//! A fixture is header lines (see `support`), `---- text`, the text, `---- expect`, the reading in words.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
// A fixture that cannot be read fails its test at once.
#![allow(clippy::expect_used)]

use std::path::{Path, PathBuf};

use crate::support::{World, describe};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/lists");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("fixtures")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    paths.sort();
    paths
}

fn check(path: &Path) -> Result<(), String> {
    let source = std::fs::read_to_string(path).expect("fixture");
    let (header, rest) = source.split_once("---- text\n").expect("text part");
    let (text, wanted) = rest.split_once("---- expect\n").unwrap_or((rest, ""));
    let mut world = World::new(header);
    world.answer(text);
    let reading = world.read(text);
    let seen = describe(&reading);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, format!("{header}---- text\n{text}---- expect\n{seen}")).expect("write expectation");
    } else if seen != wanted {
        return Err(format!("{}:\n--- expected\n{wanted}\n--- seen\n{seen}", path.display()));
    }
    for code in header.lines().filter_map(|line| line.strip_prefix("covers: ")).flat_map(|codes| codes.split(", ")) {
        let is_paragraph = code.starts_with(|c: char| c.is_ascii_digit());
        if !is_paragraph && !seen.contains(&format!(" {code} ")) && !seen.contains(&format!(" {code}: ")) {
            return Err(format!("{}: covers {code}, which does not occur", path.display()));
        }
    }
    Ok(())
}

/// Codes of task lists and their references. `duplicate-section` for a title that fits two sections is shown in
/// `markdown`.
const CODES: &[&str] = &[
    "thinking-removed",
    "reply-unfenced",
    "prose-trimmed",
    "fence-closed",
    "quotes-straightened",
    "heading-level",
    "heading-name",
    "heading-missing",
    "section-implied",
    "section-renumbered",
    "label-form",
    "label-name",
    "list-marker",
    "list-shape",
    "list-split",
    "lists-joined",
    "key-dropped",
    "name-filled",
    "name-deduplicated",
    "skill-near",
    "reference-bare",
    "link-unwrapped",
    "reference-alias",
    "path-leading-slash",
    "path-near",
    "lines-clamped",
    "echo-dropped",
    "example-dropped",
    "prompt-echo-dropped",
    "tasks-missing",
    "no-tasks",
    "goals-missing",
    "section-empty",
    "task-boundary",
    "need-missing",
    "expected-missing",
    "skill-missing",
    "skill-unknown",
    "skill-unlikely",
    "unknown-key",
    "duplicate-section",
    "call-dropped",
    "over-budget",
    "denied-again",
    "done-changed",
    "empty-reply",
    "reply-truncated",
    "reply-too-large",
    "lookup-missing",
    "reference-invalid",
    "reference-ambiguous",
    "reference-order",
    "self-reference",
    "no-current-file",
    "reference-restricted",
    "output-unread",
    "refinement-required",
    "text-unread",
    "glob-refused",
    "anchor-missing",
    "anchor-ambiguous",
    "http-refused",
    "not-yet",
    "binary",
    "file-missing",
    "file-unreadable",
    "outside-project",
    "lines-out-of-range",
    "symbol-not-found",
    "symbol-ambiguous",
    "symbol-unsupported",
];

#[test]
fn every_code_of_lists_has_a_fixture() {
    let mut covered = std::collections::BTreeSet::new();
    for path in fixtures() {
        let source = std::fs::read_to_string(path).expect("fixture");
        let lines = source.lines().filter_map(|line| line.strip_prefix("covers: "));
        covered.extend(lines.flat_map(|codes| codes.split(", ")).map(str::to_owned));
    }
    // These two need no file: one is too large to keep, one needs a world that does not answer.
    let elsewhere = ["reply-too-large", "lookup-missing"];
    let missing: Vec<_> = CODES.iter().filter(|code| !covered.contains(**code) && !elsewhere.contains(code)).collect();
    assert!(missing.is_empty(), "codes without a fixture: {missing:?}");
}

/// covers: reply-too-large, lookup-missing
#[test]
fn a_text_that_is_too_large_and_a_lookup_without_answer_are_issues() {
    let world = World::new("");
    let codes =
        |text: &str| -> Vec<String> { world.read(text).issues.iter().map(|issue| issue.code.to_string()).collect() };
    let large = "All of it is too much, more than anybody reads.\n".repeat(45_000);
    assert!(codes(&large).contains(&"reply-too-large".to_owned()));
    let text = "## Goals / summary\nx\n## Tasks\n### Task section 1\n- **What is needed** a\n- **Skill** find_code\n- **References** [a](a.md)\n- **Expected output** b\n";
    assert_eq!(codes(text), ["lookup-missing"]);
}

/// Reading a list is linear in the text too: shown by size alone, without a clock.
#[test]
fn large_odd_lists_are_read() {
    let task =
        "### Task section 1\n- **What is needed** a\n- **Skill** find_code\n- **References** [a](#x-results)\n\n";
    for part in [
        task,
        "- **What is needed** a\n- **Skill** find_code\n",
        "## Tasks\n",
        "## Original prompt\n",
        "## Tasks\n- a\n",
    ] {
        let world = World::new("");
        world.read(&format!("## Tasks\n{}", part.repeat(30_000 / part.len())));
    }
}

#[test]
fn lists_are_read_as_their_fixtures_say() {
    let failures: Vec<String> = fixtures().iter().filter_map(|path| check(path).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
