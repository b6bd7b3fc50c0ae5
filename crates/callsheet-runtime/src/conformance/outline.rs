//! What every `Outline` must do. Adapters call [`crate::outline_conformance!`] with a function that returns a
//! [`OutlineTrial`].

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::symbols::Symbol;

use crate::ports::{Outline, OutlineFault};

/// An outline and texts to test it with.
pub struct OutlineTrial {
    /// The adapter.
    pub outline: Arc<dyn Outline>,
    /// Valid texts by path: at least one for each language that the outline reads, each with at least one symbol. Empty
    /// if it reads no language.
    pub texts: Vec<(String, String)>,
}

/// Makes one `#[test]` for each check, for the [`OutlineTrial`] that the given function returns.
#[macro_export]
macro_rules! outline_conformance {
    ($trial:path) => {
        $crate::outline_conformance!(@tests $trial;
            other_languages_have_no_parser
            symbols_lie_in_their_text
            outer_symbols_come_before_inner_ones
            equal_paths_are_numbered
            the_same_text_has_the_same_symbols
            an_empty_file_has_no_symbols
            a_byte_order_mark_changes_no_symbol
            broken_texts_give_what_can_be_understood
        );
    };
    (@tests $trial:path; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            let trial = $trial();
            $crate::conformance::outline::$name(&trial);
        })+
    };
}

/// The symbols of each text.
fn outlines(trial: &OutlineTrial) -> impl Iterator<Item = (&str, &str, Vec<Symbol>)> {
    trial.texts.iter().map(|(path, text)| {
        let symbols = trial.outline.outline(path, text).unwrap_or_else(|fault| panic!("{path}: {fault}"));
        assert!(!symbols.is_empty(), "{path} has symbols");
        (path.as_str(), text.as_str(), symbols)
    })
}

/// Headings of Markdown are found without a parser, and nothing is guessed for an unknown language.
/// covers: 5.3
pub fn other_languages_have_no_parser(trial: &OutlineTrial) {
    for path in ["docs/manual.md", "notes.txt", "Makefile", "a.unheard-of", "", ".", "a.", "folder.rs/"] {
        let found = trial.outline.outline(path, "# Title\n\nfn a() {}\n");
        assert_eq!(found, Err(OutlineFault::NoParser), "{path:?}");
    }
}

/// Bytes and lines of a symbol are within its text, and neither end is inside a character.
/// covers: 5.3
pub fn symbols_lie_in_their_text(trial: &OutlineTrial) {
    for (path, text, symbols) in outlines(trial) {
        check_places(path, text, &symbols);
    }
}

/// A type comes before its methods.
/// covers: 5.3
pub fn outer_symbols_come_before_inner_ones(trial: &OutlineTrial) {
    for (path, _, symbols) in outlines(trial) {
        for pair in symbols.windows(2) {
            let [one, next] = pair else { continue };
            assert!(one.start <= next.start, "{path}: {} begins behind {}", one.path, next.path);
            assert!(
                one.start < next.start || one.end >= next.end,
                "{path}: {} lies around {} and comes behind it",
                next.path,
                one.path
            );
        }
    }
}

/// A name means one symbol: repeated paths are numbered from 1, others are not numbered.
/// covers: 5.3
pub fn equal_paths_are_numbered(trial: &OutlineTrial) {
    for (path, _, symbols) in outlines(trial) {
        let mut numbers: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for symbol in &symbols {
            assert!(!symbol.path.is_empty(), "{path}: a symbol without a name");
            numbers.entry(&symbol.path).or_default().push(symbol.number);
        }
        for (name, found) in numbers {
            let wanted: Vec<u32> = if found.len() == 1 { vec![0] } else { (1..).take(found.len()).collect() };
            assert_eq!(found, wanted, "{path}: {name}");
        }
    }
}

/// No state of one call affects the next, even if several threads ask at once.
/// covers: 5.3
pub fn the_same_text_has_the_same_symbols(trial: &OutlineTrial) {
    let once: Vec<Vec<Symbol>> = outlines(trial).map(|(_, _, symbols)| symbols).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let again: Vec<Vec<Symbol>> = outlines(trial).map(|(_, _, symbols)| symbols).collect();
                assert!(once == again, "another outline of the same texts");
            });
        }
    });
}

/// covers: 5.3
pub fn an_empty_file_has_no_symbols(trial: &OutlineTrial) {
    for (path, _) in &trial.texts {
        for text in ["", "\n", "\r\n\r\n"] {
            assert_eq!(trial.outline.outline(path, text), Ok(Vec::new()), "{path}: {text:?}");
        }
    }
}

/// A symbol in the first line is found after a byte order mark too, with its comments and decorators.
/// covers: 5.3
pub fn a_byte_order_mark_changes_no_symbol(trial: &OutlineTrial) {
    const MARK: &str = "\u{feff}";
    for (path, text, symbols) in outlines(trial) {
        let first = symbols.iter().map(|symbol| symbol.outer_first).min().unwrap_or(1);
        let from = text.split_inclusive('\n').take(first as usize - 1).map(str::len).sum::<usize>();
        for text in [text, &text[from..]] {
            let Ok(plain) = trial.outline.outline(path, text) else { continue };
            let moved =
                |symbol: Symbol| Symbol { start: symbol.start + MARK.len(), end: symbol.end + MARK.len(), ..symbol };
            let found = trial.outline.outline(path, &format!("{MARK}{text}"));
            assert_eq!(found, Ok(plain.into_iter().map(moved).collect()), "{path}");
        }
    }
}

/// A half-written file gives an outline or a fault, and never a place outside the file.
/// covers: 5.3
pub fn broken_texts_give_what_can_be_understood(trial: &OutlineTrial) {
    let odd = ["\0", "\u{feff}", "{{{{", "))))", "\"", "ä\u{202e}\r", "/*"];
    for (path, text) in &trial.texts {
        let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (before, after) = text.split_at(middle);
        let mut broken = vec![before.to_owned(), after.to_owned(), text.replace('\n', "\r\n")];
        broken.extend(odd.iter().map(|odd| format!("{before}{odd}{after}")));
        broken.extend(odd.iter().map(|odd| odd.repeat(500)));
        for text in broken {
            if let Ok(symbols) = trial.outline.outline(path, &text) {
                check_places(path, &text, &symbols);
            }
        }
    }
}

fn check_places(path: &str, text: &str, symbols: &[Symbol]) {
    for symbol in symbols {
        let name = &symbol.path;
        let within = text.get(symbol.start..symbol.end);
        assert!(within.is_some_and(|text| !text.is_empty()), "{path}: {name} lies at {}..{}", symbol.start, symbol.end);
        let line = |at: usize| u32::try_from(text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count());
        let (first, last) = (line(symbol.start).unwrap() + 1, line(symbol.end - 1).unwrap() + 1);
        assert_eq!((symbol.first, symbol.last), (first, last), "{path}: lines of {name}");
        assert!((1..=symbol.first).contains(&symbol.outer_first), "{path}: the comment of {name}");
    }
}
