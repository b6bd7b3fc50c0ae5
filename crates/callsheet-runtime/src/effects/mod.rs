//! Effects that wait: each becomes one future that owns what it needs and ends in facts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callsheet_core::record::{EffectKey, Event};
use callsheet_core::run::{Effect, Run};
use tokio_util::sync::CancellationToken;

pub(crate) mod apply;
pub(crate) mod gate;
pub(crate) mod hunks;
mod lookup;
mod model;
pub(crate) mod read;
mod tool;

use crate::fault::DriveFault;
use crate::services::World;

pub(crate) struct Done {
    pub(crate) key: EffectKey,
    pub(crate) result: Result<Landed, DriveFault>,
}

/// What a piece of work came to.
pub(crate) enum Landed {
    /// Facts to record.
    Facts(Vec<Event>),
    /// A person edited the sheet at this gate.
    Edited,
    /// A person stopped a run inside a call, and so all of it.
    Stopped,
    /// A writer may be started now, of which nothing is done, or the time of the run is over before its turn came.
    Turn { turn: Option<crate::driver::turns::Turn>, waited_ms: u64 },
    /// Nobody can be asked; the outcome this leads to once nothing else can be done.
    Nobody(callsheet_core::record::Outcome),
}

pub(crate) struct Work {
    pub world: Arc<World>,
    pub cancel: CancellationToken,
}

pub(crate) type Outcome = Pin<Box<dyn Future<Output = Result<Landed, DriveFault>> + Send>>;

/// Effects that the loop performs by itself, without a recorded start: pure, or harmless to repeat.
pub(crate) fn is_quick(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ReadReply(_)
            | Effect::CheckReferences { .. }
            | Effect::MergeByCode { .. }
            | Effect::Evaluate { .. }
            | Effect::Conclude(_)
    )
}

impl Work {
    /// Takes what it needs from the run now, and does the waiting later.
    pub fn perform(self, effect: Effect, run: &Run) -> Outcome {
        match effect {
            Effect::AskModel(asked) => model::ask(self, run, asked),
            Effect::RunTool { task, run: exec, call, deadline_ms } => {
                tool::run(self, run, &task, &exec, call, deadline_ms)
            }
            Effect::Retrieve { task, n, request } => lookup::retrieve(self, task, n, &request),
            Effect::AskApproval(gate) => gate::approve(self, run, gate),
            Effect::AskPerson { task, run: exec, call, question } => {
                gate::question(self, run, (task, exec, call), question)
            }
            Effect::ApplyChanges { task, run: exec, set, changes } => apply::apply(self, task, exec, set, changes),
            Effect::RollBack { task, run: exec, set, changes } => apply::roll_back(self, task, exec, set, changes),
            Effect::ReadReply(_)
            | Effect::CheckReferences { .. }
            | Effect::MergeByCode { .. }
            | Effect::Evaluate { .. }
            | Effect::Conclude(_) => Box::pin(async { Err(DriveFault::defect("a quick effect was started as work")) }),
        }
    }
}

/// A future that is already over.
pub(crate) fn ready(result: Result<Vec<Event>, DriveFault>) -> Outcome {
    Box::pin(async { result.map(Landed::Facts) })
}
