//! Repeats or continues tasks of a tree, or removes failed items, for a person (spec "Templates" 15). In a failed task, finished results stay and failed
//! parts begin again. A task that succeeded is repeated as a whole. The tasks around it are opened again, and the
//! tasks that had read its result are repeated.

use std::collections::BTreeSet;

use crate::nouns::Slug;
use crate::run::after_limit::{AfterLimit, goes_on};
use crate::run::unended::Unended;
use crate::run::{Reject, State, Stopwatch, TaskRun};
use crate::template::operators::ChildSlot;

use super::tree::{TreeQuery, Trees};
use super::{NodeInstance, OpState, Operators};

/// What begins again, and what is given up for it.
#[derive(Debug, Default)]
pub(in crate::run) struct Anew {
    /// The leaves with a new handler or process.
    pub begun: Vec<usize>,
    /// Whether parts that have not returned are given up. Otherwise they are in the way.
    pub gives_up: bool,
    /// The handlers and processes of the parts that were given up, by number.
    pub given_up: Vec<usize>,
    /// The failed leaves whose handlers continue instead of beginning again.
    pub to_go_on: BTreeSet<usize>,
    /// Those of them that continue.
    pub gone_on: Vec<usize>,
}

/// What a person does with a task that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Redo {
    /// It is repeated.
    Again,
    /// It failed, and continues with what it has, because a limit was raised.
    On,
    /// A failed item is removed, and the list goes on without it.
    Without,
}

impl Redo {
    /// The refusal for a task for which this cannot be done.
    pub fn refused(self, task: &Slug) -> Reject {
        match self {
            Self::Again | Self::On => Reject::NotEndedOrRead(task.clone()),
            Self::Without => Reject::NotAFailedItem(task.clone()),
        }
    }
}

impl TreeQuery<'_> {
    /// The tasks that are retried if a person names none: the failed and denied tasks of the list, and the failed items of lists
    /// whose tasks are done without them. If a template run failed, this is the whole run. If it succeeded, these are the
    /// tasks whose failures it only collected.
    pub fn failed(self) -> Vec<Slug> {
        let operators = &self.0.operators;
        let Some(top) = operators.top() else {
            let failed =
                self.0.tasks().filter(|task| matches!(task.state(), State::Failed | State::Denied)).map(TaskRun::slug);
            let is_done = |owner: &Slug| self.0.task(owner).is_some_and(|owner| owner.state() == State::Done);
            let of_done = |op: &&NodeInstance| operators.lister(op).is_some_and(|caller| is_done(&caller.task));
            let lists = operators.iter().filter(|op| operators.has_failed_items(op)).filter(of_done);
            let items = lists.flat_map(|list| operators.children(list)).filter(|item| item.failed());
            return failed.chain(items.map(|item| item.id.clone())).collect();
        };
        if top.failed() {
            return vec![top.id.clone()];
        }
        let told = |op: &NodeInstance| operators.ancestry(op).any(|above| above.place.is_subtask());
        let above_failed =
            |op: &NodeInstance| op.parent.and_then(|above| operators.at(above)).is_some_and(NodeInstance::failed);
        let outermost = operators.iter().filter(|op| op.failed() && !told(op) && !above_failed(op));
        outermost.map(|op| op.id.clone()).collect()
    }
}

impl TreeQuery<'_> {
    /// The failed tasks of a tree, from this one down, whose handlers can continue.
    fn to_go_on(self, top: usize) -> BTreeSet<usize> {
        let operators = &self.0.operators;
        let is_below = |op: &&NodeInstance| operators.ancestry(op).any(|above| above.number == top);
        let goes_on = |op: &&NodeInstance| self.0.leaf(op).is_some_and(|task| goes_on(self.0, task));
        operators.iter().filter(|op| op.failed()).filter(is_below).filter(goes_on).map(|op| op.number).collect()
    }

    /// Whether something of a returned task can continue with what it has.
    pub(in crate::run) fn may_continue(self, number: usize) -> bool {
        self.0.operators.at(number).is_some_and(|op| op.continues) || !self.to_go_on(number).is_empty()
    }

    /// The trees after a returned task was repeated, continued or removed, and what begins again.
    ///
    /// # Errors
    /// A task that read its result is still running, or what is to be removed is no failed item.
    pub(in crate::run) fn redone(self, number: usize, how: Redo) -> Result<(Operators, Anew), Reject> {
        let to_go_on = if how == Redo::On { self.to_go_on(number) } else { BTreeSet::new() };
        self.0.operators.redone(number, how, to_go_on)
    }
}

