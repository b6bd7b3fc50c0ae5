//! The promises about a run with nothing outstanding.

use callsheet_core::record::Outcome;
use callsheet_core::run::Run;

use crate::checkers::Kept;

/// A run with nothing outstanding has ended or waits for a person. A complete run has nothing left to do.
///
/// # Errors
/// The run stalls, or ended too early.
pub fn nothing_outstanding_is_forgotten(run: &Run) -> Kept {
    let pending = run.tasks().any(|task| !task.state().is_ended());
    match run.outcome() {
        None => Err("nothing outstanding is forgotten: the run stalls".to_owned()),
        Some(Outcome::Complete | Outcome::Incomplete) if pending => {
            Err("nothing outstanding is forgotten: the run ended with pending tasks".to_owned())
        }
        // A tree may continue without failed parts. Its result says so.
        Some(Outcome::Complete)
            if run.operators().tree().is_none() && run.tasks().any(|task| task.state().is_problem()) =>
        {
            Err("nothing outstanding is forgotten: a complete run has a failed task".to_owned())
        }
        Some(_) => Ok(()),
    }
}
