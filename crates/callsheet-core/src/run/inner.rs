//! A call that runs a template runs it as a run of its own (spec "Templates" 16). What that inner run may use is lent to
//! it of what this one has left, and comes back with its account; where it stops before its end, the call waits for
//! the person, for a loan, or for a provider.

use crate::record::{EffectKey, Outcome, Spending, ToolRecord, Usage};
use crate::spec::{ExecRunId, RunId, Settings, SkillMode, Slug};

use super::approval::Approval;
use super::{Failure, Limit, Run, ToolState, limits};

/// What an inner run may use beyond what it has already been charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loan {
    /// Model calls.
    pub calls: u32,
    /// Tokens; `None`: no limit.
    pub tokens: Option<u64>,
    /// US dollars; `None`: no limit.
    pub cost_usd: Option<f64>,
    /// Others have a share as well, and may bring something back.
    pub shared: bool,
}

/// How an inner run stopped before its end.
pub(super) struct Stop<'a> {
    pub inner: &'a RunId,
    pub outcome: Outcome,
    /// In words.
    pub reason: &'a str,
    /// A call had no room in what it was lent.
    pub no_room: bool,
}

/// A call whose inner run waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedCall<'a> {
    /// The task that made the call.
    pub task: &'a Slug,
    /// The inner run.
    pub run: &'a RunId,
    /// `approval_required` or `input_required`.
    pub outcome: Outcome,
}

impl Loan {
    /// Whether it holds more than one that was too little, or is all that there is now.
    pub(super) fn is_more_than(&self, had: &Self) -> bool {
        let more = self.tokens.zip(had.tokens).is_none_or(|(now, then)| now > then);
        more || (had.shared && !self.shared)
    }

    /// The limit of which it holds nothing.
    pub(super) fn lacks(&self) -> Option<Limit> {
        if self.calls == 0 {
            Some(Limit::MaxCalls)
        } else if self.tokens == Some(0) {
            Some(Limit::MaxTokens)
        } else if self.cost_usd.is_some_and(|cost| cost <= 0.0) {
            Some(Limit::MaxCost)
        } else {
            None
        }
    }
}

impl Run {
    /// All that is lent now.
    pub(super) fn lent(&self) -> Loan {
        let zero = Loan { calls: 0, tokens: Some(0), cost_usd: Some(0.0), shared: false };
        self.loans.values().fold(zero, |sum, loan| Loan {
            calls: sum.calls.saturating_add(loan.calls),
            tokens: sum.tokens.map(|tokens| tokens.saturating_add(loan.tokens.unwrap_or(0))),
            cost_usd: sum.cost_usd.map(|cost| cost + loan.cost_usd.unwrap_or(0.0)),
            shared: false,
        })
    }

    /// The call is about to run a template: it is lent its share, unless it still has one from before a crash.
    pub(super) fn lend(&mut self, key: &EffectKey, task: &Slug, at: u64) {
        if !self.flights.iter().any(|other| other != key && self.loans.contains_key(other)) {
            (self.calls_inside_since, self.waited_inside_ms) = (at, 0);
        }
        if self.calls_template(task) && !self.loans.contains_key(key) {
            let listed =
                self.flights.pending().iter().filter(|effect| {
                    matches!(effect, super::Effect::AskModel(_)) && !self.flights.contains(&effect.key())
                });
            let starting = u32::try_from(listed.count()).unwrap_or(u32::MAX);
            let loan = limits::loan(self, starting, self.is_short(key));
            self.loans.insert(key.clone(), loan);
        }
    }

