//! Looks up the context of a task before it opens (spec 5, 13). The result is recorded as an event, so a resume
//! repeats no lookup. A failed lookup is tried once more.

use crate::nouns::{BlobId, Slug};
use crate::record::{EffectKey, Retrieval};
use crate::run::Effect;
use crate::template::operators::EvalPhase;

use super::tree::{TreeQuery, Trees};
use super::{NodeInstance, OpState};

/// The maximum number of tries for a lookup (spec 5).
const TRIES: u32 = 2;

impl TreeQuery<'_> {
    /// The outstanding lookups, in the order in which their tasks were opened. They use no slot.
    pub fn retrievals(self) -> Vec<Effect> {
        let (operators, works) = (&self.0.operators, self.0.stage().is_working());
        let seeking = operators.list.seeking().filter(|_| works);
        let retrieve = |op: &NodeInstance| {
            let request = op.seeks.clone()?;
            Some(Effect::Retrieve { task: op.id.clone(), n: op.lookups, request })
        };
        seeking.filter_map(retrieve).collect()
    }
}

impl Trees<'_> {
    /// Applies the result of a lookup.
    pub fn retrieved(&mut self, task: &Slug, n: u32, retrieval: &Retrieval, empty_index: bool) {
        let Some(number) = self.0.operators.numbers.get(task).copied() else { return };
        self.0.in_flight.end(&EffectKey::Retrieve { task: task.clone(), n });
        let first_empty = empty_index && !std::mem::replace(&mut self.0.operators.empty_index_told, true);
        self.change_op(number, |op| {
            op.tells_empty_index |= first_empty;
            if matches!(retrieval, Retrieval::Failed { .. }) && op.lookups < TRIES {
                op.lookups = op.lookups.saturating_add(1);
                return;
            }
            op.retrieval = Some(retrieval.clone());
            op.evaluations = op.evaluations.saturating_add(1);
            op.phase = OpState::Due(EvalPhase::Open);
        });
    }
}

impl NodeInstance {
    /// Notes that a lookup is outstanding.
    pub(super) fn seek(&mut self, request: &BlobId) {
        self.seeks = Some(request.clone());
        self.lookups = self.lookups.saturating_add(1);
    }
}
