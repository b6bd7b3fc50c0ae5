//! References to outputs of tasks and to headings of the prompt (spec 5.1, 5.5).

use callsheet_core::issue::IssueCode;
use callsheet_core::names::heading_key;
use callsheet_core::nouns::{Slug, Target};

use super::check::Checking;
use super::scope::Scope;
use crate::reading::Producer;

/// A producer found for a slug.
enum Found {
    /// By its slug or a former one.
    Task(usize),
    /// Several tasks have the name that is meant.
    Repeated,
    /// It was removed.
    Removed,
    /// No task was found.
    None,
}

/// Checks a reference to the output or a details file of a task.
pub(super) fn check(target: Target, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    let slug = target.producer()?.clone();
    let at = match find(&slug, checking.scope) {
        Found::Task(at) => at,
        Found::Repeated => {
            let usable = checking.usable();
            checking.refuse(IssueCode::ReferenceAmbiguous, "", slug.as_str(), usable.iter().map(String::as_str));
            return None;
        }
        // It blocks only the task that reads it (spec 2.18).
        Found::Removed => {
            let issue = checking.issue(IssueCode::ReferenceRemoved, "", &[]).warning();
            checking.notes.push(issue);
            return Some((target, 0));
        }
        Found::None => {
            // A heading of the request may end like the name of an output.
            if let Some(key) = heading_meant(&target, &slug, checking) {
                return Some((Target::PromptHeading(key), 0));
            }
            missing(&slug, checking);
            return None;
        }
    };
    let producer = checking.scope.producers().get(at)?;
    in_order(at, producer, &target, checking)?;
    let slug = producer.slug.clone()?;
    let tokens = producer.tokens;
    let target = match target {
        Target::TaskDetail { file, .. } => {
            detail(&file, producer, checking)?;
            Target::TaskDetail { slug, file }
        }
        Target::TaskOutput { heading: Some(heading), .. } => {
            let heading = section(&heading, producer, checking)?;
            Target::TaskOutput { slug, heading: Some(heading) }
        }
        _ => Target::TaskOutput { slug, heading: None },
    };
    Some((target, tokens))
}

/// The heading of the request whose anchor is `#x-results`.
fn heading_meant(target: &Target, slug: &Slug, checking: &Checking<'_>) -> Option<String> {
    let (_, written) = checking.raw.rsplit_once('#')?;
    let headings = checking.scope.prompt_headings(checking.context);
    let is_whole = matches!(target, Target::TaskOutput { heading: None, .. });
    // The name in another script does not belong to its key.
    let bare = is_whole.then(|| heading_key(written)).filter(|key| key == "results");
    [Some(format!("{slug}-results")), bare].into_iter().flatten().find(|key| headings.contains(key))
}

/// The task with this name, or with this name before `results`: its slug, or the slug of the name that several tasks
/// have, and its position.
pub(super) fn named(slug: &Slug, scope: &Scope) -> Option<(Slug, usize)> {
    let bare = slug.as_str().strip_suffix("-results").map(Slug::new);
    [Some(slug.clone()), bare].into_iter().flatten().find_map(|slug| {
        let at = scope.at(&slug)?;
        let own = scope.producers().get(at)?.slug.clone()?;
        Some((if scope.is_repeated(&slug) { slug } else { own }, at))
    })
}

/// Whether a bare `#x` is the name of a task or heading.
pub(super) fn is_named(target: &Target, checking: &Checking<'_>) -> bool {
    let heading = match target {
        Target::PromptHeading(key) => key.clone(),
        other => other.producer().map(|slug| format!("{slug}-results")).unwrap_or_default(),
    };
    let headings = checking.scope.prompt_headings(checking.context);
    if headings.contains(&heading) {
        return true;
    }
    let slug = match target {
        Target::PromptHeading(key) => Slug::new(key),
        other => other.producer().cloned().unwrap_or_else(|| Slug::new("")),
    };
    matches!(find(&slug, checking.scope), Found::Task(_) | Found::Repeated)
}

/// Checks a plain `#x`: a heading of the prompt, or a task named without `-results`.
pub(super) fn check_heading(key: &str, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    let scope = checking.scope;
    let headings = scope.prompt_headings(checking.context);
    let is_heading = headings.iter().any(|heading| heading == key);
    let slug = Slug::new(key);
    match (is_heading, find(&slug, scope)) {
        (true, Found::Task(_)) => {
            let both = [format!("#{key}-results"), format!("#{key}")];
            checking.refuse(IssueCode::AnchorAmbiguous, "", key, both.iter().map(String::as_str));
            return None;
        }
        (true, _) => return Some((Target::PromptHeading(key.to_owned()), 0)),
        (false, Found::Task(_)) => return check(Target::TaskOutput { slug, heading: None }, checking),
        (false, _) => {}
    }
    let mut usable = checking.usable();
    let mut issue = checking.issue(IssueCode::AnchorMissing, "", &[]);
    // The list is built only if it is compared and shown.
    if checking.notes.may_compare(usable.len() + headings.len()) {
        usable.extend(headings.iter().map(|heading| format!("#{heading}")));
        issue = issue.allowed(&format!("#{key}"), usable.iter().map(String::as_str));
    }
    checking.notes.push(issue);
    None
}

fn missing(slug: &Slug, checking: &mut Checking<'_>) {
    let usable = checking.usable();
    let wanted = format!("#{slug}-results");
    checking.refuse(IssueCode::AnchorMissing, "task", &wanted, usable.iter().map(String::as_str));
}

fn find(slug: &Slug, scope: &Scope) -> Found {
    if scope.is_repeated(slug) {
        return Found::Repeated;
    }
    match scope.at(slug) {
        Some(at) => Found::Task(at),
        None if scope.removed.contains(slug) => Found::Removed,
        None => Found::None,
    }
}

/// Whether it is not the task itself, and is listed before it: in an earlier step, or in the same one.
fn in_order(at: usize, producer: &Producer, target: &Target, checking: &mut Checking<'_>) -> Option<()> {
    let scope = checking.scope;
    if scope.own == Some(at) {
        let usable = checking.usable();
        checking.refuse(IssueCode::SelfReference, "", "", usable.iter().map(String::as_str));
        return None;
    }
    if !(scope.comes_before(at, producer) || scope.kept.contains(target)) {
        let usable = checking.usable();
        checking.refuse(IssueCode::ReferenceOrder, "", "", usable.iter().map(String::as_str));
        return None;
    }
    Some(())
}

fn detail(file: &str, producer: &Producer, checking: &mut Checking<'_>) -> Option<()> {
    if producer.done && !producer.details.iter().any(|known| known == file) {
        checking.refuse(IssueCode::FileMissing, "detail", file, producer.details.iter().map(String::as_str));
        return None;
    }
    if !producer.done {
        let issue = checking.issue(IssueCode::NotYet, "", &[]).warning();
        checking.notes.push(issue);
    }
    Some(())
}

/// The key of the heading. It is not checked while the output does not exist.
fn section(heading: &str, producer: &Producer, checking: &mut Checking<'_>) -> Option<String> {
    let key = heading_key(heading);
    if !producer.done || producer.headings.contains(&key) {
        return Some(key);
    }
    checking.refuse(IssueCode::AnchorMissing, "heading", &key, producer.headings.iter().map(String::as_str));
    None
}