impl Trees<'_> {
    /// Repeats, continues or removes a returned tree task and opens the tasks around it.
    pub fn redo(&mut self, number: usize, how: Redo) {
        let Ok((after, anew)) = TreeQuery(self.0).redone(number, how) else { return };
        let former = |leaf: &usize| self.0.leaf(self.0.operators.at(*leaf)?).map(TaskRun::slug);
        let former: Vec<Slug> = anew.begun.iter().filter_map(former).collect();
        former.iter().for_each(|leaf| Unended(self.0).note_timed_out(leaf));
        self.0.operators = after;
        self.note_all_limits();
        anew.begun.into_iter().for_each(|leaf| self.list_leaf(leaf));
        let of_leaf = |op: usize| self.0.leaf(self.0.operators.at(op)?).map(TaskRun::slug);
        let gone_on: Vec<Slug> = anew.gone_on.into_iter().filter_map(of_leaf).collect();
        gone_on.iter().for_each(|leaf| AfterLimit(self.0).go_on(leaf));
    }
}

impl Trees<'_> {
    /// Keeps what a person says about the former result of a task. All calls below the task are told.
    pub fn tell(&mut self, number: usize, because: &str) {
        self.0.operators.list.change(number, |op| because.clone_into(&mut op.because));
    }
}

impl Operators {
    /// What a person said last about the former result of a task, or of a task above it.
    pub fn because<'a>(&'a self, op: &'a NodeInstance) -> Option<&'a str> {
        self.ancestry(op).map(|op| op.because.as_str()).find(|because| !because.is_empty())
    }

    fn redone(&self, number: usize, how: Redo, to_go_on: BTreeSet<usize>) -> Result<(Self, Anew), Reject> {
        let mut after = self.clone();
        let mut anew = Anew { to_go_on, ..Anew::default() };
        after.retries = true;
        let asked: Vec<usize> =
            after.list.iter().filter(|op| op.asked_anew && op.is_closed()).map(|op| op.number).collect();
        asked.into_iter().for_each(|number| after.change(number, |op| op.asked_anew = false));
        if how == Redo::Without {
            after.remove(number)?;
        } else if after.at(number).is_some_and(|op| op.failed() || op.continues || after.has_failed_items(op)) {
            after.begin_again(number, &mut anew)?;
        } else {
            after.begin_anew(number, &mut anew)?;
        }
        after.open_above(number, &mut anew)?;
        Ok((after, anew))
    }

    /// Removes a failed item, so that the list goes on without it.
    fn remove(&mut self, number: usize) -> Result<(), Reject> {
        let Some(op) = self.at(number) else { return Ok(()) };
        let in_pool = op.parent.is_some_and(|above| !self.goes_in_order(above));
        let is_item = in_pool && matches!(op.place, ChildSlot::Item { .. } | ChildSlot::Child { .. });
        if !is_item || !op.failed() {
            return Err(Reject::NotAFailedItem(op.id.clone()));
        }
        let mut below = vec![number];
        while let Some(part) = below.pop() {
            below.extend(self.at(part).into_iter().flat_map(|op| op.children.iter().copied()));
            self.change(part, |op| {
                if let OpState::Closed(closed) = &op.phase {
                    op.phase = OpState::Removed(closed.clone());
                }
            });
        }
        Ok(())
    }

