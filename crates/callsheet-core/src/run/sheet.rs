//! The parts of a run's sheet beside its tasks, and the recorded contents of `sheet.md`.

use std::collections::BTreeSet;

use crate::nouns::{BlobId, Goals, Slug};
use crate::record::AdoptedList;

/// The parts of the sheet beside its tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sheet {
    /// Whether a list was ever accepted.
    adopted: bool,
    goals: Goals,
    /// The former goals, oldest first.
    former_goals: Vec<Goals>,
    no_longer_relevant: Vec<String>,
    /// What each accepted reply said about its changes, oldest first.
    remarks: Vec<String>,
    /// The hashes of all rendered sheets (spec 2.18).
    rendered: BTreeSet<BlobId>,
    /// The tasks that a faulty edit changes or removes. `None` if there is no such edit.
    held: Option<BTreeSet<Slug>>,
    /// The last content that was written to the file or read from it, and the time.
    last: Option<(BlobId, u64)>,
}

impl Sheet {
    pub fn has_list(&self) -> bool {
        self.adopted
    }

    pub fn goals(&self) -> &Goals {
        &self.goals
    }

    pub fn former_goals(&self) -> &[Goals] {
        &self.former_goals
    }

    pub fn no_longer_relevant(&self) -> &[String] {
        &self.no_longer_relevant
    }

    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Notes that the run executes a task tree.
    pub fn adopt_tree(&mut self) {
        self.adopted = true;
    }

    /// Adopts a list. `by_host` means that code made the list.
    pub fn adopt(&mut self, list: &AdoptedList, by_host: bool) {
        let mut goals = list.goals.clone();
        if by_host && !goals.plan_continues {
            goals.plan_complete = true;
        }
        if self.adopted {
            self.former_goals.push(self.goals.clone());
        }
        if goals.text.trim().is_empty() {
            goals.text.clone_from(&self.goals.text);
        }
        self.goals = goals;
        self.adopted = true;
        if !list.beside.remarks.trim().is_empty() {
            self.remarks.push(list.beside.remarks.trim().to_owned());
        }
        if by_host {
            self.no_longer_relevant.clear();
        }
        self.mark_irrelevant(list);
    }

    /// Notes the tasks that a faulty edit touches. `None` if there is no such edit any more.
    pub fn hold(&mut self, tasks: Option<&BTreeSet<Slug>>) {
        self.held = tasks.cloned();
    }

    /// The tasks that a faulty edit changes or removes, which do not start. `None` if there is no such edit.
    pub fn held(&self) -> Option<&BTreeSet<Slug>> {
        self.held.as_ref()
    }

    /// Whether a faulty edit changes or removes a task.
    pub fn holds(&self, task: &Slug) -> bool {
        self.held.as_ref().is_some_and(|held| held.contains(task))
    }

    /// Adopts an edit by a person.
    pub fn edit(&mut self, list: &AdoptedList) {
        self.held = None;
        if list.goals != self.goals {
            let goals = Goals { text: list.goals.text.clone(), ..list.goals };
            self.former_goals.push(std::mem::replace(&mut self.goals, goals));
        }
        // The sheet shows every mark, so a person removes a mark by deleting it there.
        self.no_longer_relevant.clear();
        self.mark_irrelevant(list);
    }

    /// Adds links that the list marks as no longer relevant (spec 5.10). A reply only adds marks.
    fn mark_irrelevant(&mut self, list: &AdoptedList) {
        for link in &list.beside.no_longer_relevant {
            if !self.no_longer_relevant.contains(link) {
                self.no_longer_relevant.push(link.clone());
            }
        }
    }

    /// Notes that the file is about to be written with this content, or was read with it.
    pub fn note_file(&mut self, hash: &BlobId, at: u64) {
        self.rendered.insert(hash.clone());
        self.last = Some((hash.clone(), at));
    }

    pub fn has_rendered(&self, hash: &BlobId) -> bool {
        self.rendered.contains(hash)
    }

    pub fn has_rendered_any(&self) -> bool {
        !self.rendered.is_empty()
    }

    pub fn last_file(&self) -> Option<(&BlobId, u64)> {
        self.last.as_ref().map(|(hash, at)| (hash, *at))
    }
}
