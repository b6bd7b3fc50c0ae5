//! What the driver, prompts and views ask of a run that needs more than its parts: limits, gates, reasons.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::{Slug, ToolCall};
use crate::record::{EffectKey, Gate, GateKind, Outcome};
use crate::template::TaskError;

use super::access::LimitUse;
use super::approval::Approval;
use super::commands::{check_part, check_redo};
use super::effect::Effect;
use super::execution::Execution;
use super::explain::{Explainer, Why};
use super::mounts::{FailedCall, failed_calls};
use super::operators::{NodeInstance, OpState, TreeQuery, limit_of_error};
use super::scheduler::exclusive_tool;
use super::state::{Stage, State};
use super::task::TaskRun;
use super::{Run, conversations, ideal, limits, lists, next_stage};

impl Run {
    /// Why a task is not done, by its slug or by the name of a task of the tree.
    pub fn explain(&self, task: &Slug) -> Why {
        self.explainer().why(task)
    }

    /// Says why tasks are not done, as it is now.
    pub fn explainer(&self) -> Explainer<'_> {
        Explainer::new(self)
    }

    /// Tasks that are neither done nor dropped: those of the list in its order, then those of earlier lists; of a tree every
    /// task that was opened.
    pub fn not_done(&self) -> Vec<&Slug> {
        if self.operators.tree().is_some() {
            let open = self.operators.iter().filter(|op| op.state != OpState::Closed || op.failed());
            return open.map(|op| &op.id).collect();
        }
        let of_list = |task: &&TaskRun| task.is_own() && !matches!(task.state(), State::Done | State::Dropped);
        let earlier = self.tasks().filter(|task| self.step_of(&task.task.slug).is_none());
        let open = self.tasks.listed().chain(earlier).filter(of_list).map(|task| &task.task.slug);
        open.flat_map(|slug| std::iter::once(slug).chain(self.open_below(slug))).collect()
    }

    /// What was opened for calls of a task and has not come back.
    fn open_below(&self, task: &Slug) -> impl Iterator<Item = &Slug> {
        let of_task = |op: &&NodeInstance| self.operators.caller(op.mount).is_some_and(|caller| caller.task == *task);
        let open = self.operators.iter().filter(|op| op.state != OpState::Closed);
        open.filter(of_task).map(|op| &op.id)
    }

    /// Open gates in the order they were opened, then questions; also while the run waits for somebody who is not there.
    pub fn asking(&self) -> Vec<Effect> {
        Approval(self).asking()
    }

    /// Whether only an answer to this gate alone counts: it asks if a call that was interrupted is made again, or about a call
    /// that nothing holds to what was approved.
    pub fn needs_own_answer(&self, gate: &Gate) -> bool {
        let GateKind::BeforeCall { task, run, call } = &gate.kind else { return false };
        let call = self.task(task).and_then(|task| task.run(run)?.call(call));
        call.is_some_and(|call| call.asks_again() || Approval(self).needs_own_answer(&call.call.name))
    }

    /// The other open gates before calls of the same tool by the same node of a template, in the order they were opened: with
    /// this one they are one question (spec "Templates" 8).
    pub fn equal_calls(&self, gate: &Gate) -> Vec<Gate> {
        Approval(self).equal_calls(gate)
    }

    /// Whether an edit leaves the task alone: it runs, and does not merely wait for a person.
    pub fn has_begun(&self, slug: &Slug) -> bool {
        lists::has_begun(self, slug)
    }

    /// Whether an edit of the list is adopted now: while a round is under way, between rounds, and before the report. A
    /// run that a person or a limit stopped adopts it when it is resumed.
    pub fn may_edit(&self) -> bool {
        lists::may_edit(self)
    }

    /// Whether a follow-up whose list could not be had waits until nothing else is left to do.
    pub fn follow_up_waits(&self) -> bool {
        next_stage::follow_up_waits(self)
    }

    /// How a run that rests would have ended without its follow-up that has no list yet; `None`: it has no such follow-up,
    /// or does not rest.
    pub fn without_follow_up(&self) -> Option<Outcome> {
        next_stage::without_follow_up(self)
    }

    /// Calls of a turn of a conversation that equal earlier calls answer (spec 10.7), by id, with the ids of these.
    pub fn repeats(&self, task: &TaskRun, run: &Execution, calls: &[ToolCall]) -> BTreeMap<String, String> {
        conversations::repeats(self, task, run, calls)
    }

    /// Whether a task of the tree, or one above it, has spent a budget of its own (spec "Templates" 9).
    pub fn is_spent(&self, op: &NodeInstance) -> bool {
        limits::is_spent(self, op)
    }

    /// Whether an effect may change something by itself: one such is under way at a time.
    pub fn writes(&self, key: &EffectKey) -> bool {
        matches!(key, EffectKey::Apply { .. }) || exclusive_tool(self, key).is_some()
    }

    /// A writer, or a process whose tool does not only read.
    pub fn can_write(&self, task: &TaskRun) -> bool {
        TreeQuery(self).can_write(task)
    }

    /// What of a run of a template is retried where nobody says which: the whole of a run that failed; of one that came
    /// back whole what failed on the way and was only collected.
    pub fn failed_of_tree(&self) -> Vec<Slug> {
        TreeQuery(self).failed()
    }

    /// Tasks of the list that failed since a limit ended the template that they call.
    pub fn failed_by_limits_of_calls(&self) -> Vec<Slug> {
        let by_limit = |call: &FailedCall| {
            let top = self.operators.top_of(call.mount).and_then(|top| top.closed.as_ref());
            top.is_some_and(|closed| closed.outcome == Outcome::LimitReached)
        };
        let ended = |task: &&TaskRun| {
            let calls = failed_calls(self, &task.task.slug, &BTreeMap::new());
            calls.is_some_and(|calls| calls.iter().any(by_limit))
        };
        self.tasks().filter(ended).map(TaskRun::slug).collect()
    }

    /// Whether a person may have a task done again that ended.
    pub fn may_retry(&self, task: &Slug) -> bool {
        match (self.operators.tree(), self.operators.named(task)) {
            (Some(_), Some(op)) => op.closed.is_some() && !op.former && self.operators.retried(op.number).is_ok(),
            (None, Some(_)) => check_part(self, task).is_ok(),
            (Some(_), None) => false,
            (None, None) => check_redo(self, task).is_ok(),
        }
    }

    /// Tasks whose changes of files belong to a task: itself, its handlers and processes, and what is opened below it.
    pub fn tasks_within(&self, task: &Slug) -> BTreeSet<Slug> {
        let operators = &self.operators;
        let top = operators.named(task).map(|op| op.number);
        let calls = |op: &NodeInstance| operators.caller(op.mount).is_some_and(|caller| caller.task == *task);
        let below = |op: &NodeInstance| operators.ancestry(op).any(|above| Some(above.number) == top) || calls(op);
        let leaves = self.all_tasks().filter(|leaf| operators.of_leaf(&leaf.task.slug).is_some_and(below));
        leaves.map(TaskRun::slug).chain([task.clone()]).collect()
    }

    /// Tasks of which changes are in files and that `after`, a later state of this run, does again.
    pub fn changes_again(&self, after: &Self) -> Vec<Slug> {
        let again = |task: &Slug| match (self.operators.of_leaf(task), after.operators.of_leaf(task)) {
            (Some(before), Some(now)) => !before.former && (now.former || now.attempt > before.attempt),
            _ => {
                let ended = |run: &Self| run.tasks.get(task).is_some_and(|task| task.state().is_ended());
                ended(self) && !ended(after)
            }
        };
        let changed = self.all_tasks().filter(|task| !task.changed_files().is_empty());
        changed.map(TaskRun::slug).filter(again).collect()
    }

    /// Milliseconds that are left of the run's own time; `None`: there is no limit.
    pub fn time_left_ms(&self) -> Option<u64> {
        limits::time_left_ms(self)
    }

    /// Milliseconds of the longest dependency chain of measured times: what the run would have taken with unlimited
    /// slots.
    pub fn ideal_ms(&self) -> u64 {
        ideal::pass_ms(self).saturating_add(ideal::list_ms(self))
    }

    /// Whether a person may raise a limit to this.
    pub fn may_raise_limit(&self, limit: &str, max: f64) -> bool {
        limits::may_raise(self, limit, max)
    }

    /// What a limit is now, of the run by its name, of a task as `TASK.NAME`; `None`: there is no such limit.
    pub fn limit_bound(&self, limit: &str) -> Option<f64> {
        limits::bound(self, limit)
    }

    /// The limit of a task of a template by which an error came, as `TASK.NAME`, and what it is now.
    pub fn limit_of_error(&self, error: &TaskError) -> Option<(String, f64)> {
        limit_of_error(self, error)
    }

    /// How far the limits of the run are used.
    pub fn limit_uses(&self) -> Vec<LimitUse> {
        limits::uses(self)
    }

    /// How far the limits of a task of the tree are used.
    pub fn limit_uses_of(&self, op: &NodeInstance) -> Vec<LimitUse> {
        limits::uses_of(self, op)
    }

    /// Limits of the run, and of the open tasks of its tree (spec "Templates" 9), that are used up to the warning threshold
    /// and that nobody was told of. One that was raised since is told again when the new bound is near.
    pub fn limits_near(&self) -> Vec<LimitUse> {
        if matches!(self.stage(), Stage::Empty | Stage::Concluded(_)) {
            return Vec::new();
        }
        let of_tree = self.operators.open().flat_map(|op| limits::uses_of(self, op));
        let all = limits::uses(self).into_iter().chain(of_tree);
        all.filter(|one| one.is_near() && !self.progress.notified().has_told(one)).collect()
    }
}
