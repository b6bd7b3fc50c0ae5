//! Prints YAML in block style. Short lists and maps are on one line.

use std::fmt::Write;

use super::scalar::is_truth_word;

/// The largest width of a list or map on one line, in columns.
const WIDTH: usize = 110;

/// A value to print.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Out {
    Null,
    /// A text whose outer blank lines have no meaning. Several lines are printed as a block.
    Text(String),
    /// A text that is kept byte by byte.
    Exact(String),
    /// A value that is printed as it is: a number, `true`, `[]`.
    Bare(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    /// A map that is never printed on one line: a task.
    Task(Vec<(String, Self)>),
}

/// One document.
pub(super) fn document(entries: &[(String, Out)]) -> String {
    let mut out = String::new();
    map(&mut out, entries, 0);
    out
}

fn map(out: &mut String, entries: &[(String, Out)], indent: usize) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            blanks(out, indent);
        }
        out.push_str(&scalar(key, false));
        out.push(':');
        behind(out, value, indent);
    }
}

fn blanks(out: &mut String, count: usize) {
    out.push_str(&" ".repeat(count));
}

/// Prints a value after a key at `indent` columns.
fn behind(out: &mut String, value: &Out, indent: usize) {
    let used = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
    if let Out::Text(text) = value
        && let Some(block) = block(text, indent + 2)
    {
        out.push(' ');
        out.push_str(&block);
        return;
    }
    let empty =
        matches!(value, Out::List(items) if items.is_empty()) || matches!(value, Out::Map(map) if map.is_empty());
    if let Some(line) = one_line(value).filter(|line| empty || is_scalar(value) || used + 1 + line.len() <= WIDTH) {
        if !line.is_empty() {
            out.push(' ');
            out.push_str(&line);
        }
        out.push('\n');
        return;
    }
    match value {
        Out::Map(entries) | Out::Task(entries) => {
            out.push('\n');
            blanks(out, indent + 2);
            map(out, entries, indent + 2);
        }
        Out::List(items) => {
            out.push('\n');
            for item in items {
                blanks(out, indent + 2);
                out.push('-');
                self::item(out, item, indent + 2);
            }
        }
        _ => out.push('\n'),
    }
}

/// Prints an entry of a list whose `-` is at `indent` columns.
fn item(out: &mut String, value: &Out, indent: usize) {
    match value {
        Out::Task(entries) => {
            out.push(' ');
            map(out, entries, indent + 2);
        }
        Out::Map(entries) if one_line(value).is_none_or(|line| indent + 2 + line.len() > WIDTH) => {
            out.push(' ');
            map(out, entries, indent + 2);
        }
        _ => behind(out, value, indent),
    }
}

fn is_scalar(value: &Out) -> bool {
    matches!(value, Out::Null | Out::Text(_) | Out::Exact(_) | Out::Bare(_))
}

/// Several lines after `|`, if they can be written in this way.
fn block(text: &str, indent: usize) -> Option<String> {
    let odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    let tab = text.lines().any(|line| line.starts_with('\t') || (!line.is_empty() && line.trim().is_empty()));
    let outer = text.starts_with('\n') || text.ends_with(['\n', ' ', '\t']);
    if !text.contains('\n')
        || text.chars().any(odd)
        || tab
        || outer
        || text.contains(['\u{feff}', '\u{85}', '\u{2028}', '\u{2029}'])
    {
        return None;
    }
    // YAML cannot detect the indentation of a text that begins with blanks.
    let mark = if text.starts_with(' ') { "|2" } else { "|" };
    let mut out = format!("{mark}\n");
    for line in text.split('\n') {
        if !line.is_empty() {
            blanks(&mut out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
    Some(out)
}

/// A value on one line, if it can be written in this way.
fn one_line(value: &Out) -> Option<String> {
    match value {
        Out::Null => Some(String::new()),
        Out::Text(text) | Out::Exact(text) => Some(scalar(text, false)),
        Out::Bare(text) => Some(text.clone()),
        Out::List(_) | Out::Map(_) => flow(value),
        Out::Task(_) => None,
    }
}

fn flow(value: &Out) -> Option<String> {
    match value {
        Out::Null => Some("null".to_owned()),
        Out::Text(text) | Out::Exact(text) => (!text.contains('\n')).then(|| scalar(text, true)),
        Out::Bare(text) => Some(text.clone()),
        Out::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(flow).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Out::Map(entries) => {
            let entry = |(key, value): &(String, Out)| match value {
                Out::Null => Some(format!("{}:", scalar(key, true))),
                other => Some(format!("{}: {}", scalar(key, true), flow(other)?)),
            };
            let entries: Option<Vec<String>> = entries.iter().map(entry).collect();
            Some(format!("{{{}}}", entries?.join(", ")))
        }
        Out::Task(_) => None,
    }
}

/// A text without quotes if that has the same meaning. Otherwise in the quotes that need the fewest escapes.
fn scalar(text: &str, in_flow: bool) -> String {
    if is_plain(text, in_flow) {
        return text.to_owned();
    }
    let odd = |c: char| c.is_control() || matches!(c, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if text.contains(['"', '\\']) && !text.chars().any(odd) && !text.contains('\'') {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Writing into a string cannot fail.
            other if odd(other) => drop(write!(out, "\\u{:04x}", u32::from(other))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn is_plain(text: &str, in_flow: bool) -> bool {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return false };
    let second = chars.next();
    let begins = match first {
        '-' => second.is_some_and(|second| !second.is_whitespace()) && !text.starts_with("---"),
        other => !",[]{}#&*!|>'\"%@`?:".contains(other),
    };
    let null = matches!(text, "~" | "null" | "Null" | "NULL");
    let odd = |c: char| c.is_control() || matches!(c, '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    begins
        && !null
        && !is_truth_word(text)
        && text.trim() == text
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.starts_with("...")
        && !text.chars().any(odd)
        && !(in_flow && text.contains([',', '[', ']', '{', '}', ':', '"']))
}
