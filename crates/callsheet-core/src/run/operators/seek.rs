//! Looking up the context of a task before it is opened (spec 5, 13). What was found is a fact, so a resume looks up
//! nothing again; a lookup that failed is tried once more.

use crate::record::{EffectKey, Retrieval};
use crate::run::{Effect, Reject, Run};
use crate::spec::{BlobId, Slug};

use super::{EvalPhase, OpState};

/// A failed lookup is tried once more (spec 5).
const TRIES: u32 = 2;

impl Run {
    pub(super) fn op_seeks(&mut self, number: usize, request: &BlobId) {
        self.change_op(number, |op| {
            op.seeks = Some(request.clone());
            op.lookups = op.lookups.saturating_add(1);
            op.state = OpState::Seeking;
        });
    }

    /// Lookups that are owed, in the order their tasks were opened. They hold no slot.
    pub(in crate::run) fn retrievals(&self) -> impl Iterator<Item = Effect> {
        let seeking = self.operators.iter().filter(|op| self.stage.is_working() && op.state == OpState::Seeking);
        seeking.filter_map(|op| {
            let request = op.seeks.clone()?;
            Some(Effect::Retrieve { task: op.id.clone(), n: op.lookups, request })
        })
    }

    /// Context was looked up.
    pub(in crate::run) fn context_retrieved(
        &mut self,
        task: &Slug,
        n: u32,
        retrieval: &Retrieval,
        empty_index: bool,
    ) -> Result<(), Reject> {
        let key = EffectKey::Retrieve { task: task.clone(), n };
        let number = self.operators.numbers.get(task).copied();
        let number = number.ok_or_else(|| Reject::UnknownTask(task.clone()))?;
        if !self.stage.is_working() {
            return Err(Reject::Concluding);
        }
        let expected =
            self.operators.at(number).is_some_and(|op| op.state == OpState::Seeking && op.lookups == n && !op.former);
        if !expected {
            return Err(Reject::NotInFlight(key));
        }
        self.landed(key)?;
        let first_empty = empty_index && !std::mem::replace(&mut self.operators.empty_index_told, true);
        self.change_op(number, |op| {
            op.tells_empty_index |= first_empty;
            if matches!(retrieval, Retrieval::Failed { .. }) && op.lookups < TRIES {
                op.lookups = op.lookups.saturating_add(1);
                return;
            }
            op.retrieval = Some(retrieval.clone());
            op.evaluations = op.evaluations.saturating_add(1);
            op.state = OpState::Due(EvalPhase::Open);
        });
        Ok(())
    }
}
