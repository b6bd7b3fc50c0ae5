//! `show --task`: prints one task, everything that it read, and its result.

use std::sync::Arc;

use callsheet_app::{CallRecord, Execution, RunView, TaskRun, ToolOutput, ToolRun, ToolState, unknown_task};
use callsheet_core::links::link_target;
use callsheet_core::nouns::Reference;
use callsheet_core::view::{counted, review_words, thousands, unsupported_line};
use callsheet_format::sheet;
use callsheet_runtime::ports::Store;
use serde_json::{Value, json};

use crate::cli::Failure;
use crate::term::one_line;

use super::show::{blob, call_line, task_line};
use super::show_json::{call_json, review_json, task_json};

pub(super) fn find<'a>(run: &'a RunView, slug: &str) -> Result<&'a TaskRun, Failure> {
    let names = || run.all_tasks().map(|task| task.task.slug.as_str()).collect::<Vec<_>>();
    let found = run.all_tasks().find(|task| task.task.slug.as_str() == slug);
    found.ok_or_else(|| no_task(run, slug, &names()))
}

/// The failure for a name that no task of a run has. `names` are those that it has.
pub(super) fn no_task(run: &RunView, name: &str, names: &[&str]) -> Failure {
    match run.about().id {
        Some(id) => unknown_task(id, name, names).into(),
        None => Failure::usage("nothing is recorded of this run yet", ""),
    }
}

pub(super) fn text(store: &Arc<dyn Store>, run: &RunView, task: &TaskRun, driven: bool) -> Result<String, Failure> {
    let mut text = task_line(run, task, driven);
    text.push_str(&sheet::render_task(&task.task, sheet::TaskForm::Execution, None));
    text.push('\n');
    if let Some(reason) = &task.writer {
        text.push_str(&format!("Needs approval: {reason}\n"));
    }
    for exec in &task.runs {
        let part = if exec.title.is_empty() { String::new() } else { format!(" ({})", exec.title) };
        text.push_str(&format!("Execution{part}: {}, {}\n", state(exec), counted(exec.calls.len(), "tool call")));
    }
    let read = all_read(store, task);
    if !read.is_empty() {
        text.push_str("Read\n");
        read.iter().for_each(|read| text.push_str(&format!("  {}\n", read.line())));
    }
    for call in calls(run, task) {
        text.push_str(&call_line(call));
        call.rejected.iter().for_each(|issue| text.push_str(&format!("      {issue}\n")));
    }
    for review in task.reviews() {
        text.push_str(&format!("{}\n", one_line(&review_words(review), 600)));
    }
    let marks = task.result().into_iter().flat_map(|result| &result.unsupported).map(String::as_str);
    if let Some(line) = unsupported_line(marks) {
        text.push_str(&format!("Warning: {}\n", one_line(&line, 600)));
    }
    if let Some(failure) = task.failure() {
        text.push_str(&format!("Failed: {}\n", failure.reason));
        failure.issues.iter().for_each(|issue| text.push_str(&format!("  {issue}\n")));
    }
    if let Some(words) = task.denial() {
        text.push_str(&format!("Denied: {words}\n"));
    }
    for set in &task.applied {
        if let Some(diff) = &set.changes.diff {
            let back = if set.reverted { "Reverted:\n" } else { "" };
            text.push_str(&format!("\n{back}{}", blob(store, diff)?));
        }
        if let Some(refused) = &set.refused {
            text.push_str(&format!("\n{}\n{}", refused.told, blob(store, &refused.diff)?));
        }
    }
    if let Some(document) = task.result().and_then(|result| result.document.as_ref()) {
        text.push_str(&format!("\n{}\n", blob(store, document)?));
    }
    Ok(text)
}

