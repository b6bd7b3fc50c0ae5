//! Replaces aliases by their canonical form and reports T503 (spec 2.6).

use callsheet_core::template::{Bytes, Code};

use crate::template::grammar;
use crate::template::report::Draft;
use crate::template::xml::{Attribute, Element, Item, Mapped};

use super::Reader;

/// Names with another spelling.
const RENAMED: &[(&str, &str)] = &[
    ("taskPrompt", "instructions"),
    ("systemPrompt", "system"),
    ("isManualXML", "manual_xml"),
    ("disableReparsing", "disable_reparsing"),
    ("parameters", "params"),
    ("step", "task"),
];

/// Names that are read and ignored.
const IGNORED: &[&str] = &["output_slot", "input_source"];

/// The children of `template`, and of a `task` that stands for one, that may be attributes.
const TEXT_CHILDREN: &[&str] = &["name", "params", "returns"];

/// Replaces every alias below `root` by its canonical form.
pub(super) fn canonicalise(reader: &mut Reader<'_>, root: &mut Element) {
    let names = grammar::names();
    let known = |name: &str| names.contains(name);
    walk(reader, root, &known);
    match root.name.as_str() {
        "templates" => {
            for item in &mut root.items {
                if let Item::Element(element) = item {
                    top_level(reader, element);
                }
            }
        }
        _ => top_level(reader, root),
    }
}

fn walk(reader: &mut Reader<'_>, element: &mut Element, known: &dyn Fn(&str) -> bool) {
    reader.enter(element);
    if let Some(name) = canonical_name(&element.name, known) {
        told(reader, element.name_span, &element.name, &name);
        element.name = name;
    }
    if grammar::task_types().contains(&element.name.as_str()) {
        told(reader, element.name_span, &element.name, &format!("task type=\"{}\"", element.name));
        let word = std::mem::replace(&mut element.name, "task".to_owned());
        adopt(reader, element, "type", Mapped::made(&word, element.name_span), element.name_span);
    }
    element.attributes.retain(|attribute| !ignored(reader, &attribute.name, attribute.name_span));
    for attribute in &mut element.attributes {
        if let Some(name) = canonical_name(&attribute.name, known).filter(|name| name != "task") {
            told(reader, attribute.name_span, &attribute.name, &name);
            attribute.name = name;
        }
    }
    element.items.retain(|item| match item {
        Item::Element(child) => !ignored(reader, &child.name, child.name_span),
        Item::Text(_) => true,
    });
    match element.name.as_str() {
        "call" => call(reader, element),
        "task" => matching(reader, element),
        "context_management" => {
            for attribute in element.attributes.iter_mut().filter(|known| known.name == "accumulation_format") {
                format_word(reader, &mut attribute.value);
            }
        }
        "accumulation_format" | "accumulationFormat" => {
            for item in &mut element.items {
                if let Item::Text(text) = item {
                    format_word(reader, text);
                }
            }
        }
        _ => {}
    }
    for item in &mut element.items {
        if let Item::Element(child) = item {
            walk(reader, child, known);
        }
    }
    flatten_execution(reader, element);
    reader.leave(element);
}

