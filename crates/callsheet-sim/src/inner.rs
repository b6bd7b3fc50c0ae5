//! Runs inside calls: what each cost so far, and how it stops.

use std::collections::BTreeMap;

use callsheet_core::record::{Event, Outcome, Spending, ToolRecord, Usage};
use callsheet_core::run::{Effect, Run};
use callsheet_core::spec::{ExecRunId, RunId, Slug};

use crate::random::Random;

/// The tool of the skill that is a template.
pub const TEMPLATE: &str = "water_report";

/// US dollars that every call costs.
pub const COST: f64 = 0.01;

/// The runs that calls began.
#[derive(Default)]
pub struct InnerRuns {
    spent: BTreeMap<RunId, Spending>,
}

/// The run that a call began.
fn inner_run(task: &Slug, exec: &ExecRunId, call: &str) -> RunId {
    RunId::new(format!("simulated--{task}-{exec}-{call}"))
}

impl InnerRuns {
    /// Runs inside calls work, and the process is killed before they come to say so.
    pub fn work_unseen<'a>(
        &mut self,
        random: &mut Random,
        tame: bool,
        run: &Run,
        performing: impl Iterator<Item = &'a Effect>,
    ) {
        for effect in performing {
            if let Effect::RunTool { task, run: exec, call, .. } = effect
                && call.name == TEMPLATE
            {
                let _unseen = self.go_on(random, tame, run, (task, exec, &call.id));
            }
        }
    }

    /// What such calls cost.
    pub fn accounts(&self, run: &Run) -> Vec<Event> {
        run.calls_to_account().into_iter().map(|(task, exec, call)| self.account(task, exec, call)).collect()
    }

    fn account(&self, task: &Slug, run: &ExecRunId, call: &str) -> Event {
        let known = self.spent.get_key_value(&inner_run(task, run, call));
        let (task, run, call) = (task.clone(), run.clone(), call.to_owned());
        let spent = known.map(|(_, spent)| *spent).unwrap_or_default();
        Event::CallAccounted { task, run, call, inner: known.map(|(inner, _)| inner.clone()), spent }
    }

    /// The inner run goes on as far as it may, and tells how it stopped. A `tame` one comes to its end.
    pub fn go_on(&mut self, random: &mut Random, tame: bool, run: &Run, at: (&Slug, &ExecRunId, &str)) -> ToolRecord {
        let (task, exec, call) = at;
        let inner = inner_run(task, exec, call);
        let settings = run.settings_inside(task, exec, call, &inner);
        let limits = settings.limits;
        // Of a share only calls are made that have room for the largest reply.
        let needed = if settings.limits_shared { 350 } else { 100 };
        // Nor one that may pass the share of the cost, unless it has all.
        let next = if settings.limits_shared { COST * 0.999 } else { 0.0 };
        let spent = self.spent.entry(inner.clone()).or_default();
        let mut wanted = random.below(4);
        let may = |spent: &Spending| {
            spent.calls < limits.max_calls
                && limits.max_tokens.is_none_or(|max| spent.usage.tokens() + needed <= max)
                && limits.max_cost_usd.is_none_or(|max| spent.usage.cost_usd.unwrap_or(0.0) + next < max)
        };
        while wanted > 0 && may(spent) {
            wanted -= 1;
            let cost_usd = Some(spent.usage.cost_usd.unwrap_or(0.0) + COST);
            let usage = Usage { input: spent.usage.input + 80, output: spent.usage.output + 20, cached: 0, cost_usd };
            *spent = Spending { calls: spent.calls + 1, failed_calls: spent.failed_calls, usage, waited_ms: 0 };
        }
        let spent = *spent;
        // A call that does not fit into what was lent is not made.
        let of_tokens = limits.max_tokens.is_some_and(|max| spent.usage.tokens() + needed > max);
        let of_cost = limits.max_cost_usd.is_some_and(|max| spent.usage.cost_usd.unwrap_or(0.0) + next >= max);
        let no_room = (of_tokens || of_cost && settings.limits_shared) && spent.calls < limits.max_calls;
        let outcomes = [Outcome::ApprovalRequired, Outcome::InputRequired, Outcome::Unreachable];
        let outcome = if wanted > 0 {
            Some(Outcome::LimitReached)
        } else if !tame && random.chance(40) {
            random.pick(&outcomes).copied()
        } else {
            None
        };
        if let Some(outcome) = outcome {
            return ToolRecord::Paused {
                run: inner,
                outcome,
                reason: "it stopped".to_owned(),
                spent,
                no_room: no_room && outcome == Outcome::LimitReached,
            };
        }
        let failed = (!tame && random.chance(20)).then(|| "it failed".to_owned());
        ToolRecord::Result { run: Some(inner), result: Box::default(), failed, spent }
    }
}
