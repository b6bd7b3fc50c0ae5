//! What the machine must know of an operator: each has its rules in a file of its own.

use crate::record::Plan;
use crate::template::{Kind, Node};

use super::{EvalPhase, Move, Place, View, Work};
use super::{call, cond, iterate, map, parallel, reduce, sequence};

/// The rules of one operator.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// What an open task does next. A plan that does not fit its node is a defect of the evaluation; closing it tells so.
    pub(super) next: fn(View<'_>, &Kind, &Plan) -> Move,
    /// The part of the tree at a place below it, but for what is nested in its inputs.
    pub(super) below: for<'t> fn(&'t Kind, &Place) -> Option<Work<'t>>,
    /// Its parts run one after the other, and each may read those before it.
    pub(super) in_order: bool,
    /// Its result is that of its last part.
    pub(super) gives_its_last: bool,
    /// Whether it comes back whole although parts of it failed.
    pub(super) collects: fn(&Kind) -> bool,
}

impl Rules {
    /// Of an operator without parts.
    pub(super) const LEAF: Self = Self {
        next: |_, _, _| Move::Owe(EvalPhase::Close),
        below: |_, _| None,
        in_order: false,
        gives_its_last: false,
        collects: |_| false,
    };

    /// Of the operator of a node.
    pub(super) fn of(kind: &Kind) -> &'static Self {
        match kind {
            Kind::Atomic | Kind::Script { .. } => &Self::LEAF,
            Kind::Sequential { .. } => &sequence::RULES,
            Kind::Reduce { .. } => &reduce::RULES,
            Kind::DirectorEvaluatorLoop { .. } => &iterate::RULES,
            Kind::Map { .. } => &map::RULES,
            Kind::Call { .. } => &call::RULES,
            Kind::Cond { .. } => &cond::RULES,
            Kind::Parallel { .. } => &parallel::RULES,
        }
    }
}

/// One of several nodes, by its number.
pub(super) fn nth(nodes: &[Node], index: u32) -> Option<Work<'_>> {
    nodes.get(super::index_of(index)?).map(Work::Node)
}

/// What the one part of an operator does next.
pub(super) fn only(view: View<'_>, place: Place) -> Move {
    match view.part(place) {
        Ok(_) => Move::Owe(EvalPhase::Close),
        Err(what) => what,
    }
}
