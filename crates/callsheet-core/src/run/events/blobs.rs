//! Stored texts that parts of events refer to.

use crate::nouns::{BlobId, SkillPolicy};
use crate::record::{ChangeSet, Plan, ResultParts, Step};

pub(super) fn of_skills<'a>(skills: impl Iterator<Item = &'a SkillPolicy>) -> Vec<&'a BlobId> {
    skills.filter_map(|skill| skill.hash.as_ref()).collect()
}

pub(super) fn of_changes(changes: &ChangeSet) -> Vec<&BlobId> {
    let contents = changes.files.iter().flat_map(|file| [&file.before, &file.after]);
    contents.chain([&changes.diff]).flatten().collect()
}

pub(super) fn of_result(result: &ResultParts) -> Vec<&BlobId> {
    let details = result.details.iter().map(|file| &file.blob);
    let changes = result.changes.iter().flat_map(of_changes);
    result.document.iter().chain(details).chain(changes).collect()
}

pub(super) fn of_step(step: &Step) -> Vec<&BlobId> {
    match step {
        Step::Seeks { request } => vec![request],
        Step::Opened(opened) => {
            let task = if let Plan::Handler(handler) = &opened.plan { Some(&handler.task) } else { None };
            opened.names.iter().chain(task).collect()
        }
        Step::Again { result, issues } => [result].into_iter().chain(issues).collect(),
        Step::Reparse { result, .. } => vec![result],
        Step::Closed(closed) => [&closed.result].into_iter().chain(&closed.response).collect(),
        Step::Matches | Step::GoesOn | Step::Regrown { .. } => Vec::new(),
    }
}
