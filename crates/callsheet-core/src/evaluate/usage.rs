//! What a task used, and why a leaf failed (spec 6, 9).

use serde_json::Value;

use crate::nouns::BlobId;
use crate::run::{Cause, Limit, NodeInstance, State, TaskRun};
use crate::template::{Details, Halt, Reason, Resource, ResourceMetrics, TaskError};

use super::{Evaluator, failure};

impl Evaluator<'_> {
    pub(super) fn metrics(&self, op: &NodeInstance) -> ResourceMetrics {
        let limits = self.node(op).map(|node| node.limits.clone()).unwrap_or_default();
        let spent = self.run.spent(op);
        let mut metrics = ResourceMetrics { calls: spent.calls, ..ResourceMetrics::default() };
        metrics.tokens.input = spent.input;
        metrics.tokens.output = spent.output;
        metrics.tokens.cached = spent.cached;
        metrics.tokens.limit = limits.max_tokens;
        metrics.cost.usd = spent.cost_usd;
        metrics.cost.limit = limits.max_cost_usd;
        metrics.depth.used = op.depth;
        metrics.depth.limit = Some(limits.max_depth.unwrap_or(self.run.settings().limits.max_depth));
        metrics.wall.limit_ms = limits.timeout_seconds.map(|seconds| u64::from(seconds).saturating_mul(1_000));
        metrics.wall.ms = op.clock.spent_ms(self.run.now_ms());
        let Some(task) = self.leaf(op) else { return metrics };
        metrics.wall.ms = task.clock.spent_ms(self.run.now_ms());
        // A leaf has its own time limit, by default the one of the run's settings.
        let seconds = task.skill.as_ref().and_then(|skill| skill.limits.task.timeout_seconds);
        let seconds = seconds.unwrap_or(self.run.settings().limits.timeout_seconds);
        metrics.wall.limit_ms = Some(u64::from(seconds).saturating_mul(1_000));
        metrics.output.limit = limits.max_output_bytes.or(Some(self.run.settings().limits.max_output_bytes));
        if task.is_handler() {
            let own = task.skill.as_ref().and_then(|skill| skill.limits.task.max_turns);
            metrics.turns.used = self.assistant_turns(task);
            metrics.turns.limit = own;
            metrics.turns.last_turn_at = task.last_turn_at;
            metrics.context.limit = Some(task.sizes.prompt_limit).filter(|limit| *limit > 0);
            let calls = || self.run.turns_of(&task.task.slug);
            metrics.context.peak_usage = calls().map(|call| call.usage.input).max().unwrap_or(task.sizes.prompt);
            metrics.context.used = calls().next_back().map_or(task.sizes.prompt, |call| call.usage.input);
            metrics.output.bytes = calls().map(|call| self.said_bytes(&call.reply)).max().unwrap_or(0);
        }
        metrics
    }

    /// Bytes of a recorded reply that the model wrote: its text and its calls.
    fn said_bytes(&self, reply: &BlobId) -> u64 {
        let reply = self.value::<Value>(reply).unwrap_or_default();
        let text = reply.get("text").and_then(Value::as_str).map_or(0, str::len);
        let calls = reply.get("calls").and_then(Value::as_array).into_iter().flatten();
        let arguments = calls.filter_map(|call| call.get("arguments")).map(|given| given.to_string().len());
        u64::try_from(text.saturating_add(arguments.sum())).unwrap_or(u64::MAX)
    }

    /// Assistant messages of a handler.
    fn assistant_turns(&self, task: &TaskRun) -> u32 {
        let calls = self.run.turns_of(&task.task.slug);
        u32::try_from(calls.count()).unwrap_or(u32::MAX)
    }

    /// Why the work of a leaf did not finish.
    pub(super) fn leaf_error(&self, op: &NodeInstance, task: &TaskRun) -> TaskError {
        if task.state() == State::Denied {
            let words = task.denial().unwrap_or_default().trim();
            let message = if words.is_empty() { "a person denied it".to_owned() } else { format!("denied: {words}") };
            return failure::halted(Halt::ApprovalDenied, message, Details::default());
        }
        let Some(found) = task.failure() else {
            return failure::failure(Reason::UnexpectedError, "it ended without a reason", Details::default());
        };
        if found.communication {
            return failure::failure(Reason::LlmError, found.reason.as_str(), Details::default());
        }
        match found.cause {
            Cause::Limit(Limit::MaxTurns) => {
                let used = self.assistant_turns(task);
                let message = format!("it used all of its {used} turns");
                failure::exhausted(Resource::Turns, f64::from(used), f64::from(used), message)
            }
            Cause::Limit(limit) | Cause::AboveLimit(limit) => self.spent_error(op, limit, &found.reason),
            Cause::Overflow => {
                let (used, limit) = (number(task.sizes.prompt), number(task.sizes.prompt_limit));
                failure::exhausted(Resource::Context, used, limit, found.reason.as_str())
            }
            Cause::Configuration => {
                failure::failure(Reason::ConfigurationError, found.reason.as_str(), Details::default())
            }
            Cause::Subtask => self
                .fatal_subtask(op)
                .unwrap_or_else(|| failure::failure(Reason::SubtaskFailure, found.reason.as_str(), Details::default())),
            Cause::NoProgress => failure::halted(Halt::NoProgress, found.reason.as_str(), Details::default()),
            // The provider answered, but its answer could not be read.
            Cause::Other if !found.issues.is_empty() => failure::invalid_output(found.reason.as_str()),
            Cause::Other => failure::failure(Reason::UnexpectedError, found.reason.as_str(), Details::default()),
        }
    }

    /// The spent budget: that of the task, or the nearest one above that is spent.
    fn spent_error(&self, op: &NodeInstance, limit: Limit, reason: &str) -> TaskError {
        let spent = |resource, used: f64, most: f64| (used >= most).then_some((resource, used, most));
        let owner = self.run.operators().ancestry(op).find_map(|above| {
            let (limits, used) = (&self.node(above)?.limits, self.run.spent(above));
            match limit {
                Limit::TaskCalls => {
                    spent(Resource::Calls, f64::from(used.counted_calls()), f64::from(limits.max_calls?))
                }
                Limit::TaskTokens => spent(Resource::Tokens, number(used.tokens()), number(limits.max_tokens?)),
                Limit::MaxCost => spent(Resource::Cost, used.cost_usd, limits.max_cost_usd?),
                _ => None,
            }
            .map(|found| (above, found))
        });
        match owner {
            Some((above, (resource, used, most))) => {
                let message = if above.id == op.id {
                    format!("it reached its limit {}", limit.name())
                } else {
                    format!("it reached the limit {} of {}", limit.name(), above.id)
                };
                failure::exhausted(resource, used, most, message)
            }
            None if limit == Limit::TaskTokens => self.token_error(op, reason),
            // The budget belongs to the task of a sheet that calls the template.
            None if limit == Limit::TaskCalls => failure::exhausted(Resource::Calls, 0.0, 0.0, reason),
            None => failure::failure(Reason::ExecutionTimeout, reason, Details::default()),
        }
    }

    /// The token budget that leaves the task the least is too small for its needs (spec 9).
    pub(super) fn token_error(&self, op: &NodeInstance, reason: &str) -> TaskError {
        let budgets = self.run.operators().ancestry(op).filter_map(|above| {
            let max = self.node(above)?.limits.max_tokens?;
            Some((self.run.spent(above).tokens(), max, above))
        });
        match budgets.min_by_key(|(used, max, _)| max.saturating_sub(*used)) {
            Some((used, max, above)) => {
                let whose = if above.id == op.id { String::new() } else { format!(" of {}", above.id) };
                let message = format!("{reason} (limit {}{whose})", Limit::TaskTokens.name());
                failure::exhausted(Resource::Tokens, number(used), number(max), message)
            }
            None => failure::exhausted(Resource::Tokens, 0.0, 0.0, reason),
        }
    }
}

/// Counts stay far below 2^53, where this would lose precision.
#[allow(clippy::cast_precision_loss)]
fn number(value: u64) -> f64 {
    value as f64
}
