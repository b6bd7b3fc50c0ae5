//! The checks of the fuzz targets, on the corpus in the repository and on mutated texts of the fixtures: reading never
//! panics, is deterministic, stays inside the text, and reads its own rendering back without repairs and new issues.
//!
//! covers: 4.1
#![allow(clippy::disallowed_methods, reason = "tests read fixtures")]
// A fixture that cannot be read fails its test at once.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    paths
}

/// Inputs that fuzzing found worth keeping, small ones; each that ever failed has a fixture named after the bug too.
#[test]
fn the_corpus_is_read_as_the_laws_say() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for target in crate::checks::TARGETS {
        for path in files(&corpus.join(target)) {
            let bytes = std::fs::read(&path).expect("input");
            crate::checks::check(target, &bytes);
        }
    }
}

/// Texts of fixtures with the targets that read them.
static TEXTS: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut texts = Vec::new();
    let read = |path: &Path| std::fs::read_to_string(path).expect("fixture");
    for path in files(&fixtures.join("lists")) {
        let source = read(&path);
        let text = source.split_once("---- text\n").map_or("", |(_, rest)| rest);
        let text = text.split_once("---- expect\n").map_or(text, |(text, _)| text).to_owned();
        let kind = source.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap_or("plan");
        let target = crate::checks::TARGETS.iter().find(|target| **target == kind).expect("a kind");
        texts.push((*target, text));
    }
    let kinds = [
        ("refinement", "refinement"),
        ("calls", "refinement"),
        ("execution", "execution"),
        ("merge", "merge"),
        ("write", "write_execution"),
        ("loop", "tool_calls"),
    ];
    for (folder, target) in kinds {
        for path in files(&fixtures.join("tasks").join(folder)) {
            let source = read(&path);
            let text = source.split_once("===== reply\n").map_or("", |(_, rest)| rest);
            let text = text.split_once("===== ").map_or(text, |(text, _)| text).to_owned();
            texts.push((target, text));
        }
    }
    for path in files(&fixtures.join("replies")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "txt"))
    {
        texts.push(("plan", read(&path)));
    }
    for (folder, target, kind) in [
        ("read", "template", "file"),
        ("library", "template", "file"),
        ("replies", "reply_xml", "reply"),
        ("bind", "placeholder", "file"),
        ("expressions", "expression", "expressions"),
    ] {
        for path in files(&fixtures.join("templates").join(folder)) {
            let source = read(&path);
            let sections = source.split("==== ").filter_map(|section| section.split_once('\n'));
            let bodies = sections.filter(|(title, _)| title.starts_with(kind)).map(|(_, body)| body);
            // Each expression is a text of its own.
            let split = |body: &str| -> Vec<String> {
                if target == "expression" { body.lines().map(str::to_owned).collect() } else { vec![body.to_owned()] }
            };
            texts.extend(bodies.flat_map(split).map(|text| (target, text)));
        }
    }
    texts
});

/// One change of one line.
#[derive(Clone, Copy, Debug)]
enum Mutation {
    Drop,
    Double,
    Swap,
    Marker,
    Indent,
    Outdent,
    Case,
    Quotes,
    Fence,
    Blank,
    Heading,
    Colon,
    Cut,
    Quote,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    use Mutation::*;
    prop::sample::select(vec![
        Drop, Double, Swap, Marker, Indent, Outdent, Case, Quotes, Fence, Blank, Heading, Colon, Cut, Quote,
    ])
}

fn mutate(text: &str, changes: &[(Mutation, usize)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (change, place) in changes {
        if lines.is_empty() {
            break;
        }
        let at = place % lines.len();
        let line = lines[at].clone();
        match change {
            Mutation::Drop => drop(lines.remove(at)),
            Mutation::Double => lines.insert(at, line),
            Mutation::Swap => {
                let other = (at + 1) % lines.len();
                lines.swap(at, other);
            }
            Mutation::Marker => {
                let markers = ["* ", "+ ", "1. ", "2) ", "- [ ] ", "• ", ""];
                let body = line.trim_start().trim_start_matches(['-', '*']).trim_start();
                lines[at] = format!("{}{body}", markers[place % markers.len()]);
            }
            Mutation::Indent => lines[at] = format!("  {line}"),
            Mutation::Outdent => lines[at] = line.trim_start().to_owned(),
            Mutation::Case => lines[at] = line.to_uppercase(),
            Mutation::Quotes => lines[at] = line.replace('"', "\u{201c}").replace(' ', "\u{a0}"),
            Mutation::Fence => lines.insert(at, ["```", "~~~~", "```json", "```text"][place % 4].to_owned()),
            Mutation::Blank => lines.insert(at, String::new()),
            Mutation::Heading => lines[at] = format!("## {}", line.trim_start_matches('#')),
            Mutation::Colon => lines[at] = line.replace("**", "").replacen(' ', ": ", 2),
            Mutation::Cut => lines[at] = line.chars().take(line.chars().count() / 2).collect(),
            Mutation::Quote => lines[at] = format!("> {line}"),
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn mutated_fixtures_are_read_as_the_laws_say(
        at in 0usize..10_000, changes in prop::collection::vec((mutation(), 0usize..10_000), 0..5)
    ) {
        let (target, text) = &TEXTS[at % TEXTS.len()];
        crate::checks::check(target, mutate(text, &changes).as_bytes());
    }
}
