//! Gates and their answers (spec 2.7, 11).

use std::collections::BTreeMap;

use crate::record::{Answer, ChangeSet, EffectKey, Gate, GateKind, Outcome, RefusedPart, Verdict};
use crate::spec::{ApprovalMode, ExecRunId, Slug, ToolEffect};

use super::steps::Advance;
use super::task::{SetKey, SetStage};
use super::{Reject, Run, State, TaskRun, ToolRun, ToolState, Work};

impl Run {
    /// Whether the task may run as far as spec 2.7 is concerned.
    /// What a task calls may run as long as that may.
    pub(super) fn is_approved(&self, task: &TaskRun) -> bool {
        let asks = matches!(self.settings.approval, ApprovalMode::Both | ApprovalMode::BeforeRun);
        let own = |task: &TaskRun| task.writer.is_none() || !asks || task.approved || self.writer_approval;
        let caller = task.below.as_ref().and_then(|caller| self.tasks.get(caller));
        own(task) && caller.is_none_or(own)
    }

    pub(super) fn unapproved_writers(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.tasks.writers(step).filter(|task| !task.state.is_ended() && !self.is_approved(task))
    }

    /// Opens the before-run gate of a step that has an unapproved writer, once all writers that can be refined are.
    /// The gate lists all pending writers (spec 2.7); without a step only those of templates that tasks at work call.
    pub(super) fn ask_before_run(&mut self, step: Option<usize>) -> Advance {
        let asks = match step {
            Some(step) => self.unapproved_writers(step).next().is_some(),
            None => true,
        };
        let listed: Vec<&TaskRun> = match step {
            Some(step) => self.writers_from(step).collect(),
            None => self.writers_from(0).filter(|task| self.is_called(task)).collect(),
        };
        if !asks || listed.is_empty() {
            self.before_run = None;
            return Advance::Waiting;
        }
        if let Some(Gate { kind: GateKind::BeforeRun(asked), .. }) = &self.before_run {
            let holds = asked.iter().all(|slug| listed.iter().any(|task| task.task.slug == *slug));
            if holds {
                return Advance::Waiting;
            }
        }
        if !listed.iter().all(|task| may_be_asked_about(task)) {
            self.before_run = None;
            return Advance::Waiting;
        }
        let slugs = listed.into_iter().map(TaskRun::slug).collect();
        let n = self.next_gate();
        self.before_run = Some(Gate { n, kind: GateKind::BeforeRun(slugs) });
        Advance::Waiting
    }

    /// Unapproved writers of a step and of those behind it: the before-run gate lists them together.
    fn writers_from(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        (step..self.steps().len()).flat_map(move |step| self.unapproved_writers(step))
    }

    /// Writers that the before-run gate of a step waits for: they are still to be refined.
    pub(super) fn gate_waits_for(&self, step: usize) -> impl Iterator<Item = &TaskRun> {
        self.writers_from(step).filter(|task| !may_be_asked_about(task))
    }

    pub(super) fn next_gate(&mut self) -> u32 {
        self.gates = self.gates.saturating_add(1);
        self.gates
    }

    /// Opens the before-call gates of calls whose turn it is (spec 11.4). True if one was opened.
    pub(super) fn open_call_gates(&mut self) -> bool {
        let mut closed = Vec::new();
        // What a template changes waits at gates of its own.
        let asks = |task: &TaskRun| {
            !task.calls_template() && (self.acts_behind_gates(task) || self.would_run_again(&task.task.slug))
        };
        for task in self.tasks.unsettled().filter(|task| task.is_executing() && asks(task)) {
            for run in task.runs.iter().filter(|run| !run.is_ended() && run.result.is_none()) {
                let calls = self.callable(run).into_iter();
                let gated = calls.filter(|call| call.state == ToolState::Queued && self.call_is_gated(&call.call.name));
                closed.extend(gated.map(|call| (task.slug(), run.id.clone(), call.call.id.clone())));
            }
        }
        let mut moved = false;
        for (slug, run, id) in closed {
            let key = EffectKey::Tool { task: slug.clone(), run: run.clone(), call: id.clone() };
            if self.in_flight.contains(&key) {
                continue;
            }
            let again = self.would_run_again(&slug);
            let agreed = self.argv_of(&slug, &run, &id).is_some_and(|argv| self.approved_argv.contains(&argv));
            let state = if agreed && !again { ToolState::Approved } else { ToolState::Gated(self.next_gate()) };
            if let Some(call) =
                self.tasks.get_mut(&slug).and_then(|task| task.run_mut(&run)).and_then(|run| run.call_mut(&id))
            {
                (call.state, call.again) = (state, again);
                moved = true;
            }
        }
        moved
    }

    /// A process of the same place in the tree was started, did not end, and nobody agreed since that it runs again.
    fn would_run_again(&self, task: &Slug) -> bool {
        self.unended.iter().any(|unended| self.operators.are_of_one_place(task, unended))
    }

