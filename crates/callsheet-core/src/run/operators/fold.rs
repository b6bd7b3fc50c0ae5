//! Applies events of trees: a tree was adopted, a task of a tree was evaluated.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::nouns::{BlobId, ExecutionId, Slug};
use crate::record::{Step, Tree};
use crate::template::operators::{ChildSlot, Tally, Work};
use crate::template::{InputSource, Node};

use super::items;
use super::slugs::{below_caller, extended, slug_of};
use super::tree::Trees;
use super::{Caller, Mount, NodeInstance, OpState, Reparse};
use crate::run::ledger::Holder;
use crate::run::{CallReuse, Stage, Stopwatch};

impl Trees<'_> {
    /// Adopts the tree that this run executes and opens its top task.
    pub fn adopt(&mut self, tree: &Tree) {
        self.0.sheet.adopt_tree();
        self.0.progress.rounds_mut().begin();
        self.0.progress.go(Stage::Operate);
        self.mount(tree.clone(), None);
    }

    /// Starts to execute a tree, for a call or as the run itself. Returns its number.
    pub fn mount(&mut self, tree: Tree, caller: Option<Caller>) -> usize {
        let number = self.0.operators.mounts.len();
        let top = self.0.operators.list.len();
        let of_caller = caller.as_ref().and_then(|caller| self.0.tasks.get(&caller.task)).map(|caller| caller.reuse);
        self.0.operators.mounts.push(Mount { tree: Arc::new(tree), top, caller, raised: Vec::new() });
        self.open_op(number, None, ChildSlot::Top);
        // A person had the whole task repeated, so nothing below it takes an earlier reply.
        if of_caller == Some(CallReuse::Forbidden) {
            self.change_op(top, |op| op.asked_anew = true);
        }
        number
    }

    /// Opens a task of a tree. It gathers its nested inputs first.
    pub(super) fn open_op(&mut self, mount: usize, parent: Option<usize>, place: ChildSlot) {
        let Some(Mount { tree, caller, .. }) = self.0.operators.mounts.get(mount).cloned() else { return };
        let (template, depth) = match parent.and_then(|number| self.0.operators.at(number)) {
            None => (tree.entry.clone(), 0),
            Some(above) if place == ChildSlot::Body => {
                let recorded = above.opened.as_ref().and_then(|opened| opened.called.as_ref());
                let recorded = recorded.map(|template| template.name.clone());
                let called = || self.0.operators.node(above).and_then(|node| node.template.clone());
                (recorded.or_else(called).unwrap_or_default(), above.depth)
            }
            Some(above) if place == ChildSlot::Match => (tree.matcher.clone().unwrap_or_default(), above.depth),
            Some(above) if place.is_subtask() => (above.template.clone(), above.depth.saturating_add(1)),
            Some(above) => (above.template.clone(), above.depth),
        };
        let number = self.0.operators.list.len();
        let id = {
            let above = parent.and_then(|number| self.0.operators.at(number));
            let work = match above.and_then(|above| self.0.operators.work(above)) {
                Some(Work::Node(node)) => place.below(node),
                _ => None,
            };
            let word = place.word(work, &template);
            let base = match (above, &caller) {
                (Some(above), Some(caller)) => match self.0.operators.item_title(above, place) {
                    Some(title) => below_caller(&caller.task, &title),
                    None => extended(&above.id, &word),
                },
                (Some(above), None) => extended(&above.id, &word),
                (None, Some(caller)) => below_caller(&caller.task, &word),
                (None, None) => slug_of(&[&word]),
            };
            self.0.operators.free(base)
        };
        let above = parent.and_then(|number| self.0.operators.at(number)).map(|above| &above.id);
        self.0.ledger.open(&id, Holder::Part(number), above.or(caller.as_ref().map(|caller| &caller.task)));
        self.0.operators.numbers.insert(id.clone(), number);
        self.0.operators.list.push(NodeInstance {
            id,
            number,
            mount,
            parent,
            place,
            template,
            depth,
            phase: OpState::Gathering,
            evaluations: 0,
            seeks: None,
            lookups: 0,
            retrieval: None,
            tells_empty_index: false,
            opened: None,
            children: Vec::new(),
            tally: Tally::default(),
            iteration: 1,
            runs: Vec::new(),
            retried: 0,
            continues: false,
            asked_anew: false,
            because: String::new(),
            attempts: Vec::new(),
            issues: None,
            reparse: None,
            limited: false,
            clock: Stopwatch::default(),
        });
        self.note_limits(number);
    }

    /// Notes whether a task has limits of its own.
    pub(super) fn note_limits(&mut self, number: usize) {
        let operators = &self.0.operators;
        let node = operators.at(number).and_then(|op| operators.node(op));
        let limited = node.is_some_and(|node| node.limits.are_spent());
        if operators.at(number).is_some_and(|op| op.limited != limited) {
            self.0.operators.list.change(number, |op| op.limited = limited);
        }
    }

    /// The same for all that have not come back.
    pub(super) fn note_all_limits(&mut self) {
        let open = self.0.operators.iter().filter(|op| !op.state().is_ended()).map(|op| op.number);
        open.collect::<Vec<_>>().into_iter().for_each(|number| self.note_limits(number));
    }

    /// Applies an evaluation of a tree task.
    pub fn evaluated(&mut self, task: &Slug, step: &Step) {
        let Some(op) = self.0.operators.get(task) else { return };
        let (number, Some(next)) = (op.number, op.phase.after(step)) else { return };
        self.change_op(number, |op| {
            op.phase = next;
            match step {
                Step::Opened(opened) => op.opened = Some((**opened).clone()),
                Step::Seeks { request } => op.seek(request),
                Step::GoesOn => op.iteration = op.iteration.saturating_add(1),
                Step::Again { result, issues } => op.try_again(result, issues.as_ref()),
                Step::Reparse { result, ask } => {
                    op.reparse = Some(Box::new(Reparse { first: result.clone(), ask: (**ask).clone(), grown: None }));
                }
                Step::Regrown { called } => {
                    op.reparse.iter_mut().for_each(|reparse| reparse.grown = Some((**called).clone()));
                }
                Step::Matches | Step::Closed(_) => {}
            }
        });
        match step {
            Step::Opened(_) | Step::Again { .. } => self.list_leaf(number),
            Step::Closed(closed) => {
                self.answer_call(number, closed);
                self.answer_caller(number);
            }
            _ => {}
        }
    }

    /// A tree that came back is the result of a call.
    fn answer_caller(&mut self, number: usize) {
        let top = self.0.operators.at(number).filter(|op| op.parent.is_none());
        let caller = top.and_then(|top| self.0.operators.caller(top.mount));
        if let Some(caller) = caller.and_then(|caller| self.0.tasks.number_of(&caller.task)) {
            self.0.tasks.mark(caller);
        }
    }

    pub(super) fn change_op(&mut self, number: usize, change: impl FnOnce(&mut NodeInstance)) {
        self.0.operators.list.change(number, change);
        let Some(op) = self.0.operators.list.get(number) else { return };
        // The state that people see depends on the verdict.
        op.runs.iter().for_each(|run| self.0.tasks.mark(*run));
    }

    /// Adds the task of a leaf to the only step, or below the task that called its template.
    pub(super) fn list_leaf(&mut self, number: usize) {
        let Some(op) = self.0.operators.at(number) else { return };
        let (op_id, node) = (op.id.clone(), self.0.operators.node(op));
        let caller = self.0.operators.caller(op.mount).map(|caller| caller.task.clone());
        let Some(mut task) = super::leaf::task(op) else { return };
        if let Some(node) = node {
            super::leaf::limit(&mut task, &node.limits);
        }
        let of_caller = caller.as_ref().and_then(|caller| self.0.tasks.get(caller)).map(|caller| caller.reuse);
        task.reuse = match self.0.operators.call_reuse(op) {
            CallReuse::AsRun => of_caller.unwrap_or_default(),
            own => own,
        };
        if let Some(caller) = self.0.operators.lister(op).and_then(|caller| self.0.tasks.get(&caller.task)) {
            items::approve_as(&mut task, caller);
        }
        let slug = task.task.slug.clone();
        self.0.ledger.share(&slug, &op_id);
        self.0.operators.numbers.insert(slug.clone(), number);
        task.below.clone_from(&caller);
        let run = self.0.tasks.insert(slug.clone(), task);
        self.0.operators.list.change(number, |op| op.runs.push(run));
        match caller {
            Some(caller) => self.0.tasks.list_below(&caller, slug),
            None => self.0.tasks.append(slug),
        }
    }
}

