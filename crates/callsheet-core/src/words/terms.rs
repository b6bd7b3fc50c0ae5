//! The terms of a text: words by the Unicode rules, identifiers by their parts, each reduced to its stem.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Longer words are data, not language.
const LONGEST: usize = 64;

/// An identifier with more parts is a hash or a number, which is meant as a whole.
const PARTS: usize = 8;

/// How often each term occurs in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    counts: BTreeMap<String, u32>,
    length: u32,
}

impl Words {
    /// The terms of a text.
    pub fn of(text: &str) -> Self {
        let mut words = Self::default();
        words.add(text, 1);
        words
    }

    /// Adds a further text and counts each of its words `times` times.
    pub fn add(&mut self, text: &str, times: u32) {
        // Words repeat, so each is stemmed only once.
        let mut plain: BTreeMap<String, u32> = BTreeMap::new();
        let mut whole: BTreeMap<String, u32> = BTreeMap::new();
        each_word(text, &mut |word, is_part| {
            let counts = if is_part { &mut plain } else { &mut whole };
            match counts.get_mut(word) {
                Some(count) => *count = count.saturating_add(times),
                None => drop(counts.insert(word.to_owned(), times)),
            }
        });
        for (word, count) in plain {
            self.length = self.length.saturating_add(count);
            let stemmed = stem(&word);
            self.count(stemmed.into_owned(), count);
        }
        for (word, count) in whole {
            self.count(word, count);
        }
    }

    fn count(&mut self, term: String, count: u32) {
        let known = self.counts.entry(term).or_default();
        *known = known.saturating_add(count);
    }

    /// How often a term occurs.
    pub fn times(&self, term: &str) -> u32 {
        self.counts.get(term).copied().unwrap_or(0)
    }

    /// Its terms in order, with their numbers of occurrences.
    pub fn terms(&self) -> impl Iterator<Item = (&str, u32)> {
        self.counts.iter().map(|(term, count)| (term.as_str(), *count))
    }

    /// Number of words. An identifier counts as many as it has parts.
    pub fn length(&self) -> u32 {
        self.length
    }
}

/// Calls `each` with every word in lower case: with the parts of identifiers (true), and with identifiers of several
/// parts as a whole without underscores (false), so that `retry_count` and `retryCount` are equal.
fn each_word(text: &str, each: &mut dyn FnMut(&str, bool)) {
    let text = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect::<String>()) };
    let mut lower = String::new();
    let mut say = |parts: &[&str], is_part: bool| {
        lower.clear();
        lower.extend(parts.iter().flat_map(|part| part.chars()).flat_map(char::to_lowercase));
        if lower.len() > 1 {
            each(&lower, is_part);
        }
    };
    for word in text.unicode_words() {
        for name in word.split(|character: char| !character.is_alphanumeric() && character != '_') {
            if name.is_empty() || name.len() > LONGEST {
                continue;
            }
            let parts = parts_of(name);
            if parts.len() > 1 {
                say(&parts, false);
            }
            match parts.len() {
                count if count > PARTS => {}
                _ => parts.iter().for_each(|part| say(&[part], true)),
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Capital,
    Digit,
    Gap,
}

fn kind_of(character: char) -> Kind {
    match character {
        '_' => Kind::Gap,
        _ if character.is_uppercase() => Kind::Capital,
        _ if character.is_numeric() => Kind::Digit,
        _ => Kind::Letter,
    }
}

/// The parts of an identifier. It is split at underscores, between letters and digits, and at capitals (`HTTPServer2`
/// has `HTTP`, `Server` and `2`).
fn parts_of(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut characters = name.char_indices().peekable();
    let mut before = Kind::Gap;
    while let Some((at, character)) = characters.next() {
        let kind = kind_of(character);
        let next = characters.peek().map_or(Kind::Gap, |(_, next)| kind_of(*next));
        let begins = match (before, kind) {
            (Kind::Letter, Kind::Letter) | (Kind::Digit, Kind::Digit) | (Kind::Capital, Kind::Letter) => false,
            (Kind::Capital, Kind::Capital) => next == Kind::Letter,
            _ => true,
        };
        if begins {
            parts.extend(name.get(start..at).filter(|part| !part.is_empty()));
            start = if kind == Kind::Gap { at + character.len_utf8() } else { at };
        }
        before = kind;
    }
    parts.extend(name.get(start..).filter(|part| !part.is_empty()));
    parts
}

/// The stem of a word, by the rules of the language for which its script is mostly used. The language of a text is
/// unknown; for other languages, the same rules give the same stem on both sides, which is enough.
fn stem(word: &str) -> Cow<'_, str> {
    let algorithm = match word.chars().next() {
        Some('a'..='z' | '\u{c0}'..='\u{24f}') => Algorithm::English,
        Some('\u{370}'..='\u{3ff}') => Algorithm::Greek,
        Some('\u{400}'..='\u{4ff}') => Algorithm::Russian,
        Some('\u{600}'..='\u{6ff}') => Algorithm::Arabic,
        Some('\u{b80}'..='\u{bff}') => Algorithm::Tamil,
        _ => return Cow::Borrowed(word),
    };
    Stemmer::create(algorithm).stem(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Words, parts_of};

    fn terms(text: &str) -> String {
        Words::of(text).terms().map(|(term, _)| term.to_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn identifiers_are_split_at_case_digits_and_underscores() {
        assert_eq!(parts_of("parseHTTPResponse2"), ["parse", "HTTP", "Response", "2"]);
        assert_eq!(parts_of("__retry_count"), ["retry", "count"]);
        assert_eq!(parts_of("sha256"), ["sha", "256"]);
        assert_eq!(parts_of("ÄrgerMitUmlaut"), ["Ärger", "Mit", "Umlaut"]);
        assert_eq!(terms("retry_count"), terms("retryCount"));
        assert_eq!(terms("net.Client"), "client net");
    }

    #[test]
    fn words_are_stems() {
        assert_eq!(terms("ferries ferry Ferry"), "ferri");
        assert_eq!(terms("лодка лодки"), "лодк");
        assert_eq!(Words::of("ferries, ferry").times("ferri"), 2);
    }

    #[test]
    fn texts_without_blanks_have_words_too() {
        assert_eq!(Words::of("渡船時刻表").length(), 5);
        assert_eq!(terms("a I 7"), "");
    }

    #[test]
    fn a_hash_is_one_word() {
        assert_eq!(terms("9f86d081884c7d659a2feaa0c55ad015"), "9f86d081884c7d659a2feaa0c55ad015");
    }

    proptest! {
        #[test]
        fn any_text_has_terms(text in "\\PC{0,200}") {
            prop_assert_eq!(Words::of(&text), Words::of(&text));
        }

        #[test]
        fn any_word_of_a_script_has_a_stem(
            text in "[a-zà-ɏ]{0,12} [\u{370}-\u{3ff}]{0,12} [\u{400}-\u{4ff}]{0,12} [\u{600}-\u{6ff}]{0,12} [\u{b80}-\u{bff}]{0,12}",
        ) {
            prop_assert!(Words::of(&text).terms().count() <= 60);
        }
    }
}
