//! The fragments of prompts. Each is cut to its cap before it gets a title or a fence (spec 8.5, 8.8).

use std::borrow::Cow;

use callsheet_core::fence::fence;
use callsheet_core::nouns::ToolSpec;
use callsheet_core::prompt::{Note, Value, Values};
use serde_json::{Value as Json, json};

use super::PromptKey;
use super::excerpt::{cut_lines, cut_tokens};
use super::key::Cap;

/// `## title`, a blank line and the body. Empty if the body is blank (spec 8.5).
pub fn header(title: &str, body: &str) -> String {
    if body.trim().is_empty() { String::new() } else { format!("## {title}\n\n{body}") }
}

/// Where the run takes place.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Environment {
    /// The date without a time, such as `2025-03-01`, because prompts contain no clock time (spec 8.7).
    pub date: String,
    /// Operating system.
    pub system: String,
    /// Shell of `run_command`. May be empty.
    pub shell: String,
    /// Absolute path of the project.
    pub project_root: String,
}

impl Environment {
    /// A bullet list without unknown values.
    pub fn render(&self) -> String {
        let lines: Vec<String> = [
            ("Date", &self.date),
            ("System", &self.system),
            ("Shell", &self.shell),
            ("Project root", &self.project_root),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(label, value)| format!("- {label}: {value}"))
        .collect();
        lines.join("\n")
    }
}

/// The file that a person has open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentFile {
    /// Path relative to the project root.
    pub path: String,
    /// Its text. 200 lines are shown (spec 8.8).
    pub text: String,
    /// Language tag of its fence. Empty means `text`.
    pub language: String,
}

/// A rejected list and what was wrong with it (spec 2.3, 2.11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// The reply as received.
    pub proposal: String,
    /// Text forms of its issues, one per line or with raw blocks.
    pub issues: String,
}

/// One `json` schema fence per tool (spec 8.8), or a note that there is none.
pub fn tool_instructions(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return Note::NoTools.text().to_owned();
    }
    let blocks: Vec<String> = tools
        .iter()
        .map(|tool| {
            let schema: Json =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
            fence("json", &schema.to_string())
        })
        .collect();
    blocks.join("\n\n")
}

/// Values of one prompt, each cut to the cap in the table of spec 8.7.
pub(super) struct Fill {
    key: PromptKey,
    values: Values,
}

impl Fill {
    pub(super) fn new(key: PromptKey) -> Self {
        Self { key, values: Values::new() }
    }

    pub(super) fn values(self) -> Values {
        self.values
    }

    /// A body cut to the cap of `name`.
    fn capped<'a>(&self, name: &str, body: &'a str) -> Cow<'a, str> {
        match self.key.slots().iter().find(|slot| slot.name == name).map(|slot| slot.cap) {
            None | Some(Cap::Whole) => Cow::Borrowed(body),
            Some(Cap::Lines(most)) => cut_lines(body, most),
            Some(Cap::Tokens(most)) => cut_tokens(body, most),
        }
    }

    fn set(&mut self, name: &'static str, text: String) {
        self.values.insert(name, Value::Text(text));
    }

    /// The body as it is.
    pub(super) fn plain(&mut self, name: &'static str, body: &str) {
        let text = self.capped(name, body.trim_matches('\n')).into_owned();
        self.set(name, text);
    }

    /// The body under a title.
    pub(super) fn titled(&mut self, name: &'static str, title: &str, body: &str) {
        let text = header(title, &self.capped(name, body.trim_matches('\n')));
        self.set(name, text);
    }

    /// Paths, one per line, under a title.
    pub(super) fn paths(&mut self, name: &'static str, title: &str, paths: &[String]) {
        let lines: Vec<String> = paths.iter().map(|path| format!("- {path}")).collect();
        self.titled(name, title, &lines.join("\n"));
    }

    /// The body under a title, in a typed fence that it cannot close (spec 4.7).
    pub(super) fn quoted(&mut self, name: &'static str, title: &str, language: &str, body: &str) {
        let text = if body.trim().is_empty() {
            String::new()
        } else {
            header(title, &fence(language, &self.capped(name, body)))
        };
        self.set(name, text);
    }

    /// Several texts of a person under one title, each in a separate fence.
    pub(super) fn quoted_each(&mut self, name: &'static str, title: &str, bodies: &[String]) {
        let blocks: Vec<String> = bodies.iter().map(|body| fence("text", body)).collect();
        self.set(name, header(title, &blocks.join("\n\n")));
    }

    /// Issues after a sentence that says what to do about them. They have no title that a reply could repeat.
    pub(super) fn issues(&mut self, name: &'static str, note: Note, issues: &str) {
        let text = if issues.trim().is_empty() {
            String::new()
        } else {
            format!("{}\n{}", note.text(), self.capped(name, issues.trim_matches('\n')))
        };
        self.set(name, text);
    }

    /// Reference blocks and tool outputs, or a note that there are none.
    pub(super) fn material(&mut self, name: &'static str, blocks: &str) {
        let text = if blocks.trim().is_empty() { Note::NoReferences.text() } else { blocks };
        self.plain(name, text);
    }

    /// Where the run takes place, and the project's description.
    pub(super) fn place(&mut self, environment: &Environment, description: &str) {
        self.titled("environment", "Environment", &environment.render());
        self.quoted("project_description", "Project description", "markdown", description.trim_matches('\n'));
    }

    /// A rejected list with its issues.
    pub(super) fn retry(&mut self, retry: Option<&Retry>) {
        let (proposal, issues) = retry.map_or(("", ""), |retry| (retry.proposal.as_str(), retry.issues.as_str()));
        self.quoted("previous_proposal", "Previous proposal", "markdown", proposal);
        self.issues("previous_proposal_issues", Note::IssuesList, issues);
    }

    /// The catalog, or a note that there is none.
    pub(super) fn catalog(&mut self, catalog: &str) {
        let text = if catalog.trim().is_empty() { Note::NoSkills.text() } else { catalog };
        self.plain("skill_catalog", text);
    }

    /// What is needed and expected (spec 8.8), as task keys.
    pub(super) fn query(&mut self, need: &str, expected: &str) {
        let body = format!("{}\n{}", label("What is needed", need), label("Expected output", expected));
        self.titled("query", "Task", body.trim());
    }
}

/// `- **Label** value` with further lines indented (spec 9). Empty for an empty value.
fn label(name: &str, value: &str) -> String {
    let value = value.trim();
    if value.is_empty() { String::new() } else { format!("- **{name}** {}", value.replace('\n', "\n  ")) }
}
