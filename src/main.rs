//! The `callsheet` binary.

use std::ffi::OsString;
use std::process::ExitCode;

use callsheet::cli::{Cli, Exit, Failure, as_command, command};
use callsheet::setup::command_words;
use callsheet::tell;
use callsheet_app::Advice;
use clap::FromArgMatches;
use clap::error::ErrorKind;

/// Parses a command line.
fn parsed(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

fn main() -> ExitCode {
    if let Some(ended) = callsheet::supervise().or_else(callsheet::wiring::read_document) {
        return ended;
    }
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == callsheet::relay::DRIVE) {
        words.remove(1);
        callsheet::relay::begin();
    }
    let words = as_command(words);
    let cli = match parsed(words) {
        Ok(cli) => cli,
        Err(error) => {
            let wrong = error.use_stderr();
            // A closed pipe while printing help is not a failure.
            let _closed = error.print();
            if error.kind() == ErrorKind::InvalidSubcommand {
                tell!(
                    "a request of several words is one argument, in quotes: callsheet \"fix README\"; or write: callsheet run fix README"
                );
            }
            if wrong && std::env::args_os().any(|argument| argument == "--json") {
                let what = error.to_string();
                callsheet::commands::print_failure(
                    &Failure::usage(what.trim(), Advice::command("see all commands", ["--help"])),
                    "callsheet",
                );
            }
            return if wrong { Exit::Usage } else { Exit::Complete }.into();
        }
    };
    match callsheet::commands::dispatch(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let call = command_words(&cli);
            tell!("error: {}", failure.what);
            if !failure.advice.is_empty() {
                tell!("  do: {}", failure.advice.for_shell(&call));
            }
            if cli.prints_json() {
                callsheet::commands::print_failure(&failure, &call);
            }
            failure.exit.into()
        }
    }
}
