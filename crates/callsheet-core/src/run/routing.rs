//! Routing (spec 2.3): which skill a request needs, or each task of a list that names none, before the list counts.

use crate::record::CallKey;
use crate::spec::{Phase, Policy, Task, TaskList};

/// A list that waits for the skills of its tasks.
#[derive(Clone, Debug, PartialEq)]
struct Draft {
    /// The call that gave it.
    key: CallKey,
    list: TaskList,
    /// Tasks for which no skill was found.
    without: usize,
}

/// What routing has decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Routing {
    /// The request needs several tasks, or no skill was found for it as a whole.
    is_several: bool,
    draft: Option<Draft>,
}

impl Routing {
    /// Whether a routing call comes before a call for the list of `phase`, or completes the list that it gave.
    pub fn is_due(&self, phase: Phase, plan: Policy) -> bool {
        let waits = self.draft.as_ref().is_some_and(|draft| draft.key.phase == phase);
        waits || phase == Phase::Plan && plan != Policy::Always && !self.is_several
    }

    /// Each task of this list is to get a skill.
    pub fn draft(&mut self, key: &CallKey, list: &TaskList) {
        self.draft = Some(Draft { key: key.clone(), list: list.clone(), without: 0 });
    }

    /// The list that waits, with the skills that are known so far.
    pub fn list(&self) -> Option<&TaskList> {
        self.draft.as_ref().map(|draft| &draft.list)
    }

    /// The phase of the list that routing is for.
    pub fn phase(&self) -> Phase {
        self.draft.as_ref().map_or(Phase::Plan, |draft| draft.key.phase)
    }

    /// The task of the waiting list that gets the next skill.
    pub fn open_task(&self) -> Option<&Task> {
        let draft = self.draft.as_ref()?;
        draft.list.tasks().filter(|task| task.skill.is_none()).nth(draft.without)
    }

    /// The open task has its skill, or none was found. Without a list: the request goes to the planner.
    pub fn routed(&mut self, skill: Option<&str>) {
        let Some(draft) = &mut self.draft else {
            self.is_several = true;
            return;
        };
        let open = draft.list.tasks_mut().filter(|task| task.skill.is_none()).nth(draft.without);
        match (open, skill) {
            (Some(task), Some(skill)) => task.skill = Some(skill.to_owned()),
            _ => draft.without += 1,
        }
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
