//! Tasks that repeat another one: tasks with equal need, skill and references are one task under any name, unless
//! another task may change files between them (spec 2.11).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::issue::{RepairCode, Span};
use callsheet_core::names::folded;
use callsheet_core::nouns::{Slug, Target, Task};

use crate::reading::{Diagnostics, KnownTask, ReadContext};

use super::task::Draft;

/// Skill, need, whether it is done for each item, and references.
type Says = (Option<String>, String, bool, BTreeSet<Target>);

/// Tasks of a reply and finished tasks, by what they say. Repetitions are removed.
#[derive(Default)]
pub struct Repeated<'a> {
    /// Finished tasks.
    done: BTreeMap<Says, &'a KnownTask>,
    /// Tasks of the run that may change files.
    writers: BTreeSet<&'a Slug>,
    /// Tasks of the list.
    firsts: BTreeMap<Says, First>,
    /// Number of tasks of each step that may change files.
    writing: Vec<usize>,
    /// Slugs of removed tasks, each with the slug of the task that it repeats.
    gone: BTreeMap<Slug, Slug>,
    merged: Vec<(Span, String, String)>,
}

/// The first of several tasks that say the same.
struct First {
    step: usize,
    writes: bool,
    slug: Slug,
    name: String,
}

impl<'a> Repeated<'a> {
    pub fn of(context: &'a ReadContext) -> Self {
        let mut repeated = Self::default();
        for known in context.tasks.iter() {
            if known.done {
                repeated.done.entry(says(&known.task)).or_insert(known);
            }
            if known.writer {
                repeated.writers.insert(&known.task.slug);
            }
        }
        repeated
    }

    /// Begins the next step of the list.
    pub fn begin(&mut self, step: &[Draft], context: &ReadContext) {
        self.writing.push(step.iter().filter(|draft| writes(draft, context)).count());
    }

    /// Whether a task of that step, after its references are read, repeats another one. References to it then mean the
    /// other one.
    pub fn take(&mut self, draft: &mut Draft, context: &ReadContext) -> bool {
        for reference in &mut draft.task.references {
            if let Target::TaskOutput { slug, .. } | Target::TaskDetail { slug, .. } = &mut reference.target
                && let Some(first) = self.gone.get(slug)
            {
                slug.clone_from(first);
            }
        }
        let (key, step) = (says(&draft.task), self.writing.len().saturating_sub(1));
        let Some((slug, name)) = self.same(&key, step) else {
            let (slug, name) = (draft.task.slug.clone(), draft.task.name.clone());
            self.firsts.insert(key, First { step, writes: writes(draft, context), slug, name });
            return false;
        };
        self.merged.push((draft.span, draft.task.name.clone(), name));
        self.gone.insert(draft.task.slug.clone(), slug);
        true
    }

    /// The task that says this, if no other task may change files after it and before this step.
    fn same(&self, key: &Says, step: usize) -> Option<(Slug, String)> {
        if key.1.is_empty() {
            return None;
        }
        let written = |from: usize| self.writing.get(from..step).into_iter().flatten().sum::<usize>();
        let first = self.firsts.get(key).filter(|first| written(first.step) <= usize::from(first.writes));
        if let Some(first) = first {
            return Some((first.slug.clone(), first.name.clone()));
        }
        let alone = |known: &&&KnownTask| {
            self.writers.len() <= usize::from(self.writers.contains(&known.task.slug)) && written(0) == 0
        };
        self.done.get(key).filter(alone).map(|known| (known.task.slug.clone(), known.task.name.clone()))
    }

    /// Notes what was removed.
    pub fn note(mut self, notes: &mut Diagnostics) {
        self.merged.sort();
        let spans: Vec<Span> = self.merged.iter().map(|(span, ..)| *span).collect();
        notes.retract(&spans);
        for (span, gone, first) in &self.merged {
            notes.set_task(Some(gone));
            notes.repair(RepairCode::EchoDropped, *span, gone, first);
        }
        notes.set_task(None);
    }
}

fn says(task: &Task) -> Says {
    let targets = task.references.iter().map(|reference| reference.target.clone());
    (task.skill.clone(), folded(&task.need), task.for_each.is_some(), targets.collect())
}

/// Whether the task may change files.
pub fn writes(draft: &Draft, context: &ReadContext) -> bool {
    let skill = context.catalog.iter().find(|skill| Some(&skill.name) == draft.task.skill.as_ref());
    draft.task.approval || skill.is_some_and(|skill| skill.policy.writer.is_some())
}