    /// Repeats the parts of a returned task that did not give the required result. Adds leaves with a new handler or
    /// process to `anew`.
    fn begin_again(&mut self, number: usize, anew: &mut Anew) -> Result<(), Reject> {
        let Some(op) = self.at(number) else { return Ok(()) };
        if anew.to_go_on.contains(&number) {
            return self.go_on(number, anew);
        }
        if op.reparse.is_some() || op.is_leaf() {
            let regrown = self.child(op, ChildSlot::Regrown).filter(|part| op.reparse.is_some() && part.failed());
            return match regrown.map(|part| part.number) {
                Some(regrown) => {
                    self.begin_again(regrown, anew)?;
                    self.open_again(number);
                    Ok(())
                }
                None => self.begin_leaf(number, anew),
            };
        }
        if op.continues {
            self.change(number, |op| (op.continues, op.asked_anew) = (false, true));
            self.open_again(number);
            return Ok(());
        }
        let (opened, gives_its_last) = (op.opened.is_some(), self.gives_its_last(op));
        let of = |part: &NodeInstance| part.place.is_nested() != opened && !part.place.is_subtask();
        let all: Vec<usize> = self.children(op).filter(|part| of(part)).map(|part| part.number).collect();
        let mut again: Vec<usize> =
            all.iter().copied().filter(|part| self.at(*part).is_some_and(NodeInstance::failed)).collect();
        match all.last() {
            _ if !again.is_empty() => {}
            _ if !opened => return self.gather_again(number, anew),
            // All parts succeeded, but the result is not good enough. Repeat the part that gave it, or all parts.
            Some(last) if gives_its_last => again.push(*last),
            _ => return self.begin_anew(number, anew),
        }
        for part in again {
            self.begin_again(part, anew)?;
        }
        self.open_again(number);
        Ok(())
    }

    /// Repeats a task as a whole. Its inputs stay bound.
    fn begin_anew(&mut self, number: usize, anew: &mut Anew) -> Result<(), Reject> {
        let Some(op) = self.at(number) else { return Ok(()) };
        if op.is_leaf() {
            return self.begin_leaf(number, anew);
        }
        self.detach(number, |part| !part.place.is_nested(), anew)?;
        self.change(number, |op| (op.iteration, op.reparse, op.asked_anew) = (1, None, true));
        self.open_again(number);
        Ok(())
    }

    /// Whether the result of the last part is the result of the whole.
    fn gives_its_last(&self, op: &NodeInstance) -> bool {
        self.node(op).is_none_or(|node| node.kind.facts().gives_its_last)
    }

    /// Opens the tasks around a repeated task and repeats the tasks that read its result.
    pub(super) fn open_above(&mut self, number: usize, anew: &mut Anew) -> Result<(), Reject> {
        let mut below = number;
        while let Some(above) = self.at(below).and_then(|op| op.parent) {
            let Some((part, op)) = self.at(below).zip(self.at(above)) else { return Ok(()) };
            let (id, place) = (part.id.clone(), part.place);
            let seeks = matches!(op.phase, OpState::Seeking | OpState::Matching);
            let (is_opened, is_closed) = (op.opened.is_some(), op.is_closed());
            let works = seeks || place.is_nested() && is_opened && !is_closed;
            // A model was told that its subtask failed.
            if place.is_subtask() || works && !anew.gives_up {
                return Err(Reject::NotEndedOrRead(id));
            }
            match place {
                _ if place.is_nested() && (is_opened || seeks) => self.gather_again(above, anew)?,
                ChildSlot::Turn { iteration, .. } => {
                    self.detach(above, |other| other.number > below, anew)?;
                    self.change(above, |op| op.iteration = iteration);
                    self.open_again(above);
                }
                _ if !place.is_nested() && self.goes_in_order(above) => {
                    self.detach(above, |other| other.number > below, anew)?;
                    self.open_again(above);
                }
                ChildSlot::Split => {
                    self.detach(above, |other| other.place == ChildSlot::Regrown, anew)?;
                    self.change(above, |op| op.reparse.iter_mut().for_each(|reparse| reparse.grown = None));
                    self.open_again(above);
                }
                _ => self.open_again(above),
            }
            below = above;
        }
        Ok(())
    }

