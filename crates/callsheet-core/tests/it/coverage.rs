//! Every numbered paragraph, table row, code and prompt template of the specification is covered by a fixture or test
//! that names it.
//!
//! A fixture has a line `covers: 3.4, skill-near, 2.15 complete`, a test a comment that begins with the same word. An
//! item is a paragraph, a code, or a paragraph with one of its rows; it counts for the paragraph too.
//! `coverage.allow` lists what nobody covers yet. It may only shrink: what is covered must be taken off it.
#![allow(clippy::disallowed_methods, reason = "the test reads sources and fixtures")]
// A file that cannot be read fails the test at once.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use callsheet_core::issue::{IssueCode, RepairCode};
use callsheet_core::nouns::Settings;
use callsheet_format::prompt::PromptKey;

/// Rows of the table of 10.1, in its order.
const STARTS: &[&str] = &["loop", "together", "calls", "per-reference", "references", "neither"];

/// Rows of the table of 5.5, in its order.
const KINDS: &[&str] = &["files", "outputs", "anchors", "http"];

/// Columns of the table of 5.5, in their order.
const STAGES: &[&str] = &["plan", "refinement", "execution", "results"];

/// Moments at which a person's edit is looked at, in the order of 2.18.
const EDITS: &[&str] = &["in a round", "at the gate", "between rounds", "before resume", "before an answer"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn spec() -> String {
    std::fs::read_to_string(root().join("docs/spec/sheet.md")).expect("the specification")
}

/// The paragraph that begins with this number.
fn paragraph<'a>(spec: &'a str, number: &str) -> &'a str {
    let head = format!("- **{number} ");
    spec.lines().find(|line| line.starts_with(&head)).unwrap_or_else(|| panic!("no paragraph {number}"))
}

/// Words in code style.
fn in_code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Lines of the table that follows a line, without its head.
fn rows<'a>(spec: &'a str, after: &str) -> Vec<&'a str> {
    let lines = spec.lines().skip_while(|line| !line.starts_with(after)).skip(1);
    lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2).collect()
}

/// Everything that must be covered.
fn wanted() -> BTreeSet<String> {
    let spec = spec();
    let mut wanted = BTreeSet::new();
    for line in spec.lines().filter_map(|line| line.strip_prefix("- **")) {
        let number = line.split(' ').next().unwrap_or_default();
        if number.split_once('.').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok()) {
            wanted.insert(number.to_owned());
        }
    }
    assert!(wanted.len() > 80, "{} paragraphs", wanted.len());
    wanted.extend(RepairCode::ALL.iter().map(ToString::to_string));
    wanted.extend(IssueCode::ALL.iter().map(ToString::to_string));
    wanted.extend(PromptKey::ALL.iter().map(|key| format!("8.7 {key}")));
    let outcomes = rows(&spec, "- **2.15 ");
    let outcomes = outcomes.iter().filter_map(|row| row.split('|').nth(1)).flat_map(in_code).collect::<Vec<_>>();
    assert_eq!(outcomes.len(), 11, "outcomes of 2.15: {outcomes:?}");
    wanted.extend(outcomes.iter().map(|outcome| format!("2.15 {outcome}")));
    wanted.extend((1..=rows(&spec, "- **2.14 ").len()).map(|row| format!("2.14 row {row}")));
    assert_eq!(rows(&spec, "- **10.1 ").len(), STARTS.len(), "name the rows of 10.1");
    wanted.extend(STARTS.iter().map(|row| format!("10.1 {row}")));
    let cells = rows(&spec, "- **5.5 ");
    assert_eq!(cells.len(), KINDS.len(), "name the rows of 5.5");
    for (row, kind) in cells.iter().zip(KINDS) {
        assert_eq!(row.matches(" | ").count(), STAGES.len(), "name the columns of 5.5");
        wanted.extend(STAGES.iter().map(|stage| format!("5.5 {kind} at {stage}")));
    }
    let edits = paragraph(&spec, "2.18").to_lowercase();
    assert!(EDITS.iter().all(|moment| edits.contains(moment)), "name the moments of 2.18");
    wanted.extend(EDITS.iter().map(|moment| format!("2.18 {moment}")));
    for part in paragraph(&spec, "11.9").split(';') {
        let code = part.trim().split(' ').find(|word| word.parse::<u32>().is_ok()).expect("an exit code");
        wanted.insert(format!("11.9 exit {code}"));
    }
    wanted.extend(settings(&spec).into_keys().map(|name| format!("12.6 {name}")));
    wanted
}

