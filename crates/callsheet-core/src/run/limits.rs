//! Every limit, checked here and nowhere else. A limit that shaped what is owed leaves its mark, so that tests and
//! the simulation can show that each of them was reached.

use serde::{Deserialize, Serialize};

use crate::record::StopReason;
use crate::spec::{ExecRunId, Slug};

use super::{Cause, ExecRun, LimitUse, Loan, Run, TaskRun};

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `jobs`: work units in flight (spec 2.6).
    Jobs,
    /// `limits.parallel` of a skill: execution runs of one task at once (spec 10.3).
    Parallel,
    /// Exclusive tools (spec 10.3).
    Exclusive,
    /// `attempts` of a phase (spec 12).
    Attempts,
    /// `max_rounds` (spec 2.4).
    MaxRounds,
    /// `max_calls` of the run.
    MaxCalls,
    /// `max_tokens` of the run.
    MaxTokens,
    /// `max_cost_usd` of the run.
    MaxCost,
    /// `run_timeout_seconds`.
    RunTimeout,
    /// `timeout_seconds` of a task.
    TaskTimeout,
    /// `limits.max_calls` of a skill.
    TaskCalls,
    /// `limits.max_tokens` of a skill.
    TaskTokens,
    /// `max_turns` of a loop task (spec 10.7).
    MaxTurns,
    /// Three repeated calls of a loop task (spec 10.7).
    RepeatedCalls,
    /// `no_progress_repeats`: equal turns of a handler in a row (spec "Templates" 9).
    NoProgress,
    /// `max_context_fraction` of a handler. Held where a prompt is put together; here it only informs.
    Window,
    /// `max_output_bytes` of a handler. Held where a reply is received; here it only informs.
    Output,
}

impl Limit {
    /// All limits that shape what is owed.
    pub const ALL: [Self; 15] = [
        Self::Jobs,
        Self::Parallel,
        Self::Exclusive,
        Self::Attempts,
        Self::MaxRounds,
        Self::MaxCalls,
        Self::MaxTokens,
        Self::MaxCost,
        Self::RunTimeout,
        Self::TaskTimeout,
        Self::TaskCalls,
        Self::TaskTokens,
        Self::MaxTurns,
        Self::RepeatedCalls,
        Self::NoProgress,
    ];

    /// The name a person sets it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Parallel => "parallel",
            Self::Exclusive => "exclusive",
            Self::Attempts => "attempts",
            Self::MaxRounds => "max_rounds",
            Self::MaxCalls | Self::TaskCalls => "max_calls",
            Self::MaxTokens | Self::TaskTokens => "max_tokens",
            Self::MaxCost => "max_cost_usd",
            Self::RunTimeout => "run_timeout_seconds",
            Self::TaskTimeout => "timeout_seconds",
            Self::MaxTurns => "max_turns",
            Self::RepeatedCalls => "repeated_calls",
            Self::NoProgress => "no_progress_repeats",
            Self::Window => "max_context_fraction",
            Self::Output => "max_output_bytes",
        }
    }
}

/// Equal calls of a conversation after which its tools are withdrawn (spec 10.7).
const REPEATED_CALLS: u32 = 3;

pub(super) fn jobs(run: &Run) -> usize {
    usize::try_from(run.settings().jobs).unwrap_or(usize::MAX).max(1)
}

pub(super) fn parallel(task: &TaskRun) -> usize {
    let set = task.skill.as_ref().and_then(|skill| skill.limits.parallel);
    set.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX).max(1))
}

pub(super) fn attempts(run: &Run) -> u32 {
    run.settings().attempts.max(1)
}

pub(super) fn rounds_are_over(run: &Run) -> bool {
    run.round() > run.settings().max_rounds
}

/// The run limit that allows no further model call. `starting` calls are listed and not started yet.
pub(super) fn forbids_call(run: &Run, starting: u32) -> Option<Limit> {
    left(run, starting).lacks().or_else(|| no_room(run)).or_else(|| forbids_work(run))
}

/// Tokens that are left of the run's own limit.
pub(super) fn tokens_left(run: &Run) -> Option<u64> {
    left(run, 0).tokens
}

/// Tokens of the run's limit in which a call had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom {
    /// Tokens that were left.
    left: u64,
    /// Others had a share, so that calls took only what they have room in for certain.
    shared: bool,
}

