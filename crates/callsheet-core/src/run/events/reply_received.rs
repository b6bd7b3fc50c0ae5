//! The event `reply_received`.

use serde::{Deserialize, Serialize};

use crate::record::{CallKey, CallSizes, EffectKey, ReusedCall, StopReason, Usage};
use crate::record::words::call_words;
use crate::run::{limits, Run};
use crate::run::replies::Replies;
use crate::run::totals::CallRecord;
use crate::nouns::BlobId;
use crate::units::{dollars, duration, thousands};

use super::check::Check;
use super::{Checked, Line, Recorded};

/// A model replied. Nothing has acted on the reply yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplyReceived {
    /// The call.
    pub key: CallKey,
    /// The prompt exactly as sent: the canonical request as JSON.
    pub prompt: BlobId,
    /// The canonical reply as JSON, with text, thinking and tool calls.
    pub reply: BlobId,
    /// The `PROVIDER/MODEL` that answered.
    pub model: String,
    /// The tokens and the cost.
    pub usage: Usage,
    /// Milliseconds from the first send to the last byte, without waits for a slot.
    pub ms: u64,
    /// How often the request was sent (spec 12.1).
    pub sends: u32,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The earlier call with the same request whose reply this is. Nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<ReusedCall>,
    /// The pictures that the prompt contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<BlobId>,
    /// The sizes of prompt and reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<CallSizes>,
}

impl Recorded for ReplyReceived {
    fn concerns_one_task(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        Check(run).in_flight(EffectKey::Ask(self.key.clone()))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        let key = &self.key;
        Replies(run).landed(key);
        // If the run's own limit cut the reply, it is requested again with a larger limit.
        let task = key.task.as_ref().and_then(|slug| run.tasks.get(slug));
        let cut = self.stop == StopReason::Budget;
        let short = cut && limits::short_of_tokens(run, task, u64::MAX) == limits::Shortfall::Run;
        let mut attempt = 1;
        if let Some(attempts) = run.attempts_mut(key) {
            attempt = attempts.attempt;
            attempts.reading = Some(key.clone()).filter(|_| !short);
            attempts.communication = false;
            attempts.busy_ms = attempts.busy_ms.saturating_add(self.ms);
        }
        let now = run.clock.now();
        if let Some(task) = key.task.as_ref().and_then(|slug| run.tasks.get_mut(slug)) {
            task.measure(self.sizes, Some(now));
        }
        run.ledger.charged(key.task.as_ref(), &self.usage);
        if self.reused.is_some() {
            run.ledger.not_sent(key.task.as_ref());
            run.calls.need_one_less();
        }
        if cut {
            Replies(run).note_no_room(key, !short);
        }
        run.calls.add(self.call_record(run.part(key), attempt));
    }

    fn ends(&self) -> Option<EffectKey> {
        Some(EffectKey::Ask(self.key.clone()))
    }

    fn blobs(&self) -> Vec<&BlobId> {
        [&self.prompt, &self.reply].into_iter().chain(&self.pictures).collect()
    }

    fn line(&self, run: &Run) -> Option<Line> {
        if let Some(earlier) = &self.reused {
            let words = call_words(&self.key, run.part(&self.key));
            return Some(Line::new(format!("{words}: repeats the request of {} and reuses its reply", earlier.words())));
        }
        let cost = self.usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", {}", dollars(cost)));
        Some(Line::new(format!(
            "{}: {} input tokens, {} output tokens, {}{}",
            call_words(&self.key, run.part(&self.key)),
            thousands(self.usage.input),
            thousands(self.usage.output),
            duration(self.ms),
            cost.unwrap_or_default()
        )))
    }
}

impl ReplyReceived {
    fn call_record(&self, part: &str, attempt: u32) -> CallRecord {
        CallRecord {
            key: self.key.clone(),
            part: part.to_owned(),
            number: 0,
            attempt,
            model: self.model.clone(),
            usage: self.usage,
            ms: self.ms,
            sends: self.sends,
            reused: self.reused.clone(),
            stop: self.stop,
            prompt: self.prompt.clone(),
            reply: self.reply.clone(),
            repairs: Vec::new(),
            issues: Vec::new(),
            accepted: None,
            rejected: Vec::new(),
        }
    }
}
