//! The positions of the tasks of a run. The tasks of the current list come first, in sheet order, each followed by
//! the tasks below it. All other tasks follow. A new task below another does not change the position of any other
//! task.

use std::ops::Range;

/// The position of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Its number in the list, or the number of the task that it is below.
    at: usize,
    /// Its number among the tasks below that task, from 1.
    below: usize,
}

/// The numbers of tasks by position.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Each task of the list, followed by the tasks below it.
    families: Vec<Vec<usize>>,
    /// The index of the first family of each step.
    starts: Vec<usize>,
}

impl Place {
    pub const FIRST: Self = Self { at: 0, below: 0 };
    /// The position after the whole list.
    pub const UNLISTED: Self = Self { at: usize::MAX, below: 0 };
    /// The position after all tasks.
    pub const END: Self = Self { at: usize::MAX, below: usize::MAX };

    /// The position of a task that is not in the list.
    pub fn unlisted(number: usize) -> Self {
        Self { below: number, ..Self::UNLISTED }
    }

    pub fn next(self) -> Self {
        Self { below: self.below.saturating_add(1), ..self }
    }
}

impl Places {
    pub fn start_step(&mut self) {
        self.starts.push(self.families.len());
    }

    /// Adds a task at the end of the list.
    pub fn add(&mut self, number: usize) -> Place {
        self.families.push(vec![number]);
        Place { at: self.families.len() - 1, below: 0 }
    }

    /// Adds a task below the one at this position. `None` if that task is not in the list.
    pub fn add_below(&mut self, place: Place, number: usize) -> Option<Place> {
        let family = self.families.get_mut(place.at)?;
        family.push(number);
        Some(Place { below: family.len() - 1, ..place })
    }

    /// The positions of a step. Empty if there is no such step.
    pub fn of_step(&self, step: usize) -> Range<Place> {
        let start = |step: usize| match self.starts.get(step) {
            Some(at) => Place { at: *at, below: 0 },
            None => Place { at: self.families.len(), below: 0 },
        };
        start(step)..start(step.saturating_add(1))
    }

    /// The listed tasks at these positions, in order.
    pub fn range(&self, places: Range<Place>) -> impl Iterator<Item = (Place, usize)> {
        let end = places.end.at.saturating_add(1).min(self.families.len());
        let families = self.families.get(places.start.at.min(end)..end).unwrap_or_default();
        let placed = families.iter().zip(places.start.at..).flat_map(|(family, at)| {
            family.iter().enumerate().map(move |(below, number)| (Place { at, below }, *number))
        });
        placed.filter(move |(place, _)| places.contains(place))
    }

    /// The task at a position, listed or not.
    pub fn number_at(&self, place: Place) -> Option<usize> {
        if place.at == Place::UNLISTED.at {
            return Some(place.below);
        }
        self.families.get(place.at)?.get(place.below).copied()
    }
}
