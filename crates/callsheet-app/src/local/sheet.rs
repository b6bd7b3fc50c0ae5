//! Reads the plan file of a run after a person edited it.

use std::sync::Arc;

use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::issue::Severity;
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::driver;
use callsheet_runtime::fault::InputFault;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{InboxMessage, RunSummary, Store};
use callsheet_runtime::runfiles::{RunFileFault, RunFiles};
use callsheet_runtime::sheetfile::{is_edited, is_of_person, preview_edit};
use callsheet_runtime::shown::{Shown, edited};

use super::{LocalRuns, Ordered, recorded};
use crate::command::Receipt;
use crate::control::{SheetCheck, SheetIssue};
use crate::refusal::Refusal;
use crate::view::RunView;

fn files(runs: &LocalRuns, id: &RunId) -> Result<RunFiles, Refusal> {
    let workspace = Workspace::new(runs.host.project(), &[]).map_err(|fault| Refusal::usage(fault.to_string(), ""))?;
    RunFiles::new(&workspace, id).map_err(|fault| Refusal::usage(fault.to_string(), ""))
}

fn named(run: &RunView) -> Result<&RunId, Refusal> {
    run.about().id.ok_or_else(|| Refusal::usage("nothing is recorded of this run yet", ""))
}

fn unusable(fault: &RunFileFault) -> Refusal {
    Refusal::internal(fault.to_string(), "")
}

fn of_drive(fault: &callsheet_runtime::fault::DriveFault, id: &RunId) -> Refusal {
    Refusal::of_drive(fault, id)
}

pub(super) fn take_in(runs: &LocalRuns, found: &RunSummary, run: &RunView) -> Result<bool, Refusal> {
    let store = runs.store()?;
    if store.hosting().is_some() {
        let text = edit_to_give(runs, &store, found)?;
        let edit = text.map(|text| store.post(&found.run, &InboxMessage::Edit { text }.into()));
        return Ok(edit.transpose()?.is_some());
    }
    if found.owner.is_some() || !run.run().may_edit() || !edited_on_disk(runs, &found.run, run)? {
        return Ok(false);
    }
    let services = runs.host.reading(runs.store()?, &found.run, run.about().settings)?;
    driver::apply_edit_if_idle(&services, &found.run).map_err(|fault| of_drive(&fault, &found.run))
}

/// The edited plan file of a run on a cluster. What the cluster wrote is recorded before it is written, so the file is
/// read before the record.
pub(super) fn edit_to_give(
    runs: &LocalRuns,
    store: &Arc<dyn Store>,
    found: &RunSummary,
) -> Result<Option<String>, Refusal> {
    let files = files(runs, &found.run)?;
    let Some(file) = files.sheet().map_err(|fault| unusable(&fault))? else { return Ok(None) };
    let run = recorded(store, found)?.run;
    if !is_of_person(run.run(), &file) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&file.bytes).into_owned();
    let lines = error_lines(runs, &files, &run, &text)?;
    if !lines.is_empty() {
        return Err(of_drive(&InputFault::EditedSheet(lines).into(), run.about().id.unwrap_or(&RunId::new(""))));
    }
    Ok(Some(text))
}

fn error_lines(runs: &LocalRuns, files: &RunFiles, run: &RunView, text: &str) -> Result<Vec<String>, Refusal> {
    let found = check(runs, run, text)?.issues.into_iter().filter(|issue| issue.severity == Severity::Error);
    let path = files.directory().join("sheet.md").display().to_string();
    Ok(found.map(|issue| format!("{path}:{}:{}: {}", issue.line, issue.column, issue.words)).collect())
}

pub(super) fn edit_errors(runs: &LocalRuns, run: &RunView) -> Result<Vec<String>, Refusal> {
    let Some(id) = run.about().id else { return Ok(Vec::new()) };
    let Some(text) = edited_text(runs, id, run)? else { return Ok(Vec::new()) };
    error_lines(runs, &files(runs, id)?, run, &text)
}

/// The text of the plan file if it differs from what `run` says that the run wrote or read.
pub(super) fn edited_text(runs: &LocalRuns, id: &RunId, run: &RunView) -> Result<Option<String>, Refusal> {
    let file = files(runs, id)?.sheet().map_err(|fault| unusable(&fault))?;
    let edited = file.filter(|file| is_of_person(run.run(), file));
    Ok(edited.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()))
}

/// Whether the plan file differs from what the run wrote.
pub(super) fn edited_on_disk(runs: &LocalRuns, id: &RunId, run: &RunView) -> Result<bool, Refusal> {
    Ok(is_edited(&files(runs, id)?, run.run()))
}

