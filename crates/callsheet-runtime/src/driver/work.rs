//! Effects that wait: each becomes one future that owns what it needs and ends in facts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callsheet_core::record::{EffectKey, Event};
use callsheet_core::run::{Effect, Run};
use tokio_util::sync::CancellationToken;

use super::{DriveFault, World, ask, changes, gates, retrieve, tools};

pub(super) struct Done {
    pub key: EffectKey,
    pub result: Result<Landed, DriveFault>,
}

/// What a piece of work came to.
pub(super) enum Landed {
    /// Facts to record.
    Facts(Vec<Event>),
    /// A person edited the sheet at this gate.
    Edited,
    /// Nobody can be asked; the outcome this leads to once nothing else can be done.
    Nobody(callsheet_core::record::Outcome),
}

pub(super) struct Work {
    pub world: Arc<World>,
    pub cancel: CancellationToken,
}

pub(super) type Outcome = Pin<Box<dyn Future<Output = Result<Landed, DriveFault>> + Send>>;

/// Effects that the loop performs by itself, without a recorded start: pure, or harmless to repeat.
pub(super) fn is_quick(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ReadReply(_)
            | Effect::CheckReferences { .. }
            | Effect::MountTemplate { .. }
            | Effect::ReturnTemplate { .. }
            | Effect::MergeByCode { .. }
            | Effect::Evaluate { .. }
            | Effect::Conclude(_)
    )
}

impl Work {
    /// Takes what it needs from the run now, and does the waiting later.
    pub fn perform(self, effect: Effect, run: &Run) -> Outcome {
        match effect {
            Effect::AskModel(asked) => ask::ask(self, run, asked),
            Effect::RunTool { task, run: exec, call, deadline_ms } => {
                tools::run(self, run, &task, &exec, call, deadline_ms)
            }
            Effect::Retrieve { task, n, request } => retrieve::retrieve(self, task, n, &request),
            Effect::AskApproval(gate) => gates::approve(self, run, gate),
            Effect::AskPerson { task, run: exec, call, question } => {
                gates::question(self, (task, exec, call), question)
            }
            Effect::ApplyChanges { task, run: exec, set, changes } => changes::apply(self, task, exec, set, changes),
            Effect::RollBack { task, run: exec, set, changes } => changes::roll_back(self, task, exec, set, changes),
            Effect::ReadReply(_)
            | Effect::CheckReferences { .. }
            | Effect::MountTemplate { .. }
            | Effect::ReturnTemplate { .. }
            | Effect::MergeByCode { .. }
            | Effect::Evaluate { .. }
            | Effect::Conclude(_) => Box::pin(async { Err(DriveFault::defect("a quick effect was started as work")) }),
        }
    }
}

/// A future that is already over.
pub(super) fn ready(result: Result<Vec<Event>, DriveFault>) -> Outcome {
    Box::pin(async { result.map(Landed::Facts) })
}
