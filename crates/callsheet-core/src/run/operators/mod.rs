//! Operators of a task tree as states of the same run (spec "Templates" 8).
//!
//! A [`NodeInstance`] is one execution of one node of the recorded tree: it gathers nested inputs, is opened, goes through
//! its children, and is closed. Whatever needs a value (binding names, the test of a `cond`, the verdict on a loop,
//! the result) is an *evaluation*: pure code outside of the machine whose outcome is a fact. The machine itself only
//! decides what comes next, as `template::operators` say: an operator looks at its parts and says which of them to open, or
//! which evaluation is outstanding.
//!
//! A leaf (a handler or a process) is a `TaskRun` like a task of a sheet, so units, slots, gates, limits, tool calls,
//! resume and views are the same code.
//!
//! What a model asks for at run time, a subtask, is no node of the recorded tree: the template that runs is recorded when
//! the request is opened (`subtask`).

mod check;
mod clocks;
mod fold;
mod leaf;
mod nodes;
mod raise;
mod reopen;
mod reparse;
mod retry;
mod seek;
mod settle;
mod slugs;
mod subtask;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::nouns::{BlobId, ExecutionId, Slug};
use crate::record::{Closed, Opened, Plan, Retrieval, Tree};
use crate::template::operators::{ChildSlot, EvalPhase, Move, Part, Parts, Tally, Work};
use crate::template::{Node, Template};

use super::state::Stopwatch;

use nodes::Nodes;

pub(in crate::run) use check::TreeCheck;
pub(in crate::run) use raise::{limit_of, limit_of_error, split as split_limit};
pub(in crate::run) use tree::{TreeQuery, Trees};

pub use subtask::{SPAWN_SUBTASK, SUBTASK_REQUEST};

/// Where a task of the tree stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpState {
    /// Operators nested in its inputs or arguments run.
    Gathering,
    /// An evaluation is outstanding.
    Due(EvalPhase),
    /// Its context is looked up; then it is opened.
    Seeking,
    /// A model chooses among the files that were found; then it is opened.
    Matching,
    /// Its children, or its leaf, run.
    Open,
    /// It has come back.
    Closed,
}

/// A failed task that a model splits.
#[derive(Clone, Debug, PartialEq)]
pub struct Reparse {
    /// The result of the failed handler, as JSON.
    pub first: BlobId,
    /// Asks for the split.
    pub ask: Template,
    /// What runs in its place, once the split was checked.
    pub grown: Option<Template>,
}

/// One execution of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInstance {
    /// Its name in the run; a leaf's first `TaskRun` has the same.
    pub id: Slug,
    /// Its place in the order of opening.
    pub number: usize,
    /// The tree it is of, by number.
    pub mount: usize,
    /// What opened it, by number; `None`: the top task.
    pub parent: Option<usize>,
    /// As what.
    pub place: ChildSlot,
    /// The template its node belongs to, by the name that calls use.
    pub template: String,
    /// Nesting of subtasks; the top task has 0.
    pub depth: u32,
    /// Where it stands.
    pub state: OpState,
    /// Evaluations so far.
    pub evaluations: u32,
    /// What is looked up for it.
    pub seeks: Option<BlobId>,
    /// Lookups so far, over the whole log.
    pub lookups: u32,
    /// What was found for it.
    pub retrieval: Option<Retrieval>,
    /// It is the first of the run that found the index empty.
    pub tells_empty_index: bool,
    /// What it became when it was opened.
    pub opened: Option<Opened>,
    /// How it came back.
    pub closed: Option<Closed>,
    /// Children by number, in the order they were opened.
    pub children: Vec<usize>,
    /// How many of them, without those nested in its inputs, stand where.
    pub tally: Tally,
    /// Of a loop: the iteration, from 1.
    pub iteration: u32,
    /// Handlers so far (spec 15).
    pub attempt: u32,
    /// Handlers before a person had it done again last.
    pub retried: u32,
    /// What it is part of begins anew without it.
    pub former: bool,
    /// Its limit was raised: if it is done again, it continues behind its last part.
    pub continues: bool,
    /// A person had it done again last: no call of it or below it has the reply of an earlier call.
    pub asked_anew: bool,
    /// Results of failed attempts, as JSON.
    pub attempts: Vec<BlobId>,
    /// What the next handler is told of the last error.
    pub issues: Option<BlobId>,
    /// Its failed task is split by a model (spec 11).
    pub reparse: Option<Box<Reparse>>,
    /// It has limits of its own that what is below it spends.
    pub limited: bool,
    /// Time in which something of it held a slot.
    pub clock: Stopwatch,
}

impl NodeInstance {
    /// The task that does its work now, if it is a leaf.
    pub fn leaf(&self) -> Option<Slug> {
        let leaf = matches!(self.opened.as_ref()?.plan, Plan::Handler(_) | Plan::Process { .. });
        leaf.then(|| leaf::slug(&self.id, self.attempt))
    }

    /// Whether a person had done again what a leaf of its did.
    pub fn is_replaced(&self, leaf: &Slug) -> bool {
        self.former || (1..=self.retried).any(|attempt| leaf::slug(&self.id, attempt) == *leaf)
    }

