//! Watches sheets while a command runs (spec 11.11): changes to a sheet during that time are not a person's. They are
//! undone when the command has ended, their text is saved beside the sheet, and people are told. While a command runs,
//! no edit is applied.

use std::collections::BTreeMap;

use callsheet_core::nouns::RunId;
use callsheet_core::run::Run;

use crate::runfiles::{RunFiles, SheetFile, trace_fault};

use super::text::sheet_text;
use crate::replay::replay;
use crate::services::{Command, Services};
use crate::shown::Shown;

/// The file that keeps the words of an ignored edit.
const IGNORED: &str = "sheet-ignored.md";

/// The sheets of all runs of the project as they were when a command began.
pub(crate) struct SheetWatch {
    before: BTreeMap<RunId, Option<SheetFile>>,
    _command: Command,
}

impl SheetWatch {
    pub fn begin(services: &Services) -> Self {
        let command = services.commands.begin();
        let before = runs(services).into_iter().map(|(run, files)| (run, files.sheet().ok().flatten())).collect();
        Self { before, _command: command }
    }

    /// Undoes what anybody except the drivers of the runs wrote in the meantime.
    pub fn settle(&self, services: &Services) {
        for (id, files) in runs(services) {
            let before = self.before.get(&id).and_then(Option::as_ref);
            let now = files.sheet().ok().flatten();
            if now.as_ref().map(|sheet| &sheet.hash) == before.map(|sheet| &sheet.hash) {
                continue;
            }
            let Ok((run, _)) = replay(&services.store, &id) else { continue };
            if now.as_ref().is_some_and(|now| is_last(&run, now)) {
                continue;
            }
            let shown = |sheet: &SheetFile| Shown::text(&String::from_utf8_lossy(&sheet.bytes)).into_string();
            let words = now.map(|now| files.write(IGNORED, shown(&now).as_bytes(), false)).and_then(Result::ok);
            let done = match before {
                // An older text of the host would mean that a person undid something.
                Some(sheet) if !is_last(&run, sheet) && run.has_rendered(&sheet.hash) => {
                    files.write_sheet(&sheet_text(&run)).map(drop)
                }
                Some(sheet) => files.write("sheet.md", &sheet.bytes, false).map(drop),
                None => files.remove("sheet.md"),
            };
            trace_fault(done);
            // A missing sheet says nothing.
            if let Some(path) = words {
                services.notice(&format!(
                    "ignored a change to {id}'s sheet.md, because a command was running; the changed text is in {path}"
                ));
            }
        }
    }
}

/// Whether it is what the host wrote last.
fn is_last(run: &Run, sheet: &SheetFile) -> bool {
    run.last_sheet().is_some_and(|(last, _)| *last == sheet.hash)
}

/// The runs that the store knows, whatever folders a command creates.
fn runs(services: &Services) -> Vec<(RunId, RunFiles)> {
    let ids = services.store.runs().unwrap_or_default().into_iter().map(|run| run.run);
    ids.filter_map(|id| RunFiles::new(&services.workspace, &id).ok().map(|files| (id, files))).collect()
}
