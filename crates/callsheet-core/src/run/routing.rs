//! Routing (spec 2.3): which skill a request needs, or each task of a list that names none, before the list counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::{ExecutionId, Phase, Policy, Slug, Task, TaskList};
use crate::record::{Beside, CallKey};

use super::attempts::Attempts;

/// A list that waits for the skills of its tasks.
#[derive(Clone, Debug, PartialEq)]
struct Draft {
    /// The call that gave it.
    key: CallKey,
    list: TaskList,
    beside: Beside,
    /// The calls for the skills that are still to come, beside each other.
    open: BTreeMap<Slug, Attempts>,
    /// Milliseconds of the longest of those that are over.
    longest_ms: u64,
}

/// What routing has decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Routing {
    /// The request needs several tasks, or no skill was found for it as a whole.
    is_several: bool,
    /// Files that the request asks for, by their paths in it.
    writes: Vec<String>,
    draft: Option<Draft>,
}

impl Routing {
    /// Whether a routing call for the request as a whole comes before the call for the list of `phase`.
    pub fn is_due(&self, phase: Phase, plan: Policy) -> bool {
        phase == Phase::Plan && plan != Policy::Always && !self.is_several
    }

    /// The request asks for these files.
    pub fn ask_for(&mut self, writes: &[String]) {
        self.writes = writes.to_vec();
    }

    /// Files that the request asks for.
    pub fn writes(&self) -> &[String] {
        &self.writes
    }

    /// Each task of this list is to get a skill.
    pub fn draft(&mut self, key: &CallKey, (list, beside): (&TaskList, &Beside)) {
        let without = list.tasks().filter(|task| task.skill.is_none());
        let open = without.map(|task| (task.slug.clone(), Attempts::default())).collect();
        self.draft = Some(Draft { key: key.clone(), list: list.clone(), beside: beside.clone(), open, longest_ms: 0 });
    }

    /// The list that waits, with the skills that are known so far, and what stands beside its tasks.
    pub fn list(&self) -> Option<(&TaskList, &Beside)> {
        self.draft.as_ref().map(|draft| (&draft.list, &draft.beside))
    }

    /// The phase of the list that routing is for.
    pub fn phase(&self) -> Phase {
        self.draft.as_ref().map_or(Phase::Plan, |draft| draft.key.phase)
    }

    /// Tasks of the waiting list whose skills are still to come, in the order of the list, with the calls for them.
    pub fn open(&self) -> impl Iterator<Item = (&Task, &Attempts)> {
        let mut seen = BTreeSet::new();
        let tasks = self.draft.iter().flat_map(|draft| draft.list.tasks().map(move |task| (task, &draft.open)));
        let open = tasks.filter_map(|(task, open)| Some((task, open.get(&task.slug)?)));
        open.filter(move |(task, _)| task.skill.is_none() && seen.insert(&task.slug))
    }

    /// The call for the skill of a task.
    pub fn attempts(&self, task: &ExecutionId) -> Option<&Attempts> {
        self.draft.as_ref()?.open.get(&Slug::new(task.as_str()))
    }

    pub fn attempts_mut(&mut self, task: &ExecutionId) -> Option<&mut Attempts> {
        self.draft.as_mut()?.open.get_mut(&Slug::new(task.as_str()))
    }

    /// The skill of a task of the waiting list is known, or none was found. Without a list: the request goes to the planner.
    pub fn routed(&mut self, task: Option<&ExecutionId>, skill: Option<&str>) {
        let Some((draft, task)) = self.draft.as_mut().zip(task) else {
            self.is_several = true;
            return;
        };
        let Some((slug, attempts)) = draft.open.remove_entry(&Slug::new(task.as_str())) else { return };
        draft.longest_ms = draft.longest_ms.max(attempts.busy_ms);
        for task in draft.list.tasks_mut().filter(|task| task.skill.is_none() && task.slug == slug) {
            task.skill = skill.map(str::to_owned);
        }
    }

    /// A call for a skill holds a slot.
    pub fn is_admitted(&self) -> bool {
        self.draft.iter().flat_map(|draft| draft.open.values()).any(|attempts| attempts.admitted)
    }

    /// No call holds a slot any more.
    pub fn release(&mut self) {
        self.draft.iter_mut().flat_map(|draft| draft.open.values_mut()).for_each(|attempts| attempts.admitted = false);
    }

    /// Calls that could not be made begin again at a resume.
    pub fn renew(&mut self) {
        let all = self.draft.iter_mut().flat_map(|draft| draft.open.values_mut());
        all.for_each(|attempts| *attempts = attempts.renewed());
    }

    /// Milliseconds that the skills of the list took so far, with unlimited slots.
    pub fn longest_ms(&self) -> u64 {
        let ms = |draft: &Draft| draft.open.values().map(|open| open.busy_ms).fold(draft.longest_ms, u64::max);
        self.draft.as_ref().map_or(0, ms)
    }

    /// A list counts, or another one is asked for.
    pub fn forget_draft(&mut self) {
        self.draft = None;
    }

    /// Another request takes the place of this one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
