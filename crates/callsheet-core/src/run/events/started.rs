//! The event `started`.

use serde::{Deserialize, Serialize};

use crate::record::{CallKey, EffectKey};
use crate::run::{Reject, Run};
use crate::run::task::TaskRun;
use crate::run::task_change::TaskChange;
use crate::nouns::Phase;

use crate::run::effect::Effect;
use super::Event;
use super::check::require;
use super::{is_zero, Checked, Recorded};

/// An effect is about to be performed. The event precedes the performance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Started {
    /// The effect.
    pub effect: EffectKey,
    /// The tokens that a model call reserves in the budgets above it until it has ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reserved: u64,
}

impl Recorded for Started {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        let key = &self.effect;
        let startable = !matches!(
            key,
            EffectKey::Read(_)
                | EffectKey::Check { .. }
                | EffectKey::Mount { .. }
                | EffectKey::Return { .. }
                | EffectKey::Merge { .. }
                | EffectKey::Evaluate { .. }
        );
        let in_flight = &run.in_flight;
        require(startable && !in_flight.contains(key), || Reject::NotStartable(key.clone()))?;
        let pending = in_flight.is_pending(key) || in_flight.is_blocked_on_budget(key);
        require(pending, || Reject::NotOutstanding(key.clone()))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        match &self.effect {
            EffectKey::Ask(call) => ask(run, call, self.reserved),
            EffectKey::Tool { task, run: exec, .. }
            | EffectKey::Try { task, run: exec, .. }
            | EffectKey::Apply { task, run: exec, .. } => {
                TaskChange(run).enter_running(task);
                if let Some(exec) = run.tasks.get_mut(task).and_then(|task| task.run_mut(exec)) {
                    exec.attempts.admitted = true;
                }
            }
            _ => {}
        }
        run.in_flight.start(self.effect.clone());
    }
}

impl Effect {
    /// The start of the effect, which must be recorded before the effect is performed.
    pub fn started(&self) -> Event {
        let reserved = if let Self::AskModel(asked) = self { asked.reserved } else { 0 };
        Started { effect: self.key(), reserved }.into()
    }
}

fn ask(run: &mut Run, call: &CallKey, reserved: u64) {
    run.ledger.started(call, reserved);
    if let Some(slug) = call.task.as_ref().filter(|_| call.phase != Phase::Refine) {
        TaskChange(run).enter_running(slug);
    }
    run.calls.note_started(call);
    if matches!(call.phase, Phase::Iterate | Phase::Continue) {
        run.tasks.values_mut().for_each(TaskRun::show_problem);
    }
    let mut counted = true;
    if let Some(attempts) = run.attempts_mut(call) {
        attempts.admitted = true;
        counted = std::mem::replace(&mut attempts.counted, true);
    }
    if !counted {
        run.calls.need_one();
    }
}
