//! Writes elements in the short form: the reverse of the builder (spec 2.8).

use callsheet_core::template::{Filled, Template};
use serde_json::Value as Json;

use super::emit::{Out, document};
use super::keys::{KEYS, Key, Kinds, To, find};
use super::names;
use super::shape::Shape;
use super::task::{OF_THE_WHOLE, kind_of_type, passes_on};
use crate::template::print::print_templates;
use crate::template::read::{split_command, split_params};
use crate::template::xml::{self, BLANKS, Element, Item, Mode};

/// The default time limit of a process in seconds.
const TIMEOUT: &str = "300";

type Entries = Vec<(String, Out)>;

/// Prints templates in the short form, one document each. Also returns what the short form cannot express, in words.
pub fn print_short<'a>(templates: impl IntoIterator<Item = &'a Template>) -> (String, Vec<String>) {
    let mut out = String::new();
    let mut lost = Vec::new();
    for template in templates {
        // The canonical XML has one spelling for everything.
        let mut printed = xml::parse(&print_templates([template]), Mode::Strict);
        lost.extend(printed.faults.drain(..).map(|fault| format!("{}: {}", template.name, fault.message)));
        let Some(root) = printed.root else { continue };
        for element in root.elements() {
            let mut element = outermost(element);
            let (_, names) = names::resolve(&mut element, names::Way::Write);
            let told = |name| format!("{}: `{name}` is a value where a task has that name; rename one", template.name);
            lost.extend(names.into_iter().map(told));
            let mut writer = Writer { name: template.name.clone(), lost: Vec::new() };
            let entries = writer.template(&element);
            lost.extend(writer.lost.into_iter().map(|what| format!("{}: {what}", template.name)));
            if !out.is_empty() {
                out.push_str("---\n");
            }
            out.push_str(&document(&entries));
        }
    }
    (out, lost)
}

/// Turns a task that is a template with its own name into a template with that task.
fn outermost(element: &Element) -> Element {
    if element.name == "template" {
        return element.clone();
    }
    let (named, own) = element.attributes.iter().cloned().partition(|attribute| attribute.name == "name");
    let inner = Element { attributes: own, ..element.clone() };
    Element { name: "template".to_owned(), attributes: named, items: vec![Item::Element(inner)], ..Element::default() }
}

struct Writer {
    /// The nearest surrounding name.
    name: String,
    lost: Vec<String>,
}

/// The text of an element as it is read: without the indentation that all lines share.
fn text(element: &Element) -> String {
    let mut all = xml::Mapped::default();
    for item in &element.items {
        if let Item::Text(text) = item {
            all.append(text);
        }
    }
    all.dedented().as_str().to_owned()
}

fn line(element: &Element) -> String {
    text(element).trim_matches(BLANKS).to_owned()
}

fn word<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    element.attribute(name).map(|attribute| attribute.value.as_str())
}

/// Whether the text alone would be read as a reference.
fn is_reference(text: &str) -> bool {
    Filled::read(text.trim()).0.single().is_some()
}

/// Comma-separated words.
fn words(list: &str) -> Out {
    let words: Vec<&str> = list.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [one] => Out::Exact((*one).to_owned()),
        all => Out::List(all.iter().map(|word| Out::Exact((*word).to_owned())).collect()),
    }
}

fn entry(name: &str, value: Out) -> (String, Out) {
    (name.to_owned(), value)
}

fn sorted(mut entries: Entries) -> Entries {
    entries.sort_by_key(|(name, _)| KEYS.iter().position(|key| key.name == *name));
    entries
}

