//! Calls in the notations of chat templates: a table of the marks that begin them, and the forms of name and arguments
//! after a mark. They count at the start of a line, outside fences. Anything that is not in the table is not a call.

use serde_json::{Map, Value};

use crate::reply::json::{Document, Scanner, read_document};

/// Marks that begin a call or a list of calls, end one, or separate two. They carry no content.
const FRAMES: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_call>",
    "</function_call>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<seed:tool_call>",
    "</seed:tool_call>",
    "<longcat_tool_call>",
    "</longcat_tool_call>",
    "<TOOLCALL>",
    "</TOOLCALL>",
    "[TOOL_CALLS]",
    "[/TOOL_CALLS]",
    "[TOOL_REQUEST]",
    "[END_TOOL_REQUEST]",
    "<|tool_call|>",
    "<|/tool_call|>",
    "<|tool_calls|>",
    "<|tool_call_start|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|python_tag|>",
    "<|action_start|>",
    "<|action_end|>",
    "<|plugin|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<start_function_call>",
    "<end_function_call>",
    "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}>",
    "<\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>",
    "<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>",
    "<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>",
    "<\u{ff5c}DSML\u{ff5c}function_calls>",
    "</\u{ff5c}DSML\u{ff5c}function_calls>",
    "functools",
    "Action:",
    "```json",
    "```",
];

/// Fences that contain only calls written as in Python.
const CALL_FENCES: &[&str] = &["```tool_code"];

/// What may surround a call there.
const PRINT: &str = "print(";

/// Marks that mean something else at the start of a line, so they begin nothing.
const NO_OPENINGS: &[&str] = &["```json", "```"];

/// What may separate a name from its arguments.
const BETWEEN: &[&str] = &[
    "[ARGS]",
    "<\u{ff5c}tool\u{2581}sep\u{ff5c}>",
    "<|tool_call_argument_begin|>",
    "<|tool_sep|>",
    "<|message|>",
    "Action Input:",
    "```json",
    "```",
];

/// Precedes an unused id after a name.
const CALL_ID: &str = "[CALL_ID]";

/// Kinds of calls that one notation writes before the name.
const KINDS: &[&str] = &["function", "tool"];

/// Tags that contain a name and have one child for each argument: their beginning and end, and the beginning and end of
/// a child. A prefix of the tag is ignored.
const ELEMENTS: &[Element] = &[
    Element { open: "<function=", close: "</function>", child: "<parameter=", child_close: "</parameter>" },
    Element { open: "<invoke name=", close: "</invoke>", child: "<parameter name=", child_close: "</parameter>" },
];

struct Element {
    open: &'static str,
    close: &'static str,
    child: &'static str,
    child_close: &'static str,
}

/// Prefixes of tags.
const PREFIXES: &[&str] = &["antml:", "\u{ff5c}DSML\u{ff5c}"];

/// Pairs of tags for each argument, after the name.
const KEY: (&str, &str) = ("<arg_key>", "</arg_key>");
const VALUE: (&str, &str) = ("<arg_value>", "</arg_value>");

/// Quotes of another notation.
const ESCAPE: &str = "<escape>";

/// What was read at a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    /// A name and its arguments.
    Call { name: String, arguments: Value },
    /// A JSON value with name and arguments in any form, or a list of such values.
    Json(Document),
}

/// What was read, and where it ends.
pub(super) type Found = (Written, usize);

/// Whether a call may begin somewhere in the text. A cheap check.
pub(crate) fn may_hold(text: &str) -> bool {
    let words = ["functools", "Action:"];
    text.contains(['<', '[']) || words.iter().chain(CALL_FENCES).any(|word| text.contains(word))
}

/// Whether a line begins with a mark of a notation.
pub(super) fn opens(line: &str) -> bool {
    let frame = FRAMES.iter().any(|frame| line.starts_with(frame) && !NO_OPENINGS.contains(frame));
    frame || element(line).is_some() || python_list(line).is_some()
}

