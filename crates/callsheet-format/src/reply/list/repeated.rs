//! Tasks that say what another one says: with equal need, skill and references they are one task under any name, unless
//! another task may write between them (spec 2.11).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::issue::{RepairCode, Span};
use callsheet_core::names::{folded, slug_of};
use callsheet_core::spec::{Slug, Target, Task};

use crate::reading::{Diagnostics, KnownTask, ReadContext};

use super::steps::Steps;
use super::task::Draft;

/// Skill and need.
type Says = (Option<String>, String);

/// Takes out tasks that repeat one before them in the list. Who refers to them refers to the first.
pub fn merge(steps: Steps, context: &ReadContext, notes: &mut Diagnostics) -> Steps {
    let mut firsts: BTreeMap<(Says, String, String), First> = BTreeMap::new();
    let mut writers: Vec<usize> = Vec::new();
    let mut merged: Vec<(Span, String, String)> = Vec::new();
    let mut kept: Steps = Vec::new();
    for step in steps {
        let number = writers.len();
        writers.push(step.iter().filter(|draft| writes(draft, context)).count());
        let mut tasks: Vec<Draft> = Vec::new();
        for draft in step {
            let links: Vec<&str> = draft.references.iter().map(|(value, _)| value.as_str()).collect();
            let key = (says(&draft.task), folded(&links.join(" ")), calls(&draft.task));
            let between = |first: &First| writers.get(first.step..number).into_iter().flatten().sum::<usize>();
            let first = firsts.get(&key).filter(|first| between(first) <= usize::from(first.writes));
            let Some(first) = first.filter(|_| !draft.task.need.is_empty()) else {
                let place = (kept.len(), tasks.len());
                firsts.insert(key, First { step: number, place, writes: writes(&draft, context) });
                tasks.push(draft);
                continue;
            };
            let (step, task) = first.place;
            let of_step = if step == kept.len() { Some(&mut tasks) } else { kept.get_mut(step) };
            if let Some(first) = of_step.and_then(|tasks| tasks.get_mut(task)) {
                merged.push((draft.span, draft.task.name.clone(), first.task.name.clone()));
                stand_for(first, &draft.task);
            }
        }
        if !tasks.is_empty() {
            kept.push(tasks);
        }
    }
    note(merged, notes);
    kept
}

/// The first task of several that say the same.
struct First {
    /// Of the list as written.
    step: usize,
    /// Step and task of those that are kept.
    place: (usize, usize),
    writes: bool,
}

/// Who refers to a task that is taken out refers to the first.
fn stand_for(first: &mut Draft, gone: &Task) {
    if first.task.name.is_empty() {
        first.task.name.clone_from(&gone.name);
    } else if !gone.name.is_empty() {
        first.merged.push(slug_of(&gone.name));
    }
}

fn note(mut merged: Vec<(Span, String, String)>, notes: &mut Diagnostics) {
    merged.sort();
    let spans: Vec<Span> = merged.iter().map(|(span, ..)| *span).collect();
    notes.retract(&spans);
    for (span, gone, first) in &merged {
        notes.set_task(Some(gone));
        notes.repair(RepairCode::EchoDropped, *span, gone, first);
    }
    notes.set_task(None);
}

/// Finished tasks that a list repeats under another name.
#[derive(Default)]
pub struct Finished<'a> {
    done: BTreeMap<Says, Vec<&'a KnownTask>>,
    /// Tasks of the run that may write.
    writers: BTreeSet<&'a Slug>,
    /// Slugs of tasks that were taken out, with those of the tasks that they are.
    gone: BTreeMap<Slug, Slug>,
    merged: Vec<(Span, String, String)>,
}

impl<'a> Finished<'a> {
    pub fn of(context: &'a ReadContext) -> Self {
        let mut finished = Self::default();
        for known in &context.tasks {
            if known.done {
                finished.done.entry(says(&known.task)).or_default().push(known);
            }
            if known.writer {
                finished.writers.insert(&known.task.slug);
            }
        }
        finished
    }

    /// Whether the task, its references read, is a finished one. `written`: tasks before it in the list may write.
    pub fn take(&mut self, draft: &mut Draft, written: bool) -> bool {
        if self.done.is_empty() {
            return false;
        }
        for reference in &mut draft.task.references {
            if let Target::TaskOutput { slug, .. } | Target::TaskDetail { slug, .. } = &mut reference.target
                && let Some(first) = self.gone.get(slug)
            {
                slug.clone_from(first);
            }
        }
        let wanted = targets(&draft.task);
        let same = |known: &&&KnownTask| {
            let others = self.writers.len() > usize::from(self.writers.contains(&known.task.slug));
            let calls_it = draft.task.calls.is_empty() || calls(&known.task) == calls(&draft.task);
            !others && !written && calls_it && targets(&known.task) == wanted
        };
        let Some(known) = self.done.get(&says(&draft.task)).into_iter().flatten().find(same) else { return false };
        let (slug, name) = (known.task.slug.clone(), known.task.name.clone());
        self.merged.push((draft.span, draft.task.name.clone(), name));
        self.gone.insert(draft.task.slug.clone(), slug);
        true
    }

    pub fn note(self, notes: &mut Diagnostics) {
        note(self.merged, notes);
    }
}

fn says(task: &Task) -> Says {
    (task.skill.clone(), folded(&task.need))
}

/// The tool calls that it brings, without their ids.
fn calls(task: &Task) -> String {
    let words = task.calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
    words.collect::<Vec<_>>().join("\n")
}

fn targets(task: &Task) -> BTreeSet<&Target> {
    task.references.iter().map(|reference| &reference.target).collect()
}

/// Whether the task may change files.
pub fn writes(draft: &Draft, context: &ReadContext) -> bool {
    let skill = context.catalog.iter().find(|skill| Some(&skill.name) == draft.task.skill.as_ref());
    draft.task.approval || skill.is_some_and(|skill| skill.policy.writer.is_some())
}
