//! Matching by a model (spec 13): a task of the subtype `associative_matching` chooses which of the files that a lookup
//! found are relevant. It runs as a child of the task that needs them, before that task is opened.

use serde_json::{Value, json};

use crate::file_index::{FileMatch, Found};
use crate::run::{ChildSlot, NodeInstance};
use crate::template::{Bound, Details, ErrorKind, Reason, ReturnStatus, TaskError, TaskResult, Trust, render};

use super::{Evaluator, failure};

/// The maximum number of files that are used from an answer (spec 13).
const MOST: usize = 20;
/// The score of a file without a numeric score (spec 13).
const UNKNOWN: f64 = 0.5;

/// A file that the model chose.
struct Choice {
    path: String,
    why: Option<String>,
    score: f64,
}

impl Evaluator<'_> {
    /// Whether a model must still choose among the findings.
    pub(super) fn wants_choice(&self, op: &NodeInstance) -> bool {
        let found = self.everything_found(op);
        let is_there = self.tree.matcher.as_deref().and_then(|name| self.template(name)).is_some();
        is_there && self.matching(op).is_none() && !(found.described.is_empty() && found.related.is_empty())
    }

    fn matching<'t>(&'t self, op: &'t NodeInstance) -> Option<&'t NodeInstance> {
        self.run.operators().child(op, ChildSlot::Match)
    }

    /// The inputs of the matching task: what the task should do, and the files with what is known about each.
    pub(super) fn candidates(&self, op: &NodeInstance) -> [(String, Bound); 2] {
        let found = self.everything_found(op);
        let mut files: Vec<Value> = Vec::new();
        for FileMatch(path, _) in found.described.iter().chain(&found.related) {
            let about = found.about.iter().find(|(known, _)| known == path).map(|(_, about)| about.as_str());
            let file = json!({ "path": path, "about": about });
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let wanted = self.sought(op).map(|query| query.description.unwrap_or(query.task_text)).unwrap_or_default();
        [
            ("wanted".to_owned(), Bound::json(wanted, Trust::Model)),
            ("candidates".to_owned(), Bound::json(render(&Value::from(files)), Trust::File)),
        ]
    }

    /// Why the findings cannot be used: the matching task failed, or its reply was not a list.
    ///
    /// # Errors
    /// `context_matching_failure`, `context_parsing_failure`.
    pub(super) fn check_choice(&self, op: &NodeInstance) -> Result<(), Box<TaskError>> {
        let Some(child) = self.matching(op).filter(|child| child.is_closed()) else { return Ok(()) };
        let result = self.result(child);
        let reason = match (&result.error, result.status) {
            (Some(error), _) if is_about_the_reply(error) => Reason::ContextParsingFailure,
            (_, ReturnStatus::Complete) if list(&result).is_some() => return Ok(()),
            (_, ReturnStatus::Complete) => Reason::ContextParsingFailure,
            _ => Reason::ContextMatchingFailure,
        };
        let message = result.error.as_ref().map_or("the reply is not a list of files", |error| error.message.as_str());
        let partial = serde_json::to_value(self.everything_found(op)).unwrap_or_default();
        let details = Details { partial_context: Some(self.with_frame(op, partial)), ..Details::default() };
        Err(Box::new(failure::failure(reason, message, details)))
    }

    /// The findings without what the model left out. Names that were not offered are reported, never replaced by
    /// others.
    pub(super) fn found(&self, op: &NodeInstance) -> Found {
        let mut found = self.everything_found(op);
        let Some(child) = self.matching(op) else { return found };
        let mut choices = list(&self.result(child)).unwrap_or_default();
        choices.sort_by(|a, b| b.score.total_cmp(&a.score));
        choices.truncate(MOST);
        let offered = |path: &str| found.described.iter().chain(&found.related).any(|one| one.0 == path);
        for choice in choices.iter().filter(|choice| !offered(&choice.path)) {
            let path = super::open::one_line(&choice.path, 200);
            found.warnings.push(format!("the model chose {path}, which is not among the files found"));
        }
        let chosen = |from: &[FileMatch]| -> Vec<FileMatch> {
            let named = choices.iter().filter_map(|choice| {
                let FileMatch(path, why) = from.iter().find(|one| one.0 == choice.path)?;
                Some(FileMatch(path.clone(), choice.why.clone().or_else(|| why.clone())))
            });
            let mut kept: Vec<FileMatch> = Vec::new();
            for one in named {
                if kept.iter().all(|known| known.0 != one.0) {
                    kept.push(one);
                }
            }
            kept
        };
        (found.described, found.related) = (chosen(&found.described), chosen(&found.related));
        found
    }
}

fn is_about_the_reply(error: &TaskError) -> bool {
    matches!(error.kind, ErrorKind::InvalidOutput { .. }) || failure::reason(error) == Some(Reason::OutputFormatFailure)
}

/// The choices of a reply: objects with a path. `None` if it is not a list.
fn list(result: &TaskResult) -> Option<Vec<Choice>> {
    let all = result.parsed_content.as_ref()?.as_array()?;
    let choice = |value: &Value| {
        let path = value.get("path").and_then(Value::as_str).or_else(|| value.as_str())?;
        let score = value.get("score").and_then(Value::as_f64).filter(|score| score.is_finite()).unwrap_or(UNKNOWN);
        let why = value.get("relevance").and_then(Value::as_str).map(|why| super::open::one_line(why, 200));
        Some(Choice {
            path: path.trim().to_owned(),
            why: why.filter(|why| !why.is_empty()),
            score: score.clamp(0.0, 1.0),
        })
    };
    Some(all.iter().filter_map(choice).collect())
}
