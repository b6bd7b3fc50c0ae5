//! The end of a run.

use callsheet_core::record::{Event, Outcome};
use callsheet_core::run::Run;
use callsheet_core::view::report;

use crate::runfiles::RunFileFault;

use super::{DriveFault, World};

/// Writes the report and says how the run ended.
pub(super) fn conclude(world: &World, run: &Run, outcome: Outcome) -> Result<Event, DriveFault> {
    let values = |id: &callsheet_core::spec::BlobId| world.store.blob(id).ok();
    let result = callsheet_core::evaluate::result_of_run(run, &values);
    let text = report(run, outcome, result.as_ref());
    told(world.files.write_report(&text).map(drop));
    if let Some(result) = result {
        let json = serde_json::to_string_pretty(&result).map_err(DriveFault::defect)?;
        told(world.files.write_result(&json).map(drop));
    }
    Ok(Event::RunConcluded { outcome, report: world.store.put_blob(text.as_bytes())? })
}

pub(super) fn told(written: Result<(), RunFileFault>) {
    if let Err(fault) = written {
        tracing::warn!(%fault, "a run file was not written; the record holds its content");
    }
}