/// What is left now, where a call has no room in it; `None`: there is no limit.
pub(super) fn found_no_room(run: &Run) -> Option<NoRoom> {
    tokens_left(run).map(|left| NoRoom { left, shared: is_shared(run) })
}

fn is_shared(run: &Run) -> bool {
    run.settings().limits_shared || !run.loans.is_empty()
}

/// A call found no room in what is left of the run's tokens, and there is no more since, nor a share become the whole.
fn no_room(run: &Run) -> Option<Limit> {
    let (found, now) = run.no_room.zip(found_no_room(run))?;
    let forgotten = found.shared && !now.shared && run.settings().whole_shares;
    (now.left <= found.left && !forgotten).then_some(Limit::MaxTokens)
}

/// What nobody has used, and nobody may use already.
fn left(run: &Run, starting: u32) -> Loan {
    let (limits, totals, lent) = (&run.settings().limits, &run.totals, run.lent());
    let (lent_tokens, lent_cost) = (lent.tokens.unwrap_or(0), lent.cost_usd.unwrap_or(0.0));
    Loan {
        calls: limits.max_calls.saturating_sub(totals.calls).saturating_sub(starting).saturating_sub(lent.calls),
        tokens: limits.max_tokens.map(|max| max.saturating_sub(totals.tokens()).saturating_sub(lent_tokens)),
        cost_usd: limits.max_cost_usd.map(|max| (max - totals.cost_usd - lent_cost).max(0.0)),
        shared: false,
    }
}

/// Tasks of the step that may run at once.
fn at_work(run: &Run) -> usize {
    let step = run.tasks.current_step().and_then(|step| run.steps().get(step));
    let open =
        step.into_iter().flatten().filter_map(|slug| run.tasks.get(slug)).filter(|task| !task.state().is_ended());
    open.count().min(jobs(run))
}

/// Work units that a run inside a call may have in flight beside the others: all together are `jobs` (spec 2.6).
pub(super) fn jobs_inside(run: &Run) -> u32 {
    u32::try_from(jobs(run) / at_work(run).max(1)).unwrap_or(u32::MAX).max(1)
}

/// What a run inside a call is lent: an equal share of what is left, beside the other tasks of its step that may run
/// meanwhile. `starting` calls are listed and not started yet; `short`: a share was too little for it before.
pub(super) fn loan(run: &Run, starting: u32, short: bool) -> Loan {
    // Who has a loan has its share.
    let sharers = at_work(run).saturating_sub(run.loans.len()).max(1);
    // One whose share was too little has all, if nobody else works meanwhile.
    let alone = short && run.loans.is_empty() && run.reserved.is_empty() && starting == 0;
    let sharers = if alone { 1 } else { sharers };
    let left = left(run, starting);
    // No share is smaller than what a call may cost.
    let fits = |cost: f64| (1..=sharers).rev().find(|sharers| cost / count(*sharers) >= run.totals.dearest_usd);
    let payers = if run.settings().whole_shares { left.cost_usd.and_then(fits).unwrap_or(1) } else { sharers };
    Loan {
        calls: left.calls.checked_div(u32::try_from(sharers).unwrap_or(u32::MAX)).unwrap_or(0),
        tokens: left.tokens.and_then(|tokens| tokens.checked_div(u64::try_from(sharers).unwrap_or(u64::MAX))),
        cost_usd: left.cost_usd.map(|cost| cost / count(payers)),
        shared: sharers > 1 || !run.loans.is_empty() || !run.reserved.is_empty() || starting > 0,
    }
}

/// The run limit that leaves nothing to lend to a call whose inner run used up what it had. One that was ended by a crash
/// still has its loan.
pub(super) fn forbids_loan(run: &Run, task: &Slug, exec: &ExecRunId, call: &str, starting: u32) -> Option<Limit> {
    if run.has_loan(task, exec, call) {
        return None;
    }
    let call = run.tasks.get(task)?.run(exec)?.call(call)?;
    let now = Some(loan(run, starting, call.short_of.is_some())).filter(|_| call.short)?;
    let too_little = call.short_of.is_some_and(|had| !now.is_more_than(&had));
    now.lacks().or(too_little.then_some(Limit::MaxTokens))
}