    /// The other open gates before calls of the same tool by the same node of a template, in the order they were opened: with
    /// this one they are one question (spec "Templates" 8).
    pub fn equal_calls(&self, gate: &Gate) -> Vec<Gate> {
        let Some((tool, work)) = self.work_of_call(gate) else { return Vec::new() };
        let same = |other: &Gate| {
            self.work_of_call(other).is_some_and(|(name, other)| name == tool && work.is_the_same_as(other))
        };
        let mut equal: Vec<Gate> = self.open_gates().filter(|other| other != gate && same(other)).collect();
        equal.sort_by_key(|gate| gate.n);
        equal
    }

    fn work_of_call(&self, gate: &Gate) -> Option<(&str, Work<'_>)> {
        let GateKind::BeforeCall { task, run, call } = &gate.kind else { return None };
        let call = self.tasks.get(task)?.run(run)?.call(call).filter(|call| !call.again)?;
        let op = self.operators.of_leaf(task)?;
        Some((call.call.name.as_str(), self.operators.work(op)?))
    }

    /// The words of a process of a template, with the files that are written for it: an approval holds for the same ones in
    /// the whole run (spec "Templates" 8).
    fn argv_of(&self, task: &Slug, run: &ExecRunId, call: &str) -> Option<String> {
        let call = self.process_call(task, run, call).filter(|call| !call.again)?;
        Some(words_of(call)?.to_string())
    }

    fn process_call(&self, task: &Slug, run: &ExecRunId, call: &str) -> Option<&ToolRun> {
        self.tasks.get(task).filter(|task| task.is_process())?.run(run)?.call(call)
    }

    /// A person said yes or no to a call of a process. No takes back an earlier yes to the same words.
    fn note_verdict(&mut self, task: &Slug, run: &ExecRunId, call: &str, approved: bool) {
        if !approved {
            let words = self.process_call(task, run, call).and_then(words_of).map(ToString::to_string);
            if let Some(words) = words {
                self.approved_argv.remove(&words);
            }
            return;
        }
        self.approved_argv.extend(self.argv_of(task, run, call));
        let operators = &self.operators;
        self.unended.retain(|unended| !operators.are_of_one_place(task, unended));
    }

    /// A call whose tool does not only read, unless it only stages a change set, which has a gate of its own.
    fn call_is_gated(&self, tool: &str) -> bool {
        let policy = self.policy(tool);
        policy.effect != ToolEffect::Read && !policy.stages_changes()
    }

    /// Changes and calls of the task wait for a person (spec 11.2). With gates before the run only, what no gate
    /// has shown waits as well: a change is never made unasked.
    fn acts_behind_gates(&self, task: &TaskRun) -> bool {
        match self.settings.approval {
            ApprovalMode::Both | ApprovalMode::BeforeApply => true,
            ApprovalMode::BeforeRun => !(task.writer.is_some() && (task.approved || self.writer_approval)),
            ApprovalMode::Never => false,
        }
    }

    /// Where a new change set of the task begins.
    pub(super) fn first_stage(&mut self, slug: &Slug) -> SetStage {
        if self.tasks.get(slug).is_some_and(|task| self.acts_behind_gates(task)) {
            SetStage::Gated(self.next_gate())
        } else {
            SetStage::Approved
        }
    }

    pub(super) fn gate_answered(&mut self, gate: &Gate, answer: &Answer) -> Result<(), Reject> {
        if !self.stage.is_working() {
            return Err(Reject::Concluding);
        }
        if !self.open_gates().any(|open| open == *gate) {
            return Err(Reject::GateClosed(gate.clone()));
        }
        if *answer == Answer::Stop {
            self.close_asking(gate);
            return self.cancel();
        }
        match &gate.kind {
            GateKind::BeforeRun(_) if matches!(answer, Answer::Part { .. }) => {
                return Err(Reject::AnswerDoesNotFit(gate.clone()));
            }
            GateKind::BeforeRun(listed) => self.answer_before_run(listed, answer)?,
            GateKind::BeforeApply { task, run, set } => {
                let key = SetKey { task: task.clone(), run: run.clone(), set: *set };
                if let Answer::Part { kept, refused } = answer {
                    self.keep_part(gate, &key, kept, refused)?;
                } else {
                    match (single(gate, task, answer)?, self.sets.get_mut(&key)) {
                        (Ok(()), Some(set)) => set.stage = SetStage::Approved,
                        (Ok(()), None) => {}
                        (Err(words), _) => self.deny(task, &words)?,
                    }
                }
            }
            GateKind::BeforeCall { task, run, call } => {
                let verdict = single(gate, task, answer)?;
                self.note_verdict(task, run, call, verdict.is_ok());
                let open = self.tasks.get_mut(task).and_then(|task| task.run_mut(run));
                match (verdict, open.and_then(|run| run.call_mut(call))) {
                    (Ok(()), Some(call)) => (call.state, call.again) = (ToolState::Approved, false),
                    (Ok(()), None) => {}
                    (Err(words), _) => self.deny(task, &words)?,
                }
            }
        }
        self.in_flight.remove(&EffectKey::Gate(gate.clone()));
        self.agree();
        self.waiting = None;
        Ok(())
    }

