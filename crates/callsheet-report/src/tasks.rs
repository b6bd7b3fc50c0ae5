//! Each task with its result and what it read.

use callsheet_app::{RunView, State, TaskRun};
use callsheet_core::links::link_target;
use callsheet_core::nouns::Target;
use callsheet_core::view::{counted, dollars, duration, review_words, thousands, unsupported_line};
use maud::{Markup, html};

use crate::{Source, WHOLE, markdown, shown};

/// Tasks of a large run that a report tells whole, and of which it tells the names.
const MOST: usize = 1_000;
const NAMED: usize = 10_000;

/// The section.
pub(crate) fn tasks(source: &Source<'_>) -> Markup {
    let run = source.run;
    let earlier: Vec<&TaskRun> = run.tasks().filter(|task| run.step_of(&task.task.slug).is_none()).collect();
    let steps = run.steps().len();
    let all = run.all_tasks().count();
    if all > WHOLE {
        return those_that_matter(source, all);
    }
    html! {
        section {
            h2 { "Tasks" }
            @if all == 0 { p { "There were no tasks." } }
            @for (index, step) in run.steps().iter().enumerate() {
                @if steps > 1 { h3.section { "Section " (index + 1) } }
                @for task in step.iter().filter_map(|slug| run.task(slug)) { (with_parts(source, task)) }
            }
            @if !earlier.is_empty() {
                @if steps > 0 { h3.section { "From earlier lists" } }
                @for task in earlier { (with_parts(source, task)) }
            }
        }
    }
}

/// What failed, or changed files; of the others, which would make a file of many megabytes, the names.
fn those_that_matter(source: &Source<'_>, all: usize) -> Markup {
    let run = source.run;
    let wrote = |task: &TaskRun| !task.applied.is_empty();
    let matters = |task: &&TaskRun| run.standing(task).is_problem() || wrote(task);
    let (whole, brief): (Vec<&TaskRun>, Vec<&TaskRun>) =
        run.all_tasks().filter(|task| task.state() != State::Dropped && !run.is_replaced(task)).partition(matters);
    html! {
        section {
            h2 { "Tasks" }
            p { "Of " (thousands(all as u64)) " tasks, those that failed or changed files:" }
            @if whole.is_empty() { p { "None." } }
            @for task in whole.iter().take(MOST) { (one(source, task)) }
            @if whole.len() > MOST { p { "And " (thousands((whole.len() - MOST) as u64)) " more." } }
            details {
                summary { (thousands(brief.len() as u64)) " other tasks" }
                ul.brief {
                    @for task in brief.iter().take(NAMED) {
                        @let state = run.standing(task);
                        li id=(format!("task-{}", task.task.slug)) { (shown(&task.task.name)) @if state != State::Done { " " (state.as_str()) } }
                    }
                }
                @if brief.len() > NAMED { p { "And " (thousands((brief.len() - NAMED) as u64)) " more." } }
            }
        }
    }
}

fn with_parts(source: &Source<'_>, task: &TaskRun) -> Markup {
    let below = source.run.tasks_below(&task.task.slug).filter(|below| below.state() != State::Dropped);
    html! {
        (one(source, task))
        @for part in below { div.below { (one(source, part)) } }
    }
}

fn one(source: &Source<'_>, task: &TaskRun) -> Markup {
    let run = source.run;
    let state = run.standing(task);
    html! {
        article id=(format!("task-{}", task.task.slug)) {
            h4 {
                span class=(format!("state {}", state_class(state))) { (state.as_str()) } " "
                (shown(&task.task.name))
            }
            p.need { (shown(&task.task.need)) }
            p.meta { (meta(run, task)) }
            @if !task.task.references.is_empty() {
                p.meta {
                    "Reads "
                    @for (index, reference) in task.task.references.iter().enumerate() {
                        @if index > 0 { ", " }
                        (target(run, &reference.target))
                    }
                }
            }
            @if let Some(result) = task.result() {
                div.result { (markdown(&result.summary)) }
                @if let Some(line) = unsupported_line(result.unsupported.iter().map(String::as_str)) {
                    p.warning { "Warning: " (shown(&line)) }
                }
                @if result.says_more() { p.meta { "Whole result: " code { "tasks/" (shown(task.task.slug.as_str())) ".md" } } }
                @for detail in &result.details { p.meta { "File: " code { (shown(&detail.filename)) } } }
            }
            @for review in task.reviews() { p.note { (shown(&review_words(review))) } }
        }
    }
}

/// Skill, calls, tokens, dollars, time.
fn meta(run: &RunView, task: &TaskRun) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(task.task.skill.as_ref().map(|skill| shown(skill)));
    let calls: Vec<_> = run.calls_of(&task.task.slug).collect();
    if !calls.is_empty() {
        let tokens: u64 = calls.iter().map(|call| call.usage.tokens()).fold(0, u64::saturating_add);
        let usd: f64 = calls.iter().filter_map(|call| call.usage.cost_usd).sum();
        let ms: u64 = calls.iter().map(|call| call.ms).fold(0, u64::saturating_add);
        words.push(format!("{}, {} tokens", counted(calls.len(), "call"), thousands(tokens)));
        if usd > 0.0 {
            words.push(dollars(usd));
        }
        words.push(duration(ms));
    }
    let tools = task.runs.iter().map(|exec| exec.calls.len()).sum::<usize>();
    if tools > 0 {
        words.push(counted(tools, "tool call"));
    }
    words.join(" · ")
}

/// What a reference means, in words; a task is a link inside the page.
fn target(run: &RunView, target: &Target) -> Markup {
    match target.producer().and_then(|slug| run.task(slug)) {
        Some(producer) => html! { a href=(format!("#task-{}", producer.task.slug)) { (shown(&producer.task.name)) } },
        None => html! { code { (shown(&link_target(target))) } },
    }
}

fn state_class(state: State) -> &'static str {
    match state {
        State::Done => "good",
        State::Failed | State::Blocked | State::Denied => "bad",
        _ => "open",
    }
}
