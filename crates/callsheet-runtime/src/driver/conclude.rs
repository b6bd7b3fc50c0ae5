//! The end of a run.

use callsheet_core::record::{Event, Outcome};
use callsheet_core::run::Run;
use callsheet_core::view::report;

use crate::ports::Store;
use crate::runfiles::{RunFileFault, RunFiles};

use super::{DriveFault, World};

/// Writes the report and says how the run ended.
pub(crate) fn conclude(world: &World, run: &Run, outcome: Outcome) -> Result<Event, DriveFault> {
    let text = write_results(&*world.store, &world.files, run, outcome)?;
    Ok(Event::RunConcluded { outcome, report: world.store.put_blob(text.as_bytes())? })
}

/// Writes what a run gave into its folder. Returns the report.
pub(crate) fn write_results(
    store: &dyn Store,
    files: &RunFiles,
    run: &Run,
    outcome: Outcome,
) -> Result<String, DriveFault> {
    let values = |id: &callsheet_core::spec::BlobId| store.blob(id).ok();
    let result = callsheet_core::evaluate::result_of_run(run, &values);
    let text = report(run, outcome, result.as_ref());
    told(files.write_report(&text).map(drop));
    if let Some(result) = result {
        let json = serde_json::to_string_pretty(&result).map_err(DriveFault::defect)?;
        told(files.write_result(&json).map(drop));
    }
    Ok(text)
}

pub(crate) fn told(written: Result<(), RunFileFault>) {
    if let Err(fault) = written {
        tracing::warn!(%fault, "could not write a run file; the record has its content");
    }
}
