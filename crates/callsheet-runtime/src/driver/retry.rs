//! What a task uses that is retried or has not begun: its skill in the current version (spec 2.18).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::events::{self, LogEntry};
use callsheet_core::nouns::{SkillPolicy, Slug};
use callsheet_core::run::{Run, State, TaskRun};
use callsheet_format::skill::SkillSeverity;

use crate::skills::LoadedSkills;

use crate::driver::template_files;
use crate::fault::DriveFault;
use crate::services::Services;

/// Pins skills again if their text has changed, for tasks that come back or ended without output, so that these run with
/// the new text. Reports the change for every task that comes back. If a skill no longer exists, that is reported too,
/// and the task keeps the old text.
pub(crate) fn changed_skills(
    services: &Services,
    run: &Run,
    asked: &[Slug],
) -> Result<BTreeMap<String, SkillPolicy>, DriveFault> {
    let mut back = coming_back(run, asked);
    // One item is repeated with the text that all items of its list have.
    let parts = asked.iter().filter_map(|slug| run.operators().get(slug));
    let lists: BTreeSet<&Slug> = parts.filter_map(|part| run.operators().lister(part)).map(|list| &list.task).collect();
    let lists: Vec<&TaskRun> =
        lists.into_iter().filter(|list| back.remove(*list)).filter_map(|list| run.task(list)).collect();
    tell_of_kept(services, run, &lists)?;
    let is_back = |task: &TaskRun| back.contains(&task.task.slug);
    changed(services, run, |task| is_without(task) || is_back(task), is_back, "the retry uses")
}

/// Tells about lists of which single items are repeated and whose skill has changed since.
fn tell_of_kept(services: &Services, run: &Run, lists: &[&TaskRun]) -> Result<(), DriveFault> {
    if lists.is_empty() {
        return Ok(());
    }
    let loaded = services.skills(run.settings());
    for list in lists {
        let now = list.task.skill.as_ref().and_then(|name| loaded.catalog.get(name));
        let Some(now) = now else { continue };
        if services.pinned(list.skill.as_ref())? != *now {
            let (name, slug) = (&now.name, &list.task.slug);
            let id = run.id().map(ToString::to_string).unwrap_or_default();
            services.notice(&format!(
                "note: the skill {name} has changed; a single item keeps the version that its list has: `callsheet retry {id} {slug}` runs all items with the current one"
            ));
        }
    }
    Ok(())
}

/// Pins skills again if their text has changed while the run rested, for tasks that have not begun. Reports each.
pub(crate) fn edited_skills(services: &Services, run: &Run) -> Result<BTreeMap<String, SkillPolicy>, DriveFault> {
    changed(services, run, TaskRun::is_to_begin, TaskRun::is_to_begin, "tasks that have not started use")
}

/// The current policies of the skills of some tasks, where they changed. `told` names the tasks for which the change is
/// reported, and `who` uses the current version.
fn changed(
    services: &Services,
    run: &Run,
    which: impl Fn(&TaskRun) -> bool,
    told: impl Fn(&TaskRun) -> bool,
    who: &str,
) -> Result<BTreeMap<String, SkillPolicy>, DriveFault> {
    let mut changed = BTreeMap::new();
    let mut notices: BTreeMap<&String, String> = BTreeMap::new();
    let mut loaded = None;
    for task in run.tasks().filter(|task| which(task)) {
        let Some(name) = task.task.skill.as_ref() else { continue };
        let loaded = loaded.get_or_insert_with(|| services.skills(run.settings()));
        let line = match loaded.catalog.get(name) {
            // Only limits of the template changed, and those apply already.
            Some(_) if template_files::still_hold(services, run, task) => continue,
            Some(now) if task.skill.is_none() || services.pinned(task.skill.as_ref())? != *now => {
                if !changed.contains_key(name) {
                    changed.insert(name.clone(), services.pin(now, loaded)?);
                }
                format!("note: the skill {name} has changed; {who} its current version")
            }
            Some(_) => continue,
            None if task.skill.is_none() => continue,
            None => lost(services, loaded, task, name)?,
        };
        if told(task) {
            notices.insert(name, line);
        }
    }
    notices.values().for_each(|line| services.notice(line));
    Ok(changed)
}

/// Tasks that a retry of `asked` plans again: these, those that they blocked, and those that read their results.
fn coming_back(run: &Run, asked: &[Slug]) -> BTreeSet<Slug> {
    let mut after = run.clone();
    for slug in asked {
        let event = events::TaskRetried { task: slug.clone(), skills: BTreeMap::new(), because: String::new() }.into();
        // A task that came back together with another is refused here, and is already back.
        let _refused = after.apply(&LogEntry::new(after.last_fact() + 1, after.now_ms(), event));
    }
    let ended = run.tasks().filter(|task| task.state().is_ended());
    let back = ended.filter(|task| after.task(&task.task.slug).is_some_and(|now| !now.state().is_ended()));
    back.map(|task| task.task.slug.clone()).chain(asked.iter().cloned()).collect()
}

/// Why a pinned skill is no longer available.
fn lost(services: &Services, loaded: &LoadedSkills, task: &TaskRun, name: &str) -> Result<String, DriveFault> {
    let path = services.pinned(task.skill.as_ref())?.source.path;
    let fault = loaded.issues.iter().find(|issue| issue.severity == SkillSeverity::Error && issue.file == path);
    let why = fault.map_or_else(|| "no longer exists".to_owned(), |issue| format!("is not usable now: {issue}"));
    Ok(format!("note: the skill {name} {why}; the run uses its previous version"))
}

/// Whether it ended without output, or was removed.
fn is_without(task: &TaskRun) -> bool {
    task.state().is_problem() || task.state() == State::Dropped
}
