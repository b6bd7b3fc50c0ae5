//! Keys whose values have a special form: named values, files, shapes, tools, commands, and lists to process.

use callsheet_core::template::{Bytes, Code, Filled};
use serde_json::{Map, Number, Value as Json};

use super::build::{Builder, Found, attribute, element, joined, with_child};
use super::keys::Kinds;
use super::scalar;
use super::shape::Shape;
use crate::template::report::Draft;
use crate::template::xml::{Attribute, Element, Item, Mapped};
use crate::yaml::{Node, Value};

/// The keys of a value that is a map.
const VALUE_KEYS: [&str; 8] = ["name", "from", "text", "value", "task", "required", "default", "match"];

/// A value for a task or a call.
#[derive(Debug, Default)]
pub(super) struct Given {
    tag: Bytes,
    span: Bytes,
    /// Its name, `from`, `value`, and its other attributes.
    attributes: Vec<Attribute>,
    /// A text that may name a variable.
    text: Option<Mapped>,
    task: Option<Element>,
}

impl Given {
    fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.name == name)
    }

    /// Whether it has a value and nothing that only an input has.
    pub(super) fn is_argument(&self) -> bool {
        let valued = self.has("from") || self.has("value") || self.text.is_some() || self.task.is_some();
        valued && !["required", "default", "match"].iter().any(|name| self.has(name))
    }

    pub(super) fn argument(self) -> Element {
        let mut out = element("arg", self.tag, self.span);
        out.attributes = self.attributes;
        out.items.extend(self.text.map(Item::Text));
        out.items.extend(self.task.map(Item::Element));
        out
    }

    fn input(mut self) -> Element {
        let value = self.attributes.iter().position(|attribute| attribute.name == "value");
        let value = value.map(|index| self.attributes.remove(index).value);
        self.text = self.text.or(value.map(|value| scalar::block(&value)));
        Element { name: "input".to_owned(), ..self.argument() }
    }
}

