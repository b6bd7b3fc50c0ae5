//! Finds the JSON of calls in a block: fences, `<tool_call>` and `<function=…>` tags, bare objects (repairs
//! `json-unfenced`, `json-shape`, `json-syntax`).

use std::rc::Rc;

use callsheet_core::issue::{Issue, IssueCode, RAW, RepairCode, Span};
use serde_json::Value;

use crate::markdown::{Part, Tracker};
use crate::reading::Diagnostics;
use crate::reply::json::{Document, Fault, JsonRepair, Located, Scanner, read_document};

use super::notation::{self, Written};
use super::shape::{Read, Shaped, Tools, calls_of};

/// How a block of calls is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockForm {
    /// In a fence with this tag in lower case.
    Fence {
        /// `json` is canonical.
        tag: String,
    },
    /// Outside fences.
    Bare,
}

/// A block that may contain calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallBlock {
    /// Its text without fence marks.
    pub text: String,
    /// How it is written.
    pub form: BlockForm,
    /// Line of the original text on which `text` begins.
    pub line: u32,
    /// Whether text that is not a call is allowed here, unless it is a `json` fence.
    pub lenient: bool,
}

/// A found call, with its raw text.
#[derive(Clone, Debug)]
pub(super) struct RawCall {
    pub call: Read,
    pub span: Span,
    /// Cut to the length that an issue quotes, and shared by the calls of one value.
    pub raw: Rc<str>,
}

/// The content of a block.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The calls, unchecked.
    pub calls: Vec<RawCall>,
    /// If the block cannot be read completely, this issue. Its calls then count only if all of them are valid.
    pub unless: Option<Issue>,
}

/// The calls of a block in any form, unchecked.
pub(super) fn raw_calls(block: &CallBlock, tools: &dyn Tools, notes: &mut Diagnostics) -> Found {
    let mut finder = Finder { block, tools, notes, newlines: newlines(&block.text), calls: Vec::new(), unless: None };
    let tagged = block.text.contains('<')
        && block.text.lines().any(|line| notation::opens(line.trim_start()) || line.contains("</tool_call>"));
    match &block.form {
        BlockForm::Fence { .. } if !tagged => finder.fence(),
        _ => finder.scan(),
    }
    Found { calls: finder.calls, unless: finder.unless }
}

fn newlines(text: &str) -> Vec<usize> {
    text.match_indices('\n').map(|(at, _)| at).collect()
}

struct Finder<'a, 'b> {
    block: &'a CallBlock,
    tools: &'a dyn Tools,
    notes: &'b mut Diagnostics,
    newlines: Vec<usize>,
    calls: Vec<RawCall>,
    unless: Option<Issue>,
}

impl Finder<'_, '_> {
    fn line(&self, at: usize) -> u32 {
        let before = self.newlines.partition_point(|newline| *newline < at);
        self.block.line.saturating_add(u32::try_from(before).unwrap_or(u32::MAX))
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { first: self.line(start), last: self.line(end.max(start + 1) - 1) }
    }

    fn raw(&self, start: usize, end: usize) -> &str {
        cut(self.block.text.get(start..end).unwrap_or("").trim())
    }

    /// Reads a fence that contains only JSON.
    fn fence(&mut self) {
        let text = &self.block.text;
        let tag = match &self.block.form {
            BlockForm::Fence { tag } => tag.as_str(),
            BlockForm::Bare => "",
        };
        let json = tag == "json";
        let document = match read_document(text) {
            Ok(document) => document,
            Err(fault) => {
                if json || !self.block.lenient {
                    let issue = self.fault_issue(&fault, 0, text.len());
                    if !self.inside(text) {
                        self.calls.clear();
                    }
                    self.unless = Some(issue);
                }
                return;
            }
        };
        if self.block.lenient && !json && !document.values.iter().all(|value| self.is_call(&value.value)) {
            return;
        }
        if !json {
            self.notes.repair(RepairCode::JsonUnfenced, self.span(0, text.len()), tag, "json");
        }
        self.repairs(&document.repairs);
        let several = document.values.len() != 1;
        for value in document.values {
            self.value(value, several);
        }
        if several && text.trim().is_empty() {
            self.notes.repair(RepairCode::JsonShape, self.span(0, text.len()), "empty fence", "");
        }
    }

    fn is_call(&self, value: &Value) -> bool {
        calls_of(value.clone(), self.tools)
            .is_ok_and(|calls| !calls.is_empty() && !calls.iter().any(|call| self.is_content(call)))
    }

    /// Whether an object without a tool name is content, because content is allowed here.
    fn is_content(&self, call: &Read) -> bool {
        self.block.lenient && matches!(call, Read::Guessed { named: false, .. })
    }

    fn repairs(&mut self, repairs: &[JsonRepair]) {
        for repair in repairs {
            let line = self.line(repair.at);
            self.notes.repair(repair.code, Span { first: line, last: line }, &repair.before, &repair.after);
        }
    }

