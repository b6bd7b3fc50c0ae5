//! Names of new runs.

use std::sync::Arc;

use callsheet_core::nouns::RunId;
use callsheet_core::view::civil;
use callsheet_runtime::driver::Session;
use callsheet_runtime::fault::DriveFault;
use callsheet_runtime::ports::{Store, StoreFault};

use crate::refusal::Refusal;

/// The name of a new run: the date, the time and a few words of the request.
pub fn run_name(request: &str, now_ms: u64) -> String {
    let (year, month, day, seconds) = civil(now_ms);
    let clock = format!("{:02}{:02}{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let words: String = request
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(3)
        .map(|word| word.to_ascii_lowercase().chars().take(12).collect::<String>())
        .collect::<Vec<_>>()
        .join("-");
    format!("{year:04}{month:02}{day:02}-{clock}-{}", if words.is_empty() { "run" } else { &words })
}

/// A new run that this process drives. If a run has this name, the new one gets the next free number.
///
/// # Errors
/// The store cannot be used.
pub fn new_run(store: &Arc<dyn Store>, stem: &str) -> Result<(RunId, Session), Refusal> {
    let is_taken = |id: &RunId| match store.has_messages(id) {
        Err(StoreFault::NoRun(_)) => Ok(false),
        known => known.map(|_| true).map_err(Refusal::from),
    };
    let mut number = 1;
    loop {
        let id = RunId::new(if number == 1 { stem.to_owned() } else { format!("{stem}-{number}") });
        number += 1;
        if is_taken(&id)? {
            continue;
        }
        match Session::open(Arc::clone(store), &id) {
            Ok(session) if session.entries() == 0 => return Ok((id, session)),
            Ok(_) | Err(DriveFault::Store(StoreFault::Locked { .. })) => {}
            Err(DriveFault::Store(fault)) => return Err(fault.into()),
            Err(fault) => return Err(Refusal::internal(format!("can't start a new run: {fault}"), "")),
        }
    }
}
