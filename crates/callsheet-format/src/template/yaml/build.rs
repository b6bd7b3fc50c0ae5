//! Builds elements from YAML: what all tasks share, and the outermost level of a file.

use std::collections::BTreeMap;

use callsheet_core::fuzzy::nearest;
use callsheet_core::template::{Bytes, Code};

use super::keys::{self, Key, Kinds, To};
use super::scalar;
use crate::template::grammar;
use crate::template::read::near_word;
use crate::template::report::{Draft, MOST};
use crate::template::xml::{Attribute, Element, Item, Mapped};
use crate::yaml::{Node, Value};

/// Builds the elements of one file.
pub(super) struct Builder<'a> {
    pub(super) text: &'a str,
    pub(super) drafts: Vec<(Draft, String)>,
    /// The names of the surrounding template and tasks, outermost first.
    pub(super) names: Vec<String>,
}

/// A key of the table that was found in a map.
#[derive(Clone, Copy)]
pub(super) struct Found<'n> {
    pub(super) key: &'static Key,
    /// The range of the key.
    pub(super) at: Bytes,
    pub(super) value: &'n Node,
}

/// The keys of a map, and whether one of them is unknown.
pub(super) struct Keys<'n> {
    pub(super) found: Vec<Found<'n>>,
    pub(super) unknown: bool,
}

/// An empty element for a key and its value.
pub(super) fn element(name: &str, tag: Bytes, span: Bytes) -> Element {
    Element { name: name.to_owned(), name_span: tag, tag, span, inner: span, ..Element::default() }
}

/// An attribute.
pub(super) fn attribute(name: &str, at: Bytes, value: Mapped, value_span: Bytes) -> Attribute {
    Attribute { name: name.to_owned(), name_span: at, value, value_span }
}

/// Whether the value is `true`. `at_once: true` means the default number.
fn is_true(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, plain: true } if text == "true")
}

/// The range from the beginning of one to the end of the other.
pub(super) fn joined(first: Bytes, last: Bytes) -> Bytes {
    Bytes::new(first.start, last.end.max(first.end))
}

