//! The operators of a task tree as states of the same run (spec "Templates" 8).
//!
//! A [`NodeInstance`] is one execution of one node of the recorded tree. It gathers nested inputs, opens, runs its
//! children, and closes. Everything that needs a value (binding names, the test of a `cond`, the verdict on a loop,
//! the result) is an *evaluation*: pure code outside the machine, whose outcome is recorded as an event. The machine
//! only decides what comes next, as `template::operators` say: an operator examines its parts and says which of them
//! to open, or which evaluation is outstanding.
//!
//! The work of a leaf is done by a handler or a process. Each is a `TaskRun` like a task of a sheet, so units, slots,
//! gates, limits, tool calls, resume and views are the same code. A leaf owns its runs, one for each attempt.
//! Other tasks have none.
//!
//! The task of a template is evaluated: its names are bound and its result is judged. Its run is worked on: it has slots,
//! calls and changes. They share only a name, an account and the state that people see, so they are two types. What a
//! person or a limit asks of a task is asked by name, whichever of the two has it: `Run::state_of`, `Run::name_of`,
//! `Run::names_around`, `commands::check_redo`, and the ledger.
//!
//! A subtask, which a model asks for at run time, is not a node of the recorded tree. Its template is recorded when
//! the request is opened (`subtask`).

mod check;
mod clocks;
mod edit;
mod fold;
mod items;
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
use crate::record::{Closed, Opened, Plan, Retrieval, Step, Tree};
use crate::template::operators::{ChildSlot, EvalPhase, Move, Part, Parts, Tally, Work};
use crate::template::{Node, ReturnStatus, Template};

use super::state::{State, Stopwatch};
use super::task::TaskRun;

use nodes::Nodes;

pub use edit::EditedTasks;

pub(in crate::run) use check::TreeCheck;
pub(in crate::run) use raise::{continues_with, limit_of, limit_of_error, split as split_limit};
pub(in crate::run) use retry::Redo;
pub(in crate::run) use tree::{TreeQuery, Trees};

pub use items::{FOR_EACH, ITEMS};
pub use subtask::{SPAWN_SUBTASK, SUBTASK_REQUEST};

/// What a tree task does, with the data that it needs for that.
#[derive(Clone, Debug, PartialEq)]
pub enum OpState {
    /// The operators nested in its inputs or arguments are running.
    Gathering,
    /// An evaluation is outstanding.
    Due(EvalPhase),
    /// Its context is being looked up. Then it opens.
    Seeking,
    /// A model is choosing among the files that were found. Then it opens.
    Matching,
    /// Its children, or its leaf, are running.
    Open,
    /// It has returned.
    Closed(Closed),
    /// It has returned, and a person removed it or something that contains it.
    Removed(Closed),
    /// The task that contains it began again without it.
    Former,
}

impl OpState {
    /// What comes after an evaluation. `None` if the evaluation was not outstanding.
    fn after(&self, step: &Step) -> Option<Self> {
        let Self::Due(due) = self else { return None };
        let (of, next) = match step {
            Step::Closed(closed) => return Some(Self::Closed(closed.clone())),
            Step::Opened(_) => (EvalPhase::Open, Self::Open),
            Step::Seeks { .. } => (EvalPhase::Open, Self::Seeking),
            Step::Matches => (EvalPhase::Open, Self::Matching),
            Step::GoesOn | Step::Regrown { .. } => (EvalPhase::Judge, Self::Open),
            Step::Again { .. } | Step::Reparse { .. } => (EvalPhase::Close, Self::Open),
        };
        (*due == of).then_some(next)
    }
}

/// A failed task that a model splits.
#[derive(Clone, Debug, PartialEq)]
pub struct Reparse {
    /// The result of the failed handler, as JSON.
    pub first: BlobId,
    /// The template that asks for the split.
    pub ask: Template,
    /// The template that replaces the task, once the split was checked.
    pub grown: Option<Template>,
}