/// Settings of 12.6 with the default that the paragraph states.
fn settings(spec: &str) -> BTreeMap<String, String> {
    let text = paragraph(spec, "12.6");
    let mut settings = BTreeMap::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('`') {
        let Some((name, after)) = after.split_once('`') else { break };
        let value: String = after.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '.').collect();
        if after.starts_with(' ') && !name.starts_with('[') {
            settings.insert(name.to_owned(), value.trim_end_matches('.').to_owned());
        }
        rest = after;
    }
    settings
}

/// What a line says that it covers.
fn covered_by(line: &str) -> Vec<String> {
    let line = line.trim_start();
    let line = ["//!", "///", "//", "<!--", "#"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    // Paragraphs of another document are no paragraphs of this one.
    let Some(items) = line.trim_start().strip_prefix("covers:").filter(|items| !items.contains("templates")) else {
        return Vec::new();
    };
    let items = items.split(',').map(|item| item.trim().trim_end_matches("-->").trim_end_matches('.').trim());
    items.flat_map(|item| item.split_whitespace().chain([item])).map(str::to_owned).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_none_or(|ending| ending != "allow") {
            found.push(path);
        }
    }
}

fn covered() -> BTreeSet<String> {
    let mut found = Vec::new();
    for folder in ["crates", "src", "tests", "fixtures", "bench"] {
        files(&root().join(folder), &mut found);
    }
    let texts = found.into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().flat_map(covered_by).collect::<Vec<_>>()).collect()
}

#[test]
fn what_the_specification_says_is_covered() {
    let (wanted, covered) = (wanted(), covered());
    let allowed: BTreeSet<String> = include_str!("../coverage.allow")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(str::to_owned)
        .collect();
    let missing: Vec<&String> = wanted.iter().filter(|name| !covered.contains(*name)).collect();
    let new: Vec<_> = missing.iter().filter(|name| !allowed.contains(**name)).collect();
    assert!(new.is_empty(), "not covered by any `covers:` line: {new:?}");
    let settled: Vec<_> = allowed.iter().filter(|name| covered.contains(*name)).collect();
    assert!(settled.is_empty(), "covered now, take them off coverage.allow: {settled:?}");
    let unknown: Vec<_> = allowed.iter().filter(|name| !wanted.contains(*name)).collect();
    assert!(unknown.is_empty(), "coverage.allow names what the specification does not have: {unknown:?}");
}

/// covers: 12.6 max_rounds, 12.6 jobs, 12.6 attempts, 12.6 comm_tries, 12.6 plan, 12.6 budget.material, 12.6 refine, 12.6 iterate, 12.6 merge, 12.6 review
/// covers: 12.6 approval.mode, 12.6 approval.headless, 12.6 allow_http, 12.6 read_roots, 12.6 budget.reference
/// covers: 12.6 budget.prompt, 12.6 budget.preview, 12.6 max_turns, 12.6 max_context_fraction, 12.6 max_output_bytes
/// covers: 12.6 max_calls, 12.6 max_tokens, 12.6 max_cost_usd, 12.6 timeout_seconds, 12.6 run_timeout_seconds
/// covers: 12.6 warning_threshold, 12.6 temperature, 12.6 seed
#[test]
fn defaults_of_settings_are_those_of_the_specification() {
    let settings = serde_json::to_value(Settings::default()).expect("settings");
    for (name, stated) in self::settings(&spec()) {
        let path = match name.as_str() {
            "approval.mode" => "/approval".to_owned(),
            "approval.headless" => "/headless".to_owned(),
            name if settings.get(name).is_some() => format!("/{name}"),
            name if name.contains('.') => format!("/{}", name.replace('.', "/")),
            name => format!("/limits/{name}"),
        };
        let value = settings.pointer(&path).unwrap_or_else(|| panic!("no setting {path}"));
        let shown = match value {
            serde_json::Value::String(word) => word.clone(),
            serde_json::Value::Null => "none".to_owned(),
            serde_json::Value::Array(items) if items.is_empty() => "none".to_owned(),
            other => other.to_string(),
        };
        assert_eq!(shown.to_lowercase(), stated.to_lowercase(), "{name}");
    }
}