impl<'a> Builder<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, drafts: Vec::new(), names: Vec::new() }
    }

    pub(super) fn add(&mut self, draft: Draft) {
        if self.drafts.len() > MOST {
            return;
        }
        let path = self.names.join("/");
        self.drafts.push((draft, path));
    }

    pub(super) fn tell(&mut self, code: Code, at: Bytes, message: impl Into<String>, advice: impl Into<String>) {
        self.add(Draft::new(code, at, message).advice(advice));
    }

    /// Builds a template from one document.
    pub(super) fn template(&mut self, node: &Node) -> Option<Element> {
        let Value::Map(entries) = &node.value else {
            let message = format!("a template is a map of keys, not {}", node.value.kind());
            self.tell(Code::T010, node.span, message, "begin with `template: NAME`");
            return None;
        };
        let keys = self.keys(entries, Some(Kinds::TEMPLATE));
        let (own, body): (Vec<Found<'_>>, Vec<Found<'_>>) =
            keys.found.into_iter().partition(|found| found.key.of.has(Kinds::TEMPLATE));
        let first = entries.first().map_or(node.span, |(key, _)| key.span);
        let mut out = element("template", first, node.span);
        let mut name = None;
        for found in &own {
            match found.key.name {
                "template" => {
                    name = self.word(found.value, "template");
                    let value = name.clone().unwrap_or_default();
                    out.tag = joined(found.at, found.value.span);
                    out.attributes.push(attribute("name", found.at, value, found.value.span));
                }
                "inputs" => out.items.push(Item::Element(self.params(*found))),
                _ => self.put(&mut out, *found),
            }
        }
        self.names = vec![name.map(|name| name.as_str().to_owned()).unwrap_or_default()];
        let body = Keys { found: body, unknown: keys.unknown };
        let task = self.task(body, super::task::Place { tag: out.tag, span: node.span, id: None, outermost: true });
        self.names.clear();
        out.items.extend(task.map(Item::Element));
        Some(out)
    }

    /// Finds the keys of a map in the table, without duplicates. `outside` allows the keys of that level, too.
    pub(super) fn keys<'n>(&mut self, entries: &'n [(Node, Node)], outside: Option<Kinds>) -> Keys<'n> {
        let mut out = Keys { found: Vec::new(), unknown: false };
        for (key, value) in entries {
            let Value::Scalar { text, .. } = &key.value else {
                self.tell(Code::T001, key.span, "a key is a word", "write `key: value`");
                continue;
            };
            let is_known =
                |known: &Key| !known.of.has(Kinds::TEMPLATE) || outside.is_some_and(|level| known.of.has(level));
            let Some(known) = keys::find(text).filter(|known| is_known(known)) else {
                out.unknown = true;
                self.unknown(key, value, text, &is_known);
                continue;
            };
            if let Some(first) = out.found.iter().find(|found| found.key.name == known.name) {
                let draft = Draft::new(Code::T013, key.span, format!("`{text}` occurs twice here")).found(text);
                let first = first.at;
                self.add(draft.advice("keep one").related(first, "first here"));
                continue;
            }
            out.found.push(Found { key: known, at: key.span, value });
        }
        out
    }

    fn unknown(&mut self, key: &Node, value: &Node, text: &str, is_known: &dyn Fn(&Key) -> bool) {
        // The search for similar keys takes time, and only this many issues are reported.
        if self.drafts.len() > MOST {
            return;
        }
        let names = || keys::KEYS.iter().filter(|known| is_known(known)).map(|known| known.name);
        let near = nearest(text, names(), 5);
        let draft = Draft::new(Code::T019, key.span, format!("there is no key `{text}`")).found(text);
        let advice = match (meant(text, names()), &value.value) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Value::Null) => format!("indent what belongs to `{text}` further than it"),
            (None, _) => "remove it, or move it where it belongs".to_owned(),
        };
        self.add(draft.expected(near.iter().map(String::as_str)).advice(advice));
    }

    /// A text. A bare `no` is reported as a slip.
    pub(super) fn text_of(&mut self, node: &Node, name: &str) -> Option<Mapped> {
        if let Value::Scalar { text, plain: true } = &node.value
            && scalar::is_truth_word(text)
        {
            let message = format!("`{text}` without quotes may mean true or false, and `{name}` is a text");
            let draft = Draft::new(Code::T001, node.span, message).found(text);
            self.add(draft.advice(format!("put it in quotes: \"{text}\"")));
        }
        self.cut_off(node, name);
        self.word(node, name)
    }

    /// Reports `#3` after a text without quotes. YAML reads it as a comment, which was probably not intended.
    fn cut_off(&mut self, node: &Node, name: &str) {
        let Value::Scalar { plain: true, .. } = &node.value else { return };
        let behind = self.text.get(node.span.end..).unwrap_or_default();
        let line = behind.split('\n').next().unwrap_or_default();
        let start = node.span.end + (line.len() - line.trim_start().len());
        let comment = line.trim_start().strip_prefix('#').filter(|rest| rest.starts_with(char::is_alphanumeric));
        if let Some(rest) = comment {
            let at = Bytes::new(start, start + 1 + rest.len());
            let draft = Draft::new(Code::T001, at, format!("`#` begins a comment, so this is no part of `{name}`"));
            let advice = "put the text in quotes; if it is a comment, write a blank behind `#`";
            self.add(draft.found(line.trim()).advice(advice));
        }
    }

    /// A text, number or word as written.
    pub(super) fn word(&mut self, node: &Node, name: &str) -> Option<Mapped> {
        match &node.value {
            Value::Scalar { text, .. } => Some(scalar::mapped(self.text, text, node.span)),
            Value::Null => {
                self.tell(Code::T018, node.span, format!("`{name}` is empty"), "give it a value, or remove it");
                None
            }
            other => {
                let message = format!("`{name}` is a text, not {}", other.kind());
                self.tell(Code::T012, node.span, message, "write a text; put one with brackets or braces in quotes");
                None
            }
        }
    }

    /// The entries of a map.
    pub(super) fn map<'n>(&mut self, node: &'n Node, name: &str) -> &'n [(Node, Node)] {
        match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            other => {
                let message = format!("`{name}` is a map, not {}", other.kind());
                self.tell(Code::T012, node.span, message, "write `key: value` below it");
                &[]
            }
        }
    }

    /// The entries of a list. A single value counts as a list of one.
    pub(super) fn list(node: &Node) -> Vec<&Node> {
        match &node.value {
            Value::List(items) => items.iter().collect(),
            Value::Null => Vec::new(),
            _ => vec![node],
        }
    }

    /// The name in a key of a map.
    pub(super) fn name(&mut self, key: &Node) -> Option<Mapped> {
        if matches!(key.value, Value::Scalar { .. }) {
            return self.word(key, "the name");
        }
        self.tell(Code::T017, key.span, "a name is a word", "write `NAME: value`");
        None
    }

    /// Reports names that occur twice in a map.
    pub(super) fn once(&mut self, entries: &[(Node, Node)]) {
        let mut seen: BTreeMap<&str, Bytes> = BTreeMap::new();
        for (key, _) in entries {
            let Value::Scalar { text, .. } = &key.value else { continue };
            if let Some(first) = seen.get(text.as_str()).copied() {
                let draft = Draft::new(Code::T021, key.span, format!("`{text}` occurs twice here")).found(text);
                self.add(draft.advice("rename or remove one of the two").related(first, "first here"));
                continue;
            }
            seen.insert(text, key.span);
        }
    }

    /// A child that contains a text.
    pub(super) fn child(&self, name: &str, found: Found<'_>, text: Mapped) -> Element {
        let mut out = element(name, found.at, joined(found.at, found.value.span));
        out.inner = found.value.span;
        out.items.push(Item::Text(text));
        out
    }

    /// A child that contains a text of several lines. Faults in the text were already reported.
    pub(super) fn block_child(&self, name: &str, found: Found<'_>, text: Option<Mapped>) -> Element {
        let damaged = text.is_none();
        Element { damaged, ..self.child(name, found, scalar::block(&text.unwrap_or_default())) }
    }

    /// Adds the value of a key to an element.
    pub(super) fn put(&mut self, out: &mut Element, found: Found<'_>) {
        let (name, value) = (found.key.name, found.value);
        match found.key.to {
            To::Attribute("items") => self.items(out, found),
            To::Attribute("max_parallel") if is_true(value) => {}
            To::Attribute(to) => {
                let words = if to == "tags" { self.words(value, name) } else { self.word(value, name) };
                out.attributes.extend(words.map(|words| attribute(to, found.at, words, value.span)));
            }
            To::Text("initial_value") if matches!(value.value, Value::List(_) | Value::Map(_)) => {
                let text = self.json_text(value);
                out.items.push(Item::Element(self.child("initial_value", found, text)));
            }
            To::Text(to) => {
                let text = self.text_of(value, name);
                out.items.push(Item::Element(self.block_child(to, found, text)));
            }
            To::Word(to) => {
                if let Some(text) = self.word(value, name) {
                    out.items.push(Item::Element(self.child(to, found, text)));
                }
            }
            To::List(to) => {
                if let Some(text) = self.words(value, name) {
                    out.items.push(Item::Element(self.child(to, found, text)));
                }
            }
            To::Slot(to) => out.items.push(Item::Element(self.slot(to, found))),
            To::In(to, inner) => {
                if let Some(text) = self.word(value, name) {
                    let attribute = attribute(inner, found.at, text, value.span);
                    with_child(out, to, found, |block| block.attributes.push(attribute));
                }
            }
            To::Block(to) => self.block(out, to, found),
            To::Own(_) => self.own(out, found),
        }
    }

    /// Comma-separated words, written as a text or a list.
    fn words(&mut self, node: &Node, name: &str) -> Option<Mapped> {
        if !matches!(node.value, Value::List(_)) {
            return self.text_of(node, name);
        }
        let mut out = Mapped::default();
        for item in Self::list(node) {
            let Some(word) = self.text_of(item, name) else { continue };
            if !out.as_str().is_empty() {
                out.push(", ", item.span.start, 0);
            }
            out.append(&word);
        }
        Some(out)
    }

    /// Reads a map whose keys are attributes of a child.
    fn block(&mut self, out: &mut Element, to: &str, found: Found<'_>) {
        let entries = self.map(found.value, found.key.name);
        self.once(entries);
        if entries.is_empty() {
            return;
        }
        let mut block = element(to, found.at, joined(found.at, found.value.span));
        for (key, value) in entries {
            let (Some(name), Some(text)) = (self.name(key), self.word(value, found.key.name)) else { continue };
            if block.attribute(name.as_str()).is_none() {
                block.attributes.push(attribute(name.as_str(), key.span, text, value.span));
            }
        }
        out.items.push(Item::Element(block));
    }

    /// A slot with its task.
    pub(super) fn slot(&mut self, to: &str, found: Found<'_>) -> Element {
        let mut out = element(to, found.at, joined(found.at, found.value.span));
        out.items.extend(self.task_of(found.value, found.key.name).map(Item::Element));
        out.damaged = out.items.is_empty();
        out
    }
}

