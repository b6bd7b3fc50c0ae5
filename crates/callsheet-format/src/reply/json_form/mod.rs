//! JSON forms of replies: what a provider wrote under the schema of a [`Form`] becomes the canonical Markdown of the
//! same reply, which the ordinary reader then reads. So every check exists once, and a person sees one format.
//!
//! Free text stays free but cannot become structure: anything that would be a heading, a marker or a tag is escaped.
//! Issues about the JSON name lines of the original reply. Issues of the reader name lines of the Markdown, which a
//! retry also shows as the previous proposal.

mod plain;
mod write;

use callsheet_core::issue::{Issue, IssueCode, Repair, RepairCode, Span};
use callsheet_core::nouns::Phase;
use serde_json::Value as Json;

use crate::grammar::Form;
use crate::markdown::{channels, thinking};
use crate::reading::Diagnostics;

use super::json::{self, Fault, Scanner};

/// A JSON form as Markdown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonForm {
    /// Canonical Markdown. Empty after an issue.
    pub text: String,
    /// Corrections of the JSON.
    pub repairs: Vec<Repair>,
    /// What is wrong with the JSON itself.
    pub issues: Vec<Issue>,
}

/// Reads a reply that may be the JSON form of `form`. `None` if it is not JSON with a member of the form; it is then
/// read as Markdown.
pub fn read_json_form(text: &str, form: &Form, phase: Phase) -> Option<JsonForm> {
    let unwrapped = channels::unwrapped(text);
    let text = unwrapped.as_ref().map_or(text, |(said, _)| said.as_str());
    let start = start_of(text)?;
    let mut notes = Diagnostics::new(phase, false);
    let body = text.get(start..)?;
    let document = match json::read_document(body) {
        Ok(document) => document,
        // Text after the object is ignored.
        Err(fault) => match Scanner::new(body).one(0) {
            Ok(document) => document,
            Err(_) => {
                let begins = |name: &str| body.contains(&format!("\"{name}\""));
                return form.names().into_iter().any(begins).then(|| refused(text, start, &fault, notes));
            }
        },
    };
    let value = document.values.first().map(|located| &located.value).and_then(Json::as_object)?;
    if !form.names().iter().any(|name| value.contains_key(*name)) {
        return None;
    }
    let (mut line, mut counted) = (1, 0);
    for repair in &document.repairs {
        // Repairs are in order, so the lines between two are counted only once.
        let at = start.saturating_add(repair.at);
        (line, counted) = match text.get(counted..at) {
            Some(between) => (line_at(between, between.len()).saturating_add(line).saturating_sub(1), at),
            None => (line_at(text, at), at),
        };
        notes.repair(repair.code, Span::line(line), &repair.before, &repair.after);
    }
    let end = document.values.first().map_or(0, |located| located.end);
    let rest = body.get(end..).unwrap_or_default().trim().trim_matches('`');
    if !rest.trim().is_empty() {
        let line = line_at(text, start.saturating_add(end));
        notes.repair(RepairCode::ProseTrimmed, Span::line(line), rest, "");
    }
    let text = write::markdown(form, value, phase, &mut notes);
    let done = notes.finish(text);
    Some(JsonForm { text: done.value, repairs: done.repairs, issues: done.issues })
}

/// Byte at which the object begins: after blanks, a block of reasoning and the opening mark of a fence.
fn start_of(text: &str) -> Option<usize> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    for (open, close) in thinking::TAGS {
        if let Some((_, after)) = rest.strip_prefix(open).and_then(|inside| inside.split_once(close)) {
            rest = after.trim_start();
        }
    }
    if let Some(inside) = rest.strip_prefix("```") {
        rest = inside.strip_prefix("json").or_else(|| inside.strip_prefix("JSON")).unwrap_or(inside).trim_start();
    }
    rest.starts_with('{').then(|| text.len() - rest.len())
}

fn refused(text: &str, start: usize, fault: &Fault, mut notes: Diagnostics) -> JsonForm {
    let code = if fault.truncated { IssueCode::JsonTruncated } else { IssueCode::JsonInvalid };
    let line = line_at(text, start.saturating_add(fault.at));
    let facts = [("line", &*line.to_string()), ("why", fault.what.as_str())];
    notes.push(notes.issue(code, "reply", Span::line(line), &facts));
    let done = notes.finish(());
    JsonForm { text: String::new(), repairs: done.repairs, issues: done.issues }
}

/// 1-based line of a byte.
fn line_at(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
    u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
}
