//! The tasks of all trees by number, and sets of tasks that may need attention. An event concerns one or two tasks,
//! so the work for an event must not grow with the number of opened tasks.
//!
//! All changes to a task go through [`Nodes::change`], which updates the sets below. A set may contain too many tasks
//! and never too few. `Run::is_settled` compares the result with a run that always examines all tasks.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::Slug;
use crate::template::operators::Tally;

use super::{NodeInstance, OpState};

/// The tasks of trees in the order in which they were opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    list: Vec<NodeInstance>,
    /// Tasks that may have something to do, because they or one of their parts changed since the last examination.
    touched: BTreeSet<usize>,
    /// Tasks with an outstanding evaluation.
    due: BTreeSet<usize>,
    /// Tasks with an outstanding lookup.
    seeking: BTreeSet<usize>,
    /// Tasks that were opened and have not returned.
    open: BTreeSet<usize>,
    /// Tasks with limits of their own that have not returned.
    limited: BTreeSet<usize>,
    /// Top tasks that have not returned.
    tops: BTreeSet<usize>,
    /// Leaves that have slots.
    holders: BTreeSet<Slug>,
    /// Tasks whose clock runs, each with the number of its leaves that have slots.
    timed: BTreeMap<usize, usize>,
    /// Tasks whose clock was set back.
    set_back: Vec<usize>,
    /// Accounts that several tasks share and that were used up at the last check.
    spent: BTreeSet<usize>,
}

/// The sets follow from the tasks.
impl PartialEq for Nodes {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Nodes {
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn get(&self, number: usize) -> Option<&NodeInstance> {
        self.list.get(number)
    }

    pub fn iter(&self) -> impl Iterator<Item = &NodeInstance> {
        self.list.iter()
    }

    /// Adds a task as the last child of its parent.
    pub fn push(&mut self, op: NodeInstance) {
        let (number, parent) = (op.number, op.parent);
        let nested = op.place.is_nested();
        put(&mut self.limited, number, op.limited);
        put(&mut self.tops, number, parent.is_none());
        self.list.push(op);
        self.touched.insert(number);
        if let Some(above) = parent.and_then(|parent| self.list.get_mut(parent)) {
            above.children.push(number);
            above.tally.opened += usize::from(!nested);
            self.touched.insert(above.number);
        }
    }

    /// Changes a task and updates the sets.
    pub fn change(&mut self, number: usize, change: impl FnOnce(&mut NodeInstance)) {
        let Some(op) = self.list.get_mut(number) else { return };
        let (before, children, clock) = (op.counts(), op.children.len(), op.clock);
        change(op);
        let (after, parent) = (op.counts(), op.parent.filter(|_| !op.place.is_nested()));
        let is_over = op.state().is_ended();
        put(&mut self.due, number, matches!(op.phase, OpState::Due(_)));
        put(&mut self.seeking, number, op.phase == OpState::Seeking);
        put(&mut self.open, number, op.opened.is_some() && !is_over);
        put(&mut self.limited, number, op.limited && !is_over);
        put(&mut self.tops, number, op.parent.is_none() && !is_over);
        if op.clock != clock {
            self.set_back.push(number);
        }
        if op.children.len() != children {
            self.count_anew(number);
        }
        if let Some(above) = parent.and_then(|parent| self.list.get_mut(parent))
            && above.children.binary_search(&number).is_ok()
        {
            above.tally = above.tally.with(before, after);
        }
        self.touch(number);
    }

    fn count_anew(&mut self, number: usize) {
        let Some(op) = self.list.get(number) else { return };
        let parts = op.children.iter().filter_map(|child| self.list.get(*child)).filter(|part| !part.place.is_nested());
        let tally = parts.fold(Tally::default(), |tally, part| {
            let opened = Tally { opened: tally.opened + 1, ..tally };
            opened.with(Tally::default(), part.counts())
        });
        if let Some(op) = self.list.get_mut(number) {
            op.tally = tally;
        }
    }

