//! Validating the changes of a reply once more, against the files as they are under the project's lock (spec 3.10).

use callsheet_core::record::ChangeSet;
use callsheet_core::reply::task::read_write_execution;
use callsheet_core::reply::{Issue, ReadContext};
use callsheet_core::run::Run;
use callsheet_core::spec::{ExecRunId, Slug};

use super::read::{self, ShownFiles};
use super::{DriveFault, World, known};

/// The reply that a change set came from, with all that reading it needs of the run.
pub(super) struct Again {
    text: String,
    context: ReadContext,
}

impl Again {
    /// The reply behind a set; `None` if the set is not all of what one reply asked for: one that a person cut down, or
    /// one of a tool call, is never made anew from words.
    pub fn of(
        world: &World,
        run: &Run,
        slug: &Slug,
        exec: &ExecRunId,
        set: &ChangeSet,
    ) -> Result<Option<Self>, DriveFault> {
        let Some(task) = run.task(slug) else { return Ok(None) };
        let result = task.run(exec).and_then(|exec| exec.result.as_ref());
        if result.and_then(|result| result.changes.as_ref()) != Some(set) {
            return Ok(None);
        }
        let of_run =
            |key: &callsheet_core::record::CallKey| key.task.as_ref() == Some(slug) && key.run.as_ref() == Some(exec);
        let Some(record) = run.calls().iter().rev().find(|record| of_run(&record.key)) else { return Ok(None) };
        let shown: ShownFiles =
            serde_json::from_slice(&world.store.blob(&record.prompt)?).map_err(DriveFault::defect)?;
        let context = read::task_context(world, run, task, &shown, record.stop.is_cut())?;
        Ok(Some(Self { text: known::reply(world, &record.reply)?.text, context }))
    }

    /// The set that the reply gives now, or why it gives none.
    pub fn changes(mut self, world: &World) -> Result<Result<ChangeSet, Vec<Issue>>, DriveFault> {
        let reading = known::read_with(world, &self.text, &mut self.context, read_write_execution);
        if !reading.is_accepted() {
            return Ok(Err(reading.issues));
        }
        read::keep(world, &reading.value.edits)
    }
}
