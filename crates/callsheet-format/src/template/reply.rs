//! Reads XML in the reply of a model leniently. Faulty XML never makes the reply fail (spec 11).

use callsheet_core::template::{Lines, Reason, ReplyReading, ReturnStatus, XmlNote, XmlWarning, snake_keys};
use serde_json::{Map, Value};

use crate::markdown::without_thinking;
use crate::reply::json::whole;
use crate::template::grammar::is_operator_element;
use crate::template::xml::{self, Element, Fault, FaultKind, Item, Mode};

/// The elements that are looked for in prose.
const SOUGHT: &[&str] = &["result", "notes", "task", "subtask_request"];

/// The attributes and parts of an envelope.
const ATTRIBUTES: &[&str] = &["status", "reason"];
const PARTS: &[&str] = &["content", "notes"];

/// The number of possible starts that are tried in prose.
const TRIES: usize = 8;

/// Reads a reply. The reply of a `manual_xml` task is kept as it is. The data usage section is not a part of an
/// envelope or of notes before it. A section with a closing tag belongs to an enclosing element. Thinking is not a
/// part of a reply.
pub fn read_reply(reply: &str, manual: bool) -> ReplyReading {
    let text = without_thinking(reply);
    if manual || *text == *reply {
        return read_said(reply, manual);
    }
    let reading = read_said(&text, false);
    ReplyReading { content: reading.content.trim().to_owned(), thought: true, ..reading }
}

fn read_said(reply: &str, manual: bool) -> ReplyReading {
    let beside = data_usage(reply).filter(|(_, usage)| !manual && !usage.contains("</"));
    if let Some((before, usage)) = beside {
        let reading = read(before, false);
        if reading.envelope || !reading.notes.is_empty() {
            return ReplyReading { data_usage: usage.to_owned(), ..reading };
        }
    }
    read(reply, manual)
}

/// The data usage section at the end, which the base prompt asks for: the text before it, and its own text (spec 6).
pub fn data_usage(content: &str) -> Option<(&str, &str)> {
    let at = content.rfind("\n## ").map(|at| at + 1).or_else(|| content.starts_with("## ").then_some(0))?;
    let (title, usage) = content.get(at..)?.split_once('\n')?;
    let title = title.trim_start_matches('#').trim().trim_end_matches(':');
    let before = content.get(..at)?.trim_end();
    (title.eq_ignore_ascii_case("data usage") && !before.is_empty() && !usage.contains("```"))
        .then_some((before, usage.trim()))
}

fn read(reply: &str, manual: bool) -> ReplyReading {
    let plain = ReplyReading { content: reply.to_owned(), ..ReplyReading::default() };
    if manual {
        let document = xml::parse(reply.trim(), Mode::Strict);
        let parsed = document.root.is_some() && document.faults.iter().all(|fault| fault.kind == FaultKind::Ignored);
        return ReplyReading { xml: Some(XmlNote { parsed, ..XmlNote::default() }), ..plain };
    }
    let in_fence = || fence_at_the_end(reply).and_then(json_envelope);
    if let Some(reading) = json_envelope(reply).or_else(in_fence) {
        return reading;
    }
    let Some(found) = find(reply) else { return plain };
    let lines = Lines::new(reply);
    let note = |fault: &Fault| {
        let place = lines.place(found.start + fault.span.start);
        XmlWarning { message: fault.message.clone(), line: place.line, column: place.column }
    };
    let text = reply.get(found.start..found.end).unwrap_or_default();
    let document = xml::parse(text, Mode::Lenient);
    let hopeless = document.faults.iter().find(|fault| is_hopeless(fault));
    let (root, hopeless) = match (document.root, hopeless) {
        (Some(root), None) => (root, None),
        (_, fault) => (Element::default(), Some(fault.or(document.faults.first()).map(note).unwrap_or_default())),
    };
    if let Some(error) = hopeless {
        let note = XmlNote { error: Some(error), ..XmlNote::default() };
        return ReplyReading { xml: Some(note), ..plain };
    }
    let mut warnings: Vec<XmlWarning> =
        document.faults.iter().filter(|fault| fault.kind == FaultKind::Malformed).map(note).collect();
    let parsed = warnings.is_empty() && !found.extracted;
    if found.extracted {
        let place = lines.place(found.start);
        let message = "the XML was extracted from other text".to_owned();
        warnings.insert(0, XmlWarning { message, line: place.line, column: place.column });
    }
    let known = warnings.len();
    for (at, written, word) in in_other_case(&root) {
        let place = lines.place(found.start + at);
        let message = format!("`{written}` means `{word}`");
        warnings.push(XmlWarning { message, line: place.line, column: place.column });
    }
    let recovered = !parsed || warnings.len() > known;
    let xml = Some(XmlNote { parsed, recovered, warnings, error: None });
    let mut reading = read_root(&root, text, plain);
    if root.name.eq_ignore_ascii_case("notes") && reply.get(found.end..).unwrap_or_default().trim().is_empty() {
        reading.content = reply.get(..found.start).unwrap_or_default().trim_end().to_owned();
    }
    reading.xml = xml;
    reading
}

