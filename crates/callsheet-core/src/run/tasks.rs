//! The tasks of a run by number, and sets of tasks that may need attention. An event concerns one or two tasks, so
//! the work for an event must not grow with the list.
//!
//! Borrowing a task to change it marks the task. [`TaskTable::refresh`] examines the marked tasks and updates the
//! sets below. A set only says where to look. Readers of a set check each task again, and while tasks are marked they
//! go through all tasks. So a set may contain too many tasks and never too few. `Run::is_settled` compares the result
//! with a run that always goes through all tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::nouns::Slug;

use super::places::{Place, Places};
use super::refused::{RefusedMove, RefusedMoves};
use super::state::State;
use super::step_ends::{StepEnd, StepEnds};
use super::task::TaskRun;
use super::task_sets::{Sets, Traits, count};

/// The tasks by number, which is the order of first appearance, and the current list.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskTable {
    list: Vec<TaskRun>,
    numbers: BTreeMap<Slug, usize>,
    /// Former slugs of renamed tasks (spec 6.4).
    aliases: BTreeMap<Slug, Slug>,
    /// The former slugs by current slug.
    former: BTreeMap<Slug, BTreeSet<Slug>>,
    /// The slugs of the current list, by step.
    steps: Vec<Vec<Slug>>,
    /// The tasks of templates by the task that calls them, in the order in which they were opened.
    below: BTreeMap<Slug, Vec<Slug>>,
    /// What is known of each task, by number.
    known: Vec<Known>,
    /// The tasks of the current list in sheet order, each with the tasks below it.
    places: Places,
    refused: RefusedMoves,
    /// The number of unfinished tasks of each step that has any.
    pending: BTreeMap<usize, usize>,
    /// The latest ideal end of the tasks of each step.
    ends: StepEnds,
    /// Tasks by the slugs they read from.
    readers: BTreeMap<Slug, BTreeSet<usize>>,
    sets: Sets,
    /// The positions of tasks that must be settled: the task, or a task that it reads from, has changed since the
    /// last settling.
    unsettled: BTreeSet<Place>,
    /// Numbers of marked tasks.
    marked: Vec<usize>,
    /// Numbers of tasks that changed with this log entry.
    changed: BTreeSet<usize>,
    /// A counter of examinations of tasks.
    looks: u64,
    /// Numbers of tasks by the counter at their last examination.
    looked: BTreeMap<u64, usize>,
    /// No settled task runs out of time before this time, in milliseconds since the Unix epoch.
    next_due_ms: u64,
    walks_all: bool,
}

/// What was known of a task at its last examination.
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

/// The other fields follow from the tasks and the list.
impl PartialEq for TaskTable {
    fn eq(&self, other: &Self) -> bool {
        let known = self.numbers == other.numbers && self.aliases == other.aliases;
        known && self.below == other.below && self.list == other.list && self.steps == other.steps
    }
}

impl TaskTable {
    /// Notes a refused move.
    pub fn refuse(&mut self, refused: RefusedMove) {
        self.refused.note(refused);
    }

    /// The refused moves.
    pub fn refused(&self) -> &[RefusedMove] {
        self.refused.all()
    }

    /// The task with this slug, or with this former slug (spec 6.4).
    pub fn find(&self, slug: &Slug) -> Option<&TaskRun> {
        self.get(slug).or_else(|| self.get(self.aliases.get(slug)?))
    }

    /// Lets the former slug of a renamed task still name the task.
    pub fn alias(&mut self, former: Slug, slug: Slug) {
        self.former.entry(slug.clone()).or_default().insert(former.clone());
        if let Some(other) = self.aliases.insert(former.clone(), slug.clone()).filter(|other| *other != slug)
            && let Some(aliases) = self.former.get_mut(&other)
        {
            aliases.remove(&former);
        }
    }