/// A call that the end of the run's time cut is not made again before a resume.
pub(super) fn forbids_again(run: &Run, task: &Slug, exec: &ExecRunId, call: &str) -> Option<Limit> {
    let call = run.tasks.get(task)?.run(exec)?.call(call)?;
    call.is_cut().then_some(Limit::RunTimeout)
}

/// The limit for which the run inside a call has to wait until others are over: what a call costs is known only when one
/// is, and each of those in flight is taken to cost as much as the dearest. One whose share was too little has a larger one
/// or, when it is alone, all. `starting` calls are listed and not started yet.
pub(super) fn loan_waits(run: &Run, task: &Slug, exec: &ExecRunId, call: &str, starting: u32) -> Option<Limit> {
    run.settings().limits.max_cost_usd?;
    if run.has_loan(task, exec, call) {
        return None;
    }
    let short_of = run.tasks.get(task).and_then(|task| task.run(exec)?.call(call)?.short_of);
    let now = loan(run, starting, short_of.is_some());
    let gives_back = run.settings().accounts_inside;
    let no_more = gives_back && short_of.is_some_and(|had| now.shared && now.cost_usd <= had.cost_usd);
    let others = !run.loans.is_empty() || !run.reserved.is_empty() || starting > 0;
    let nothing_known = run.totals.input == 0 && run.totals.output == 0;
    let asked = number(u64::try_from(run.reserved.len()).unwrap_or(u64::MAX)) + f64::from(starting);
    let wanted = (asked + 1.0) * run.totals.dearest_usd;
    let too_little = left(run, starting).cost_usd.is_some_and(|left| left < wanted);
    (others && (nothing_known || too_little || no_more)).then_some(Limit::MaxCost)
}

/// Of a run inside a call: what is left of its share of the cost is less than what its dearest call cost. Only one that has
/// all that is left, while nobody else works, may pass the limit by its last call.
pub(super) fn share_of_cost_is_short(run: &Run) -> bool {
    let is_less = |left: f64| left * (1.0 + ROUNDING) < run.totals.dearest_usd;
    let gives_back = run.settings().limits_shared && run.settings().accounts_inside;
    gives_back && left(run, 0).cost_usd.is_some_and(is_less)
}

/// Sums of costs are as exact as this.
const ROUNDING: f64 = 1e-9;

/// Whether the call, for which a share was too little, gets all that is left. `starting` calls are listed and not started yet.
pub(super) fn is_lent_all(run: &Run, task: &Slug, exec: &ExecRunId, call: &str, starting: u32) -> bool {
    run.has_short_call(task, exec, call) && !loan(run, starting, true).shared
}

/// The run limit that allows no further work at all.
pub(super) fn forbids_work(run: &Run) -> Option<Limit> {
    time_is_over(run, run.clock.now()).then_some(Limit::RunTimeout)
}

pub(super) fn time_is_over(run: &Run, at: u64) -> bool {
    run_timeout_ms(run).is_some_and(|max| run.clock.spent_ms(at) >= max)
}

/// Whether it was the run's time that ended a call of the task: that is over, or it was to be when the call began, and
/// waiting for a person inside another call gave some of it back since.
pub(super) fn was_cut_by_run(run: &Run, task: Option<&TaskRun>, at: u64) -> bool {
    let is_limited = run.settings().rules > 0 && run_timeout_ms(run).is_some();
    let has_time =
        |task: &TaskRun| task.clock.spent_ms(at) < task_timeout_ms(run, task) && left_above_ms(run, task, at) > 0;
    time_is_over(run, at) || is_limited && task.is_some_and(has_time)
}

/// Whole seconds that are left of the run's time, at least one; `None`: there is no limit.
pub(super) fn seconds_left(run: &Run) -> Option<u64> {
    time_left_ms(run).map(|left| left.div_ceil(1_000).max(1))
}

/// Milliseconds that are left of the run's time; `None`: there is no limit.
pub(super) fn time_left_ms(run: &Run) -> Option<u64> {
    run_timeout_ms(run).map(|max| max.saturating_sub(run.clock.spent_ms(run.clock.now())))
}

fn run_timeout_ms(run: &Run) -> Option<u64> {
    run.settings().limits.run_timeout_seconds.map(|seconds| seconds.saturating_mul(1_000))
}