/// The canonical name of a camel-case spelling or of a name with another spelling.
fn canonical_name(name: &str, known: &dyn Fn(&str) -> bool) -> Option<String> {
    if let Some((_, canonical)) = RENAMED.iter().find(|(alias, _)| *alias == name) {
        return Some((*canonical).to_owned());
    }
    if !name.contains(|c: char| c.is_ascii_uppercase()) || known(name) {
        return None;
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    (known(&snake) && snake != name).then_some(snake)
}

fn told(reader: &mut Reader<'_>, span: Bytes, alias: &str, canonical: &str) {
    let draft = Draft::new(Code::T503, span, format!("`{alias}` means `{canonical}`"));
    reader.add(draft.found(alias).expected([canonical]).advice(format!("write `{canonical}`")));
}

fn ignored(reader: &mut Reader<'_>, name: &str, span: Bytes) -> bool {
    let ignored = IGNORED.contains(&name);
    if ignored {
        let draft = Draft::new(Code::T517, span, format!("`{name}` has no effect")).found(name);
        reader.add(draft.advice("remove it"));
    }
    ignored
}

/// Adds an attribute that was written in another way. A different value of the canonical attribute is a conflict.
fn adopt(reader: &mut Reader<'_>, element: &mut Element, name: &str, value: Mapped, span: Bytes) {
    if let Some(own) = element.attribute(name) {
        if own.value.as_str().trim() != value.as_str().trim() {
            let draft = Draft::new(Code::T023, span, format!("`{name}` occurs twice with different values"));
            let draft = draft.found(value.as_str()).advice("write it once").related(own.value_span, "first used here");
            reader.add(draft);
        }
        return;
    }
    let attribute = Attribute { name: name.to_owned(), name_span: span, value_span: value.whole(), value };
    element.attributes.push(attribute);
}

/// Replaces `<call task=…>` and `<call><template>N</template>`.
fn call(reader: &mut Reader<'_>, element: &mut Element) {
    if let Some(index) = element.attributes.iter().position(|attribute| attribute.name == "task") {
        let alias = element.attributes.remove(index);
        told(reader, alias.name_span, "task", "template");
        adopt(reader, element, "template", alias.value, alias.name_span);
    }
    take_text_child(reader, element, "template");
}

/// Turns a child element that contains only text into an attribute.
fn take_text_child(reader: &mut Reader<'_>, element: &mut Element, name: &str) {
    let index = element.items.iter().position(|item| {
        matches!(item, Item::Element(child)
            if (child.name == name || (name == "params" && child.name == "parameters"))
                && child.elements().next().is_none() && child.attributes.is_empty() && child.has_text())
    });
    let Some(index) = index else { return };
    let Item::Element(child) = element.items.remove(index) else { return };
    told(reader, child.name_span, &child.name, &format!("{name}=\"…\""));
    let mut value = Mapped::default();
    for item in &child.items {
        if let Item::Text(text) = item {
            value.append(text);
        }
    }
    adopt(reader, element, name, value.trimmed(), child.name_span);
}

/// Replaces `type="associative_memory"`.
fn matching(reader: &mut Reader<'_>, element: &mut Element) {
    let Some(attribute) = element.attributes.iter_mut().find(|attribute| attribute.name == "type") else { return };
    if attribute.value.as_str() != "associative_memory" {
        return;
    }
    let span = attribute.value_span;
    attribute.value = Mapped::made("atomic", span);
    told(reader, span, "associative_memory", "associative_matching");
    adopt(reader, element, "subtype", Mapped::made("associative_matching", span), span);
}

fn format_word(reader: &mut Reader<'_>, value: &mut Mapped) {
    let canonical = match value.as_str().trim() {
        "minimal" => "notes_only",
        "full" => "full_output",
        _ => return,
    };
    let span = value.trimmed().whole();
    told(reader, span, value.as_str().trim(), canonical);
    *value = Mapped::made(canonical, span);
}

/// Removes an `execution` element around the children of a script.
fn flatten_execution(reader: &mut Reader<'_>, element: &mut Element) {
    if element.name != "task" && element.name != "script_execution" {
        return;
    }
    let mut items = Vec::with_capacity(element.items.len());
    for item in std::mem::take(&mut element.items) {
        match item {
            Item::Element(child) if child.name == "execution" => {
                told(reader, child.name_span, "execution", "its children");
                items.extend(child.items);
            }
            other => items.push(other),
        }
    }
    element.items = items;
}

/// Replaces text children of a template, and a task that stands for a template with parameters.
fn top_level(reader: &mut Reader<'_>, element: &mut Element) {
    if element.name == "template" {
        for name in TEXT_CHILDREN {
            take_text_child(reader, element, name);
        }
        return;
    }
    if element.name != "task" {
        return;
    }
    let wraps = |name: &str| name == "params" || name == "returns";
    let has_attribute = element.attributes.iter().any(|attribute| wraps(&attribute.name));
    if !has_attribute && !element.elements().any(|child| wraps(&child.name)) {
        return;
    }
    told(reader, element.name_span, "task", "template");
    let mut outer = Element {
        name: "template".to_owned(),
        name_span: element.name_span,
        tag: element.tag,
        span: element.span,
        inner: element.span,
        attributes: Vec::new(),
        items: Vec::new(),
        damaged: element.damaged,
    };
    let own = std::mem::take(&mut element.attributes);
    let (moved, kept) = own.into_iter().partition(|attribute| wraps(&attribute.name) || attribute.name == "name");
    (outer.attributes, element.attributes) = (moved, kept);
    let own = std::mem::take(&mut element.items);
    let (moved, kept): (Vec<Item>, Vec<Item>) =
        own.into_iter().partition(|item| matches!(item, Item::Element(child) if wraps(&child.name)));
    (outer.items, element.items) = (moved, kept);
    for name in TEXT_CHILDREN {
        take_text_child(reader, &mut outer, name);
    }
    std::mem::swap(element, &mut outer);
    element.items.push(Item::Element(outer));
}
