//! The `callsheet` binary.

use std::process::ExitCode;

use callsheet::cli::{Cli, Exit};
use clap::Parser;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Complete };
            // A closed pipe while printing help is no failure.
            let _closed = error.print();
            return exit.into();
        }
    };
    match callsheet::commands::dispatch(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("error: {}", callsheet::term::harmless(&failure.what));
            if !failure.advice.is_empty() {
                eprintln!("  do: {}", failure.advice);
            }
            failure.exit.into()
        }
    }
}
