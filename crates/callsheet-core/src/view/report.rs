//! The report of a run (spec 2.15): goals, summaries of done tasks, problems, cost. Code writes it, without a model
//! call.

use std::collections::BTreeMap;

use crate::fence::{closed, fence};
use crate::issue::{Issue, Severity};
use crate::nouns::Slug;
use crate::record::words::unsupported_line;
use crate::record::{CheckEnd, Outcome};
use crate::run::{Joined, Problem, ProblemKind, RemovedBy, Review, Run, State, TaskPhase, TaskRun};
use crate::template::TaskResult;
use crate::visible::readable;

use super::Summary;

/// The report as Markdown. `outcome` is `None` for an active run. `of_tree` is the result of a template run, which
/// replaces those of its tasks.
pub fn report(run: &Run, outcome: Option<Outcome>, of_tree: Option<&TaskResult>) -> String {
    let mut text = String::from("# Report\n\n");
    text.push_str(&format!("Outcome: {}", outcome.map_or("not finished", outcome_word)));
    if outcome.is_some_and(Outcome::is_finished) && run.is_read_only() {
        text.push_str(", read only");
    }
    if let Some(message) = run.message() {
        text.push_str(&format!(". {}", message.trim_end_matches('.')));
    }
    text.push_str(".\n\n## Original prompt\n\n");
    text.push_str(&fence("text", run.prompt()));
    text.push('\n');
    if !run.follow_ups().is_empty() {
        text.push_str("\n## Follow-ups\n");
        run.follow_ups().iter().for_each(|words| text.push_str(&format!("\n{}\n", fence("text", words))));
    }
    if !run.goals().text.trim().is_empty() {
        text.push_str(&format!("\n## Goals / summary\n\n{}\n", closed(run.goals().text.trim())));
    }
    text.push_str(&joined(run, outcome));
    let mut done: Vec<&TaskRun> = run.tasks().filter(|task| task.state() == State::Done).collect();
    if let Some(result) = of_tree {
        text.push_str(&result_of_tree(result));
        done.retain(|task| !task.applied.is_empty());
    }
    if !done.is_empty() {
        text.push_str(if of_tree.is_some() { "\n## Changes\n" } else { "\n## Results\n" });
        for task in done {
            text.push_str(&result(task));
            let changing = run.tasks_below(&task.task.slug).filter(|below| !below.applied.is_empty());
            changing.for_each(|below| text.push_str(&result(below)));
        }
    }
    if of_tree.is_none() && changed_nothing(run) {
        text.push_str("\nNo file was changed.\n");
    }
    for words in asked_files_words(run).iter().filter(|_| outcome.is_some_and(Outcome::is_finished)) {
        text.push_str(&format!("\n{words}\n"));
    }
    let problems: Vec<String> = run.all_problems().map(|problem| problem_line(run, &problem)).collect();
    if !problems.is_empty() {
        text.push_str("\n## Problems\n\n");
        for problem in &problems {
            text.push_str(&item(problem));
        }
    }
    let checks: String = failed_checks(run).iter().map(|line| item(line)).collect();
    if !checks.is_empty() {
        text.push_str(&format!("\n## Checks that did not pass\n\n{checks}"));
    }
    text.push_str(&plan_changes(run));
    let kept: String = run.tasks().map(|task| kept(run, task)).collect();
    if !kept.is_empty() {
        text.push_str(&format!("\n## Finished parts of failed tasks\n{kept}"));
    }
    let pending: Vec<&TaskRun> = run.all_tasks().filter(|task| !task.state().is_ended()).collect();
    if !pending.is_empty() {
        text.push_str("\n## Still pending\n\n");
        for task in pending {
            text.push_str(&format!("- {}: {}{}\n", task.task.name, task.state().as_str(), changed_words(task)));
        }
    }
    text.push_str(&format!("\n## Cost\n\n{}", Summary::of(run)));
    readable(&text)
}

/// A sentence about each requested file without a change: those that a task said to need none, and the others.
pub fn asked_files_words(run: &Run) -> Vec<String> {
    let groups = [("Asked for and not written", run.unwritten()), ("Said to need no change", run.said_unchanged())];
    let groups = groups.into_iter().filter(|(_, files)| !files.is_empty());
    groups.map(|(title, files)| format!("{title}: {}.", files.join(", "))).collect()
}

