//! The saved sheet (spec 3.4).

use callsheet_core::run::{Run, State, TaskRun};
use callsheet_core::spec::{Task, TaskList};
use callsheet_format::sheet;

/// The saved sheet (spec 3.4): prompt, goals, outstanding and problem tasks, finished tasks.
pub fn sheet_text(run: &Run) -> String {
    let open = run.steps().iter().map(|step| callsheet_core::spec::Step {
        tasks: step
            .iter()
            .filter_map(|slug| run.task(slug))
            .filter(|task| !matches!(task.state(), State::Done | State::Dropped))
            .map(|task| task.task.clone())
            .collect(),
    });
    let list = TaskList { goals: run.goals().clone(), steps: open.filter(|step| !step.tasks.is_empty()).collect() };
    let summary = |task: &'_ TaskRun| task.result().map(|result| result.summary.clone()).unwrap_or_default();
    let done: Vec<(&Task, String)> = run.done().map(|task| (&task.task, summary(task))).collect();
    let done: Vec<(&Task, &str)> = done.iter().map(|(task, summary)| (*task, summary.as_str())).collect();
    sheet::render_sheet(run.prompt(), &list, run.no_longer_relevant(), &done)
}
