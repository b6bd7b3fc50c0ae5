//! Typed values of front matter keys. A wrong type is an error with its position (spec 7.3).

use std::collections::BTreeMap;

use callsheet_core::fuzzy::{nearest, within};

use super::issue::{At, Report};
use crate::yaml::{Node, Value};

/// Normalises a key: keys are compared without case, `_` and `-` (spec 7.3).
pub(super) fn normal(key: &str) -> String {
    key.chars().filter(|character| !matches!(character, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The maximum number of edits between a misspelt word and the right one.
pub(super) const NEAR: usize = 2;

/// How many words are told that may be meant.
const MEANT: usize = 3;

/// The words of which `written` is probably a misspelling, nearest first. Short words have fewer edits. Words are
/// compared like keys.
pub(super) fn meant<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let folded = normal(written);
    let limit = (folded.chars().count() / 4).clamp(1, NEAR);
    let mut near = nearest(written, known, MEANT);
    near.retain(|known| within(&folded, &normal(known), limit));
    near
}

/// A map with normalised keys, each at most once. Errors name both lines.
pub(super) fn entries<'a>(
    map: &'a [(Node, Node)],
    aliases: &[(String, &'static str)],
    report: &mut Report<'_>,
) -> Vec<Entry<'a>> {
    let mut found: Vec<Entry<'a>> = Vec::new();
    // The first line of each key: a canonical name, or the folded word of an unknown one.
    let mut lines: BTreeMap<(bool, String), u32> = BTreeMap::new();
    for (key, value) in map {
        let Value::Scalar { text, .. } = &key.value else {
            report.error(key.at, format!("a key is {}", key.value.kind()), "write a plain word before the colon");
            continue;
        };
        let folded = normal(text);
        let name = aliases.iter().find(|(alias, _)| *alias == folded).map(|(_, name)| *name);
        let word = name.map_or((false, folded), |name| (true, name.to_owned()));
        if let Some(first) = lines.get(&word) {
            report.error(
                key.at,
                format!("the key \"{text}\" occurs twice, first on line {first}"),
                "keep one of the two",
            );
            continue;
        }
        lines.insert(word, key.at.0);
        found.push(Entry { name, written: text, at: key.at, value });
    }
    found
}

/// One key with its value.
pub(super) struct Entry<'a> {
    /// The canonical key. `None` for an unknown one.
    pub(super) name: Option<&'static str>,
    pub(super) written: &'a str,
    pub(super) at: At,
    pub(super) value: &'a Node,
}

impl Entry<'_> {
    /// A text on one or more lines. Numbers count as text.
    pub(super) fn text(&self, report: &mut Report<'_>) -> Option<String> {
        match &self.value.value {
            Value::Scalar { text, .. } => Some(text.trim().to_owned()),
            _ => self.wrong(report, "a text"),
        }
    }

    /// `true` or `false`, also `yes`, `no`, `on`, `off`. In quotes only if `quoted`, because metadata contains only
    /// texts.
    pub(super) fn flag(&self, quoted: bool, report: &mut Report<'_>) -> Option<bool> {
        let Value::Scalar { text, plain } = &self.value.value else { return self.wrong(report, "true or false") };
        match text.trim().to_lowercase().as_str() {
            _ if !plain && !quoted => self.wrong(report, "true or false"),
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => self.wrong(report, "true or false"),
        }
    }

    /// A whole number from 1.
    pub(super) fn number(&self, quoted: bool, most: u64, report: &mut Report<'_>) -> Option<u64> {
        let Value::Scalar { text, plain } = &self.value.value else { return self.wrong(report, "a whole number") };
        let number = text.trim().replace('_', "").parse::<u64>().ok().filter(|number| (1..=most).contains(number));
        if (*plain || quoted) && number.is_some() { number } else { self.wrong(report, "a whole number from 1") }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], report: &mut Report<'_>) -> Option<T> {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let expected = format!("one of {}", allowed.join(", "));
        let Value::Scalar { text, .. } = &self.value.value else { return self.wrong(report, &expected) };
        let folded = text.trim().to_lowercase();
        match words.iter().find(|(word, _)| *word == folded) {
            Some((_, value)) => Some(*value),
            None => {
                let wrong = self.wrong(report, &expected);
                report.misspelt(text.trim(), meant(&folded, allowed));
                wrong
            }
        }
    }

    /// A map.
    pub(super) fn map(&self, report: &mut Report<'_>) -> Option<&[(Node, Node)]> {
        match &self.value.value {
            Value::Map(entries) => Some(entries),
            Value::Null => Some(&[]),
            _ => self.wrong(report, "a map"),
        }
    }

    /// Texts in a list, or one per line. Each is a single line.
    pub(super) fn lines(&self, report: &mut Report<'_>) -> Option<Vec<String>> {
        let one = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Option<Vec<String>> = match &self.value.value {
            Value::Null => Some(Vec::new()),
            Value::Scalar { text, .. } => Some(text.lines().map(one).collect()),
            Value::List(items) => items
                .iter()
                .map(|item| match &item.value {
                    Value::Scalar { text, .. } => Some(one(text)),
                    _ => self.wrong(report, "a list of texts"),
                })
                .collect(),
            Value::Map(_) => self.wrong(report, "a list of texts"),
        };
        Some(lines?.into_iter().filter(|line| !line.is_empty()).collect())
    }

    /// Names in a list, or in a text separated by commas or blanks. Blanks inside parentheses do not separate.
    pub(super) fn names(&self, report: &mut Report<'_>) -> Option<Vec<(String, At)>> {
        match &self.value.value {
            Value::Null => Some(Vec::new()),
            Value::Scalar { text, .. } => {
                Some(split_names(text).into_iter().map(|name| (name, self.value.at)).collect())
            }
            Value::List(items) => items
                .iter()
                .map(|item| match &item.value {
                    Value::Scalar { text, .. } => Some((text.trim().to_owned(), item.at)),
                    _ => self.wrong(report, "a list of names"),
                })
                .collect(),
            Value::Map(_) => self.wrong(report, "a list of names"),
        }
    }

    fn wrong<T>(&self, report: &mut Report<'_>, expected: &str) -> Option<T> {
        let found = match &self.value.value {
            Value::Scalar { text, .. } => format!("\"{}\"", text.chars().take(60).collect::<String>()),
            other => other.kind().to_owned(),
        };
        report.error(
            self.value.at,
            format!("\"{}\" has the wrong type: {found}", self.written),
            format!("write {expected}"),
        );
        None
    }
}

fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (character == ',' || character.is_whitespace()) {
            names.push(std::mem::take(&mut name));
        } else {
            name.push(character);
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}
