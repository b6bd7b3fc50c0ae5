//! Queries of the driver, prompts and views that need more than the parts of a run: limits, gates, reasons.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::{RepeatClass, Slug, ToolCall};
use crate::record::{EffectKey, Gate, GateKind, Outcome, Tree};
use crate::template::TaskError;

use super::access::LimitUse;
use super::after_limit::goes_on;
use super::approval::Approval;
use super::commands::{check_redo, check_take_over};
use super::effect::Effect;
use super::execution::{Execution, ToolRun};
use super::explain::{Explainer, Why};
use super::failure::Cause;
use super::gates::is_equal;
use super::mounts::failed_calls;
use super::operators::{EditedTasks, NodeInstance, Redo, TreeQuery, continues_with, limit_of_error, split_limit};
use super::reject::Reject;
use super::scheduler::exclusive_tool;
use super::state::{Stage, State};
use super::task::TaskRun;
use super::{Run, conversations, ideal, limits, lists, next_stage};

impl Run {
    /// Why a task is not done. The task is named by its slug or by its name in the tree.
    pub fn explain(&self, task: &Slug) -> Why {
        self.explainer().why(task)
    }

    /// An explainer for the current run.
    pub fn explainer(&self) -> Explainer<'_> {
        Explainer::new(self)
    }

    /// The tasks that are neither done nor removed. Tasks of the list come first, in its order, then tasks of earlier
    /// lists. In a template run, every opened task that is open or failed.
    pub fn not_done(&self) -> Vec<&Slug> {
        if self.operators.tree().is_some() {
            let open = self.operators.iter().filter(|op| !op.is_closed() || op.failed());
            return open.map(|op| &op.id).collect();
        }
        let of_list = |task: &&TaskRun| task.is_own() && !matches!(task.state(), State::Done | State::Dropped);
        let earlier = self.tasks().filter(|task| self.step_of(&task.task.slug).is_none());
        let open = self.tasks.listed().chain(earlier).filter(of_list).map(|task| &task.task.slug);
        open.flat_map(|slug| std::iter::once(slug).chain(self.open_below(slug))).collect()
    }

    /// The names by which a person may mean a task: its own, those of the operators that contain it, and those of the
    /// tasks whose calls it belongs to, from the inside out.
    pub fn names_around(&self, task: &Slug) -> Vec<Slug> {
        let mut names = vec![task.clone()];
        if let Some(part) = self.operators.get(task) {
            names.extend(self.operators.ancestry(part).map(|above| above.id.clone()));
            names.extend(self.operators.caller(part.mount).map(|caller| caller.task.clone()));
        }
        names.dedup();
        names
    }

    /// The first task that executes the same node of a template as a task, within the same nodes and for the same call.
    /// It stands for all of them: the items of a map, the iterations of a loop. `None` for a task of a list.
    pub fn first_of_node(&self, task: &Slug) -> Option<&Slug> {
        let one = self.operators.get(task)?;
        self.operators.iter().find(|other| self.operators.are_of_one_node(one, other)).map(|op| &op.id)
    }

    /// The tasks that were opened for calls of a task and have not returned.
    fn open_below(&self, task: &Slug) -> impl Iterator<Item = &Slug> {
        let of_task = |op: &&NodeInstance| self.operators.caller(op.mount).is_some_and(|caller| caller.task == *task);
        let open = self.operators.iter().filter(|op| !op.is_closed());
        open.filter(of_task).map(|op| &op.id)
    }

    /// The open gates in the order in which they were opened, then the open questions. Includes those of a run that
    /// waits for an absent person.
    pub fn asking(&self) -> Vec<Effect> {
        Approval(self).asking()
    }

    /// Whether the gate needs an answer of its own: it asks whether an interrupted call runs again, or it asks about
    /// a call that might do more than was approved.
    pub fn needs_own_answer(&self, gate: &Gate) -> bool {
        let call = self.call_of(gate);
        call.is_some_and(|call| call.asks_again() || Approval(self).needs_own_answer(&call.call.name))
    }

    /// Whether the gate asks about a call that was started before and did not end, or that may repeat such a call.
    pub fn asks_again(&self, gate: &Gate) -> bool {
        self.call_of(gate).is_some_and(ToolRun::asks_again)
    }

    fn call_of(&self, gate: &Gate) -> Option<&ToolRun> {
        let GateKind::BeforeCall { task, run, call } = &gate.kind else { return None };
        self.task(task)?.run(run)?.call(call)
    }

    /// The call that never finished, if the gate asks about another call because it may repeat that one.
    pub fn repeats_another(&self, gate: &Gate) -> Option<&ToolCall> {
        let GateKind::BeforeCall { task, run, call } = &gate.kind else { return None };
        let call = self.task(task)?.run(run)?.call(call).filter(|call| call.asks_again())?;
        Approval(self).may_repeat(task, &call.call).filter(|unended| !is_equal(unended, &call.call))
    }

    /// The other open gates before calls of the same tool by the same template node, in the order in which they were
    /// opened. Together with this gate they are one question (spec "Templates" 8).
    pub fn equal_calls(&self, gate: &Gate) -> Vec<Gate> {
        Approval(self).equal_calls(gate)
    }

    /// Whether an edit leaves the task alone, because it is at work and does not only wait for a person.
    pub fn has_begun(&self, slug: &Slug) -> bool {
        lists::has_begun(self, slug)
    }

    /// Whether the run adopts an edit of the list now. It does so during a round, between rounds and before the
    /// report. A run that a person or a limit stopped adopts the edit when it is resumed.
    pub fn may_edit(&self) -> bool {
        lists::may_edit(self)
    }

    /// Whether the run has a follow-up for which no list could be made, which waits until nothing else is left to do.
    pub fn follow_up_waits(&self) -> bool {
        next_stage::follow_up_waits(self)
    }

    /// The outcome that a resting run would have without its pending follow-up. `None` if it has no pending follow-up
    /// or is not at rest.
    pub fn without_follow_up(&self) -> Option<Outcome> {
        next_stage::without_follow_up(self)
    }

    /// The calls of a turn that equal earlier calls answer (spec 10.7), by id, with the ids of the earlier calls.
    pub fn repeats(&self, task: &TaskRun, run: &Execution, calls: &[ToolCall]) -> BTreeMap<String, String> {
        conversations::repeats(self, task, run, calls)
    }

    /// Whether a task of the tree, or a task above it, has used up a limit of its own (spec "Templates" 9).
    pub fn is_spent(&self, op: &NodeInstance) -> bool {
        limits::is_spent(self, op)
    }

    /// Whether an effect may change something by itself. Only one such effect is under way at a time.
    pub fn writes(&self, key: &EffectKey) -> bool {
        matches!(key, EffectKey::Apply { .. }) || exclusive_tool(self, key).is_some()
    }

    /// Whether the task is a writer, or a process whose tool does not only read.
    pub fn can_write(&self, task: &TaskRun) -> bool {
        TreeQuery(self).can_write(task)
    }

    /// The tasks that are retried if a person names none: the failed tasks of the list. If a template run failed, this is
    /// the whole run. If it succeeded, these are the tasks whose failures it only collected.
    pub fn failed(&self) -> Vec<Slug> {
        TreeQuery(self).failed()
    }

    /// The tasks of the list that failed because a limit ended the template that they call.
    pub fn failed_by_limits_of_calls(&self) -> Vec<Slug> {
        let by_limit = |top: usize| {
            let closed = self.operators.at(top).and_then(NodeInstance::closed);
            closed.is_some_and(|closed| closed.outcome == Outcome::LimitReached)
        };
        let ended = |task: &&TaskRun| {
            let calls = failed_calls(self, &task.task.slug, &BTreeMap::new());
            calls.is_some_and(|calls| calls.into_iter().any(by_limit))
        };
        self.tasks().filter(ended).map(TaskRun::slug).collect()
    }

    /// The failed task to which a limit of a task belongs, and whether it continues with what it has once the limit is
    /// raised. Otherwise it begins again.
    pub fn after_raise(&self, limit: &str) -> Option<(Slug, bool)> {
        let (task, name) = split_limit(limit)?;
        let failed = self.state_of(&task) == Some(State::Failed);
        let continues = continues_with(name).unwrap_or_else(|| self.may_continue(&task));
        failed.then_some((task, continues))
    }

    /// Whether something of a failed task can continue with what it has.
    pub fn may_continue(&self, task: &Slug) -> bool {
        let trees = TreeQuery(self);
        if let Some(op) = self.operators.get(task) {
            return op.failed() && trees.may_continue(op.number);
        }
        match failed_calls(self, task, &BTreeMap::new()) {
            Some(calls) => calls.into_iter().any(|top| trees.may_continue(top)),
            None => self.tasks.get(task).is_some_and(|task| goes_on(self, task)),
        }
    }

    /// The calls that may not be repeated, were started and did not end, each with its task. A person has not said yet
    /// whether they run again.
    pub fn unended_calls(&self) -> Vec<(Slug, ToolCall)> {
        let in_flight = self.in_flight.iter().filter_map(|key| {
            let EffectKey::Tool { task, run, call } = key else { return None };
            let call = &self.tasks.get(task)?.run(run)?.call(call)?.call;
            (self.policy(&call.name).repeat == RepeatClass::Once).then(|| (task.clone(), call.clone()))
        });
        self.gates.unended().iter().cloned().chain(in_flight).collect()
    }

    /// Whether a person may have a task repeated.
    pub fn may_retry(&self, task: &Slug) -> bool {
        check_redo(self, task, Redo::Again, &BTreeMap::new()).is_ok()
    }

    /// The name of a task by which a person may have it repeated or removed: the task of a template for its handler,
    /// the present name for a former one.
    pub fn name_of(&self, name: &Slug) -> Option<&Slug> {
        let part = self.operators.get(name).and_then(|part| self.operators.present(part)).map(|part| &part.id);
        part.or_else(|| self.task(name).map(|task| &task.task.slug))
    }

    /// The state of a task by its name, whether it is of a list or of a template.
    pub fn state_of(&self, name: &Slug) -> Option<State> {
        let part = self.operators.get(name).map(NodeInstance::state);
        part.or_else(|| self.task(name).map(TaskRun::state))
    }

    /// The names of all tasks: those of lists, those of templates, and their handlers.
    pub fn names(&self) -> BTreeSet<&Slug> {
        let parts = self.operators.iter().map(|part| &part.id);
        self.tasks.keys().chain(parts).collect()
    }

    /// The tasks whose file changes belong to a task: itself, its handlers and processes, and the tasks below it.
    pub fn tasks_within(&self, task: &Slug) -> BTreeSet<Slug> {
        let top = self.name_of(task).unwrap_or(task);
        let leaves = self.all_tasks().map(TaskRun::slug).filter(|leaf| self.names_around(leaf).contains(top));
        leaves.chain([task.clone()]).collect()
    }

    /// The tasks whose changes are in files and that `after`, a later state of this run, repeats.
    pub fn changes_again(&self, after: &Self) -> Vec<Slug> {
        let again = |task: &Slug| match (self.operators.get(task), after.operators.get(task)) {
            (Some(before), Some(now)) => !before.is_former() && (now.is_former() || now.retried > before.retried),
            _ => {
                let ended = |run: &Self| run.tasks.get(task).is_some_and(|task| task.state().is_ended());
                ended(self) && !ended(after)
            }
        };
        let changed = self.all_tasks().filter(|task| !task.changed_files().is_empty());
        changed.map(TaskRun::slug).filter(again).collect()
    }

    /// The tasks that change if the run takes over an edited tree, given the number of the tree.
    ///
    /// # Errors
    /// The run cannot take it over.
    pub fn changes_with(&self, tree_number: usize, tree: &Tree) -> Result<EditedTasks, Reject> {
        check_take_over(self, tree_number, tree)
    }

    /// Milliseconds that are left of the run's own time. `None` if there is no limit.
    pub fn time_left_ms(&self) -> Option<u64> {
        limits::time_left_ms(self)
    }

    /// The duration in milliseconds of the longest chain of dependent work: what the run would have taken with
    /// unlimited slots.
    pub fn ideal_ms(&self) -> u64 {
        ideal::pass_ms(self).saturating_add(ideal::list_ms(self))
    }

    /// Whether a person may raise a limit to this value.
    pub fn may_raise_limit(&self, limit: &str, max: f64) -> bool {
        limits::may_raise(self, limit, max)
    }

    /// The current value of a limit. A limit of the run has its plain name, a limit of a task the name `TASK.NAME`.
    /// `None` if there is no such limit.
    pub fn limit_bound(&self, limit: &str) -> Option<f64> {
        limits::bound(self, limit)
    }

    /// The limit of a template task that caused an error, as `TASK.NAME`, and its current value.
    pub fn limit_of_error(&self, error: &TaskError) -> Option<(String, f64)> {
        limit_of_error(self, error)
    }

    /// The limit of a task of a sheet that made it fail, as `TASK.NAME`, and its current value.
    pub fn limit_of_failure(&self, task: &TaskRun) -> Option<(String, f64)> {
        if task.task.for_each.is_some() {
            return limits::limit_of_items(self, &task.task.slug);
        }
        let Cause::Limit(limit) = task.failure()?.cause else { return None };
        let name = format!("{}.{}", task.task.slug, limit.name());
        let now = self.limit_bound(&name)?;
        Some((name, now))
    }

    /// How much of each limit of the run is used.
    pub fn limit_uses(&self) -> Vec<LimitUse> {
        limits::uses(self)
    }

    /// How much of each limit of a tree task is used.
    pub fn limit_uses_of(&self, op: &NodeInstance) -> Vec<LimitUse> {
        limits::uses_of(self, op)
    }

    /// The limits of the run and of the open tasks of its tree (spec "Templates" 9) that have reached the warning
    /// threshold and that no person was told of. A raised limit is reported again when the new bound is near.
    pub fn limits_near(&self) -> Vec<LimitUse> {
        if matches!(self.stage(), Stage::Empty | Stage::Concluded(_)) {
            return Vec::new();
        }
        let of_tree = self.operators.open().flat_map(|op| limits::uses_of(self, op));
        let all = limits::uses(self).into_iter().chain(of_tree);
        all.filter(|one| one.is_near() && !self.progress.notified().has_told(one)).collect()
    }
}