/// The answer that a model wrote from the results, or why the results are listed instead.
fn joined(run: &Run, outcome: Option<Outcome>) -> String {
    match run.joined().filter(|_| outcome.is_some_and(Outcome::has_answer)) {
        Some(Joined::Answer { text, unsupported }) => {
            format!("\n## Answer\n\n{}\n{}", closed(text.trim()), not_found(unsupported))
        }
        Some(Joined::Failed(why)) => {
            format!("\nWarning: no answer was written from the results ({}).\n", why.trim_end_matches('.'))
        }
        None => String::new(),
    }
}

/// The parts of a text that its model did not read (spec 3.14).
fn not_found(marks: &[String]) -> String {
    let line = unsupported_line(marks.iter().map(String::as_str));
    line.map(|line| format!("\nWarning: {line}\n")).unwrap_or_default()
}

/// What was removed from the plan, and what reviews said about their changes.
fn plan_changes(run: &Run) -> String {
    let removed: String = removals(run).iter().map(|line| item(line)).collect();
    let said: String = run.remarks().iter().map(|words| item(words)).collect();
    let mut text = String::new();
    for (title, lines) in [("Removed from the plan", removed), ("What reviews said about the plan", said)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n## {title}\n\n{lines}"));
        }
    }
    text
}

/// Tasks that were removed from the plan, one line each, in words for a person.
pub fn removals(run: &Run) -> Vec<String> {
    let line = |task: &TaskRun| match &task.phase {
        TaskPhase::Dropped(RemovedBy::Person) => Some(format!("{} was removed by you", task.task.name)),
        TaskPhase::Dropped(RemovedBy::Reply { reason }) => Some(format!("{} was removed: {reason}", task.task.name)),
        _ => None,
    };
    run.tasks().filter_map(line).collect()
}

/// The changes on disk whose check did not pass, one line each. Only the last result of each check of a task counts.
pub fn failed_checks(run: &Run) -> Vec<String> {
    let of_task = |task: &TaskRun| {
        let sets = task.applied.iter().filter(|set| !set.reverted);
        let last: BTreeMap<String, CheckEnd> =
            sets.filter_map(|set| set.check.as_ref()).map(|check| (check.name.clone(), check.end)).collect();
        let slug = task.task.slug.clone();
        last.into_iter().filter_map(move |(name, end)| match end {
            CheckEnd::Passed => None,
            CheckEnd::Failed => Some(format!("{slug}: the check {name} failed, and its changes remain")),
            CheckEnd::NotRun => Some(format!("{slug}: the check {name} did not run, and its changes remain")),
        })
    };
    run.all_tasks().flat_map(of_task).collect()
}

/// Whether tasks should have changed files, but none did and none could have changed any in another way.
fn changed_nothing(run: &Run) -> bool {
    let writes = |task: &TaskRun| task.skill.as_ref().is_some_and(|skill| skill.writes_files);
    let other = |task: &TaskRun| task.skill.as_ref().is_some_and(|skill| skill.writer.is_some() && !skill.writes_files);
    run.tasks().any(writes)
        && !run.tasks().any(other)
        && run.tasks().flat_map(|task| &task.applied).all(|set| set.changes.files.is_empty())
}

/// A list item. Words of several lines are in a fence, so that nothing in them becomes a heading or a fence of the
/// report.
fn item(words: &str) -> String {
    let Some((first, _)) = words.split_once('\n') else { return format!("- {words}\n") };
    let whole: String = fence("text", words).lines().map(|line| format!("  {line}\n")).collect();
    format!("- {}\n\n{whole}\n", first.trim_end())
}

/// The remark about a conversation that ended with a result although all its tool calls failed.
pub const CALLS_FAILED: &str = "all its tool calls failed, so its result uses none of them";

/// One problem in words for a person.
pub fn problem_line(run: &Run, problem: &Problem<'_>) -> String {
    let name = &problem.task.task.name;
    let line = match problem.kind {
        ProblemKind::Failed { reason, issues, .. } => {
            let errors = issues.iter().filter(|issue| issue.severity == Severity::Error);
            let each: Vec<String> = errors.map(Issue::to_string).collect();
            let reason = if each.is_empty() { reason.to_owned() } else { format!("{reason}. {}", each.join(" ")) };
            format!("{name} failed: {reason}")
        }
        ProblemKind::Denied { words } if words.trim().is_empty() => format!("{name} was denied"),
        ProblemKind::Denied { words } => format!("{name} was denied: {}", words.trim()),
        ProblemKind::Blocked { cause } => {
            let known = run.task(cause);
            let is_cause = |producer: &Slug| run.task(producer).is_some_and(|task| task.task.slug == *cause);
            let linked = problem.task.producers().any(is_cause);
            let dropped = known.is_some_and(|task| task.state() == State::Dropped);
            let cause = known.map_or(cause.as_str(), |task| task.task.name.as_str());
            let why = if dropped { ", which was removed" } else { "" };
            if linked {
                format!("{name} could not run, because it depends on {cause}{why}")
            } else {
                format!("{name} did not run: its step was held because of {cause}{why}")
            }
        }
    };
    format!("{line}{}", changed_words(problem.task))
}