/// The task as one object.
pub(super) fn json(store: &Arc<dyn Store>, run: &RunView, task: &TaskRun, driven: bool) -> Result<Value, Failure> {
    let mut shown = task_json(run, task, driven);
    let changes: Vec<Value> =
        task.applied
            .iter()
            .map(|set| {
                let text = |id| blob(store, id).ok();
                let files: Vec<&str> = set.changes.files.iter().map(|file| file.path.as_str()).collect();
                let refused = set.refused.as_ref().map(
                    |refused| json!({ "told": refused.told, "words": refused.words, "diff": text(&refused.diff) }),
                );
                let diff = set.changes.diff.as_ref().and_then(text);
                json!({ "files": files, "diff": diff, "refused": refused, "reverted": set.reverted })
            })
            .collect();
    let executions: Vec<Value> = task
        .runs
        .iter()
        .map(|exec| json!({ "title": exec.title, "state": state(exec), "tool_calls": exec.calls.len() }))
        .collect();
    let document = task.result().and_then(|result| result.document.as_ref()).map(|id| blob(store, id)).transpose()?;
    let failure = task.failure().map(|failure| json!({ "reason": failure.reason, "issues": failure.issues }));
    let fields = [
        ("definition", json!(task.task)),
        ("executions", executions.into()),
        ("read", all_read(store, task).iter().map(Read::json).collect()),
        ("calls", calls(run, task).map(call_json).collect()),
        ("reviews", task.reviews().map(review_json).collect()),
        ("failure", json!(failure)),
        ("denied", json!(task.denial())),
        ("changes", changes.into()),
        ("summary", json!(task.result().map(|result| &result.summary))),
        ("document", json!(document)),
    ];
    if let Value::Object(object) = &mut shown {
        object.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    }
    Ok(shown)
}

fn calls<'a>(run: &'a RunView, task: &'a TaskRun) -> impl Iterator<Item = &'a CallRecord> {
    run.calls().iter().filter(|call| call.key.task.as_ref() == Some(&task.task.slug))
}

fn state(exec: &Execution) -> &'static str {
    if exec.is_finished() {
        "finished"
    } else if exec.failure().is_some() {
        "failed"
    } else {
        "open"
    }
}

/// One item that the task read: a reference, or the output of a call.
enum Read<'a> {
    Reference(&'a Reference),
    Call { call: &'a ToolRun, words: &'static str, bytes: Option<usize> },
}

impl Read<'_> {
    fn line(&self) -> String {
        match self {
            Self::Reference(reference) => {
                let title = if reference.title.is_empty() { String::new() } else { format!(" ({})", reference.title) };
                one_line(&format!("{}{title}", link_target(&reference.target)), 300)
            }
            Self::Call { call, words, bytes } => {
                let size =
                    bytes.map(|bytes| format!(", {} bytes", thousands(u64::try_from(bytes).unwrap_or(u64::MAX))));
                let made = one_line(&format!("{} {}", call.call.name, call.call.arguments), 200);
                format!("{made}: {words}{}", size.unwrap_or_default())
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Reference(reference) => {
                json!({ "reference": link_target(&reference.target), "title": reference.title })
            }
            Self::Call { call, words, bytes } => json!({
                "call": call.call.id, "tool": call.call.name, "arguments": call.call.arguments, "state": words,
                "bytes": bytes, "ms": call.ms,
            }),
        }
    }
}

/// The contents of its prompts, without duplicates: its references, then the outputs of its calls in order.
fn all_read<'a>(store: &Arc<dyn Store>, task: &'a TaskRun) -> Vec<Read<'a>> {
    let mut references: Vec<&Reference> = Vec::new();
    let inputs = task.runs.iter().flat_map(|exec| &exec.input.references);
    for reference in task.task.references.iter().chain(inputs) {
        if references.iter().all(|known| known.target != reference.target) {
            references.push(reference);
        }
    }
    let size = |id| store.blob(id).ok().map(|bytes: Vec<u8>| bytes.len());
    let outputs = task.runs.iter().flat_map(|exec| &exec.calls).map(|call| {
        let (words, bytes) = match &call.state {
            ToolState::Done(ToolOutput::Text { blob, error: false }) => ("read", size(blob)),
            ToolState::Done(ToolOutput::Text { blob, error: true }) => ("failed", size(blob)),
            ToolState::Done(ToolOutput::Answered(blob)) => ("answered by you", size(blob)),
            ToolState::Done(ToolOutput::Applied { .. }) => ("applied", None),
            ToolState::Done(ToolOutput::Rejected(_)) => ("could not be applied", None),
            ToolState::Done(ToolOutput::Repeated { .. }) => ("answered from an earlier call", None),
            _ => ("not made yet", None),
        };
        Read::Call { call, words, bytes }
    });
    references.into_iter().map(Read::Reference).chain(outputs).collect()
}
