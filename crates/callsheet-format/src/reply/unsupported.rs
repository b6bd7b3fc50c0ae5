//! Finds what a result says word for word without having read it (spec 3.14): quotations, names in code style and
//! numbers that do not occur in its material. Nothing is rejected because of that: paraphrases, sums and new names are
//! legitimate. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::markdown::{Part, Tracker};
use crate::reply::json::whole;

/// The maximum number of marks of one result.
const MOST: usize = 20;

/// The maximum number of items that are searched, because each search walks through the material.
const LOOKED_FOR: usize = 1_000;

/// The longest mark in characters.
const LONGEST: usize = 160;

/// The smallest number of words in a quotation. Fewer words are a term.
const WORDS: usize = 3;

/// Shortest name in characters.
const NAME: usize = 3;

/// The smallest number of digits. Smaller numbers are often results of counting.
const DIGITS: usize = 3;

/// The maximum number of characters between two quotation marks. Beyond that, the marks are not a pair.
const QUOTATION: usize = 600;

/// Fields of a JSON result whose values are quotations.
const QUOTE: &str = "quote";

/// Quotations, names and numbers of `text` that do not occur in `material`, as written, without duplicates. Case,
/// blanks, emphasis and the form of quotation marks are ignored. Fences in the text are output and count as material.
/// In a JSON value, only fields named `quote` are examined.
pub fn unsupported(text: &str, material: &[&str]) -> Vec<String> {
    let (said, fenced) = match whole(text) {
        Some(value @ (Value::Object(_) | Value::Array(_))) => (quotes_of(&value), String::new()),
        _ => {
            let (prose, fenced) = parts(text);
            (prose.iter().flat_map(|paragraph| said(paragraph)).collect(), fenced)
        }
    };
    let material = Material::of(material.iter().copied().chain([fenced.as_str()]));
    let mut seen = BTreeSet::new();
    let unknown = said.into_iter().take(LOOKED_FOR).filter(|one| !material.holds(one)).map(|one| one.shown());
    unknown.filter(|mark| seen.insert(mark.clone())).take(MOST).collect()
}

/// Those of `marks` that this text still contains. They were found in its source texts.
pub fn still_said<'a>(text: &str, marks: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let text = folded(text);
    let says = |mark: &&String| text.contains(&folded(mark.trim_end_matches('…').trim_matches(is_quotation_mark)));
    marks.into_iter().filter(says).cloned().collect()
}

/// Something that a text says word for word.
#[derive(Debug)]
enum Said {
    Quotation(String),
    Name(String),
    Number(String),
}

impl Said {
    fn shown(&self) -> String {
        let cut = |text: &str| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let kept: String = text.chars().take(LONGEST).collect();
            if kept.len() < text.len() { format!("{kept}…") } else { kept }
        };
        match self {
            Self::Quotation(text) => format!("\"{}\"", cut(text)),
            Self::Name(text) => format!("`{}`", cut(text)),
            Self::Number(text) => text.clone(),
        }
    }
}

/// What a model read, prepared for comparing.
struct Material {
    text: String,
    /// The text without the marks of comments, quotations and lists at the beginning of lines.
    unmarked: String,
    numbers: BTreeSet<String>,
}

impl Material {
    fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let whole = texts.collect::<Vec<_>>().join("\n");
        let marks = |c: char| c.is_whitespace() || matches!(c, '>' | '/' | '#' | '*' | '-' | '|' | '!' | ';');
        let unmarked: Vec<&str> = whole.lines().map(|line| line.trim_start_matches(marks)).collect();
        let numbers = numbers(&whole).into_iter().flat_map(|number| {
            let parts: Vec<String> = number.split(is_separator).map(str::to_owned).collect();
            parts.into_iter().chain([joined(&number)])
        });
        Self { numbers: numbers.collect(), text: folded(&whole), unmarked: folded(&unmarked.join("\n")) }
    }

    fn holds(&self, said: &Said) -> bool {
        match said {
            Said::Quotation(text) => {
                let text = folded(text).replace("[...]", "...").replace('…', "...");
                let ends = |c: char| c.is_whitespace() || c.is_ascii_punctuation();
                text.split("...").map(|part| part.trim_matches(ends)).all(|part| self.contains(part))
            }
            Said::Name(text) => self.holds_name(&folded(text)),
            Said::Number(text) => {
                self.numbers.contains(&joined(text)) || text.split(is_separator).all(|part| self.numbers.contains(part))
            }
        }
    }

    fn contains(&self, folded: &str) -> bool {
        self.text.contains(folded) || self.unmarked.contains(folded)
    }

    /// Whether the material contains a name, ignoring its arguments or place in a file; or all parts of a path of
    /// names.
    fn holds_name(&self, name: &str) -> bool {
        let bare = name.split('(').next().unwrap_or_default().trim();
        let place = name.split('#').next().unwrap_or_default();
        let place = place.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | '-'));
        let is_path = bare.contains("::") || bare.contains('.');
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
        let parts = || bare.split([':', '.']).filter(|part| !part.is_empty());
        self.contains(name)
            || [bare, place].into_iter().any(|part| part.chars().count() >= NAME && self.contains(part))
            || is_path && bare.chars().all(is_name) && parts().all(|part| self.contains(part))
    }
}