/// The limit of the task that allows it no further model call. `starting` calls are listed and not started yet.
pub(super) fn forbids_task_call(task: &TaskRun, starting: u32) -> Option<Limit> {
    let limits = &task.skill.as_ref()?.limits;
    if limits.max_calls.is_some_and(|max| task.calls_started.saturating_add(starting) >= max) {
        return Some(Limit::TaskCalls);
    }
    if limits.max_tokens.is_some_and(|max| task.tokens >= max) {
        return Some(Limit::TaskTokens);
    }
    None
}

/// The limit that ends a unit of the task whose next thing is a model call: one of its own, or one of a task of the
/// tree above it.
pub(super) fn ends_task(run: &Run, task: &TaskRun) -> Option<(Limit, Cause)> {
    if let Some(limit) = forbids_task_call(task, 0).or_else(|| forbids_turn(run, task)) {
        return Some((limit, Cause::Limit(limit)));
    }
    spent_above(run, task, 0).map(|limit| (limit, Cause::AboveLimit(limit)))
}

/// A handler may have as many assistant messages as its limit says; the next one is not asked for (spec "Templates" 9).
fn forbids_turn(run: &Run, task: &TaskRun) -> Option<Limit> {
    if !task.is_handler() {
        return None;
    }
    let own = task.skill.as_ref().and_then(|skill| skill.limits.max_turns);
    let max = own.unwrap_or(run.settings().limits.max_turns);
    (replies(run, task) >= max).then_some(Limit::MaxTurns)
}

/// Assistant messages of a handler, refused ones too. One that a limit of the run cut is not read, and is asked for again.
fn replies(run: &Run, task: &TaskRun) -> u32 {
    let read = run.calls_of(&task.task.slug).filter(|call| call.stop != StopReason::Budget);
    u32::try_from(read.count()).unwrap_or(u32::MAX)
}

/// The spent budget of a task of the tree that the task belongs to, itself or above: calls, tokens, cost, time.
/// `starting` calls below the same tasks are listed and not started yet.
pub(super) fn spent_above(run: &Run, task: &TaskRun, starting: u32) -> Option<Limit> {
    let tree = run.operators.tree()?;
    let op = run.operators.of_leaf(&task.task.slug)?;
    run.operators.ancestry(op).find_map(|op| spent_of(run, tree, op, starting))
}

/// The spent budget of one task of the tree.
pub(super) fn spent_of(run: &Run, tree: &crate::record::Tree, op: &super::TaskOp, starting: u32) -> Option<Limit> {
    let limits = &run.operators.node(tree, op)?.limits;
    let spent = &op.spent;
    if limits.max_calls.is_some_and(|max| spent.calls.saturating_add(starting) >= max) {
        return Some(Limit::TaskCalls);
    }
    if limits.max_tokens.is_some_and(|max| spent.tokens() >= max) {
        return Some(Limit::TaskTokens);
    }
    if limits.max_cost_usd.is_some_and(|max| spent.cost_usd >= max) {
        return Some(Limit::MaxCost);
    }
    let time = limits.timeout_seconds.map(|seconds| u64::from(seconds).saturating_mul(1_000));
    time.is_some_and(|max| op.clock.spent_ms(run.clock.now()) >= max).then_some(Limit::TaskTimeout)
}

/// Tokens that a reply is taken to have for what a call reserves of the run's limit.
const REPLY: u64 = 16_384;

/// Tokens that a call reserves of the run's limit: what is known of a handler's, else the most a prompt may have.
pub(super) fn reserve(run: &Run, task: Option<&TaskRun>) -> u64 {
    let handler = task.and_then(|task| Some((task, run.operators.of_leaf(&task.task.slug)?)));
    let known = handler.map(|(task, op)| op.reserve(task.sizes.prompt)).filter(|tokens| *tokens > 0);
    // A prompt that was found to be larger is known as well.
    let prompt = task.map_or(0, |task| task.sizes.prompt).max(u64::from(run.settings().budget.prompt));
    known.unwrap_or_else(|| prompt.saturating_add(REPLY))
}

