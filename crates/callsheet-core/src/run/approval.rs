//! What a person must approve or answer: open gates, open questions, and what waits for them (spec 2.7, 11).

use crate::nouns::{ApprovalMode, ExecutionId, Slug, ToolCall, ToolEffect};
use crate::record::{EffectKey, Gate, GateKind};
use crate::template::operators::Work;

use super::Run;
use super::effect::Effect;
use super::execution::{ToolRun, ToolState};
use super::gates::is_equal;
use super::state::State;
use super::task::TaskRun;

/// Asks a run what a person is to approve or to answer.
#[derive(Clone, Copy)]
pub(super) struct Approval<'a>(pub &'a Run);

impl<'a> Approval<'a> {
    fn mode(self) -> ApprovalMode {
        self.0.settings().approval
    }

    /// Whether spec 2.7 lets the task run. A task that another task calls also needs the approval of its caller.
    pub fn has(self, task: &TaskRun) -> bool {
        let own = |task: &TaskRun| self.0.gates.is_approved(task, self.mode());
        let caller = task.below.as_ref().and_then(|caller| self.0.tasks.get(caller));
        own(task) && caller.is_none_or(own)
    }

    /// Whether the task is part of a template that a running task calls.
    pub fn is_called(self, task: &TaskRun) -> bool {
        let caller = task.below.as_ref().and_then(|caller| self.0.tasks.get(caller));
        caller.is_some_and(|caller| caller.is_executing() && self.has(caller))
    }

    /// Whether the changes and calls of the task wait for a person (spec 11.2).
    pub fn holds_acts_of(self, task: &TaskRun) -> bool {
        self.0.gates.hold_acts_of(task, self.mode())
    }

