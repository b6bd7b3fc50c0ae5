//! `serve`: serves the live page, only on this machine.

use std::sync::Arc;

use callsheet_app::LocalRuns;
use callsheet_runtime::ports::{Observer, Signal};
use callsheet_web::Guard;

use crate::cli::{Exit, Failure, ServeArgs};
use crate::host::Program;
use crate::setup::Setup;

pub(super) fn serve(setup: Setup, arguments: &ServeArgs) -> Result<Exit, Failure> {
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let listeners = callsheet_web::listen(arguments.port).await.map_err(|error| {
            Failure::usage(format!("can't use port {}: {error}", arguments.port), "leave --port out to get a free one")
        })?;
        let guard = Guard::new(listeners.port)?;
        let (address, plain_address) = (guard.address(), guard.plain_address());
        if setup.json {
            super::print_json(&serde_json::json!({ "address": address, "plain_address": plain_address }))?;
        } else {
            tell!(
                "{} is open at this address, for this machine only, until you press Ctrl-C:",
                setup.project.display()
            );
            super::print(&format!("{address}\n"))?;
            tell!("If your browser does not find that name: {plain_address}");
        }
        let runs = Arc::new(LocalRuns::new(Arc::new(Program::new(setup, Arc::new(Unheard)))));
        tokio::select! {
            ended = callsheet_web::serve(listeners, callsheet_web::router(runs, guard)) => {
                ended.map_err(|error| Failure::internal(format!("the page ended: {error}"), ""))?;
            }
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(Exit::Complete)
    })
}

/// Ignores signals, because people at the page do not look at the terminal.
struct Unheard;

impl Observer for Unheard {
    fn see(&self, _: &Signal<'_>) {}
}