/// The limit of the run for which a call has to wait until others return what they reserved of it. `starting` calls are
/// listed and not started yet, and reserve so many tokens.
pub(super) fn waits_in_run(run: &Run, task: Option<&TaskRun>, starting: (u32, u64)) -> Option<Limit> {
    let others = u32::try_from(run.reserved.len()).unwrap_or(u32::MAX).saturating_add(starting.0);
    if others == 0 {
        return share_of_cost_is_short(run).then_some(Limit::MaxCost);
    }
    let left = left(run, 0);
    let reserved = run.reserved.values().sum::<u64>().saturating_add(starting.1).saturating_add(reserve(run, task));
    if left.tokens.is_some_and(|left| reserved > left) {
        return Some(Limit::MaxTokens);
    }
    let nothing_known = run.calls.is_empty();
    let cost = f64::from(others.saturating_add(1)) * run.totals.dearest_usd;
    left.cost_usd.is_some_and(|left| nothing_known || cost > left).then_some(Limit::MaxCost)
}

/// The limit for which a call has to wait until others of the same budgets return what they reserved (spec "Templates" 9):
/// nothing above it may overspend.
pub(super) fn waits_for_reserve(run: &Run, task: &TaskRun, reserved: u64) -> Option<Limit> {
    let tree = run.operators.tree()?;
    let op = run.operators.of_leaf(&task.task.slug)?;
    let own = op.reserve(task.sizes.prompt);
    let waits = run.operators.ancestry(op).any(|op| {
        let Some(max) = run.operators.node(tree, op).and_then(|node| node.limits.max_tokens) else { return false };
        let others = op.spent.reserved.saturating_add(reserved);
        // One alone has all that is left, and is held to it.
        others > 0 && op.spent.tokens().saturating_add(others).saturating_add(own) > max
    });
    waits.then_some(Limit::TaskTokens)
}

/// The same for cost, which is known only when a call is over: each of those in flight is taken to cost as much as the
/// dearest so far, and the first one is made alone. `starting` calls below the same task are listed and not started yet.
pub(super) fn waits_for_cost(run: &Run, op: &super::TaskOp, starting: u32) -> Option<Limit> {
    let max = run.operators.node(run.operators.tree()?, op)?.limits.max_cost_usd?;
    let spent = &op.spent;
    let others = spent.in_flight.saturating_add(starting);
    let nothing_known = spent.input == 0 && spent.output == 0;
    let reserved = f64::from(others.saturating_add(1)) * spent.dearest_usd;
    (others > 0 && (nothing_known || spent.cost_usd + reserved > max)).then_some(Limit::MaxCost)
}

/// Tokens of prompt and reply that are left for one call, by the budgets of the run, of its task and of the tree above it,
/// without what others in flight have reserved; `None`: there is no budget.
pub(super) fn tokens_for_call(run: &Run, task: Option<&TaskRun>) -> Option<u64> {
    let budgets = budgets(run, task).into_iter().map(|budget| budget.left.saturating_sub(budget.held));
    let of_task = task.and_then(|task| Some(left_of_task(task)?.saturating_sub(reserved_by(run, task))));
    budgets.chain(of_task).min()
}

/// Tokens that are left of the limit of a task's skill.
fn left_of_task(task: &TaskRun) -> Option<u64> {
    task.skill.as_ref()?.limits.max_tokens.map(|max| max.saturating_sub(task.tokens))
}

/// Tokens that calls of a task in flight have reserved.
fn reserved_by(run: &Run, task: &TaskRun) -> u64 {
    let own = run.reserved.iter().filter(|(key, _)| key.task.as_ref() == Some(&task.task.slug));
    own.map(|(_, tokens)| *tokens).fold(0, u64::saturating_add)
}

/// The limit of the task's skill for which a call has to wait until others of the task return what they reserved of it.
/// `starting` calls of it that are listed and not started yet reserve so many tokens. One alone has all that is left.
pub(super) fn waits_in_task(run: &Run, task: &TaskRun, starting: u64) -> Option<Limit> {
    let left = left_of_task(task)?;
    let others = reserved_by(run, task).saturating_add(starting);
    (others > 0 && others.saturating_add(reserve(run, Some(task))) > left).then_some(Limit::TaskTokens)
}

/// Whether what does not fit may wait: others in flight hold a part of one of these budgets, or the run has only its share
/// of one.
pub(super) fn may_wait(run: &Run, task: Option<&TaskRun>) -> bool {
    run.settings().limits_shared || others_hold(run, task)
}

