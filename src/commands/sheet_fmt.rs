//! `sheet fmt`: converts a checklist into a sheet with keys, and the other way round.

use std::sync::Arc;

use callsheet_core::issue::{RepairCode, Severity};
use callsheet_core::nouns::RunId;
use callsheet_format::reply::{Lost, is_checklist, write_checklist};
use callsheet_format::sheet::{SheetTask, render_sheet};
use callsheet_runtime::ports::Store;
use callsheet_runtime::sheetfile::{SheetReading, check_sheet};
use callsheet_store::MemoryStore;
use serde_json::json;

use crate::cli::{Exit, Failure, SheetFmtArgs, SheetForm};
use crate::setup::{Setup, config_failure};
use crate::term::{harmless, one_line};
use crate::wiring::without_model;

use super::drive::Front;

pub(super) fn fmt(setup: &Setup, arguments: &SheetFmtArgs) -> Result<Exit, Failure> {
    let text = super::sheet::read(&arguments.file)?;
    let settings = setup.config.settings().map_err(config_failure)?;
    let observer = Front::new(setup, &arguments.work).observer;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let services = without_model(setup, observer, store, &RunId::new("fmt"), &settings, &arguments.work.opened)?;
    let reading = check_sheet(&services, &text, None, &settings);
    // A sheet without goals can be run with a request, so this is not an error here.
    let errors: Vec<_> =
        reading.list.issues.iter().filter(|issue| issue.severity == Severity::Error).cloned().collect();
    if errors.iter().any(|issue| issue.code != callsheet_core::issue::IssueCode::GoalsMissing) {
        return Err(super::check::unsound(&arguments.file, &text, &errors));
    }
    let from = if is_checklist(&text) { SheetForm::Checklist } else { SheetForm::Sheet };
    let other = if from == SheetForm::Checklist { SheetForm::Sheet } else { SheetForm::Checklist };
    let (written, mut lost) = match arguments.to.unwrap_or(other) {
        SheetForm::Sheet => (as_sheet(&reading), Vec::new()),
        SheetForm::Checklist => as_checklist(&reading),
    };
    let done = reading.list.repairs.iter().filter(|repair| repair.code == RepairCode::ItemDone);
    lost.extend(done.map(|repair| format!("the item \"{}\", which is checked off", repair.before)));
    put(setup, arguments, &written, &lost)
}

fn as_sheet(reading: &SheetReading) -> String {
    let list = &reading.list.value;
    let prompt = reading.prompt.as_deref().unwrap_or_default();
    render_sheet(prompt, &list.goals, &SheetTask::of_list(list), &reading.no_longer_relevant)
}

/// The checklist, and what it cannot express.
fn as_checklist(reading: &SheetReading) -> (String, Vec<String>) {
    let written = write_checklist(&reading.list.value);
    let mut lost = Vec::new();
    if reading.prompt.is_some() {
        lost.push("Original prompt".to_owned());
    }
    lost.extend(written.lost.iter().map(|lost| match lost {
        Lost::Goals => "the goals word for word".to_owned(),
        Lost::Tasks => "the tasks: one of them has words that a checklist reads as items".to_owned(),
        Lost::Key(task, key) => format!("{key} of \"{task}\""),
        Lost::Section(task) => format!("the task section of \"{task}\": items wait for results only"),
    }));
    if !reading.no_longer_relevant.is_empty() {
        lost.push("No longer relevant".to_owned());
    }
    (written.text, lost)
}

/// Prints or writes the sheet, and reports what it lacks.
fn put(setup: &Setup, arguments: &SheetFmtArgs, text: &str, lost: &[String]) -> Result<Exit, Failure> {
    let output = arguments.output.as_deref().filter(|output| output.as_os_str() != "-");
    if let Some(file) = output {
        if !arguments.force && std::fs::symlink_metadata(file).is_ok() {
            return Err(Failure::usage(
                format!("{} exists", file.display()),
                "choose another name, or overwrite it with --force; nothing was written",
            ));
        }
        std::fs::write(file, text)
            .map_err(|error| Failure::internal(format!("can't write {}: {error}", file.display()), ""))?;
    }
    if setup.json {
        let file = output.map(|file| file.display().to_string());
        let shown = output.is_none().then_some(text);
        return super::print_json(&json!({ "file": file, "text": shown, "lost": lost })).map(|()| Exit::Complete);
    }
    match output {
        Some(file) => tell!("wrote {}", file.display()),
        None => super::print(&harmless(text))?,
    }
    for lost in lost {
        tell!("note: the new form does not contain {}", one_line(lost, 300));
    }
    Ok(Exit::Complete)
}