/// Whether the fault ends reading. Other faults are repairs, which are reported.
fn is_hopeless(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Forbidden | FaultKind::TooLarge | FaultKind::Encoding) || fault.fatal
}

/// The range of the XML in a reply.
struct XmlRange {
    start: usize,
    end: usize,
    /// Whether there is other text around it.
    extracted: bool,
}

/// Finds XML: the whole reply, a fence marked `xml`, or the first balanced element in prose, in this order.
fn find(reply: &str) -> Option<XmlRange> {
    let start = reply.len() - reply.trim_start().len();
    let trimmed = reply.trim();
    if trimmed.starts_with('<') && trimmed.chars().nth(1).is_some_and(xml::is_name_start) {
        // Text after a balanced root does not belong to it.
        let balanced = xml::parse(trimmed, Mode::Lenient).root.filter(|root| !root.damaged);
        let end = balanced.map_or(trimmed.len(), |root| root.span.end);
        return Some(XmlRange { start, end: start + end, extracted: end < trimmed.len() });
    }
    fenced(reply).or_else(|| in_prose(reply))
}

/// The XML of a reply as written, found as in [`read_reply`]. `None` if there is none.
pub fn found_xml(reply: &str) -> Option<&str> {
    let found = find(reply)?;
    reply.get(found.start..found.end).map(str::trim).filter(|text| text.starts_with('<'))
}

/// The names of balanced elements beside the XML that [`found_xml`] returns: those after it except notes, and
/// operators before it.
pub fn xml_beside(reply: &str) -> Vec<String> {
    let Some(found) = find(reply) else { return Vec::new() };
    let before = elements_in(reply.get(..found.start).unwrap_or_default());
    let behind = elements_in(reply.get(found.end..).unwrap_or_default());
    let operator = |name: &String| is_tree(&name.to_ascii_lowercase());
    let told = |name: &String| !name.eq_ignore_ascii_case("notes");
    before.into_iter().filter(operator).chain(behind.into_iter().filter(told)).collect()
}

/// The outermost balanced elements of a text.
fn elements_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = 0;
    for _ in 0..TRIES {
        let Some(start) = text.get(at..).and_then(|rest| rest.find('<')).map(|found| at + found) else { break };
        let rest = text.get(start..).unwrap_or_default();
        let root = xml::parse(rest, Mode::Lenient).root.filter(|root| !root.damaged && root.span.start == 0);
        at = start + root.as_ref().map_or(1, |root| root.span.end.max(1));
        names.extend(root.map(|root| root.name));
    }
    names
}

fn fenced(reply: &str) -> Option<XmlRange> {
    let mut at = 0;
    let mut open: Option<usize> = None;
    for line in reply.split_inclusive('\n') {
        let word = line.trim();
        match open {
            None if matches!(word.to_ascii_lowercase().as_str(), "```xml" | "~~~xml") => open = Some(at + line.len()),
            Some(start) if word == "```" || word == "~~~" => return Some(XmlRange { start, end: at, extracted: true }),
            _ => {}
        }
        at += line.len();
    }
    open.map(|start| XmlRange { start, end: reply.len(), extracted: true })
}

fn in_prose(reply: &str) -> Option<XmlRange> {
    let starts = reply.match_indices('<').map(|(at, _)| at).filter(|at| {
        let rest = reply.get(at + 1..).unwrap_or_default();
        SOUGHT.iter().any(|name| {
            rest.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
                && rest.get(name.len()..).is_some_and(|rest| rest.starts_with(['>', ' ', '/', '\n', '\t', '\r']))
        })
    });
    for start in starts.take(TRIES) {
        let root = xml::parse(reply.get(start..).unwrap_or_default(), Mode::Lenient).root;
        if let Some(root) = root.filter(|root| !root.damaged) {
            return Some(XmlRange { start, end: start + root.span.end, extracted: true });
        }
    }
    None
}