impl Writer {
    fn template(&mut self, element: &Element) -> Entries {
        let mut out = Entries::new();
        for attribute in &element.attributes {
            let value = attribute.value.as_str();
            match attribute.name.as_str() {
                "name" => out.push(entry("template", Out::Exact(value.to_owned()))),
                "tags" => out.push(entry("tags", words(value))),
                "params" => {
                    let param = |param: &crate::template::read::RawParam<'_>| {
                        (param.name.to_owned(), parameter(param.kind, param.default, None, ""))
                    };
                    out.push(entry("inputs", parameters(split_params(value).iter().map(param).collect())));
                }
                other => out.push(entry(other, Out::Bare(value.to_owned()))),
            }
        }
        for child in element.elements() {
            if child.name == "params" {
                let params = child.elements().map(|param| {
                    let value =
                        parameter(word(param, "type"), word(param, "default"), word(param, "required"), &text(param));
                    (word(param, "name").unwrap_or_default().to_owned(), value)
                });
                out.push(entry("inputs", parameters(params.collect())));
            } else {
                out.extend(self.task(child, true, true));
            }
        }
        sorted(out)
    }

    /// The keys of a task. `is_step` means that its name is written elsewhere.
    fn task(&mut self, element: &Element, is_step: bool, outermost: bool) -> Entries {
        let mut out = Entries::new();
        if let Some(id) = word(element, "id").filter(|_| !is_step || outermost) {
            out.push(entry("id", Out::Exact(id.to_owned())));
        }
        match element.name.as_str() {
            "call" => self.call(element, &mut out),
            "task" if element.attribute("ref").is_some() => self.call(element, &mut out),
            "parallel" => {
                let at_once = word(element, "max_parallel").unwrap_or("true");
                out.push(entry("at_once", Out::Bare(at_once.to_owned())));
                out.extend(word(element, "on_error").map(|word| entry("on_error", Out::Bare(word.to_owned()))));
                out.push(entry("tasks", self.steps(element)));
            }
            "cond" => self.choice(element, &mut out),
            _ => self.typed(element, &mut out, outermost),
        }
        sorted(out)
    }

    /// The keys of a task in a slot.
    fn slot(&mut self, element: &Element) -> Entries {
        element.elements().next().map(|task| self.task(task, false, false)).unwrap_or_default()
    }

    fn steps(&mut self, element: &Element) -> Out {
        let steps = element.elements().enumerate().map(|(index, step)| {
            let id = word(step, "id").filter(|id| *id != format!("s{index}"));
            let Some(id) = id else { return Out::Task(self.task(step, true, false)) };
            let outer = std::mem::replace(&mut self.name, id.to_owned());
            let mut keys = self.task(step, true, false);
            self.name = outer;
            if find(id).is_none() {
                return Out::Task(vec![entry(id, Out::Task(keys))]);
            }
            keys.insert(0, entry("id", Out::Exact(id.to_owned())));
            Out::Task(keys)
        });
        Out::List(steps.collect())
    }

    fn typed(&mut self, element: &Element, out: &mut Entries, outermost: bool) {
        let kind = kind_of_type(word(element, "type").unwrap_or_default());
        let has = |name: &str| element.child(name).is_some();
        for attribute in &element.attributes {
            self.attribute(kind, element, &attribute.name, attribute.value.as_str(), out);
        }
        for child in element.elements() {
            match child.name.as_str() {
                "description" if kind == Kinds::ASK => {
                    let key = if has("instructions") { "about" } else { "ask" };
                    out.push(entry(key, Out::Text(text(child))));
                }
                "description" if !outermost && text(child) == self.name => {}
                "allowed_tools" => {
                    let tools: Vec<Out> = child.elements().map(|tool| Out::Exact(line(tool))).collect();
                    if !tools.is_empty() || kind != Kinds::ASK {
                        out.push(entry("tools", Out::List(tools)));
                    }
                }
                "context_management" => {
                    let only = |name: &str, value: &str| matches!(child.attributes.as_slice(), [one] if one.name == name && one.value.as_str() == value);
                    if !(passes_on(kind) && only("accumulate_data", "false")) {
                        out.push(entry("context", attributes(child)));
                    }
                }
                _ => self.child(kind, child, out),
            }
        }
        if kind == Kinds::ASK && !has("allowed_tools") {
            out.push(entry("tools", Out::Bare("default".to_owned())));
        }
        if passes_on(kind) && !has("context_management") {
            out.push(entry("context", Out::Map(Vec::new())));
        }
        if kind == Kinds::FOLD && element.attribute("items").is_none() {
            out.push(entry("fold", Out::Null));
        }
        if let Some(body) = element.child("body") {
            self.body(body, out);
        }
    }

    /// Writes the task of `each`. Its keys are nested if they could be mistaken for those of the whole.
    fn body(&mut self, body: &Element, out: &mut Entries) {
        let own = self.slot(body);
        let unclear = ["do", "if", "else", "choose", "id"];
        let plain = out.iter().all(|(name, _)| OF_THE_WHOLE.contains(&name.as_str()) || name == "id")
            && !own.iter().any(|(name, _)| OF_THE_WHOLE.iter().chain(&unclear).any(|other| other == name));
        if plain {
            out.extend(own);
        } else {
            out.push(entry("do", Out::Task(own)));
        }
    }

    fn attribute(&self, kind: Kinds, element: &Element, name: &str, value: &str, out: &mut Entries) {
        match name {
            "type" | "id" | "name" | "as" => {}
            "items" => {
                let key = if kind == Kinds::EACH { "each" } else { "fold" };
                let list = match word(element, "as") {
                    Some(item) => format!("{item} in {value}"),
                    None => value.to_owned(),
                };
                out.push(entry(key, Out::Exact(list)));
            }
            _ => {
                let key = KEYS.iter().find(|key| key.to == To::Attribute(own(name)) && key.of.has(kind));
                out.extend(key.map(|key| entry(key.name, Out::Exact(value.to_owned()))));
            }
        }
    }

    fn child(&mut self, kind: Kinds, child: &Element, out: &mut Entries) {
        match child.name.as_str() {
            "inputs" => {
                let given = child.elements().map(|input| {
                    let name = word(input, "name").unwrap_or_default().to_owned();
                    (name, self.given(input, false))
                });
                out.push(entry("with", Out::Map(given.collect())));
            }
            "file_paths" => out.push(entry("files", files(child))),
            "output_format" => self.output(child, out),
            "recovery" => {
                out.extend(
                    child.attributes.iter().map(|one| entry(&one.name, Out::Bare(one.value.as_str().to_owned()))),
                );
            }
            "limits" => out.push(entry("limits", attributes(child))),
            "timeout" if line(child) == TIMEOUT => {}
            "command" => out.push(entry("run", command(child))),
            "stdin" => out.push(entry("stdin", self.given(child, false))),
            "input_file" => input_file(child, out),
            "environment" => environment(child, out),
            "steps" => {
                let steps = self.steps(child);
                out.push(entry("tasks", steps));
            }
            "script_execution" => {
                let mut inner = Entries::new();
                child.elements().for_each(|part| self.child(Kinds::PROCESS, part, &mut inner));
                let test = match inner.as_slice() {
                    [(name, only)] if name == "run" => only.clone(),
                    _ => Out::Map(sorted(inner)),
                };
                out.push(entry("test", test));
            }
            "termination_condition" => {
                out.extend(child.child("condition").map(|test| entry("until", Out::Exact(line(test)))));
            }
            "initial_value" => {
                let value = text(child);
                let empty = matches!(value.as_str(), "[]" | "{}");
                out.push(entry("start", if empty { Out::Bare(value) } else { Out::Text(value) }));
            }
            "inner_task" => {
                let task = self.slot(child);
                out.push(entry("do", Out::Task(task)));
            }
            "body" => {}
            name => {
                let Some(key) = key_of_child(name, kind) else { return };
                let value = match key.to {
                    To::Slot(_) => Out::Task(self.slot(child)),
                    To::List(_) => words(&line(child)),
                    To::Word(_) => Out::Bare(line(child)),
                    _ => Out::Text(text(child)),
                };
                out.push(entry(key.name, value));
            }
        }
    }

    fn output(&mut self, child: &Element, out: &mut Entries) {
        let inline = serde_json::from_str::<Json>(&text(child)).ok();
        let form = word(child, "type").unwrap_or("json");
        let schema = word(child, "schema");
        if form == "text" && (inline.is_some() || schema.is_some()) {
            self.lost.push("a schema of a text, which has no effect".to_owned());
        }
        match inline.filter(|_| form != "text") {
            None => {
                let word = schema.filter(|_| form != "text").unwrap_or(form);
                out.push(entry("gives", Out::Exact(word.to_owned())));
            }
            Some(schema) => match Shape::of_schema(&schema) {
                Some(Shape::Word(text)) if !text.contains('|') => out.push(entry("schema", json(&schema))),
                Some(shape) => out.push(entry("gives", of_shape(&shape))),
                None => out.push(entry("schema", json(&schema))),
            },
        }
        out.extend(word(child, "on_parse_failure").map(|word| entry("on_parse_failure", Out::Bare(word.to_owned()))));
    }

    fn choice(&mut self, element: &Element, out: &mut Entries) {
        let cases: Vec<&Element> = element.elements().filter(|child| child.name == "case").collect();
        let otherwise = element.child("else");
        if let [case] = cases.as_slice() {
            out.extend(self.case(case));
            if let Some(otherwise) = otherwise {
                let task = self.slot(otherwise);
                out.push(entry("else", Out::Task(task)));
            }
            return;
        }
        let mut list: Vec<Out> = cases.iter().map(|case| Out::Task(self.case(case))).collect();
        if let Some(otherwise) = otherwise {
            let task = self.slot(otherwise);
            list.push(Out::Task(vec![entry("else", Out::Task(task))]));
        }
        out.push(entry("choose", Out::List(list)));
    }

    /// Writes a task under a condition. Its keys are nested if they could be mistaken for those of the choice.
    fn case(&mut self, case: &Element) -> Entries {
        let mut out = vec![entry("if", Out::Exact(word(case, "test").unwrap_or_default().to_owned()))];
        let task = self.slot(case);
        let unclear = ["if", "else", "choose", "id"];
        if task.iter().any(|(name, _)| unclear.contains(&name.as_str())) {
            out.push(entry("do", Out::Task(task)));
        } else {
            out.extend(task);
        }
        sorted(out)
    }

    fn call(&mut self, element: &Element, out: &mut Entries) {
        let name = word(element, "template").or_else(|| word(element, "ref")).unwrap_or_default();
        out.push(entry("call", Out::Exact(name.to_owned())));
        for name in ["effects", "requires_approval"] {
            out.extend(word(element, name).map(|word| entry(name, Out::Bare(word.to_owned()))));
        }
        out.extend(element.child("limits").map(|limits| entry("limits", attributes(limits))));
        let given: Vec<&Element> = match element.child("inputs") {
            Some(inputs) => inputs.elements().collect(),
            None => element.elements().filter(|child| child.name == "arg").collect(),
        };
        let mut seen = std::collections::BTreeSet::new();
        let by_name = given.iter().all(|given| word(given, "name").is_some_and(|name| seen.insert(name)));
        if given.is_empty() {
            return;
        }
        let value = if by_name {
            let entries = given
                .iter()
                .map(|given| (word(given, "name").unwrap_or_default().to_owned(), self.given(given, false)));
            Out::Map(entries.collect())
        } else {
            Out::List(given.iter().map(|given| self.given(given, true)).collect())
        };
        out.push(entry("with", value));
    }

    /// Writes a value for a task or a call. `with_name` means that its name is one of its keys.
    fn given(&mut self, element: &Element, with_name: bool) -> Out {
        let mut long = Entries::new();
        let mut short = Out::Null;
        if let Some(name) = word(element, "name").filter(|_| with_name) {
            long.push(entry("name", Out::Exact(name.to_owned())));
        }
        for name in ["required", "default", "match"] {
            long.extend(word(element, name).map(|value| entry(name, Out::Exact(value.to_owned()))));
        }
        let is_long = !long.is_empty();
        let content = text(element);
        let is_argument = element.name == "arg";
        if let Some(from) = word(element, "from") {
            short = Out::Exact(format!("{{{{{from}}}}}"));
            if !matches!(&short, Out::Exact(text) if is_reference(text)) || is_long {
                long.push(entry("from", Out::Exact(from.to_owned())));
            }
        } else if let Some(value) = word(element, "value") {
            short = Out::Exact(value.to_owned());
            if is_reference(value) || is_long {
                long.push(entry("value", short.clone()));
            }
        } else if let Some(task) = element.elements().next() {
            let task = self.task(task, false, false);
            long.push(entry("task", Out::Task(task)));
        } else if is_argument {
            long.push(entry("text", Out::Text(content)));
        } else if !content.is_empty() {
            short = Out::Text(content.clone());
            if is_reference(&content) || is_long {
                long.push(entry("value", short.clone()));
            }
        }
        if long.is_empty() { short } else { Out::Map(long) }
    }
}