    pub(super) fn goes_in_order(&self, number: usize) -> bool {
        let node = self.at(number).and_then(|op| self.node(op));
        node.is_some_and(|node| node.kind.facts().in_order)
    }

    /// Starts a new handler or process with its own session, turns and time.
    fn begin_leaf(&mut self, number: usize, anew: &mut Anew) -> Result<(), Reject> {
        self.detach(number, |part| matches!(part.place, ChildSlot::Split | ChildSlot::Regrown), anew)?;
        self.next_handler(number);
        self.change(number, |op| op.asked_anew = true);
        self.open_again(number);
        anew.begun.push(number);
        Ok(())
    }

    /// Continues the handler of a leaf. What was to replace it is dropped.
    fn go_on(&mut self, number: usize, anew: &mut Anew) -> Result<(), Reject> {
        self.detach(number, |part| matches!(part.place, ChildSlot::Split | ChildSlot::Regrown), anew)?;
        self.change(number, |op| op.reparse = None);
        self.open_again(number);
        anew.gone_on.push(number);
        Ok(())
    }

    fn next_handler(&mut self, number: usize) {
        self.change(number, |op| {
            op.attempts.extend(op.closed().map(|closed| closed.result.clone()));
            op.retried = op.runs.len();
            (op.issues, op.reparse) = (None, None);
        });
    }

    /// Makes a task gather its nested inputs again. Its former results are dropped.
    pub(super) fn gather_again(&mut self, number: usize, anew: &mut Anew) -> Result<(), Reject> {
        self.detach(number, |part| part.place == ChildSlot::Match || !part.place.is_nested(), anew)?;
        if self.at(number).is_some_and(|op| op.is_leaf()) {
            anew.given_up.extend(self.at(number).filter(|op| !op.is_closed()).and_then(NodeInstance::leaf));
            self.next_handler(number);
            anew.begun.retain(|leaf| *leaf != number);
            anew.gone_on.retain(|leaf| *leaf != number);
        }
        self.change(number, |op| {
            (op.opened, op.retrieval, op.seeks, op.reparse, op.iteration) = (None, None, None, None, 1);
        });
        self.open_again(number);
        Ok(())
    }

    pub(super) fn open_again(&mut self, number: usize) {
        self.change(number, |op| {
            op.clock = Stopwatch::default();
            op.open_again();
        });
    }

    /// Detaches the children that are repeated. Fails if one of them is still running and may not be given up.
    pub(super) fn detach(
        &mut self,
        number: usize,
        which: impl Fn(&NodeInstance) -> bool,
        anew: &mut Anew,
    ) -> Result<(), Reject> {
        let Some(op) = self.at(number) else { return Ok(()) };
        let gone: Vec<usize> = op.children.iter().copied().filter(|part| self.at(*part).is_some_and(&which)).collect();
        let working = gone.iter().filter_map(|part| self.at(*part)).find(|part| !part.is_closed());
        if let Some(working) = working.filter(|_| !anew.gives_up) {
            return Err(Reject::NotEndedOrRead(working.id.clone()));
        }
        self.change(number, |op| op.children.retain(|part| !gone.contains(part)));
        let mut former = gone;
        while let Some(part) = former.pop() {
            former.extend(self.at(part).into_iter().flat_map(|op| op.children.iter().copied()));
            anew.given_up.extend(self.at(part).filter(|op| !op.is_closed()).and_then(NodeInstance::leaf));
            self.change(part, |op| op.phase = OpState::Former);
        }
        Ok(())
    }

    fn change(&mut self, number: usize, change: impl FnOnce(&mut NodeInstance)) {
        self.list.change(number, change);
    }
}

impl NodeInstance {
    /// Goes on with what it has.
    pub(super) fn open_again(&mut self) {
        self.phase = if self.opened.is_some() { OpState::Open } else { OpState::Gathering };
    }
}
