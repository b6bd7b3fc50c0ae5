//! Whether a log entry fits the state of a run. Nothing is changed here, and nothing is refused anywhere else.

use std::collections::BTreeMap;

use crate::record::{CallKey, EffectKey, Event, Outcome};
use crate::spec::{ExecutionId, Phase, SkillPolicy, Slug, ToolCall};

use super::Run;
use super::answers::check_answer;
use super::approval::Approval;
use super::changes::{SetKey, SetStage};
use super::execution::{Execution, MergeBy};
use super::limits;
use super::lists::{check_applies, check_draft, check_drop, check_list, transition};
use super::mounts::{call_of, check_mount, check_return, failed_calls};
use super::next_stage::without_follow_up;
use super::operators::{Caller, TreeCheck};
use super::reject::Reject;
use super::state::{Stage, State};
use super::task::{ReferenceCheck, TaskRun};

/// Checks log entries.
#[derive(Clone, Copy)]
pub(super) struct Check<'a>(pub &'a Run);

type Checked = Result<(), Reject>;

fn require(holds: bool, reject: impl FnOnce() -> Reject) -> Checked {
    if holds { Ok(()) } else { Err(reject()) }
}

impl<'a> Check<'a> {
    pub fn event(self, event: &Event) -> Checked {
        let run = self.0;
        let edits = matches!(event, Event::RunContinued { .. } | Event::TaskDropped { .. } | Event::ListAdopted { .. });
        require(!edits || run.operators.tree().is_none(), || Reject::RunsTemplate)?;
        match event {
            Event::RunStarted { .. } => return require(run.id().is_none(), || Reject::AlreadyStarted),
            _ if run.id().is_none() => return Err(Reject::NotStarted),
            Event::RunResumed { .. } | Event::SheetRendered { .. } | Event::EditHeld { .. } => return Ok(()),
            Event::RunContinued { .. } => {
                let ended = matches!(run.stage(), Stage::Concluded(_) | Stage::Continue);
                return require(ended, || Reject::NotEnded);
            }
            Event::ChangesReverted { task, set, .. } => return self.reverts(task, *set),
            Event::LimitRaised { limit, max } => {
                return require(limits::may_raise(run, limit, *max), || Reject::NotRaised(limit.clone()));
            }
            Event::FollowUpWithdrawn { outcome } => {
                return require(without_follow_up(run) == Some(*outcome), || Reject::NoFollowUp);
            }
            _ => {}
        }
        require(!run.progress.has_concluded(), || Reject::Concluded)?;
        self.of_open_run(event)
    }