/// The name in the table for a name of the grammar.
fn own(name: &str) -> &'static str {
    let attributes = KEYS.iter().filter_map(|key| match key.to {
        To::Attribute(to) => Some(to),
        _ => None,
    });
    attributes.into_iter().find(|to| *to == name).unwrap_or_default()
}

/// The key for a child of a task.
fn key_of_child(name: &str, kind: Kinds) -> Option<&'static Key> {
    KEYS.iter().find(|key| {
        let to = match key.to {
            To::Text(to) | To::Word(to) | To::List(to) | To::Slot(to) | To::Own(to) => to,
            To::Attribute(_) | To::In(..) | To::Block(_) => return false,
        };
        to == name && key.of.has(kind)
    })
}

fn input_file(child: &Element, out: &mut Entries) {
    let name = word(child, "name").unwrap_or_default().to_owned();
    let from = Out::Exact(word(child, "from").unwrap_or_default().to_owned());
    let value = match word(child, "suffix") {
        Some(suffix) => Out::Map(vec![entry("from", from), entry("suffix", Out::Exact(suffix.to_owned()))]),
        None => from,
    };
    match out.iter_mut().find(|(key, _)| key == "input_files") {
        Some((_, Out::Map(files))) => files.push((name, value)),
        _ => out.push(entry("input_files", Out::Map(vec![(name, value)]))),
    }
}

