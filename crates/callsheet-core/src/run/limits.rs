//! All limits are checked here and nowhere else. A limit that affected what is outstanding leaves a mark, so that
//! tests and the simulation can show that each limit was reached.

use std::collections::BTreeSet;

use crate::nouns::{ExecutionId, LIMIT_ROWS, Slug, TaskLimits};
use crate::record::StopReason;

use super::Run;
use super::access::LimitUse;
use super::execution::Execution;
use super::failure::Cause;
use super::ledger::{Account, Holder, Listed};
use super::limit::Limit;
use super::operators::{NodeInstance, limit_of, split_limit};
use super::task::TaskRun;

/// The number of equal calls in a conversation after which its tools are withdrawn (spec 10.7).
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

/// What may be spent in an account.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    calls: Option<u32>,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

fn bounds(run: &Run, holder: &Holder) -> Bounds {
    if *holder == Holder::Run {
        let limits = &run.settings().limits;
        return Bounds { calls: Some(limits.max_calls), tokens: limits.max_tokens, cost_usd: limits.cost_usd() };
    }
    let of = |limits: &TaskLimits| Bounds {
        calls: limits.max_calls,
        tokens: limits.max_tokens,
        cost_usd: limits.max_cost_usd,
    };
    own_limits(run, holder).map(of).unwrap_or_default()
}

/// The limits that a task has of its own: those of its skill, or of its node of a template.
fn own_limits<'a>(run: &'a Run, holder: &Holder) -> Option<&'a TaskLimits> {
    match holder {
        Holder::Run => None,
        Holder::Task(slug) => Some(&run.tasks.get(slug)?.skill.as_ref()?.limits.task),
        Holder::Part(number) => Some(&run.operators.node(run.operators.at(*number)?)?.limits),
    }
}

/// The limit of an account that leaves nothing for one more call. `starting` calls are listed and not started yet.
fn spent_of(run: &Run, account: &Account, starting: u32) -> Option<Limit> {
    let (bounds, spent) = (bounds(run, &account.holder), &account.spent);
    let is_run = account.holder == Holder::Run;
    if bounds.calls.is_some_and(|max| spent.counted_calls().saturating_add(starting) >= max) {
        return Some(if is_run { Limit::MaxCalls } else { Limit::TaskCalls });
    }
    // The limit also leaves nothing if a call did not fit before and no more is left now.
    let no_room = |left: u64| left == 0 || account.no_room.is_some_and(|found| left <= found);
    if bounds.tokens.is_some_and(|max| no_room(max.saturating_sub(spent.tokens()))) {
        return Some(of_tokens(&account.holder));
    }
    // The limit also leaves nothing if the prompt of a call would have been too expensive and no more is left now.
    let too_dear = |left: f64| left <= 0.0 || account.too_dear_usd.is_some_and(|found| left <= found);
    if bounds.cost_usd.is_some_and(|max| too_dear(max - spent.cost_usd)) {
        return Some(Limit::MaxCost);
    }
    match &account.holder {
        Holder::Run => forbids_work(run),
        Holder::Task(_) => None,
        Holder::Part(number) => {
            let op = run.operators.at(*number)?;
            let seconds = own_limits(run, &account.holder)?.timeout_seconds?;
            let max = u64::from(seconds).saturating_mul(1_000);
            (op.clock.spent_ms(run.clock.now()) >= max).then_some(Limit::TaskTimeout)
        }
    }
}

fn of_tokens(holder: &Holder) -> Limit {
    if *holder == Holder::Run { Limit::MaxTokens } else { Limit::TaskTokens }
}

/// The limit that forbids a further model call of a task, or a call without a task: a limit of the run, of the task,
/// or of a task above it.
pub(super) fn forbids_call(run: &Run, task: Option<&TaskRun>, listed: &Listed) -> Option<Limit> {
    let chain: Vec<(usize, &Account)> = run.ledger.chain(task.map(|task| &task.task.slug)).collect();
    chain.into_iter().rev().find_map(|(number, account)| spent_of(run, account, listed.of(number).0))
}

