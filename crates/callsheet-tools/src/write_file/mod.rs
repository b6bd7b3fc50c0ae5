//! `write_file`: a change to one file. It writes nothing: the host validates the change together with all others of the
//! call, shows it and applies it (spec 3.10, 11.4).

use async_trait::async_trait;
use callsheet_core::issue::Span;
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_format::edit::{Change, ChangeWay};
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::common::place::writable;
use crate::common::{Stop, arguments, settle, spec};

/// The tool.
#[derive(Debug)]
pub struct WriteFile(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: Option<String>,
    old_text: Option<String>,
    new_text: Option<String>,
    start_line: Option<u32>,
    end_line: Option<u32>,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    delete: bool,
}

impl WriteFile {
    /// The tool.
    pub fn new() -> Self {
        let classes = (ToolEffect::Write, RepeatClass::Idempotent);
        let aliases = &["file_access", "text_editor", "write", "edit", "multiedit", "apply_patch"];
        let (description, schema) = (include_str!("description.md"), include_str!("schema.json"));
        Self(spec("write_file", aliases, description, schema, classes))
    }
}

impl Default for WriteFile {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(change(given, context))
    }
}

fn change(given: &Value, context: &ToolContext) -> Result<ToolOutcome, Stop> {
    let wanted: Arguments = arguments(given)?;
    let path = writable(context, &wanted.path)?;
    let way = way(wanted)?;
    Ok(ToolOutcome::Changes(vec![Change { path, way, span: Span { first: 1, last: 1 } }]))
}

/// Exactly one way of spec 3.9. Symbols are only for replies, where a model need not escape the text.
fn way(wanted: Arguments) -> Result<ChangeWay, Stop> {
    let Arguments { content, old_text, new_text, start_line, end_line, overwrite, delete, .. } = wanted;
    match (content, old_text, new_text, start_line, end_line, delete) {
        (Some(content), None, None, None, None, false) => Ok(ChangeWay::Whole { content, overwrite }),
        (None, Some(old), Some(new), None, None, false) if !old.is_empty() => {
            Ok(ChangeWay::Excerpt { old: chomp(old), new: chomp(new) })
        }
        (None, None, Some(new), Some(first), Some(last), false) => Ok(ChangeWay::Lines { first, last, new }),
        (None, None, None, None, None, true) => Ok(ChangeWay::Delete),
        _ => Err(Stop::failed("write-one-way", &[])),
    }
}

/// Removes the last line end from lines that are given as a string. As in a reply, it ends the last line and is not a
/// blank line.
fn chomp(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}