    pub fn unapproved_writers(self, step: usize) -> impl Iterator<Item = &'a TaskRun> {
        self.0.tasks.unapproved(step).filter(move |task| self.waits_for_approval(task))
    }

    /// The unapproved writers of a step and of all later steps. The before-run gate lists them together.
    pub fn writers_from(self, step: usize) -> impl Iterator<Item = &'a TaskRun> {
        self.0.tasks.unapproved_from(step).filter(move |task| self.waits_for_approval(task))
    }

    fn waits_for_approval(self, task: &TaskRun) -> bool {
        task.writer.is_some() && !task.state().is_ended() && !self.has(task)
    }

    /// The writers that must still be refined before the before-run gate of the step opens.
    pub fn gate_waits_for(self, step: usize) -> impl Iterator<Item = &'a TaskRun> {
        self.writers_from(step).filter(|task| !may_be_asked_about(task))
    }

    /// Whether calls of the tool need a gate. A tool that only reads needs none. A tool that only stages a change set
    /// needs none either, because the change set has its own gate.
    pub fn gates_tool(self, tool: &str) -> bool {
        let policy = self.0.policy(tool);
        policy.effect != ToolEffect::Read && !policy.stages_changes()
    }

    /// Whether a call of the tool needs an answer of its own, so that no other approval covers it.
    pub fn needs_own_answer(self, tool: &str) -> bool {
        self.0.policy(tool).unheld
    }

    /// The call that this one may repeat: one that was started and did not end, and whose repetition nobody has approved
    /// since. An equal call counts wherever it was made. Any call of the same task, or of one at the same place in the
    /// tree, counts too, because a task that begins again may ask for the same in other words.
    pub fn may_repeat(self, task: &Slug, call: &ToolCall) -> Option<&'a ToolCall> {
        let unended = self.0.gates.unended();
        let equal = unended.iter().find(|(_, other)| is_equal(call, other));
        let here = || unended.iter().find(|(of, _)| self.0.operators.are_of_one_place(task, of));
        equal.or_else(here).map(|(_, other)| other)
    }

    /// The command of a template's process, including the files that are written for it. An approval is valid for the
    /// same command in the whole run (spec "Templates" 8).
    pub fn words_of(self, task: &Slug, run: &ExecutionId, call: &str) -> Option<String> {
        let call = self.process_call(task, run, call)?;
        let arguments = &call.call.arguments;
        Some(arguments.get("binding").or_else(|| arguments.get("argv"))?.to_string())
    }

    /// Whether a person approved the command of a process and need not be asked whether it runs again.
    pub fn has_words_of(self, task: &Slug, run: &ExecutionId, call: &str) -> bool {
        let alone = |call: &ToolRun| call.asks_again() || self.needs_own_answer(&call.call.name);
        let alone = self.process_call(task, run, call).is_some_and(alone);
        !alone && self.words_of(task, run, call).is_some_and(|words| self.0.gates.has_approved_words(&words))
    }

    fn process_call(self, task: &Slug, run: &ExecutionId, call: &str) -> Option<&'a ToolRun> {
        self.0.tasks.get(task).filter(|task| task.is_process())?.run(run)?.call(call)
    }

    /// The calls of unfinished executions that may wait for a person.
    pub fn calls(self) -> impl Iterator<Item = (&'a Slug, &'a ExecutionId, &'a ToolRun)> {
        self.0.tasks.asking().filter(|task| task.is_executing()).flat_map(|task| {
            let runs = task.runs.iter().filter(|run| !run.is_ended());
            runs.flat_map(|run| run.calls.iter().map(|call| (&task.task.slug, &run.id, call)))
        })
    }

    /// Open gates, in no particular order.
    pub fn open_gates(self) -> impl Iterator<Item = Gate> {
        let calls = self.calls().filter_map(|(task, run, call)| match call.state {
            ToolState::Gated { gate, .. } => {
                let (task, run, call) = (task.clone(), run.clone(), call.call.id.clone());
                Some(Gate { n: gate, kind: GateKind::BeforeCall { task, run, call } })
            }
            _ => None,
        });
        self.0.gates.before_run().cloned().into_iter().chain(self.0.changes.open_gates()).chain(calls)
    }

    /// Open questions.
    pub fn questions(self) -> impl Iterator<Item = Effect> {
        self.calls().filter_map(|(task, run, call)| match &call.state {
            ToolState::Asking { question, midway } => Some(Effect::AskPerson {
                task: task.clone(),
                run: run.clone(),
                call: call.call.id.clone(),
                question: question.clone(),
                midway: *midway,
            }),
            _ => None,
        })
    }

    /// Whether this question is open and its call goes on with the answer.
    pub fn is_open_midway(self, key: &EffectKey) -> bool {
        self.questions().any(|asked| matches!(asked, Effect::AskPerson { midway: true, .. }) && asked.key() == *key)
    }

    pub fn is_open_question(self, key: &EffectKey) -> bool {
        self.questions().any(|question| question.key() == *key)
    }

    /// The open gates in the order in which they were opened, then the open questions. Includes those of a run that
    /// waits for an absent person.
    pub fn asking(self) -> Vec<Effect> {
        if !self.0.stage().is_working() {
            return Vec::new();
        }
        let mut gates: Vec<Gate> = self.open_gates().collect();
        gates.sort_by_key(|gate| gate.n);
        gates.into_iter().map(Effect::AskApproval).chain(self.questions()).collect()
    }

    /// The other open gates before calls of the same tool by the same template node, in the order in which they were
    /// opened.
    pub fn equal_calls(self, gate: &Gate) -> Vec<Gate> {
        let Some((tool, work)) = self.work_of_call(gate) else { return Vec::new() };
        let same = |other: &Gate| {
            self.work_of_call(other).is_some_and(|(name, other)| name == tool && work.is_the_same_as(other))
        };
        let mut equal: Vec<Gate> = self.open_gates().filter(|other| other != gate && same(other)).collect();
        equal.sort_by_key(|gate| gate.n);
        equal
    }

    fn work_of_call(self, gate: &Gate) -> Option<(&'a str, Work<'a>)> {
        let GateKind::BeforeCall { task, run, call } = &gate.kind else { return None };
        let call = self.0.tasks.get(task)?.run(run)?.call(call)?;
        if call.asks_again() || self.needs_own_answer(&call.call.name) {
            return None;
        }
        let operators = &self.0.operators;
        Some((call.call.name.as_str(), operators.work(operators.get(task)?)?))
    }
}

/// Whether the writer waits only for its inputs and for a person.
pub(super) fn may_be_asked_about(writer: &TaskRun) -> bool {
    match writer.state() {
        State::Ready => true,
        State::Waiting => !writer.is_being_checked(),
        _ => false,
    }
}
