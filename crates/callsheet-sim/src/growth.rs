//! Plans that are still being written.

use callsheet_core::record::{CallKey, EffectKey, Event, ListAdopted};
use callsheet_core::run::Run;
use callsheet_core::spec::Phase;

use crate::world::World;

/// The call that writes the plan.
pub(crate) fn plan_call(run: &Run) -> Option<CallKey> {
    let keys = run.outstanding().into_iter().map(|effect| effect.key());
    keys.filter(|key| run.is_in_flight(key)).find_map(|key| match key {
        EffectKey::Ask(call) if call.phase == Phase::Plan => Some(call),
        _ => None,
    })
}

/// As long as a plan is being written, nothing that changes something begins (spec 2.3).
///
/// # Errors
/// It does.
pub(crate) fn only_readers_begin_early(run: &Run, event: &Event) -> Result<(), String> {
    let Event::Started { effect, .. } = event else { return Ok(()) };
    let task = match effect {
        EffectKey::Ask(call) if call.phase != Phase::Refine => call.task.as_ref(),
        EffectKey::Tool { task, .. } | EffectKey::Apply { task, .. } => Some(task),
        _ => None,
    };
    let writes = task.and_then(|slug| run.task(slug)).is_some_and(|task| task.writer.is_some());
    if run.is_growing() && writes { Err(format!("only readers begin early: {effect:?}")) } else { Ok(()) }
}

impl World {
    /// The next whole task of a plan; one that is sent again may say something else. `None`: it has no more.
    pub(crate) fn written(&mut self, run: &Run, key: CallKey) -> Option<Event> {
        let list = match self.plan.take() {
            Some((of, list)) if of == key || run.is_growing() && self.random.chance(70) => list,
            _ => self.list(None),
        };
        let tasks = list.steps.iter().flat_map(|step| {
            let last = step.len();
            step.iter().zip(1..).map(move |(task, number)| (task, number == last))
        });
        let mut tasks: Vec<_> = tasks.map(|(task, ends)| (task.clone(), ends)).collect();
        // The last one may go on as long as the reply does.
        tasks.pop();
        let known = run.steps().iter().flatten().count();
        let next = tasks.into_iter().nth(known);
        let skills = list.skills.clone();
        self.plan = Some((key.clone(), list));
        let (task, ends_section) = next?;
        let skill = task.task.skill.as_ref().and_then(|skill| skills.get(skill).cloned());
        Some(Event::TaskPlanned { key, task: Box::new(task), ends_section, skill, ms: 100 })
    }

    /// What the plan is in the end: mostly what was read of it, with the rest.
    pub(crate) fn finished_plan(&mut self, run: &Run) -> ListAdopted {
        match self.plan.take() {
            Some((_, list)) if run.is_growing() && self.random.chance(80) => list,
            _ => self.list(None),
        }
    }
}
