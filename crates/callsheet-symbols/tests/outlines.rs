//! Fixtures of `fixtures/<language>`: a source file, and beside it `<file>.expect` with a `covers:` line and its
//! outline, one symbol a line: full name, kind, lines, and the line its comment begins at. `UPDATE_EXPECT=1` rewrites
//! the outlines. Sources in Rust end with `.source` too, so that no tool takes them for this project's own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use callsheet_core::symbols::{Symbol, SymbolKind};
use callsheet_runtime::ports::{Outline, OutlineFault};
use callsheet_symbols::TreeSitter;
use proptest::prelude::*;

static OUTLINE: LazyLock<TreeSitter> = LazyLock::new(TreeSitter::default);

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let folders = root.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        folders.flat_map(|folder| folder.read_dir().unwrap().map(|entry| entry.unwrap().path())).collect();
    files.retain(|path| path.extension().is_none_or(|extension| extension != "expect"));
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    let path = path.to_str().unwrap();
    path.strip_suffix(".source").unwrap_or(path)
}

fn line(symbol: &Symbol) -> String {
    let comment =
        if symbol.outer_first < symbol.first { format!(", from {}", symbol.outer_first) } else { String::new() };
    format!("{} {} {}-{}{comment}\n", symbol.name(), symbol.kind.as_str(), symbol.first, symbol.last)
}

#[test]
fn outlines_are_as_the_fixtures_say() {
    let outline = &*OUTLINE;
    let mut wrong = Vec::new();
    let files = sources();
    assert!(files.len() > 8, "fixtures are found");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = match outline.outline(name(&path), &text) {
            Ok(symbols) => {
                check_ranges(&symbols, &text);
                symbols.iter().map(line).collect()
            }
            Err(fault) => format!("{fault}\n"),
        };
        let beside = PathBuf::from(format!("{}.expect", path.display()));
        let expected = std::fs::read_to_string(&beside).unwrap_or_else(|_| "covers: 5.3\n".to_owned());
        let (covers, expected) = expected.split_once('\n').unwrap();
        assert!(covers.starts_with("covers: "), "{} says what it covers", beside.display());
        if found == expected {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&beside, format!("{covers}\n{found}")).unwrap();
        } else {
            wrong.push(format!("{}\n--- found\n{found}\n--- expected\n{expected}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What every outline promises, whatever the text.
fn check_ranges(symbols: &[Symbol], text: &str) {
    let lines = u32::try_from(text.split('\n').count()).unwrap();
    for symbol in symbols {
        assert!(1 <= symbol.outer_first && symbol.outer_first <= symbol.first, "{symbol:?}");
        assert!(symbol.first <= symbol.last && symbol.last <= lines, "{symbol:?}");
        assert!(text.get(symbol.start..symbol.end).is_some_and(|part| !part.is_empty()), "{symbol:?}");
        let ends = |at: usize| text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        let line_of = |at: usize| u32::try_from(ends(at) + 1).unwrap();
        assert_eq!((line_of(symbol.start), line_of(symbol.end - 1)), (symbol.first, symbol.last), "{symbol:?}");
        assert!(!symbol.path.is_empty() && !symbol.path.contains('\n'), "{symbol:?}");
    }
    let mut names: Vec<String> = symbols.iter().map(Symbol::name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), symbols.len(), "every full name is unique");
}

#[test]
fn what_has_no_parser_is_told() {
    let outline = &*OUTLINE;
    for path in ["a.zig", "a.vala", "Makefile", "rs", "dir.rs/file", ""] {
        assert_eq!(outline.outline(path, "fn a() {}"), Err(OutlineFault::NoParser), "{path}");
    }
    assert!(outline.outline("A.RS", "fn a() {}").is_ok(), "endings are read in any case");
    assert_eq!(outline.outline("a.rs", &"x".repeat((4 << 20) + 1)), Err(OutlineFault::TooLarge));
    assert_eq!(outline.outline("a.rs", ")]}{ (("), Err(OutlineFault::Unparsable));
    assert_eq!(outline.outline("a.rs", ""), Ok(Vec::new()));
}

/// Nesting that would exhaust the stack of a recursive reader.
#[test]
fn deep_nesting_is_survived() {
    let outline = &*OUTLINE;
    for (path, open) in [("a.rs", "mod a {"), ("a.py", "("), ("a.ts", "{["), ("a.cpp", "namespace a {"), ("a.go", "((")]
    {
        if let Ok(symbols) = outline.outline(path, &open.repeat(5_000)) {
            assert!(symbols.len() <= 5_000);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Sources cut and torn anywhere still give sound ranges.
    #[test]
    fn broken_sources_are_read(which in 0_usize..64, from in 0_usize..2_000, to in 0_usize..2_000, filler in "[{}()<>\"'/*#@\\r\\né ]{0,6}") {
        let files = sources();
        let path = &files[which % files.len()];
        let text = std::fs::read_to_string(path).unwrap();
        let place = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (from, to) = (place(from.min(to)), place(from.max(to)));
        let torn = format!("{}{filler}{}", &text[..from], &text[to..]);
        if let Ok(symbols) = OUTLINE.outline(name(path), &torn) {
            check_ranges(&symbols, &torn);
        }
    }
}

#[test]
fn kinds_have_one_word_each() {
    let mut words: Vec<&str> = SymbolKind::ALL.iter().map(|kind| kind.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), SymbolKind::ALL.len());
}