/// The calls that begin at `at`, at the start of a line, and the byte after them. `None` if no call follows the mark.
pub(super) fn read(text: &str, at: usize, is_tool: &dyn Fn(&str) -> bool) -> (Vec<(usize, Found)>, usize) {
    let mut found = Vec::new();
    let mut end = at;
    let mut scanner = Scanner::new(text);
    loop {
        let start = skip(text, end, FRAMES);
        let Some(next) = one(text, start, &mut scanner, is_tool) else {
            let end = if found.is_empty() { end } else { start };
            return (found, end);
        };
        end = next.1.max(start + 1);
        found.push((start, next));
    }
}

/// The calls of a fence that contains only calls of offered tools, and the byte of its closing mark.
pub(super) fn fenced(text: &str, at: usize, is_tool: &dyn Fn(&str) -> bool) -> Option<(Vec<(usize, Found)>, usize)> {
    let mark = CALL_FENCES.iter().find(|mark| text.get(at..).is_some_and(|rest| rest.starts_with(**mark)))?;
    let body = at + mark.len();
    let end = text.get(body..)?.find("\n```").map_or(text.len(), |length| body + length + 1);
    let mut found = Vec::new();
    let mut start = skip(text, body, &[]);
    while start < end {
        let printed = text.get(start..)?.starts_with(PRINT);
        let call = python(text, if printed { start + PRINT.len() } else { start }, is_tool)?;
        let behind = skip(text, call.1, &[]);
        let next = if printed { behind + usize::from(text.get(behind..)?.starts_with(')')) } else { call.1 };
        found.push((start, call));
        start = skip(text, next, &[]);
    }
    (!found.is_empty()).then_some((found, end))
}

/// Skips blanks, commas and marks of this list.
fn skip(text: &str, mut at: usize, marks: &[&str]) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).len();
        let mark = marks.iter().filter(|mark| rest.get(blank..).is_some_and(|rest| rest.starts_with(**mark)));
        match mark.map(|mark| mark.len()).max() {
            Some(length) => at += blank + length,
            None => return at + blank,
        }
    }
}

fn one(text: &str, at: usize, scanner: &mut Scanner<'_>, is_tool: &dyn Fn(&str) -> bool) -> Option<Found> {
    let rest = text.get(at..)?;
    if let Some(list) = python_list(rest) {
        let call = python(text, at + list, is_tool)?;
        let end = skip(text, call.1, &["]"]);
        return Some((call.0, end));
    }
    if rest.starts_with(['{', '[']) {
        let document = scanner.one(at).ok()?;
        let end = document.values.last()?.end;
        return Some((Written::Json(document), end));
    }
    if let Some((element, prefix)) = element(rest) {
        return of_element(text, at, element, prefix);
    }
    if let Some(found) = of_own_tag(text, at, is_tool) {
        return Some(found);
    }
    named(text, at, scanner, is_tool)
}

/// Reads `NAME`, followed by JSON, pairs of tags, arguments in brackets, or nothing.
fn named(text: &str, at: usize, scanner: &mut Scanner<'_>, is_tool: &dyn Fn(&str) -> bool) -> Option<Found> {
    let at = if text.get(at..)?.starts_with("call:") { at + "call:".len() } else { at };
    let (name, end) = name_at(text, at)?;
    if KINDS.contains(&name) {
        let behind = skip(text, end, BETWEEN);
        if let Some((inner, end)) = name_at(text, behind).filter(|_| behind > end) {
            return behind_name(text, inner, end, scanner, is_tool);
        }
    }
    behind_name(text, name, end, scanner, is_tool)
}