    /// Numbers of its children without those that are nested in its inputs, which are opened before it.
    pub fn parts(&self) -> &[usize] {
        let nested = self.children.len().saturating_sub(self.tally.opened);
        self.children.get(nested..).unwrap_or_default()
    }

    /// It came back and is no success.
    pub fn failed(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.status == crate::template::ReturnStatus::Failed)
    }
}

/// The call of a template that a tree is executed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The task that made it.
    pub task: Slug,
    /// Execution run.
    pub run: ExecutionId,
    /// Id of the call.
    pub call: String,
}

/// A tree that is executed.
#[derive(Clone, Debug, PartialEq)]
struct Mount {
    tree: Arc<Tree>,
    /// Its top task, by number.
    top: usize,
    /// For whom; `None`: the run is of that template.
    caller: Option<Caller>,
}

/// The recorded trees and what was opened of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operators {
    mounts: Vec<Mount>,
    list: Nodes,
    numbers: BTreeMap<Slug, usize>,
    /// Leaves by their tasks.
    leaves: BTreeMap<Slug, usize>,
    /// Somebody was told that the index is empty.
    empty_index_told: bool,
    /// A person had something done again.
    retries: bool,
}

impl Operators {
    /// The tree of a run of a template; `None` for a run of a sheet, whatever its tasks call.
    pub fn tree(&self) -> Option<&Arc<Tree>> {
        self.mounts.first().filter(|mount| mount.caller.is_none()).map(|mount| &mount.tree)
    }

    /// The tree that a task is of.
    pub fn tree_of(&self, op: &NodeInstance) -> Option<&Arc<Tree>> {
        self.mounts.get(op.mount).map(|mount| &mount.tree)
    }

    /// All trees.
    pub fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.mounts.iter().map(|mount| &mount.tree)
    }

    /// The call that a tree is executed for, by its number.
    pub fn caller(&self, mount: usize) -> Option<&Caller> {
        self.mounts.get(mount)?.caller.as_ref()
    }

    /// The top task of a tree, by its number.
    pub fn top_of(&self, mount: usize) -> Option<&NodeInstance> {
        self.list.get(self.mounts.get(mount)?.top)
    }

    /// In the order they were opened, without those that count no more.
    pub fn iter(&self) -> impl Iterator<Item = &NodeInstance> {
        self.list.iter().filter(|op| !op.former)
    }

    /// Those that were opened and have not come back.
    pub(super) fn open(&self) -> impl Iterator<Item = &NodeInstance> {
        self.list.open()
    }

    /// By number.
    pub fn at(&self, number: usize) -> Option<&NodeInstance> {
        self.list.get(number)
    }

    /// By name.
    pub fn get(&self, id: &Slug) -> Option<&NodeInstance> {
        self.list.get(*self.numbers.get(id)?)
    }

    /// The one whose leaf a task is.
    pub fn of_leaf(&self, task: &Slug) -> Option<&NodeInstance> {
        self.list.get(*self.leaves.get(task)?)
    }

    /// By its name or that of its handler.
    pub(super) fn named(&self, slug: &Slug) -> Option<&NodeInstance> {
        self.get(slug).or_else(|| self.of_leaf(slug))
    }

    /// Every task of every tree is looked at again.
    pub(super) fn look_again(&mut self) {
        self.list.touch_all();
    }

    /// Whether a tree was ever executed here.
    pub(super) fn has_any(&self) -> bool {
        !self.mounts.is_empty()
    }

    /// Tasks of a tree that has not come back.
    pub(super) fn are_at_work(&self) -> bool {
        self.list.tops().next().is_some()
    }

    /// Tasks with limits of their own that have not come back, by number.
    pub(super) fn limited(&self) -> impl Iterator<Item = usize> {
        self.list.limited()
    }

    /// Callers of the trees that have not come back.
    pub(super) fn callers(&self) -> impl Iterator<Item = &Caller> {
        self.list.tops().filter_map(|top| self.caller(top.mount))
    }

    /// Of these accounts nothing is left now. True if it was otherwise at the last look.
    pub(super) fn note_spent(&mut self, spent: BTreeSet<usize>) -> bool {
        self.list.note_spent(spent)
    }

    /// Whether two tasks are leaves of one place in what runs: handlers or processes one after another, or those of a part
    /// that began anew.
    pub(super) fn are_of_one_place(&self, one: &Slug, other: &Slug) -> bool {
        let Some((one, other)) = self.of_leaf(one).zip(self.of_leaf(other)) else { return false };
        let caller = |op: &NodeInstance| self.caller(op.mount).map(|caller| &caller.task);
        caller(one) == caller(other)
            && self.ancestry(one).map(|op| &op.place).eq(self.ancestry(other).map(|op| &op.place))
    }

    /// The top task of a run of a template.
    pub fn top(&self) -> Option<&NodeInstance> {
        self.list.get(0).filter(|_| self.tree().is_some())
    }

    /// It and everything that opened it, from the inside out.
    pub fn ancestry<'a>(&'a self, op: &'a NodeInstance) -> impl Iterator<Item = &'a NodeInstance> {
        std::iter::successors(Some(op), |op| self.at(op.parent?))
    }

    /// Its children in the order they were opened.
    pub fn children<'a>(&'a self, op: &'a NodeInstance) -> impl Iterator<Item = &'a NodeInstance> {
        op.children.iter().filter_map(|number| self.at(*number))
    }

    /// Those that are not nested in its inputs, as its operator is told of them.
    pub fn parts(&self, op: &NodeInstance) -> Vec<Part> {
        self.children(op).filter(|child| !child.place.is_nested()).map(NodeInstance::as_part).collect()
    }

    /// Its child at a place.
    pub fn child<'a>(&'a self, op: &'a NodeInstance, place: ChildSlot) -> Option<&'a NodeInstance> {
        // Who asks mostly asks for the last.
        op.children.iter().rev().filter_map(|number| self.at(*number)).find(|child| child.place == place)
    }

    /// It failed, and no task or part that it is made of did so before: what it gave does not fit, or it was refused.
    pub fn failed_by_itself(&self, op: &NodeInstance) -> bool {
        let node = self.node(op);
        let collects = node.is_some_and(|node| node.kind.operator().collects());
        let mut nested = self.children(op).filter(|child| child.place.is_nested());
        let mut parts = self.children(op).filter(|child| !child.place.is_nested()).peekable();
        let by_parts = if collects {
            parts.peek().is_some() && parts.all(NodeInstance::failed)
        } else {
            parts.any(NodeInstance::failed)
        };
        op.failed() && op.leaf().is_none() && !by_parts && !nested.any(NodeInstance::failed)
    }

    /// Its place in the recorded tree. `None` for a subtask, which has no node of its own, only a body; otherwise for a
    /// recorded tree that does not hold it, which is a defect.
    pub fn work(&self, op: &NodeInstance) -> Option<Work<'_>> {
        let tree = self.tree_of(op)?;
        let Some(parent) = op.parent.and_then(|number| self.at(number)) else {
            return Some(Work::Node(&tree.templates.get(&tree.entry)?.body));
        };
        if op.place == ChildSlot::Body {
            let called = parent.opened.as_ref().and_then(|opened| opened.called.as_deref());
            return Some(Work::Node(&called.or_else(|| tree.templates.get(&op.template))?.body));
        }
        if op.place == ChildSlot::Match {
            return Some(Work::Node(&tree.templates.get(tree.matcher.as_ref()?)?.body));
        }
        match (&op.place, &parent.reparse) {
            (ChildSlot::Split, Some(reparse)) => return Some(Work::Node(&reparse.ask.body)),
            (ChildSlot::Regrown, Some(reparse)) => return Some(Work::Node(&reparse.grown.as_ref()?.body)),
            _ => {}
        }
        match self.work(parent)? {
            Work::Node(node) => op.place.below(node),
            Work::Script(_) => None,
        }
    }

    /// Its node; `None` for the script of a loop.
    pub fn node(&self, op: &NodeInstance) -> Option<&Node> {
        match self.work(op)? {
            Work::Node(node) => Some(node),
            Work::Script(_) => None,
        }
    }
}

