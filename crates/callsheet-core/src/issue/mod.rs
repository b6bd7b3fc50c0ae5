//! What reading reports about a text: repairs that it made, issues that it found, and their places (spec 4.3, 4.8).
//! Plain data: the readers are in `callsheet-format`.

mod codes;

pub use codes::{IssueCode, RepairCode};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::nouns::Phase;

/// Lines of the original text, 1-based and inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct Span {
    /// First line.
    pub first: u32,
    /// Last line.
    pub last: u32,
}

impl From<(u32, u32)> for Span {
    fn from((first, last): (u32, u32)) -> Self {
        Self { first, last }
    }
}

impl From<Span> for (u32, u32) {
    fn from(span: Span) -> Self {
        (span.first, span.last)
    }
}

/// Whether an issue rejects the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Refuses it.
    Error,
    /// Does not.
    Warning,
}

/// One repair that was made. Excerpts are at most 120 characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repair {
    /// The kind of repair.
    pub code: RepairCode,
    /// Place in the original text.
    pub span: Span,
    /// What stood there.
    pub before: String,
    /// The text as it was read.
    pub after: String,
    /// Name of the task that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Where an issue is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Location {
    /// Phase of the text.
    pub phase: Phase,
    /// Section heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Task name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Call id, change number or link within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Label or key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Lines in the original text.
    pub span: Span,
}

/// What is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Issue {
    /// Code.
    pub code: IssueCode,
    /// Whether it rejects the reply.
    pub severity: Severity,
    /// The place of the fault.
    #[serde(rename = "where")]
    pub place: Location,
    /// What is wrong: a clause without a final period.
    pub what: String,
    /// What to do: a clause without a final period.
    #[serde(rename = "do")]
    pub todo: String,
    /// The allowed values: all of them up to 30; else the five nearest, followed by the count in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// The raw block, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// How many allowed values are listed in full (spec 4.8).
const ALLOWED: usize = 30;

/// The longest raw block in characters (spec 4.8).
pub const RAW: usize = 2_000;

impl Span {
    /// One line.
    pub fn line(line: u32) -> Self {
        Self { first: line, last: line }
    }

    /// From the first line of `self` to the last of `other`.
    pub fn to(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

impl Issue {
    /// The issue as a warning.
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Whether it is one of very many and is only counted. Such an issue has no words.
    pub fn is_counted(&self) -> bool {
        self.what.is_empty()
    }

    /// Sets the label or key.
    pub fn key(mut self, key: &str) -> Self {
        if !self.is_counted() {
            self.place.key = Some(key.to_owned());
        }
        self
    }

    /// Sets the call, change or link.
    pub fn item(mut self, item: &str) -> Self {
        if !self.is_counted() {
            self.place.item = Some(item.to_owned());
        }
        self
    }

    /// Names the task.
    pub fn task(mut self, task: &str) -> Self {
        if !self.is_counted() {
            self.place.task = Some(task.to_owned());
        }
        self
    }

    /// Sets the allowed values: all of them up to 30; else the five nearest to `wanted`, and the count.
    pub fn allowed<'a>(mut self, wanted: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        if self.is_counted() {
            return self;
        }
        let values: Vec<&str> = values.into_iter().collect();
        self.allowed = if values.len() <= ALLOWED {
            values.into_iter().map(str::to_owned).collect()
        } else {
            let mut near = crate::fuzzy::nearest(wanted, values.iter().copied(), 5);
            near.push(format!("({} in all)", values.len()));
            near
        };
        self
    }

    /// Quotes the raw block, cut to 2,000 characters.
    pub fn raw(mut self, raw: &str) -> Self {
        if !self.is_counted() {
            let end = raw.char_indices().nth(RAW).map_or(raw.len(), |(at, _)| at);
            self.raw = Some(raw.get(..end).unwrap_or(raw).to_owned());
        }
        self
    }
}

impl fmt::Display for Issue {
    /// The text form of spec 4.8: `<section>, task "<name>", <key> (lines a-b): <what>. <what to do>. Allowed:
    /// <values>.`, followed by the raw block in a fence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        let parts = [
            place.section.clone(),
            place.task.as_ref().map(|task| format!("task \"{task}\"")),
            place.key.clone(),
            place.item.clone(),
        ];
        let words: Vec<String> = parts.into_iter().flatten().collect();
        let gap = if words.is_empty() { "" } else { " " };
        if !words.is_empty() {
            write!(f, "{}", words.join(", "))?;
        }
        match place.span {
            // The issue is about a file, or about what a run knows, and not about a line of a text.
            Span { first: 0, .. } if words.is_empty() => {}
            Span { first: 0, .. } => write!(f, ": ")?,
            Span { first, last } if first == last => write!(f, "{gap}(line {first}): ")?,
            Span { first, last } => write!(f, "{gap}(lines {first}-{last}): ")?,
        }
        write!(f, "{}.", self.what)?;
        if !self.todo.is_empty() {
            let mut letters = self.todo.chars();
            let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
            write!(f, " {first}{}.", letters.as_str())?;
        }
        if !self.allowed.is_empty() {
            write!(f, " Allowed: {}.", self.allowed.join(", "))?;
        }
        if let Some(raw) = &self.raw {
            write!(f, "\n{}", crate::fence::fence("text", raw))?;
        }
        Ok(())
    }
}