    /// What asks for words of a process that a person approved meanwhile asks no more.
    fn agree(&mut self) {
        let agreed = |gate: &Gate| match &gate.kind {
            GateKind::BeforeCall { task, run, call } => {
                self.argv_of(task, run, call).is_some_and(|argv| self.approved_argv.contains(&argv))
            }
            _ => false,
        };
        let agreed: Vec<Gate> = self.open_gates().filter(agreed).collect();
        for gate in agreed {
            if let GateKind::BeforeCall { task, run, call } = &gate.kind
                && let Some(call) =
                    self.tasks.get_mut(task).and_then(|task| task.run_mut(run)).and_then(|run| run.call_mut(call))
            {
                call.state = ToolState::Approved;
            }
            self.in_flight.remove(&EffectKey::Gate(gate));
        }
    }

    /// What a person kept takes the place of the set, under its number (spec 11.4).
    fn keep_part(&mut self, gate: &Gate, key: &SetKey, kept: &ChangeSet, refused: &RefusedPart) -> Result<(), Reject> {
        if kept.files.is_empty() {
            return Err(Reject::AnswerDoesNotFit(gate.clone()));
        }
        if let Some(set) = self.sets.get_mut(key) {
            set.changes = kept.clone();
            set.refused = Some(refused.clone());
            set.stage = SetStage::Approved;
        }
        Ok(())
    }

    /// This asking is answered without a verdict: after a resume the gate asks under another number.
    fn close_asking(&mut self, gate: &Gate) {
        let n = self.next_gate();
        match &gate.kind {
            GateKind::BeforeRun(_) => self.before_run = None,
            GateKind::BeforeApply { task, run, set } => {
                let key = SetKey { task: task.clone(), run: run.clone(), set: *set };
                if let Some(set) = self.sets.get_mut(&key) {
                    set.stage = SetStage::Gated(n);
                }
            }
            GateKind::BeforeCall { task, run, call } => {
                let run = self.tasks.get_mut(task).and_then(|task| task.run_mut(run));
                if let Some(call) = run.and_then(|run| run.call_mut(call)) {
                    call.state = ToolState::Gated(n);
                }
            }
        }
        self.in_flight.remove(&EffectKey::Gate(gate.clone()));
    }

    fn answer_before_run(&mut self, listed: &[Slug], answer: &Answer) -> Result<(), Reject> {
        self.pass.asked = self.current_step();
        self.before_run = None;
        let empty = BTreeMap::new();
        let (verdicts, words, rest) = match answer {
            Answer::All | Answer::Listed | Answer::Stop => (&empty, "", Some(Verdict::Approve)),
            Answer::Part { .. } => (&empty, "", None),
            Answer::Deny { words } => (&empty, words.as_str(), Some(Verdict::Deny)),
            Answer::Each { verdicts, words } => (verdicts, words.as_str(), None),
        };
        self.writer_approval |= *answer == Answer::All;
        for slug in listed {
            match verdicts.get(slug).copied().or(rest) {
                Some(Verdict::Approve) => {
                    if let Some(task) = self.tasks.get_mut(slug) {
                        task.approved = true;
                    }
                }
                Some(Verdict::Deny) => self.deny(slug, words)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Spec 11.7: the task is not executed, its pending changes are discarded.
    fn deny(&mut self, slug: &Slug, words: &str) -> Result<(), Reject> {
        self.set_state(slug, State::Denied)?;
        if let Some(task) = self.tasks.get_mut(slug) {
            task.denial = Some(words.to_owned());
            task.problem_seen = false;
            task.problem_shown = false;
        }
        Ok(())
    }

    /// Nobody can be asked: gates and questions rest until an answer or a resume (spec 11.8).
    pub(super) fn wait_for_person(&mut self, outcome: Outcome) -> Result<(), Reject> {
        let waits = self.stage.is_working()
            && match outcome {
                Outcome::ApprovalRequired => self.open_gates().next().is_some(),
                Outcome::InputRequired => self.has_question(),
                _ => false,
            };
        if !waits {
            return Err(Reject::NotWaiting(outcome));
        }
        self.waiting = Some(outcome);
        self.in_flight.retain(|key| !matches!(key, EffectKey::Gate(_) | EffectKey::Question { .. }));
        Ok(())
    }

    fn has_question(&self) -> bool {
        self.open_questions().next().is_some()
    }
}

/// The words of a process, with all that an approval of it holds for.
fn words_of(call: &ToolRun) -> Option<&serde_json::Value> {
    call.call.arguments.get("binding").or_else(|| call.call.arguments.get("argv"))
}

/// Nothing but what it reads and a person comes before the writer runs.
fn may_be_asked_about(writer: &TaskRun) -> bool {
    match writer.state {
        State::Ready => true,
        State::Waiting => writer.check.is_none(),
        _ => false,
    }
}

/// The verdict of a gate that shows one thing: approved, or denied with words. `all` never answers it (spec 11.5).
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
