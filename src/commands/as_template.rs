//! A run's list as a template (spec "Templates" 16): `plan --as template`, `show --as template`.

use std::collections::VecDeque;

use callsheet_core::record::Tree;
use callsheet_core::run::{Run, TaskRun};
use callsheet_core::spec::{SkillMode, Step, TaskList};
use callsheet_core::template::{Library, Printed, Template, is_template_name, print_templates, sheet_template};

use crate::cli::Failure;
use crate::library;
use crate::setup::Setup;
use crate::term::harmless;

/// The list of a run as XML, or the templates that a template's run executes. What XML cannot say stands there as a
/// comment, and is told on stderr.
///
/// # Errors
/// Templates that cannot be read.
pub(super) fn template_of(setup: &Setup, run: &Run, name: &str) -> Result<String, Failure> {
    let printed = match run.operators().tree() {
        Some(tree) => print_templates(reached(tree)),
        None => list_of(run, name, &library::load(setup)?.library),
    };
    for lost in &printed.lost {
        tell!("{}", harmless(&format!("note: a template cannot express this: {lost}")));
    }
    Ok(printed.text)
}

/// The template a run began with, then those that it calls. What stands beside them for subtasks was not asked for, and a
/// skill stays a call of that skill.
fn reached(tree: &Tree) -> Vec<&Template> {
    let mut found: Vec<&Template> = Vec::new();
    let mut open = VecDeque::from([tree.entry.as_str()]);
    while let Some(template) = open.pop_front().map(|name| tree.templates.get(name)) {
        let Some(template) = template.filter(|template| is_template_name(&template.name)) else { continue };
        if found.iter().any(|known| known.name == template.name) {
            continue;
        }
        found.push(template);
        open.extend(template.body.walk().into_iter().filter_map(|node| node.template.as_deref()));
    }
    found
}

fn list_of(run: &Run, name: &str, library: &Library) -> Printed {
    let tasks = || run.steps().iter().flatten().filter_map(|slug| run.task(slug));
    let template = |task: &TaskRun| {
        let skill = task.skill.as_ref().filter(|skill| skill.mode == SkillMode::Template)?;
        Some((task.task.skill.clone()?, &library.get(skill.tools.first()?)?.template))
    };
    let templates = tasks().filter_map(template).collect();
    let step = |slugs: &Vec<_>| Step {
        tasks: slugs.iter().filter_map(|slug| run.task(slug)).map(|task| task.task.clone()).collect(),
    };
    let steps = run.steps().iter().map(step).filter(|step| !step.tasks.is_empty()).collect();
    sheet_template(name, &TaskList { goals: run.goals().clone(), steps }, &templates)
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