impl NodeInstance {
    /// Starts another handler with a session and counters of its own (spec 15).
    fn try_again(&mut self, result: &BlobId, issues: Option<&BlobId>) {
        self.attempts.push(result.clone());
        self.issues = issues.cloned();
    }
}

impl super::Operators {
    /// The slug itself, or the slug with a number if it is in use.
    fn free(&self, base: Slug) -> Slug {
        let is_free = |slug: &Slug| !self.numbers.contains_key(slug);
        if is_free(&base) {
            return base;
        }
        let numbered = (2_u32..).map(|number| extended(&base, &number.to_string()));
        numbered.into_iter().find(|slug| is_free(slug)).unwrap_or(base)
    }

    /// Completes a tree with the templates that it shares with earlier trees.
    pub(in crate::run) fn completed(&self, tree: &Tree, shared: &BTreeSet<String>) -> Tree {
        let mut tree = tree.clone();
        for name in shared {
            let known = self.mounts.iter().rev().find_map(|mount| mount.tree.templates.get(name));
            tree.templates.extend(known.map(|known| (name.clone(), known.clone())));
        }
        tree
    }

    /// Whether calls of a leaf may reuse earlier replies. They may not if a person had the leaf, or a task above it,
    /// repeated. They may if a person had any other task repeated. Otherwise, the settings of the run decide.
    fn call_reuse(&self, op: &NodeInstance) -> CallReuse {
        match self.ancestry(op).any(|op| op.asked_anew) {
            true => CallReuse::Forbidden,
            false if self.retries => CallReuse::Allowed,
            false => CallReuse::AsRun,
        }
    }

