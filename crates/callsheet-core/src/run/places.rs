//! Where the tasks of a run stand: those of the current list in sheet order, each followed by those below it, and all
//! others behind them. A task that comes below another moves nobody else.

use std::ops::Range;

/// Where a task stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Its number in the list, or that of the task it is below.
    at: usize,
    /// Its number among those below that task, from 1.
    below: usize,
}

/// Numbers of tasks by their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Each task of the list, with those below it.
    families: Vec<Vec<usize>>,
    /// Which family is the first of each step.
    starts: Vec<usize>,
}

impl Place {
    pub const FIRST: Self = Self { at: 0, below: 0 };
    /// Behind all of the list.
    pub const UNLISTED: Self = Self { at: usize::MAX, below: 0 };
    /// Behind all tasks.
    pub const END: Self = Self { at: usize::MAX, below: usize::MAX };

    /// Of a task that is not in the list.
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

    /// Puts a task at the end of the list.
    pub fn add(&mut self, number: usize) -> Place {
        self.families.push(vec![number]);
        Place { at: self.families.len() - 1, below: 0 }
    }

    /// Puts a task below the one at this place. `None`: that is not in the list.
    pub fn add_below(&mut self, place: Place, number: usize) -> Option<Place> {
        let family = self.families.get_mut(place.at)?;
        family.push(number);
        Some(Place { below: family.len() - 1, ..place })
    }

    /// The places of a step; empty for one that is not there.
    pub fn of_step(&self, step: usize) -> Range<Place> {
        let start = |step: usize| match self.starts.get(step) {
            Some(at) => Place { at: *at, below: 0 },
            None => Place { at: self.families.len(), below: 0 },
        };
        start(step)..start(step.saturating_add(1))
    }

    /// Listed tasks at these places, in order.
    pub fn range(&self, places: Range<Place>) -> impl Iterator<Item = (Place, usize)> {
        let end = places.end.at.saturating_add(1).min(self.families.len());
        let families = self.families.get(places.start.at.min(end)..end).unwrap_or_default();
        let placed = families.iter().zip(places.start.at..).flat_map(|(family, at)| {
            family.iter().enumerate().map(move |(below, number)| (Place { at, below }, *number))
        });
        placed.filter(move |(place, _)| places.contains(place))
    }

    /// The task there, whether it is listed or not.
    pub fn number_at(&self, place: Place) -> Option<usize> {
        if place.at == Place::UNLISTED.at {
            return Some(place.below);
        }
        self.families.get(place.at)?.get(place.below).copied()
    }
}
