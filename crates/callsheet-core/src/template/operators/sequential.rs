//! `sequential`: runs its steps in order, one after the other.

use serde::{Deserialize, Serialize};

use crate::template::bind::{Bound, Datum};
use crate::template::form::{Child, Content, Element, ON_ERROR};
use crate::template::names::{Seen, Walk};
use crate::template::result::details::partial_result;
use crate::template::result::{Details, PartialResult, TaskError, TaskResult};
use crate::template::shape::Shape;
use crate::template::tree::{InheritContext, Node, Role};

use super::place::nth;
use super::{
    ChildSlot, EvalPhase, Facts, Gave, Given, Kind, Known, Move, Names, OnError, Opening, Opens, Operator, Parts, Plan,
    Rows, Tally, Work, Written, with_error,
};

/// Runs its steps in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sequential {
    /// The steps, each with an id.
    pub steps: Vec<Node>,
    /// What happens when one fails.
    pub on_error: OnError,
}

static STEPS: Element = Element::new("steps", &[], &[], Content::Operators);

const ROLE: Role = Role::new("sequential", InheritContext::Full, true, false);

pub(super) static FACTS: Facts = Facts {
    word: "sequential",
    rows: Rows::Task {
        about: "Steps in order",
        example: include_str!("examples/sequential.yaml"),
        attributes: &[ON_ERROR],
        children: &[Child::new(&STEPS).required()],
    },
    read: |given| Some(Kind::Sequential(read(given))),
    leaf: None,
    role: ROLE,
    part_role: Role::ATOMIC,
    spawned: ROLE,
    binds: &["steps", "step_results", "previous_result", "output"],
    shows_inputs: false,
    looks_up: true,
    splits: true,
    spawns: true,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: true,
    gives_its_last: true,
};

/// The names of the results of all steps so far, and those of the last one.
const ALL: [&str; 2] = ["steps", "step_results"];
const LAST: [&str; 2] = ["previous_result", "output"];

/// Reports those of the steps that only ask models and that no name reads. A step with a tool or a command may be there
/// for what it does.
fn unread(steps: &[&Node], names: &mut Walk<'_>) {
    let asks = |node: &&Node| {
        let tools = !node.kind.is_atomic() || node.tools.as_ref().is_some_and(Vec::is_empty);
        tools && node.template.is_none() && node.kind.operator().script().is_none()
    };
    for step in steps.iter().filter(|step| !step.kind.facts().lends_ids && step.walk().iter().all(asks)) {
        if let Some(id) = step.id.as_deref().filter(|id| !names.uses(&format!("steps.{id}"))) {
            names.unread(id, step.origin.spot);
        }
    }
}

fn read(given: &mut dyn Given) -> Sequential {
    Sequential { steps: given.steps(Some("steps")), on_error: OnError::read(given) }
}

impl Operator for Sequential {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        self.steps.iter().collect()
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        self.steps.iter_mut().collect()
    }

    fn steps(&self) -> Option<&[Node]> {
        Some(&self.steps)
    }

    fn steps_mut(&mut self) -> Option<&mut Vec<Node>> {
        Some(&mut self.steps)
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        vec![self.on_error.attribute()]
    }

    fn write(&self, to: &mut dyn Written) {
        to.steps(Some("steps"), &self.steps);
    }

    fn walk(&self, names: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        let collects = self.on_error == OnError::Collect;
        ALL.iter().for_each(|name| names.bind(name, Seen::result(Shape::unknown())));
        names.names_steps(&self.steps, true);
        let mut last = Shape::unknown();
        let mut unnamed: Vec<&Node> = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            last = names.child(step, step.kind.word());
            let before = number.checked_sub(1).and_then(|before| self.steps.get(before));
            unnamed.extend(before.filter(|_| !LAST.iter().any(|name| names.uses(name))));
            let output = names.result_of(step, collects);
            LAST.iter().for_each(|name| names.bind(name, output.clone()));
            names.bind_ids(step, collects);
        }
        names.names_steps(&self.steps, false);
        if !names.reads_all() && !ALL.iter().any(|name| names.uses(name)) {
            unread(&unnamed, names);
        }
        last
    }

    fn below(&self, place: ChildSlot) -> Option<Work<'_>> {
        let ChildSlot::Child { index } = place else { return None };
        nth(&self.steps, index)
    }

    fn next(&self, at: &dyn Parts) -> Move {
        let holds_writer = |step: &Node| step.walk().iter().any(|node| node.requires_approval(&|tool| at.writes(tool)));
        // Each step is opened when the one before it came back.
        let Tally { opened, closed, failed, fatal } = at.tally();
        let Some(step) = self.steps.get(opened).filter(|_| opened == closed) else {
            return if opened > closed { Move::Wait } else { Move::Owe(EvalPhase::Close) };
        };
        // With `collect` later steps still run up to the next one that holds a writer.
        let stops = fatal > 0 || failed > 0 && (self.on_error == OnError::Fail || holds_writer(step));
        match u32::try_from(opened) {
            Ok(index) if !stops => Move::Open(vec![ChildSlot::Child { index }]),
            _ => Move::Owe(EvalPhase::Close),
        }
    }

    fn open(&self, _: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        Ok(Opens::Plan(Plan::Children))
    }

    /// The results of the steps before a step.
    fn binds(&self, at: &dyn Known, place: ChildSlot) -> Vec<(String, Bound)> {
        let ChildSlot::Child { index: before } = place else { return Vec::new() };
        let Gave { results, by_id, trust } = at.gave_before(before);
        let last = results.last().cloned();
        let mut names = vec![
            ("steps".to_owned(), Bound { datum: Datum::Map(by_id), trust }),
            ("step_results".to_owned(), Bound { datum: Datum::List(results), trust }),
        ];
        if let Some(last) = last {
            names.push(("previous_result".to_owned(), last.clone()));
            names.push(("output".to_owned(), last));
        }
        names
    }

    fn tells(&self, part: ChildSlot, to: ChildSlot) -> bool {
        matches!((part, to), (ChildSlot::Child { index: before }, ChildSlot::Child { index }) if before < index)
    }

    fn close(&self, at: &dyn Known) -> TaskResult {
        let steps = at.parts();
        let failing = steps.iter().position(|step| step.failed);
        let mut result = match (failing, steps.last()) {
            (None, Some(last)) => (*at.result(last)).clone(),
            (None, None) => TaskResult::default(),
            (Some(index), _) => {
                let whole = steps.iter().enumerate().filter(|(_, step)| !step.failed);
                let partial = whole
                    .map(|(index, step)| PartialResult { step_index: Some(index), ..partial_result(&at.result(step)) });
                let more = Details {
                    failed_step: Some(index),
                    total_steps: Some(self.steps.len()),
                    partial_results: Some(partial.collect()),
                    ..Details::default()
                };
                with_error(at, steps.get(index), more)
            }
        };
        result.notes.other.insert("step_results".to_owned(), at.steps_told());
        result
    }
}
