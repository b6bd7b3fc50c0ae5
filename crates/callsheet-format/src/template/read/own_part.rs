//! The written values of an operator, by the names of the rows that it declares.

use callsheet_core::template::operators::{Case, Given, Slot};
use callsheet_core::template::{
    Argument, ArgumentValue, Condition, Expression, Facts, Filled, Node, PathUse, Script, UNCLEAR, is_ident,
};

use crate::template::grammar::{Content, Kind, is_operator_element};
use crate::template::xml::{Attribute, Element};

use super::Reader;
use super::parts::{count, word};
use super::tasks::Position;
use super::values::without_braces;

/// The element from which an operator reads its values.
pub(super) struct OwnPart<'p, 'r> {
    pub(super) reader: &'p mut Reader<'r>,
    pub(super) element: &'p Element,
    pub(super) facts: &'static Facts,
}

impl Given for OwnPart<'_, '_> {
    fn word(&self, name: &str) -> Option<String> {
        word(self.element, name).map(str::to_owned)
    }

    fn count(&self, name: &str) -> Option<u32> {
        let number = |text: Option<&str>, least: u64, most: u64| {
            count(text, u32::try_from(least).unwrap_or(u32::MAX), u32::try_from(most).unwrap_or(u32::MAX))
        };
        if let Some(row) = self.facts.rows.attributes().iter().find(|row| row.name == name) {
            let Kind::Int(least, most) = row.kind else { return None };
            return number(word(self.element, name), least, most).or_else(|| number(row.default, least, most));
        }
        let row = self.facts.rows.children().iter().find(|row| row.element.name == name)?;
        let Content::Value(Kind::Int(least, most)) = row.element.content else { return None };
        number(self.reader.word_child(self.element, name).as_deref(), least, most)
    }

    fn path(&self, name: &str) -> Option<PathUse> {
        self.reader.path_use(self.element, name)
    }

    fn text(&self, name: &str) -> Filled {
        self.reader.filled_child(self.element, name)
    }

    fn condition(&self, within: &str, name: &str) -> Option<Condition> {
        let child = self.element.child(within)?.child(name)?;
        let text = self.reader.text_of(child, Kind::Expression);
        let test = Expression::parse(&without_braces(text.as_str())).ok()?;
        Some(Condition { test, at: self.reader.lines.spot(text.whole()) })
    }

    fn node(&mut self, slot: &Slot) -> Option<Box<Node>> {
        let element = self.element.child(slot.name)?;
        let position = Position::Slot { subtype: slot.subtype, role: self.facts.part_role };
        self.reader.slot_of(element, position).map(Box::new)
    }

    fn steps(&mut self, within: Option<&str>) -> Vec<Node> {
        let Some(within) = within else { return self.reader.steps(self.element) };
        let Some(element) = self.element.child(within) else { return Vec::new() };
        let name = self.reader.shown(within).to_owned();
        self.reader.path.push(name);
        let steps = self.reader.steps(element);
        self.reader.path.pop();
        steps
    }

    fn script(&mut self, within: Option<&str>) -> Option<Script> {
        let Some(within) = within else { return Some(self.reader.script(self.element)) };
        let element = self.element.child(within)?;
        self.reader.enter(element);
        let script = self.reader.script(element);
        self.reader.leave(element);
        Some(script)
    }

    fn cases(&mut self, name: &str) -> Vec<Case> {
        let mut cases = Vec::new();
        for child in self.element.elements().filter(|child| child.name == name) {
            let Some(body) = self.reader.slot_of(child, Position::Nested) else { continue };
            let Some(test) = child.attribute("test").and_then(|test| self.reader.test(test)) else { continue };
            cases.push(Case { test, body });
        }
        cases
    }

    fn arguments(&mut self) -> Vec<Argument> {
        self.reader.arguments(self.element)
    }
}

impl Reader<'_> {
    fn test(&self, attribute: &Attribute) -> Option<Condition> {
        let test = Expression::parse(&without_braces(attribute.value.as_str())).ok()?;
        Some(Condition { test, at: self.lines.spot(attribute.value_span) })
    }

    fn steps(&mut self, element: &Element) -> Vec<Node> {
        let mut names = Vec::new();
        let mut out = Vec::new();
        let steps = element.elements().filter(|child| is_operator_element(&child.name));
        for (index, child) in steps.enumerate() {
            let Some(node) = self.operator(child, Position::Step(index)) else { continue };
            let id = node.id.clone().unwrap_or_default();
            self.distinct(&mut names, "step", &id, child.attribute("id").map_or(child.tag, |id| id.value_span));
            out.push(node);
        }
        out
    }

    fn arguments(&mut self, element: &Element) -> Vec<Argument> {
        let mut arguments = Vec::new();
        let mut names = Vec::new();
        for child in element.elements().filter(|child| child.name == "arg") {
            self.enter(child);
            let written = word(child, "name");
            let name = written.map(|name| if is_ident(name) { name.to_owned() } else { UNCLEAR.to_owned() });
            if let Some(name) = name.as_ref().filter(|name| *name != UNCLEAR) {
                self.distinct(&mut names, "argument", name, child.tag);
            }
            let operator = child.elements().find(|inner| is_operator_element(&inner.name));
            let value = match (child.attribute("value"), self.path_use(child, "from"), operator) {
                (Some(value), _, _) => ArgumentValue::Value(self.filled(&value.value)),
                (None, Some(from), _) => ArgumentValue::From(from),
                (None, None, Some(operator)) => {
                    let node = self.operator(operator, Position::Nested);
                    node.map_or(ArgumentValue::Unread, |node| ArgumentValue::Operator(Box::new(node)))
                }
                (None, None, None) if child.attribute("from").is_some() => ArgumentValue::Unread,
                (None, None, None) => {
                    let text = self.text_of(child, Kind::Filled);
                    ArgumentValue::Bare(self.filled(&text))
                }
            };
            self.leave(child);
            arguments.push(Argument { name, value, origin: self.origin(child.span) });
        }
        arguments
    }
}
