//! Turns an accepted list into the fact that adopts it (spec 2.5, 2.11, 6.4, 11.1).

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{fill_names, folded};
use crate::nouns::{SkillPolicy, Slug, Task, TaskList};
use crate::record::{AdoptedList, PlannedTask};

/// A task of the run that the list may repeat.
#[derive(Clone, Copy, Debug)]
pub struct Former<'a> {
    /// The current task.
    pub task: &'a Task,
    /// Whether it has ended without output, or was removed. If it is listed, it is planned again.
    pub ended: bool,
}

/// What is needed to adopt a list.
#[derive(Clone, Copy, Debug)]
pub struct Adoption<'a> {
    /// Tasks that are not done.
    pub former: &'a [Former<'a>],
    /// Policies of all skills offered.
    pub skills: &'a BTreeMap<String, SkillPolicy>,
    /// Every slug that was ever assigned.
    pub taken: &'a BTreeSet<Slug>,
    /// Set if the list is a person's edit of the sheet (spec 2.18). Then every word of a task counts. Holds the tasks
    /// that appear as they ended.
    pub edit: Option<&'a BTreeSet<Slug>>,
}

/// Fills in missing names, marks the tasks that are unchanged, derives which tasks change files, and pins the policies
/// of the named skills.
pub fn adopt(list: &TaskList, adoption: &Adoption<'_>) -> AdoptedList {
    let mut list = list.clone();
    if list.tasks().any(|task| task.slug.as_str().is_empty()) {
        let open: Vec<&Task> = adoption.former.iter().map(|former| former.task).collect();
        fill_names(&mut list, &open, &[], adoption.taken);
    }
    let mut adopted = AdoptedList { goals: list.goals, ..AdoptedList::default() };
    for step in list.steps {
        adopted.steps.push(step.tasks.into_iter().map(|task| planned(task, adoption)).collect());
    }
    for name in adopted.steps.iter().flatten().filter_map(|planned| planned.task.skill.clone()) {
        if let Some(policy) = adoption.skills.get(&name) {
            adopted.skills.insert(name, policy.clone());
        }
    }
    adopted
}

fn planned(task: Task, adoption: &Adoption<'_>) -> PlannedTask {
    let same = adoption.former.iter().find(|former| {
        let words = |edit: &BTreeSet<Slug>| {
            let stays = !former.ended || edit.contains(&former.task.slug);
            stays && former.task.extra == task.extra && former.task.review == task.review
        };
        adoption.edit.map_or(!former.ended, words) && is_same(former.task, &task)
    });
    // The list form does not show tool calls, so an unchanged task keeps its own.
    let task = match same {
        Some(former) => Task { aliases: task.aliases, ..former.task.clone() },
        None => task,
    };
    let writer = writer(&task, adoption.skills);
    PlannedTask { unchanged: same.is_some(), writer, direct: false, task }
}

/// Whether two tasks are the same in everything that the list form shows.
fn is_same(former: &Task, task: &Task) -> bool {
    let targets = |task: &Task| task.references.iter().map(|link| link.target.clone()).collect::<Vec<_>>();
    former.slug == task.slug
        && former.name == task.name
        && former.skill == task.skill
        && folded(&former.need) == folded(&task.need)
        && folded(&former.expected) == folded(&task.expected)
        && former.approval == task.approval
        && former.for_each == task.for_each
        && targets(former) == targets(task)
        && (task.calls.is_empty() || task.calls == former.calls)
}

/// Whether two tasks ask for the same work: equal need, skill and references (spec 2.11).
pub fn is_same_work(one: &Task, other: &Task) -> bool {
    let targets = |task: &Task| task.references.iter().map(|link| link.target.clone()).collect::<BTreeSet<_>>();
    let per_item = one.for_each.is_some() == other.for_each.is_some();
    per_item && one.skill == other.skill && folded(&one.need) == folded(&other.need) && targets(one) == targets(other)
}

/// Why a task needs approval (spec 11.1). `None` if it only reads.
pub fn writer(task: &Task, skills: &BTreeMap<String, SkillPolicy>) -> Option<String> {
    let policy = task.skill.as_ref().and_then(|name| skills.get(name));
    policy
        .and_then(|policy| policy.writer.clone())
        .or_else(|| task.approval.then(|| Task::ASKS_FOR_APPROVAL.to_owned()))
}