/// The limit for which a call must wait until other calls return what they have reserved (spec "Templates" 9), so
/// that no account above the call is overspent. The cost of a call is known only when it is over. Each call in flight
/// is assumed to cost as much as the most expensive call so far, and the first call is made alone. A call that is
/// made alone may use all that is left. `own` is the number of tokens that the call reserves itself.
pub(super) fn call_waits(run: &Run, task: Option<&TaskRun>, own: u64, listed: &Listed) -> Option<Limit> {
    run.ledger.chain(task.map(|task| &task.task.slug)).find_map(|(number, account)| {
        let (bounds, spent) = (bounds(run, &account.holder), &account.spent);
        let (calls, tokens) = listed.of(number);
        let others = spent.in_flight.saturating_add(calls);
        if others == 0 {
            return None;
        }
        let wanted = spent.tokens().saturating_add(spent.reserved).saturating_add(tokens).saturating_add(own);
        if bounds.tokens.is_some_and(|max| wanted > max) {
            return Some(of_tokens(&account.holder));
        }
        let nothing_known = spent.tokens() == 0;
        let cost = spent.cost_usd + f64::from(others.saturating_add(1)) * spent.dearest_usd;
        bounds.cost_usd.is_some_and(|max| nothing_known || cost > max).then_some(Limit::MaxCost)
    })
}

/// Whether the limits of the run itself forbid any further call to all tasks of a list, or make it wait.
pub(super) fn forbids_all_calls(run: &Run, listed: &Listed) -> bool {
    if run.operators.are_at_work() {
        // Handlers reserve different amounts.
        return false;
    }
    let least = u64::from(run.settings().budget.prompt).saturating_add(REPLY);
    forbids_call(run, None, listed).or_else(|| call_waits(run, None, least, listed)).is_some()
}

/// Whether a task of a tree, or a task above it, has used up a limit. Excludes limits of the run.
pub(super) fn is_spent(run: &Run, op: &NodeInstance) -> bool {
    let mut chain = run.ledger.chain(Some(&op.id)).filter(|(_, account)| account.holder != Holder::Run);
    chain.any(|(_, account)| spent_of(run, account, 0).is_some())
}

/// Accounts above the leaves of trees at work, short of the run's, of which nothing is left.
pub(super) fn spent_together(run: &Run) -> BTreeSet<usize> {
    let tasks = run.operators.limited().map(|op| &op.id).chain(run.operators.callers().map(|caller| &caller.task));
    let accounts = tasks.filter_map(|task| run.ledger.chain(Some(task)).next());
    let spent = accounts.filter(|(_, account)| spent_of(run, account, 0).is_some());
    spent.map(|(number, _)| number).collect()
}

/// Tokens that are left of the limit of the run itself.
pub(super) fn tokens_left(run: &Run) -> Option<u64> {
    run.settings().limits.max_tokens.map(|max| max.saturating_sub(run.ledger.of_run().tokens()))
}

/// Forbids a call that was interrupted at the end of the run's time to be repeated before a resume.
pub(super) fn forbids_again(run: &Run, task: &Slug, exec: &ExecutionId, call: &str) -> Option<Limit> {
    let call = run.tasks.get(task)?.run(exec)?.call(call)?;
    call.is_cut().then_some(Limit::RunTimeout)
}

/// The limit of the run that forbids any further work.
pub(super) fn forbids_work(run: &Run) -> Option<Limit> {
    time_is_over(run, run.clock.now()).then_some(Limit::RunTimeout)
}

pub(super) fn time_is_over(run: &Run, at: u64) -> bool {
    run_timeout_ms(run).is_some_and(|max| run.clock.spent_ms(at) >= max)
}

/// Milliseconds that are left of the run's time. `None` if there is no limit.
pub(super) fn time_left_ms(run: &Run) -> Option<u64> {
    run_timeout_ms(run).map(|max| max.saturating_sub(run.clock.spent_ms(run.clock.now())))
}

