//! The grammar as an XML Schema and as a JSON Schema, generated from the table that the reader uses.
//!
//! Both are for editors. An XML Schema cannot say which operator takes which child, so only the reader decides what
//! is valid.

use std::fmt::Write;

use callsheet_core::nouns::LimitRange;
use serde_json::{Map, Value, json};

use super::{
    Child, Content, Element, Kind, TaskTypes, all_rows, operator_elements, operator_row, task_types, types_of,
};

/// The rows with a type name each. The type has the name of the element, with a number if several elements share the
/// name.
fn named() -> Vec<(&'static Element, String)> {
    let mut out: Vec<(&'static Element, String)> = Vec::new();
    for row in all_rows() {
        let same = out.iter().filter(|(known, _)| known.name == row.name).count();
        let name = if same == 0 { row.name.to_owned() } else { format!("{}_{}", row.name, same + 1) };
        out.push((row, name));
    }
    out
}

/// The elements that may occur in a row, each with whether it may repeat.
fn inside(row: &'static Element) -> Vec<(&'static Element, bool)> {
    let mut out: Vec<(&'static Element, bool)> = row.children.iter().map(|child| (child.element, child.many)).collect();
    let operators = matches!(row.content, Content::Slot | Content::Body | Content::Operators | Content::Argument);
    if operators {
        out.extend(operator_elements().iter().filter_map(|name| operator_row(name)).map(|row| (row, true)));
    }
    if row.content == Content::Slot
        && let Some(task) = operator_row("task")
    {
        out.extend(task.children.iter().map(|child| (child.element, child.many)));
    }
    out
}

/// The kind of text in a row, if it contains text.
fn text_kind(row: &Element) -> Option<Kind> {
    match row.content {
        Content::Value(kind) | Content::Optional(kind) | Content::Either(kind) => Some(kind),
        Content::Argument => Some(Kind::Filled),
        _ => None,
    }
}

/// The grammar as an XML Schema.
pub fn xml_schema() -> String {
    let named = named();
    let type_of = |row: &'static Element| {
        named.iter().find(|(known, _)| std::ptr::eq(*known, row)).map_or("", |(_, name)| name.as_str())
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\n");
    for name in ["templates", "template", "task"] {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "  <xs:element name=\"{name}\" type=\"{name}\"/>");
    }
    for (row, name) in &named {
        let inside = inside(row);
        let mixed = if text_kind(row).is_some() { " mixed=\"true\"" } else { "" };
        let _ = writeln!(out, "  <xs:complexType name=\"{name}\"{mixed}>");
        if !inside.is_empty() {
            let group = Group::of(row);
            out.push_str(group.opening());
            for (child, _) in inside {
                let least = group.least(row, child);
                let _ = writeln!(out, "      <xs:element name=\"{}\" type=\"{}\"{least}/>", child.name, type_of(child));
            }
            out.push_str(group.closing());
        }
        for attribute in row.attributes {
            let required = if attribute.required { " use=\"required\"" } else { "" };
            let default = attribute.default.map(|text| format!(" default=\"{text}\"")).unwrap_or_default();
            let _ = writeln!(out, "    <xs:attribute name=\"{}\"{required}{default}>", attribute.name);
            let _ = writeln!(out, "      <xs:simpleType>{}</xs:simpleType>", xml_type(attribute.kind));
            out.push_str("    </xs:attribute>\n");
        }
        out.push_str("  </xs:complexType>\n");
    }
    out.push_str("</xs:schema>\n");
    out
}

/// How an XML Schema describes the children of an element. It can describe their order or their number, but not
/// always both.
enum Group {
    /// Any number of them, including none.
    Any,
    /// At least one of them.
    Some,
    /// Each at most once, in any order. Required ones must be present.
    Once,
}

impl Group {
    fn of(row: &Element) -> Self {
        let once = |child: &Child| !child.many;
        match row.content {
            Content::Operators | Content::Slot | Content::Body => Self::Some,
            Content::Children if row.children.iter().all(once) => Self::Once,
            Content::Children if !required(row).is_empty() => Self::Some,
            _ => Self::Any,
        }
    }

    fn opening(&self) -> &'static str {
        match self {
            Self::Any => "    <xs:choice minOccurs=\"0\" maxOccurs=\"unbounded\">\n",
            Self::Some => "    <xs:choice minOccurs=\"1\" maxOccurs=\"unbounded\">\n",
            Self::Once => "    <xs:all>\n",
        }
    }

    fn closing(&self) -> &'static str {
        match self {
            Self::Any | Self::Some => "    </xs:choice>\n",
            Self::Once => "    </xs:all>\n",
        }
    }

    fn least(&self, row: &Element, child: &Element) -> &'static str {
        match self {
            Self::Once if !required(row).contains(&child.name) => " minOccurs=\"0\"",
            _ => "",
        }
    }
}

