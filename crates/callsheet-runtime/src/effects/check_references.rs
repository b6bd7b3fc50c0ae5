//! Checks whether the references of a task hold now (spec 2.8, 2.12).

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{Settings, Slug};
use callsheet_core::record::{Apart, ReferenceStage};
use callsheet_core::run::Run;

use crate::fault::DriveFault;
use crate::prompting::run_texts::Texts;
use crate::prompting::task_references;
use crate::references::{Checked, Level, Request, check};
use crate::services::Services;

/// Whether the references of a task hold now (spec 2.8, 2.12).
pub(crate) fn check_references(
    services: &Services,
    run: &Run,
    task: &Slug,
    n: u32,
    stage: ReferenceStage,
) -> Result<Event, DriveFault> {
    let owner = run.task(task).ok_or_else(|| DriveFault::defect("a check of an unknown task"))?;
    let settings: &Settings = run.settings();
    let wanted = task_references::execution_references(run, owner);
    let restricted = run.no_longer_relevant().iter().cloned().collect();
    let (allowance, first_picture) = task_references::execution_allowance(services, run, owner);
    let request = Request {
        references: &wanted,
        level: Level::Whole,
        allowance,
        task: Some(&owner.task.name),
        need: &owner.task.need,
        writer_before: run.has_writer_before(task),
        restricted: &restricted,
        first_picture,
    };
    let texts = Texts::of(services, run, &wanted);
    let Checked { issues, contents, tokens } = check(&request, &texts.sources(services, settings.allow_http));
    let fits = tokens <= u64::from(allowance.prompt);
    let apart = (owner.needs_room() && !fits).then_some(Apart { tokens, most: allowance.prompt });
    Ok(events::ReferencesChecked { task: task.clone(), n, stage, issues, contents, apart }.into())
}
