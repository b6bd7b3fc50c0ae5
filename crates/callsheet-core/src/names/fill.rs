//! Fills in names and slugs for a whole list (spec 6.1, 6.3, 6.4).

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::{Slug, Task, TaskList};

use super::{default_name_from, free_name_from, is_taken, slug_of};

/// How a task's name changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameChange {
    /// The written name is unchanged.
    Kept,
    /// There was none.
    Filled,
    /// The name was in use, so a number was added.
    Numbered,
}

/// Gives every task its name and slug. A task that is one of `open` (outstanding or problem tasks) keeps that task's
/// slug. It is recognised by its name, or else if skill and need match exactly one of them (spec 6.4). A task with the
/// name of one of `dropped` is that task, put back. Written names are assigned before missing ones. Returns what was
/// done, in sheet order.
pub fn fill_names(list: &mut TaskList, open: &[&Task], dropped: &[&Task], taken: &BTreeSet<Slug>) -> Vec<NameChange> {
    let mut tasks: Vec<&mut Task> = list.tasks_mut().collect();
    let mut changes = vec![NameChange::Kept; tasks.len()];
    let mut used: BTreeSet<Slug> = taken.clone();
    used.extend(open.iter().map(|task| task.slug.clone()));
    let claimed = claims(&tasks, open, dropped);
    for (task, claim) in tasks.iter_mut().zip(&claimed) {
        if let Some(known) = claim {
            adopt(task, known, &mut used);
        }
    }
    // Where the search for a free number continues, by stem. Slugs are only ever added.
    let mut next: BTreeMap<String, u32> = BTreeMap::new();
    for ((task, claim), change) in tasks.iter_mut().zip(&claimed).zip(&mut changes) {
        if claim.is_none() && !task.name.is_empty() {
            let mut slug = slug_of(&task.name);
            if is_taken(&slug, &used) {
                let from = next.entry(format!("{} ()", task.name)).or_insert(2);
                let (name, free) = free_name_from(&task.name, &used, from);
                if name != task.name {
                    *change = NameChange::Numbered;
                }
                (task.name, slug) = (name, free);
            }
            used.insert(slug.clone());
            task.slug = slug;
        }
    }
    for ((task, claim), change) in tasks.iter_mut().zip(&claimed).zip(&mut changes) {
        if claim.is_none() && task.name.is_empty() {
            let from = next.entry(task.skill.clone().unwrap_or_default()).or_insert(1);
            let (name, slug) = default_name_from(task.skill.as_deref(), &used, from);
            *change = NameChange::Filled;
            used.insert(slug.clone());
            task.name = name;
            task.slug = slug;
        }
    }
    changes
}

/// The known task for each task of a list.
fn claims<'a>(tasks: &[&mut Task], open: &[&'a Task], dropped: &[&'a Task]) -> Vec<Option<&'a Task>> {
    let mut claimed: Vec<Option<&Task>> = vec![None; tasks.len()];
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for (task, claim) in tasks.iter().zip(claimed.iter_mut()) {
        let at = by_name(task, open).filter(|at| gone.insert(*at));
        *claim = at.and_then(|at| open.get(at)).copied();
    }
    let mut back: BTreeSet<usize> = BTreeSet::new();
    for (task, claim) in tasks.iter().zip(claimed.iter_mut()).filter(|(_, claim)| claim.is_none()) {
        let at = by_name(task, dropped).filter(|at| back.insert(*at));
        *claim = at.and_then(|at| dropped.get(at)).copied();
    }
    let needs: Vec<String> = open.iter().map(|known| folded(&known.need)).collect();
    for (task, claim) in tasks.iter().zip(claimed.iter_mut()).filter(|(_, claim)| claim.is_none()) {
        if gone.len() < open.len() {
            let at = by_content(task, open, &needs, &gone);
            gone.extend(at);
            *claim = at.and_then(|at| open.get(at)).copied();
        }
    }
    claimed
}

fn by_name(task: &Task, open: &[&Task]) -> Option<usize> {
    if task.name.is_empty() || open.is_empty() {
        return None;
    }
    let slug = slug_of(&task.name);
    open.iter()
        .position(|known| known.slug == slug || known.name == task.name)
        .or_else(|| open.iter().position(|known| known.aliases.contains(&slug)))
}

/// The only open task with this skill and need that is not assigned to another task (`gone`). `needs` are the folded
/// needs.
fn by_content(task: &Task, open: &[&Task], needs: &[String], gone: &BTreeSet<usize>) -> Option<usize> {
    let wanted = folded(&task.need);
    let mut fitting = open
        .iter()
        .zip(needs)
        .enumerate()
        .filter(|(at, (known, need))| !gone.contains(at) && known.skill == task.skill && **need == wanted);
    let (at, _) = fitting.next()?;
    fitting.next().is_none().then_some(at)
}

/// Takes the slug of the known task. A new name becomes an alias, so that references by it are valid.
fn adopt(task: &mut Task, known: &Task, used: &mut BTreeSet<Slug>) {
    task.slug = known.slug.clone();
    task.aliases.clone_from(&known.aliases);
    if task.name.is_empty() {
        task.name.clone_from(&known.name);
        return;
    }
    let slug = slug_of(&task.name);
    if slug != task.slug && !used.contains(&slug) && !task.aliases.contains(&slug) {
        used.insert(slug.clone());
        task.aliases.push(slug);
    }
}

/// A text with all blanks folded, for comparing without regard to line breaks.
pub fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
