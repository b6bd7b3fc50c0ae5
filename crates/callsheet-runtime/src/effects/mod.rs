//! Effects: what a run asks to be done. Each takes its input from the run and ends in events. None knows the loop.

pub(crate) mod apply;
pub(crate) mod check_references;
pub(crate) mod conclude;
mod evaluate;
mod for_each;
mod gate;
mod gate_view;
mod hooks;
pub(crate) mod hunks;
mod lookup;
mod merge;
mod model;
mod read_reply;
mod read_turn;
mod stage;
pub(crate) mod template;
mod tool;
mod try_changes;
mod unsupported;
mod work;

use callsheet_core::evaluate::Memory;
use callsheet_core::events::Event;
use callsheet_core::run::{Effect, Run};

use crate::fault::DriveFault;
use crate::reading::known::TaskIndex;
use crate::services::Services;

pub(crate) use gate::report_invalid;
pub(crate) use gate_view::pending;
pub use gate_view::{OpenQuestion, gate_view, open_gates, open_questions, part_fault};
pub use hooks::{HookRefusal, ask_hooks};
pub(crate) use model::models_of;
pub use model::unpriced_words;
pub(crate) use work::{Completion, EffectFuture, EffectResult, Work};

/// What quick effects of one run keep between calls.
#[derive(Default)]
pub(crate) struct Kept {
    /// What evaluations have read from the record.
    memory: Memory,
    tasks: TaskIndex,
}

/// Performs an effect at once, without a recorded start, if it is pure or harmless to repeat. `None` if it must wait
/// for something.
pub(crate) fn perform_quick(
    services: &Services,
    run: &Run,
    effect: &Effect,
    kept: &mut Kept,
) -> Result<Option<Vec<Event>>, DriveFault> {
    Ok(Some(match effect {
        Effect::ReadReply(asked) => read_reply::read_reply(services, run, asked, &mut kept.tasks)?,
        Effect::CheckReferences { task, n, stage } => {
            vec![check_references::check_references(services, run, task, *n, *stage)?]
        }
        Effect::Evaluate { task, n, moment } => {
            vec![evaluate::evaluate(services, run, task, *n, *moment, &mut kept.memory)?]
        }
        Effect::MergeByCode { task, n } => vec![merge::merge_by_code(services, run, task, *n)?],
        Effect::MountTemplate { task, run: exec, call } => vec![template::mount(services, run, task, exec, call)?],
        Effect::ReturnTemplate { task, run: exec, call } => vec![template::returned(services, run, task, exec, call)?],
        Effect::Conclude(outcome) => vec![conclude::conclude(services, run, *outcome)?],
        _ => return Ok(None),
    }))
}

/// Takes an effect's input from the run now, and waits later.
pub(crate) fn perform(work: Work, effect: Effect, run: &Run) -> EffectFuture {
    match effect {
        Effect::AskModel(asked) => model::ask(work, run, asked),
        effect @ Effect::RunTool { .. } => tool::run(work, run, effect),
        Effect::Retrieve { task, n, request } => lookup::retrieve(work, task, n, &request),
        Effect::AskApproval(gate) => gate::approve(work, run, gate),
        effect @ Effect::AskPerson { .. } => gate::question(work, effect),
        Effect::TryChanges { .. } => try_changes::check(work, run, effect),
        Effect::ApplyChanges { task, run: exec, set, changes } => {
            apply::apply(work, run.settings().branch.clone(), (task, exec, set), changes)
        }
        Effect::RollBack { task, run: exec, set, changes } => apply::roll_back(work, task, exec, set, changes),
        Effect::ReadReply(_)
        | Effect::CheckReferences { .. }
        | Effect::MergeByCode { .. }
        | Effect::Evaluate { .. }
        | Effect::MountTemplate { .. }
        | Effect::ReturnTemplate { .. }
        | Effect::Conclude(_) => Box::pin(async { Err(DriveFault::defect("a quick effect was started as work")) }),
    }
}
