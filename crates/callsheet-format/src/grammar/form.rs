//! Describes a reply: what it may contain, in order. The same description gives the grammar of its Markdown
//! ([`Form::grammar`]), the schema of its JSON form ([`Form::schema`]) with an outline ([`Form::outline`]), and the
//! conversion from the JSON form back to Markdown (`reply::json_form`).

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Its content, in order.
    pub parts: Vec<Part>,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A fixed text. The JSON form omits it.
    Text(String),
    /// One value with the text around it.
    Member(Member),
    /// An optional text. In the JSON form it is a boolean.
    Flag {
        /// Name in the JSON form.
        name: String,
        /// The text.
        text: String,
    },
    /// Repeated groups of the same form.
    List {
        /// Name in the JSON form.
        name: String,
        /// The first group, if its text or its choices differ. The JSON form uses one form for all.
        first: Option<Vec<Part>>,
        /// One group.
        item: Vec<Part>,
        /// At least.
        min: u32,
        /// At most.
        max: u32,
        /// What may replace the list if it is empty. In the JSON form, these members are beside the list and may be
        /// null.
        empty: Vec<Part>,
    },
    /// One of several groups. In the JSON form, an object whose `kind` names it.
    OneOf {
        /// Name in the JSON form. Empty if the group is the whole object.
        name: String,
        /// The groups by name.
        ways: Vec<(String, Vec<Part>)>,
    },
    /// Tool calls, each in a separate `json` fence (spec 3.7).
    Calls {
        /// Text before the first fence.
        before: String,
        /// Name and parameters of the tools.
        tools: Vec<(String, Json)>,
        /// Whether at least one is required.
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
    /// Text after the value. Begins with a newline unless empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// Whether it is required.
    pub needed: bool,
}

/// The kinds of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Prose on one line, after a label.
    Line {
        /// Characters at least.
        min: u32,
        /// Characters at most.
        max: u32,
    },
    /// Prose on a separate line.
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
        /// The maximum number of characters of a line.
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
    /// A path in the project that is valid in form. The file need not exist.
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
    /// Those of them that name folders. A task may be done for each file of one.
    pub folders: Vec<String>,
    /// The maximum number of new sections.
    pub max_sections: u32,
    /// The maximum number of new tasks in a section.
    pub max_tasks: u32,
    /// Number of the first new name: `Task <first_number>: …`.
    pub first_number: u32,
    /// Whether at least one is required.
    pub needed: bool,
}

/// The beginning of the name of the `number`th new task. A few words follow.
pub fn new_name(number: u32) -> String {
    format!("Task {number}: ")
}

/// The link to the output of the `number`th new task. The beginning of its name is enough for a link (spec 5.1).
pub fn new_link(number: u32) -> String {
    format!("[Task {number}](#task-{number}-results)")
}

impl Member {
    /// A required value.
    pub(super) fn needed(name: &str, before: &str, value: Value) -> Part {
        Part::Member(Self { name: name.into(), before: before.into(), value, after: String::new(), needed: true })
    }

    /// An optional value.
    pub(super) fn optional(name: &str, before: &str, value: Value) -> Part {
        Part::Member(Self { name: name.into(), before: before.into(), value, after: String::new(), needed: false })
    }
}

impl Part {
    /// A fixed text.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// An optional text.
    pub(super) fn flag(name: &str, text: &str) -> Self {
        Self::Flag { name: name.into(), text: text.into() }
    }
}
