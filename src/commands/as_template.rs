//! A run's list as a template (spec "Templates" 16): `plan --as template`, `show --as template`.

use callsheet_core::run::Run;
use callsheet_core::spec::{Step, TaskList};
use callsheet_core::template::{is_template_name, sheet_template};

use crate::term::harmless;

/// The list of a run as XML. What XML cannot say stands there as a comment, and is told on stderr.
pub(super) fn template_of(run: &Run, name: &str) -> String {
    let step = |slugs: &Vec<_>| Step {
        tasks: slugs.iter().filter_map(|slug| run.task(slug)).map(|task| task.task.clone()).collect(),
    };
    let steps = run.steps().iter().map(step).filter(|step| !step.tasks.is_empty()).collect();
    let printed = sheet_template(name, &TaskList { goals: run.goals().clone(), steps });
    for lost in &printed.lost {
        eprintln!("{}", harmless(&format!("note: a template cannot say this: {lost}")));
    }
    printed.text
}

/// A text as the name of a template: what may not stand in one becomes `_`.
pub(super) fn template_name(text: &str) -> String {
    let mut name: String = text
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .collect();
    if !is_template_name(&name) {
        name.insert_str(0, "run_");
    }
    name
}