fn behind_name(
    text: &str,
    name: &str,
    end: usize,
    scanner: &mut Scanner<'_>,
    is_tool: &dyn Fn(&str) -> bool,
) -> Option<Found> {
    let call = |arguments| Written::Call { name: name.to_owned(), arguments };
    let mut at = skip(text, end, BETWEEN);
    if let Some(behind) = text.get(at..)?.strip_prefix(CALL_ID) {
        let id = behind.find(['[', '{', ' ', '\n']).unwrap_or(behind.len());
        at = skip(text, at + CALL_ID.len() + id, BETWEEN);
    }
    let rest = text.get(at..)?;
    if rest.starts_with(KEY.0) {
        let (arguments, end) = pairs(text, at);
        return Some((call(arguments), end));
    }
    if rest.starts_with('{') {
        if let Some((arguments, end)) = escaped(text, at) {
            return Some((call(arguments), end));
        }
        let mut document = scanner.one(at).ok()?;
        let value = document.values.pop()?;
        return Some((call(value.value), value.end));
    }
    if rest.starts_with('(') {
        return python_arguments(text, at).map(|(arguments, end)| (call(arguments), end));
    }
    is_tool(name).then(|| (call(Value::Object(Map::new())), end))
}

/// A tool name, possibly with prefixes and suffixes.
fn name_at(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = text.get(at..)?;
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let length = rest.find(|c: char| !of_name(c)).unwrap_or(rest.len());
    let name = rest.get(..length)?.trim_end_matches([':', '.', '/']);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then_some((name, at + name.len()))
}

fn element(line: &str) -> Option<(&'static Element, &'static str)> {
    PREFIXES.iter().copied().chain([""]).find_map(|prefix| {
        let begins = |open: &str| {
            let rest = line.strip_prefix('<').and_then(|rest| rest.strip_prefix(prefix));
            rest.is_some_and(|rest| open.strip_prefix('<').is_some_and(|open| rest.starts_with(open)))
        };
        Some((ELEMENTS.iter().find(|element| begins(element.open))?, prefix))
    })
}

fn of_element(text: &str, at: usize, element: &Element, prefix: &str) -> Option<Found> {
    let mark = |tag: &str| {
        let bare = tag.trim_start_matches(['<', '/']);
        format!("{}{prefix}{bare}", tag.strip_suffix(bare).unwrap_or_default())
    };
    let open = at + mark(element.open).len();
    let rest = text.get(open..)?;
    let name_end = rest.find(['>', '\n'])?;
    let name = rest.get(..name_end)?.trim().trim_matches(['"', '\'']).to_owned();
    let body_start = open + name_end + 1;
    let body = text.get(body_start..)?;
    let close = mark(element.close);
    let (length, closed) = body.find(&close).map_or((body.len(), 0), |length| (length, close.len()));
    let body = body.get(..length)?;
    let child = mark(element.child);
    let arguments = if body.contains(&child) {
        children(body, &child, &mark(element.child_close))
    } else {
        match read_document(body).ok()?.values.as_mut_slice() {
            [] => Value::Object(Map::new()),
            [only] => only.value.take(),
            _ => return None,
        }
    };
    Some((Written::Call { name, arguments }, body_start + length + closed))
}

/// Reads `<parameter=key>value</parameter>` and similar tags. Values are texts; the schema converts them to numbers
/// later.
fn children(body: &str, open: &str, close: &str) -> Value {
    let mut map = Map::new();
    for piece in body.split(open).skip(1) {
        let Some((key, value)) = piece.split_once('>') else { continue };
        let value = value.split(close).next().unwrap_or_default();
        // Other attributes may follow the key.
        let key = key.trim().trim_start_matches(['"', '\'']);
        let key = key.split(['"', '\'']).next().unwrap_or_default().trim();
        map.insert(key.to_owned(), Value::from(one_line_end(value)));
    }
    Value::Object(map)
}

fn one_line_end(value: &str) -> &str {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value)
}

