//! The model of a run that begins: as configured, as recorded, or found.

use callsheet_models::config::ProcessEnvironment;

use crate::cli::{Failure, WorkArgs};
use crate::models::{Choice, Fetch, choose, choose_recorded, is_forced};
use crate::setup::{Setup, project_config};
use crate::term;

/// Chooses a model for a run that has none yet.
pub(super) async fn first_choice(setup: &Setup, work: &WorkArgs) -> Result<Choice, Failure> {
    match &work.replay {
        Some(folder) if !setup.config.values.contains_key("model") => choose_recorded(folder),
        _ => {
            refuse_untrusted_model(setup, work)?;
            let fetch = match (work.download, is_asked(setup, work)) {
                (true, _) => Fetch::Agreed,
                (false, true) => Fetch::Ask,
                (false, false) => Fetch::Never,
            };
            choose(&setup.config, &setup.folders, &ProcessEnvironment, fetch).await
        }
    }
}

/// Whether somebody sits at the terminal who can be asked before a run begins.
fn is_asked(setup: &Setup, work: &WorkArgs) -> bool {
    !setup.json && !work.print && term::is_interactive()
}

/// A project that asks for a model gets no other one in silence: without trust it gets none.
fn refuse_untrusted_model(setup: &Setup, work: &WorkArgs) -> Result<(), Failure> {
    let asks = setup.config.untrusted.iter().find(|key| *key == "model" || key.starts_with("models."));
    match asks {
        Some(key) if !is_asked(setup, work) && !is_forced(&setup.config) => Err(Failure::internal(
            format!(
                "{} sets `{key}` and is not trusted, so the model for this project is not known; nothing was started",
                project_config(&setup.project).display()
            ),
            "read the file, then run `callsheet trust`; or name a model with --model",
        )),
        _ => Ok(()),
    }
}