    /// Whether the run inside a call has a loan from before a crash, and goes on with it.
    pub(super) fn has_loan(&self, task: &Slug, run: &ExecRunId, call: &str) -> bool {
        let key = EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.to_owned() };
        self.settings().accounts_inside && self.loans.contains_key(&key)
    }

    /// Whether calls of the task run a template.
    pub(super) fn calls_template(&self, task: &Slug) -> bool {
        let skill = self.tasks.get(task).and_then(|task| task.skill.as_ref());
        skill.is_some_and(|skill| skill.mode == SkillMode::Template)
    }

    /// Whether a share of what is left was too little for the run inside a call.
    pub(super) fn has_short_call(&self, task: &Slug, run: &ExecRunId, call: &str) -> bool {
        let call = self.tasks.get(task).and_then(|task| task.run(run)?.call(call));
        call.is_some_and(|call| call.short_of.is_some())
    }

    fn is_short(&self, key: &EffectKey) -> bool {
        let EffectKey::Tool { task, run, call } = key else { return false };
        self.has_short_call(task, run, call)
    }

    /// Whether the run inside a call ended in a failure, and that was told: it has nothing more to give.
    pub fn has_failed_inside(&self, inner: &RunId) -> bool {
        self.failed_inside.contains(inner)
    }

    /// Whether the calls of the task are held to the times of the template that they run, not to the task's own.
    pub(super) fn has_time_inside(&self, task: &Slug) -> bool {
        self.settings().accounts_inside && self.calls_template(task)
    }

    /// The settings of the run `inner` inside a call: what was charged for it is part of what it counts itself.
    pub fn settings_inside(&self, task: &Slug, run: &ExecRunId, call: &str, inner: &RunId) -> Settings {
        let key = EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.to_owned() };
        let charged = self.accounts.get(inner).copied().unwrap_or_default();
        let loan = self.loans.get(&key).copied().unwrap_or_else(|| limits::loan(self, 0, self.is_short(&key)));
        let mut settings = self.settings().clone();
        settings.limits_shared = loan.shared;
        settings.whole_shares = true;
        settings.jobs = limits::jobs_inside(self);
        settings.headless = self.settings().headless.inside(task);
        let inside = &mut settings.limits;
        inside.run_timeout_seconds = limits::seconds_left(self);
        inside.max_calls = loan.calls.saturating_add(charged.calls);
        inside.max_tokens = loan.tokens.map(|tokens| tokens.saturating_add(charged.usage.tokens()));
        inside.max_cost_usd = loan.cost_usd.map(|cost| cost + charged.usage.cost_usd.unwrap_or(0.0));
        settings
    }

    /// What the inner run of a call cost in all is charged, as far as it was not: a task that is done again may find it
    /// as it was left. True if there was something.
    pub(super) fn charge(&mut self, key: &EffectKey, inner: Option<&RunId>, spent: &Spending) -> bool {
        self.charge_fresh(key, inner, spent).calls > 0
    }

    /// Calls with something lent that nobody makes any more: the process that made them is gone, and what the runs inside
    /// them used is not charged yet.
    pub fn calls_to_account(&self) -> Vec<(&Slug, &ExecRunId, &str)> {
        let left = self.loans.keys().filter(|key| !self.flights.contains(key));
        let calls = left.filter_map(|key| match key {
            EffectKey::Tool { task, run, call } => Some((task, run, call.as_str())),
            _ => None,
        });
        calls.collect()
    }

    pub(super) fn accounted(
        &mut self,
        task: &Slug,
        run: &ExecRunId,
        call: &str,
        inner: Option<&RunId>,
        spent: &Spending,
    ) {
        let key = EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.to_owned() };
        self.charge(&key, inner, spent);
    }

    fn charge_fresh(&mut self, key: &EffectKey, inner: Option<&RunId>, spent: &Spending) -> Spending {
        self.loans.remove(key);
        let charged = inner.and_then(|inner| self.accounts.insert(inner.clone(), *spent)).unwrap_or_default();
        let fresh = beyond(spent, &charged);
        self.totals.calls = self.totals.calls.saturating_add(fresh.calls);
        self.totals.failed_calls = self.totals.failed_calls.saturating_add(fresh.failed_calls);
        self.totals.add(&fresh.usage, fresh.calls);
        fresh
    }

    /// Time in which a run inside a call waited for a person does not count. Several may have waited at once.
    pub(super) fn give_back(&mut self, record: &ToolRecord, at: u64) {
        let (ToolRecord::Result { spent, .. } | ToolRecord::Cut { spent, .. } | ToolRecord::Paused { spent, .. }) =
            record
        else {
            return;
        };
        let waited_ms = spent.waited_ms;
        let passed = at.saturating_sub(self.calls_inside_since).saturating_sub(self.waited_inside_ms);
        let waited = if self.settings().rules > 0 { waited_ms.min(passed) } else { waited_ms };
        self.waited_inside_ms = self.waited_inside_ms.saturating_add(waited);
        self.clock.exclude(waited);
    }

    /// The inner run stopped before its end.
    pub(super) fn paused(&mut self, key: &EffectKey, stop: Stop<'_>, spent: &Spending) {
        let EffectKey::Tool { task, run, call } = key else { return };
        let Stop { inner, outcome, reason, no_room } = stop;
        let had = self.loans.get(key).copied().unwrap_or_default();
        let fresh = self.charge_fresh(key, Some(inner), spent);
        let went_on = fresh.calls > 0;
        let rest = Loan {
            tokens: had.tokens.map(|tokens| tokens.saturating_sub(fresh.usage.tokens())),
            cost_usd: had.cost_usd.map(|cost| cost - fresh.usage.cost_usd.unwrap_or(0.0)),
            ..had
        };
        let failure = match outcome {
            Outcome::ApprovalRequired | Outcome::InputRequired => None,
            Outcome::LimitReached if went_on || no_room || had.lacks().is_some() => None,
            Outcome::Unreachable => Some(true),
            _ => Some(false),
        };
        if let Some(exec) = self.tasks.get_mut(task).and_then(|task| task.run_mut(run)) {
            if let Some(communication) = failure {
                exec.fail(Failure { reason: reason.to_owned(), communication, ..Failure::default() });
            }
            if let Some(tool) = exec.call_mut(call) {
                tool.short = outcome == Outcome::LimitReached;
                tool.short_of = no_room.then_some(rest);
                tool.state = match outcome {
                    Outcome::ApprovalRequired | Outcome::InputRequired => {
                        ToolState::Paused { run: inner.clone(), outcome }
                    }
                    _ => ToolState::Approved,
                };
            }
        }
    }

    /// Calls whose inner runs wait for a person who is not there, the first task first.
    pub fn paused_calls(&self) -> impl Iterator<Item = PausedCall<'_>> {
        let working = self.stage().is_working();
        let calls = Approval(self).calls().filter(move |_| working);
        calls.filter_map(|(task, _, call)| match &call.state {
            ToolState::Paused { run, outcome } => Some(PausedCall { task, run, outcome: *outcome }),
            _ => None,
        })
    }

    /// An answer came for the inner run of the task, which waited for it.
    pub(super) fn call_taken_up(&mut self, task: &Slug) {
        self.progress.stop_waiting();
        self.unpause(task);
    }

    /// A resume goes on with the inner runs that waited; they ask again, or find their answers.
    pub(super) fn unpause(&mut self, task: &Slug) {
        let runs = self.tasks.get_mut(task).into_iter().flat_map(|task| &mut task.runs);
        for call in runs.flat_map(|run| &mut run.calls) {
            if matches!(call.state, ToolState::Paused { .. }) {
                call.state = ToolState::Approved;
            }
        }
    }
}

/// What of `all` is not in `charged`.
fn beyond(all: &Spending, charged: &Spending) -> Spending {
    let (new, old) = (&all.usage, &charged.usage);
    let cost = new.cost_usd.unwrap_or(0.0) - old.cost_usd.unwrap_or(0.0);
    Spending {
        calls: all.calls.saturating_sub(charged.calls),
        failed_calls: all.failed_calls.saturating_sub(charged.failed_calls),
        usage: Usage {
            input: new.input.saturating_sub(old.input),
            output: new.output.saturating_sub(old.output),
            cached: new.cached.saturating_sub(old.cached),
            cost_usd: (cost > 0.0).then_some(cost),
        },
        waited_ms: all.waited_ms,
    }
}
