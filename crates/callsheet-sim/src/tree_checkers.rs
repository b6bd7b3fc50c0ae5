//! The promises about task trees (spec "Templates" 8, 9), each a function with its name, with books of their own.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{CallFault, CallKey, EffectKey, Outcome};
use callsheet_core::run::{Effect, Run, Stage, TaskRun};
use callsheet_core::template::{ReturnStatus, TaskResult};

use crate::checkers::Kept;

/// Books about what the tasks of a tree spent.
#[derive(Default)]
pub struct TreeWitness {
    calls: BTreeMap<Slug, u32>,
    /// The calls that were started.
    started: BTreeSet<CallKey>,
    tokens: BTreeMap<Slug, u64>,
}

impl TreeWitness {
    /// Sees an event before it is applied.
    ///
    /// # Errors
    /// A limit of a task, or of a task above it, is about to be exceeded.
    pub fn before(&mut self, run: &Run, fact: &LogEntry) -> Kept {
        match &fact.event {
            Event::Started(events::Started { effect: EffectKey::Ask(key), .. }) => {
                let effect = EffectKey::Ask(key.clone());
                if run.is_in_flight(&effect) || !run.is_outstanding(&effect) {
                    return Ok(());
                }
                let Some(task) = &key.task else { return Ok(()) };
                self.no_budget_is_passed(run, task)?;
                self.charge(run, task, 1, 0);
                self.started.insert(key.clone());
            }
            // A call that was never sent does not count, and no limit counts an interrupted one.
            Event::CallFailed(events::CallFailed { key, sends: 0, .. })
            | Event::CallFailed(events::CallFailed { key, fault: CallFault::Cancelled, .. }) => {
                self.uncharge(run, key);
            }
            Event::RunResumed(_) | Event::RunContinued(_) if run.check(fact).is_ok() => {
                std::mem::take(&mut self.started).iter().for_each(|key| self.uncharge(run, key));
            }
            Event::ReplyReceived(events::ReplyReceived { key, usage, reused, .. })
                if run.is_in_flight(&EffectKey::Ask(key.clone())) =>
            {
                if reused.is_some() {
                    self.uncharge(run, key);
                }
                let Some(task) = &key.task else { return Ok(()) };
                self.charge(run, task, 0, usage.input + usage.output);
                self.no_token_is_overspent(run, task)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn uncharge(&mut self, run: &Run, key: &CallKey) {
        let in_flight = run.is_in_flight(&EffectKey::Ask(key.clone()));
        let op = key.task.as_ref().filter(|_| in_flight).and_then(|task| run.operators().get(task));
        for above in op.into_iter().flat_map(|op| run.operators().ancestry(op)) {
            *self.calls.entry(above.id.clone()).or_default() -= 1;
        }
    }

    fn charge(&mut self, run: &Run, task: &Slug, calls: u32, tokens: u64) {
        let operators = run.operators();
        let Some(op) = operators.get(task) else { return };
        for above in operators.ancestry(op) {
            *self.calls.entry(above.id.clone()).or_default() += calls;
            *self.tokens.entry(above.id.clone()).or_default() += tokens;
        }
    }

    /// Whatever runs at the same time, no task uses more tokens than its own limit or that of a task above it (spec
    /// 9, budget tree).
    fn no_token_is_overspent(&self, run: &Run, task: &Slug) -> Kept {
        let operators = run.operators();
        let Some(op) = operators.get(task) else { return Ok(()) };
        let over = operators.ancestry(op).find(|above| {
            let tokens = self.tokens.get(&above.id).copied().unwrap_or(0);
            operators.node(above).and_then(|node| node.limits.max_tokens).is_some_and(|most| tokens > most)
        });
        over.map_or(Ok(()), |above| {
            Err(format!("no token is overspent: a reply to {task} passes the limit of {}", above.id))
        })
    }

    /// The calls and tokens of a task and of every task above it stay within their limits (spec 9, budget tree).
    fn no_budget_is_passed(&self, run: &Run, task: &Slug) -> Kept {
        let operators = run.operators();
        let Some(op) = operators.get(task) else { return Ok(()) };
        for above in operators.ancestry(op) {
            let Some(node) = operators.node(above) else { continue };
            let calls = self.calls.get(&above.id).copied().unwrap_or(0);
            let tokens = self.tokens.get(&above.id).copied().unwrap_or(0);
            if node.limits.max_calls.is_some_and(|most| calls >= most) {
                return Err(format!("no budget is passed: a call of {task} above the calls of {}", above.id));
            }
            if node.limits.max_tokens.is_some_and(|most| tokens >= most) {
                return Err(format!("no budget is passed: a call of {task} above the tokens of {}", above.id));
            }
        }
        Ok(())
    }
}

/// At most one tree task that can change something is at work. A task that waits for a person is not (spec 8).
///
/// # Errors
/// Two are at work.
pub fn writers_never_overlap(run: &Run) -> Kept {
    let leaves = run.all_tasks().filter(|task| run.operators().get(&task.task.slug).is_some());
    let works = |task: &&TaskRun| task.runs.iter().any(|exec| exec.attempts.admitted) && run.can_write(task);
    let working = leaves.filter(works);
    let working: Vec<&str> = working.map(|task| task.task.slug.as_str()).collect();
    if working.len() > 1 { Err(format!("writers never overlap: {}", working.join(", "))) } else { Ok(()) }
}

/// Subtasks are nested no deeper than the setting allows, and a task that waits for them has no slot (spec 9, 12).
///
/// # Errors
/// One is deeper, or its handler has a slot.
pub fn subtasks_are_bounded(run: &Run) -> Kept {
    let operators = run.operators();
    let most = run.settings().limits.max_depth;
    if let Some(deep) = operators.iter().find(|op| op.depth > most) {
        return Err(format!("subtasks are bounded: {} at depth {}", deep.id, deep.depth));
    }
    for op in operators.iter() {
        let waits = operators.children(op).any(|child| child.place.is_subtask() && !child.is_closed());
        let Some(leaf) = run.leaf(op).filter(|_| waits).map(|leaf| &leaf.task.slug) else { continue };
        let outstanding = run.outstanding();
        let asked =
            |effect: &Effect| matches!(effect, Effect::AskModel(asked) if asked.key.task.as_ref() == Some(leaf));
        if outstanding.iter().any(asked) {
            return Err(format!("subtasks are bounded: {leaf} is asked while it waits for a subtask"));
        }
    }
    Ok(())
}

/// A finished run of a tree has a result that agrees with its outcome (spec 6), and none of its tasks is open.
///
/// # Errors
/// It has not.
pub fn the_result_fits_the_outcome(run: &Run, result: Option<&TaskResult>) -> Kept {
    let Stage::Concluded(outcome) = run.stage() else { return Ok(()) };
    // A person or the world interrupted the run.
    if matches!(outcome, Outcome::Cancelled | Outcome::Unreachable | Outcome::Misconfigured) {
        return Ok(());
    }
    // A limit of the run leaves the tree as it is. It continues with a higher limit.
    if outcome == Outcome::LimitReached && result.is_none() {
        return Ok(());
    }
    let Some(result) = result else { return Err(format!("the result fits the outcome: none with {outcome:?}")) };
    if (outcome == Outcome::Complete) != (result.status == ReturnStatus::Complete) {
        return Err(format!("the result fits the outcome: {:?} with {outcome:?}", result.status));
    }
    if result.status == ReturnStatus::Failed && result.error.is_none() {
        return Err("the result fits the outcome: it failed without an error".to_owned());
    }
    let open = run.operators().iter().find(|op| !op.is_closed());
    match open {
        Some(op) if outcome == Outcome::Complete => {
            Err(format!("the result fits the outcome: {} is open at the end", op.id))
        }
        _ => Ok(()),
    }
}
