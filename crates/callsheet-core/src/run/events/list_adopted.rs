//! The event `list_adopted`.

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::{AdoptedList, CallKey};
use crate::run::Run;
use crate::run::lists::{check_list, Lists};
use crate::nouns::BlobId;
use crate::units::counted;

use super::{blobs, Checked, Line, Recorded, Stale};

/// The origin of an adopted list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListOrigin {
    /// A plan or iteration reply.
    Reply(CallKey),
    /// A sheet file or a single skill, which code read.
    Host,
    /// An edited `sheet.md` of the run (spec 2.18), with the text as it was read. In an edited list, `unchanged` also
    /// marks problem tasks that did not change.
    Edit(BlobId),
}

/// A list was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListAdopted {
    /// Its origin.
    pub origin: ListOrigin,
    /// The list, with all names and slugs, matched with the outstanding tasks.
    pub list: AdoptedList,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// Warnings.
    pub issues: Vec<Issue>,
}

impl Recorded for ListAdopted {
    fn needs_list(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Checked {
        check_list(run, &self.origin, &self.list)
    }

    fn apply(&self, run: &mut Run, at: u64) {
        Lists(run).adopted(&self.origin, &self.list, (&self.repairs, &self.issues), at);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        let edit = if let ListOrigin::Edit(text) = &self.origin { Some(text) } else { None };
        edit.into_iter().chain(blobs::of_skills(self.list.skills.values())).collect()
    }

    fn stale(&self) -> Stale<'_> {
        Stale::SHEET
    }

    fn line(&self, _run: &Run) -> Option<Line> {
        Some(Line::new(list_words(&self.list)))
    }
}

/// The words for the contents of an accepted list: `list: 2 steps, 3 tasks, 1 removed`.
pub fn list_words(list: &AdoptedList) -> String {
    let steps = list.steps.iter().filter(|step| !step.is_empty()).count();
    let tasks: usize = list.steps.iter().map(Vec::len).sum();
    let removed = list.beside.removed.len();
    if tasks == 0 && removed == 0 {
        return "list: nothing changes".to_owned();
    }
    let removed = if removed > 0 { format!(", {removed} removed") } else { String::new() };
    format!("list: {}, {}{removed}", counted(steps, "step"), counted(tasks, "task"))
}