pub(super) fn text(runs: &LocalRuns, run: &RunView) -> Result<String, Refusal> {
    if runs.store()?.hosting().is_some() {
        return Ok(run.plan_text());
    }
    let found = files(runs, named(run)?)?.sheet().map_err(|fault| unusable(&fault))?;
    Ok(found.map_or_else(|| run.plan_text(), |file| String::from_utf8_lossy(&file.bytes).into_owned()))
}

pub(super) fn check(runs: &LocalRuns, run: &RunView, text: &str) -> Result<SheetCheck, Refusal> {
    let id = named(run)?;
    let services = runs.host.reading(runs.store()?, id, run.about().settings)?;
    let preview = preview_edit(&services, run.run(), text).map_err(|fault| of_drive(&fault, id))?;
    let issues = preview.issues.into_iter().map(|(line, column, issue)| SheetIssue {
        line,
        column,
        severity: issue.severity,
        words: format!("{}: {issue}", issue.code),
    });
    let done = run.run().done().count();
    let effect = preview.changes.map(|(added, changed, removed)| {
        let stay = if done == 1 { "1 finished task stays".to_owned() } else { format!("{done} finished tasks stay") };
        format!("This edit adds {added}, changes {changed} and removes {removed} tasks; {stay}.")
    });
    Ok(SheetCheck { issues: issues.collect(), effect: effect.unwrap_or_default() })
}

pub(super) fn save(runs: &Ordered<'_>, id: &RunId, seen: &str, text: &str) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let taken = runs.since(id)?.iter().rev().find_map(edit_of).cloned();
    if taken.as_ref().is_some_and(|taken| *taken == BlobId::of(text.as_bytes())) {
        return Ok(Receipt::done(id, "this edit was saved already"));
    }
    if taken.is_some() {
        let what = format!("somebody else edited the plan of {id} since you began; nothing was saved");
        return Err(Refusal::usage(what, "copy your text, reload the page, and edit again"));
    }
    let run = recorded(&store, &found)?.run;
    if store.hosting().is_some() {
        let effect = faultless(runs, &run, text)?;
        let text = edited(&run.plan_text(), Shown::text, text);
        runs.post(&store, &found, &[InboxMessage::Edit { text }])?;
        return Ok(saved(id, "the run has it", &effect));
    }
    let files = files(runs, id)?;
    let on_disk = files.sheet().map_err(|fault| unusable(&fault))?.map(|file| file.bytes);
    let is_seen = on_disk.as_deref().is_none_or(|bytes| same_text(bytes, seen));
    if !is_seen && is_edited(&files, run.run()) {
        let what = format!("somebody else edited {}/sheet.md meanwhile", files.directory().display());
        return Err(Refusal::usage(what, "copy your text, reload the page, and edit again"));
    }
    let effect = faultless(runs, &run, text)?;
    let as_it_was = on_disk.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    files.write_sheet(&edited(&as_it_was, Shown::text, text)).map_err(|fault| unusable(&fault))?;
    if found.owner.is_none() {
        take_in(runs, &found, &run)?;
    }
    let counts = if found.owner.is_some() || run.run().may_edit() {
        "the run has it"
    } else {
        "it takes effect when the run resumes"
    };
    Ok(saved(id, counts, &effect))
}

/// What an edit changes, in words.
fn faultless(runs: &LocalRuns, run: &RunView, text: &str) -> Result<String, Refusal> {
    let check = check(runs, run, text)?;
    if check.issues.iter().any(|issue| issue.severity == Severity::Error) {
        return Err(Refusal::usage("the sheet has errors; nothing was saved", "fix the lines below"));
    }
    Ok(check.effect)
}

fn saved(id: &RunId, counts: &str, effect: &str) -> Receipt {
    let effect = if effect.is_empty() { String::new() } else { format!(" {effect}") };
    Receipt::done(id, format!("Saved; {counts}.{effect}"))
}

/// The text of the edit that this entry adopted.
fn edit_of(entry: &LogEntry) -> Option<&BlobId> {
    match &entry.event {
        Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(text), .. }) => Some(text),
        _ => None,
    }
}

/// Whether the text of a form equals that of a file, except for line endings, which browsers change.
fn same_text(bytes: &[u8], text: &str) -> bool {
    let shown = Shown::text(&String::from_utf8_lossy(bytes));
    shown.as_str().trim_end() == text.trim_end()
}