    /// Marks a task and the tasks that contain it for examination.
    pub fn touch(&mut self, number: usize) {
        self.touched.insert(number);
        self.touched.extend(self.list.get(number).and_then(|op| op.parent));
    }

    /// Marks all tasks for examination.
    pub fn touch_all(&mut self) {
        self.touched = (0..self.list.len()).collect();
    }

    /// Removes and returns the last marked task before this number.
    pub fn take_before(&mut self, number: usize) -> Option<usize> {
        let last = self.touched.range(..number).next_back().copied()?;
        self.touched.remove(&last);
        Some(last)
    }

    /// The tasks with an outstanding evaluation, in the order in which they were opened.
    pub fn due(&self) -> impl Iterator<Item = &NodeInstance> {
        self.due.iter().filter_map(|number| self.get(*number))
    }

    /// The tasks with an outstanding lookup, in the order in which they were opened.
    pub fn seeking(&self) -> impl Iterator<Item = &NodeInstance> {
        self.seeking.iter().filter_map(|number| self.get(*number))
    }

    /// The tasks that were opened and have not returned, in the order in which they were opened.
    pub fn open(&self) -> impl Iterator<Item = &NodeInstance> {
        self.open.iter().filter_map(|number| self.get(*number))
    }

    /// Those with limits of their own that have not come back.
    pub fn limited(&self) -> impl Iterator<Item = &NodeInstance> {
        self.limited.iter().filter_map(|number| self.get(*number))
    }

    /// Top tasks that have not come back.
    pub fn tops(&self) -> impl Iterator<Item = &NodeInstance> {
        self.tops.iter().filter_map(|number| self.get(*number))
    }

    /// Of these accounts nothing is left now. True if it was otherwise at the last look.
    pub fn note_spent(&mut self, spent: BTreeSet<usize>) -> bool {
        let differs = self.spent != spent;
        self.spent = spent;
        differs
    }

    /// A leaf holds a slot from `now` on, or holds none. The clock of a task runs while a leaf of it holds one.
    pub fn hold(&mut self, leaf: &Slug, number: usize, holds: bool, now: u64) {
        let changes = if holds { self.holders.insert(leaf.clone()) } else { self.holders.remove(leaf) };
        let mut at = Some(number).filter(|_| changes);
        while let Some((number, op)) = at.and_then(|number| Some((number, self.list.get_mut(number)?))) {
            let holders = self.timed.entry(number).or_default();
            *holders = if holds { holders.saturating_add(1) } else { holders.saturating_sub(1) };
            let runs = *holders > 0;
            op.clock.set(runs, now);
            at = op.parent;
            if !runs {
                self.timed.remove(&number);
            }
        }
    }

    /// Clocks that were set back run on from `now`.
    pub fn go_on_timing(&mut self, now: u64) {
        for number in std::mem::take(&mut self.set_back) {
            let runs = self.timed.contains_key(&number);
            if let Some(op) = self.list.get_mut(number) {
                op.clock.set(runs, now);
            }
        }
    }

    /// No clock runs from `now` on.
    pub fn stop_clocks(&mut self, now: u64) {
        self.holders.clear();
        for number in std::mem::take(&mut self.timed).into_keys() {
            if let Some(op) = self.list.get_mut(number) {
                op.clock.set(false, now);
            }
        }
    }
}

impl NodeInstance {
    /// The contribution of an opened task to the tally of the task that contains it.
    fn counts(&self) -> Tally {
        let (closed, failed, fatal) = (self.is_closed(), self.failed(), self.is_fatal());
        Tally { opened: 0, closed: closed.into(), failed: failed.into(), fatal: fatal.into() }
    }
}

fn put(set: &mut BTreeSet<usize>, number: usize, is: bool) {
    if is {
        set.insert(number);
    } else {
        set.remove(&number);
    }
}