/// The children that an element always has. What a task requires depends on its operator, so no child is always
/// required there.
fn required(row: &Element) -> Vec<&'static str> {
    let is_task = operator_row("task").is_some_and(|task| std::ptr::eq(task, row));
    let required = row.children.iter().filter(|child| child.required && !is_task);
    required.map(|child| child.element.name).collect()
}

fn xml_type(kind: Kind) -> String {
    let restriction =
        |base: &str, facets: String| format!("<xs:restriction base=\"xs:{base}\">{facets}</xs:restriction>");
    let words =
        |words: &[&str]| words.iter().map(|word| format!("<xs:enumeration value=\"{word}\"/>")).collect::<String>();
    let range =
        |least: u64, most: u64| format!("<xs:minInclusive value=\"{least}\"/><xs:maxInclusive value=\"{most}\"/>");
    match kind {
        Kind::OneOf(list) => restriction("string", words(list)),
        Kind::Bool => restriction("string", words(&["true", "false"])),
        Kind::Int(least, most) | Kind::Limit(LimitRange::Count { least, most }) => {
            restriction("integer", range(least, most))
        }
        Kind::Limit(LimitRange::Share) => {
            let facets = "<xs:minExclusive value=\"0\"/><xs:maxInclusive value=\"1\"/>";
            restriction("decimal", facets.to_owned())
        }
        Kind::Limit(LimitRange::Amount) => restriction("decimal", "<xs:minExclusive value=\"0\"/>".to_owned()),
        other => match pattern(other) {
            Some(pattern) => restriction("string", format!("<xs:pattern value=\"{pattern}\"/>")),
            None => restriction("string", String::new()),
        },
    }
}

fn pattern(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Ident | Kind::Subtype => "[A-Za-z_][A-Za-z0-9_\\-]{0,63}",
        Kind::TemplateName => "[A-Za-z_][A-Za-z0-9_.\\-]{0,63}",
        Kind::CallName => "((template|skill):)?[A-Za-z_][A-Za-z0-9_.\\-]{0,63}",
        Kind::Path => concat!(
            "([A-Za-z_][A-Za-z0-9_\\-]{0,63}|record\\( *[A-Za-z_][A-Za-z0-9_\\-]{0,63}(\\.[A-Za-z_][A-Za-z0-9_\\-]{0,63}|\\[[0-9]{1,9}\\])* *\\))",
            "(\\.[A-Za-z_][A-Za-z0-9_\\-]{0,63}|\\[[0-9]{1,9}\\])*"
        ),
        Kind::Type => "any|string|number|boolean|object|array|\\[\\]|string\\[\\]",
        _ => return None,
    })
}