    /// Reads the values of a fence that also contains other text: words, or extra brackets. Returns false if the rest
    /// may belong to a call.
    fn inside(&mut self, text: &str) -> bool {
        let mut scanner = Scanner::new(text);
        let mut at = 0;
        while let Some(next) = text.get(at..).and_then(|rest| rest.find(['{', '[', '"'])).map(|next| at + next) {
            if text.get(next..).is_some_and(|rest| rest.starts_with('"')) {
                return false;
            }
            let Ok(Document { values, repairs }) = scanner.one(next) else { return false };
            at = values.last().map_or(next + 1, |value| value.end).max(next + 1);
            self.repairs(&repairs);
            for value in values {
                if !self.is_call(&value.value) {
                    return false;
                }
                self.value(value, true);
            }
        }
        !self.calls.is_empty()
    }

    fn fault(&mut self, fault: &Fault, start: usize, end: usize) {
        let issue = self.fault_issue(fault, start, end);
        self.notes.push(issue);
    }

    fn fault_issue(&self, fault: &Fault, start: usize, end: usize) -> Issue {
        let code = if fault.truncated { IssueCode::JsonTruncated } else { IssueCode::JsonInvalid };
        if self.notes.is_counted(code) {
            return self.notes.issue(code, "", self.span(start, end), &[]);
        }
        let line = self.line(fault.at).to_string();
        let facts = [("why", fault.what.as_str()), ("line", line.as_str())];
        self.notes.issue(code, "", self.span(start, end), &facts).raw(self.raw(start, end))
    }

    /// Reads the calls of one value. `reshaped` means that the fence contained more than the value.
    fn value(&mut self, found: Located, reshaped: bool) {
        let (start, end) = (found.start, found.end);
        let span = self.span(start, end);
        let raw: Rc<str> = self.raw(start, end).into();
        match calls_of(found.value, self.tools) {
            Ok(shaped) if shaped.iter().any(|call| self.is_content(call)) => {}
            Ok(shaped) => {
                let plain: Vec<&Shaped> = shaped
                    .iter()
                    .filter_map(|call| match call {
                        Read::Plain(call) => Some(call),
                        Read::Guessed { .. } => None,
                    })
                    .collect();
                // A guessed reading is noted when it is chosen.
                let odd = reshaped || shaped.len() != 1 || plain.iter().any(|call| call.reshaped);
                if odd && (plain.len() == shaped.len() || shaped.len() > 1) {
                    let names: Vec<&str> = plain.iter().map(|call| call.name.as_str()).take(8).collect();
                    self.notes.repair(RepairCode::JsonShape, span, &raw, names.join(", "));
                }
                self.calls.extend(shaped.into_iter().map(|call| RawCall { call, span, raw: raw.clone() }));
            }
            Err(misfit) => {
                let facts = [("why", misfit.as_str())];
                let issue = self.notes.issue(IssueCode::JsonInvalid, "shape", span, &facts).raw(&raw);
                self.notes.push(issue);
            }
        }
    }

