//! The model of a run that begins: configured, recorded, or found on this machine.

use callsheet_app::Advice;
use callsheet_models::config::ProcessEnvironment;

use crate::cli::{Cli, Command, Failure, WorkArgs};
use crate::models::{Choice, Fetch, choose, choose_recorded, is_forced};
use crate::setup::{Setup, project_config};
use crate::term;

/// Chooses a model for a run that has none yet.
pub(super) async fn first_choice(setup: &Setup, work: &WorkArgs) -> Result<Choice, Failure> {
    match &work.replay {
        Some(folder) if !setup.config.values.contains_key("model") => choose_recorded(folder),
        _ => {
            refuse_untrusted_model(setup, work)?;
            let fetch = match (work.download, is_asked(setup, work) && term::is_interactive()) {
                (true, _) => Fetch::Agreed,
                (false, true) => Fetch::Ask,
                (false, false) => Fetch::Never,
            };
            choose(&setup.config, &setup.folders, &ProcessEnvironment, fetch).await
        }
    }
}

/// Offers to download a model before another process drives a run without one, because that process cannot ask.
pub(super) fn download_first(setup: &Setup, cli: &Cli, work: Option<&WorkArgs>) -> Result<(), Failure> {
    let begins = matches!(&cli.command, Some(Command::Run(_) | Command::Plan(_)));
    let Some(work) = work.filter(|work| begins && work.replay.is_none() && !work.download) else { return Ok(()) };
    if setup.config.values.contains_key("model") {
        return Ok(());
    }
    super::runtime()?.block_on(async {
        refuse_untrusted_model(setup, work)?;
        let found = choose(&setup.config, &setup.folders, &ProcessEnvironment, Fetch::Never).await;
        if found.is_err() { offer_download(setup).await } else { Ok(()) }
    })
}

/// Offers to download a model to a person who has none.
pub(super) async fn offer_download(setup: &Setup) -> Result<(), Failure> {
    choose(&setup.config, &setup.folders, &ProcessEnvironment, Fetch::Ask).await.map(drop)
}

/// Whether a person at the terminal can be asked before a run begins.
fn is_asked(setup: &Setup, work: &WorkArgs) -> bool {
    !setup.json && !work.print && term::is_attended()
}

/// Refuses a run if an untrusted project names a model, because another model must not be used silently.
fn refuse_untrusted_model(setup: &Setup, work: &WorkArgs) -> Result<(), Failure> {
    let asks = setup.config.untrusted.iter().find(|key| *key == "model" || key.starts_with("models."));
    match asks {
        Some(key) if !is_asked(setup, work) && !is_forced(&setup.config) => Err(Failure::internal(
            format!(
                "{} sets `{key}` and is not trusted, so the model for this project is not known; nothing was started",
                project_config(&setup.project).display()
            ),
            Advice::command("read the file, then", ["trust"]).and("or name a model with --model"),
        )),
        _ => Ok(()),
    }
}
