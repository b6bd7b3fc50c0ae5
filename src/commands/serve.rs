//! `serve`: serves the live page and the interface for programs, only on this machine.

use std::sync::Arc;

use callsheet_app::{LocalRuns, RunControl};
use callsheet_runtime::ports::{Observer, Signal};
use callsheet_web::{Guard, RUNS};

use crate::cli::{Exit, Failure, ServeArgs, ServeCommand};
use crate::config::TokenList;
use crate::host::Program;
use crate::setup::Setup;
use crate::starter::Starter;

pub(super) fn serve(setup: Setup, arguments: &ServeArgs) -> Result<Exit, Failure> {
    if let Some(ServeCommand::Tokens(tokens)) = &arguments.command {
        return super::serve_tokens::tokens(&setup, tokens);
    }
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let listeners = callsheet_web::listen(arguments.port).await.map_err(|error| {
            Failure::usage(format!("can't use port {}: {error}", arguments.port), "leave --port out to get a free one")
        })?;
        let guard = Guard::new(listeners.port)?;
        let (address, plain_address) = (guard.address(), guard.plain_address());
        let api = format!("http://127.0.0.1:{}{}", listeners.port, callsheet_web::PREFIX);
        if setup.json {
            super::print_json(&serde_json::json!({ "address": address, "plain_address": plain_address, "api": api }))?;
        } else {
            tell!(
                "{} is open at this address, for this machine only, until you press Ctrl-C:",
                setup.project.display()
            );
            super::print(&format!("{address}\n"))?;
            tell!("If your browser does not find that name: {plain_address}");
            tell!("For programs with a token: {api}");
        }
        let clients = Arc::new(TokenList::new(&setup.folders, &setup.project));
        let starter = Arc::new(Starter::new(setup.clone(), RUNS));
        let runs = Arc::new(LocalRuns::new(Arc::new(Program::new(setup, Arc::new(Unheard)))));
        let api = callsheet_web::api(Arc::clone(&runs) as Arc<dyn RunControl>, starter, clients);
        let router = api.fallback_service(callsheet_web::router(runs, guard));
        tokio::select! {
            ended = callsheet_web::serve(listeners, router) => {
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
