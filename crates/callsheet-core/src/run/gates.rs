//! What persons were asked at gates and what they approved (spec 2.7, 11).

use std::collections::BTreeSet;

use crate::nouns::{ApprovalMode, Slug, ToolCall};
use crate::record::{Gate, GateKind};

use super::task::TaskRun;

/// The before-run gate and the approvals. The gates of calls and change sets are stored with the calls and change
/// sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gates {
    /// The last number that was given to a gate.
    last: u32,
    before_run: Option<Gate>,
    /// Whether a person approved every writer of this run (spec 11.5).
    approves_all: bool,
    /// The commands of processes that a person approved.
    approved_words: BTreeSet<String>,
    /// The calls that may not be repeated, were started and did not end, with their tasks. Nobody has approved their
    /// repetition.
    unended: Vec<(Slug, ToolCall)>,
}

impl Gates {
    /// The number for the next gate.
    pub fn next(&mut self) -> u32 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    pub fn before_run(&self) -> Option<&Gate> {
        self.before_run.as_ref()
    }

    pub fn ask_before_run(&mut self, writers: Vec<Slug>) {
        let n = self.next();
        self.before_run = Some(Gate { n, kind: GateKind::BeforeRun(writers) });
    }

    pub fn close_before_run(&mut self) {
        self.before_run = None;
    }

    pub fn approves_all(&self) -> bool {
        self.approves_all
    }

    pub fn set_approves_all(&mut self, approves_all: bool) {
        self.approves_all = approves_all;
    }

    /// Whether spec 2.7 lets the task run.
    pub fn is_approved(&self, task: &TaskRun, mode: ApprovalMode) -> bool {
        let asks = matches!(mode, ApprovalMode::Both | ApprovalMode::BeforeRun);
        task.writer.is_none() || !asks || task.approved || self.approves_all || asks_each(task)
    }

    /// Whether the changes and calls of the task wait for a person (spec 11.2). If only before-run gates are on, this
    /// includes tasks that no gate has shown, so that no change is made without a question.
    pub fn hold_acts_of(&self, task: &TaskRun, mode: ApprovalMode) -> bool {
        match mode {
            ApprovalMode::Both | ApprovalMode::BeforeApply => true,
            ApprovalMode::BeforeRun => {
                task.writer.is_none() || asks_each(task) || !(task.approved || self.approves_all)
            }
            ApprovalMode::Never => false,
        }
    }

    pub fn has_approved_words(&self, words: &str) -> bool {
        self.approved_words.contains(words)
    }

    pub fn approve_words(&mut self, words: String) {
        self.approved_words.insert(words);
    }

    /// Revokes an earlier approval of a process command, because a person denied it.
    pub fn refuse_words(&mut self, words: &str) {
        self.approved_words.remove(words);
    }

    /// Notes that a call of the task that may not be repeated was started and did not end.
    pub fn note_unended(&mut self, task: &Slug, call: ToolCall) {
        let is_known = self.unended.iter().any(|(of, other)| of == task && is_equal(&call, other));
        if !is_known {
            self.unended.push((task.clone(), call));
        }
    }

    /// The calls that did not end and whose repetition nobody has approved since, with their tasks.
    pub fn unended(&self) -> &[(Slug, ToolCall)] {
        &self.unended
    }

    /// Notes that a person approved the repetition of the calls for which `named` is true.
    pub fn agree_to_repeat(&mut self, named: impl Fn(&Slug, &ToolCall) -> bool) {
        self.unended.retain(|(task, call)| !named(task, call));
    }
}

/// Whether the task starts without a gate and each of its acts waits for an answer. A task that asks for approval
/// itself has its own gate.
fn asks_each(task: &TaskRun) -> bool {
    !task.task.approval && task.skill.as_ref().is_some_and(|skill| skill.asks_each)
}

/// Whether two calls would do the same.
pub(super) fn is_equal(one: &ToolCall, other: &ToolCall) -> bool {
    one.name == other.name && one.arguments == other.arguments
}

/// Whether the gate asks about a call or a change set of the task.
pub(super) fn gate_names(gate: &Gate, slug: &Slug) -> bool {
    match &gate.kind {
        GateKind::BeforeRun(_) => false,
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => task == slug,
    }
}