/// One execution of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeInstance {
    /// Its name in the run. The first run of a leaf has the same name.
    pub id: Slug,
    /// Its number in the order of opening.
    pub number: usize,
    /// The number of its tree.
    pub mount: usize,
    /// The number of the task that opened it. `None` for the top task.
    pub parent: Option<usize>,
    /// Its place in the task that opened it.
    pub place: ChildSlot,
    /// The template that its node belongs to, by the name that calls use.
    pub template: String,
    /// The nesting depth of subtasks. 0 for the top task.
    pub depth: u32,
    /// What it does.
    pub phase: OpState,
    /// The number of evaluations so far.
    pub evaluations: u32,
    /// The lookup that is outstanding for it, if there is one.
    pub seeks: Option<BlobId>,
    /// The number of lookups so far, over the whole log.
    pub lookups: u32,
    /// What was found for it.
    pub retrieval: Option<Retrieval>,
    /// Whether it is the first task of the run that found the index empty.
    pub tells_empty_index: bool,
    /// The result of opening it.
    pub opened: Option<Opened>,
    /// The numbers of its children, in the order in which they were opened.
    pub children: Vec<usize>,
    /// How many of its children are in which state, without those nested in its inputs.
    pub tally: Tally,
    /// For a loop: the iteration, from 1.
    pub iteration: u32,
    /// The numbers of the handlers or processes that have done its work so far (spec 15).
    pub(in crate::run) runs: Vec<usize>,
    /// The number of these before a person last had it repeated.
    pub(in crate::run) retried: usize,
    /// Whether its limit was raised, so that a repetition continues after its last part.
    pub continues: bool,
    /// Whether a person last had it repeated. Calls of it and below it then reuse no earlier reply.
    pub asked_anew: bool,
    /// What a person said about its former result when they had it repeated. May be empty.
    pub because: String,
    /// The results of failed attempts, as JSON.
    pub attempts: Vec<BlobId>,
    /// What the next handler is told about the last error.
    pub issues: Option<BlobId>,
    /// The split of its failed task by a model (spec 11).
    pub reparse: Option<Box<Reparse>>,
    /// Whether it has limits of its own, which the tasks below it use up.
    pub limited: bool,
    /// The time during which a leaf of it had a slot.
    pub clock: Stopwatch,
}

impl NodeInstance {
    /// The number of the handler or process that currently does its work, if it is a leaf.
    pub(in crate::run) fn leaf(&self) -> Option<usize> {
        self.runs.last().copied().filter(|_| self.is_leaf())
    }

    /// Whether a handler or a process does its work.
    pub fn is_leaf(&self) -> bool {
        let plan = self.opened.as_ref().map(|opened| &opened.plan);
        matches!(plan, Some(Plan::Handler(_) | Plan::Process { .. }))
    }

    /// The number of its handlers since a person last had it repeated (spec 15).
    pub fn tries(&self) -> u32 {
        u32::try_from(self.runs.len().saturating_sub(self.retried)).unwrap_or(u32::MAX)
    }

    /// The handler or process with this number, from 1.
    fn run(&self, attempt: u32) -> Option<usize> {
        self.runs.get(index_of(attempt.checked_sub(1)?)?).copied()
    }

    /// Whether a person has replaced or removed what one of its handlers or processes did.
    pub(in crate::run) fn is_replaced(&self, run: usize) -> bool {
        self.state() == State::Dropped || self.runs.iter().take(self.retried).any(|known| *known == run)
    }

    /// Numbers of its children without those that are nested in its inputs, which are opened before it.
    pub fn parts(&self) -> &[usize] {
        let nested = self.children.len().saturating_sub(self.tally.opened);
        self.children.get(nested..).unwrap_or_default()
    }

    /// Its state, by the names of spec 2.10.
    pub fn state(&self) -> State {
        match &self.phase {
            OpState::Gathering => State::Waiting,
            OpState::Due(EvalPhase::Open) | OpState::Seeking | OpState::Matching => State::Refining,
            OpState::Due(EvalPhase::Judge | EvalPhase::Close) | OpState::Open => State::Running,
            OpState::Closed(closed) if closed.status == ReturnStatus::Failed => State::Failed,
            OpState::Closed(_) => State::Done,
            OpState::Removed(_) | OpState::Former => State::Dropped,
        }
    }

    /// How it returned.
    pub fn closed(&self) -> Option<&Closed> {
        match &self.phase {
            OpState::Closed(closed) | OpState::Removed(closed) => Some(closed),
            _ => None,
        }
    }

    /// Whether it has returned.
    pub fn is_closed(&self) -> bool {
        self.closed().is_some()
    }

    /// Whether it returned without success and counts.
    pub fn failed(&self) -> bool {
        self.state() == State::Failed
    }

