//! The items of a list in a text: what a task with `For each` is done for (spec 3.16).

use std::collections::BTreeSet;
use std::fmt;

use callsheet_core::nouns::Task;
use callsheet_core::texts::fill;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::markdown::dedent;
use crate::values::{ValueFault, ValueForm};

/// Longest title, in characters.
const TITLE: usize = 60;

/// One item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is called: the beginning of its text.
    pub title: String,
    /// Its text. Of an object, one `name: value` a line.
    pub text: String,
    /// The fields of an object or of a row, with their values.
    pub fields: Vec<(String, String)>,
}

impl Item {
    /// An item without fields.
    pub fn plain(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), fields: Vec::new() }
    }
}

/// Why a text gives no items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemsFault {
    /// The text does not have the format that the extension of its file names.
    #[error("{0}")]
    Value(#[from] ValueFault),
    /// A JSON value that is not a list.
    #[error("it contains one JSON value and no list")]
    NoList,
    /// Markdown without any list.
    #[error("it contains no list, no table and no JSON list")]
    NoMarkdownList,
}

/// The items of a text, by the extension of `path`: elements of a JSON list, lines of JSON Lines, rows of a table
/// (CSV, TSV), lines of any other text. In Markdown, the first list, table or fenced JSON list counts.
///
/// # Errors
/// The text contains no items in this format.
pub fn items_of(path: &str, text: &str) -> Result<Vec<Item>, ItemsFault> {
    let is_markdown = [".md", ".markdown"].iter().any(|ending| path.to_ascii_lowercase().ends_with(ending));
    let values: Vec<Value> = if is_markdown {
        in_markdown(text).ok_or(ItemsFault::NoMarkdownList)?
    } else {
        match ValueForm::of(path).read(text)? {
            Value::Array(values) => values,
            _ => return Err(ItemsFault::NoList),
        }
    };
    Ok(values.iter().map(item_of).filter(|item| !item.text.is_empty()).collect())
}

fn item_of(value: &Value) -> Item {
    let text = text_of(value).trim().to_owned();
    let members = value.as_object().into_iter().flatten();
    let fields = members.map(|(name, value)| (name.clone(), text_of(value))).collect();
    Item { title: title_of(&text), text, fields }
}

fn title_of(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    if line.chars().count() <= TITLE {
        return line.to_owned();
    }
    let head: String = line.chars().take(TITLE - 1).collect();
    format!("{}…", head.trim_end())
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let lines: Vec<String> =
                members.iter().map(|(name, value)| format!("{name}: {}", text_of(value))).collect();
            lines.join("\n")
        }
        other => other.to_string(),
    }
}

/// The names in braces of a text outside code: `file` and `row.name`.
pub(crate) fn placeholders(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if !in_code => {
                let words = text.get(range).unwrap_or_default();
                found.extend(words.split('{').skip(1).filter_map(|rest| {
                    let (name, _) = rest.split_once('}')?;
                    is_placeholder(name).then(|| name.to_owned())
                }));
            }
            _ => {}
        }
    }
    found
}

/// Whether a name in braces can stand for an item or one of its fields.
fn is_placeholder(name: &str) -> bool {
    let (name, field) = name.split_once('.').unwrap_or((name, "x"));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_field = !field.trim().is_empty() && field.chars().all(|c| c.is_alphanumeric() || " _-".contains(c));
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_word) && is_field
}

/// The words of a task for one item: `{row}` becomes `words`, and `{row.name}` the field of the item in one line.
pub fn filled(text: &str, name: &str, item: &Item, words: &str) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fields = item.fields.iter().map(|(field, value)| (format!("{name}.{field}"), one_line(value)));
    let values: Vec<(String, String)> = std::iter::once((name.to_owned(), words.to_owned())).chain(fields).collect();
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fill(text, &values)
}

/// A field that the words of a task name and that no item has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// What the task calls an item.
    pub item: String,
    /// The field.
    pub field: String,
    /// The fields that the items have.
    pub known: Vec<String>,
}

impl fmt::Display for MissingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, field, known } = self;
        write!(f, "no item has the field {field} of {{{item}.{field}}}; ")?;
        if known.is_empty() { f.write_str("they have no fields") } else { write!(f, "they have {}", known.join(", ")) }
    }
}

/// The first field that the words of a task name and that no item has. `None` without such a field or without items.
pub fn missing_field(task: &Task, items: &[Item]) -> Option<MissingField> {
    let name = &task.for_each.as_ref()?.name;
    let known: BTreeSet<&str> = items.iter().flat_map(|item| &item.fields).map(|(field, _)| field.as_str()).collect();
    let used: Vec<String> = [&task.need, &task.expected].into_iter().flat_map(|text| placeholders(text)).collect();
    let fields = used.iter().filter_map(|used| used.split_once('.').filter(|(own, _)| own == name));
    let missing = fields.map(|(_, field)| field).find(|field| !items.is_empty() && !known.contains(field))?;
    let known = known.into_iter().map(str::to_owned).collect();
    Some(MissingField { item: name.clone(), field: missing.to_owned(), known })
}