    /// Retires the trees of a task's calls, because the task is repeated as a whole.
    pub(in crate::run) fn retire(&mut self, task: &Slug) {
        let is_of = |op: &NodeInstance| self.caller(op.mount).is_some_and(|caller| caller.task == *task);
        let former: Vec<usize> =
            self.list.iter().filter(|op| !op.is_former() && is_of(op)).map(|op| op.number).collect();
        former.into_iter().for_each(|number| self.list.change(number, |op| op.phase = OpState::Former));
    }

    /// Retires everything that was opened for open calls of a task, or of one execution of it. Returns its handlers and
    /// processes.
    pub(in crate::run) fn abandon(&mut self, task: &Slug, run: Option<&ExecutionId>) -> Vec<usize> {
        let is_of = |caller: &Caller| caller.task == *task && run.is_none_or(|run| caller.run == *run);
        let of_caller = |mount: &Mount| mount.caller.as_ref().is_some_and(is_of);
        let is_open = |top: usize| self.list.get(top).is_some_and(|top| !top.state().is_ended());
        let gone: Vec<usize> = (0..)
            .zip(&self.mounts)
            .filter(|(_, mount)| of_caller(mount) && is_open(mount.top))
            .map(|(number, _)| number)
            .collect();
        if gone.is_empty() {
            return Vec::new();
        }
        let former: Vec<usize> = self.list.iter().filter(|op| gone.contains(&op.mount)).map(|op| op.number).collect();
        let of_gone = former.iter().filter_map(|number| self.list.get(*number));
        let leaves = of_gone.flat_map(|op| op.runs.iter().copied()).collect();
        former.into_iter().for_each(|number| self.list.change(number, |op| op.phase = OpState::Former));
        leaves
    }

    /// The operators that are nested in the inputs and arguments of a node.
    pub(super) fn nested(node: &Node) -> Vec<ChildSlot> {
        let inputs = (0..).zip(&node.inputs).filter(|(_, input)| matches!(input.source, InputSource::Operator(_)));
        let mut places: Vec<ChildSlot> = inputs.map(|(index, _)| ChildSlot::Input { index }).collect();
        let arguments = (0..).zip(node.kind.operator().arguments());
        let nested = arguments.filter(|(_, one)| one.value.operator().is_some());
        places.extend(nested.map(|(index, _)| ChildSlot::Argument { index }));
        places
    }
}