/// The grammar as a JSON Schema for elements read as values: attributes as `@name`, text as `#text`, repeated
/// children as lists.
pub fn json_schema() -> Value {
    let named = named();
    let type_of = |row: &'static Element| {
        let name = named.iter().find(|(known, _)| std::ptr::eq(*known, row)).map_or("", |(_, name)| name.as_str());
        json!({"$ref": format!("#/$defs/{name}")})
    };
    let mut definitions = Map::new();
    for (row, name) in &named {
        let mut properties = Map::new();
        for attribute in row.attributes {
            properties.insert(format!("@{}", attribute.name), json_type(attribute.kind, attribute.default));
        }
        if let Some(kind) = text_kind(row) {
            properties.insert("#text".to_owned(), json_type(kind, None));
        }
        for (child, many) in inside(row) {
            let one = type_of(child);
            let value = if many { json!({"anyOf": [one, {"type": "array", "items": one}]}) } else { one };
            properties.insert(child.name.to_owned(), value);
        }
        let attributes = row.attributes.iter().filter(|known| known.required).map(|known| format!("@{}", known.name));
        let required: Vec<String> = attributes.chain(required(row).into_iter().map(str::to_owned)).collect();
        let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        if operator_row("task").is_some_and(|task| std::ptr::eq(task, *row)) {
            object["allOf"] = json!(required_by_operator(row));
        }
        if matches!(row.content, Content::Operators | Content::Body) {
            let one: Vec<Value> = operator_elements().iter().map(|name| json!({"required": [name]})).collect();
            object["allOf"] = json!([{"anyOf": one}]);
        }
        if row.content == Content::Slot {
            object["minProperties"] = json!(row.attributes.iter().filter(|known| known.required).count() + 1);
        }
        let bare = row.attributes.iter().all(|known| !known.required) && text_kind(row).is_some();
        let value = if bare { json!({"anyOf": [{"type": "string"}, object]}) } else { object };
        definitions.insert(name.clone(), value);
    }
    let outermost = ["templates", "template", "task"].map(|name| {
        let properties = json!({name: {"$ref": format!("#/$defs/{name}")}});
        json!({"type": "object", "properties": properties, "required": [name], "additionalProperties": false})
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Callsheet templates",
        "anyOf": outermost,
        "$defs": definitions,
    })
}

/// What a task with each operator requires. Excludes tasks that stand for a template.
fn required_by_operator(task: &Element) -> Vec<Value> {
    let always = |child: &&Child| child.required && child.on == TaskTypes::TYPED;
    let names = |children: Vec<&Child>| -> Vec<&str> { children.into_iter().map(|child| child.element.name).collect() };
    let always = names(task.children.iter().filter(always).collect());
    let mut all = vec![json!({"anyOf": [{"required": ["@ref"]}, {"required": always}]})];
    for word in task_types() {
        let Some((operator, _)) = types_of(word) else { continue };
        let own = task
            .children
            .iter()
            .filter(|child| child.required && child.on != TaskTypes::TYPED && child.on.has(operator));
        let own = names(own.collect());
        if !own.is_empty() {
            let chosen = json!({"properties": {"@type": {"const": word}}, "required": ["@type"]});
            all.push(json!({"if": chosen, "then": {"required": own}}));
        }
    }
    all
}

fn json_type(kind: Kind, default: Option<&str>) -> Value {
    let mut out = match kind {
        Kind::OneOf(words) => json!({"enum": words}),
        Kind::Bool => json!({"enum": ["true", "false"]}),
        other => match pattern(other) {
            Some(pattern) => json!({"type": "string", "pattern": format!("^({pattern})$")}),
            None => json!({"type": "string"}),
        },
    };
    if let Some(default) = default {
        out["default"] = json!(default);
    }
    out
}

/// The schema of one diagnostic of `template check --json`.
pub fn issue_schema() -> Value {
    let number = json!({"type": "integer", "minimum": 1});
    let text = json!({"type": "string"});
    let codes: Vec<&str> = callsheet_core::template::Code::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A diagnostic of a template",
        "type": "object",
        "properties": {
            "code": {"enum": codes},
            "severity": {"enum": ["error", "warning", "info"]},
            "rule": text, "message": text, "file": text,
            "line": number, "column": number, "end_line": number, "end_column": number,
            "path": text,
            "found": {"type": ["string", "null"]},
            "expected": {"type": "array", "items": text},
            "advice": text,
            "related": {"type": "array", "items": {
                "type": "object",
                "properties": {"line": number, "column": number, "message": text, "file": text},
                "required": ["line", "column", "message"],
                "additionalProperties": false,
            }},
        },
        "required": [
            "code", "severity", "rule", "message", "file", "line", "column", "end_line", "end_column", "path", "found",
            "expected", "advice", "related",
        ],
        "additionalProperties": false,
    })
}
