//! The report of a run (spec 2.15): goals, summaries of done tasks, problems, cost. Made by code, without a call.

use crate::record::Outcome;
use crate::run::{Run, State, TaskRun};
use crate::sheet::fence;

use super::Summary;

/// The report as Markdown.
pub fn report(run: &Run, outcome: Outcome) -> String {
    let mut text = String::from("# Report\n\n");
    text.push_str(&format!("Outcome: {}", outcome_word(outcome)));
    if let Some(message) = run.message() {
        text.push_str(&format!(". {}", message.trim_end_matches('.')));
    }
    text.push_str(".\n\n## Original prompt\n\n");
    text.push_str(&fence("text", run.entry_prompt()));
    text.push('\n');
    if !run.goals().text.trim().is_empty() {
        text.push_str(&format!("\n## Goals / summary\n\n{}\n", run.goals().text.trim()));
    }
    let done: Vec<&TaskRun> = run.tasks().filter(|task| task.state == State::Done).collect();
    if !done.is_empty() {
        text.push_str("\n## Results\n");
        done.iter().for_each(|task| text.push_str(&result(task)));
    }
    let problems = run.problems();
    if !problems.is_empty() {
        text.push_str("\n## Problems\n\n");
        for problem in &problems {
            text.push_str(&format!("- {problem}\n"));
        }
    }
    let pending: Vec<&TaskRun> = run.tasks().filter(|task| !task.state.is_ended()).collect();
    if !pending.is_empty() {
        text.push_str("\n## Still pending\n\n");
        pending.iter().for_each(|task| text.push_str(&format!("- {}: {}\n", task.task.name, task.state.as_str())));
    }
    text.push_str(&format!("\n## Cost\n\n{}", Summary::of(run)));
    text
}

fn result(task: &TaskRun) -> String {
    let Some(result) = &task.result else { return String::new() };
    let mut text = format!("\n### {}\n\n{}\n", task.task.name, result.summary.trim());
    for set in &task.applied {
        let files: Vec<&str> = set.changes.files.iter().map(|file| file.path.as_str()).collect();
        let back = if set.reverted { ", taken back" } else { "" };
        text.push_str(&format!("\nChanged: {}{back}\n", files.join(", ")));
    }
    for detail in &result.details {
        text.push_str(&format!("\nFile: details/{}/{}\n", task.task.slug, detail.filename));
    }
    text
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Incomplete => "incomplete",
        Outcome::MaxRounds => "max_rounds",
        Outcome::PlanFailed => "plan_failed",
        Outcome::IterationFailed => "iteration_failed",
        Outcome::ApprovalRequired => "approval_required",
        Outcome::InputRequired => "input_required",
        Outcome::Unreachable => "unreachable",
        Outcome::Misconfigured => "misconfigured",
        Outcome::LimitReached => "limit_reached",
        Outcome::Cancelled => "cancelled",
    }
}