/// Paragraphs of a text, and the content of its fences.
fn parts(text: &str) -> (Vec<String>, String) {
    let (mut prose, mut fenced, mut tracker) = (vec![String::new()], String::new(), Tracker::default());
    for line in text.lines() {
        match tracker.next(line) {
            Part::Outside if !line.trim().is_empty() => {
                if let Some(last) = prose.last_mut() {
                    last.push_str(line);
                    last.push('\n');
                }
            }
            Part::Inside => {
                fenced.push_str(line);
                fenced.push('\n');
            }
            _ => prose.push(String::new()),
        }
    }
    (prose, fenced)
}

/// What a paragraph says word for word. Link targets are checked elsewhere (spec 5.5).
fn said(paragraph: &str) -> Vec<Said> {
    let signs: Vec<char> = paragraph.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(&sign) = signs.get(at) {
        let before = at.checked_sub(1).and_then(|at| signs.get(at)).copied();
        let next = match sign {
            '`' => code(&signs, at, &mut found),
            ']' if signs.get(at + 1) == Some(&'(') => position(&signs, at, |c| c == ')'),
            _ if is_quotation_mark(sign) && !before.is_some_and(char::is_alphanumeric) => {
                quotation(&signs, at, &mut found)
            }
            _ if sign.is_ascii_digit() => Some(number(&signs, at, before, &mut found)),
            _ => None,
        };
        at = next.map_or(at, |end| end.max(at)) + 1;
    }
    found
}

/// The position of the first matching sign from `from` on.
fn position(signs: &[char], from: usize, wanted: impl Fn(char) -> bool) -> Option<usize> {
    signs.iter().skip(from).position(|sign| wanted(*sign)).map(|found| from + found)
}

fn text_of(signs: &[char], from: usize, to: usize) -> String {
    signs.get(from..to).unwrap_or_default().iter().collect()
}

/// The last sign of a code span that begins here.
fn code(signs: &[char], at: usize, found: &mut Vec<Said>) -> Option<usize> {
    let begin = position(signs, at, |sign| sign != '`')?;
    let marks = begin - at;
    let mut from = begin;
    loop {
        let open = position(signs, from, |sign| sign == '`')?;
        let close = position(signs, open, |sign| sign != '`').unwrap_or(signs.len());
        if close - open != marks {
            from = close;
            continue;
        }
        let text = text_of(signs, begin, open).trim().to_owned();
        if text.chars().count() >= NAME && text.chars().any(char::is_alphanumeric) {
            found.push(Said::Name(text));
        }
        return Some(close - 1);
    }
}

/// The last sign of a quotation that begins here.
fn quotation(signs: &[char], at: usize, found: &mut Vec<Said>) -> Option<usize> {
    signs.get(at + 1).filter(|sign| !sign.is_whitespace())?;
    let close = position(signs, at + 1, is_quotation_mark).filter(|close| close - at <= QUOTATION)?;
    let text = text_of(signs, at + 1, close);
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    if words < WORDS {
        // Names and numbers in it are examined one by one.
        return None;
    }
    found.push(Said::Quotation(text));
    Some(close)
}

/// The last sign of a number that begins here. A part of a word is not a number.
fn number(signs: &[char], at: usize, before: Option<char>, found: &mut Vec<Said>) -> usize {
    let end = end_of_number(signs, at);
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let text = text_of(signs, at, end);
    let alone = !before.is_some_and(is_word) && !signs.get(end).copied().is_some_and(is_word);
    if alone && text.chars().filter(char::is_ascii_digit).count() >= DIGITS {
        found.push(Said::Number(text));
    }
    end - 1
}

/// The position after the last digit. A separator must be between two digits.
fn end_of_number(signs: &[char], at: usize) -> usize {
    let is_digit = |at: usize| signs.get(at).is_some_and(char::is_ascii_digit);
    let mut end = at + 1;
    while is_digit(end) || signs.get(end).copied().is_some_and(is_separator) && is_digit(end + 1) {
        end += 1;
    }
    end
}

/// All numbers of a text, with their separators.
fn numbers(text: &str) -> Vec<String> {
    let signs: Vec<char> = text.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(begin) = position(&signs, at, |sign| sign.is_ascii_digit()) {
        at = end_of_number(&signs, begin);
        found.push(text_of(&signs, begin, at));
    }
    found
}

fn is_separator(sign: char) -> bool {
    matches!(sign, ',' | '.' | '_' | '\'' | '’')
}

/// A number without its digit separators.
fn joined(number: &str) -> String {
    number.chars().filter(|sign| *sign == '.' || !is_separator(*sign)).collect()
}

fn is_quotation_mark(sign: char) -> bool {
    matches!(sign, '"' | '“' | '”' | '„' | '«' | '»')
}

/// A text in the form for comparing.
fn folded(text: &str) -> String {
    let signs = text.chars().filter(|sign| !matches!(sign, '`' | '*')).map(|sign| match sign {
        _ if is_quotation_mark(sign) => '"',
        '’' | '‘' => '\'',
        _ => sign,
    });
    signs.collect::<String>().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Values of the fields of a JSON value that hold quotations.
fn quotes_of(value: &Value) -> Vec<Said> {
    match value {
        Value::Array(items) => items.iter().flat_map(quotes_of).collect(),
        Value::Object(fields) => {
            let of_field = |(name, value): (&String, &Value)| match value {
                Value::String(text) if name == QUOTE && !text.trim().is_empty() => {
                    vec![Said::Quotation(text.clone())]
                }
                _ => quotes_of(value),
            };
            fields.iter().flat_map(of_field).collect()
        }
        _ => Vec::new(),
    }
}