/// What a task that did not finish has changed anyway (spec 10.7).
fn changed_words(task: &TaskRun) -> String {
    let files: Vec<&str> = task.changed_files().into_iter().collect();
    if files.is_empty() { String::new() } else { format!("; its changes remain: {}", files.join(", ")) }
}

/// The result of a template, and why it failed.
fn result_of_tree(result: &TaskResult) -> String {
    let mut text = String::from("\n## Result\n");
    let words = result.words();
    if !words.trim().is_empty() {
        text.push_str(&format!("\n{}\n", closed(words.trim())));
    }
    if let Some(error) = &result.error {
        text.push_str(&format!("\nFailed: {}\n", closed(error.message.trim())));
    }
    text
}

fn result(task: &TaskRun) -> String {
    let Some(result) = task.result() else { return String::new() };
    let mut text = format!("\n### {}\n\n{}\n", task.task.name, closed(result.summary.trim()));
    text.push_str(&not_found(&result.unsupported));
    for set in &task.applied {
        let files: Vec<&str> = set.changes.files.iter().map(|file| file.path.as_str()).collect();
        let back = if set.reverted { ", undone" } else { "" };
        text.push_str(&format!("\nChanged: {}{back}\n", files.join(", ")));
    }
    if task.merge.as_ref().is_some_and(|merge| merge.fell_back()) {
        text.push_str("\nMerged by code, because the model gave no valid merge.\n");
    }
    if task.apart.is_some() && task.runs.len() > 1 {
        text.push_str("\nRead one by one, because its references are too large for one prompt.\n");
    }
    if task.is_done_without_calls() {
        text.push_str(&format!("\nWarning: {CALLS_FAILED}.\n"));
    }
    for review in task.reviews() {
        text.push_str(&format!("\n{}\n", review_words(review)));
    }
    if result.says_more() {
        text.push_str(&format!("\nWhole result: tasks/{}.md\n", task.task.slug));
    }
    for detail in &result.details {
        text.push_str(&format!("\nFile: details/{}/{}\n", task.task.slug, detail.filename));
    }
    text
}

/// What a review said about a result, in words for a person.
pub fn review_words(review: &Review) -> String {
    match (&review.missing, review.failed()) {
        (None, None) if review.is_over() => "Reviewed: complete.".to_owned(),
        (None, None) => "Under review.".to_owned(),
        (None, Some(why)) => format!("Warning: not reviewed ({why}); the result is used as it is."),
        (Some(missing), None) if review.is_over() => format!("Reviewed, and done once more, because of: {missing}"),
        (Some(missing), None) => format!("Reviewed, and being done once more, because of: {missing}"),
        (Some(missing), Some(why)) => {
            format!(
                "Warning: the first result is used, because the second attempt failed ({why}). The review said: {missing}"
            )
        }
    }
}

/// The finished parts of a failed task (spec 10.5).
fn kept(run: &Run, task: &TaskRun) -> String {
    let mut text = String::new();
    for part in task.finished_parts() {
        let summary = closed(&part.text(run, task, part.result.summary.trim()));
        text.push_str(&format!("\n### {}, {}\n\n{summary}\n", task.task.name, part.title(task)));
        for (_, name) in &part.details {
            text.push_str(&format!("\nFile: details/{}/{name}\n", task.task.slug));
        }
    }
    text
}

/// An outcome in the form for files.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Incomplete => "incomplete",
        Outcome::MaxRounds => "max_rounds",
        Outcome::Planned => "planned",
        Outcome::PlanFailed => "plan_failed",
        Outcome::IterationFailed => "iteration_failed",
        Outcome::ApprovalRequired => "approval_required",
        Outcome::InputRequired => "input_required",
        Outcome::Unreachable => "unreachable",
        Outcome::Misconfigured => "misconfigured",
        Outcome::LimitReached => "limit_reached",
        Outcome::Cancelled => "cancelled",
        Outcome::TaskFailed => "task_failed",
        Outcome::InputInvalid => "input_invalid",
    }
}
