//! The event `call_failed`.

use serde::{Deserialize, Serialize};

use crate::record::{CallFault, CallKey, CallSizes, EffectKey};
use crate::record::words::call_words;
use crate::run::Run;
use crate::run::replies::Replies;

use super::check::Check;
use super::{Checked, Line, Recorded, Stale};

/// A model call gave no reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallFailed {
    /// The call.
    pub key: CallKey,
    /// Why it failed.
    pub fault: CallFault,
    /// How often the request was sent.
    pub sends: u32,
    /// The provider's message, without secrets.
    pub message: String,
    /// The size of the prompt, if it was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<CallSizes>,
}

impl Recorded for CallFailed {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        Check(run).in_flight(EffectKey::Ask(self.key.clone()))
    }

    fn apply(&self, run: &mut Run, at: u64) {
        if self.fault == CallFault::Cancelled && self.sends > 0 {
            run.ledger.cut_off(&self.key);
        }
        Replies(run).call_failed(&self.key, &self.fault, &self.message, self.sizes, at);
        if self.sends == 0 {
            Replies(run).take_back(&self.key);
        }
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(EffectKey::Ask(self.key.clone()))
    }

    /// The failed task may have parts that finished.
    fn stale(&self) -> Stale<'_> {
        Stale { sheet: false, task: self.key.task.as_ref() }
    }

    fn line(&self, run: &Run) -> Option<Line> {
        // A fault of the configuration ends the run, and its last message describes the fault.
        if self.fault == CallFault::Configuration {
            return None;
        }
        let what =
            if self.sends == 0 { "not sent".to_owned() } else { format!("no reply after {} sends", self.sends) };
        let call = call_words(&self.key, run.part(&self.key));
        Some(Line::new(format!("{call}: {what}: ")).quote(&self.message, 200))
    }
}