fn environment(child: &Element, out: &mut Entries) {
    out.extend(word(child, "inherit").map(|word| entry("inherit", Out::Bare(word.to_owned()))));
    let variable = |one: &Element| (word(one, "name").unwrap_or_default().to_owned(), Out::Text(text(one)));
    let variables: Entries = child.elements().map(variable).collect();
    if !variables.is_empty() {
        out.push(entry("env", Out::Map(variables)));
    }
}

/// Writes parameters, each on its own line if one of them has more than a default.
fn parameters(params: Entries) -> Out {
    let long = params.iter().any(|(_, value)| matches!(value, Out::Map(_)));
    if long { Out::Task(params) } else { Out::Map(params) }
}

fn parameter(kind: Option<&str>, default: Option<&str>, required: Option<&str>, about: &str) -> Out {
    let mut out = Entries::new();
    if !about.is_empty() {
        out.push(entry("about", Out::Text(about.to_owned())));
    }
    out.extend(kind.filter(|kind| *kind != "any").map(|kind| entry("type", Out::Exact(kind.to_owned()))));
    match (out.is_empty(), default) {
        (true, Some(default)) if required.is_none() => return Out::Exact(default.to_owned()),
        (_, Some(default)) => out.push(entry("default", Out::Exact(default.to_owned()))),
        (_, None) => {}
    }
    out.extend(required.map(|word| entry("required", Out::Bare(word.to_owned()))));
    if out.is_empty() { Out::Null } else { Out::Map(out) }
}

