//! What the run changed: diffs by task, and who approved them.

use callsheet_app::{RunView, TaskRun};
use callsheet_core::view::{DiffKind, diff_lines};
use maud::{Markup, html};

use crate::approvals::{Approval, approvals, standing};
use crate::{Source, shown};

/// The section. Empty if the run proposed no change.
pub(crate) fn changes(source: &Source<'_>) -> Markup {
    let answers = approvals(source.entries);
    let changed: Vec<&TaskRun> = source.run.all_tasks().filter(|task| !task.applied.is_empty()).collect();
    let other: Vec<&Approval> =
        answers.iter().filter(|answer| changed.iter().all(|task| task.task.slug != answer.task)).collect();
    html! {
        section {
            h2 { "Changes" }
            @if changed.is_empty() { p { "No file was changed." } }
            @if let Some(words) = standing(source.run).filter(|_| !changed.is_empty()) { p.note { (words) } }
            @for task in &changed { (of_task(source, task, &answers)) }
            @if !other.is_empty() {
                h3 { "Other answers" }
                ul { @for answer in other { li { (name(source.run, answer)) ": " (answer_line(answer)) } } }
            }
        }
    }
}

fn name(run: &RunView, answer: &Approval) -> String {
    run.task(&answer.task).map_or_else(|| answer.task.to_string(), |task| shown(&task.task.name))
}

fn answer_line(answer: &Approval) -> Markup {
    html! {
        span class=(if answer.approved { "good" } else { "bad" }) { (answer.verdict) }
        @if !answer.place.is_empty() { " " (answer.place) }
        " (asked " (answer.asked) ")"
        @if !answer.words.trim().is_empty() { ", because " q { (shown(&answer.words)) } }
    }
}

fn of_task(source: &Source<'_>, task: &TaskRun, answers: &[Approval]) -> Markup {
    let own: Vec<&Approval> = answers.iter().filter(|answer| answer.task == task.task.slug).collect();
    html! {
        h3 { (shown(&task.task.name)) }
        @if own.is_empty() { p.note { "Nobody was asked about this task separately." } }
        @else { ul.answers { @for answer in own { li { (answer_line(answer)) } } } }
        @for set in &task.applied {
            @if set.reverted { p.bad { "Reverted later." } }
            @let text = set.changes.diff.as_ref().and_then(|blob| (source.blob)(blob));
            @match text {
                Some(text) => (diff(&text)),
                None => ul { @for file in &set.changes.files { li { code { (shown(&file.path)) } } } },
            }
            @if let Some(refused) = &set.refused {
                // The words of the person come first; a fence for the model follows them.
                p { "Left out: " (shown(refused.told.split("```").next().unwrap_or_default())) }
                @if let Some(text) = (source.blob)(&refused.diff) { (diff(&text)) }
            }
        }
    }
}

/// A unified diff, with one element per line.
pub(crate) fn diff(text: &str) -> Markup {
    let text = shown(text);
    let class = |kind| match kind {
        DiffKind::Name => "file",
        DiffKind::Added => "add",
        DiffKind::Removed => "del",
        DiffKind::Hunk => "hunk",
        DiffKind::Same | DiffKind::Note | DiffKind::Other => "same",
    };
    html! {
        pre.diff { code { @for line in diff_lines(&text) { span class=(class(line.kind)) { (line.text) "\n" } } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_line_of_dashes_is_no_name_of_a_file() {
        let html = diff("--- a/x.md\n+++ b/x.md\n@@ -1,2 +1 @@\n--- rule\n same\n").into_string();
        let classes: Vec<&str> = html.split("class=\"").skip(2).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(classes, ["file", "file", "hunk", "del", "same"], "{html}");
    }
}