/// The most likely intended key: by its word elsewhere, by spelling, by letters, or by its name in XML.
pub(super) fn meant(text: &str, names: impl Iterator<Item = &'static str> + Clone) -> Option<String> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let elsewhere = keys::OTHER_WORDS.iter().filter(|(word, _)| *word == text).map(|(_, key)| *key);
    if let Some(key) = elsewhere.into_iter().find(|key| names.clone().any(|known| known == *key)) {
        return Some(key.to_owned());
    }
    let own = near_word(text, names.clone());
    let swapped = || names.clone().find(|name| letters(name) == letters(text)).map(str::to_owned);
    let of_xml = || near_word(text, grammar::names()).and_then(|name| keys::shown(&name).map(str::to_owned));
    own.or_else(swapped).or_else(of_xml).filter(|name| names.clone().any(|known| known == name))
}

/// Changes the child with a name. Creates the child if there is none.
pub(super) fn with_child(out: &mut Element, name: &str, found: Found<'_>, change: impl FnOnce(&mut Element)) {
    if out.child(name).is_none() {
        out.items.push(Item::Element(element(name, found.at, joined(found.at, found.value.span))));
    }
    let children = out.items.iter_mut().filter_map(|item| match item {
        Item::Element(child) => Some(child),
        Item::Text(_) => None,
    });
    if let Some(child) = children.into_iter().find(|child| child.name == name) {
        change(child);
    }
}