fn run_timeout_ms(run: &Run) -> Option<u64> {
    run.settings().limits.run_timeout_seconds.map(|seconds| seconds.saturating_mul(1_000))
}

/// The limit that ends a unit of the task whose next action is a model call: a limit of the task or of a task above
/// it. Excludes limits of the run.
pub(super) fn ends_task(run: &Run, task: &TaskRun) -> Option<(Limit, Cause)> {
    let mut chain = run.ledger.chain(Some(&task.task.slug)).filter(|(_, account)| account.holder != Holder::Run);
    let own = chain.next().and_then(|(_, account)| spent_of(run, account, 0));
    if let Some(limit) = forbids_turn(run, task).or(own) {
        return Some((limit, Cause::Limit(limit)));
    }
    let above = chain.find_map(|(_, account)| spent_of(run, account, 0));
    above.map(|limit| (limit, Cause::AboveLimit(limit)))
}

/// The limit that forbids the review of an execution, or a second result after the review. A review is not a turn of
/// a conversation.
pub(super) fn forbids_review(run: &Run, task: &TaskRun, exec: &Execution) -> Option<Limit> {
    let any = || forbids_call(run, Some(task), &Listed::default());
    if exec.is_under_review() { any() } else { ends_task(run, task).map(|(limit, _)| limit).or_else(any) }
}

/// The limit that forbids a handler a further assistant message (spec "Templates" 9).
fn forbids_turn(run: &Run, task: &TaskRun) -> Option<Limit> {
    if !task.is_handler() {
        return None;
    }
    let own = task.skill.as_ref().and_then(|skill| skill.limits.task.max_turns);
    let max = own.unwrap_or(run.settings().limits.max_turns);
    (replies(run, task) >= max).then_some(Limit::MaxTurns)
}

/// The number of assistant messages of a handler, including refused ones. A message that a limit of the run cut off
/// is not read, and is requested again.
fn replies(run: &Run, task: &TaskRun) -> u32 {
    let read = run.turns_of(&task.task.slug).filter(|call| call.stop != StopReason::Budget);
    u32::try_from(read.count()).unwrap_or(u32::MAX)
}

/// The assumed size of a reply, in tokens, when a call reserves a part of the run's limit.
const REPLY: u64 = 16_384;

/// The tokens that a call reserves of the run's limit: what is known of a handler's call, or else the largest allowed
/// prompt and a reply.
pub(super) fn reserve(run: &Run, task: Option<&TaskRun>) -> u64 {
    let handler = task.and_then(|task| Some((task, run.operators.of(task)?)));
    let known = handler.map(|(task, op)| op.reserve(task.sizes.prompt)).filter(|tokens| *tokens > 0);
    // A prompt may already have proved larger than the budget.
    let prompt = task.map_or(0, |task| task.sizes.prompt).max(u64::from(run.settings().budget.prompt));
    known.unwrap_or_else(|| prompt.saturating_add(REPLY))
}

/// Tokens for prompt and reply that are left for one call in the budgets of the run, of its task and of the tasks
/// above it. Excludes what other calls in flight have reserved. `None` if there is no budget.
pub(super) fn tokens_for_call(run: &Run, task: Option<&TaskRun>) -> Option<u64> {
    budgets(run, task).into_iter().map(|budget| budget.left.saturating_sub(budget.held)).min()
}

