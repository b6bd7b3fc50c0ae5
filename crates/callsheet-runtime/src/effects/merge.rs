//! Merging the finished runs of a task by code (spec 3.12).

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{Slug, tokens};
use callsheet_core::prompt::Note;
use callsheet_core::record::ResultParts;
use callsheet_core::run::Run;
use callsheet_format::reply::task::document_headings;
use callsheet_format::sheet;

use crate::fault::DriveFault;
use crate::services::Services;

/// Merges the finished runs of a task by code (spec 3.12).
pub(crate) fn merge_by_code(services: &Services, run: &Run, task: &Slug, n: u32) -> Result<Event, DriveFault> {
    let owner = run.task(task).ok_or_else(|| DriveFault::defect("a merge of an unknown task"))?;
    if owner.merge.as_ref().is_some_and(|merge| merge.fell_back()) {
        services.notice(&format!("note: {task}: the model gave no valid merge, so code merged its runs"));
    }
    let mut texts = Vec::new();
    let mut result = ResultParts::default();
    for part in owner.parts() {
        let document = match &part.result.document {
            Some(blob) => services.text(blob)?,
            None => String::new(),
        };
        let full_text = |text: &str| part.text(run, owner, text);
        texts.push((part.title(owner).to_owned(), full_text(&part.result.summary), full_text(&document)));
        result.more_work |= part.result.more_work;
        for mark in &part.result.unsupported {
            if !result.unsupported.contains(mark) {
                result.unsupported.push(mark.clone());
            }
        }
        for link in &part.result.links {
            if !result.links.contains(link) {
                result.links.push(link.clone());
            }
        }
    }
    let parts: Vec<(&str, &str, &str)> =
        texts.iter().map(|(title, summary, document)| (title.as_str(), summary.as_str(), document.as_str())).collect();
    let note = owner.apart.map(|_| Note::PartsApart.text()).unwrap_or_default();
    let (summary, document) = sheet::merge_runs(note, &parts);
    result.details = owner.details();
    result.headings = document_headings(&document);
    result.tokens = tokens(&document);
    result.document = Some(services.store.stage_blob(document.into_bytes()));
    result.summary = summary;
    Ok(events::ExecutionsMerged { task: task.clone(), n, result }.into())
}
