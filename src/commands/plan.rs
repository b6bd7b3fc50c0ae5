//! `plan`: plans only, and writes an editable sheet.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_app::Advice;
#[cfg(feature = "cluster")]
use callsheet_app::RunView;
use callsheet_core::nouns::{Policy, RunId};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::{EntrySpec, begin_in, plan_only};
use callsheet_runtime::ports::{Clock, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, PlanArgs};
use crate::setup::{Setup, config_failure, new_run, run_name, shell_word};

use super::drive::{Front, ask_to_begin, drive_failure, prepare};
use super::run::request_text;

pub(super) fn plan(setup: &Setup, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let output = output(arguments);
    let to_stdout = output.as_os_str() == "-";
    if !to_stdout && output.exists() && !arguments.force {
        return Err(Failure::usage(
            format!("{} exists", output.display()),
            "choose another name with --output, or overwrite it with --force",
        ));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if !to_stdout && (output.is_dir() || folder.is_some_and(|folder| !folder.is_dir())) {
        return Err(Failure::usage(
            format!("can't write {}: its folder does not exist, or it is a folder itself", output.display()),
            "create the folder, or choose another name with --output",
        ));
    }
    let prompt = request_text(&arguments.request.join(" "))?;
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the request is empty", ""));
    }
    let mut settings = setup.config.settings().map_err(config_failure)?;
    let store = setup.store()?;
    let front = Front::new(setup, &arguments.work);
    let runtime = super::runtime()?;
    let (id, planned) = runtime.block_on(async {
        let (id, session) = new_run(&store, &run_name(&prompt, SystemClock.now_ms()))?;
        let services = prepare(setup, &arguments.work, &front, Arc::clone(&store), &id, &mut settings, None).await?;
        ask_to_begin(&services, &id, &prompt).await?;
        settings.plan_only = true;
        if settings.plan == Policy::Auto {
            // `plan` always makes a plan.
            settings.plan = Policy::Always;
        }
        let session = begin_in(&services, session, EntrySpec::Prompt(prompt.clone()), settings)
            .map_err(|fault| drive_failure(&fault, &id))?;
        #[cfg(feature = "cluster")]
        if setup.on.is_some() {
            let run = RunView::from(session.run().clone());
            // The client's right to begin the run is used up.
            drop(session);
            let (run, outcome) = super::on_cluster::until_rest(setup, &front, run, &id).await?;
            let message = || run.about().message.map(str::to_owned);
            let planned = match outcome.unwrap_or(Outcome::Cancelled) {
                Outcome::Planned => Ok(run.plan_text()),
                outcome => Err((outcome, message())),
            };
            return Ok((id, planned));
        }
        let stop = CancellationToken::new();
        front.listen_for_interrupt(stop.clone(), format!("{} resume {id}", setup.command));
        setup.note_place();
        front.begins(&id);
        let planned = plan_only(services, session, stop).await;
        let planned = planned.map_err(|fault| drive_failure(&fault, &id))?;
        Ok((id, planned))
    })?;
    finish(setup, &output, &id, planned)
}

/// Writes or prints the plan, or says why there is none.
fn finish(
    setup: &Setup,
    output: &Path,
    id: &RunId,
    planned: Result<String, (Outcome, Option<String>)>,
) -> Result<Exit, Failure> {
    let to_stdout = output.as_os_str() == "-";
    match planned {
        // A file keeps the sheet as it is. A terminal gets it without escape sequences.
        Ok(sheet) if to_stdout && setup.json => {
            super::print_json(&serde_json::json!({ "result": Outcome::Planned, "run": id, "text": sheet }))
                .map(|()| Exit::Complete)
        }
        Ok(sheet) if to_stdout => super::print(&sheet).map(|()| Exit::Complete),
        Ok(sheet) => {
            std::fs::write(output, sheet).map_err(|error| {
                Failure::internal(
                    format!("can't write {}: {error}", output.display()),
                    Advice::command("the plan is saved; print it", ["show", id.as_str(), "--plan"]),
                )
            })?;
            if setup.json {
                let file = output.display().to_string();
                return super::print_json(&serde_json::json!({ "result": Outcome::Planned, "run": id, "file": file }))
                    .map(|()| Exit::Complete);
            }
            tell!(
                "wrote {0}; edit it, then: {1} run --sheet {2}",
                output.display(),
                setup.command,
                shell_word(&output.to_string_lossy())
            );
            Ok(Exit::Complete)
        }
        Err((outcome, message)) => {
            let words = message.unwrap_or_else(|| crate::term::outcome_words(outcome).to_owned());
            if setup.json {
                super::print_json(&serde_json::json!({ "result": outcome, "run": id, "message": words }))?;
            } else {
                tell!("{words}");
                if outcome == Outcome::Cancelled {
                    tell!("Next: {} resume {id}", setup.command);
                }
            }
            Ok(Exit::from(outcome))
        }
    }
}

/// The file to which the plan is written.
fn output(arguments: &PlanArgs) -> PathBuf {
    arguments.output.clone().unwrap_or_else(|| PathBuf::from("sheet.md"))
}
