//! The terminal behind the full screen: gates as text, and the person's editor.

use std::path::PathBuf;
use std::sync::Arc;

use callsheet_app::run_folder;
use callsheet_core::nouns::RunId;
use callsheet_format::edit::Hunk;
use callsheet_runtime::ports::GateView;
use callsheet_tui::{Outside, Viewer};
use rustix::process::Pid;

use crate::driver::interrupt;
use crate::setup::Setup;
use crate::term::{edit_file, edit_hunk, gate_text};

/// A run on the full screen of this terminal. `driver` is the process that this one started for the run.
pub(super) fn viewer(setup: &Setup, id: &RunId, driver: Option<Pid>) -> Box<Viewer> {
    let sheet = setup.project.join(run_folder(id)).join("sheet.md");
    Box::new(Viewer { runs: Arc::new(setup.runs()), run: id.clone(), outside: Box::new(Terminal { sheet, driver }) })
}

struct Terminal {
    sheet: PathBuf,
    driver: Option<Pid>,
}

impl Outside for Terminal {
    fn gate_text(&self, view: &GateView) -> String {
        gate_text(view, false).as_str().to_owned()
    }

    fn sheet_file(&self) -> PathBuf {
        self.sheet.clone()
    }

    fn edit_sheet(&self) -> Result<(), String> {
        edit_file(&self.sheet)
    }

    fn edit_hunk(&self, hunk: &Hunk) -> Result<Option<String>, String> {
        edit_hunk(hunk)
    }

    fn interrupt(&self) -> bool {
        self.driver.map(interrupt).is_some()
    }
}
