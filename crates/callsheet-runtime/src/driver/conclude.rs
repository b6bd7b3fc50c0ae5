//! The end of a run, and the files people read while it goes on. Run files are views of the log (spec 10.6): a view that
//! cannot be written is told once in the trace and harms nothing.

use std::collections::BTreeSet;

use callsheet_core::record::{Event, Outcome};
use callsheet_core::run::{Run, State, TaskRun};
use callsheet_core::spec::Slug;
use callsheet_core::view::report;

use crate::runfiles::RunFileFault;

use super::{DriveFault, World};

/// Writes the report and says how the run ended.
pub(super) fn conclude(world: &World, run: &Run, outcome: Outcome) -> Result<Event, DriveFault> {
    let text = report(run, outcome);
    told(world.files.write_report(&text).map(drop));
    Ok(Event::RunConcluded { outcome, report: world.store.put_blob(text.as_bytes())? })
}

/// Views that facts have changed since they were written. Writing them at every fact would take longer than the facts.
#[derive(Default)]
pub(super) struct StaleViews {
    sheet: bool,
    tasks: BTreeSet<Slug>,
}

impl StaleViews {
    /// Notes what a fact changes.
    pub fn note(&mut self, event: &Event) {
        let task = match event {
            Event::ListAdopted { .. }
            | Event::TaskRefined { .. }
            | Event::TaskRetried { .. }
            | Event::TaskDropped { .. } => None,
            Event::RunFinished { key, .. } => key.task.as_ref(),
            Event::RunsMerged { task, .. }
            | Event::ChangesApplied { task, .. }
            | Event::ChangesReverted { task, .. } => Some(task),
            _ => return,
        };
        self.sheet = true;
        self.tasks.extend(task.cloned());
    }

    /// Notes that the sheet is to be written.
    pub fn note_sheet(&mut self) {
        self.sheet = true;
    }

    /// Writes the task files as the run is now. True if the sheet is to be written, too.
    pub fn write(&mut self, world: &World, run: &Run) -> bool {
        for task in std::mem::take(&mut self.tasks).iter().filter_map(|slug| run.task(slug)) {
            write_task(world, task);
        }
        std::mem::take(&mut self.sheet) && run.has_list()
    }
}

/// All task files anew, on resume.
pub(super) fn rewrite_tasks(world: &World, run: &Run) {
    for task in run.tasks() {
        write_task(world, task);
    }
}

fn write_task(world: &World, task: &TaskRun) {
    let slug = &task.task.slug;
    let files = &world.files;
    let text = |blob| world.text(blob).unwrap_or_default();
    if task.runs.len() > 1 {
        for exec in &task.runs {
            if let Some(document) = exec.result.as_ref().and_then(|result| result.document.as_ref()) {
                told(files.write_run(slug, &exec.id, &text(document)).map(drop));
            }
        }
    }
    if let (State::Done, Some(result)) = (task.state, &task.result) {
        if let Some(document) = &result.document {
            told(files.write_task(slug, &text(document)).map(drop));
        }
        for detail in &result.details {
            if let Ok(content) = world.store.blob(&detail.blob) {
                told(files.write_detail(slug, &detail.filename, &content).map(drop));
            }
        }
    }
    let diffs: Vec<String> =
        task.applied.iter().filter(|set| !set.reverted).filter_map(|set| set.changes.diff.as_ref()).map(text).collect();
    if !diffs.is_empty() {
        told(files.write_diff(slug, &diffs.concat()).map(drop));
    }
}

pub(super) fn told(written: Result<(), RunFileFault>) {
    if let Err(fault) = written {
        tracing::warn!(%fault, "a run file was not written; the record holds its content");
    }
}