impl Builder<'_> {
    /// Reads a key with a special form.
    pub(super) fn own(&mut self, out: &mut Element, found: Found<'_>) {
        match found.key.name {
            "ask" => {
                let text = self.text_of(found.value, "ask");
                out.items.push(Item::Element(self.block_child("instructions", found, text)));
            }
            "with" => {
                let given = self.given(found.value);
                out.items.push(Item::Element(self.inputs(found, given)));
            }
            "files" => self.files(out, found),
            "gives" => self.gives(out, found),
            "schema" => self.schema(out, found),
            "tools" => self.tools(out, found),
            "run" => out.items.extend(self.command(found).map(Item::Element)),
            "stdin" => self.stdin(out, found),
            "input_files" => self.input_files(out, found),
            "env" => self.variables(out, found),
            "tasks" => {
                let mut steps = element("steps", found.at, joined(found.at, found.value.span));
                steps.items.extend(self.steps(found.value).into_iter().map(Item::Element));
                out.items.push(Item::Element(steps));
            }
            "test" => out.items.push(Item::Element(self.test(found))),
            "until" => {
                if let Some(text) = self.word(found.value, "until") {
                    let condition = self.child("condition", found, text);
                    let mut outer = element("termination_condition", found.at, condition.span);
                    outer.items.push(Item::Element(condition));
                    out.items.push(Item::Element(outer));
                }
            }
            "do" => out.items.push(Item::Element(self.slot("inner_task", found))),
            _ => {}
        }
    }

    /// Reads `each: NAME in LIST`, `each: LIST`, and the list of a `fold`.
    pub(super) fn items(&mut self, out: &mut Element, found: Found<'_>) {
        if found.key.name == "fold" && found.value.value == Value::Null {
            return;
        }
        let name = found.key.name;
        if matches!(found.value.value, Value::List(_)) {
            let draft =
                Draft::new(Code::T012, found.value.span, format!("`{name}` names a list, and this is the list"));
            return self
                .add(draft.advice(format!("write it as a value, `with: {{list: […]}}`, and `{name}` its name")));
        }
        let Some(text) = self.word(found.value, name) else { return };
        let whole = text.as_str();
        let cut = whole.split_once(" in ").filter(|_| found.key.name == "each");
        let Some((name, _)) = cut else {
            return out.attributes.push(attribute("items", found.at, text, found.value.span));
        };
        let length = whole.len();
        let item = text.replaced(&[(name.len(), length, String::new())]).trimmed();
        let list = text.replaced(&[(0, name.len() + " in ".len(), String::new())]).trimmed();
        let spans = (item.whole(), list.whole());
        out.attributes.push(attribute("items", found.at, list, spans.1));
        out.attributes.push(attribute("as", found.at, item, spans.0));
    }

    /// Reads values by name or, for a call, in order.
    pub(super) fn given(&mut self, node: &Node) -> Vec<Given> {
        match &node.value {
            Value::List(items) => items.iter().map(|item| self.one_given(None, item)).collect(),
            _ => {
                let entries = self.map(node, "with");
                self.once(entries);
                entries.iter().map(|(key, value)| self.one_given(Some(key), value)).collect()
            }
        }
    }

    fn one_given(&mut self, key: Option<&Node>, value: &Node) -> Given {
        let tag = key.map_or(value.span, |key| key.span);
        let mut out = Given { tag, span: joined(tag, value.span), ..Given::default() };
        if let Some(key) = key {
            out.attributes.extend(self.name(key).map(|name| attribute("name", key.span, name, key.span)));
        }
        match &value.value {
            Value::Null => {}
            Value::Scalar { .. } => {
                let name = key.and_then(word_of).unwrap_or("with");
                let Some(text) = self.text_of(value, name) else { return out };
                let single = text.as_str().trim();
                let single = single.starts_with("{{") && Filled::read(single).0.single().is_some();
                let (name, text) = if single { ("from", bare(&text)) } else { ("value", text) };
                out.attributes.push(attribute(name, tag, text, value.span));
            }
            Value::List(_) => {
                let text = self.json_text(value);
                out.attributes.push(attribute("value", tag, text, value.span));
            }
            Value::Map(entries) => self.long_given(&mut out, entries),
        }
        out
    }

    fn long_given(&mut self, out: &mut Given, entries: &[(Node, Node)]) {
        self.once(entries);
        for (key, value) in entries {
            let Some(name) = self.name(key) else { continue };
            let span = value.span;
            match name.as_str() {
                "task" => out.task = self.task_of(value, "task"),
                "text" => out.text = self.text_of(value, "text").map(|text| scalar::block(&text)),
                known @ ("default" | "value") => {
                    let text = self.default_of(value, known);
                    out.attributes.push(attribute(known, key.span, text, span));
                }
                known if VALUE_KEYS.contains(&known) => {
                    let text = self.word(value, known).unwrap_or_default();
                    out.attributes.push(attribute(known, key.span, text, span));
                }
                other => self.no_key(key.span, other, "a value", &VALUE_KEYS),
            }
        }
    }

    fn no_key(&mut self, at: Bytes, name: &str, what: &str, known: &[&'static str]) {
        let near = crate::template::read::near_word(name, known.iter().copied());
        let advice = near.map_or("remove it".to_owned(), |near| format!("did you mean `{near}`?"));
        let draft = Draft::new(Code::T019, at, format!("{what} has no key `{name}`")).found(name);
        self.add(draft.expected(known.iter().copied()).advice(advice));
    }

    pub(super) fn inputs(&mut self, found: Found<'_>, given: Vec<Given>) -> Element {
        let mut out = element("inputs", found.at, joined(found.at, found.value.span));
        out.items.extend(given.into_iter().map(|given| Item::Element(given.input())));
        out
    }

    /// Reads the parameters of a template.
    pub(super) fn params(&mut self, found: Found<'_>) -> Element {
        let entries = self.map(found.value, "inputs");
        self.once(entries);
        let mut out = element("params", found.at, joined(found.at, found.value.span));
        for (key, value) in entries {
            let Some(name) = self.name(key) else { continue };
            let mut param = element("param", key.span, joined(key.span, value.span));
            param.attributes.push(attribute("name", key.span, name.clone(), key.span));
            match &value.value {
                Value::Null => {}
                Value::Map(inner) => self.param(&mut param, inner),
                _ => {
                    let text = self.default_of(value, name.as_str());
                    param.attributes.push(attribute("default", key.span, text, value.span));
                }
            }
            out.items.push(Item::Element(param));
        }
        out
    }

    /// Reads the map of a parameter.
    fn param(&mut self, param: &mut Element, entries: &[(Node, Node)]) {
        const KNOWN: [&str; 4] = ["about", "type", "default", "required"];
        self.once(entries);
        for (key, value) in entries {
            let Some(word) = self.name(key) else { continue };
            let text = match word.as_str() {
                "about" => {
                    let text = self.text_of(value, "about");
                    param.items.extend(text.map(|text| Item::Text(scalar::block(&text))));
                    continue;
                }
                "default" => self.default_of(value, "default"),
                known if KNOWN.contains(&known) => self.word(value, known).unwrap_or_default(),
                other => {
                    self.no_key(key.span, other, "an input", &KNOWN);
                    continue;
                }
            };
            param.attributes.push(attribute(word.as_str(), key.span, text, value.span));
        }
    }

    /// A default as text. A list or map becomes JSON.
    fn default_of(&mut self, node: &Node, name: &str) -> Mapped {
        match node.value {
            Value::List(_) | Value::Map(_) => self.json_text(node),
            _ => self.text_of(node, name).unwrap_or_default(),
        }
    }

    fn files(&mut self, out: &mut Element, found: Found<'_>) {
        const SOURCES: [(&str, &str, &str); 3] = [
            ("command", "command", "command"),
            ("about", "description", "description"),
            ("query", "context_description", "context_query"),
        ];
        let told = self.drafts.len();
        let mut files = element("file_paths", found.at, joined(found.at, found.value.span));
        if let Value::Map(entries) = &found.value.value {
            for (key, value) in entries {
                let Some(name) = self.name(key) else { continue };
                let Some((_, source, child)) = SOURCES.iter().find(|(word, ..)| *word == name.as_str()) else {
                    self.no_key(key.span, name.as_str(), "`files`", &SOURCES.map(|(word, ..)| word));
                    continue;
                };
                files.attributes.push(attribute("source", key.span, Mapped::made(source, key.span), key.span));
                if let Some(text) = self.text_of(value, name.as_str()) {
                    let inner = Found { at: key.span, value, ..found };
                    files.items.push(Item::Element(self.child(child, inner, scalar::block(&text))));
                }
            }
        } else {
            for item in Self::list(found.value) {
                if let Some(text) = self.text_of(item, "files") {
                    let inner = Found { at: item.span, value: item, ..found };
                    files.items.push(Item::Element(self.child("path", inner, scalar::block(&text))));
                }
            }
        }
        files.damaged = self.drafts.len() > told;
        out.items.push(Item::Element(files));
    }

    /// Reads a type, `text`, `json`, `@NAME`, or a shape.
    fn gives(&mut self, out: &mut Element, found: Found<'_>) {
        let (at, span) = (found.at, found.value.span);
        let plain = match &found.value.value {
            Value::Scalar { text, .. } if !text.contains('|') => Some(text.as_str()),
            _ => None,
        };
        let form = if plain == Some("text") { "text" } else { "json" };
        let schema = match plain {
            Some("text" | "json") => None,
            Some(_) => self.word(found.value, "gives").map(|word| attribute("schema", at, word, span)),
            None => return self.shape(out, found),
        };
        with_child(out, "output_format", found, |block| {
            block.attributes.push(attribute("type", at, Mapped::made(form, span), span));
            block.attributes.extend(schema);
        });
    }

    fn shape(&mut self, out: &mut Element, found: Found<'_>) {
        match Shape::of_node(found.value) {
            Ok(shape) => Self::inline(out, found, &shape.schema()),
            Err(draft) => self.add(*draft),
        }
    }

    fn schema(&mut self, out: &mut Element, found: Found<'_>) {
        if out.child("output_format").is_some_and(|block| block.attribute("type").is_some()) {
            self.tell(Code::T023, found.at, "`gives` and `schema` say the same thing", "keep one of the two");
            return;
        }
        let schema = self.json(found.value);
        Self::inline(out, found, &schema);
    }

    fn inline(out: &mut Element, found: Found<'_>, schema: &Json) {
        let (at, span) = (found.at, found.value.span);
        let text = Mapped::made(&schema.to_string(), span);
        with_child(out, "output_format", found, |block| {
            block.attributes.push(attribute("type", at, Mapped::made("json", span), span));
            block.items.push(Item::Text(text));
        });
    }

    fn tools(&mut self, out: &mut Element, found: Found<'_>) {
        if matches!(&found.value.value, Value::Scalar { text, .. } if text == "default") {
            return;
        }
        let mut tools = element("allowed_tools", found.at, joined(found.at, found.value.span));
        for item in Self::list(found.value) {
            if let Some(text) = self.text_of(item, "tools") {
                let inner = Found { at: item.span, value: item, ..found };
                tools.items.push(Item::Element(self.child("tool", inner, text)));
            }
        }
        out.items.push(Item::Element(tools));
    }

    /// Reads a list of words, or a line that is split into words.
    fn command(&mut self, found: Found<'_>) -> Option<Element> {
        let Value::List(words) = &found.value.value else {
            let text = self.text_of(found.value, "run")?;
            return Some(self.child("command", found, text));
        };
        let mut out = element("command", found.at, joined(found.at, found.value.span));
        for item in words {
            if let Some(text) = self.text_of(item, "run") {
                let inner = Found { at: item.span, value: item, ..found };
                out.items.push(Item::Element(self.child("argv", inner, scalar::block(&text))));
            }
        }
        Some(out)
    }

    fn stdin(&mut self, out: &mut Element, found: Found<'_>) {
        let given = self.one_given(None, found.value);
        let mut stdin = element("stdin", found.at, joined(found.at, found.value.span));
        for attribute in given.attributes {
            match attribute.name.as_str() {
                "from" => stdin.attributes.push(attribute),
                "value" => stdin.items.push(Item::Text(scalar::block(&attribute.value))),
                other => self.no_key(attribute.name_span, other, "`stdin`", &["from", "text"]),
            }
        }
        stdin.items.extend(given.text.map(Item::Text));
        out.items.push(Item::Element(stdin));
    }

    fn input_files(&mut self, out: &mut Element, found: Found<'_>) {
        let entries = self.map(found.value, "input_files");
        self.once(entries);
        for (key, value) in entries {
            let Some(name) = self.name(key) else { continue };
            let mut file = element("input_file", key.span, joined(key.span, value.span));
            file.attributes.push(attribute("name", key.span, name, key.span));
            if let Value::Map(inner) = &value.value {
                for (part, held) in inner {
                    let (Some(word), Some(text)) = (self.name(part), self.word(held, "input_files")) else { continue };
                    match word.as_str() {
                        known @ ("from" | "suffix") => {
                            file.attributes.push(attribute(known, part.span, text, held.span));
                        }
                        other => self.no_key(part.span, other, "a file", &["from", "suffix"]),
                    }
                }
            } else if let Some(from) = self.word(value, "input_files") {
                file.attributes.push(attribute("from", key.span, from, value.span));
            }
            out.items.push(Item::Element(file));
        }
    }

    fn variables(&mut self, out: &mut Element, found: Found<'_>) {
        let entries = self.map(found.value, "env");
        self.once(entries);
        let mut variables = Vec::new();
        for (key, value) in entries {
            let word = word_of(key).unwrap_or("env");
            let (Some(name), Some(text)) = (self.name(key), self.text_of(value, word)) else { continue };
            let inner = Found { at: key.span, value, ..found };
            let mut variable = self.child("var", inner, scalar::block(&text));
            variable.attributes.push(attribute("name", key.span, name, key.span));
            variables.push(Item::Element(variable));
        }
        with_child(out, "environment", found, |block| block.items.extend(variables));
    }

    /// Reads the test of a loop: a command, or a map with one.
    fn test(&mut self, found: Found<'_>) -> Element {
        let mut out = element("script_execution", found.at, joined(found.at, found.value.span));
        let Value::Map(entries) = &found.value.value else {
            out.items.extend(self.command(found).map(Item::Element));
            return out;
        };
        for one in self.keys(entries, None).found {
            if one.key.of.has(Kinds::PROCESS) {
                self.put(&mut out, one);
            } else {
                let draft = Draft::new(Code::T012, one.at, format!("`{}` does not belong to `test`", one.key.name));
                self.add(draft.found(one.key.name).advice("move or remove it"));
            }
        }
        out
    }

    /// The JSON text of a value, with the place of the value.
    pub(super) fn json_text(&mut self, node: &Node) -> Mapped {
        Mapped::made(&self.json(node).to_string(), node.span)
    }

    /// The value of a node by the core schema of YAML 1.2.
    pub(super) fn json(&mut self, node: &Node) -> Json {
        match &node.value {
            Value::Null => Json::Null,
            Value::Scalar { text, plain: false } => Json::String(text.clone()),
            Value::Scalar { text, .. } => match text.as_str() {
                "true" | "True" | "TRUE" => Json::Bool(true),
                "false" | "False" | "FALSE" => Json::Bool(false),
                word => match word.parse::<Number>() {
                    Ok(number) => Json::Number(number),
                    Err(_) => {
                        let _ = self.text_of(node, "a value");
                        Json::String(word.to_owned())
                    }
                },
            },
            Value::List(items) => Json::Array(items.iter().map(|item| self.json(item)).collect()),
            Value::Map(entries) => {
                self.once(entries);
                let mut out = Map::new();
                for (key, value) in entries {
                    let Some(name) = self.name(key) else { continue };
                    let value = self.json(value);
                    out.insert(name.as_str().to_owned(), value);
                }
                Json::Object(out)
            }
        }
    }
}

fn word_of(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// The path inside the braces of a placeholder.
fn bare(text: &Mapped) -> Mapped {
    let trimmed = text.trimmed();
    let length = trimmed.as_str().len();
    trimmed.replaced(&[(0, 2, String::new()), (length.saturating_sub(2), length, String::new())]).trimmed()
}