    /// Reads text with tags or bare objects among prose. Each byte is examined once: after a mistake, the search
    /// continues after the part that was read.
    fn scan(&mut self) {
        let text = self.block.text.clone();
        let mut scanner = Scanner::new(&text);
        let mut at = 0;
        let mut line_start = true;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            if blank > 0 {
                at += blank;
            } else if let Some(tag) = CLOSING.iter().find(|tag| rest.starts_with(**tag)) {
                at += tag.len();
                line_start = true;
            } else if line_start && let Some(end) = self.marked(&text, at) {
                at = end;
                line_start = true;
            } else if line_start && starts_value(rest) {
                at = self.bare(&mut scanner, &text, at);
                line_start = false;
            } else if rest.starts_with('\n') {
                at += 1;
                line_start = true;
            } else if line_start && rest.starts_with(['-', '*', '+', '`', '>']) {
                // A mark of a list, of code or of a quotation before the value.
                at += 1;
            } else {
                at += match rest.find(['\n', '<']) {
                    Some(0) => first_char(rest),
                    Some(next) => next,
                    None => rest.len(),
                };
                line_start = false;
            }
        }
    }

    fn bare(&mut self, scanner: &mut Scanner<'_>, text: &str, at: usize) -> usize {
        match scanner.one(at) {
            Ok(Document { values, repairs }) => {
                let end = values.last().map_or(at + 1, |value| value.end);
                if self.block.lenient && !values.iter().all(|value| self.is_call(&value.value)) {
                    return end;
                }
                let in_tag = text.get(..at).is_some_and(|before| before.trim_end().ends_with("<tool_call>"));
                if self.block.form == BlockForm::Bare && !in_tag {
                    let raw = self.raw(at, end).to_owned();
                    self.notes.repair(RepairCode::JsonUnfenced, self.span(at, end), &raw, "json");
                }
                self.repairs(&repairs);
                for value in values {
                    self.value(value, in_tag);
                }
                end.max(at + 1)
            }
            Err(fault) => {
                let reached = fault.reached.max(at + 1);
                let end =
                    text.get(reached..).and_then(|rest| rest.find('\n')).map_or(text.len(), |next| reached + next);
                if !self.block.lenient {
                    self.fault(&fault, at, end);
                }
                end
            }
        }
    }

    /// Reads the calls that begin here in the notation of a chat template, and returns the byte after them. `None` if
    /// none begins here.
    fn marked(&mut self, text: &str, at: usize) -> Option<usize> {
        let tools = self.tools;
        let is_tool = |name: &str| tools.is_tool(name);
        let own_tag = text.get(at..).and_then(|rest| rest.strip_prefix('<')?.split_once('>'));
        if !text.get(at..).is_some_and(notation::opens) && !own_tag.is_some_and(|(name, _)| is_tool(name)) {
            return None;
        }
        let (found, end) = notation::read(text, at, &is_tool);
        if found.is_empty() {
            return self.broken(text, at);
        }
        self.take(found);
        Some(end.max(at + 1))
    }

    /// Reads the calls of a fence that contains nothing else. Returns the byte after them.
    fn fenced(&mut self, text: &str, at: usize) -> Option<usize> {
        let tools = self.tools;
        let (found, end) = notation::fenced(text, at, &|name: &str| tools.is_tool(name))?;
        self.take(found);
        Some(end)
    }

    fn take(&mut self, found: Vec<(usize, notation::Found)>) {
        for (start, (written, end)) in found {
            match written {
                Written::Json(document) => {
                    self.repairs(&document.repairs);
                    for value in document.values {
                        self.value(value, true);
                    }
                }
                Written::Call { name, arguments } => {
                    let span = self.span(start, end);
                    let raw: Rc<str> = self.raw(start, end).into();
                    self.notes.repair(RepairCode::JsonShape, span, &raw, &name);
                    let call = Shaped { name, id: None, arguments: Some(arguments), reshaped: true };
                    self.calls.push(RawCall { call: Read::Plain(call), span, raw });
                }
            }
        }
    }

    /// Handles a mark followed by something that is meant as a call and cannot be read as one.
    fn broken(&mut self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let inside =
            rest.find(['{', '[']).filter(|inside| rest.get(..*inside).is_some_and(|mark| !mark.contains("\n\n")))?;
        let body = at + inside;
        let meant = rest.get(inside..)?.starts_with("{") || rest.get(inside..)?.starts_with("[{");
        let fault = Scanner::new(text).one(body).err().filter(|_| meant)?;
        let reached = fault.reached.max(body + 1);
        let end = text.get(reached..).and_then(|rest| rest.find('\n')).map_or(text.len(), |next| reached + next);
        self.fault(&fault, at, end);
        Some(end.max(at + 1))
    }
}

/// Calls in the notation of a chat template: outside fences, and in fences for calls.
pub(super) fn marked_calls(block: &CallBlock, tools: &dyn Tools, notes: &mut Diagnostics) -> Vec<RawCall> {
    let mut finder = Finder { block, tools, notes, newlines: newlines(&block.text), calls: Vec::new(), unless: None };
    let text = &block.text;
    let mut tracker = Tracker::default();
    let (mut line_at, mut read_to) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line_at >= read_to {
            let begins = line_at + (line.len() - line.trim_start().len());
            let end = match tracker.next(line.trim_end_matches(['\n', '\r'])) {
                Part::Outside => finder.marked(text, begins),
                Part::Open(_) => finder.fenced(text, begins),
                Part::Inside | Part::Close => None,
            };
            read_to = end.unwrap_or(read_to);
        }
        line_at += line.len();
    }
    finder.calls
}

/// Marks that end calls. One may be left over.
const CLOSING: [&str; 2] = ["</tool_call>", "</function>"];

/// The beginning of a text, as long as an issue may quote.
pub(super) fn cut(text: &str) -> &str {
    if text.len() <= RAW {
        return text;
    }
    text.char_indices().nth(RAW).map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}

fn first_char(rest: &str) -> usize {
    rest.chars().next().map_or(1, char::len_utf8)
}

/// Whether the start of a line means JSON, and not prose or a link.
fn starts_value(rest: &str) -> bool {
    let inside = |rest: &str| rest.trim_start().chars().next();
    if let Some(rest) = rest.strip_prefix('{') {
        return inside(rest)
            .is_none_or(|c| matches!(c, '"' | '\'' | '\u{201c}' | '}' | '/') || c.is_ascii_alphabetic());
    }
    rest.strip_prefix('[').is_some_and(|rest| inside(rest).is_some_and(|c| c == '{'))
}
