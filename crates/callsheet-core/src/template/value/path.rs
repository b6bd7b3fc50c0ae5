//! Variable paths: an identifier followed by any number of `.ident` and `[digits]`, or `record(path)` for the record
//! of a call, followed by the same (spec 4).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The largest length of an identifier.
const LONGEST: usize = 64;

/// The largest number of digits in an index.
const DIGITS: usize = 9;

/// The text before a path whose record is meant.
const RECORD: &str = "record(";

/// The fields of a record to which a path may be meant to lead.
const RECORD_FIELDS: [&str; 4] = ["status", "error", "notes", "criteria"];

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// `.name`
    Name(String),
    /// `[0]`, from 0.
    Index(usize),
    /// `record(…)` around everything before it: leads from the value of a result to the record of its call.
    Record,
}

/// A variable and the steps into its value. It is written and recorded as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path {
    /// The variable.
    pub name: String,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Whether `text` is `[A-Za-z_][A-Za-z0-9_-]{0,63}` (spec 2.1).
pub fn is_ident(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && ident_length(text) == text.len()
}

/// Whether `text` is an identifier in which `.` is allowed after the first character.
pub fn is_template_name(text: &str) -> bool {
    text.len() <= LONGEST
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// The length in bytes of the identifier at the start of `text`.
fn ident_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return 0;
    }
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count()
}

impl Path {
    /// A variable without steps.
    pub fn variable(name: &str) -> Self {
        Self { name: name.to_owned(), steps: Vec::new() }
    }

    /// Whether it names a value of Callsheet about a run or a task (spec 4).
    pub fn is_of_the_system(&self) -> bool {
        let Some(Step::Name(field)) = self.steps.first() else { return false };
        matches!((self.name.as_str(), field.as_str()), ("run", "id" | "date") | ("task", "id" | "name"))
    }

    /// The path to the field of the same name in the record of the call, if the record has one.
    pub fn in_record(&self) -> Option<Self> {
        let Some((Step::Name(name), before)) = self.steps.split_last() else { return None };
        let known = RECORD_FIELDS.contains(&name.as_str()) && !self.steps.contains(&Step::Record);
        let steps = before.iter().cloned().chain([Step::Record, Step::Name(name.clone())]).collect();
        known.then(|| Self { name: self.name.clone(), steps })
    }

    /// The message for a path that leads nowhere. Suggests the path to the record of the call if that leads
    /// somewhere.
    pub fn unknown(&self, value: &dyn Fn(&Self) -> Option<serde_json::Value>) -> String {
        match self.in_record().filter(|record| value(record).is_some()) {
            Some(record) => format!("{self}; for the record of the call write {record}"),
            None => self.to_string(),
        }
    }

    /// The canonical path: `result[0]` is `step_results[0]` (spec 2.6). Also says whether the path was written in
    /// another way.
    pub fn canonical(mut self) -> (Self, bool) {
        let alias = self.name == "result" && matches!(self.steps.first(), Some(Step::Index(_)));
        if alias {
            "step_results".clone_into(&mut self.name);
        }
        (self, alias)
    }

    /// Parses the whole of `text` as a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, length) = Self::prefix(text)?;
        (length == text.len()).then_some(path)
    }

    /// The byte offset of the variable in the text of a path.
    pub fn variable_at(text: &str) -> usize {
        let inside = text.strip_prefix(RECORD).map(str::trim_start);
        inside.map_or(0, |inside| text.len() - inside.len())
    }

    /// The longest path at the start of `text`, and its length in bytes.
    pub fn prefix(text: &str) -> Option<(Self, usize)> {
        let (mut path, mut length) = match Self::variable_at(text) {
            0 => {
                let length = ident_length(text);
                if length == 0 || length > LONGEST {
                    return None;
                }
                (Self::variable(text.get(..length)?), length)
            }
            start => {
                let (mut inner, inside) = Self::prefix(text.get(start..)?)?;
                let rest = text.get(start + inside..)?;
                let close = rest.trim_start().strip_prefix(')')?;
                if inner.steps.contains(&Step::Record) {
                    return None;
                }
                inner.steps.push(Step::Record);
                (inner, text.len() - close.len())
            }
        };
        loop {
            let rest = text.get(length..)?;
            let Some((step, taken)) = step(rest) else { return Some((path, length)) };
            path.steps.push(step);
            length += taken;
        }
    }
}

fn step(rest: &str) -> Option<(Step, usize)> {
    if let Some(rest) = rest.strip_prefix('.') {
        let length = ident_length(rest);
        return (length > 0 && length <= LONGEST)
            .then(|| Some((Step::Name(rest.get(..length)?.to_owned()), length + 1)))
            .flatten();
    }
    let inside = rest.strip_prefix('[')?;
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > DIGITS || inside.as_bytes().get(digits) != Some(&b']') {
        return None;
    }
    Some((Step::Index(inside.get(..digits)?.parse().ok()?), digits + 2))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.contains(&Step::Record) {
            f.write_str(RECORD)?;
        }
        f.write_str(&self.name)?;
        for step in &self.steps {
            match step {
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Record => f.write_str(")")?,
            }
        }
        Ok(())
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.to_string()
    }
}

impl TryFrom<String> for Path {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a path"))
    }
}