fn read_root(root: &Element, text: &str, plain: ReplyReading) -> ReplyReading {
    let name = root.name.to_ascii_lowercase();
    let child = |wanted: &str| root.elements().find(|child| child.name.eq_ignore_ascii_case(wanted));
    let status = attribute(root, "status").map(str::to_ascii_uppercase);
    if name == "result" && (status.is_some() || child("content").is_some() || child("notes").is_some()) {
        let notes = child("notes").map(notes_of).unwrap_or_default();
        let status = status.as_deref().and_then(ReturnStatus::parse).unwrap_or_default();
        let error = child("error").map(|error| {
            let given = |name: &str| attribute(error, name).map(str::to_owned);
            let part = |name: &str| error.elements().find(|part| part.name.eq_ignore_ascii_case(name));
            let said = |name: &str| given(name).or_else(|| Some(inner_text(part(name)?, text)));
            EnvelopeFailure { reason: said("reason"), message: said("message") }
        });
        let error = error.unwrap_or_default();
        let told = EnvelopeFailure { reason: attribute(root, "reason").map(str::to_owned).or(error.reason), ..error };
        let content = child("content").map(|content| inner_text(content, text)).unwrap_or_default();
        return envelope(status, content, None, notes, told);
    }
    if name == "notes" {
        let (notes, conflicts) = normal(notes_of(root));
        return ReplyReading { notes, conflicts, ..plain };
    }
    let mut parsed = Map::new();
    parsed.insert(root.name.clone(), value_of(root));
    ReplyReading { parsed: Some(Value::Object(parsed)), ..plain }
}

/// The names of an envelope that are written in another letter case: the place, the name as written, and the name as
/// read.
fn in_other_case(root: &Element) -> Vec<(usize, &str, &'static str)> {
    let is_result = root.name.eq_ignore_ascii_case("result");
    let inside = root.elements().filter(|_| is_result).map(|child| (child.tag.start, child.name.as_str()));
    let given = root.attributes.iter().filter(|_| is_result).map(|one| (one.name_span.start, one.name.as_str()));
    let known = |words: &'static [&'static str], (at, name): (usize, &'_ str)| {
        let word = words.iter().find(|word| name.eq_ignore_ascii_case(word) && name != **word)?;
        Some((at, *word))
    };
    let mut found: Vec<(usize, &str, &'static str)> = Vec::new();
    let root_name = std::iter::once((root.tag.start, root.name.as_str()));
    let all = root_name.map(|one| (SOUGHT, one)).chain(given.map(|one| (ATTRIBUTES, one)));
    for (words, one) in all.chain(inside.map(|one| (PARTS, one))) {
        found.extend(known(words, one).map(|(at, word)| (at, one.1, word)));
    }
    found
}

/// An attribute of an envelope in any letter case.
fn attribute<'e>(root: &'e Element, name: &str) -> Option<&'e str> {
    let ignoring_case = || root.attributes.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    root.attribute(name).or_else(ignoring_case).map(|one| one.value.as_str())
}

fn normal(notes: Map<String, Value>) -> (Map<String, Value>, Vec<String>) {
    let (value, conflicts) = snake_keys(Value::Object(notes));
    (value.as_object().cloned().unwrap_or_default(), conflicts)
}

fn envelope(
    status: ReturnStatus,
    content: String,
    parsed: Option<Value>,
    notes: Map<String, Value>,
    told: EnvelopeFailure,
) -> ReplyReading {
    let (notes, conflicts) = normal(notes);
    let word = told.reason.or_else(|| notes.get("reason").and_then(Value::as_str).map(str::to_owned));
    let known = word.as_deref().and_then(Reason::parse).unwrap_or(Reason::UnexpectedError);
    let failed = status == ReturnStatus::Failed;
    let reason = failed.then_some(known);
    let message = told.message.filter(|words| failed && !words.trim().is_empty());
    let reading = ReplyReading { status, content, parsed, notes, reason, message, ..ReplyReading::default() };
    ReplyReading { envelope: true, conflicts, ..reading }
}

/// The failure that an envelope reports.
#[derive(Default)]
struct EnvelopeFailure {
    reason: Option<String>,
    message: Option<String>,
}

