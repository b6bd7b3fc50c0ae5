//! The tasks of a run by number, and what of them is worth a look. A fact concerns one or two tasks, so that work per
//! fact must not grow with the list.
//!
//! Whoever borrows a task to change it leaves a mark; [`TaskTable::refresh`] then looks at the marked tasks and keeps the
//! sets below true. A set only says where to look: whoever walks it asks each task again, and while marks are left it
//! walks all tasks. So a set may hold too much and never too little. `Run::is_settled` compares with a run that walks
//! all tasks all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::nouns::Slug;

use super::places::{Place, Places};
use super::refused::{RefusedMove, RefusedMoves};
use super::state::State;
use super::step_ends::{StepEnd, StepEnds};
use super::task::{TaskPhase, TaskRun};
use super::task_sets::{Sets, Traits, count};

/// Tasks by number, which is the order of first appearance, and the current list.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskTable {
    list: Vec<TaskRun>,
    numbers: BTreeMap<Slug, usize>,
    /// Former slugs of renamed tasks (spec 6.4).
    aliases: BTreeMap<Slug, Slug>,
    /// The other way round.
    former: BTreeMap<Slug, BTreeSet<Slug>>,
    /// Slugs of the current list, by step.
    steps: Vec<Vec<Slug>>,
    /// Tasks of templates by the task that calls them, in the order they were opened.
    below: BTreeMap<Slug, Vec<Slug>>,
    /// By number.
    known: Vec<Known>,
    /// Tasks of the current list in sheet order, each with those below it.
    places: Places,
    refused: RefusedMoves,
    /// Tasks of each step that have not ended, of steps that have any.
    pending: BTreeMap<usize, usize>,
    /// The latest ideal end of the tasks of each step.
    ends: StepEnds,
    /// Tasks by the slugs they read from.
    readers: BTreeMap<Slug, BTreeSet<usize>>,
    sets: Sets,
    /// Places of tasks to settle: they, or a task they read from, changed since the last settling.
    unsettled: BTreeSet<Place>,
    /// Numbers of marked tasks.
    marked: Vec<usize>,
    /// Numbers of tasks that something happened to in this entry.
    changed: BTreeSet<usize>,
    /// Counts the looks at tasks.
    looks: u64,
    /// Numbers of tasks by their last look.
    looked: BTreeMap<u64, usize>,
    walks_all: bool,
}

/// What was known of a task when it was looked at last.
#[derive(Clone, Debug, Default)]
struct Known {
    marked: bool,
    step: Option<usize>,
    place: Place,
    state: Option<State>,
    producers: Vec<Slug>,
    traits: Traits,
    look: u64,
}

/// What is known follows from the tasks and the list.
impl PartialEq for TaskTable {
    fn eq(&self, other: &Self) -> bool {
        let known = self.numbers == other.numbers && self.aliases == other.aliases;
        known && self.below == other.below && self.list == other.list && self.steps == other.steps
    }
}

impl TaskTable {
    /// Notes a move that was not made.
    pub fn refuse(&mut self, refused: RefusedMove) {
        self.refused.note(refused);
    }

    /// Moves that were not made.
    pub fn refused(&self) -> &[RefusedMove] {
        self.refused.all()
    }

    /// By slug, or by the former slug of a renamed task (spec 6.4).
    pub fn find(&self, slug: &Slug) -> Option<&TaskRun> {
        self.get(slug).or_else(|| self.get(self.aliases.get(slug)?))
    }

    /// A renamed task may still be named as before.
    pub fn alias(&mut self, former: Slug, slug: Slug) {
        self.former.entry(slug.clone()).or_default().insert(former.clone());
        if let Some(other) = self.aliases.insert(former.clone(), slug.clone()).filter(|other| *other != slug)
            && let Some(aliases) = self.former.get_mut(&other)
        {
            aliases.remove(&former);
        }
    }

    /// Every slug ever given, former ones included (spec 6.3).
    pub fn slugs(&self) -> impl Iterator<Item = &Slug> {
        self.in_order().filter(|task| task.is_own()).map(|task| &task.task.slug).chain(self.aliases.keys())
    }

    pub fn get(&self, slug: &Slug) -> Option<&TaskRun> {
        self.list.get(*self.numbers.get(slug)?)
    }

    pub fn get_mut(&mut self, slug: &Slug) -> Option<&mut TaskRun> {
        let number = *self.numbers.get(slug)?;
        self.mark(number);
        self.list.get_mut(number)
    }

