//! Answers at gates (spec 11.5, 11.7, 11.8), and gates that open while the run works.

use std::collections::BTreeMap;

use crate::nouns::{ExecutionId, Slug};
use crate::record::{Answer, EffectKey, Gate, GateKind, Outcome, Verdict};

use super::Run;
use super::approval::{Approval, may_be_asked_about};
use super::changes::SetKey;
use super::execution::ToolState;
use super::gates::is_equal;
use super::next_stage::NextStage;
use super::reject::Reject;
use super::task::TaskRun;
use super::task_change::TaskChange;
use super::units::Units;

/// Opens gates and applies the answers of persons.
pub(super) struct Answers<'a>(pub &'a mut Run);

impl Answers<'_> {
    /// Opens the before-run gate of a step that has unapproved writers, as soon as all writers that can be refined
    /// are refined. The gate lists all pending writers (spec 2.7). Without a step, it lists only writers of templates
    /// that running tasks call.
    pub fn ask_before_run(&mut self, step: Option<usize>) {
        let approval = Approval(self.0);
        if step.is_some_and(|step| approval.unapproved_writers(step).next().is_none()) {
            return self.0.gates.close_before_run();
        }
        let writers = approval.writers_from(step.unwrap_or(0));
        let listed: Vec<&TaskRun> = writers.filter(|task| step.is_some() || approval.is_called(task)).collect();
        if listed.is_empty() {
            return self.0.gates.close_before_run();
        }
        if let Some(Gate { kind: GateKind::BeforeRun(asked), .. }) = self.0.gates.before_run()
            && asked.iter().all(|slug| listed.iter().any(|task| task.task.slug == *slug))
        {
            return;
        }
        if !listed.iter().all(|task| may_be_asked_about(task)) {
            return self.0.gates.close_before_run();
        }
        let writers = listed.into_iter().map(TaskRun::slug).collect();
        self.0.gates.ask_before_run(writers);
    }

    /// Opens the before-call gates of calls that are next (spec 11.4). Returns whether a gate was opened.
    pub fn ask_before_calls(&mut self) -> bool {
        let (approval, units) = (Approval(self.0), Units(self.0));
        // The changes of a template have gates of their own.
        let alone = !self.0.gates.unended().is_empty() || self.0.setup.has_unheld_tools();
        let asks = |task: &TaskRun| (alone || approval.holds_acts_of(task)) && !task.calls_template();
        let mut closed = Vec::new();
        for task in self.0.tasks.unsettled().filter(|task| task.is_executing() && asks(task)) {
            let held = approval.holds_acts_of(task);
            for run in task.runs.iter().filter(|run| !run.is_ended() && run.result().is_none()) {
                for call in units.callable(run) {
                    let again = approval.may_repeat(&task.task.slug, &call.call).is_some();
                    let alone = approval.needs_own_answer(&call.call.name);
                    let waits = (held || again || alone) && call.state == ToolState::Queued;
                    if waits && approval.gates_tool(&call.call.name) {
                        closed.push((task.slug(), run.id.clone(), call.call.id.clone(), again));
                    }
                }
            }
        }
        let mut moved = false;
        for (slug, run, id, again) in closed {
            let key = EffectKey::Tool { task: slug.clone(), run: run.clone(), call: id.clone() };
            if self.0.in_flight.contains(&key) {
                continue;
            }
            let agreed = !again && Approval(self.0).has_words_of(&slug, &run, &id);
            let state =
                if agreed { ToolState::Approved } else { ToolState::Gated { gate: self.0.gates.next(), again } };
            if let Some(call) = self.0.tool_mut(&slug, &run, &id) {
                call.state = state;
                moved = true;
            }
        }
        moved
    }

    /// Applies a person's answer, which was checked before.
    pub fn answered(&mut self, gate: &Gate, answer: &Answer) {
        if *answer == Answer::Stop {
            self.close_asking(gate);
            return NextStage(self.0).cancel();
        }
        match &gate.kind {
            GateKind::BeforeRun(listed) => self.answered_before_run(listed, answer),
            GateKind::BeforeApply { task, run, set } => {
                let key = SetKey { task: task.clone(), run: run.clone(), set: *set };
                match (answer, single(gate, task, answer)) {
                    (Answer::Part { kept, refused }, _) => self.0.changes.keep_part(&key, kept, refused),
                    (_, Ok(Ok(()))) => self.0.changes.approve(&key),
                    (_, Ok(Err(words))) => TaskChange(self.0).deny(task, &words),
                    (_, Err(_)) => {}
                }
            }
            GateKind::BeforeCall { task, run, call } => {
                let Ok(verdict) = single(gate, task, answer) else { return };
                self.note_verdict(task, run, call, verdict.is_ok());
                match (verdict, self.0.tool_mut(task, run, call)) {
                    (Ok(()), Some(call)) => call.state = ToolState::Approved,
                    (Ok(()), None) => {}
                    (Err(words), _) => TaskChange(self.0).deny(task, &words),
                }
            }
        }
        self.0.in_flight.end(&EffectKey::Gate(gate.clone()));
        self.agree();
        self.0.progress.stop_waiting();
    }

    /// Notes whether a person approved a call of a process. A denial revokes an earlier approval of the same command.
    /// An approval of a repeated call is valid for that call only.
    fn note_verdict(&mut self, task: &Slug, run: &ExecutionId, call: &str, approved: bool) {
        let words = Approval(self.0).words_of(task, run, call);
        if !approved {
            return words.iter().for_each(|words| self.0.gates.refuse_words(words));
        }
        let is_process = self.0.tasks.get(task).is_some_and(TaskRun::is_process);
        let Some(call) = self.0.tool_mut(task, run, call) else { return };
        let (asks_again, call) = (call.asks_again(), call.call.clone());
        let Run { gates, operators, .. } = &mut *self.0;
        if let Some(words) = words.filter(|_| !asks_again) {
            gates.approve_words(words);
        }
        let here = |of: &Slug| operators.are_of_one_place(task, of);
        let is_here = gates.unended().iter().any(|(of, unended)| here(of) && is_equal(&call, unended));
        // A process makes one call, so its approval is about the one that did not end, also in other words.
        gates.agree_to_repeat(|of, unended| {
            is_process && here(of) || is_equal(&call, unended) && (here(of) || !is_here)
        });
    }

    /// Approves the calls that wait at a gate although a person has approved their command meanwhile.
    fn agree(&mut self) {
        let approval = Approval(self.0);
        let agreed = |gate: &Gate| match &gate.kind {
            GateKind::BeforeCall { task, run, call } => approval.has_words_of(task, run, call),
            _ => false,
        };
        let agreed: Vec<Gate> = approval.open_gates().filter(agreed).collect();
        for gate in agreed {
            if let GateKind::BeforeCall { task, run, call } = &gate.kind
                && let Some(call) = self.0.tool_mut(task, run, call)
            {
                call.state = ToolState::Approved;
            }
            self.0.in_flight.end(&EffectKey::Gate(gate));
        }
    }

    /// Closes the gate without a verdict. It opens again under another number after a resume.
    fn close_asking(&mut self, gate: &Gate) {
        let n = self.0.gates.next();
        match &gate.kind {
            GateKind::BeforeRun(_) => self.0.gates.close_before_run(),
            GateKind::BeforeApply { task, run, set } => {
                let key = SetKey { task: task.clone(), run: run.clone(), set: *set };
                self.0.changes.gate(&key, n);
            }
            GateKind::BeforeCall { task, run, call } => {
                if let Some(ToolState::Gated { gate, .. }) =
                    self.0.tool_mut(task, run, call).map(|call| &mut call.state)
                {
                    *gate = n;
                }
            }
        }
        self.0.in_flight.end(&EffectKey::Gate(gate.clone()));
    }

    fn answered_before_run(&mut self, listed: &[Slug], answer: &Answer) {
        let run = &mut *self.0;
        let step = run.tasks.current_step();
        run.progress.rounds_mut().note_answer(step);
        run.gates.close_before_run();
        let empty = BTreeMap::new();
        let (verdicts, words, rest) = match answer {
            Answer::All | Answer::Listed | Answer::Stop => (&empty, "", Some(Verdict::Approve)),
            Answer::Part { .. } => (&empty, "", None),
            Answer::Deny { words } => (&empty, words.as_str(), Some(Verdict::Deny)),
            Answer::Each { verdicts, words } => (verdicts, words.as_str(), None),
        };
        if *answer == Answer::All {
            run.gates.set_approves_all(true);
        }
        for slug in listed {
            match verdicts.get(slug).copied().or(rest) {
                Some(Verdict::Approve) => run.tasks.get_mut(slug).into_iter().for_each(|task| task.approved = true),
                Some(Verdict::Deny) => TaskChange(run).deny(slug, words),
                None => {}
            }
        }
    }

    /// Lets gates and questions rest until an answer or a resume, because nobody can be asked (spec 11.8).
    pub fn wait_for_person(&mut self, outcome: Outcome) {
        self.0.progress.wait(outcome);
        // Gates and questions at rest reserve nothing.
        let _ = self.0.in_flight.abort(|key| matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. }));
    }
}

