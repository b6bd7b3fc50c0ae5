//! Evaluates a task of a tree: pure work in core, with the blobs that it reads and creates.

use callsheet_core::evaluate::{Memory, evaluate_with};
use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::run::{EvalPhase, Run};
use callsheet_format::template::TextFormats;

use crate::fault::DriveFault;
use crate::services::Services;

pub(super) fn evaluate(
    services: &Services,
    run: &Run,
    task: &Slug,
    n: u32,
    phase: EvalPhase,
    memory: &mut Memory,
) -> Result<Event, DriveFault> {
    let values = |id: &BlobId| services.store.blob(id).ok();
    let evaluation = evaluate_with(run, task, phase, &values, &TextFormats, memory).map_err(DriveFault::Defect)?;
    for bytes in evaluation.blobs {
        services.store.stage_blob(bytes);
    }
    Ok(events::Evaluated { task: task.clone(), n, step: evaluation.step }.into())
}