/// The account whose cost limit leaves the least for a call, with the rest.
pub(super) fn least_cost_left(run: &Run, task: Option<&TaskRun>) -> Option<(usize, f64)> {
    let chain = run.ledger.chain(task.map(|task| &task.task.slug));
    let left = chain.filter_map(|(number, account)| {
        let max = bounds(run, &account.holder).cost_usd?;
        Some((number, (max - account.spent.cost_usd).max(0.0)))
    });
    left.min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Whether a call that does not fit may wait, because other calls in flight have reserved a part of these budgets.
pub(super) fn may_wait(run: &Run, task: Option<&TaskRun>) -> bool {
    budgets(run, task).iter().any(|budget| budget.held > 0)
}

/// A token budget that applies to a call.
struct Budget {
    whose: Shortfall,
    /// The number of its account.
    account: usize,
    /// Tokens that are not spent.
    left: u64,
    /// Of these, tokens that other calls in flight have reserved.
    held: u64,
}

fn budgets(run: &Run, task: Option<&TaskRun>) -> Vec<Budget> {
    let chain = || run.ledger.chain(task.map(|task| &task.task.slug));
    let own = chain().next().map(|(number, _)| number);
    let of = |number: usize, account: &Account| {
        let max = bounds(run, &account.holder).tokens?;
        let whose = match account.holder {
            Holder::Run => Shortfall::Run,
            Holder::Task(_) | Holder::Part(_) if own == Some(number) => Shortfall::Task,
            Holder::Task(_) | Holder::Part(_) => Shortfall::Above,
        };
        let left = max.saturating_sub(account.spent.tokens());
        Some(Budget { whose, account: number, left, held: account.spent.reserved })
    };
    chain().filter_map(|(number, account)| of(number, account)).collect()
}

/// Whose token budget left too little for a call. `needed` is the smallest number of tokens that the call can use.
/// The call can be made later if it would fit once the other calls have returned what they reserved.
pub(super) fn short_of_tokens(run: &Run, task: Option<&TaskRun>, needed: u64) -> Shortfall {
    let budgets = budgets(run, task);
    if task.is_some() && may_wait(run, task) && budgets.iter().all(|budget| budget.left > needed) {
        return Shortfall::Now;
    }
    smallest(&budgets).map_or(Shortfall::Run, |budget| budget.whose)
}

/// The account whose budget leaves the least for a call, with the rest. `beside` excludes what other calls have
/// reserved.
pub(super) fn smallest_budget(run: &Run, task: Option<&TaskRun>, beside: bool) -> Option<(usize, u64)> {
    let left = |budget: &Budget| budget.left.saturating_sub(if beside { budget.held } else { 0 });
    smallest(&budgets(run, task)).map(|budget| (budget.account, left(budget)))
}

fn smallest(budgets: &[Budget]) -> Option<&Budget> {
    budgets.iter().min_by_key(|budget| budget.left.saturating_sub(budget.held))
}

/// Whose tokens do not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortfall {
    /// Those of the run.
    Run,
    /// Those of the task.
    Task,
    /// Those of a task of the tree above it.
    Above,
    /// None. The tokens will suffice when other calls return what they have reserved.
    Now,
}

/// The number of equal turns in a row after which a handler ends.
pub(super) fn no_progress_repeats(run: &Run, task: &Slug) -> usize {
    let op = run.operators.get(task);
    let node = op.and_then(|op| run.operators.node(op));
    let own = node.and_then(|node| node.limits.no_progress_repeats);
    usize::try_from(own.unwrap_or(run.settings().limits.no_progress_repeats)).unwrap_or(usize::MAX).max(1)
}

pub(super) fn task_timeout_ms(run: &Run, task: &TaskRun) -> u64 {
    let own = task.skill.as_ref().and_then(|skill| skill.limits.task.timeout_seconds);
    u64::from(own.unwrap_or(run.settings().limits.timeout_seconds)).saturating_mul(1_000)
}

/// Extra time for a process. It ends itself when its time is over, reports its output, and is killed 5 s later if it
/// does not end (spec "Templates" 8).
const PROCESS_GRACE_MS: u64 = 15_000;

/// Milliseconds that are left of a task's time.
pub(super) fn task_time_left_ms(run: &Run, task: &TaskRun) -> u64 {
    let grace = if task.is_process() { PROCESS_GRACE_MS } else { 0 };
    task_timeout_ms(run, task).saturating_add(grace).saturating_sub(task.clock.spent_ms(run.clock.now()))
}