/// An open task, as its operator is told of it.
#[derive(Clone, Copy)]
struct View<'a> {
    operators: &'a Operators,
    op: &'a NodeInstance,
    /// Whether a tool writes.
    writes: &'a dyn Fn(&str) -> bool,
}

impl NodeInstance {
    /// What its parent's operator is told of it.
    pub fn as_part(&self) -> Part {
        Part {
            number: self.number,
            place: self.place,
            closed: self.closed.is_some(),
            failed: self.failed(),
            fatal: self.closed.as_ref().is_some_and(|closed| closed.fatal),
        }
    }
}

impl Parts for View<'_> {
    fn plan(&self) -> Option<&Plan> {
        self.op.opened.as_ref().map(|opened| &opened.plan)
    }

    fn iteration(&self) -> u32 {
        self.op.iteration
    }

    fn parts(&self) -> Vec<Part> {
        self.operators.parts(self.op)
    }

    fn tally(&self) -> Tally {
        self.op.tally
    }

    fn part(&self, place: ChildSlot) -> Option<Part> {
        self.operators.child(self.op, place).map(NodeInstance::as_part)
    }

    fn writes(&self, tool: &str) -> bool {
        (self.writes)(tool)
    }
}

/// What an open task does next: it waits for its leaf, or does what its operator says.
fn next(view: &View<'_>, node: &Node, opened: &Opened) -> Move {
    match &opened.plan {
        Plan::Handler(_) | Plan::Process { .. } => Move::Wait,
        Plan::Children | Plan::Items { .. } | Plan::Branch { .. } => node.kind.operator().next(view),
    }
}

/// What a task with one part does next.
fn only(view: &View<'_>, place: ChildSlot) -> Move {
    match view.after(place) {
        Ok(_) => Move::Owe(EvalPhase::Close),
        Err(what) => what,
    }
}

fn index_of(index: u32) -> Option<usize> {
    usize::try_from(index).ok()
}
