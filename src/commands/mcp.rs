//! `mcp`: serves another program over stdin and stdout (spec 13.5).

use std::sync::Arc;

use callsheet_mcp::{RUNS, RunServer};

use crate::cli::{Exit, Failure, McpArgs, McpCommand};
use crate::setup::Setup;
use crate::starter::Starter;

pub(super) fn mcp(setup: &Setup, arguments: &McpArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        None => serve(setup, arguments),
        Some(McpCommand::Login(login)) => super::login::login(setup, &login.server, &login.scope),
        Some(McpCommand::Logout(server)) => super::login::logout(setup, &server.server),
    }
}

fn serve(setup: &Setup, arguments: &McpArgs) -> Result<Exit, Failure> {
    let starter = Arc::new(Starter::new(setup.clone(), RUNS));
    let runs = Arc::new(setup.runs());
    let server = RunServer::new(runs, starter, arguments.may.is_some());
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let served = server.serve().await;
        served.map_err(|error| Failure::usage(format!("the program does not speak MCP: {error}"), ""))
    })?;
    Ok(Exit::Complete)
}
