//! Checks elements against the grammar's table (spec 2, 3).

use callsheet_core::template::Code;

use crate::template::grammar::{
    self, Child, Content, Element as Row, Kind, TaskTypes, is_operator_element, operator_elements, types_of,
};
use crate::template::report::Draft;
use crate::template::xml::{Element, Item, Mapped};

use super::Reader;
use super::parts::word;
use super::values::near_word;
use crate::template::yaml;

impl Reader<'_> {
    /// Enters an element and adds its name to the path.
    pub(super) fn enter(&mut self, element: &Element) {
        if element.damaged {
            self.muted += 1;
        }
        if element.name != "templates" {
            let label = label(element);
            self.path.push(if label == element.name { self.shown(&label).to_owned() } else { label });
        }
    }

    /// Leaves an element.
    pub(super) fn leave(&mut self, element: &Element) {
        if element.damaged {
            self.muted = self.muted.saturating_sub(1);
        }
        if element.name != "templates" {
            self.path.pop();
        }
    }

    /// Checks the outermost element and all elements below it.
    pub(super) fn check_root(&mut self, root: &Element) {
        match root.name.as_str() {
            "templates" => {
                self.attributes(root, grammar::templates(), TaskTypes::ALL);
                self.children(root, grammar::templates().children, TaskTypes::ALL, false);
            }
            "template" => self.element(root, grammar::template()),
            "task" => {
                if let Some(row) = grammar::operator_row("task") {
                    self.element(root, row);
                }
            }
            other => {
                let draft = Draft::new(Code::T010, root.name_span, format!("<{other}> is not a template library"));
                let expected = ["templates", "template", "task"];
                self.add(draft.found(other).expected(expected).advice("start with `<templates>`"));
            }
        }
    }

    fn element(&mut self, element: &Element, row: &'static Row) {
        self.enter(element);
        let outer = self.task;
        let mut operators = TaskTypes::ALL;
        if row.name == "task" {
            self.task = Some(element.tag);
            operators = operators_of_task(element);
        }
        self.attributes(element, row, operators);
        self.content(element, row, operators);
        self.task = outer;
        self.leave(element);
    }

    fn attributes(&mut self, element: &Element, row: &Row, operators: TaskTypes) {
        for attribute in &element.attributes {
            let known = row.attributes.iter().find(|known| known.name == attribute.name);
            match known {
                Some(known) if known.on.has(operators) => {
                    let name = self.shown(known.name);
                    self.check_value(known.kind, name, &attribute.value, attribute.value_span);
                }
                Some(known) => {
                    let message = format!("`{}` has no effect on this operator", self.shown(known.name));
                    let draft = Draft::new(Code::T502, attribute.name_span, message).found(&attribute.name);
                    self.add(draft.advice("remove it"));
                }
                None => {
                    let names = row.attributes.iter().map(|known| known.name);
                    let near = near_word(&attribute.name, names.clone());
                    let what = if self.short { "key" } else { "attribute" };
                    let message = format!("<{}> has no {what} `{}`", element.name, attribute.name);
                    let code = if near.is_some() || self.short { Code::T019 } else { Code::T502 };
                    let draft = Draft::new(code, attribute.name_span, message).found(&attribute.name);
                    let key = yaml::shown(&attribute.name).filter(|_| self.short);
                    let advice = match (near, key) {
                        (Some(near), _) => format!("did you mean `{near}`?"),
                        (None, Some(key)) => format!("write `{key}` as a key of the task itself"),
                        (None, None) => "remove it".to_owned(),
                    };
                    self.add(draft.expected(names).advice(advice));
                }
            }
        }
        let own = row.name == "task" && operators != TaskTypes::ALL;
        let own = word(element, "type").and_then(types_of).filter(|(types, _)| own && *types == operators);
        let own = own.map(|(_, facts)| facts.rows.attributes()).unwrap_or_default();
        let required = |name: &str| own.iter().any(|known| known.required && known.name == name);
        for known in row.attributes.iter().filter(|known| known.required || required(known.name)) {
            if element.attribute(known.name).is_none() {
                let (message, advice) = match self.short {
                    true if known.name == "name" => {
                        ("a template needs a name".to_owned(), "write `template: NAME` in its first line".to_owned())
                    }
                    true => {
                        let name = self.shown(known.name);
                        (format!("<{}> needs `{name}`", element.name), format!("add `{name}: …`"))
                    }
                    false => (
                        format!("<{}> needs the attribute `{}`", element.name, known.name),
                        format!("add {}=\"…\"", known.name),
                    ),
                };
                self.add(Draft::new(Code::T011, element.tag, message).expected([known.name]).advice(advice));
            }
        }
    }

    fn content(&mut self, element: &Element, row: &'static Row, operators: TaskTypes) {
        match row.content {
            Content::Children => self.children(element, row.children, operators, false),
            Content::Optional(kind) => self.value(element, kind, false),
            Content::Value(kind) => self.value(element, kind, true),
            Content::Either(kind) => {
                let listed =
                    element.elements().any(|child| row.children.iter().any(|row| row.element.name == child.name));
                if listed {
                    self.children(element, row.children, operators, false)
                } else {
                    self.value(element, kind, true)
                }
            }
            Content::Slot => self.slot_content(element),
            Content::Body => {
                self.children(element, row.children, operators, true);
                self.one_body(element);
            }
            Content::Operators => {
                self.children(element, row.children, operators, true);
                if !self.lacks_tasks && !element.elements().any(|child| is_operator_element(&child.name)) {
                    self.empty(element, "at least one task");
                }
            }
            Content::Argument => self.argument(element),
        }
    }

    fn empty(&mut self, element: &Element, wanted: &str) {
        let message = format!("<{}> needs {wanted}", element.name);
        let draft = Draft::new(Code::T018, element.span, message).expected([wanted]);
        self.add(draft.advice("fill it, or remove it"));
    }

    fn one_body(&mut self, element: &Element) {
        let bodies = element.elements().filter(|child| is_operator_element(&child.name)).count();
        if bodies != 1 && !(bodies == 0 && self.lacks_tasks) {
            let message = format!("a template has exactly one task, but this one has {bodies}");
            let advice = if bodies == 0 { "add a task" } else { "put them into one sequential task" };
            let draft = Draft::new(Code::T022, element.tag, message).expected(operator_elements().iter().copied());
            self.add(draft.advice(advice));
        }
    }

    /// Checks children against `rows`, and operators where they are allowed.
    fn children(&mut self, element: &Element, rows: &'static [Child], operators: TaskTypes, takes_operators: bool) {
        let mut seen: Vec<&Element> = Vec::new();
        for item in &element.items {
            let child = match item {
                Item::Element(child) => child,
                Item::Text(text) => {
                    self.stray(element, text);
                    continue;
                }
            };
            let row = rows.iter().find(|row| row.element.name == child.name);
            match row {
                Some(row) if row.on.has(operators) => {
                    let first = seen.iter().find(|first| first.name == child.name).copied();
                    if let Some(first) = first.filter(|_| !row.many) {
                        let message = format!("<{}> occurs twice here", child.name);
                        let draft = Draft::new(Code::T013, child.name_span, message).found(&child.name);
                        self.add(draft.advice("keep one").related(first.tag, "first here"));
                    }
                    seen.push(child);
                    self.element(child, row.element);
                }
                None if takes_operators && is_operator_element(&child.name) => {
                    if let Some(row) = grammar::operator_row(&child.name) {
                        self.element(child, row);
                    }
                }
                _ => self.unexpected(element, child, rows, operators),
            }
        }
        for row in rows.iter().filter(|row| row.required && row.on.has(operators)) {
            let unknown = operators == TaskTypes::ALL && element.name == "task" && row.on != TaskTypes::TYPED;
            if !unknown && element.child(row.element.name).is_none() {
                let message = format!("<{}> needs <{}>", element.name, row.element.name);
                let draft = Draft::new(Code::T011, element.tag, message);
                self.add(draft.expected([row.element.name]).advice(format!("add <{}>", row.element.name)));
            }
        }
    }

    /// Reports text where only elements are allowed.
    fn stray(&mut self, element: &Element, text: &Mapped) {
        if text.is_blank() {
            return;
        }
        let trimmed = text.trimmed();
        let message = format!("text between the elements of <{}> is ignored", element.name);
        let draft = Draft::new(Code::T501, trimmed.whole(), message).found(trimmed.as_str());
        self.add(draft.advice("put it into an element"));
    }

    fn unexpected(&mut self, parent: &Element, child: &Element, rows: &[Child], operators: TaskTypes) {
        let allowed = rows.iter().filter(|row| row.on.has(operators)).map(|row| row.element.name);
        let known = grammar::all_rows().iter().any(|row| row.name == child.name);
        let draft = if known {
            let message = format!("<{}> does not belong in this <{}>", child.name, parent.name);
            Draft::new(Code::T012, child.name_span, message).advice("move or remove it")
        } else {
            // An unknown element may contain what its author wants the task to do.
            let lost = || parent.child("instructions").is_none().then_some("instructions");
            let lost = || lost().filter(|name| allowed.clone().any(|allowed| allowed == *name)).map(str::to_owned);
            match near_word(&child.name, allowed.clone()).or_else(lost) {
                Some(near) => {
                    let message = format!("<{}> is unknown", child.name);
                    Draft::new(Code::T019, child.name_span, message).advice(format!("did you mean `{near}`?"))
                }
                None => {
                    let message = format!("<{}> is unknown; Callsheet ignores it and its content", child.name);
                    Draft::new(Code::T501, child.name_span, message).advice("remove it")
                }
            }
        };
        self.add(draft.found(&child.name).expected(allowed));
    }

    fn value(&mut self, element: &Element, kind: Kind, required: bool) {
        let value = self.text_of(element, kind);
        for child in element.elements().take(1) {
            let message = format!("markup inside <{}> is kept as text", element.name);
            let draft = Draft::new(Code::T513, child.tag, message).found(&child.name);
            self.add(draft.advice("put the text into CDATA if you mean it literally"));
        }
        if !value.as_str().is_empty() {
            // The command of `files` is no process.
            let name = if kind == Kind::PlainCommand { &element.name } else { self.shown(&element.name) }.to_owned();
            self.check_value(kind, &name, &value, element.inner);
        } else if required {
            self.empty(element, "a value");
        }
    }

    /// Checks for one operator, or the children of an atomic task.
    fn slot_content(&mut self, element: &Element) {
        let operators = element.elements().filter(|child| is_operator_element(&child.name)).count();
        let others = element.elements().count() - operators;
        if operators == 0 && others > 0 {
            if let Some(row) = grammar::operator_row("task") {
                self.children(element, row.children, grammar::atomic(), false);
            }
            return;
        }
        let mut first = true;
        for child in element.elements() {
            match grammar::operator_row(&child.name) {
                Some(row) if first => {
                    first = false;
                    self.element(child, row);
                }
                _ => {
                    let message = format!("<{}> contains exactly one operator", element.name);
                    let draft = Draft::new(Code::T012, child.name_span, message).found(&child.name);
                    self.add(draft.advice("put several tasks into one sequential task"));
                }
            }
        }
        if operators == 0 {
            self.empty(element, "one task");
        }
    }

    /// Checks for no content, a text, or one operator. Beside `from` and `value`, none of them is allowed.
    fn argument(&mut self, element: &Element) {
        let operators: Vec<&Element> = element.elements().filter(|child| is_operator_element(&child.name)).collect();
        let text = if operators.is_empty() {
            self.value(element, Kind::Filled, false);
            !self.text_of(element, Kind::Filled).as_str().is_empty()
        } else {
            for item in &element.items {
                match item {
                    Item::Text(text) => self.stray(element, text),
                    Item::Element(child) => match grammar::operator_row(&child.name) {
                        Some(row) => self.element(child, row),
                        None => self.unexpected(element, child, &[], TaskTypes::ALL),
                    },
                }
            }
            false
        };
        let attributes = element.attributes.iter().filter(|known| matches!(known.name.as_str(), "from" | "value"));
        let sources = attributes.count() + operators.len() + usize::from(text);
        let is_argument = element.name == "arg";
        if sources > 1 {
            let message = format!("<{}> has {sources} values", element.name);
            let draft = Draft::new(Code::T023, element.tag, message);
            self.add(draft.advice("keep one: from, a text or an element"));
        } else if is_argument && sources == 0 {
            let draft = Draft::new(Code::T011, element.tag, "<arg> has no value").expected(["value", "from"]);
            self.add(draft.advice("give it a value, from, or content"));
        }
    }
}

/// The operators that a task may be: one, or all if its `type` cannot be read.
fn operators_of_task(element: &Element) -> TaskTypes {
    if element.attribute("ref").is_some() {
        return TaskTypes::REF;
    }
    let Some(attribute) = element.attribute("type") else { return grammar::atomic() };
    types_of(attribute.value.as_str()).map_or(TaskTypes::ALL, |(types, _)| types)
}

/// The name of an element in a path.
pub(super) fn label(element: &Element) -> String {
    let named = element.name == "template" || is_operator_element(&element.name);
    let own = ["name", "id"].into_iter().filter(|_| named).find_map(|name| element.attribute(name));
    own.map_or_else(|| element.name.clone(), |attribute| attribute.value.as_str().chars().take(64).collect())
}