/// Reads `<read_file><path>a</path></read_file>`, in which the tag is the tool.
fn of_own_tag(text: &str, at: usize, is_tool: &dyn Fn(&str) -> bool) -> Option<Found> {
    let rest = text.get(at..)?.strip_prefix('<')?;
    let (name, _) = rest.split_once('>')?;
    let (name, end) =
        name_at(name, 0).filter(|(found, _)| *found == name && is_tool(name)).map(|(n, _)| (n, name.len()))?;
    let start = at + 1 + end + 1;
    let close = format!("</{name}>");
    let body = text.get(start..)?;
    let length = body.find(&close)?;
    let inside = body.get(..length)?;
    let mut map = Map::new();
    let mut left = inside.trim_start();
    while let Some((key, behind)) = left.strip_prefix('<').and_then(|left| left.split_once('>')) {
        let (value, behind) = behind.split_once(&format!("</{key}>"))?;
        map.insert(key.to_owned(), Value::from(one_line_end(value)));
        left = behind.trim_start();
    }
    let arguments = if map.is_empty() && !left.trim().is_empty() {
        read_document(left).ok()?.values.pop()?.value
    } else if left.trim().is_empty() {
        Value::Object(map)
    } else {
        return None;
    };
    Some((Written::Call { name: name.to_owned(), arguments }, start + length + close.len()))
}

/// Reads pairs of keys and values, each in its own tag.
fn pairs(text: &str, mut at: usize) -> (Value, usize) {
    let mut map = Map::new();
    loop {
        let start = skip(text, at, &[]);
        let pair = text.get(start..).and_then(|rest| {
            let (key, rest) = rest.strip_prefix(KEY.0)?.split_once(KEY.1)?;
            let rest = rest.trim_start().strip_prefix(VALUE.0)?;
            let length = rest.find(VALUE.1)?;
            let end = text.len() - rest.len() + length + VALUE.1.len();
            Some((key.trim().to_owned(), one_line_end(rest.get(..length)?), end))
        });
        let Some((key, value, end)) = pair else { return (Value::Object(map), at) };
        map.insert(key, Value::from(value));
        at = end;
    }
}

/// `{key:<escape>value<escape>,…}`.
fn escaped(text: &str, at: usize) -> Option<(Value, usize)> {
    let mut left = text.get(at..)?.strip_prefix('{')?;
    let mut map = Map::new();
    while let Some((key, behind)) = left.split_once(ESCAPE) {
        let key = key.trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'));
        let (name, _) = name_at(key, 0)?;
        let (value, behind) = (name == key).then(|| behind.split_once(ESCAPE))??;
        map.insert(key.to_owned(), Value::from(value));
        left = behind;
        if let Some(end) = left.trim_start().strip_prefix('}') {
            return Some((Value::Object(map), text.len() - end.len()));
        }
    }
    None
}

/// Reads `[name(` at the start. Returns how many bytes precede the name.
fn python_list(line: &str) -> Option<usize> {
    let rest = line.strip_prefix('[')?;
    let blank = rest.len() - rest.trim_start().len();
    let (_, end) = name_at(rest, blank)?;
    rest.get(end..)?.starts_with('(').then_some(1 + blank)
}

fn python(text: &str, at: usize, is_tool: &dyn Fn(&str) -> bool) -> Option<Found> {
    let (name, end) = name_at(text, at)?;
    let (arguments, end) = python_arguments(text, end).filter(|_| is_tool(name))?;
    Some((Written::Call { name: name.to_owned(), arguments }, end))
}

