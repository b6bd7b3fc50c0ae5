//! `call`: runs the body of another template and returns its result.

use serde::{Deserialize, Serialize};

use crate::template::bind::Bound;
use crate::template::form::{Attribute, Child, Content, Element, ID, LIMITS, ValueKind};
use crate::template::names::{Seen, Walk};
use crate::template::result::{TaskError, TaskResult, failure};
use crate::template::shape::Shape;
use crate::template::tree::{Argument, Node, Role};

use super::{
    ChildSlot, Facts, Kind, Known, Move, Names, Opening, Opens, Operator, Parts, Plan, Rows, Work, Written, only,
    only_result,
};

/// Another template. Its name is the node's `template`. Inputs of the node are passed by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Arguments in order.
    pub arguments: Vec<Argument>,
}

static ROW: Element = Element::new(
    "call",
    &[Attribute::new("template", ValueKind::CallName).required(), ID],
    &[Child::new(&ARG).many(), Child::new(&LIMITS)],
    Content::Children,
);
static ARG: Element = Element::new(
    "arg",
    &[
        Attribute::new("name", ValueKind::Ident),
        Attribute::new("value", ValueKind::Filled),
        Attribute::new("from", ValueKind::Path),
    ],
    &[],
    Content::Argument,
);

pub(super) static FACTS: Facts = Facts {
    word: "call",
    rows: Rows::Element(&ROW),
    read: |given| Some(Kind::Call(Call { arguments: given.arguments() })),
    leaf: None,
    role: Role::ATOMIC,
    part_role: Role::ATOMIC,
    spawned: Role::SUBTASK,
    binds: &[],
    shows_inputs: true,
    looks_up: false,
    splits: true,
    spawns: false,
    transparent: true,
    guards: false,
    lends_ids: false,
    in_order: false,
    gives_its_last: true,
};

impl Operator for Call {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// The operators in arguments. The body belongs to another template.
    fn nodes(&self) -> Vec<&Node> {
        self.arguments.iter().filter_map(|argument| argument.value.operator()).collect()
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        self.arguments.iter_mut().filter_map(|argument| argument.value.operator_mut()).collect()
    }

    fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    fn write(&self, to: &mut dyn Written) {
        to.arguments(&self.arguments);
    }

    /// The node contains the name of the called template, so it walks the call.
    fn walk(&self, _: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        Shape::unknown()
    }

    /// The body belongs to another template. Operators in arguments are found in the same way for all operators.
    fn below(&self, _: ChildSlot) -> Option<Work<'_>> {
        None
    }

    fn next(&self, at: &dyn Parts) -> Move {
        only(at, ChildSlot::Body)
    }

    fn open(&self, at: &dyn Opening, names: &mut Names) -> Result<Opens, Box<TaskError>> {
        *names = at.passed(names)?;
        Ok(Opens::Plan(Plan::Children))
    }

    fn binds(&self, _: &dyn Known, _: ChildSlot) -> Vec<(String, Bound)> {
        Vec::new()
    }

    /// The result of the body, checked against `returns` (spec 7.4). An error names the call through which it came
    /// (spec 8).
    fn close(&self, at: &dyn Known) -> TaskResult {
        let node = at.node();
        let mut result = only_result(at).returned(at.called(), at.id()).located(&node.origin, at.id());
        if let Some(error) = &mut result.error {
            let call = failure::location(&node.origin, at.id());
            // The template that runs a skill belongs to Callsheet. The author wrote only the call.
            let of_skill = node.template.as_deref().is_some_and(|name| name.starts_with("skill:"));
            match of_skill && error.related.is_empty() {
                true => error.location = Some(call),
                false if error.location.as_ref() != Some(&call) => error.related.push(call),
                false => {}
            }
        }
        result
    }
}
