//! `parallel`: runs its children, a limited number at the same time.

use serde::{Deserialize, Serialize};

use crate::template::bind::Bound;
use crate::template::form::{Content, Element, ID, MAX_PARALLEL, ON_ERROR};
use crate::template::names::{Seen, Walk};
use crate::template::result::{TaskError, TaskResult};
use crate::template::shape::Shape;
use crate::template::tree::{InheritContext, Node, Role};

use super::place::nth;
use super::{
    ChildSlot, Facts, Given, Kind, Known, Move, Names, OnError, Opening, Opens, Operator, Parts, Plan, Rows, Work,
    Written, pool,
};

/// Runs its children at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parallel {
    /// The children, each with an id.
    pub children: Vec<Node>,
    /// The largest number of children at the same time.
    pub max_parallel: u32,
    /// What happens when one fails.
    pub on_error: OnError,
}

static ROW: Element = Element::new("parallel", &[ID, MAX_PARALLEL, ON_ERROR], &[], Content::Operators);

const ROLE: Role = Role::new("parallel", InheritContext::Full, false, false);

pub(super) static FACTS: Facts = Facts {
    word: "parallel",
    rows: Rows::Element(&ROW),
    read: |given| Some(Kind::Parallel(read(given)?)),
    leaf: None,
    role: ROLE,
    part_role: Role::ATOMIC,
    spawned: Role::SUBTASK,
    binds: &["steps", "step_results", "previous_result", "output"],
    shows_inputs: false,
    looks_up: true,
    splits: false,
    spawns: false,
    transparent: false,
    guards: false,
    lends_ids: true,
    in_order: false,
    gives_its_last: false,
};

fn read(given: &mut dyn Given) -> Option<Parallel> {
    Some(Parallel {
        children: given.steps(None),
        max_parallel: given.count("max_parallel")?,
        on_error: OnError::read(given),
    })
}

impl Operator for Parallel {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        self.children.iter().collect()
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        self.children.iter_mut().collect()
    }

    fn steps(&self) -> Option<&[Node]> {
        Some(&self.children)
    }

    fn steps_mut(&mut self) -> Option<&mut Vec<Node>> {
        Some(&mut self.children)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![("max_parallel", self.max_parallel.to_string()), self.on_error.attribute()]
    }

    fn write(&self, to: &mut dyn Written) {
        to.steps(None, &self.children);
    }

    fn walk(&self, names: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        let children = self.children.iter().map(|child| names.child(child, child.kind.word()));
        pool::shape(children, self.on_error)
    }

    fn below(&self, place: ChildSlot) -> Option<Work<'_>> {
        let ChildSlot::Child { index } = place else { return None };
        nth(&self.children, index)
    }

    fn next(&self, at: &dyn Parts) -> Move {
        pool::next(at, self.children.len(), self.max_parallel, self.on_error, |index| ChildSlot::Child { index })
    }

    fn collects(&self) -> bool {
        self.on_error == OnError::Collect
    }

    fn open(&self, _: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        Ok(Opens::Plan(Plan::Children))
    }

    fn binds(&self, _: &dyn Known, _: ChildSlot) -> Vec<(String, Bound)> {
        Vec::new()
    }

    fn close(&self, at: &dyn Known) -> TaskResult {
        pool::result(at, self.children.len(), self.on_error)
    }
}
