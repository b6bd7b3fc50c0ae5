//! What every `RunControl` does, for the runs of this machine. `tests/cluster` has the same checks for those of a cluster.

use callsheet_app::{LocalRuns, RunControl};
use callsheet_core::nouns::RunId;

use crate::support::control::{CHECKS, World, setup};
use crate::support::garden::TestProject;
use crate::support::killed::{SHEET, SHEET_SCRIPT};

struct Here {
    project: TestProject,
    runs: LocalRuns,
}

impl World for Here {
    fn project(&self) -> &TestProject {
        &self.project
    }

    fn runs(&self) -> &LocalRuns {
        &self.runs
    }

    fn begin(&self) -> RunId {
        self.project.expect(3, &["run", "--sheet", "work.md"]);
        self.runs.list().unwrap().remove(0).run
    }

    fn settle(&self, run: &RunId) {
        // How it ended is for the checks to see.
        let _ended = self.project.call(&["resume", run.as_str()]);
    }

    fn resume(&self, run: &RunId) {
        self.settle(run);
    }
}

#[test]
fn commands_do_what_they_say_on_this_machine() {
    for (name, check) in CHECKS {
        println!("{name}");
        let project = TestProject::scripted(SHEET_SCRIPT);
        project.write("work.md", SHEET);
        let runs = setup(&project).runs();
        check(&Here { project, runs });
    }
}
