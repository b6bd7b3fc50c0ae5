//! `plan`: plan only, and write an editable sheet.

use callsheet_runtime::driver::{EntrySpec, begin, plan_only};
use callsheet_runtime::ports::{Clock, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, PlanArgs};
use crate::setup::{Setup, config_failure, new_run_id};

use super::drive::{Front, drive_failure, listen_for_interrupt, prepare};
use super::run::request_text;

pub(super) fn plan(setup: &Setup, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let to_stdout = arguments.output.as_os_str() == "-";
    if !to_stdout && arguments.output.exists() && !arguments.force {
        return Err(Failure::usage(
            format!("{} exists", arguments.output.display()),
            "give another name with --output, or --force to write over it",
        ));
    }
    let prompt = request_text(&arguments.request)?;
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the request is empty", ""));
    }
    let mut settings = setup.config.settings().map_err(config_failure)?;
    let store = setup.store()?;
    let front = Front::new(setup, &arguments.work);
    let runtime = super::runtime()?;
    let planned = runtime.block_on(async {
        let id = new_run_id(&store, &prompt, SystemClock.now_ms())?;
        let world = prepare(setup, &arguments.work, &front, store, &id, &mut settings).await?;
        settings.plan_only = true;
        let session = begin(&world, &id, EntrySpec::Prompt(prompt.clone()), settings)
            .map_err(|fault| drive_failure(&fault, &id))?;
        let stop = CancellationToken::new();
        listen_for_interrupt(stop.clone(), id.clone());
        let planned = plan_only(world, session, stop).await;
        front.close();
        planned.map_err(|fault| drive_failure(&fault, &id))
    })?;
    match planned {
        // A file keeps the sheet as it is; a terminal gets it without escapes.
        Ok(sheet) if to_stdout => super::print(&crate::term::harmless(&sheet)).map(|()| Exit::Complete),
        Ok(sheet) => {
            std::fs::write(&arguments.output, sheet).map_err(|error| {
                Failure::internal(format!("{} cannot be written: {error}", arguments.output.display()), "")
            })?;
            eprintln!("wrote {0}; edit it, then: callsheet run --sheet {0}", arguments.output.display());
            Ok(Exit::Complete)
        }
        Err((outcome, message)) => {
            let words = message.unwrap_or_else(|| crate::term::outcome_words(outcome).to_owned());
            eprintln!("{}", crate::term::harmless(&words));
            Ok(Exit::from(outcome))
        }
    }
}
