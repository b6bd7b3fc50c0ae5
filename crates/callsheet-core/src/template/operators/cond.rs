//! `cond`: runs one branch and returns its result. Without a true case and without `else`, it returns at once.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::bind::Bound;
use crate::template::form::{Attribute, Child, Content, Element, ID, ValueKind};
use crate::template::names::{Seen, Walk};
use crate::template::result::{TaskError, TaskResult};
use crate::template::shape::{Kinds, Shape};
use crate::template::tree::{Condition, Node, Role};
use crate::template::value::Path;

use super::place::index_of;
use super::{
    ChildSlot, EvalPhase, Facts, Kind, Known, Move, Names, Opening, Opens, Operator, Parts, Plan, Rows, Slot, Work,
    Written, only, only_result,
};

/// Runs the first case whose test is true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cond {
    /// The cases in order.
    pub cases: Vec<Case>,
    /// The branch if no test is true.
    pub otherwise: Option<Box<Node>>,
}

/// One branch of a `cond`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The test.
    pub test: Condition,
    /// The task of the branch.
    pub body: Node,
}

static ROW: Element =
    Element::new("cond", &[ID], &[Child::new(&CASE).required().many(), Child::new(&ELSE)], Content::Children);
static CASE: Element =
    Element::new("case", &[Attribute::new("test", ValueKind::Expression).required()], &[], Content::Slot);
static ELSE: Element = Element::slot("else");
const OTHERWISE: Slot = Slot::new("else");

pub(super) static FACTS: Facts = Facts {
    word: "cond",
    rows: Rows::Element(&ROW),
    read: |given| {
        let cases = given.cases("case");
        Some(Kind::Cond(Cond { cases, otherwise: given.node(&OTHERWISE) }))
    },
    leaf: None,
    role: Role::ATOMIC,
    part_role: Role::ATOMIC,
    spawned: Role::SUBTASK,
    binds: &[],
    shows_inputs: false,
    looks_up: false,
    splits: false,
    spawns: false,
    transparent: true,
    guards: true,
    lends_ids: false,
    in_order: false,
    gives_its_last: true,
};

impl Cond {
    /// The first case whose test is true, and the unknown names in the tests up to that case. A comparison with an
    /// unknown name is false (spec 8).
    fn choose(&self, value: &dyn Fn(&Path) -> Option<Value>) -> (Option<u32>, Vec<String>) {
        let mut unknown = Vec::new();
        let mut chosen = None;
        for (number, case) in (0..).zip(&self.cases) {
            let outcome = case.test.test.evaluate(&mut |path| value(path));
            unknown.extend(outcome.unknown.iter().map(|path| path.unknown(value)));
            if outcome.holds {
                chosen = Some(number);
                break;
            }
        }
        unknown.dedup();
        (chosen, unknown)
    }
}

fn warn_of(unknown: Vec<String>, result: &mut TaskResult) {
    for name in unknown {
        result.notes.warn("condition", format!("a test uses a name without a value: {name}"));
    }
}

impl Operator for Cond {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        self.cases.iter().map(|case| &case.body).chain(self.otherwise.as_deref()).collect()
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        self.cases.iter_mut().map(|case| &mut case.body).chain(self.otherwise.as_deref_mut()).collect()
    }

    fn givers(&self) -> Vec<&Node> {
        self.nodes()
    }

    fn write(&self, to: &mut dyn Written) {
        to.cases("case", &self.cases);
        if let Some(otherwise) = &self.otherwise {
            to.node(&OTHERWISE, otherwise);
        }
    }

    /// Without a true case and without `else`, the result is an empty text. One of the cases is true if they name every
    /// word that a value can be.
    fn walk(&self, names: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        let mut gives = Shape::of(Kinds::NONE);
        for (number, case) in (1..).zip(&self.cases) {
            names.condition(&case.test);
            let tested = self.cases.iter().take(number).map(|case| &case.test);
            gives = gives.or(&names.after(tested, |names| names.child(&case.body, "case")));
        }
        let tested = self.cases.iter().map(|case| &case.test);
        let otherwise = match &self.otherwise {
            Some(otherwise) => names.after(tested, |names| names.child(otherwise, "else")),
            None if names.covers(self.cases.iter().map(|case| &case.test)) => Shape::of(Kinds::NONE),
            None => Shape::one_of([""]).from(gives.source),
        };
        gives.or(&otherwise)
    }

    fn below(&self, place: ChildSlot) -> Option<Work<'_>> {
        let ChildSlot::Branch { case } = place else { return None };
        match case {
            Some(case) => self.cases.get(index_of(case)?).map(|case| Work::Node(&case.body)),
            None => self.otherwise.as_deref().map(Work::Node),
        }
    }

    fn next(&self, at: &dyn Parts) -> Move {
        match at.plan() {
            Some(Plan::Branch { case }) => only(at, ChildSlot::Branch { case: *case }),
            _ => Move::Owe(EvalPhase::Close),
        }
    }

    fn open(&self, at: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        let (chosen, unknown) = self.choose(&|path| at.value(path));
        if chosen.is_some() || self.otherwise.is_some() {
            return Ok(Opens::Plan(Plan::Branch { case: chosen }));
        }
        let mut result = TaskResult::default();
        warn_of(unknown, &mut result);
        result.notes.other.insert("skipped".to_owned(), Value::Bool(true));
        result.notes.warn("condition", "no condition holds and there is no `else`, so nothing ran here");
        Ok(Opens::Closed(Box::new(result)))
    }

    fn binds(&self, _: &dyn Known, _: ChildSlot) -> Vec<(String, Bound)> {
        Vec::new()
    }

    fn close(&self, at: &dyn Known) -> TaskResult {
        let mut result = only_result(at);
        let scope = at.scope();
        warn_of(self.choose(&|path| scope.value(path)).1, &mut result);
        result
    }
}
