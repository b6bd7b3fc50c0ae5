//! Facts of the tree: it was adopted, a task of it was evaluated.

use std::sync::Arc;

use crate::record::{Opened, Step, Tree};
use crate::spec::{BlobId, Slug};
use crate::template::Node;

use super::place::slug_of;
use super::{OpState, Place, Reparse, TaskOp, Work};
use crate::run::{Run, Stage, Stopwatch};

impl Run {
    /// The tree is what this run executes; its top task begins.
    pub(in crate::run) fn tree_adopted(&mut self, tree: &Tree) {
        self.operators.tree = Some(Arc::new(tree.clone()));
        self.sheet.adopt_tree();
        self.progress.rounds_mut().begin();
        self.progress.go(Stage::Operate);
        self.open_op(None, Place::Top);
    }

    /// Opens a child; it gathers its nested inputs first.
    pub(in crate::run) fn open_op(&mut self, parent: Option<usize>, place: Place) {
        let Some(tree) = self.operators.tree.clone() else { return };
        let (template, depth) = match parent.and_then(|number| self.operators.at(number)) {
            None => (tree.entry.clone(), 0),
            Some(above) if place == Place::Body => {
                let recorded = above.opened.as_ref().and_then(|opened| opened.called.as_ref());
                let recorded = recorded.map(|template| template.name.clone());
                let called = || self.operators.node(&tree, above).and_then(|node| node.template.clone());
                (recorded.or_else(called).unwrap_or_default(), above.depth)
            }
            Some(above) if place == Place::Match => (tree.matcher.clone().unwrap_or_default(), above.depth),
            Some(above) if place.is_subtask() => (above.template.clone(), above.depth.saturating_add(1)),
            Some(above) => (above.template.clone(), above.depth),
        };
        let number = self.operators.list.len();
        let id = {
            let above = parent.and_then(|number| self.operators.at(number));
            let work = match above.and_then(|above| self.operators.work(&tree, above)) {
                Some(Work::Node(node)) => place.below(node),
                _ => None,
            };
            let word = place.word(work, &template);
            let base = above.map_or_else(|| slug_of(&[&word]), |above| slug_of(&[above.id.as_str(), &word]));
            self.operators.free(base)
        };
        self.operators.numbers.insert(id.clone(), number);
        self.operators.list.push(TaskOp {
            id,
            number,
            parent,
            place,
            template,
            depth,
            state: OpState::Gathering,
            evaluations: 0,
            seeks: None,
            lookups: 0,
            retrieval: None,
            tells_empty_index: false,
            opened: None,
            closed: None,
            children: Vec::new(),
            iteration: 1,
            attempt: 1,
            retried: 0,
            former: false,
            attempts: Vec::new(),
            issues: None,
            reparse: None,
            spent: super::Spent::default(),
            held: 0,
            clock: Stopwatch::default(),
        });
        if let Some(above) = parent.and_then(|number| self.operators.list.get_mut(number)) {
            above.children.push(number);
        }
    }

    /// Pure code looked at a task of the tree.
    pub(in crate::run) fn tree_evaluated(&mut self, task: &Slug, step: &Step) {
        let Some(number) = self.operators.numbers.get(task).copied() else { return };
        match step {
            Step::Opened(opened) => self.op_opened(number, opened),
            Step::Seeks { request } => self.op_seeks(number, request),
            Step::Matches => self.change_op(number, |op| op.state = OpState::Matching),
            Step::GoesOn => self.change_op(number, |op| {
                op.iteration = op.iteration.saturating_add(1);
                op.state = OpState::Open;
            }),
            Step::Again { result, issues } => self.op_again(number, result, issues.clone()),
            Step::Reparse { result, ask } => self.change_op(number, |op| {
                op.reparse = Some(Reparse { first: result.clone(), ask: (**ask).clone(), grown: None });
                op.state = OpState::Open;
            }),
            Step::Regrown { called } => self.change_op(number, |op| {
                if let Some(reparse) = &mut op.reparse {
                    reparse.grown = Some((**called).clone());
                }
                op.state = OpState::Open;
            }),
            Step::Closed(closed) => {
                self.change_op(number, |op| {
                    op.closed = Some(closed.clone());
                    op.state = OpState::Closed;
                });
                self.answer_call(number, closed);
            }
        }
    }

    pub(super) fn change_op(&mut self, number: usize, change: impl FnOnce(&mut TaskOp)) {
        if let Some(op) = self.operators.list.get_mut(number) {
            change(op);
        }
    }

    fn op_opened(&mut self, number: usize, opened: &Opened) {
        self.change_op(number, |op| {
            op.opened = Some(opened.clone());
            op.state = OpState::Open;
        });
        self.list_leaf(number);
    }

    /// Another handler, with a session and counters of its own (spec 15).
    fn op_again(&mut self, number: usize, result: &BlobId, issues: Option<BlobId>) {
        self.change_op(number, |op| {
            op.attempts.push(result.clone());
            op.attempt = op.attempt.saturating_add(1);
            op.issues = issues;
            op.state = OpState::Open;
        });
        self.list_leaf(number);
    }

    /// A leaf becomes a task of the one step there is.
    pub(super) fn list_leaf(&mut self, number: usize) {
        let Some(op) = self.operators.at(number) else { return };
        let node = self.operators.tree().and_then(|tree| self.operators.node(tree, op));
        let Some(mut task) = super::leaf::task(op) else { return };
        if let Some(node) = node {
            super::leaf::limit(&mut task, &node.limits);
        }
        let slug = task.task.slug.clone();
        self.operators.leaves.insert(slug.clone(), number);
        self.tasks.insert(slug.clone(), task);
        self.tasks.list_last(slug);
    }
}

impl super::Operators {
    /// The slug itself, or with a number if it is taken.
    fn free(&self, base: Slug) -> Slug {
        let is_free = |slug: &Slug| !self.numbers.contains_key(slug) && !self.leaves.contains_key(slug);
        if is_free(&base) {
            return base;
        }
        let numbered = (2_u32..).map(|number| slug_of(&[base.as_str(), &number.to_string()]));
        numbered.into_iter().find(|slug| is_free(slug)).unwrap_or(base)
    }

    /// The parts of a node that are operators nested in its inputs and arguments.
    pub(super) fn nested(node: &Node) -> Vec<Place> {
        use crate::template::{ArgumentValue, InputSource, Kind};
        let inputs = (0..).zip(&node.inputs).filter(|(_, input)| matches!(input.source, InputSource::Operator(_)));
        let mut places: Vec<Place> = inputs.map(|(index, _)| Place::Input { index }).collect();
        if let Kind::Call { arguments } = &node.kind {
            let nested = (0..).zip(arguments).filter(|(_, one)| matches!(one.value, ArgumentValue::Operator(_)));
            places.extend(nested.map(|(index, _)| Place::Argument { index }));
        }
        places
    }
}
