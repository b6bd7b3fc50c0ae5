//! What tasks provide to others that refer to them, and how each is found. A reference costs the same in a sheet of any
//! size, and so does a changed task.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::nouns::{Slug, Task};

use super::making::{Making, files_of};

/// A task whose output can be read.
#[derive(Clone, Debug, Default)]
pub struct Producer {
    /// Its slug. `None` until names are filled in.
    pub slug: Option<Slug>,
    /// Former slugs (spec 6.4).
    pub aliases: Vec<Slug>,
    /// 0-based step in the checked list. `None` for finished tasks outside it.
    pub step: Option<u32>,
    /// Its output exists.
    pub done: bool,
    /// Whether it may change files.
    pub writer: bool,
    /// Paths that the task names, if it may change files.
    pub files: Vec<String>,
    /// Heading keys of its document.
    pub headings: Vec<String>,
    /// Its details files.
    pub details: Vec<String>,
    /// Tokens of its document.
    pub tokens: u32,
    /// Slug of the written name, if several tasks have the same one (`reference-ambiguous`).
    pub repeated: Option<Slug>,
}

/// Tasks whose outputs can be read, by number, with indexes.
#[derive(Clone, Debug, Default)]
pub struct Producers {
    list: Vec<Option<Producer>>,
    by_slug: BTreeMap<Slug, BTreeSet<usize>>,
    by_alias: BTreeMap<Slug, BTreeSet<usize>>,
    /// Those whose names begin with a number, by that beginning.
    numbered: BTreeMap<Slug, BTreeSet<usize>>,
    /// How many tasks were written with each name.
    written: BTreeMap<Slug, usize>,
    /// Steps with the number of their tasks.
    steps: BTreeMap<u32, usize>,
    /// What unfinished tasks may create.
    making: Making,
}

impl FromIterator<Producer> for Producers {
    fn from_iter<T: IntoIterator<Item = Producer>>(list: T) -> Self {
        let mut producers = Self::default();
        for (at, producer) in list.into_iter().enumerate() {
            producers.put(at, Some(producer));
        }
        producers
    }
}

impl Producers {
    /// Replaces the task with this number. `None` means that nothing refers to it any more.
    pub fn put(&mut self, at: usize, producer: Option<Producer>) {
        if self.list.len() <= at {
            self.list.resize(at + 1, None);
        }
        let Some(place) = self.list.get_mut(at) else { return };
        let former = std::mem::replace(place, producer.clone());
        former.iter().for_each(|former| self.count(at, former, false));
        producer.iter().for_each(|producer| self.count(at, producer, true));
    }

    fn count(&mut self, at: usize, task: &Producer, more: bool) {
        if let Some(slug) = &task.slug {
            place(&mut self.by_slug, slug, at, more);
        }
        for alias in &task.aliases {
            place(&mut self.by_alias, alias, at, more);
        }
        if let Some(start) = task.slug.as_ref().and_then(numbered_start) {
            place(&mut self.numbered, &start, at, more);
        }
        if let Some(slug) = &task.repeated {
            let count = self.written.entry(slug.clone()).or_default();
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
        }
        let Some(step) = task.step else { return };
        let count = self.steps.entry(step).or_default();
        *count = if more { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.steps.remove(&step);
        }
        if task.writer && !task.done {
            if more { self.making.add(step, &task.files) } else { self.making.remove(step, &task.files) }
        }
    }

    /// By number.
    pub fn get(&self, at: usize) -> Option<&Producer> {
        self.list.get(at)?.as_ref()
    }

    /// All tasks with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Producer)> {
        self.list.iter().enumerate().filter_map(|(at, producer)| Some((at, producer.as_ref()?)))
    }

    /// How many numbers were assigned.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no number was assigned.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Number of steps of the list that contain tasks.
    pub fn sections(&self) -> u32 {
        self.steps.last_key_value().map_or(0, |(last, _)| last.saturating_add(1))
    }

    /// The number of the task with this slug or alias. `task-3` is enough for `Task 3: Find the log`, if no other name
    /// begins like this.
    pub fn at(&self, slug: &Slug) -> Option<usize> {
        let first = |places: Option<&BTreeSet<usize>>| places.and_then(BTreeSet::first).copied();
        let named = first(self.by_slug.get(slug)).or_else(|| first(self.by_alias.get(slug)));
        named.or_else(|| first(self.numbered.get(slug).filter(|tasks| tasks.len() == 1)))
    }

    /// Whether several tasks were written with this name.
    pub fn is_repeated(&self, slug: &Slug) -> bool {
        self.written.get(slug).is_some_and(|count| *count > 1)
    }

    /// Whether a task of an earlier step may create a path.
    pub fn may_make(&self, path: &str, directory: bool, step: u32) -> bool {
        self.making.may(path, directory, step)
    }
}

fn place(places: &mut BTreeMap<Slug, BTreeSet<usize>>, slug: &Slug, at: usize, more: bool) {
    if more {
        places.entry(slug.clone()).or_default().insert(at);
    } else if let Some(tasks) = places.get_mut(slug) {
        tasks.remove(&at);
        if tasks.is_empty() {
            places.remove(slug);
        }
    }
}

/// `task-3` of `task-3-find-the-log`.
pub(crate) fn numbered_start(slug: &Slug) -> Option<Slug> {
    let rest = slug.as_str().strip_prefix("task-")?;
    let (number, _) = rest.split_once('-')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| Slug::new(format!("task-{number}")))
}

/// Paths in a task's name, need and expected output.
pub fn named_files(task: &Task) -> Vec<String> {
    [&task.name, &task.need, &task.expected].into_iter().flat_map(|text| files_of(text)).collect()
}
