//! `sheet check`, `sheet fmt`, `sheet new`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::cli::{Exit, Failure, SheetCheckArgs, SheetCommand, SheetNewArgs};
use crate::setup::{Setup, config_failure, shell_word};
use callsheet_app::Advice;

use super::drive::Front;

const NEW: &str = include_str!("prompts/sheet.md");

pub(super) fn sheet(setup: &Setup, command: &SheetCommand) -> Result<Exit, Failure> {
    match command {
        SheetCommand::Check(arguments) => check(setup, arguments),
        SheetCommand::Fmt(arguments) => super::sheet_fmt::fmt(setup, arguments),
        SheetCommand::New(arguments) => new(setup, arguments),
    }
}

/// The text of a sheet file.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read(file).map_err(|error| {
        let begin = || Advice::command("begin one", ["sheet", "new", &file.to_string_lossy()]);
        let advice = if error.kind() == std::io::ErrorKind::NotFound { begin() } else { Advice::default() };
        Failure::usage(format!("can't read the sheet {}: {error}", file.display()), advice)
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn check(setup: &Setup, arguments: &SheetCheckArgs) -> Result<Exit, Failure> {
    let text = read(&arguments.file)?;
    let settings = setup.config.settings().map_err(config_failure)?;
    let observer = Front::new(setup, &arguments.work).observer;
    let request = (!arguments.request.is_empty()).then(|| arguments.request.join(" "));
    super::check::sheet(
        setup,
        observer,
        &arguments.file,
        (&text, request.as_deref()),
        &settings,
        &arguments.work.opened,
    )
}

fn new(setup: &Setup, arguments: &SheetNewArgs) -> Result<Exit, Failure> {
    let file = &arguments.file;
    let shown = file.display();
    let made =
        OpenOptions::new().write(true).create_new(true).open(file).and_then(|mut made| made.write_all(NEW.as_bytes()));
    made.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{shown} exists"), "choose another name, or edit that file; nothing was written")
        }
        _ => Failure::usage(format!("can't write {shown}: {error}"), "choose another file"),
    })?;
    if setup.json {
        return super::print_json(&serde_json::json!({ "path": shown.to_string() })).map(|()| Exit::Complete);
    }
    super::print(&format!("{shown}\n"))?;
    tell!("edit it, then: {} sheet check {}", setup.command, shell_word(&file.to_string_lossy()));
    Ok(Exit::Complete)
}