/// Milliseconds that an effect may take: the rest of the task's time or of the run's time, whichever is shorter. The
/// plan and iteration calls have the time of one task.
pub(super) fn deadline_ms(run: &Run, task: Option<&TaskRun>) -> u64 {
    let of_task = match task {
        Some(task) => task_timeout_ms(run, task).saturating_sub(task.clock.spent_ms(run.clock.now())),
        None => u64::from(run.settings().limits.timeout_seconds).saturating_mul(1_000),
    };
    let of_run = time_left_ms(run).unwrap_or(u64::MAX);
    of_task.min(of_run).min(task.map_or(u64::MAX, |task| left_above_ms(run, task, run.clock.now())))
}

/// Milliseconds that are left for the task of the tree and the tasks above it (spec "Templates" 9).
fn left_above_ms(run: &Run, task: &TaskRun, at: u64) -> u64 {
    let Some(op) = run.operators.of(task) else { return u64::MAX };
    let left = run.operators.ancestry(op).filter_map(|op| {
        let seconds = run.operators.node(op)?.limits.timeout_seconds?;
        Some(u64::from(seconds).saturating_mul(1_000).saturating_sub(op.clock.spent_ms(at)))
    });
    left.min().unwrap_or(u64::MAX)
}

/// The limit that withdraws the tools of a conversation at its next turn.
pub(super) fn withdraws_tools(run: &Run, task: &TaskRun, exec: &Execution) -> Option<Limit> {
    if !exec.is_loop || task.is_handler() {
        return None;
    }
    if exec.repeats >= REPEATED_CALLS {
        return Some(Limit::RepeatedCalls);
    }
    let own = task.skill.as_ref().and_then(|skill| skill.limits.task.max_turns);
    let max = own.unwrap_or(run.settings().limits.max_turns);
    (turn(exec) >= max).then_some(Limit::MaxTurns)
}

/// The next turn of a conversation, from 1.
pub(super) fn turn(exec: &Execution) -> u32 {
    u32::try_from(exec.turns.len()).unwrap_or(u32::MAX).saturating_add(1)
}

/// How much of each limit of the run is used.
pub(super) fn uses(run: &Run) -> Vec<LimitUse> {
    let (limits, spent) = (&run.settings().limits, run.ledger.of_run());
    let threshold = limits.warning_threshold;
    let one = |limit: Limit, used, max| LimitUse { task: None, limit, name: limit.name(), used, max, threshold };
    let mut uses = vec![one(Limit::MaxCalls, f64::from(spent.counted_calls()), f64::from(limits.max_calls))];
    if let Some(max) = limits.max_tokens {
        uses.push(one(Limit::MaxTokens, number(spent.tokens()), number(max)));
    }
    if let Some(max) = limits.cost_usd() {
        let name = if limits.is_held_by_day() { "day_cost_usd" } else { Limit::MaxCost.name() };
        uses.push(LimitUse { name, ..one(Limit::MaxCost, spent.cost_usd, max) });
    }
    if let Some(max) = limits.run_timeout_seconds {
        uses.push(one(Limit::RunTimeout, number(run.busy_ms()) / 1_000.0, number(max)));
    }
    uses
}

/// The current value of a limit. A limit of the run has its plain name, a limit of a task the name `TASK.NAME`.
/// `None` if there is no such limit.
pub(super) fn bound(run: &Run, limit: &str) -> Option<f64> {
    match split_limit(limit) {
        Some((task, name)) => limit_of(run, &task, name),
        None => uses(run).iter().find(|one| one.limit.name() == limit).map(|one| one.max),
    }
}

