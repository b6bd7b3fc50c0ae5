//! Routing (spec 2.3): chooses a skill for the request, or for each task of a list that names none, before the list
//! is adopted.

use std::collections::{BTreeMap, BTreeSet};

use crate::nouns::{ExecutionId, Phase, Policy, Slug, Task, TaskList};
use crate::record::{Beside, CallKey};

use super::attempts::Attempts;

/// A list whose tasks still need skills.
#[derive(Clone, Debug, PartialEq)]
struct Draft {
    /// The call that gave the list.
    key: CallKey,
    list: TaskList,
    beside: Beside,
    /// The concurrent calls for the missing skills.
    open: BTreeMap<Slug, Attempts>,
    /// The duration in milliseconds of the longest call that has ended.
    longest_ms: u64,
}

/// The decisions of routing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Routing {
    /// Whether the request needs several tasks, or no single skill was found for it.
    is_several: bool,
    /// The files that the request asks for, by their paths in the request.
    writes: Vec<String>,
    draft: Option<Draft>,
}

impl Routing {
    /// Whether a routing call for the whole request must precede the call for the list of `phase`.
    pub fn is_due(&self, phase: Phase, plan: Policy) -> bool {
        phase == Phase::Plan && plan != Policy::Always && !self.is_several
    }

    /// Notes the files that the request asks for.
    pub fn ask_for(&mut self, writes: &[String]) {
        self.writes = writes.to_vec();
    }

    /// The files that the request asks for.
    pub fn writes(&self) -> &[String] {
        &self.writes
    }

    /// Notes a list whose tasks need skills.
    pub fn draft(&mut self, key: &CallKey, (list, beside): (&TaskList, &Beside)) {
        let without = list.tasks().filter(|task| task.skill.is_none());
        let open = without.map(|task| (task.slug.clone(), Attempts::default())).collect();
        self.draft = Some(Draft { key: key.clone(), list: list.clone(), beside: beside.clone(), open, longest_ms: 0 });
    }

    /// The waiting list with the skills chosen so far, and the parts of the reply beside its tasks.
    pub fn list(&self) -> Option<(&TaskList, &Beside)> {
        self.draft.as_ref().map(|draft| (&draft.list, &draft.beside))
    }

    /// The phase that makes the list.
    pub fn phase(&self) -> Phase {
        self.draft.as_ref().map_or(Phase::Plan, |draft| draft.key.phase)
    }

    /// The tasks of the waiting list without skills, in the order of the list, with the calls for them.
    pub fn open(&self) -> impl Iterator<Item = (&Task, &Attempts)> {
        let mut seen = BTreeSet::new();
        let tasks = self.draft.iter().flat_map(|draft| draft.list.tasks().map(move |task| (task, &draft.open)));
        let open = tasks.filter_map(|(task, open)| Some((task, open.get(&task.slug)?)));
        open.filter(move |(task, _)| task.skill.is_none() && seen.insert(&task.slug))
    }

    /// The attempts at the skill of a task.
    pub fn attempts(&self, task: &ExecutionId) -> Option<&Attempts> {
        self.draft.as_ref()?.open.get(&Slug::new(task.as_str()))
    }

    pub fn attempts_mut(&mut self, task: &ExecutionId) -> Option<&mut Attempts> {
        self.draft.as_mut()?.open.get_mut(&Slug::new(task.as_str()))
    }

    /// Notes the skill of a task of the waiting list, or that none was found. Without a list, the request goes to the
    /// planner.
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

    /// Whether a call for a skill has a slot.
    pub fn is_admitted(&self) -> bool {
        self.draft.iter().flat_map(|draft| draft.open.values()).any(|attempts| attempts.admitted)
    }

    /// Frees the slots of all calls.
    pub fn release(&mut self) {
        self.draft.iter_mut().flat_map(|draft| draft.open.values_mut()).for_each(|attempts| attempts.admitted = false);
    }

    /// Gives new attempts to calls that failed, for a resume.
    pub fn renew(&mut self) {
        let all = self.draft.iter_mut().flat_map(|draft| draft.open.values_mut());
        all.for_each(|attempts| *attempts = attempts.renewed());
    }

    /// The duration so far, in milliseconds, of choosing the skills of the list with unlimited slots.
    pub fn longest_ms(&self) -> u64 {
        let ms = |draft: &Draft| draft.open.values().map(|open| open.busy_ms).fold(draft.longest_ms, u64::max);
        self.draft.as_ref().map_or(0, ms)
    }

    /// Drops the draft, because a list is adopted or another one is requested.
    pub fn forget_draft(&mut self) {
        self.draft = None;
    }

    /// Forgets everything, because another request replaces this one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