/// The items of the first list, table or fenced JSON list outside other blocks.
fn in_markdown(text: &str) -> Option<Vec<Value>> {
    let mut events = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS).into_offset_iter();
    let mut depth = 0_usize;
    while let Some((event, range)) = events.next() {
        match event {
            Event::Start(Tag::List(_)) if depth == 0 => {
                return Some(items_of_list(text, events).into_iter().map(Value::String).collect());
            }
            Event::Start(Tag::Table(_)) if depth == 0 => return Some(rows(events)),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(tag))) if depth == 0 && &*tag == "json" => {
                let content = text.get(range)?.lines().skip(1).filter(|line| !line.trim_start().starts_with("```"));
                let content: Vec<&str> = content.collect();
                if let Ok(Value::Array(values)) = serde_json::from_str(&content.join("\n")) {
                    return Some(values);
                }
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

type Events<'a> = pulldown_cmark::OffsetIter<'a>;

/// The source of each outermost item without its marker and check box.
fn items_of_list(text: &str, events: Events<'_>) -> Vec<String> {
    let mut items = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in events {
        match event {
            Event::Start(Tag::Item) if depth == 0 => {
                items.push(text.get(range).map(without_marker).unwrap_or_default());
                depth += 1;
            }
            Event::End(TagEnd::List(_)) if depth == 0 => break,
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    items
}

fn without_marker(item: &str) -> String {
    let (first, rest) = item.split_once('\n').unwrap_or((item, ""));
    let digits = first.trim_start_matches(|c: char| c.is_ascii_digit());
    let words = digits.get(1..).unwrap_or_default().trim_start();
    let columns = first.len() - words.len();
    let first = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| words.strip_prefix(mark)).unwrap_or(words);
    let rest = rest.lines().map(|line| dedent(line, columns)).collect::<Vec<_>>().join("\n");
    if rest.trim().is_empty() { first.to_owned() } else { format!("{first}\n{rest}") }
}

/// The rows of a table as objects.
fn rows(events: Events<'_>) -> Vec<Value> {
    let (mut names, mut rows): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    let (mut cells, mut cell): (Vec<String>, String) = (Vec::new(), String::new());
    for (event, _) in events {
        match event {
            Event::Text(text) | Event::Code(text) => cell.push_str(&text),
            Event::End(TagEnd::TableCell) => cells.push(std::mem::take(&mut cell)),
            Event::End(TagEnd::TableHead) => names = std::mem::take(&mut cells),
            Event::End(TagEnd::TableRow) => {
                let row = names.iter().cloned().zip(std::mem::take(&mut cells).into_iter().map(Value::String));
                rows.push(Value::Object(row.collect()));
            }
            Event::End(TagEnd::Table) => break,
            _ => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{items_of, placeholders};

    fn check(path: &str, text: &str, expect: &[&str]) {
        let items = items_of(path, text).unwrap();
        assert_eq!(items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>(), expect, "{path}");
    }

    #[test]
    fn formats_by_extension() {
        check("a.csv", "name,age\nAnn,7\nBo,8\n", &["name: Ann\nage: 7", "name: Bo\nage: 8"]);
        check("a.json", "[\"x\", {\"a\": 1}, 2]", &["x", "a: 1", "2"]);
        check("a.jsonl", "\"x\"\n\n[1]\n", &["x", "[1]"]);
        check("urls.txt", "one\n\n two\n", &["one", "two"]);
        assert_eq!(items_of("a.json", "{}").unwrap_err().to_string(), "it contains one JSON value and no list");
        assert!(items_of("a.csv", "a,b\n1\n").unwrap_err().to_string().starts_with("line 2"));
    }

    #[test]
    fn lists_of_markdown() {
        check(
            "a.md",
            "# T\n\nWords.\n\n1. one\n2. [ ] two\n   more\n   - inner\n\nEnd.\n\n- other\n",
            &["one", "two\nmore\n- inner"],
        );
        check("a.md", "> - quoted\n\n| a | b |\n|---|---|\n| 1 | `x` |\n| 2 | y |\n", &["a: 1\nb: x", "a: 2\nb: y"]);
        check("a.md", "Words.\n\n```json\n[\"p\", \"q\"]\n```\n", &["p", "q"]);
        check("a.md", "```json\n{}\n```\n* one\n", &["one"]);
        assert_eq!(
            items_of("a.md", "Words.").unwrap_err().to_string(),
            "it contains no list, no table and no JSON list"
        );
    }

    #[test]
    fn placeholders_are_names_in_braces_outside_code() {
        let check = |text: &str, names: &[&str]| assert_eq!(placeholders(text), names, "{text}");
        check("Read {file}, {row.name} and {row.Due date}.", &["file", "row.name", "row.Due date"]);
        check("Write `{id}`, {\"a\": 1}, { x }, {}, {a, b}, {1} and {open", &[]);
        check("Write:\n\n```\n{file}\n```\n\nand {item}", &["item"]);
    }

    #[test]
    fn rows_and_objects_have_fields() {
        for (path, text) in [
            ("a.csv", "name,age\nAnn,7\n"),
            ("a.json", "[{\"name\":\"Ann\",\"age\":7}]"),
            ("a.md", "| name | age |\n|-|-|\n| Ann | 7 |\n"),
        ] {
            let fields = items_of(path, text).unwrap().remove(0).fields;
            let field = |name: &str| fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
            assert_eq!((field("name"), field("age")), (Some("Ann"), Some("7")), "{path}");
        }
    }

    #[test]
    fn a_title_is_one_short_line() {
        let items = items_of("a.txt", &format!("{} b\n", "a ".repeat(60))).unwrap();
        assert_eq!(items[0].title.chars().count(), 60);
    }
}
