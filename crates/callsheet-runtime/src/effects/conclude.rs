//! The end of a run.

use callsheet_core::events::{self, Event};
use callsheet_core::record::Outcome;
use callsheet_core::run::Run;
use callsheet_core::view::report;

use crate::ports::Store;
use crate::runfiles::{RunFiles, trace_fault};

use crate::fault::DriveFault;
use crate::services::Services;

/// Writes the report and records how the run ended.
pub(crate) fn conclude(services: &Services, run: &Run, outcome: Outcome) -> Result<Event, DriveFault> {
    let text = write_results(&*services.store, &services.files, run, outcome)?;
    Ok(events::RunConcluded { outcome, report: services.store.put_blob(text.as_bytes())? }.into())
}

/// Writes the results of a run into its folder. Returns the report.
pub(crate) fn write_results(
    store: &dyn Store,
    files: &RunFiles,
    run: &Run,
    outcome: Outcome,
) -> Result<String, DriveFault> {
    let values = |id: &callsheet_core::nouns::BlobId| store.blob(id).ok();
    let result = callsheet_core::evaluate::result_of_run(run, &values);
    let text = report(run, Some(outcome), result.as_ref());
    trace_fault(files.write_report(&text).map(drop));
    if let Some(result) = result {
        let json = serde_json::to_string_pretty(&result).map_err(DriveFault::defect)?;
        trace_fault(files.write_result(&json).map(drop));
    }
    Ok(text)
}