    /// All slugs that were ever given, including former ones (spec 6.3).
    pub fn slugs(&self) -> impl Iterator<Item = &Slug> {
        self.in_order().filter(|task| task.is_own()).map(|task| &task.task.slug).chain(self.aliases.keys())
    }

    /// The task with this number.
    pub fn at(&self, number: usize) -> Option<&TaskRun> {
        self.list.get(number)
    }

    pub fn at_mut(&mut self, number: usize) -> Option<&mut TaskRun> {
        self.mark(number);
        self.list.get_mut(number)
    }

    pub fn number_of(&self, slug: &Slug) -> Option<usize> {
        self.numbers.get(slug).copied()
    }

    pub fn get(&self, slug: &Slug) -> Option<&TaskRun> {
        self.at(self.number_of(slug)?)
    }

    pub fn get_mut(&mut self, slug: &Slug) -> Option<&mut TaskRun> {
        self.at_mut(self.number_of(slug)?)
    }

    /// All slugs, in the order of slugs.
    pub fn keys(&self) -> impl Iterator<Item = &Slug> {
        self.numbers.keys()
    }

    /// All tasks, in the order of slugs.
    pub fn values(&self) -> impl Iterator<Item = &TaskRun> {
        self.numbers.values().filter_map(|number| self.list.get(*number))
    }