fn attributes(element: &Element) -> Out {
    let entries = element.attributes.iter().map(|one| entry(&one.name, Out::Bare(one.value.as_str().to_owned())));
    Out::Map(entries.collect())
}

fn files(element: &Element) -> Out {
    let key = match word(element, "source") {
        Some("command") => "command",
        Some("description") => "about",
        Some("context_description") => "query",
        _ => {
            let mut paths: Vec<Out> = element.elements().map(|path| Out::Text(text(path))).collect();
            return if paths.len() == 1 { paths.remove(0) } else { Out::List(paths) };
        }
    };
    let inner = element.elements().next().map(text).unwrap_or_default();
    Out::Map(vec![entry(key, Out::Text(inner))])
}

fn command(element: &Element) -> Out {
    let words = split_command(&line(element));
    Out::List(words.words.into_iter().map(|word| Out::Text(word.to_string())).collect())
}

fn of_shape(shape: &Shape) -> Out {
    match shape {
        Shape::Word(text) => Out::Exact(text.clone()),
        Shape::List(inner) => Out::List(vec![of_shape(inner)]),
        Shape::Fields(fields) => Out::Map(fields.iter().map(|(name, shape)| (name.clone(), of_shape(shape))).collect()),
    }
}

/// JSON as YAML that is read as the same value.
fn json(value: &Json) -> Out {
    match value {
        Json::Null => Out::Bare("null".to_owned()),
        Json::Bool(_) | Json::Number(_) => Out::Bare(value.to_string()),
        Json::String(text) => {
            let other = text.parse::<serde_json::Number>().is_ok()
                || ["true", "false", "null", "~"].iter().any(|word| word.eq_ignore_ascii_case(text));
            // A JSON string in quotes is also a YAML string in quotes.
            if other { Out::Bare(value.to_string()) } else { Out::Exact(text.clone()) }
        }
        Json::Array(items) => Out::List(items.iter().map(json).collect()),
        Json::Object(map) => Out::Map(map.iter().map(|(name, value)| (name.clone(), json(value))).collect()),
    }
}