    /// Entries that only a run takes that has not concluded.
    fn of_open_run(self, event: &Event) -> Checked {
        let (run, tree) = (self.0, TreeCheck(self.0));
        match event {
            Event::TaskRetried { task, .. } if run.operators.tree().is_some() => tree.retried(task),
            Event::TaskRetried { task, .. } if run.operators.named(task).is_some() => call_of(run, task).map(|_| ()),
            Event::TaskRetried { task, skills } => self.retried(task, skills),
            Event::TaskDropped { task } => self.dropped(task),
            Event::TaskFailed { task, .. } => self.fails(task),
            Event::Started { effect, .. } => self.started(effect),
            Event::ReplyReceived { key, .. } | Event::CallFailed { key, .. } => {
                self.in_flight(EffectKey::Ask(key.clone()))
            }
            Event::ListAdopted { origin, list, .. } => check_list(run, origin, list),
            Event::ReplyRefused { .. }
            | Event::Routed { .. }
            | Event::ListDrafted { .. }
            | Event::TaskRefined { .. }
            | Event::RunFinished { .. }
            | Event::Reviewed { .. }
            | Event::Joined { .. } => self.reading(event),
            Event::CallsAsked { key, calls, repeats, .. } => self.requests(key, calls, repeats),
            Event::ReferencesChecked { task, n, stage, .. } => {
                let pending = ReferenceCheck::Pending { n: *n, stage: *stage };
                let key = || Reject::NotInFlight(EffectKey::Check { task: task.clone(), n: *n });
                require(self.task(task)?.check == pending, key)
            }
            Event::RunsMerged { task, n, .. } => self.merged(task, *n),
            Event::ToolFinished { task, run, call, .. } => {
                self.in_flight(EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.clone() })
            }
            Event::CallMounted { task, run: exec, call, tree, shared } => {
                let caller = Caller { task: task.clone(), run: exec.clone(), call: call.clone() };
                check_mount(run, &caller, &run.operators.completed(tree, shared))
            }
            Event::CallReturned { task, run: exec, call, failed, .. } => {
                let caller = Caller { task: task.clone(), run: exec.clone(), call: call.clone() };
                check_return(run, &caller, failed.is_some())
            }
            Event::QuestionAnswered { task, run: exec, call, .. } => {
                require(run.stage().is_working(), || Reject::Concluding)?;
                let key = EffectKey::Question { task: task.clone(), run: exec.clone(), call: call.clone() };
                require(Approval(run).is_open_question(&key), || Reject::NotInFlight(key.clone()))
            }
            Event::GateAnswered { gate, answer, .. } => {
                require(run.stage().is_working(), || Reject::Concluding)?;
                require(Approval(run).open_gates().any(|open| open == *gate), || Reject::GateClosed(gate.clone()))?;
                check_answer(gate, answer)
            }
            Event::ChangesChecked { .. }
            | Event::ChangesApplied { .. }
            | Event::ChangesRebased { .. }
            | Event::ChangesRejected { .. }
            | Event::ChangesRolledBack { .. } => self.of_changes(event),
            Event::TreeAdopted { tree: adopted } => tree.adopted(adopted),
            Event::LimitsChanged { .. } => require(run.operators.trees().next().is_some(), || Reject::ListNotAwaited),
            Event::Evaluated { task, n, step } => tree.evaluated(task, *n, step),
            Event::ContextRetrieved { task, n, .. } => tree.retrieved(task, *n),
            Event::CancelRequested => require(!run.progress.is_concluding(), || Reject::Concluding),
            Event::RunWaiting { outcome } => self.waits(*outcome),
            Event::RunConcluded { outcome, .. } => self.concludes(*outcome),
            _ => Ok(()),
        }
    }

    /// What was read of a reply: its phase can give this.
    fn reading(self, event: &Event) -> Checked {
        let run = self.0;
        match event {
            // What cannot be read of a review counts as a verdict, of a route as none.
            Event::ReplyRefused { key, .. } => self.to_be_read(key, !matches!(key.phase, Phase::Review | Phase::Route)),
            // The last skill of a list completes it.
            Event::Routed { key, .. } => {
                let completes = key.run.is_some() && run.unrouted_tasks().nth(1).is_none();
                self.to_be_read(key, key.phase == Phase::Route && !completes)
            }
            Event::ListDrafted { key, list, .. } => check_draft(run, key, list),
            Event::TaskRefined { key, .. } => self.to_be_read(key, key.phase == Phase::Refine && key.task.is_some()),
            Event::RunFinished { key, .. } => {
                let fits = matches!(key.phase, Phase::Merge | Phase::Execute) && key.task.is_some();
                self.to_be_read(key, fits)
            }
            Event::Reviewed { key, .. } => {
                let task = key.task.as_ref().and_then(|slug| run.tasks.get(slug));
                let exec = key.run.as_ref().and_then(|id| task?.run(id));
                let asked = exec.is_some_and(Execution::is_under_review);
                self.to_be_read(key, key.phase == Phase::Review && asked)
            }
            Event::Joined { key, .. } => self.to_be_read(key, key.phase == Phase::Join),
            _ => Ok(()),
        }
    }

    /// Change sets on their way to the disk.
    fn of_changes(self, event: &Event) -> Checked {
        let run = self.0;
        match event {
            Event::ChangesChecked { task, run, set, .. } => self.in_flight(set_key(task, run, *set).attempt()),
            Event::ChangesApplied { task, run: exec, set, changes } => {
                let key = set_key(task, exec, *set);
                let same = run.changes.get(&key).is_none_or(|pending| pending.changes == *changes);
                require(same, || Reject::OtherChanges { task: task.clone(), set: *set })?;
                self.in_flight(key.apply())
            }
            Event::ChangesRebased { task, run: exec, set, .. } => {
                let key = set_key(task, exec, *set);
                let waits = run.changes.get(&key).is_some_and(|set| matches!(set.stage, SetStage::Gated(_)));
                if waits { Ok(()) } else { self.in_flight(key.apply()) }
            }
            Event::ChangesRejected { task, run, set, .. } => self.in_flight(set_key(task, run, *set).apply()),
            Event::ChangesRolledBack { task, run, set } => self.in_flight(set_key(task, run, *set).roll_back()),
            _ => Ok(()),
        }
    }

    fn task(self, slug: &Slug) -> Result<&'a TaskRun, Reject> {
        self.0.tasks.get(slug).ok_or_else(|| Reject::UnknownTask(slug.clone()))
    }

    fn in_flight(self, key: EffectKey) -> Checked {
        if self.0.flights.contains(&key) { Ok(()) } else { Err(Reject::NotInFlight(key)) }
    }

    /// The reply is about to be read, and its phase can give this.
    fn to_be_read(self, key: &CallKey, fits: bool) -> Checked {
        require(fits && self.0.is_to_be_read(key), || Reject::NotAwaited(key.clone()))
    }

    fn started(self, key: &EffectKey) -> Checked {
        let startable = !matches!(
            key,
            EffectKey::Read(_)
                | EffectKey::Check { .. }
                | EffectKey::Mount { .. }
                | EffectKey::Return { .. }
                | EffectKey::Merge { .. }
                | EffectKey::Evaluate { .. }
        );
        let flights = &self.0.flights;
        require(startable && !flights.contains(key), || Reject::NotStartable(key.clone()))?;
        let pending = flights.is_pending(key) || flights.is_blocked_on_budget(key);
        require(pending, || Reject::NotOutstanding(key.clone()))
    }

    fn retried(self, slug: &Slug, skills: &BTreeMap<String, SkillPolicy>) -> Checked {
        let task = self.task(slug)?;
        let again = task.state().is_problem() || task.state() == State::Dropped && task.is_own();
        require(again, || transition(slug, task.state(), State::Planned))?;
        check_applies(self.0, slug)?;
        let calls = failed_calls(self.0, slug, skills).unwrap_or_default();
        calls.iter().try_for_each(|call| self.0.operators.retried(call.op).map(|_| ()))
    }

    fn dropped(self, slug: &Slug) -> Checked {
        let task = self.task(slug)?;
        require(task.is_own(), || Reject::RunsTemplate)?;
        check_drop(task)
    }

    fn fails(self, slug: &Slug) -> Checked {
        let state = self.task(slug)?.state();
        require(state.may_become(State::Failed), || transition(slug, state, State::Failed))
    }

    /// A turn of a conversation: call ids are unique inside the task, and what answers a call was asked for before it.
    fn requests(self, key: &CallKey, calls: &[ToolCall], repeats: &BTreeMap<String, String>) -> Checked {
        let not_awaited = || Reject::NotAwaited(key.clone());
        let (Phase::Execute, Some(slug), Some(id)) = (key.phase, &key.task, &key.run) else {
            return Err(not_awaited());
        };
        let task = self.0.tasks.get(slug).ok_or_else(not_awaited)?;
        let run = task.run(id).filter(|run| run.is_loop).ok_or_else(not_awaited)?;
        for (index, call) in calls.iter().enumerate() {
            let earlier = calls.iter().take(index).any(|other| other.id == call.id);
            require(!earlier && run.call(&call.id).is_none(), || Reject::DuplicateCall(call.id.clone()))?;
        }
        for (id, of) in repeats {
            let before = calls.iter().take_while(|call| call.id != *id).any(|call| call.id == *of);
            let known = calls.iter().any(|call| call.id == *id) && (before || run.call(of).is_some());
            require(known, || Reject::UnknownCall { call: id.clone(), of: of.clone() })?;
        }
        self.to_be_read(key, true)
    }

    fn merged(self, slug: &Slug, n: u32) -> Checked {
        let task = Some(self.task(slug)?).filter(|task| task.is_executing());
        let merge = task.and_then(|task| task.merge.as_ref());
        let awaited = merge.is_some_and(|merge| merge.n == n && merge.by != MergeBy::Model);
        require(awaited, || Reject::NotInFlight(EffectKey::Merge { task: slug.clone(), n }))?;
        require(self.0.stage() == Stage::Pass, || Reject::Concluding)
    }

    fn reverts(self, slug: &Slug, set: u32) -> Checked {
        let task = self.0.tasks.get(slug);
        let applied = task.into_iter().flat_map(|task| &task.applied).any(|one| one.set == set && !one.reverted);
        require(applied, || Reject::UnknownSet { task: slug.clone(), set })
    }

    fn concludes(self, outcome: Outcome) -> Checked {
        let ends = self.0.stage() == Stage::Conclude(outcome) && !self.0.flights.has_applies();
        require(ends, || Reject::WrongOutcome(outcome))
    }

    /// Nobody can be asked.
    fn waits(self, outcome: Outcome) -> Checked {
        let run = self.0;
        let approval = Approval(run);
        let waits = match outcome {
            Outcome::ApprovalRequired => approval.open_gates().next().is_some(),
            Outcome::InputRequired => approval.questions().next().is_some() || run.sheet.held().is_some(),
            _ => false,
        };
        require(run.stage().is_working() && waits, || Reject::NotWaiting(outcome))
    }
}

fn set_key(task: &Slug, run: &ExecutionId, set: u32) -> SetKey {
    SetKey { task: task.clone(), run: run.clone(), set }
}
