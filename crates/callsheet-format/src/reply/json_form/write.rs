//! Writes the Markdown of a JSON form, part by part.

use callsheet_core::fence::fence;
use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::nouns::Phase;
use serde_json::{Map, Value as Json};

use crate::grammar::{Form, Member, Part, Sections, Value, names, new_name};
use crate::markdown::Format;
use crate::reading::Diagnostics;
use crate::reply::{list, task};

use super::plain::{block, one_line, sentence};

type Object = Map<String, Json>;

/// The Markdown of a JSON form.
pub(super) fn markdown(form: &Form, value: &Object, phase: Phase, notes: &mut Diagnostics) -> String {
    let results = matches!(phase, Phase::Execute | Phase::Merge | Phase::Refine);
    let formats = if results { task::formats().to_vec() } else { vec![list::PLAN, list::ITERATION] };
    let mut writer = Writer { out: String::new(), formats, headings: results, notes };
    writer.group(&form.parts, value, None);
    // The first of several groups is at the beginning.
    writer.out.trim_start_matches('\n').to_owned()
}

struct Writer<'a> {
    out: String,
    formats: Vec<Format>,
    /// Whether texts may contain headings.
    headings: bool,
    notes: &'a mut Diagnostics,
}

impl Writer<'_> {
    fn group(&mut self, parts: &[Part], object: &Object, kind: Option<&str>) {
        if let [Part::OneOf { name, ways }] = parts
            && name.is_empty()
        {
            return self.one_of(ways, object);
        }
        for (name, value) in object {
            let known = kind == Some(name) || names(parts).contains(&name.as_str());
            if !known && !value.is_null() {
                self.notes.repair(RepairCode::KeyDropped, Span::line(1), name, "");
            }
        }
        for part in parts {
            let value = part.name().and_then(|name| object.get(name)).filter(|value| !value.is_null());
            match part {
                Part::List { empty, .. } if objects(value).is_empty() => self.unlisted(empty, object),
                _ => self.part(part, value),
            }
        }
    }

    fn part(&mut self, part: &Part, value: Option<&Json>) {
        match part {
            Part::Text(text) => self.out.push_str(text),
            Part::Flag { text, .. } => {
                if value.is_some_and(is_yes) {
                    self.out.push_str(text);
                }
            }
            Part::Member(member) => self.member(member, value),
            Part::List { item, max, .. } => {
                let most = usize::try_from((*max).max(64)).unwrap_or(64);
                for object in objects(value).into_iter().take(most) {
                    self.group(item, object, None);
                }
            }
            Part::OneOf { name, ways } => match value.and_then(Json::as_object) {
                Some(object) => self.one_of(ways, object),
                None => self.shapeless(name),
            },
            Part::Calls { before, .. } => self.calls(before, value),
            Part::Sections(sections) => self.sections(sections, value),
        }
    }

    /// The parts that replace a list, if the object has any of them.
    fn unlisted(&mut self, parts: &[Part], object: &Object) {
        let value = |part: &Part| part.name().and_then(|name| object.get(name)).filter(|value| !value.is_null());
        if parts.iter().any(|part| value(part).is_some()) {
            parts.iter().for_each(|part| self.part(part, value(part)));
        }
    }

    /// The group that `kind` names, or the only one whose members all exist. A group with more members has priority.
    fn one_of(&mut self, ways: &[(String, Vec<Part>)], object: &Object) {
        let kind = object.get("kind").and_then(Json::as_str).unwrap_or_default();
        let needed = |part: &Part| match part {
            Part::Member(Member { needed: true, name, .. }) => Some(object.contains_key(name)),
            Part::Calls { .. } => Some(part.name().is_some_and(|name| object.contains_key(name))),
            _ => None,
        };
        let count = |parts: &[Part]| parts.iter().filter_map(needed).count();
        let fits = |parts: &[Part]| parts.iter().filter_map(needed).all(|there| there);
        let most = ways.iter().filter(|(_, parts)| fits(parts)).map(|(_, parts)| count(parts)).max();
        let mut fitting = ways.iter().filter(|(_, parts)| fits(parts) && Some(count(parts)) == most);
        let only = fitting.next().filter(|_| fitting.next().is_none());
        match ways.iter().find(|(name, _)| name == kind).or(only) {
            Some((_, parts)) => self.group(parts, object, Some("kind")),
            None => self.shapeless("kind"),
        }
    }

    fn shapeless(&mut self, name: &str) {
        let issue = self.notes.issue(IssueCode::JsonInvalid, "member", Span::line(1), &[("name", name)]);
        self.notes.push(issue.key(name));
    }

    /// Writes a member. If a required value is missing, the label stays, so that the reader reports where it belongs.
    fn member(&mut self, member: &Member, value: Option<&Json>) {
        let written = value.map(|value| self.value(&member.value, value)).filter(|text| !text.is_empty());
        if written.is_none() && !member.needed {
            return;
        }
        self.out.push_str(&member.before);
        self.out.push_str(&written.unwrap_or_default());
        self.out.push_str(&member.after);
    }

    fn value(&self, kind: &Value, value: &Json) -> String {
        match kind {
            Value::Links { between, .. } => {
                let links: Vec<String> = texts(value).iter().map(|link| one_line(link)).collect();
                links.iter().filter(|link| !link.is_empty()).cloned().collect::<Vec<_>>().join(between)
            }
            Value::Sentence { .. } => sentence(&text(value), &self.formats),
            Value::Block { .. } => block(&text(value), &self.formats, false),
            Value::Document => block(&text(value), &self.formats, self.headings),
            Value::Fence { .. } => format!("\n{}", fence("text", &text(value))),
            Value::Line { .. }
            | Value::Choice(_)
            | Value::Path(_)
            | Value::NewPath
            | Value::FileName
            | Value::Symbol
            | Value::Number => one_line(&text(value)),
        }
    }

    fn calls(&mut self, before: &str, value: Option<&Json>) {
        let calls = objects(value);
        if calls.is_empty() {
            return;
        }
        self.out.push_str(before);
        for (index, call) in calls.into_iter().enumerate() {
            let name = call.get("name").map(text).unwrap_or_default();
            let mut ordered = Object::new();
            ordered.insert("name".into(), Json::from(name.as_str()));
            ordered.insert("id".into(), Json::from(format!("{name}-{}", index + 1)));
            ordered.insert("arguments".into(), call.get("arguments").cloned().unwrap_or_else(|| Object::new().into()));
            let json = serde_json::to_string_pretty(&Json::Object(ordered)).unwrap_or_default();
            self.out.push_str(&format!("\n{}", fence("json", &json)));
        }
    }

    fn sections(&mut self, sections: &Sections, value: Option<&Json>) {
        let mut number = sections.first_number;
        let mut written = 0;
        for section in objects(value) {
            let tasks = objects(section.get("tasks"));
            if tasks.is_empty() {
                continue;
            }
            written += 1;
            self.out.push_str(&format!("\n### Task section {written}"));
            for (index, task) in tasks.into_iter().enumerate() {
                self.out.push_str(if index == 0 { "\n" } else { "\n\n" });
                self.new_task(task, number);
                number = number.saturating_add(1);
            }
        }
    }

    fn new_task(&mut self, task: &Object, number: u32) {
        let line = |name: &str| task.get(name).filter(|value| !value.is_null()).map(|value| one_line(&text(value)));
        let name = format!("{}{}", new_name(number), line("name").unwrap_or_default());
        self.out.push_str(&format!("- **Name** {}", name.trim_end_matches([' ', ':'])));
        self.out.push_str(&format!("\n- **What is needed** {}", line("need").unwrap_or_default()));
        let links = task.get("references").map(texts).unwrap_or_default();
        let links =
            links.iter().map(|link| one_line(link)).filter(|link| !link.is_empty()).collect::<Vec<_>>().join(" ");
        let for_each = line("for_each_in").filter(|link| !link.is_empty()).map(|link| format!("item in {link}"));
        let rest = [
            ("Skill", line("skill")),
            ("For each", for_each),
            ("References", Some(links)),
            ("Expected output", line("expected")),
        ];
        for (label, value) in rest {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.out.push_str(&format!("\n- **{label}** {value}"));
            }
        }
    }
}

fn is_yes(value: &Json) -> bool {
    value.as_bool().unwrap_or_else(|| matches!(value.as_str(), Some("true" | "yes")))
}

/// The objects of a list. A single object counts as a list of one.
fn objects(value: Option<&Json>) -> Vec<&Object> {
    match value {
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_object).collect(),
        Some(Json::Object(object)) => vec![object],
        _ => Vec::new(),
    }
}

/// A value as text, with the elements of a list on separate lines.
fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        Json::Array(items) => items.iter().map(text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// The texts of a list. A single text counts as a list of one.
fn texts(value: &Json) -> Vec<String> {
    match value {
        Json::Array(items) => items.iter().map(text).collect(),
        Json::Null => Vec::new(),
        other => vec![text(other)],
    }
}
