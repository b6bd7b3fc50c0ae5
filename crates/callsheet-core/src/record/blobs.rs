//! Which stored texts a fact needs. Hashes of what is not stored, such as that of a rendered sheet, are not among them.

use crate::spec::{BlobId, SkillPolicy};

use super::{Answer, ChangeSet, Event, ListOrigin, Plan, ResultParts, Retrieval, Step, ToolRecord};

impl Event {
    /// The blobs that it names.
    pub fn blobs(&self) -> Vec<&BlobId> {
        match self {
            Self::TaskRetried { skills, .. } => of_skills(skills.values()),
            Self::ListAdopted { origin, list, .. } => {
                let edit = if let ListOrigin::Edit(text) = origin { Some(text) } else { None };
                edit.into_iter().chain(of_skills(list.skills.values())).collect()
            }
            Self::ReplyReceived { prompt, reply, .. } => vec![prompt, reply],
            Self::RunFinished { result, .. } | Self::RunsMerged { result, .. } => of_result(result),
            Self::CallReturned { result, .. } => of_result(result),
            Self::CallsAsked { stuck, .. } => stuck.values().collect(),
            Self::ToolFinished { record: ToolRecord::Output { blob, .. }, .. } => vec![blob],
            Self::ToolFinished { record: ToolRecord::Changes(changes), .. } => of_changes(changes),
            Self::QuestionAnswered { output, .. } => vec![output],
            Self::GateAnswered { answer: Answer::Part { kept, refused }, .. } => {
                of_changes(kept).into_iter().chain([&refused.diff]).collect()
            }
            Self::ChangesChecked { check, .. } => vec![&check.output],
            Self::ChangesApplied { changes, .. } | Self::ChangesRebased { changes, .. } => of_changes(changes),
            Self::Evaluated { step, .. } => of_step(step),
            Self::ContextRetrieved { retrieval: Retrieval::Found(found), .. } => vec![found],
            Self::ContextRetrieved { retrieval: Retrieval::Failed { partial, .. }, .. } => vec![partial],
            Self::RunConcluded { report, .. } => vec![report],
            _ => Vec::new(),
        }
    }
}

fn of_skills<'a>(skills: impl Iterator<Item = &'a SkillPolicy>) -> Vec<&'a BlobId> {
    skills.filter_map(|skill| skill.hash.as_ref()).collect()
}

fn of_changes(changes: &ChangeSet) -> Vec<&BlobId> {
    let contents = changes.files.iter().flat_map(|file| [&file.before, &file.after]);
    contents.chain([&changes.diff]).flatten().collect()
}

fn of_result(result: &ResultParts) -> Vec<&BlobId> {
    let details = result.details.iter().map(|file| &file.blob);
    let changes = result.changes.iter().flat_map(of_changes);
    result.document.iter().chain(details).chain(changes).collect()
}

fn of_step(step: &Step) -> Vec<&BlobId> {
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
