//! Model calls: the records of calls that gave a reply, the call numbers, the attempts at lists, and the minimum
//! number of calls.

use std::collections::BTreeMap;

use crate::issue::{Issue, Repair};
use crate::nouns::{BlobId, ExecutionId, Phase, Slug};
use crate::record::CallKey;

use super::attempts::Attempts;
use super::totals::CallRecord;

/// Whether a call may reuse the reply of an earlier call with exactly the same request (spec 2.18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallReuse {
    /// It may if the run was started to reuse the calls of another run.
    #[default]
    AsRun,
    /// It may, because the task only comes back with another one that a person had repeated.
    Allowed,
    /// It may not, because a person had the task itself repeated.
    Forbidden,
}

/// The model calls of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Calls {
    /// The records, in the order of their replies.
    records: Vec<CallRecord>,
    /// Positions in `records` by key.
    index: BTreeMap<CallKey, usize>,
    /// Positions in `records` of the calls of each task.
    of_task: BTreeMap<Slug, Vec<usize>>,
    /// The last call number of each phase, task and execution.
    numbers: BTreeMap<(Phase, Option<Slug>, Option<ExecutionId>), u32>,
    route: Attempts,
    plan: Attempts,
    iterate: Attempts,
    follow: Attempts,
    join: Attempts,
    /// The smallest number of calls that the run so far needed (spec 2.14).
    minimum: u32,
    /// Repairs by code (spec 4.3).
    repairs: BTreeMap<String, u32>,
    /// The number of finished tool calls.
    tools: u32,
    /// How many of the first records may be reused.
    offered: usize,
}

impl Calls {
    pub fn records(&self) -> &[CallRecord] {
        &self.records
    }

    /// Allows calls to reuse the replies so far, because a person had something done again.
    pub fn offer(&mut self) {
        self.offered = self.records.len();
    }

    /// The records whose replies calls of this run may reuse, oldest first.
    pub fn offered(&self) -> &[CallRecord] {
        self.records.get(..self.offered).unwrap_or_default()
    }

    pub fn get(&self, key: &CallKey) -> Option<&CallRecord> {
        self.records.get(*self.index.get(key)?)
    }

