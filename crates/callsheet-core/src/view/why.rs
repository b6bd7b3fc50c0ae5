//! Why a task is not done, in words for people. Code that knows the command line adds what to type.

use crate::nouns::{Phase, Slug};
use crate::record::{EffectKey, Gate, Outcome};
use crate::run::{Limit, Run, State, Why};

use super::report::outcome_word;
use crate::units::amount;

use super::timeline::work_words;

/// If there are more tasks or pieces of work than these, the rest is counted.
const NAMED: usize = 3;

/// A sentence without a period: `write-docs-2 waits for find-code-1 (is at work: execute find-code-1)`. `driven` says
/// whether a process drives the run.
pub fn why_line(run: &Run, task: &Slug, why: &Why, driven: bool) -> String {
    let explainer = run.explainer();
    let named = |slug: &Slug| {
        let words = words(run, &explainer.why(slug), driven, &|slug: &Slug| slug.to_string());
        format!("{slug} ({words})")
    };
    format!("{task} {}", words(run, why, driven, &named))
}

/// Like `why_line`, but without the task, and without why the tasks that it waits for are not done.
pub fn why_words(run: &Run, why: &Why, driven: bool) -> String {
    words(run, why, driven, &|slug: &Slug| slug.to_string())
}

/// Like `why_words`, but with the names that people gave to the tasks.
pub(super) fn why_of_names(run: &Run, why: &Why) -> String {
    let name = |slug: &Slug| run.task(slug).map_or_else(|| slug.to_string(), |task| task.task.name.clone());
    words(run, why, true, &name)
}

fn words(run: &Run, why: &Why, driven: bool, named: &dyn Fn(&Slug) -> String) -> String {
    let tasks = |tasks: &[Slug]| few(tasks.iter().map(named));
    let work = |work: &[EffectKey]| few(work.iter().map(|key| work_words(key, run)));
    match why {
        Why::Ended { state, reason, cause } => ended_words(*state, reason, cause.as_ref()),
        Why::Running { work: now } if driven => format!("is at work: {}", work(now)),
        Why::Running { work: now } => format!("was interrupted at: {}", work(now)),
        Why::Owed { work: next } => format!("is next: {}", work(next)),
        Why::Gate { gate: Gate { n, .. } } => format!("waits for your answer to approval {n}"),
        Why::Question { question, .. } => format!("asks you \"{}\"", question.trim()),
        Why::WaitsForTask { tasks: awaited } => format!("waits for {}", tasks(awaited)),
        Why::WaitsForSection { section, tasks: awaited } => {
            format!("waits for task section {section}: {}", tasks(awaited))
        }
        Why::WaitsForWriters { tasks: awaited } => {
            format!(
                "waits for the approval of its section, which you are asked for when these are refined: {}",
                tasks(awaited)
            )
        }
        Why::Writer { by } => format!("waits for {}; only one task changes files at a time", named(by)),
        Why::List { phase } => format!("waits for {}", list_words(*phase)),
        Why::Limit { limit, used, max } => format!("is held by the {}", used_words(*limit, *used, *max)),
        Why::Slot { jobs, work: now } if now.is_empty() || !driven => format!("waits for a slot (jobs {jobs})"),
        Why::Slot { jobs, work: now } => format!("waits for a slot (jobs {jobs}); at work: {}", work(now)),
        Why::ExclusiveTool { tool, by: Some(by) } => {
            format!("waits for the tool {tool}, which is used by {}", named(by))
        }
        Why::ExclusiveTool { tool, by: None } => format!("waits for the tool {tool}, which is in use"),
        Why::Held { tasks: problems } => {
            format!("is held until the list is reviewed, because of {}", tasks(problems))
        }
        Why::SheetErrors => {
            "waits until you fix the errors in the edited sheet, which changes or deletes this task".to_owned()
        }
        Why::Budget { limit, work: now } => {
            format!("waits for the part of {} that others have reserved: {}", limit.name(), work(now))
        }
        Why::RollBack { of } => format!("waits until an interrupted change of {of} is undone"),
        Why::Concluded { outcome: Outcome::Planned } => "is planned; nothing has run".to_owned(),
        Why::Concluded { outcome } => format!("is not done: the run has ended ({})", outcome_word(*outcome)),
        Why::Unknown => "waits for an unknown reason".to_owned(),
    }
}

fn ended_words(state: State, reason: &str, cause: Option<&Slug>) -> String {
    let ended = match state {
        State::Failed => "failed",
        State::Blocked => "is blocked",
        State::Denied => "was denied",
        State::Cancelled => "was cancelled",
        State::Dropped => "was removed",
        _ => "is done",
    };
    match (reason.trim(), cause) {
        ("", None) => ended.to_owned(),
        ("", Some(cause)) => format!("{ended} because of {cause}"),
        (reason, _) => format!("{ended} ({reason})"),
    }
}

fn list_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Iterate => "the next list: the model reviews what is done",
        Phase::Continue => "the list of the follow-up",
        Phase::Join => "the answer",
        _ => "the list",
    }
}

fn used_words(limit: Limit, used: Option<f64>, max: Option<f64>) -> String {
    match used.zip(max) {
        Some((used, max)) => format!("limit {} ({} of {} used)", limit.name(), amount(used), amount(max)),
        None => format!("limit {}", limit.name()),
    }
}

/// The first few, and how many more there are.
fn few(words: impl ExactSizeIterator<Item = String>) -> String {
    let more = words.len().saturating_sub(NAMED);
    let first: Vec<String> = words.take(NAMED).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}