/// The limit that ended a list of items, as `TASK.NAME`, and its current value: that of the number of items, or one of
/// the first item that failed because of a limit of its own.
pub(super) fn limit_of_items(run: &Run, task: &Slug) -> Option<(String, f64)> {
    let top = run.operators.list_of(task)?;
    let limit = |op: &NodeInstance, name: &str| Some((format!("{}.{name}", op.id), limit_of(run, &op.id, name)?));
    let most = limit(top, "max_items")?;
    if count(run.operators.item_titles(top).len()) > most.1 {
        return Some(most);
    }
    run.operators.children(top).find_map(|item| {
        let Cause::Limit(ended) = run.leaf(item)?.failure()?.cause else { return None };
        limit(item, ended.name())
    })
}

/// Whether the run has this limit and `max` is higher than its current value.
pub(super) fn may_raise(run: &Run, limit: &str, max: f64) -> bool {
    max.is_finite() && bound(run, limit).is_some_and(|now| max > now) && may_be(limit, max)
}

/// Whether a limit of a task may have this value. Limits that only one operator has are whole numbers.
fn may_be(limit: &str, max: f64) -> bool {
    let Some((_, name)) = split_limit(limit) else { return true };
    let row = LIMIT_ROWS.iter().find(|row| row.name == name);
    row.map_or(max.fract() == 0.0 && max <= f64::from(u32::MAX), |row| row.range.holds(max))
}

/// How much is used of what a task may spend.
fn spending(run: &Run, task: &Slug, threshold: f64) -> Vec<LimitUse> {
    let Some((_, Account { holder, spent, .. })) = run.ledger.chain(Some(task)).next() else { return Vec::new() };
    let max = bounds(run, holder);
    let one = |limit: Limit, used, max: Option<f64>| {
        max.map(|max| LimitUse { task: Some(task.clone()), limit, name: limit.name(), used, max, threshold })
    };
    let uses = [
        one(Limit::TaskCalls, f64::from(spent.counted_calls()), max.calls.map(f64::from)),
        one(Limit::TaskTokens, number(spent.tokens()), max.tokens.map(number)),
        one(Limit::MaxCost, spent.cost_usd, max.cost_usd),
    ];
    uses.into_iter().flatten().collect()
}

/// How much of the limits is used that apply to a task: its own and those of the tasks of a template around it.
pub(super) fn uses_around(run: &Run, task: &TaskRun) -> Vec<LimitUse> {
    let slug = &task.task.slug;
    if let Some(part) = run.operators.of(task) {
        return run.operators.ancestry(part).flat_map(|above| uses_of(run, above)).collect();
    }
    let mut uses = spending(run, slug, 1.0);
    if let Some(max) = task.skill.as_ref().and_then(|skill| skill.limits.parallel).map(f64::from) {
        let used = count(task.runs.iter().filter(|run| run.attempts.admitted).count());
        let limit = Limit::Parallel;
        uses.push(LimitUse { task: Some(slug.clone()), limit, name: limit.name(), used, max, threshold: 1.0 });
    }
    uses
}

/// How much of the limits of one task of a template is used: its own limits, and the turns of a handler.
pub(super) fn uses_of(run: &Run, op: &NodeInstance) -> Vec<LimitUse> {
    let Some(node) = run.operators.node(op) else { return Vec::new() };
    let limits = &node.limits;
    let threshold = limits.warning_threshold.unwrap_or(run.settings().limits.warning_threshold);
    let mut uses = spending(run, &op.id, threshold);
    let mut put = |limit: Limit, used, max: Option<f64>| {
        let task = Some(op.id.clone());
        uses.extend(max.map(|max| LimitUse { task, limit, name: limit.name(), used, max, threshold }));
    };
    let seconds = number(op.clock.spent_ms(run.clock.now())) / 1_000.0;
    put(Limit::TaskTimeout, seconds, limits.timeout_seconds.map(f64::from));
    let leaf = run.leaf(op).filter(|task| task.is_handler());
    if let Some(task) = leaf {
        let own = task.skill.as_ref().and_then(|skill| skill.limits.task.max_turns);
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

/// Converts a count, which stays far below 2^53, where the conversion would lose precision.
#[allow(clippy::cast_precision_loss)]
pub(super) fn number(value: u64) -> f64 {
    value as f64
}
