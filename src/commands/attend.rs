//! Commands at a terminal that work on runs. Another process drives the run, and this one shows it and asks the
//! person.

use std::ffi::OsString;
use std::io::Read;
use std::sync::Arc;

use callsheet_core::nouns::RunId;
use rustix::process::Pid;

use crate::cli::{Cli, Command, Exit, Failure, TemplateCommand};
use crate::driver::{Driver, interrupt};
use crate::relay::{self, Relayed};
use crate::setup::Setup;
use crate::term;

use super::front::wait_for_signal;
use super::lines::{relayed_line, watch_lines};
use super::watch::watch_screen;

/// Whether this process shows the command while another process carries it out, because somebody is at the terminal.
pub(super) fn is_attended(cli: &Cli, command: &Command) -> bool {
    let works = match command {
        Command::Run(_) | Command::Plan(_) | Command::Template(TemplateCommand::Run(_)) => true,
        Command::Resume(_) | Command::Retry(_) => true,
        Command::Continue(arguments) => !arguments.withdraw,
        Command::Approve(arguments) => arguments.resume,
        Command::Deny(arguments) => arguments.resume,
        _ => false,
    };
    works
        && !relay::is_on()
        && !cli.prints_json()
        && !cli.work().is_some_and(|work| work.print)
        && term::is_interactive()
}

/// Carries out the command in a process of its own and shows what that does.
pub(super) fn attend(setup: &Setup, cli: &Cli) -> Result<Exit, Failure> {
    let work = cli.work();
    super::first_choice::download_first(setup, cli, work)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let request = if arguments.iter().any(|word| word == "-") { Some(typed()?) } else { None };
    // Planning ends with a file, and there is nothing to control.
    let plans = matches!(cli.command, Some(Command::Plan(_)));
    let is_plain = plans || work.is_some_and(|work| work.plain) || !term::has_screen();
    attend_to(setup, &arguments, request.as_deref(), is_plain)
}

/// The request that a person types, until the end of input.
fn typed() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("can't read the request: {error}"), ""))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Carries out a command for a named run, from the screen.
pub(super) fn attend_command(setup: &Setup, words: &[&str]) -> Result<Exit, Failure> {
    let place = setup.place_flags(setup.is_named()).into_iter();
    let arguments: Vec<OsString> = place.chain(words.iter().map(OsString::from)).collect();
    attend_to(setup, &arguments, None, false)
}

fn attend_to(setup: &Setup, arguments: &[OsString], request: Option<&str>, plain: bool) -> Result<Exit, Failure> {
    let mut driver = Driver::start(arguments, request)?;
    let runtime = super::runtime()?;
    let pid = driver.pid();
    runtime.spawn(pass_on_signals(pid));
    let Some((run, facts)) = until_it_begins(&mut driver) else { return driver.end() };
    if plain {
        return runtime.block_on(watch_lines(setup, Arc::clone(&setup.store()?), &run, Some(driver), facts));
    }
    watch_screen(setup, &run, Some(driver))
}

/// Shows the driver's messages until it drives a run. `None` if it ended before that.
fn until_it_begins(driver: &mut Driver) -> Option<(RunId, u64)> {
    while let Some(relayed) = driver.messages.blocking_recv() {
        match relayed {
            Relayed::Run { run, facts } => return Some((run, facts)),
            other => relayed_line(&other),
        }
    }
    None
}

/// Passes signals such as Ctrl-C to the driver, which is in a session of its own.
async fn pass_on_signals(driver: Option<Pid>) {
    while wait_for_signal().await.is_some() {
        if term::is_interactive() && !callsheet_tui::is_open() {
            tell!();
        }
        if let Some(driver) = driver {
            interrupt(driver);
        }
    }
}
