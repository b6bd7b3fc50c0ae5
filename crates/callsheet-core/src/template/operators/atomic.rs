//! `atomic`: one task for a model, with one handler until a reply without tool calls.

use crate::template::bind::Bound;
use crate::template::names::{Seen, Walk};
use crate::template::result::{TaskError, TaskResult};
use crate::template::shape::{Shape, Source};
use crate::template::tree::{Node, Role};

use super::{
    ChildSlot, EvalPhase, Facts, Kind, Known, Leaf, Move, Names, Opening, Opens, Operator, Parts, Rows, Work, Written,
    lost,
};

/// A task for a model. Its node contains what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Atomic;

pub(super) static FACTS: Facts = Facts {
    word: "atomic",
    rows: Rows::Task {
        about: "One model task",
        example: include_str!("examples/atomic.yaml"),
        attributes: &[],
        children: &[],
    },
    read: |_| Some(Kind::Atomic),
    leaf: Some(Leaf::Handler),
    role: Role::ATOMIC,
    part_role: Role::ATOMIC,
    spawned: Role::SUBTASK,
    binds: &[],
    shows_inputs: true,
    looks_up: true,
    splits: true,
    spawns: true,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: false,
    gives_its_last: false,
};

impl Operator for Atomic {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn nodes(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn nodes_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn write(&self, _: &mut dyn Written) {}

    /// The node contains the texts and walks them.
    fn walk(&self, _: &mut Walk<'_>, _: Option<Seen>) -> Shape {
        Shape::any().from(Source::Task)
    }

    fn below(&self, _: ChildSlot) -> Option<Work<'_>> {
        None
    }

    fn next(&self, _: &dyn Parts) -> Move {
        Move::Owe(EvalPhase::Close)
    }

    fn open(&self, at: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        at.handler().map(Opens::Plan)
    }

    fn binds(&self, _: &dyn Known, _: ChildSlot) -> Vec<(String, Bound)> {
        Vec::new()
    }

    /// The evaluator reads the handler's reply itself.
    fn close(&self, _: &dyn Known) -> TaskResult {
        lost()
    }
}