    /// Whether its failure ends every task above it.
    pub fn is_fatal(&self) -> bool {
        matches!(&self.phase, OpState::Closed(closed) if closed.fatal)
    }

    /// Whether the task that contains it began again without it.
    pub fn is_former(&self) -> bool {
        self.phase == OpState::Former
    }
}

/// The call of a template for which a tree is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The task that made the call.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The id of the call.
    pub call: String,
}

/// A tree that is executed.
#[derive(Clone, Debug, PartialEq)]
struct Mount {
    tree: Arc<Tree>,
    /// The number of its top task.
    top: usize,
    /// The call for which it is executed. `None` if the run is of that template.
    caller: Option<Caller>,
    /// The limits that a person raised, in order.
    raised: Vec<raise::Raised>,
}

/// The recorded trees and their opened nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operators {
    mounts: Vec<Mount>,
    list: Nodes,
    /// The numbers of tasks by their names and by those of their handlers and processes.
    numbers: BTreeMap<Slug, usize>,
    /// Whether a person was told that the index is empty.
    empty_index_told: bool,
    /// Whether a person had anything repeated.
    retries: bool,
}

impl Operators {
    /// The tree of a template run. `None` for a run of a sheet, whatever its tasks call.
    pub fn tree(&self) -> Option<&Arc<Tree>> {
        self.mounts.first().filter(|mount| mount.caller.is_none()).map(|mount| &mount.tree)
    }

    /// The tree to which a task belongs.
    pub fn tree_of(&self, op: &NodeInstance) -> Option<&Arc<Tree>> {
        self.mounts.get(op.mount).map(|mount| &mount.tree)
    }

