//! Handles templates of a run whose files changed since: their limits apply, other changes are only reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::events;
use callsheet_core::nouns::{BlobId, RunId, TaskLimits};
use callsheet_core::record::{Outcome, Tree};
use callsheet_core::run::{Run, TaskRun};
use callsheet_core::template::Template;
use callsheet_format::template::{Known, read_file_with};

use crate::driver::session::Session;
use crate::fault::DriveFault;
use crate::paths::read_regular;
use crate::services::Services;

/// Applies changed limits of the run's templates from now on. What the old limits had ended begins again.
pub(super) fn apply_changed_limits(
    session: &mut Session,
    services: &Services,
    ended: Option<Outcome>,
) -> Result<(), DriveFault> {
    let limits = changed_limits(services, session.run());
    if limits.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = limits.keys().map(String::as_str).collect();
    services.notice(&format!("note: the limits of {} changed and apply from now on", names.join(", ")));
    session.record(services, vec![events::LimitsChanged { limits }.into()])?;
    let of_template = ended == Some(Outcome::LimitReached) && session.run().operators().tree().is_some();
    let failed = if of_template { session.run().failed() } else { Vec::new() };
    let failed = failed.into_iter().chain(session.run().failed_by_limits_of_calls());
    let retried = |task| events::TaskRetried { task, skills: BTreeMap::new() }.into();
    let events = failed.map(retried).collect();
    session.record(services, events)?;
    Ok(())
}

/// Whether the files still contain the templates that a task calls as they are in the record. Its calls then continue
/// with what they have.
pub(super) fn still_hold(services: &Services, run: &Run, task: &TaskRun) -> bool {
    let mounts: Vec<usize> = task.runs.iter().flat_map(|exec| &exec.calls).filter_map(|call| call.mount).collect();
    let trees = mounts.iter().filter_map(|mount| run.operators().tree_of(run.operators().top_of(*mount)?));
    let holds = |tree: &Arc<Tree>| {
        let used = used_files(run, tree);
        tree.sources.keys().filter(|file| used.contains(file.as_str())).all(|file| {
            let now = read_regular(&services.workspace.root().join(file));
            now.is_ok_and(|bytes| says_the_same(services, tree, file, &bytes))
        })
    };
    !mounts.is_empty() && trees.into_iter().all(holds)
}

/// Limits, by name, of recorded templates in which nothing else changed.
fn changed_limits(services: &Services, run: &Run) -> BTreeMap<String, Vec<TaskLimits>> {
    let mut changed = BTreeMap::new();
    let sources = run.operators().trees().flat_map(|tree| tree.sources.iter().map(move |source| (tree, source)));
    for (tree, (file, hash)) in sources {
        let Ok(bytes) = read_regular(&services.workspace.root().join(file)) else { continue };
        if BlobId::of(&bytes) == *hash {
            continue;
        }
        for now in templates_now(services, file, &bytes) {
            let Some(then) = tree.templates.get(&now.name).filter(|then| then.origin.file == *file) else { continue };
            let limits: Vec<TaskLimits> = now.body.walk().into_iter().map(|node| node.limits.clone()).collect();
            let mut with_them = then.clone();
            with_them.body.set_limits(&mut limits.iter().cloned());
            if *then != now && with_them == now {
                changed.insert(now.name.clone(), limits);
            }
        }
    }
    changed
}

/// Reports which template files have changed since they were read. The recorded tree runs.
pub(super) fn report_edited_templates(services: &Services, run: &Run) {
    let mut reported = BTreeSet::new();
    for tree in run.operators().trees() {
        let used = used_files(run, tree);
        for (file, hash) in tree.sources.iter().filter(|(file, _)| used.contains(file.as_str())) {
            let now = read_regular(&services.workspace.root().join(file));
            let same = now.as_ref().is_ok_and(|bytes| says_the_same(services, tree, file, bytes));
            let changed = now.map(|bytes| BlobId::of(&bytes)).ok().as_ref() != Some(hash) && !same;
            if changed && reported.insert(file) {
                let id = run.id().map_or("RUN", RunId::as_str);
                let name = &tree.entry;
                let again = run.operators().tree().map(|_| {
                    format!("; to run the new one and pay only for what changed: callsheet template run {name} … --reuse {id}")
                });
                services.notice(&format!(
                    "note: {file} changed after this run started; the run uses the previous version{}",
                    again.unwrap_or_default()
                ));
            }
        }
    }
}

/// The templates that a file holds now.
fn templates_now(services: &Services, file: &str, bytes: &[u8]) -> Vec<Template> {
    read_file_with(file, bytes, &Known { specs: services.tool_specs(), ..Known::default() }).templates
}

/// Whether a file still contains its recorded templates unchanged.
fn says_the_same(services: &Services, tree: &Tree, file: &str, bytes: &[u8]) -> bool {
    let now = templates_now(services, file, bytes);
    let mut recorded = tree.templates.values().filter(|then| then.origin.file == file);
    recorded.all(|then| now.iter().any(|now| now.name == then.name && now == then))
}

/// Files of the templates with which the run began, and of those that its subtasks ran.
fn used_files<'a>(run: &'a Run, tree: &'a Tree) -> BTreeSet<&'a str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = run.operators().iter().map(|op| op.template.as_str()).collect();
    open.push(&tree.entry);
    let mut files = BTreeSet::new();
    while let Some(name) = open.pop() {
        let Some(template) = tree.templates.get(name).filter(|_| seen.insert(name)) else { continue };
        files.insert(template.origin.file.as_str());
        open.extend(template.body.walk().into_iter().filter_map(|node| node.template.as_deref()));
    }
    files
}
