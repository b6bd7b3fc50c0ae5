//! The description of a reply: what may stand in it, in order. From one description come the grammar of its Markdown
//! ([`Form::grammar`]), the schema of its JSON form ([`Form::schema`]) with an outline of it ([`Form::outline`]), and the
//! way back from the JSON form to the Markdown (`reply::json_form`).

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// What it holds, in order.
    pub parts: Vec<Part>,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text that always stands there. The JSON form has nothing for it.
    Text(String),
    /// One value with the text around it.
    Member(Member),
    /// A text that stands there or not; a boolean in the JSON form.
    Flag {
        /// Name in the JSON form.
        name: String,
        /// The text.
        text: String,
    },
    /// Groups of the same form.
    List {
        /// Name in the JSON form.
        name: String,
        /// The first group, where its text or its choices differ; the JSON form has one form for all.
        first: Option<Vec<Part>>,
        /// One group.
        item: Vec<Part>,
        /// At least.
        min: u32,
        /// At most.
        max: u32,
        /// What may stand there in place of any; its members stand beside the list in the JSON form, and may be null.
        empty: Vec<Part>,
    },
    /// One of several groups; in the JSON form an object whose `kind` names it.
    OneOf {
        /// Name in the JSON form; empty if the group is all of its object.
        name: String,
        /// The groups by name.
        ways: Vec<(String, Vec<Part>)>,
    },
    /// Tool calls, one `json` fence each (spec 3.7).
    Calls {
        /// Text before the first fence.
        before: String,
        /// Name and parameters of the tools.
        tools: Vec<(String, Json)>,
        /// There must be one.
        needed: bool,
    },
    /// Task sections (spec 3.4).
    Sections(Sections),
}

/// A value with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Name in the JSON form.
    pub name: String,
    /// Text before the value.
    pub before: String,
    /// The value.
    pub value: Value,
    /// Text behind the value; begins with a newline unless empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// It may not be left out.
    pub needed: bool,
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Prose on one line, behind a label.
    Line {
        /// Characters at least.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose on a line of its own.
    Sentence {
        /// Characters at least.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose of several lines.
    Block {
        /// Lines at most.
        lines: u32,
        /// Characters of a line at most.
        line: u32,
    },
    /// Free Markdown: prose, headings, fences.
    Document,
    /// A fenced text.
    Fence {
        /// Lines at most.
        lines: u32,
    },
    /// One of some texts.
    Choice(Vec<String>),
    /// 1 to `max` of some Markdown links.
    Links {
        /// The links.
        links: Vec<String>,
        /// At most.
        max: u32,
        /// Text between two.
        between: String,
    },
    /// One of some known paths.
    Path(Vec<String>),
    /// A path inside the project by its form, of a file that need not exist.
    NewPath,
    /// A file name with an extension.
    FileName,
    /// A symbol or heading of a file: the fragment of spec 5.3.
    Symbol,
    /// A whole number from 1.
    Number,
}

/// Sections of new tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sections {
    /// Complete Markdown links that are valid for every new task.
    pub references: Vec<String>,
    /// New sections at most.
    pub max_sections: u32,
    /// New tasks of a section at most.
    pub max_tasks: u32,
    /// Number of the first new name: `Task <first_number>: …`.
    pub first_number: u32,
    /// There must be one.
    pub needed: bool,
}

/// What the name of the `number`th new task begins with. A few words follow.
pub fn new_name(number: u32) -> String {
    format!("Task {number}: ")
}

/// The link to the output of the `number`th new task, by which the beginning of its name is enough (spec 5.1).
pub fn new_link(number: u32) -> String {
    format!("[Task {number}](#task-{number}-results)")
}

impl Member {
    /// A value that may not be left out.
    pub(super) fn needed(name: &str, before: &str, value: Value) -> Part {
        Part::Member(Self { name: name.into(), before: before.into(), value, after: String::new(), needed: true })
    }

    /// A value that may be left out.
    pub(super) fn optional(name: &str, before: &str, value: Value) -> Part {
        Part::Member(Self { name: name.into(), before: before.into(), value, after: String::new(), needed: false })
    }
}

impl Part {
    /// A text that always stands there.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// A text that stands there or not.
    pub(super) fn flag(name: &str, text: &str) -> Self {
        Self::Flag { name: name.into(), text: text.into() }
    }
}