    /// The records of one task, by the slug that the task had then.
    pub fn of_task(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        let places = self.of_task.get(task).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.records.get(*place))
    }

    /// Adds the record of a call that gave a reply, under the next number.
    pub fn add(&mut self, record: CallRecord) {
        let place = self.records.len();
        self.index.insert(record.key.clone(), place);
        if let Some(task) = &record.key.task {
            self.of_task.entry(task.clone()).or_default().push(place);
        }
        let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
        self.records.push(CallRecord { number, ..record });
    }

    /// Notes the result of reading a reply. Returns the reply.
    pub fn note_reading(
        &mut self,
        key: &CallKey,
        accepted: bool,
        repairs: &[Repair],
        issues: &[Issue],
    ) -> Option<BlobId> {
        for repair in repairs {
            *self.repairs.entry(repair.code.as_str().to_owned()).or_insert(0) += 1;
        }
        let record = self.index.get(key).and_then(|place| self.records.get_mut(*place))?;
        record.accepted = Some(accepted);
        record.repairs = repairs.to_vec();
        record.issues = issues.to_vec();
        Some(record.reply.clone())
    }

    /// Notes that the changes in the last reply of an execution could not be applied. Returns the reply.
    pub fn note_rejection(&mut self, task: &Slug, run: &ExecutionId, issues: &[Issue]) -> Option<BlobId> {
        // The reply of a review contains no changes.
        let of_run = |record: &&mut CallRecord| {
            let call = &record.key;
            call.phase != Phase::Review && call.task.as_ref() == Some(task) && call.run.as_ref() == Some(run)
        };
        let record = self.records.iter_mut().rev().find(of_run)?;
        record.rejected = issues.to_vec();
        Some(record.reply.clone())
    }

    /// The number of the last call of a phase, task and execution. 0 if there was none.
    pub fn last_number(&self, phase: Phase, task: Option<&Slug>, run: Option<&ExecutionId>) -> u32 {
        self.numbers.get(&(phase, task.cloned(), run.cloned())).copied().unwrap_or(0)
    }

    pub fn note_started(&mut self, key: &CallKey) {
        self.numbers.insert((key.phase, key.task.clone(), key.run.clone()), key.n);
    }

    pub fn repairs(&self) -> &BTreeMap<String, u32> {
        &self.repairs
    }

    pub fn tools(&self) -> u32 {
        self.tools
    }

    /// Counts a finished tool call.
    pub fn note_tool(&mut self) {
        self.tools = self.tools.saturating_add(1);
    }

    pub fn minimum(&self) -> u32 {
        self.minimum
    }

    /// Counts one more necessary call.
    pub fn need_one(&mut self) {
        self.minimum = self.minimum.saturating_add(1);
    }

    /// Counts one necessary call less, because the call was never sent.
    pub fn need_one_less(&mut self) {
        self.minimum = self.minimum.saturating_sub(1);
    }

    /// The attempts of a phase without a task: a phase that makes a list, or the answer. `None` if the phase belongs
    /// to tasks.
    pub fn list(&self, phase: Phase) -> Option<&Attempts> {
        match phase {
            Phase::Route => Some(&self.route),
            Phase::Plan => Some(&self.plan),
            Phase::Iterate => Some(&self.iterate),
            Phase::Continue => Some(&self.follow),
            Phase::Join => Some(&self.join),
            _ => None,
        }
    }

    pub fn list_mut(&mut self, phase: Phase) -> Option<&mut Attempts> {
        match phase {
            Phase::Route => Some(&mut self.route),
            Phase::Plan => Some(&mut self.plan),
            Phase::Iterate => Some(&mut self.iterate),
            Phase::Continue => Some(&mut self.follow),
            Phase::Join => Some(&mut self.join),
            _ => None,
        }
    }

    /// Starts the phase again. The time of the former attempts still counts.
    pub fn restart_list(&mut self, phase: Phase) {
        if let Some(attempts) = self.list_mut(phase) {
            *attempts = Attempts { busy_ms: attempts.busy_ms, ..Attempts::default() };
        }
    }

    /// Gives the phase new attempts for a resume.
    pub fn renew_list(&mut self, phase: Phase) {
        if let Some(attempts) = self.list_mut(phase) {
            *attempts = attempts.renewed();
        }
    }

    /// Forgets all attempts of the phase.
    pub fn forget_list(&mut self, phase: Phase) {
        if let Some(attempts) = self.list_mut(phase) {
            *attempts = Attempts::default();
        }
    }

    /// Whether a call for a list or for the answer has a slot.
    pub fn asks_for_list(&self) -> bool {
        [&self.route, &self.plan, &self.iterate, &self.follow, &self.join].iter().any(|attempts| attempts.admitted)
    }

    /// Frees the slots of calls for lists.
    pub fn release_lists(&mut self) {
        self.lists_mut().for_each(|attempts| attempts.admitted = false);
    }

    /// Ends all calls for lists, because a list was accepted.
    pub fn close_lists(&mut self) {
        for attempts in self.lists_mut() {
            attempts.close();
            attempts.busy_ms = 0;
        }
    }

    fn lists_mut(&mut self) -> impl Iterator<Item = &mut Attempts> {
        [&mut self.route, &mut self.plan, &mut self.iterate, &mut self.follow, &mut self.join].into_iter()
    }

    /// Milliseconds spent so far on calls for the next list and for the answer.
    pub fn list_ms(&self) -> u64 {
        [&self.route, &self.plan, &self.iterate, &self.follow, &self.join]
            .into_iter()
            .fold(0, |sum, attempts| sum.saturating_add(attempts.busy_ms))
    }
}