/// Checks that the gate can take the answer (spec 11.5).
pub(super) fn check_answer(gate: &Gate, answer: &Answer) -> Result<(), Reject> {
    let does_not_fit = || Err(Reject::AnswerDoesNotFit(gate.clone()));
    match (&gate.kind, answer) {
        (_, Answer::Stop) => Ok(()),
        (GateKind::BeforeRun(_), Answer::Part { .. }) => does_not_fit(),
        (GateKind::BeforeRun(_), _) => Ok(()),
        (GateKind::BeforeApply { .. }, Answer::Part { kept, .. }) if kept.files.is_empty() => does_not_fit(),
        (GateKind::BeforeApply { .. }, Answer::Part { .. }) => Ok(()),
        (GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. }, _) => {
            single(gate, task, answer).map(|_| ())
        }
    }
}

/// Reads the verdict for a gate that shows one thing: approved, or denied with words. `all` never answers such a gate
/// (spec 11.5).
fn single(gate: &Gate, task: &Slug, answer: &Answer) -> Result<Result<(), String>, Reject> {
    match answer {
        Answer::Listed => Ok(Ok(())),
        Answer::Deny { words } => Ok(Err(words.clone())),
        Answer::Each { verdicts, words } => match verdicts.get(task) {
            Some(Verdict::Approve) => Ok(Ok(())),
            Some(Verdict::Deny) => Ok(Err(words.clone())),
            None => Err(Reject::AnswerDoesNotFit(gate.clone())),
        },
        Answer::All | Answer::Stop | Answer::Part { .. } => Err(Reject::AnswerDoesNotFit(gate.clone())),
    }
}
