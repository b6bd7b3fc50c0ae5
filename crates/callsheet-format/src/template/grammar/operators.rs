//! The rows of libraries, templates and `task` (spec 2.1-2.4). Operators declare their own rows themselves.

use std::cmp::Reverse;
use std::sync::LazyLock;

use callsheet_core::template::form::{
    ALLOWED_TOOLS, Attribute, CONTEXT_MANAGEMENT, CRITERIA, Child, Content, DESCRIPTION, DISABLE_REPARSING,
    EXPECTED_OUTPUT, Element, FILE_PATHS, INPUTS, INSTRUCTIONS, LIMITS, MANUAL_XML, MODEL, OUTPUT_FORMAT, PROVIDER,
    RECOVERY, SYSTEM, TaskTypes, ValueKind as Kind,
};
use callsheet_core::template::operators::{Leaf, Rows};
use callsheet_core::template::{Facts, Kind as Operator};

static TEMPLATES: LazyLock<Element> = LazyLock::new(|| {
    Element::new(
        "templates",
        &[const { Attribute::new("version", Kind::OneOf(&["1"])).or("1") }],
        vec![Child::new(&TEMPLATE).many(), Child::new(&TASK).many()].leak(),
        Content::Children,
    )
});

static TEMPLATE: Element = Element::new(
    "template",
    &[
        Attribute::new("name", Kind::TemplateName).required(),
        Attribute::new("params", Kind::Params),
        Attribute::new("returns", Kind::Type),
        Attribute::new("tags", Kind::List),
        Attribute::new("auto_select", Kind::Bool).or("false"),
    ],
    &[Child::new(&PARAMS)],
    Content::Body,
);
static PARAMS: Element = Element::new("params", &[], &[Child::new(&PARAM).many()], Content::Children);
static PARAM: Element = Element::new(
    "param",
    &[
        Attribute::new("name", Kind::Ident).required(),
        Attribute::new("type", Kind::Type).or("any"),
        Attribute::new("required", Kind::Bool).or("true"),
        Attribute::new("default", Kind::Text),
    ],
    &[],
    Content::Optional(Kind::Text),
);

/// The row of `task`: what every task has, and what each operator that is written as a `task` adds. It is built once.
static TASK: LazyLock<Element> =
    LazyLock::new(|| Element::new("task", task_attributes().leak(), task_children().leak(), Content::Children));

static TASK_TYPES: LazyLock<Vec<&'static str>> = LazyLock::new(|| tasks().map(|(_, facts)| facts.word).collect());

static ELEMENTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let own = Operator::ALL.iter().filter(|facts| matches!(facts.rows, Rows::Element(_)));
    std::iter::once(TASK.name).chain(own.map(|facts| facts.word)).collect()
});

/// The operators that are written as a `task`, each with its set.
fn tasks() -> impl Iterator<Item = (TaskTypes, &'static Facts)> {
    let tasks = Operator::ALL.iter().filter(|facts| matches!(facts.rows, Rows::Task { .. }));
    tasks.enumerate().map(|(index, facts)| (TaskTypes::nth(index), *facts))
}

fn task_attributes() -> Vec<Attribute> {
    let mut all = vec![
        Attribute::new("type", Kind::OneOf(&TASK_TYPES)).or("atomic"),
        Attribute::new("subtype", Kind::Subtype).or("standard"),
        Attribute::new("id", Kind::Ident),
        Attribute::new("name", Kind::TemplateName),
        Attribute::new("ref", Kind::CallName),
        Attribute::new("effects", Kind::OneOf(&["read", "write"])),
        Attribute::new("requires_approval", Kind::Bool),
    ];
    let mut tasks: Vec<_> = tasks().collect();
    // Operators share attributes, so the attributes of one operator are kept together.
    tasks.sort_by_key(|(_, facts)| Reverse(facts.rows.attributes().len()));
    for (own, facts) in tasks {
        for attribute in facts.rows.attributes() {
            match all.iter_mut().find(|known| known.name == attribute.name) {
                Some(known) => known.on = known.on.and(own),
                // Whether it is required depends on the operator.
                None => all.push(Attribute { required: false, on: own, ..*attribute }),
            }
        }
    }
    all
}

fn task_children() -> Vec<Child> {
    let mut all = vec![
        Child::new(&DESCRIPTION).required(),
        Child::new(&INSTRUCTIONS).on(atomic()),
        Child::new(&SYSTEM).on(atomic()),
        Child::new(&EXPECTED_OUTPUT),
        Child::new(&CRITERIA),
        Child::new(&MODEL),
        Child::new(&PROVIDER),
        Child::new(&INPUTS).on(TaskTypes::ALL),
        Child::new(&FILE_PATHS),
        Child::new(&OUTPUT_FORMAT),
        Child::new(&CONTEXT_MANAGEMENT),
        Child::new(&LIMITS).on(TaskTypes::ALL),
        Child::new(&ALLOWED_TOOLS),
        Child::new(&RECOVERY),
        Child::new(&MANUAL_XML),
        Child::new(&DISABLE_REPARSING),
    ];
    for (own, facts) in tasks() {
        for child in facts.rows.children() {
            match all.iter_mut().find(|known| known.element.name == child.element.name) {
                Some(known) => known.on = known.on.and(own),
                None => all.push(Child { on: own, ..*child }),
            }
        }
    }
    all
}

/// The row of the outermost element.
pub(in crate::template) fn templates() -> &'static Element {
    &TEMPLATES
}

/// The row of a named template.
pub(in crate::template) fn template() -> &'static Element {
    &TEMPLATE
}

/// The row of an operator element.
pub(in crate::template) fn operator_row(name: &str) -> Option<&'static Element> {
    if name == TASK.name { Some(&TASK) } else { facts_of(name).map(|(_, row)| row) }
}

/// The operator with an element of its own, and its row.
pub(in crate::template) fn facts_of(name: &str) -> Option<(&'static Facts, &'static Element)> {
    Operator::ALL.iter().find_map(|facts| match facts.rows {
        Rows::Element(row) if row.name == name => Some((*facts, row)),
        _ => None,
    })
}

/// The elements that may occur where an operator may occur.
pub(in crate::template) fn operator_elements() -> &'static [&'static str] {
    &ELEMENTS
}

/// Whether an element is an operator.
pub(in crate::template) fn is_operator_element(name: &str) -> bool {
    ELEMENTS.contains(&name)
}

/// The values of `type`, in the order of the table.
pub(in crate::template) fn task_types() -> &'static [&'static str] {
    &TASK_TYPES
}

/// The operator that a value of `type` names.
pub(in crate::template) fn types_of(word: &str) -> Option<(TaskTypes, &'static Facts)> {
    tasks().find(|(_, facts)| facts.word == word)
}

/// The set of a task without a type.
pub(in crate::template) fn atomic() -> TaskTypes {
    tasks().find(|(_, facts)| facts.leaf == Some(Leaf::Handler)).map_or(TaskTypes::TYPED, |(types, _)| types)
}