fn others_hold(run: &Run, task: Option<&TaskRun>) -> bool {
    budgets(run, task).iter().any(|budget| budget.held > 0)
}

/// A token budget of a call.
struct Budget {
    whose: Short,
    /// Tokens that are not spent.
    left: u64,
    /// Of these, what others in flight hold.
    held: u64,
}

fn budgets(run: &Run, task: Option<&TaskRun>) -> Vec<Budget> {
    let mut found = Vec::new();
    let held = run.reserved.values().sum();
    found.extend(tokens_left(run).map(|left| Budget { whose: Short::Run, left, held }));
    let Some(task) = task else { return found };
    // What others of the task hold is told where a call is asked for: facts of before there were such reservations are
    // judged without it.
    found.extend(left_of_task(task).map(|left| Budget { whose: Short::Task, left, held: 0 }));
    let Some((tree, op)) = run.operators.tree().zip(run.operators.of_leaf(&task.task.slug)) else { return found };
    found.extend(run.operators.ancestry(op).filter_map(|above| {
        let left = run.operators.node(tree, above)?.limits.max_tokens?.saturating_sub(above.spent.tokens());
        let whose = if above.id == op.id { Short::Task } else { Short::Above };
        Some(Budget { whose, left, held: above.spent.reserved.saturating_sub(op.held) })
    }));
    found
}

/// The token budget that left a call too little. `needed`: tokens that it takes at least, and would have if all that others
/// hold came back.
pub(super) fn short_of_tokens(run: &Run, task: Option<&TaskRun>, needed: u64) -> Short {
    let budgets = budgets(run, task);
    if task.is_some() && others_hold(run, task) && budgets.iter().all(|budget| budget.left > needed) {
        return Short::Now;
    }
    let least = budgets.into_iter().min_by_key(|budget| budget.left.saturating_sub(budget.held));
    least.map_or(Short::Run, |budget| budget.whose)
}

/// Whose tokens are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// The run's.
    Run,
    /// The task's.
    Task,
    /// A task's of the tree above it.
    Above,
    /// Nobody's: there is enough when others return what they hold.
    Now,
}

/// Equal turns in a row after which a handler ends.
pub(super) fn no_progress_repeats(run: &Run, task: &Slug) -> usize {
    let op = run.operators.of_leaf(task);
    let node = run.operators.tree().zip(op).and_then(|(tree, op)| run.operators.node(tree, op));
    let own = node.and_then(|node| node.limits.no_progress_repeats);
    usize::try_from(own.unwrap_or(run.settings().limits.no_progress_repeats)).unwrap_or(usize::MAX).max(1)
}

pub(super) fn task_timeout_ms(run: &Run, task: &TaskRun) -> u64 {
    let own = task.skill.as_ref().and_then(|skill| skill.limits.timeout_seconds);
    u64::from(own.unwrap_or(run.settings().limits.timeout_seconds)).saturating_mul(1_000)
}

/// A process ends itself at its time, tells what it said, and is killed 5 s later if it does not (spec "Templates" 8).
const PROCESS_GRACE_MS: u64 = 15_000;

pub(super) fn task_time_is_over(run: &Run, task: &TaskRun) -> bool {
    let grace = if task.is_process() { PROCESS_GRACE_MS } else { 0 };
    task.clock.spent_ms(run.clock.now()) >= task_timeout_ms(run, task).saturating_add(grace)
}

/// Milliseconds that an effect may take: what is left of the task's time and of the run's. The plan and iteration
/// calls have the time of one task.
pub(super) fn deadline_ms(run: &Run, task: Option<&TaskRun>) -> u64 {
    let of_task = match task {
        Some(task) => task_timeout_ms(run, task).saturating_sub(task.clock.spent_ms(run.clock.now())),
        None => u64::from(run.settings().limits.timeout_seconds).saturating_mul(1_000),
    };
    let of_run = time_left_ms(run).unwrap_or(u64::MAX);
    of_task.min(of_run).min(task.map_or(u64::MAX, |task| left_above_ms(run, task, run.clock.now())))
}

