//! The references of a task: its own and those carried over from the summaries of producers (spec 2.12).

use callsheet_core::links::parse_target;
use callsheet_core::nouns::{Phase, Reference};
use callsheet_core::run::{Run, TaskRun};

use crate::references::{Allowance, Wanted};
use crate::services::Services;

/// File links in the summaries of producers, each once, without those that the task itself names (spec 2.12).
pub(crate) fn carried(run: &Run, own: &[Reference]) -> Vec<Wanted> {
    let mut carried: Vec<Wanted> = Vec::new();
    let producers = own.iter().filter_map(|reference| run.task(reference.target.producer()?));
    for link in producers.filter_map(|task| task.result()).flat_map(|result| &result.links) {
        let Ok(target) = parse_target(link) else { continue };
        let known =
            own.iter().map(|reference| &reference.target).chain(carried.iter().map(|wanted| &wanted.reference.target));
        if known.into_iter().all(|known| *known != target) {
            carried.push(Wanted { reference: Reference { title: String::new(), target }, carried: true });
        }
    }
    carried
}

/// The references that a task's execution would read, including carried ones.
pub(crate) fn execution_references(run: &Run, task: &TaskRun) -> Vec<Wanted> {
    let own: Vec<Reference> = task.task.references.clone();
    let carried = carried(run, &own);
    own.into_iter().map(|reference| Wanted { reference, carried: false }).chain(carried).collect()
}

/// Tokens for references in a prompt of a task's execution (spec 5.8), and the number of its first picture, if its model
/// sees pictures.
pub(crate) fn execution_allowance(services: &Services, run: &Run, task: &TaskRun) -> (Allowance, Option<usize>) {
    let skill = task.skill.as_ref();
    let wish = skill.and_then(|skill| skill.model.as_deref());
    let model = services.models.model(Phase::Execute, wish).ok();
    let info = model.as_ref().map(|model| model.info());
    let own = skill.and_then(|skill| skill.limits.reference_tokens);
    let allowance = Allowance::new(&run.settings().budget, own, info.and_then(|info| info.window), 1.0);
    (allowance, info.filter(|info| info.capabilities.vision).map(|_| 1))
}