/// Reads an object with `status` and `content` or `notes` as an envelope.
fn json_envelope(reply: &str) -> Option<ReplyReading> {
    let value = whole(reply)?;
    let (value, conflicts) = snake_keys(value);
    let status = ReturnStatus::parse(value.get("status")?.as_str()?)?;
    let (content, notes) = (value.get("content"), value.get("notes"));
    if content.is_none() && notes.is_none() {
        return None;
    }
    let text = match content {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let parsed = value.get("parsed_content").filter(|value| !value.is_null());
    let parsed = parsed.or(content.filter(|value| value.is_object() || value.is_array())).cloned();
    let notes = notes.and_then(Value::as_object).cloned().unwrap_or_default();
    let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let error = value.get("error").unwrap_or(&Value::Null);
    // If the error is only a string, it is the message.
    let message = word(error, "message").or_else(|| error.as_str().map(str::to_owned));
    let told = EnvelopeFailure { reason: word(&value, "reason").or_else(|| word(error, "reason")), message };
    Some(ReplyReading { conflicts, ..envelope(status, text, parsed, notes, told) })
}

/// The content of a fence at the end of the reply.
fn fence_at_the_end(reply: &str) -> Option<&str> {
    let reply = reply.trim_end();
    let (mut at, mut open) = (0, None);
    for line in reply.split_inclusive('\n') {
        let (word, end) = (line.trim(), at + line.len());
        match open {
            None if word.starts_with("```") || word.starts_with("~~~") => open = Some(end),
            Some(start) if word == "```" || word == "~~~" => {
                if end == reply.len() {
                    return reply.get(start..at);
                }
                open = None;
            }
            _ => {}
        }
        at = end;
    }
    None
}

/// The notes of an element: its children, in which JSON objects and lists are parsed, or one JSON object with all
/// notes.
fn notes_of(element: &Element) -> Map<String, Value> {
    match with_json(value_of(element)) {
        Value::Object(mut notes) => {
            let whole = notes.get("#text").is_some_and(Value::is_object).then(|| notes.remove("#text")).flatten();
            for (name, value) in whole.and_then(|whole| whole.as_object().cloned()).unwrap_or_default() {
                notes.entry(name).or_insert(value);
            }
            notes
        }
        _ => Map::new(),
    }
}

/// Parses texts that are a JSON object or list. The reader limits the depth.
fn with_json(value: Value) -> Value {
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            whole(&text).filter(|value| value.is_object() || value.is_array()).unwrap_or(Value::String(text))
        }
        Value::Array(list) => Value::Array(list.into_iter().map(with_json).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(name, value)| (name, with_json(value))).collect()),
        other => other,
    }
}

/// The text of an element, with markup inside as written.
fn inner_text(element: &Element, source: &str) -> String {
    if element.elements().next().is_some() {
        return source.get(element.inner.start..element.inner.end).unwrap_or_default().trim().to_owned();
    }
    let text: String = element.items.iter().map(item_text).collect();
    text.trim_matches(['\n', '\r']).to_owned()
}

fn item_text(item: &Item) -> &str {
    match item {
        Item::Text(text) => text.as_str(),
        Item::Element(_) => "",
    }
}

/// An element as a value: attributes as `@name`, text as `#text`, repeated children as lists. An element with only
/// text is a string. The reader limits the depth.
fn value_of(element: &Element) -> Value {
    let text: String = element.items.iter().map(item_text).collect();
    let text = text.trim();
    if element.attributes.is_empty() && element.elements().next().is_none() {
        return match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            other => Value::String(other.to_owned()),
        };
    }
    let mut out = Map::new();
    for attribute in &element.attributes {
        out.insert(format!("@{}", attribute.name), Value::String(attribute.value.as_str().to_owned()));
    }
    if !text.is_empty() {
        out.insert("#text".to_owned(), Value::String(text.to_owned()));
    }
    for child in element.elements() {
        let value = value_of(child);
        match out.get_mut(&child.name) {
            None => drop(out.insert(child.name.clone(), value)),
            Some(Value::Array(list)) => list.push(value),
            Some(first) => {
                let one = first.take();
                *first = Value::Array(vec![one, value]);
            }
        }
    }
    Value::Object(out)
}

/// Whether the element belongs to task trees.
fn is_tree(name: &str) -> bool {
    is_operator_element(name) || matches!(name, "template" | "templates")
}
