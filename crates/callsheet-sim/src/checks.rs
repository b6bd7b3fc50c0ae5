//! Checks of change sets: random results, and the books about them.

use std::collections::BTreeSet;

use callsheet_core::events::{self, Event};
use callsheet_core::issue::Issue;
use callsheet_core::nouns::{ExecutionId, Slug};
use callsheet_core::record::{CheckEnd, CheckReport, EffectKey, GateKind};
use callsheet_core::run::{Effect, Run};

use crate::checkers::Kept;
use crate::random::Random;
use crate::world::blob;

/// The result of a check. `None` if the effect is not a check. `issue` is what a model is told about a failure.
pub(crate) fn checked(random: &mut Random, effect: &Effect, issue: Issue) -> Option<Event> {
    let Effect::TryChanges { task, run, set, check, .. } = effect else { return None };
    let ends = [CheckEnd::Passed, CheckEnd::Failed, CheckEnd::NotRun];
    let end = random.pick(&ends).copied().unwrap_or(CheckEnd::Passed);
    let issues = if end == CheckEnd::Failed { vec![issue] } else { Vec::new() };
    let check = CheckReport { name: check.clone(), end, output: blob("checked"), ms: 200 };
    Some(events::ChangesChecked { task: task.clone(), run: run.clone(), set: *set, check, issues }.into())
}

/// The finished checks.
#[derive(Default)]
pub(crate) struct Checks(BTreeSet<(Slug, u32)>);

impl Checks {
    /// Notes an event. Returns the execution that must repeat its work.
    pub fn note(&mut self, run: &Run, event: &Event) -> Option<(Slug, ExecutionId)> {
        let Event::ChangesChecked(events::ChangesChecked { task, run: exec, set, check, .. }) = event else {
            return None;
        };
        self.0.insert((task.clone(), *set));
        let again = check.end == CheckEnd::Failed && run.pending_changes(task, exec, *set).is_none();
        again.then(|| (task.clone(), exec.clone()))
    }

    /// Whether a check is finished and must not be repeated.
    pub fn is_over(&self, task: &Slug, set: u32) -> bool {
        self.0.contains(&(task.clone(), set))
    }
}

/// The changes of a reply whose task has a check are only shown to a person or applied with the result of the check.
///
/// # Errors
/// There is no result.
pub(crate) fn nothing_is_applied_unchecked(run: &Run, effect: &EffectKey) -> Kept {
    let (task, exec, set) = match effect {
        EffectKey::Apply { task, run, set } => (task, run, *set),
        EffectKey::Gate(gate) => match &gate.kind {
            GateKind::BeforeApply { task, run, set } => (task, run, *set),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let Some(owner) = run.task(task) else { return Ok(()) };
    let has_check = owner.skill.as_ref().is_some_and(|skill| skill.check.is_some());
    let of_reply = owner.run(exec).is_some_and(|exec| exec.result().is_some());
    match has_check && of_reply && run.check_of_changes(task, exec, set).is_none() {
        true => Err(format!("nothing is applied unchecked: {effect:?}")),
        false => Ok(()),
    }
}