    /// All trees.
    pub fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.mounts.iter().map(|mount| &mount.tree)
    }

    /// The call for which a tree is executed, by the number of the tree.
    pub fn caller(&self, mount: usize) -> Option<&Caller> {
        self.mounts.get(mount)?.caller.as_ref()
    }

    /// The call for which the tree of a task is executed.
    pub fn caller_of(&self, part: usize) -> Option<&Caller> {
        self.caller(self.at(part)?.mount)
    }

    /// The top task of a tree, by the number of the tree.
    pub fn top_of(&self, mount: usize) -> Option<&NodeInstance> {
        self.list.get(self.mounts.get(mount)?.top)
    }

    /// The tree tasks in the order in which they were opened, without those that no longer count.
    pub fn iter(&self) -> impl Iterator<Item = &NodeInstance> {
        self.list.iter().filter(|op| !op.is_former())
    }

    /// The tree tasks that were opened and have not returned.
    pub(super) fn open(&self) -> impl Iterator<Item = &NodeInstance> {
        self.list.open()
    }

    /// The tree task with this number.
    pub fn at(&self, number: usize) -> Option<&NodeInstance> {
        self.list.get(number)
    }

    /// The tree task with this name, or whose handler or process has this name.
    pub fn get(&self, id: &Slug) -> Option<&NodeInstance> {
        self.list.get(*self.numbers.get(id)?)
    }

    /// The tree task whose work a handler or process does.
    pub fn of(&self, run: &TaskRun) -> Option<&NodeInstance> {
        self.list.get(run.part?)
    }

    /// Marks every task of every tree for examination.
    pub(super) fn look_again(&mut self) {
        self.list.touch_all();
    }

    /// Whether the run ever executed a tree.
    pub(super) fn has_any(&self) -> bool {
        !self.mounts.is_empty()
    }

    /// Whether a tree has tasks that have not returned.
    pub(super) fn are_at_work(&self) -> bool {
        self.list.tops().next().is_some()
    }

    /// Tasks with limits of their own that have not come back.
    pub(super) fn limited(&self) -> impl Iterator<Item = &NodeInstance> {
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

    /// Whether two tasks are the same, or leaves at one place of a tree: successive handlers or processes, or those of a
    /// part that began again.
    pub(super) fn are_of_one_place(&self, one: &Slug, other: &Slug) -> bool {
        if one == other {
            return true;
        }
        let Some((one, other)) = self.get(one).zip(self.get(other)) else { return false };
        let caller = |op: &NodeInstance| self.caller(op.mount).map(|caller| &caller.task);
        caller(one) == caller(other)
            && self.ancestry(one).map(|op| &op.place).eq(self.ancestry(other).map(|op| &op.place))
    }

    /// The top task of a template run.
    pub fn top(&self) -> Option<&NodeInstance> {
        self.list.get(0).filter(|_| self.tree().is_some())
    }

    /// A tree task and the tasks that opened it, from the inside out.
    pub fn ancestry<'a>(&'a self, op: &'a NodeInstance) -> impl Iterator<Item = &'a NodeInstance> {
        std::iter::successors(Some(op), |op| self.at(op.parent?))
    }

    /// The children of a tree task, in the order in which they were opened.
    pub fn children<'a>(&'a self, op: &'a NodeInstance) -> impl Iterator<Item = &'a NodeInstance> {
        op.children.iter().filter_map(|number| self.at(*number))
    }

    /// The children that are not nested in its inputs, as its operator sees them.
    pub fn parts(&self, op: &NodeInstance) -> Vec<Part> {
        self.children(op).filter(|child| !child.place.is_nested()).map(NodeInstance::as_part).collect()
    }

    /// The tree task that took the place of one that no longer counts.
    pub(in crate::run) fn present<'a>(&'a self, op: &'a NodeInstance) -> Option<&'a NodeInstance> {
        if !op.is_former() {
            return Some(op);
        }
        let above = self.present(self.at(op.parent?)?)?;
        self.child(above, op.place)
    }

    /// The child at a place.
    pub fn child<'a>(&'a self, op: &'a NodeInstance, place: ChildSlot) -> Option<&'a NodeInstance> {
        // Callers mostly ask for the last child.
        op.children.iter().rev().filter_map(|number| self.at(*number)).find(|child| child.place == place)
    }

    /// Whether it failed by itself, so that no part failed before: its own result does not fit, or it was refused.
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
        op.failed() && !op.is_leaf() && !by_parts && !nested.any(NodeInstance::failed)
    }

    /// Whether two tasks execute the same node, and so do the tasks that contain them, for the same call.
    pub(super) fn are_of_one_node(&self, one: &NodeInstance, other: &NodeInstance) -> bool {
        let same = |one: &NodeInstance, other: &NodeInstance| {
            let works = self.work(one).zip(self.work(other)).filter(|_| one.mount == other.mount);
            one.number == other.number || works.is_some_and(|(one, other)| one.is_the_same_as(other))
        };
        let mut pairs = Some((one, other));
        while let Some((one, other)) = pairs.filter(|(one, other)| same(one, other)) {
            let above = |op: &NodeInstance| op.parent.and_then(|parent| self.at(parent));
            pairs = match (above(one), above(other)) {
                (None, None) => return true,
                (Some(one), Some(other)) => Some((one, other)),
                _ => None,
            };
        }
        false
    }

    /// Its place in the recorded tree. `None` for a subtask, which has no node of its own, only a body. `None` for
    /// any other task is a defect.
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

    /// Its node. `None` for the script of a loop.
    pub fn node(&self, op: &NodeInstance) -> Option<&Node> {
        match self.work(op)? {
            Work::Node(node) => Some(node),
            Work::Script(_) => None,
        }
    }
}

/// An open task, as its operator sees it.
#[derive(Clone, Copy)]
struct View<'a> {
    operators: &'a Operators,
    op: &'a NodeInstance,
    /// Says whether a tool writes.
    writes: &'a dyn Fn(&str) -> bool,
}

impl NodeInstance {
    /// The task as its parent's operator sees it.
    pub fn as_part(&self) -> Part {
        Part {
            number: self.number,
            place: self.place,
            closed: self.is_closed(),
            failed: self.failed(),
            fatal: self.is_fatal(),
            removed: matches!(self.phase, OpState::Removed(_)),
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

/// The next move of an open task: it waits for its leaf, or does what its operator says.
fn next(view: &View<'_>, node: &Node, opened: &Opened) -> Move {
    match &opened.plan {
        Plan::Handler(_) | Plan::Process { .. } => Move::Wait,
        Plan::Children | Plan::Items { .. } | Plan::Branch { .. } => node.kind.operator().next(view),
    }
}

/// The next move of a task with one part.
fn only(view: &View<'_>, place: ChildSlot) -> Move {
    match view.after(place) {
        Ok(_) => Move::Owe(EvalPhase::Close),
        Err(what) => what,
    }
}

fn index_of(index: u32) -> Option<usize> {
    usize::try_from(index).ok()
}
