//! Texts in files with one `key = text` per line. `{name}` is a placeholder for a value.

use std::collections::BTreeMap;
use std::fmt::Display;

/// A table of texts by key.
#[derive(Debug)]
pub struct Texts(BTreeMap<&'static str, &'static str>);

impl Texts {
    /// The lines of these files. If a key occurs several times, the last line counts.
    pub fn of(files: &[&'static str]) -> Self {
        Self(files.iter().flat_map(|file| file.lines()).filter_map(|line| line.split_once(" = ")).collect())
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Option<&'static str> {
        self.0.get(key).copied()
    }

    /// What is wrong and what to do: the two clauses of a text, separated by ` | `.
    pub fn clauses(&self, key: &str) -> Option<(&'static str, &'static str)> {
        self.get(key).map(|text| text.split_once(" | ").unwrap_or((text, "")))
    }

    /// All keys with their texts, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().map(|(key, text)| (*key, *text))
    }
}

/// Replaces each `{name}` by its value in one pass. Inserted text is not scanned, and a name without a value stays.
pub fn fill<V: Display + ?Sized>(text: &str, values: &[(&str, &V)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let known = after.split_once('}').and_then(|(name, after)| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (value.to_string(), after))
        });
        rest = match known {
            Some((value, after)) => {
                out.push_str(&value);
                after
            }
            None => {
                out.push('{');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{Texts, fill};

    #[test]
    fn values_are_inserted_once() {
        assert_eq!(fill("{a} and {b} {c {d}", &[("a", "{b}"), ("b", "2")]), "{b} and 2 {c {d}");
    }

    #[test]
    fn a_table_has_texts_and_clauses() {
        let table = Texts::of(&["one = {n} is wrong | change {n}", "two = no clause = said\n\nno line"]);
        assert_eq!(table.clauses("one"), Some(("{n} is wrong", "change {n}")));
        assert_eq!(table.clauses("two"), Some(("no clause = said", "")));
        assert_eq!(table.get("three"), None);
        assert_eq!(table.iter().count(), 2);
    }
}