    /// In the order of slugs.
    pub fn keys(&self) -> impl Iterator<Item = &Slug> {
        self.numbers.keys()
    }

    /// In the order of slugs.
    pub fn values(&self) -> impl Iterator<Item = &TaskRun> {
        self.numbers.values().filter_map(|number| self.list.get(*number))
    }

    /// In the order of first appearance.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut TaskRun> {
        self.mark_all();
        self.list.iter_mut()
    }

    /// In the order of first appearance.
    pub fn in_order(&self) -> impl Iterator<Item = &TaskRun> {
        self.list.iter()
    }

    /// A task that was not there before.
    pub fn insert(&mut self, slug: Slug, task: TaskRun) {
        let number = self.list.len();
        self.known.push(Known { place: Place::unlisted(number), ..Known::default() });
        self.list.push(task);
        self.numbers.insert(slug, number);
        self.mark(number);
    }

    pub fn steps(&self) -> &[Vec<Slug>] {
        &self.steps
    }

    /// Replaces the current list; its tasks are there already.
    pub fn set_steps(&mut self, steps: Vec<Vec<Slug>>) {
        self.places = Places::default();
        for (number, known) in self.known.iter_mut().enumerate() {
            (known.step, known.state, known.traits) = (None, None, Traits::default());
            known.place = Place::unlisted(number);
        }
        for (step, slugs) in steps.iter().enumerate() {
            self.places.start_step();
            for slug in slugs {
                let Some(number) = self.numbers.get(slug).copied() else { continue };
                let place = self.places.add(number);
                let below = self.below.get(slug).into_iter().flatten();
                let below = below.filter_map(|slug| self.numbers.get(slug)).copied();
                let placed = below.filter_map(|number| Some((number, self.places.add_below(place, number)?)));
                for (number, place) in std::iter::once((number, place)).chain(placed) {
                    if let Some(known) = self.known.get_mut(number) {
                        (known.step, known.place) = (Some(step), place);
                    }
                }
            }
        }
        self.pending.clear();
        self.sets = Sets::default();
        self.unsettled.clear();
        self.steps = steps;
        self.ends = (0..self.steps.len()).map(|step| StepEnd::of(self.of_step(step))).collect();
        self.mark_all();
    }

    /// Puts a task that is not listed at the end of the last step. What is known of the others stays.
    pub fn append(&mut self, slug: Slug) {
        let Some(number) = self.numbers.get(&slug).copied() else { return };
        if self.steps.is_empty() {
            self.places.start_step();
            self.steps.push(Vec::new());
            self.ends.start_step();
        }
        let at = self.steps.len().saturating_sub(1);
        self.steps.last_mut().into_iter().for_each(|step| step.push(slug.clone()));
        let place = self.places.add(number);
        self.move_to(number, at, place);
    }

    /// Puts a task of a template below the task that calls it.
    pub fn list_below(&mut self, caller: &Slug, slug: Slug) {
        let known = self.numbers.get(caller).and_then(|number| self.known.get(*number));
        let at = known.and_then(|known| Some((known.step?, known.place)));
        if let (Some((step, place)), Some(number)) = (at, self.numbers.get(&slug).copied())
            && let Some(place) = self.places.add_below(place, number)
        {
            self.move_to(number, step, place);
        }
        self.below.entry(caller.clone()).or_default().push(slug);
    }

    /// Gives a task that is not listed its place in the list.
    fn move_to(&mut self, number: usize, step: usize, place: Place) {
        if let Some(known) = self.known.get_mut(number) {
            self.sets.change(known.place, known.traits, Traits::default());
            self.unsettled.remove(&known.place);
            (known.step, known.place, known.traits) = (Some(step), place, Traits::default());
        }
        self.mark(number);
    }

    /// Tasks of templates that a task calls, in the order they were opened.
    pub fn below(&self, caller: &Slug) -> impl Iterator<Item = &TaskRun> {
        self.below.get(caller).into_iter().flatten().filter_map(|slug| self.get(slug))
    }

    /// The 0-based step of a task in the current list.
    pub fn step_of(&self, slug: &Slug) -> Option<usize> {
        self.known.get(*self.numbers.get(slug)?)?.step
    }

    /// The first step with a task that has not ended.
    pub fn current_step(&self) -> Option<usize> {
        if self.is_known() {
            return self.pending.keys().next().copied();
        }
        (0..self.steps.len()).find(|step| self.of_step(*step).any(|task| !task.state().is_ended()))
    }

    /// Tasks of the current list in sheet order.
    pub fn listed(&self) -> impl Iterator<Item = &TaskRun> {
        self.placed(Place::FIRST..Place::UNLISTED)
    }

    pub fn of_step(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.placed(self.places.of_step(step))
    }

    fn placed(&self, places: Range<Place>) -> impl Iterator<Item = &TaskRun> {
        self.places.range(places).filter_map(|(_, number)| self.list.get(number))
    }

    /// Some task has not ended: `has_pending_exec()` of spec 2.4.
    pub fn has_pending(&self) -> bool {
        self.list.iter().any(|task| !task.state().is_ended())
    }

    /// Tasks of a step that have not ended.
    pub fn pending_of(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.of_step(step).filter(|task| task.is_own() && !task.state().is_ended())
    }

    /// Whether the outputs that a task reads exist, are still to come, or never will.
    pub fn supply(&self, task: &TaskRun) -> Supply {
        let mut producers = task.producers().filter_map(|slug| self.find(slug));
        match producers.find(|producer| producer.state().is_without_output()) {
            Some(lost) => Supply::Lost(lost.slug()),
            None if self.awaited_by(task).next().is_some() => Supply::ToCome,
            None => Supply::Here,
        }
    }

    /// Tasks whose outputs a task reads and that are still to give them. Only one that is listed before it can; anything else
    /// is left to the check at the start.
    pub fn awaited_by<'a>(&'a self, task: &'a TaskRun) -> impl Iterator<Item = &'a TaskRun> {
        let producers = task.producers().filter_map(move |slug| self.find(slug));
        producers.filter(move |producer| {
            !producer.state().is_ended() && self.is_earlier(&producer.task.slug, &task.task.slug)
        })
    }

    /// Whether a task is listed before another one: in an earlier step, or before it in the same one.
    fn is_earlier(&self, producer: &Slug, reader: &Slug) -> bool {
        let place = |slug: &Slug| {
            let known = self.known.get(*self.numbers.get(slug)?)?;
            known.step.map(|_| known.place)
        };
        match (place(producer), place(reader)) {
            (Some(producer), Some(reader)) => producer < reader,
            _ => false,
        }
    }

    /// Whether nothing that the task reads has ended without output.
    pub fn may_have_inputs(&self, task: &TaskRun) -> bool {
        let mut producers = task.producers().filter_map(|producer| self.find(producer));
        producers.all(|producer| !producer.state().is_without_output())
    }

    /// Tasks blocked by one that may run again wait for it again (spec 12.4); `listed`: only those of the current list.
    pub fn unblock(&mut self, listed: bool) {
        loop {
            let freed: Vec<Slug> = self
                .values()
                .filter(|task| !listed || self.step_of(&task.task.slug).is_some())
                .filter(|task| task.state() == State::Blocked && task.producers().next().is_some())
                .filter(|task| self.may_have_inputs(task))
                .map(TaskRun::slug)
                .collect();
            if freed.is_empty() {
                return;
            }
            for slug in freed {
                if let Some(task) = self.get_mut(&slug) {
                    task.phase = TaskPhase::Planned;
                }
            }
        }
    }

    /// The latest ideal end of what a task waits for in the steps before its own, or in all steps if it is not listed.
    pub fn end_before(&self, slug: &Slug) -> u64 {
        let before = self.step_of(slug).unwrap_or(usize::MAX);
        self.ends.before(before, self.get(slug).is_some_and(|task| task.writer.is_some()))
    }

    /// When a task could have ended.
    pub fn set_end(&mut self, slug: &Slug, ms: u64) {
        let step = self.step_of(slug);
        let Some(task) = self.get_mut(slug) else { return };
        task.ideal_end_ms = ms;
        let end = StepEnd::of(std::iter::once(&*task));
        self.ends.note(step, end);
    }

    /// Listed tasks that may have units, in sheet order.
    pub fn with_units(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.units, Place::FIRST..Place::UNLISTED)
    }

    /// Listed tasks with a unit that may hold a slot, in sheet order, each with its place.
    pub fn holding(&self) -> impl Iterator<Item = (Place, &TaskRun)> {
        self.chosen_with_places(&self.sets.holding, Place::FIRST..Place::UNLISTED)
    }

    /// All tasks with a unit that may hold a slot.
    pub fn all_holding(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.holding, Place::FIRST..Place::END)
    }

    /// Listed tasks with calls that may wait for a person, in sheet order.
    pub fn asking(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.asking, Place::FIRST..Place::UNLISTED)
    }

    /// Tasks that may have a result whose review is not over.
    pub fn reviewed(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.reviewed, Place::FIRST..Place::END)
    }

    /// Tasks of these steps that may be ready and not started.
    pub fn startable(&self, steps: Range<usize>) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.startable, self.places.of_step(steps.start).start..self.places.of_step(steps.end).start)
    }

    /// Listed tasks that may be ready and not started.
    pub fn all_startable(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.startable, Place::FIRST..Place::UNLISTED)
    }

    /// Tasks of a step that may be writers that have not ended and that no person approved.
    pub fn unapproved(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.unapproved, self.places.of_step(step))
    }

    /// The same of a step and of all behind it.
    pub fn unapproved_from(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.unapproved, self.places.of_step(step).start..Place::UNLISTED)
    }

    /// The first step, from this one on, with a writer that has not ended.
    pub fn writer_step_from(&self, step: usize) -> Option<usize> {
        let behind = self.places.of_step(step).start..Place::UNLISTED;
        let mut writers = self.chosen(&self.sets.writers, behind);
        let writer = writers.find(|task| task.writer.is_some() && !task.state().is_ended())?;
        self.step_of(&writer.task.slug)
    }

    /// Whether a step before that of the task has a writer that has not ended.
    pub fn has_writer_before(&self, slug: &Slug) -> bool {
        let before = self.step_of(slug).map_or(Place::FIRST, |step| self.places.of_step(step).start);
        self.chosen(&self.sets.writers, Place::FIRST..before)
            .any(|task| task.writer.is_some() && !task.state().is_ended())
    }

    /// The first listed task at the place `from` or behind it with a unit that may want a slot, and its place;
    /// `beside_calls`: and not only for a model call.
    pub fn queued_from(&self, from: Place, beside_calls: bool) -> Option<(Place, &TaskRun)> {
        let set = if beside_calls { &self.sets.works } else { &self.sets.queued };
        let wants = |task: &TaskRun| {
            let traits = Traits::of(task);
            if beside_calls { traits.works } else { traits.queued }
        };
        self.chosen_with_places(set, from..Place::UNLISTED).find(|(_, task)| wants(task))
    }

    /// Places of listed tasks that something happened to in this entry.
    pub fn changed_places(&self) -> impl Iterator<Item = Place> {
        self.changed.iter().filter_map(|number| self.known.get(*number)).map(|known| known.place)
    }

    /// Tasks that something happened to in this entry.
    pub fn changed(&self) -> impl Iterator<Item = &TaskRun> {
        self.changed.iter().filter_map(|number| self.list.get(*number))
    }

    /// Tasks with units in slots that something happened to in this entry.
    pub fn changed_holders(&self) -> impl Iterator<Item = &TaskRun> {
        self.changed().filter(|task| task.holds_slot())
    }

    /// The entry is folded.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// Counts the looks at tasks.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Tasks that something happened to since there were so many looks, each with its number and its step, in sheet order;
    /// those that are not listed come last.
    pub fn looked_since(&self, looks: u64) -> Vec<(usize, &TaskRun, Option<usize>)> {
        let since = self.looked.range(looks.saturating_add(1)..);
        let mut found: Vec<(usize, &Known)> =
            since.filter_map(|(_, number)| Some((*number, self.known.get(*number)?))).collect();
        found.sort_by_key(|(_, known)| known.place);
        found.into_iter().filter_map(|(number, known)| Some((number, self.list.get(number)?, known.step))).collect()
    }

    /// Something that is known of the task elsewhere has changed.
    pub fn touch(&mut self, slug: &Slug) {
        if let Some(number) = self.numbers.get(slug) {
            self.mark(*number);
        }
    }

    /// Tasks that something happened to since the last settling, in sheet order.
    pub fn unsettled(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.unsettled, Place::FIRST..Place::END)
    }

    /// The first such listed task at the place `from` or behind it, and its place.
    pub fn unsettled_from(&self, from: Place) -> Option<(Place, &TaskRun)> {
        self.chosen_with_places(&self.unsettled, from..Place::UNLISTED).next()
    }

    /// Something that all tasks share has changed: those that have not ended are looked at again.
    pub fn look_again(&mut self) {
        self.refresh();
        let pending: Vec<usize> = self.sets.pending.iter().filter_map(|place| self.places.number_at(*place)).collect();
        pending.into_iter().for_each(|number| self.mark(number));
    }

    /// Nothing can be moved any more until something happens.
    pub fn settled(&mut self) {
        self.unsettled.clear();
    }

    /// Starts and stops the clocks of tasks that something happened to. True if any clock runs.
    pub fn set_clocks(&mut self, now: u64) -> bool {
        for number in &self.changed {
            if let Some(task) = self.list.get_mut(*number) {
                let holds = task.holds_slot();
                task.clock.set(holds, now);
            }
        }
        !self.sets.holding.is_empty()
    }

    /// Looks at the marked tasks.
    pub fn refresh(&mut self) {
        for number in std::mem::take(&mut self.marked) {
            self.look_at(number);
        }
    }

    /// Forgets what is known, and from now on walks all tasks.
    pub fn walk_all(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        self.set_steps(steps);
        self.walks_all = true;
    }

    fn mark(&mut self, number: usize) {
        if let Some(known) = self.known.get_mut(number)
            && !known.marked
        {
            known.marked = true;
            self.marked.push(number);
        }
    }

    fn mark_all(&mut self) {
        for number in 0..self.list.len() {
            self.mark(number);
        }
    }

    fn is_known(&self) -> bool {
        self.marked.is_empty() && !self.walks_all
    }

    /// The tasks of a set that stand at these places; all tasks there as long as some are marked.
    fn chosen<'a>(&'a self, set: &'a BTreeSet<Place>, places: Range<Place>) -> impl Iterator<Item = &'a TaskRun> {
        self.chosen_with_places(set, places).map(|(_, task)| task)
    }

    fn chosen_with_places<'a>(
        &'a self,
        set: &'a BTreeSet<Place>,
        places: Range<Place>,
    ) -> impl Iterator<Item = (Place, &'a TaskRun)> {
        let (all, some) = match self.is_known() {
            true => (None, Some(set.range(places))),
            false => (Some(self.all_at(places)), None),
        };
        let places = some.into_iter().flatten().copied().chain(all.into_iter().flatten());
        places.filter_map(|place| Some((place, self.list.get(self.places.number_at(place)?)?)))
    }

    /// Every place in this range with a task, in order.
    fn all_at(&self, places: Range<Place>) -> impl Iterator<Item = Place> {
        let listed = self.places.range(places.clone()).map(|(place, _)| place);
        let unlisted = self.known.iter().map(|known| known.place).filter(|place| *place >= Place::UNLISTED);
        listed.chain(unlisted.filter(move |place| places.contains(place)))
    }

    fn look_at(&mut self, number: usize) {
        let (Some(task), Some(known)) = (self.list.get(number), self.known.get_mut(number)) else { return };
        known.marked = false;
        self.unsettled.insert(known.place);
        self.changed.insert(number);
        self.looked.remove(&known.look);
        self.looks += 1;
        known.look = self.looks;
        self.looked.insert(known.look, number);
        let (new, old) = (Traits::of(task), known.traits);
        if new != old {
            known.traits = new;
            self.sets.change(known.place, old, new);
            if let Some(step) = known.step.filter(|_| new.pending != old.pending) {
                count(&mut self.pending, step, new.pending);
            }
        }
        if !task.producers().eq(&known.producers) {
            for producer in std::mem::take(&mut known.producers) {
                if let Some(readers) = self.readers.get_mut(&producer) {
                    readers.remove(&number);
                }
            }
            known.producers = task.producers().cloned().collect();
            for producer in &known.producers {
                self.readers.entry(producer.clone()).or_default().insert(number);
            }
        }
        if known.state != Some(task.state()) {
            known.state = Some(task.state());
            let slug = &task.task.slug;
            let former = self.former.get(slug).into_iter().flatten();
            let readers = former.chain([slug]).filter_map(|slug| self.readers.get(slug)).flatten();
            self.unsettled.extend(readers.filter_map(|reader| self.known.get(*reader)).map(|reader| reader.place));
        }
    }
}

/// What is known of the outputs that a task reads.
pub(super) enum Supply {
    /// They exist.
    Here,
    /// They are still to come.
    ToCome,
    /// That of this task never comes.
    Lost(Slug),
}