    /// All tasks, in the order of first appearance.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut TaskRun> {
        self.mark_all();
        self.list.iter_mut()
    }

    /// All tasks, in the order of first appearance.
    pub fn in_order(&self) -> impl Iterator<Item = &TaskRun> {
        self.list.iter()
    }

    /// Adds a new task. Returns its number.
    pub fn insert(&mut self, slug: Slug, task: TaskRun) -> usize {
        let number = self.list.len();
        self.known.push(Known { place: Place::unlisted(number), ..Known::default() });
        self.list.push(task);
        self.numbers.insert(slug, number);
        self.mark(number);
        number
    }

    pub fn steps(&self) -> &[Vec<Slug>] {
        &self.steps
    }

    /// Replaces the current list. Its tasks must exist already.
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

    /// Adds an unlisted task at the end of the last step. What is known of other tasks stays valid.
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

    /// Gives an unlisted task its position in the list.
    fn move_to(&mut self, number: usize, step: usize, place: Place) {
        if let Some(known) = self.known.get_mut(number) {
            self.sets.change(known.place, known.traits, Traits::default());
            self.unsettled.remove(&known.place);
            (known.step, known.place, known.traits) = (Some(step), place, Traits::default());
        }
        self.mark(number);
    }

    /// The tasks of templates that a task calls, in the order in which they were opened.
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

    /// The tasks of the current list in sheet order.
    pub fn listed(&self) -> impl Iterator<Item = &TaskRun> {
        self.placed(Place::FIRST..Place::UNLISTED)
    }

    pub fn of_step(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.placed(self.places.of_step(step))
    }

    fn placed(&self, places: Range<Place>) -> impl Iterator<Item = &TaskRun> {
        self.places.range(places).filter_map(|(_, number)| self.list.get(number))
    }

    /// Whether a task has not ended: `has_pending_exec()` of spec 2.4.
    pub fn has_pending(&self) -> bool {
        self.list.iter().any(|task| !task.state().is_ended())
    }

    /// The unfinished tasks of a step.
    pub fn pending_of(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.of_step(step).filter(|task| task.is_own() && !task.state().is_ended())
    }

    /// The place of a task of the current list.
    pub fn place_of(&self, slug: &Slug) -> Option<Place> {
        let known = self.known.get(*self.numbers.get(slug)?)?;
        known.step.map(|_| known.place)
    }

    /// The latest ideal end of the tasks that a task must wait for in earlier steps, or in all steps if it is not
    /// listed.
    pub fn end_before(&self, slug: &Slug) -> u64 {
        let before = self.step_of(slug).unwrap_or(usize::MAX);
        self.ends.before(before, self.get(slug).is_some_and(|task| task.writer.is_some()))
    }

    /// Notes when a task could have ended.
    pub fn set_end(&mut self, slug: &Slug, ms: u64) {
        let step = self.step_of(slug);
        let Some(task) = self.get_mut(slug) else { return };
        task.ideal_end_ms = ms;
        let end = StepEnd::of(std::iter::once(&*task));
        self.ends.note(step, end);
    }

    /// The listed tasks that may have units, in sheet order.
    pub fn with_units(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.units, Place::FIRST..Place::UNLISTED)
    }

    /// The listed tasks with a unit that may have a slot, in sheet order, each with its position. `among` limits them
    /// to these positions.
    pub fn holding_at<'a>(&'a self, among: Option<&'a BTreeSet<Place>>) -> impl Iterator<Item = (Place, &'a TaskRun)> {
        let listed = Place::FIRST..Place::UNLISTED;
        let all = among.is_none().then(|| self.places_of(&self.sets.holding, listed.clone()));
        let some = among.map(|among| among.range(listed).copied());
        let places = some.into_iter().flatten().chain(all.into_iter().flatten());
        places.filter_map(|place| self.placed_at(place)).filter(|(_, task)| task.holds_slot())
    }

    /// All tasks with a unit that may have a slot.
    pub fn all_holding(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.holding, Place::FIRST..Place::END)
    }

    /// The time before which no settled task runs out of time.
    pub fn next_due_ms(&self) -> u64 {
        self.next_due_ms
    }

    pub fn set_next_due_ms(&mut self, ms: u64) {
        self.next_due_ms = ms;
    }

    /// The listed tasks with calls that may wait for a person, in sheet order.
    pub fn asking(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.asking, Place::FIRST..Place::UNLISTED)
    }

    /// The tasks that may have a result whose review is not over.
    pub fn reviewed(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.reviewed, Place::FIRST..Place::END)
    }

    /// The tasks of these steps that may be ready and not started.
    pub fn startable(&self, steps: Range<usize>) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.startable, self.places.of_step(steps.start).start..self.places.of_step(steps.end).start)
    }

    /// The listed tasks that may be ready and not started.
    pub fn all_startable(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.startable, Place::FIRST..Place::UNLISTED)
    }

    /// The tasks of a step that may be unfinished writers without approval.
    pub fn unapproved(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.sets.unapproved, self.places.of_step(step))
    }

    /// The tasks of a step and of all later steps that may be unfinished writers without approval.
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

    /// Whether a step before the step of the task has a writer that has not ended.
    pub fn has_writer_before(&self, slug: &Slug) -> bool {
        let before = self.step_of(slug).map_or(Place::FIRST, |step| self.places.of_step(step).start);
        self.chosen(&self.sets.writers, Place::FIRST..before)
            .any(|task| task.writer.is_some() && !task.state().is_ended())
    }

    /// The first listed task, from position `from` on, with a unit that may need a slot, and its position.
    /// `beside_calls` skips units that only need a model call.
    pub fn queued_from(&self, from: Place, beside_calls: bool) -> Option<(Place, &TaskRun)> {
        let set = if beside_calls { &self.sets.works } else { &self.sets.queued };
        let wants = |task: &TaskRun| {
            let traits = Traits::of(task);
            if beside_calls { traits.works } else { traits.queued }
        };
        self.chosen_with_places(set, from..Place::UNLISTED).find(|(_, task)| wants(task))
    }

    /// The positions of listed tasks that changed with this log entry.
    pub fn changed_places(&self) -> impl Iterator<Item = Place> {
        self.changed.iter().filter_map(|number| self.known.get(*number)).map(|known| known.place)
    }

    /// The tasks that changed with this log entry.
    pub fn changed(&self) -> impl Iterator<Item = &TaskRun> {
        self.changed.iter().filter_map(|number| self.list.get(*number))
    }

    /// The tasks with units in slots that changed with this log entry.
    pub fn changed_holders(&self) -> impl Iterator<Item = &TaskRun> {
        self.changed().filter(|task| task.holds_slot())
    }

    /// Forgets which tasks changed, because the log entry is folded.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// A counter of examinations of tasks.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// The tasks that changed after the counter was at `looks`, each with its number and its step, in sheet order.
    /// Unlisted tasks come last.
    pub fn looked_since(&self, looks: u64) -> Vec<(usize, &TaskRun, Option<usize>)> {
        let since = self.looked.range(looks.saturating_add(1)..);
        let mut found: Vec<(usize, &Known)> =
            since.filter_map(|(_, number)| Some((*number, self.known.get(*number)?))).collect();
        found.sort_by_key(|(_, known)| known.place);
        found.into_iter().filter_map(|(number, known)| Some((number, self.list.get(number)?, known.step))).collect()
    }

    /// The tasks that changed since the last settling, in sheet order.
    pub fn unsettled(&self) -> impl Iterator<Item = &TaskRun> {
        self.chosen(&self.unsettled, Place::FIRST..Place::END)
    }

    /// The first listed task from position `from` on that changed since the last settling, and its position.
    pub fn unsettled_from(&self, from: Place) -> Option<(Place, &TaskRun)> {
        self.chosen_with_places(&self.unsettled, from..Place::UNLISTED).next()
    }

    /// Marks all unfinished tasks, because something that all tasks share has changed.
    pub fn look_again(&mut self) {
        self.refresh();
        let pending: Vec<usize> = self.sets.pending.iter().filter_map(|place| self.places.number_at(*place)).collect();
        pending.into_iter().for_each(|number| self.mark(number));
    }

    /// Notes that nothing can move until something happens.
    pub fn settled(&mut self) {
        self.unsettled.clear();
    }

    /// Starts and stops the clocks of changed tasks. Returns whether any clock runs.
    pub fn set_clocks(&mut self, now: u64) -> bool {
        for number in &self.changed {
            if let Some(task) = self.list.get_mut(*number) {
                let holds = task.holds_slot();
                task.clock.set(holds, now);
            }
        }
        !self.sets.holding.is_empty()
    }

    /// Examines the marked tasks.
    pub fn refresh(&mut self) {
        for number in std::mem::take(&mut self.marked) {
            self.look_at(number);
        }
    }

    /// Forgets what is known, and goes through all tasks from now on.
    pub fn walk_all(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        self.set_steps(steps);
        self.next_due_ms = 0;
        self.walks_all = true;
    }

    /// Notes that something about the task has changed, maybe elsewhere.
    pub fn mark(&mut self, number: usize) {
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

    /// The tasks of a set at these positions. If tasks are marked, all tasks at these positions.
    fn chosen<'a>(&'a self, set: &'a BTreeSet<Place>, places: Range<Place>) -> impl Iterator<Item = &'a TaskRun> {
        self.chosen_with_places(set, places).map(|(_, task)| task)
    }

    fn chosen_with_places<'a>(
        &'a self,
        set: &'a BTreeSet<Place>,
        places: Range<Place>,
    ) -> impl Iterator<Item = (Place, &'a TaskRun)> {
        self.places_of(set, places).filter_map(|place| self.placed_at(place))
    }

    fn places_of<'a>(
        &'a self,
        set: &'a BTreeSet<Place>,
        places: Range<Place>,
    ) -> impl Iterator<Item = Place> + use<'a> {
        let (all, some) = match self.is_known() {
            true => (None, Some(set.range(places))),
            false => (Some(self.all_at(places)), None),
        };
        some.into_iter().flatten().copied().chain(all.into_iter().flatten())
    }

    fn placed_at(&self, place: Place) -> Option<(Place, &TaskRun)> {
        Some((place, self.list.get(self.places.number_at(place)?)?))
    }

    /// All positions in this range that have a task, in order.
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
