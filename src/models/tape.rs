//! Recordings of model calls: `--record`, `--replay`, `pace`. The description of the machine in prompts is recorded
//! with the calls, so that a recording can be replayed on another machine and another day.

use std::path::Path;
use std::sync::Arc;

use callsheet_format::prompt::Environment;
use callsheet_models::replay::{CassetteError, Cassettes, Recording};
use callsheet_runtime::paths::write_private;

use crate::cli::{Failure, WorkArgs};
use crate::config::Config;

/// The file with the description of the machine in prompts.
const ENVIRONMENT: &str = ".environment";

/// Where model calls are recorded to or replayed from.
pub enum Tape {
    /// Models are asked, and nothing is recorded.
    None,
    /// Models are asked, and their replies are recorded.
    Record(Arc<Recording>),
    /// No model is asked.
    Replay(Arc<Cassettes>),
}

impl Tape {
    /// The tape that the flags select.
    ///
    /// # Errors
    /// A folder cannot be used.
    pub fn of(work: &WorkArgs, config: &Config) -> Result<Self, Failure> {
        let failure = |fault: CassetteError| Failure::usage(fault.to_string(), "");
        Ok(match (&work.record, &work.replay) {
            (Some(folder), _) => Self::Record(Recording::create(folder).map_err(failure)?),
            (None, Some(folder)) => {
                let pace = config.values.get("pace").and_then(|pace| pace.value.as_f64());
                Self::Replay(Cassettes::open_paced(folder, pace.unwrap_or_default()).map_err(failure)?)
            }
            (None, None) => Self::None,
        })
    }
}

/// The description of the machine in prompts: that of the recording, or else the actual one, which a new recording
/// stores.
///
/// # Errors
/// A file of the recording cannot be read or written.
pub fn recorded_environment(work: &WorkArgs, here: Environment) -> Result<Environment, Failure> {
    let Some(folder) = work.record.as_deref().or(work.replay.as_deref()) else { return Ok(here) };
    let file = folder.join(ENVIRONMENT);
    let failure = |file: &Path, why: String| Failure::usage(format!("{}: {why}", file.display()), "");
    if file.exists() {
        let text = std::fs::read(&file).map_err(|error| failure(&file, error.to_string()))?;
        return serde_json::from_slice(&text).map_err(|error| failure(&file, error.to_string()));
    }
    if work.record.is_some() {
        let text = serde_json::to_vec_pretty(&here).map_err(|error| failure(&file, error.to_string()))?;
        write_private(&file, &text).map_err(|error| failure(&file, error.to_string()))?;
    }
    Ok(here)
}