/// `(key="value", other=1)`.
fn python_arguments(text: &str, at: usize) -> Option<(Value, usize)> {
    let inside = text.get(at..)?.strip_prefix('(')?;
    let (mut depth, mut quote, mut escaped, mut start) = (0_usize, None, false, 0);
    let mut map = Map::new();
    for (place, c) in inside.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ',') if depth == 0 => {
                let piece = inside.get(start..place)?.trim();
                if !piece.is_empty() {
                    let (key, value) = keyword(piece)?;
                    map.insert(key, value);
                }
                start = place + 1;
                if c == ')' {
                    return Some((Value::Object(map), at + 1 + place + 1));
                }
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn keyword(piece: &str) -> Option<(String, Value)> {
    let (key, value) = piece.split_once('=')?;
    let (name, _) = name_at(key.trim(), 0).filter(|(name, _)| *name == key.trim())?;
    let value = match read_document(value).ok()?.values.as_mut_slice() {
        [only] => only.value.take(),
        _ => return None,
    };
    Some((name.to_owned(), value))
}

/// Whether a line, as a whole, calls this tool in an unknown notation: it contains the name, possibly between marks,
/// followed by one of the tool's arguments in brackets or as an attribute.
pub(super) fn is_call_of(line: &str, tool: &str, arguments: &[&str]) -> bool {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    let Some(at) = line.match_indices(tool).map(|(at, _)| at).find(|at| {
        let before = line.get(..*at).and_then(|text| text.chars().next_back());
        let behind = line.get(at + tool.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(of_word) && !behind.is_some_and(of_word)
    }) else {
        return false;
    };
    let before = line.get(..at).unwrap_or_default().trim();
    let behind = line.get(at + tool.len()..).unwrap_or_default();
    let marked = before.is_empty() || !before.contains(char::is_whitespace) && !before.ends_with(of_word);
    let named = arguments.iter().any(|name| {
        behind.match_indices(name).any(|(at, _)| {
            let before = behind.get(..at).and_then(|text| text.chars().next_back());
            let after = behind.get(at + name.len()..).unwrap_or_default().trim_start_matches(['"', '\'', ' ']);
            !before.is_some_and(of_word) && after.starts_with(['=', ':', '>'])
        })
    });
    marked && named && ends_as_call(behind)
}

/// Whether the text ends with brackets that close at the end of the line, or with attributes, followed only by marks.
fn ends_as_call(behind: &str) -> bool {
    let open = behind
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '>' | '"' | '\'' | '|' | ',' | ']'));
    let tags_only = |rest: &str| {
        let mut rest = rest.trim();
        while let Some(at) = rest.rfind('<').filter(|_| rest.ends_with('>')) {
            rest = rest.get(..at).unwrap_or_default().trim();
        }
        !rest.contains(char::is_alphanumeric)
    };
    let mut depth = 0_usize;
    let mut quoted = false;
    if open.starts_with(['(', '{', '[']) {
        for (at, c) in open.char_indices() {
            match c {
                '"' => quoted = !quoted,
                '(' | '{' | '[' if !quoted => depth += 1,
                ')' | '}' | ']' if !quoted => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return tags_only(open.get(at + 1..).unwrap_or_default());
                    }
                }
                _ => {}
            }
        }
        return false;
    }
    // Attributes: each word contains a key and its value, or belongs to a quoted value.
    let bare = open.split('<').next().unwrap_or_default();
    let mut outside = String::new();
    for (at, part) in bare.split('"').enumerate() {
        outside.push_str(if at % 2 == 0 { part } else { "_" });
    }
    let mut words = outside.split_whitespace().map(|word| word.trim_end_matches(['/', '>', ']', ')'])).peekable();
    words.peek().is_some()
        && words.filter(|word| !word.is_empty()).all(|word| word.contains(['=', ':']) && !word.ends_with([':', '=']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(text: &str) -> Vec<(String, Value)> {
        assert!(opens(text) || text.starts_with("<read_file>"), "{text}");
        let (found, _) = read(text, 0, &|name| name == "read_file");
        let call = |(_, (written, _)): (usize, Found)| match written {
            Written::Call { name, arguments } => vec![(name, arguments)],
            Written::Json(document) => {
                let values = document.values.into_iter().flat_map(|one| match one.value {
                    Value::Array(items) => items,
                    other => vec![other],
                });
                values.map(|value| (String::new(), value)).collect()
            }
        };
        found.into_iter().flat_map(call).collect()
    }

    /// covers: 4.4 json-shape
    #[test]
    fn one_call_in_every_notation() {
        let arguments = json!({"path": "a.md"});
        for text in [
            "<function=read_file>\n<parameter=path>\na.md\n</parameter>\n</function>",
            "<function=read_file>{\"path\": \"a.md\"}</function>",
            "<tool_call>\n<function=read_file>\n<parameter=path>\na.md\n</parameter>\n</function>\n</tool_call>",
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.md</arg_value>\n</tool_call>",
            "<invoke name=\"read_file\">\n<parameter name=\"path\">a.md</parameter>\n</invoke>",
            "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.md</parameter>\n</invoke>\n</function_calls>",
            "<minimax:tool_call>\n<invoke name=\"read_file\"><parameter name=\"path\">a.md</parameter></invoke>\n</minimax:tool_call>",
            "<\u{ff5c}DSML\u{ff5c}function_calls>\n<\u{ff5c}DSML\u{ff5c}invoke name=\"read_file\">\n<\u{ff5c}DSML\u{ff5c}parameter name=\"path\" string=\"true\">a.md</\u{ff5c}DSML\u{ff5c}parameter>\n</\u{ff5c}DSML\u{ff5c}invoke>\n</\u{ff5c}DSML\u{ff5c}function_calls>",
            "[TOOL_CALLS]read_file[ARGS]{\"path\": \"a.md\"}",
            "[TOOL_CALLS]read_file[CALL_ID]abc123[ARGS]{\"path\": \"a.md\"}",
            "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}><\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>function<\u{ff5c}tool\u{2581}sep\u{ff5c}>read_file\n```json\n{\"path\": \"a.md\"}\n```<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}><\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>",
            "<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>read_file<\u{ff5c}tool\u{2581}sep\u{ff5c}>{\"path\": \"a.md\"}<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>",
            "<|python_tag|>read_file(path=\"a.md\")",
            "[read_file(path='a.md')]",
            "<|tool_call_start|>[read_file(path=\"a.md\")]<|tool_call_end|>",
            "<start_function_call>call:read_file{path:<escape>a.md<escape>}<end_function_call>",
            "Action: read_file\nAction Input: {\"path\": \"a.md\"}",
            "<read_file>\n<path>a.md</path>\n</read_file>",
        ] {
            assert_eq!(calls(text), [("read_file".to_owned(), arguments.clone())], "{text}");
        }
        let kimi = "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"a.md\"}<|tool_call_end|><|tool_calls_section_end|>";
        assert_eq!(calls(kimi), [("functions.read_file:0".to_owned(), arguments)]);
        let object = json!({"name": "read_file", "arguments": {"path": "a.md"}});
        for text in [
            format!("<tool_call>\n{object}\n</tool_call>"),
            format!("[TOOL_CALLS] [{object}]"),
            format!("<|tool_call|>[{object}]<|/tool_call|>"),
            format!("functools[{object}]"),
            format!("<|python_tag|>{object}"),
            format!("<TOOLCALL>[{object}]</TOOLCALL>"),
            format!("Action: ```json\n[{object}]\n```"),
            format!("<|action_start|><|plugin|>{object}<|action_end|>"),
        ] {
            assert_eq!(calls(&text), [(String::new(), object.clone())], "{text}");
        }
    }

    #[test]
    fn what_stands_behind_a_mark_may_be_no_call() {
        for text in ["<tool_call> is the mark of a call.", "[TOOL_CALLS] begins a list", "Action: none needed"] {
            assert_eq!(calls(text), [], "{text}");
        }
        assert!(!opens("The mark <tool_call> begins one."));
        assert!(!opens("[a link](b.md)"));
    }

    #[test]
    fn a_whole_line_that_is_a_call_is_known_as_one() {
        for line in [
            "read_file(path=\"a.md\")",
            "call read_file: {\"path\": \"a.md\"}".trim_start_matches("call "),
            "<use>read_file path=\"a.md\"</use>",
            "{{read_file(path: \"a.md\")}}",
            "@read_file[path=a.md]",
            "tool:read_file path=a.md",
            "=> read_file {path: 'a.md'}".trim_start_matches("=> "),
        ] {
            assert!(is_call_of(line, "read_file", &["path"]), "{line}");
        }
        for line in [
            "The tool read_file(path=\"a.md\") reads it.",
            "read_file(path) reads a file (like this one)",
            "read_file: path is required",
            "read_file reads what path names",
            "read_files(path=\"a.md\")",
            "",
        ] {
            assert!(!is_call_of(line, "read_file", &["path"]), "{line}");
        }
    }
}
