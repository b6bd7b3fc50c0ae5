//! Names in the short form are plain (spec 2.8). `notes` is the result of the task `notes`, which the grammar calls
//! `steps.notes`. `and`, `or` and `not` are `&&`, `||` and `!`. Reading and writing use the same walk over scopes.

use std::collections::BTreeSet;

use callsheet_core::template::{Bytes, Code, Facts, Filled};

use crate::template::grammar::{
    self, Content, Element as Row, Kind, facts_of, is_operator_element, operator_row, template, types_of,
};
use crate::template::read::split_params;
use crate::template::report::Draft;
use crate::template::xml::{Element, Item, Mapped};

/// The direction of the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum Way {
    /// From the short form to the grammar.
    Read,
    /// From the grammar to the short form.
    Write,
}

/// Words of an expression that are not names.
const WORDS: [(&str, &str); 3] = [("and", "&&"), ("or", "||"), ("not", "!")];

/// A comparison that is a word in both forms.
const IN: &str = "in";

/// Values that are words.
const LITERALS: [&str; 3] = ["true", "false", "null"];

/// The group of the results of tasks.
const STEPS: &str = "steps";

/// Changes every name of a template. Returns issues about names, and the names that the short form cannot express.
pub(in crate::template) fn resolve(element: &mut Element, way: Way) -> (Vec<Draft>, BTreeSet<String>) {
    let mut walk = Walk { way, scope: Vec::new(), drafts: Vec::new(), lost: BTreeSet::new() };
    let params: Vec<(String, Bytes)> = match (element.attribute("params"), element.child("params")) {
        (Some(text), _) => {
            split_params(text.value.as_str()).iter().map(|param| (param.name.to_owned(), text.value_span)).collect()
        }
        (None, form) => named(form),
    };
    for (name, at) in params {
        walk.value(&name, at);
    }
    let root = template();
    walk.children(element, root, None);
    (walk.drafts, walk.lost)
}

/// The names of the children of a block, with their places.
fn named(block: Option<&Element>) -> Vec<(String, Bytes)> {
    let names = block.into_iter().flat_map(Element::elements).filter_map(|child| child.attribute("name"));
    names.map(|name| (name.value.as_str().to_owned(), name.value_span)).collect()
}

struct Walk {
    way: Way,
    /// The names in scope, innermost last, each with whether it is a task.
    scope: Vec<(String, bool)>,
    drafts: Vec<Draft>,
    lost: BTreeSet<String>,
}

impl Walk {
    fn is_task(&self, name: &str) -> bool {
        self.scope.iter().rev().find(|(known, _)| known == name).is_some_and(|(_, task)| *task)
    }

    /// Reports a name that an expression never reads as a name.
    fn word(&mut self, name: &str, at: Bytes) {
        let is_word = LITERALS.contains(&name) || WORDS.iter().any(|(word, _)| *word == name);
        if self.way == Way::Read && is_word {
            let draft =
                Draft::new(Code::T017, at, format!("`{name}` is a word of conditions, so nothing can be called that"));
            self.drafts.push(draft.found(name).advice("choose another name"));
        }
    }

    /// Binds a value that an author named.
    fn value(&mut self, name: &str, at: Bytes) {
        self.word(name, at);
        if self.is_task(name) {
            self.twice(name, at, "the value");
        }
        self.scope.push((name.to_owned(), false));
    }

    fn twice(&mut self, name: &str, at: Bytes, what: &str) {
        let draft = Draft::new(Code::T021, at, format!("{what} `{name}` has a name that something else has here"));
        self.drafts.push(draft.found(name).advice("rename one of the two"));
    }