/// Milliseconds that the task of the tree and those above it have left (spec "Templates" 9).
fn left_above_ms(run: &Run, task: &TaskRun, at: u64) -> u64 {
    let Some((tree, op)) = run.operators.tree().zip(run.operators.of_leaf(&task.task.slug)) else { return u64::MAX };
    let left = run.operators.ancestry(op).filter_map(|op| {
        let seconds = run.operators.node(tree, op)?.limits.timeout_seconds?;
        Some(u64::from(seconds).saturating_mul(1_000).saturating_sub(op.clock.spent_ms(at)))
    });
    left.min().unwrap_or(u64::MAX)
}

/// The limit that withdraws the tools of a conversation at its next turn.
pub(super) fn withdraws_tools(run: &Run, task: &TaskRun, exec: &ExecRun) -> Option<Limit> {
    if !exec.is_loop || task.is_handler() {
        return None;
    }
    if exec.repeats >= REPEATED_CALLS {
        return Some(Limit::RepeatedCalls);
    }
    let own = task.skill.as_ref().and_then(|skill| skill.limits.max_turns);
    let max = own.unwrap_or(run.settings().limits.max_turns);
    (turn(exec) >= max).then_some(Limit::MaxTurns)
}

/// The turn of a conversation that comes next, from 1.
pub(super) fn turn(exec: &ExecRun) -> u32 {
    u32::try_from(exec.turns.len()).unwrap_or(u32::MAX).saturating_add(1)
}

/// How far the limits of the run are used.
pub(super) fn uses(run: &Run) -> Vec<LimitUse> {
    let limits = &run.settings().limits;
    let one = |limit, used, max| LimitUse { task: None, limit, used, max, threshold: limits.warning_threshold };
    let mut uses = vec![one(Limit::MaxCalls, f64::from(run.totals.calls), f64::from(limits.max_calls))];
    if let Some(max) = limits.max_tokens {
        uses.push(one(Limit::MaxTokens, number(run.totals.tokens()), number(max)));
    }
    if let Some(max) = limits.max_cost_usd {
        uses.push(one(Limit::MaxCost, run.totals.cost_usd, max));
    }
    if let Some(max) = limits.run_timeout_seconds {
        uses.push(one(Limit::RunTimeout, number(run.busy_ms()) / 1_000.0, number(max)));
    }
    uses
}

/// How far the limits of one task of the tree are used: those it sets itself, and the turns of a handler.
pub(super) fn uses_of(run: &Run, op: &super::TaskOp) -> Vec<LimitUse> {
    let Some(node) = run.operators.tree().and_then(|tree| run.operators.node(tree, op)) else { return Vec::new() };
    let limits = &node.limits;
    let threshold = limits.warning_threshold.unwrap_or(run.settings().limits.warning_threshold);
    let mut uses = Vec::new();
    let mut put = |limit, used, max: Option<f64>| {
        uses.extend(max.map(|max| LimitUse { task: Some(op.id.clone()), limit, used, max, threshold }));
    };
    put(Limit::TaskCalls, f64::from(op.spent.calls), limits.max_calls.map(f64::from));
    put(Limit::TaskTokens, number(op.spent.tokens()), limits.max_tokens.map(number));
    put(Limit::MaxCost, op.spent.cost_usd, limits.max_cost_usd);
    let seconds = number(op.clock.spent_ms(run.clock.now())) / 1_000.0;
    put(Limit::TaskTimeout, seconds, limits.timeout_seconds.map(f64::from));
    let leaf = op.leaf().and_then(|slug| run.task(&slug)).filter(|task| task.is_handler());
    if let Some(task) = leaf {
        let own = task.skill.as_ref().and_then(|skill| skill.limits.max_turns);
        let turns = task.runs.iter().map(|exec| exec.turns.len()).max().unwrap_or(0);
        let max = own.unwrap_or(run.settings().limits.max_turns);
        put(Limit::MaxTurns, f64::from(u32::try_from(turns).unwrap_or(u32::MAX)), Some(f64::from(max)));
        let set = |limit: u64| (limit > 0).then(|| number(limit));
        put(Limit::Window, number(task.sizes.prompt), set(task.sizes.prompt_limit));
        put(Limit::Output, number(task.sizes.reply), set(task.sizes.reply_limit));
    }
    uses
}

pub(super) fn count(value: usize) -> f64 {
    number(u64::try_from(value).unwrap_or(u64::MAX))
}

/// Counts stay far below 2^53, where this would lose precision.
#[allow(clippy::cast_precision_loss)]
pub(super) fn number(value: u64) -> f64 {
    value as f64
}