    fn operator(&mut self, element: &mut Element) {
        let Some(row) = operator_row(&element.name) else { return };
        let word = element.attribute("type").map_or("atomic", |word| word.value.as_str());
        let facts = match element.name.as_str() {
            "task" => types_of(word).map(|(_, facts)| facts),
            name => facts_of(name).map(|(facts, _)| facts),
        };
        let mark = self.scope.len();
        // The values for a task are evaluated in the surrounding scope.
        for item in &mut element.items {
            if let Item::Element(child) = item
                && child.name == "inputs"
                && let Some(row) = row.children.iter().find(|row| row.element.name == "inputs")
            {
                self.element(child, row.element);
            }
        }
        // The values for a call are named after the parameters of the called template.
        if element.attribute("ref").is_none() {
            for (name, at) in named(element.child("inputs")) {
                self.value(&name, at);
            }
        }
        self.attributes(element, row);
        self.children(element, row, facts);
        self.scope.truncate(mark);
    }

    fn element(&mut self, element: &mut Element, row: &Row) {
        self.attributes(element, row);
        let kind = match row.content {
            Content::Value(kind) | Content::Optional(kind) | Content::Either(kind) => Some(kind),
            Content::Argument => Some(Kind::Filled),
            _ => None,
        };
        for item in &mut element.items {
            if let (Item::Text(text), Some(kind)) = (item, kind) {
                self.text(kind, text);
            }
        }
        self.children(element, row, None);
    }

    fn attributes(&mut self, element: &mut Element, row: &Row) {
        for attribute in &mut element.attributes {
            if let Some(known) = row.attributes.iter().find(|known| known.name == attribute.name) {
                self.text(known.kind, &mut attribute.value);
            }
        }
    }

    /// Walks through the children of an element. Children that belong to the operator see the names that it binds.
    fn children(&mut self, element: &mut Element, row: &Row, facts: Option<&Facts>) {
        let mark = self.scope.len();
        let item = element.attribute("as").map(|name| (name.value.as_str().to_owned(), name.value_span));
        if row.content == Content::Operators && row.name == STEPS {
            self.tasks(element);
        }
        for child in &mut element.items {
            let Item::Element(child) = child else { continue };
            if is_operator_element(&child.name) {
                self.operator(child);
                continue;
            }
            let Some(known) = row.children.iter().find(|known| known.element.name == child.name) else {
                // A slot in short form contains the children of a task.
                if let Some(task) = grammar::operator_row("task").filter(|_| row.content == Content::Slot)
                    && let Some(known) = task.children.iter().find(|known| known.element.name == child.name)
                {
                    self.element(child, known.element);
                }
                continue;
            };
            let own = facts.filter(|facts| facts.rows.children().iter().any(|own| own.element.name == child.name));
            match own {
                // The inputs were processed before the operator bound its names.
                _ if facts.is_some() && child.name == "inputs" => {}
                Some(facts) => {
                    let inner = self.scope.len();
                    self.scope.extend(facts.binds.iter().map(|name| ((*name).to_owned(), false)));
                    if let Some((name, at)) = &item {
                        self.value(name, *at);
                    }
                    self.element(child, known.element);
                    self.scope.truncate(inner);
                }
                None => self.element(child, known.element),
            }
        }
        self.scope.truncate(mark);
    }

    /// Binds the tasks of a sequence.
    fn tasks(&mut self, element: &Element) {
        let mut ids = Vec::new();
        ids_of(element, &mut ids);
        for (id, at) in ids {
            if let Some(at) = at {
                self.word(&id, at);
            }
            let taken = self.scope.iter().rev().find(|(known, _)| *known == id).is_some_and(|(_, task)| !task);
            if let Some(at) = at.filter(|_| taken) {
                self.twice(&id, at, "the task");
            }
            self.scope.push((id, true));
        }
    }

    fn text(&mut self, kind: Kind, text: &mut Mapped) {
        let whole = text.as_str();
        let edits: Vec<(usize, usize, String)> = match kind {
            Kind::Filled | Kind::Command | Kind::PlainCommand => {
                let places = Filled::read(whole).1.into_iter().filter(|written| written.path.is_some());
                let places: Vec<(usize, usize)> = places.map(|written| (written.start, written.end)).collect();
                places.into_iter().flat_map(|(start, end)| self.edits(whole, start, end, false)).collect()
            }
            Kind::Path => self.edits(whole, 0, whole.len(), false),
            Kind::Expression => self.edits(whole, 0, whole.len(), true),
            _ => return,
        };
        if !edits.is_empty() {
            *text = text.replaced(&edits);
        }
    }

    /// The replacements between two bytes of a text.
    fn edits(&mut self, whole: &str, start: usize, end: usize, expression: bool) -> Vec<(usize, usize, String)> {
        let text = whole.get(..end).unwrap_or_default();
        let mut out = Vec::new();
        let mut at = start;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let first = rest.chars().next().unwrap_or_default();
            let run = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
            let word = rest.get(..run).unwrap_or_default();
            let is_field = text.get(..at).is_some_and(|before| before.ends_with('.'));
            let step = match first {
                '"' | '\'' if expression => {
                    rest.get(1..).and_then(|inside| inside.find(first)).map_or(rest.len(), |found| found + 2)
                }
                'a'..='z' | 'A'..='Z' | '_' if !is_field => {
                    out.extend(self.name(rest, word, expression).map(|(length, new)| (at, at + length, new)));
                    run
                }
                _ if run > 0 => run,
                _ if expression && self.way == Way::Write => {
                    let edit = sign(text, at);
                    let step = edit.as_ref().map_or(first.len_utf8(), |(length, _)| *length);
                    out.extend(edit.map(|(length, new)| (at, at + length, new)));
                    step
                }
                _ => first.len_utf8(),
            };
            at += step;
        }
        out
    }

    /// The other form of the name at the start of `rest`: the number of bytes to replace, and the replacement.
    fn name(&mut self, rest: &str, word: &str, expression: bool) -> Option<(usize, String)> {
        let behind = rest.get(word.len()..).unwrap_or_default();
        let sign = WORDS.iter().find(|(name, _)| expression && *name == word);
        if let Some((name, sign)) = sign {
            if self.way == Way::Write {
                self.lost.insert(word.to_owned());
                return None;
            }
            let blank = usize::from(*name == "not" && behind.starts_with(' '));
            return Some((word.len() + blank, (*sign).to_owned()));
        }
        if behind.starts_with('(') || LITERALS.contains(&word) {
            return None;
        }
        match self.way {
            Way::Read if expression && word == IN => None,
            Way::Read => self.is_task(word).then(|| (0, format!("{STEPS}."))),
            Way::Write if word == STEPS => {
                let id = behind.strip_prefix('.')?;
                let length =
                    id.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(id.len());
                let id = id.get(..length).unwrap_or_default();
                let plain = self.is_task(id) && !WORDS.iter().any(|(name, _)| *name == id);
                let literal = LITERALS.contains(&id) || matches!(id, "record" | "len" | IN);
                (plain && !literal).then(|| (STEPS.len() + 1, String::new()))
            }
            Way::Write => {
                if self.is_task(word) {
                    self.lost.insert(word.to_owned());
                }
                None
            }
        }
    }
}

/// The word for a sign of an expression at a byte, with the length of the sign. A sign without blanks around it
/// stays.
fn sign(text: &str, at: usize) -> Option<(usize, String)> {
    let rest = text.get(at..)?;
    if rest.starts_with('!') && !rest.starts_with("!=") {
        return Some((1, "not ".to_owned()));
    }
    let (word, sign) = WORDS.iter().find(|(_, sign)| rest.starts_with(sign))?;
    let apart = text.get(..at)?.ends_with(' ') && rest.get(sign.len()..)?.starts_with(' ');
    (sign.len() == 2 && apart).then(|| (sign.len(), (*word).to_owned()))
}

/// The ids of the tasks in an element and in tasks that lend theirs. Ids that an author wrote have a place.
fn ids_of(element: &Element, out: &mut Vec<(String, Option<Bytes>)>) {
    let tasks = element.elements().filter(|child| is_operator_element(&child.name));
    for (index, task) in tasks.enumerate() {
        if facts_of(&task.name).is_some_and(|(facts, _)| facts.lends_ids) {
            ids_of(task, out);
        }
        match task.attribute("id") {
            Some(id) => out.push((id.value.as_str().to_owned(), Some(id.value_span))),
            None => out.push((format!("s{index}"), None)),
        }
    }
}
