//! References to outputs of tasks and to headings of the prompt (spec 5.1, 5.5).

use callsheet_core::fuzzy::within;
use callsheet_core::issue::{IssueCode, RepairCode};
use callsheet_core::names::heading_key;
use callsheet_core::spec::{Slug, Target};

use crate::reading::Diagnostics;

use super::check::Checking;
use super::scope::{Producer, Scope};

/// A producer found for a slug.
enum Found {
    /// By its slug or a former one.
    Exact(usize),
    /// By the one slug near it.
    Near(usize),
    /// Several tasks were given the name that is meant.
    Repeated,
    /// It was dropped.
    Dropped,
    /// Several are equally near.
    Tie,
    /// None.
    None,
}

/// Checks a reference to the output or a details file of a task.
pub(super) fn check(target: Target, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    let slug = target.producer()?.clone();
    let (at, near) = match find(&slug, checking.scope, checking.notes) {
        Found::Exact(at) => (at, false),
        Found::Near(at) => (at, true),
        Found::Repeated => {
            let usable = checking.usable();
            checking.refuse(IssueCode::ReferenceAmbiguous, "", slug.as_str(), usable.iter().map(String::as_str));
            return None;
        }
        // A task that stands there unchanged stays as it is, blocked or not (spec 2.18).
        Found::Dropped if checking.scope.kept.contains(&target) => return Some((target, 0)),
        Found::Tie | Found::Dropped | Found::None => {
            // A heading of the request may end like the name of an output.
            if let Some(key) = heading_meant(&target, &slug, checking) {
                return Some((Target::PromptHeading(key), 0));
            }
            missing(&slug, checking);
            return None;
        }
    };
    let producer = checking.scope.producers().get(at)?;
    in_order(at, producer, checking)?;
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
    if near {
        checking.repaired(RepairCode::SlugNear, &target);
    }
    Some((target, tokens))
}

/// The heading of the request that `#x-results` is the anchor of.
fn heading_meant(target: &Target, slug: &Slug, checking: &Checking<'_>) -> Option<String> {
    let (_, written) = checking.raw.rsplit_once('#')?;
    let headings = checking.scope.prompt_headings(checking.context);
    let is_whole = matches!(target, Target::TaskOutput { heading: None, .. });
    // What a name in other letters is called is no part of its key.
    let bare = is_whole.then(|| heading_key(written)).filter(|key| key == "results");
    [Some(format!("{slug}-results")), bare].into_iter().flatten().find(|key| headings.contains(key))
}

/// The producer of a target, if one is clear. A bare `#x` may name a task.
pub(super) fn producer_of(target: &Target, scope: &Scope, notes: &Diagnostics) -> Option<usize> {
    let slug = match target {
        Target::PromptHeading(key) => Slug::new(key),
        other => other.producer()?.clone(),
    };
    match find(&slug, scope, notes) {
        Found::Exact(at) | Found::Near(at) => Some(at),
        _ => None,
    }
}

/// The task that words name as they stand, or whose output they speak of: `Find Code 1`, `the results of Find Code 1`. Its slug,
/// or that of the name which several tasks have, and where it stands.
pub(super) fn named(slug: &Slug, scope: &Scope) -> Option<(Slug, usize)> {
    const BEFORE: &[&str] =
        &["output-of-", "output-from-", "outputs-of-", "result-of-", "results-of-", "results-from-"];
    const BEHIND: &[&str] = &["-results", "-result", "-output", "-outputs", "-s-output", "-s-results"];
    let text = slug.as_str();
    let text = text.strip_prefix("the-").unwrap_or(text);
    let of = BEFORE.iter().find_map(|words| text.strip_prefix(words)).unwrap_or(text);
    let bare = of.strip_prefix("the-").unwrap_or(of);
    let bare =
        bare.strip_prefix("task-").filter(|rest| rest.contains(|c: char| c.is_ascii_alphabetic())).unwrap_or(bare);
    let ends = |text: &str| BEHIND.iter().find_map(|words| text.strip_suffix(words)).map(str::to_owned);
    let mut slugs =
        [slug.as_str(), text, of, bare].into_iter().flat_map(|text| [Some(text.to_owned()), ends(text)]).flatten();
    slugs.find_map(|text| {
        let slug = Slug::new(&text);
        if let Some(at) = scope.at(&slug) {
            let own = scope.producers().get(at)?.slug.clone()?;
            return Some((if scope.is_repeated(&slug) { slug } else { own }, at));
        }
        let numbered = text.strip_prefix("task-").and_then(|_| by_list_number(&slug, scope))?;
        Some((scope.producers().get(numbered)?.slug.clone()?, numbered))
    })
}

/// Whether a bare `#x` is the name of a task or heading (true) or may be one (false); `None` if nothing is called like it.
pub(super) fn fit(target: &Target, checking: &Checking<'_>) -> Option<bool> {
    let heading = match target {
        Target::PromptHeading(key) => key.clone(),
        other => format!("{}-results", other.producer()?),
    };
    let headings = checking.scope.prompt_headings(checking.context);
    if headings.contains(&heading) {
        return Some(true);
    }
    let slug = match target {
        Target::PromptHeading(key) => Slug::new(key),
        other => other.producer()?.clone(),
    };
    match find(&slug, checking.scope, checking.notes) {
        Found::Exact(_) | Found::Repeated => Some(true),
        Found::Near(_) | Found::Tie => Some(false),
        Found::Dropped | Found::None => None,
    }
}

/// Checks a bare `#x`: a heading of the prompt, or a task named without `-results`.
pub(super) fn check_heading(key: &str, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    let scope = checking.scope;
    let headings = scope.prompt_headings(checking.context);
    let is_heading = headings.iter().any(|heading| heading == key);
    let slug = Slug::new(key);
    let task = find(&slug, scope, checking.notes);
    match (is_heading, &task) {
        (true, Found::Exact(_)) => {
            let both = [format!("#{key}-results"), format!("#{key}")];
            checking.refuse(IssueCode::AnchorAmbiguous, "", key, both.iter().map(String::as_str));
            return None;
        }
        (true, _) => return Some((Target::PromptHeading(key.to_owned()), 0)),
        (false, Found::Exact(_)) => {
            let target = Target::TaskOutput { slug: slug.clone(), heading: None };
            let (target, tokens) = check(target, checking)?;
            checking.repaired(RepairCode::SlugNear, &target);
            return Some((target, tokens));
        }
        (false, _) => {}
    }
    let searched = if checking.notes.may_compare(headings.len()) { headings } else { &[] };
    let near: Vec<&String> = searched.iter().filter(|heading| within(heading, key, 2)).collect();
    match (near.as_slice(), task) {
        ([heading], Found::None) => {
            let target = Target::PromptHeading((*heading).clone());
            checking.repaired(RepairCode::SlugNear, &target);
            Some((target, 0))
        }
        ([], Found::Near(_)) => check(Target::TaskOutput { slug, heading: None }, checking),
        _ => {
            let mut usable = checking.usable();
            let mut issue = checking.issue(IssueCode::AnchorMissing, "", &[]);
            // Put together only where they are compared and shown.
            if checking.notes.may_compare(usable.len() + headings.len()) {
                usable.extend(headings.iter().map(|heading| format!("#{heading}")));
                issue = issue.allowed(&format!("#{key}"), usable.iter().map(String::as_str));
            }
            checking.notes.push(issue);
            None
        }
    }
}

fn missing(slug: &Slug, checking: &mut Checking<'_>) {
    let usable = checking.usable();
    let wanted = format!("#{slug}-results");
    checking.refuse(IssueCode::AnchorMissing, "task", &wanted, usable.iter().map(String::as_str));
}

fn find(slug: &Slug, scope: &Scope, notes: &Diagnostics) -> Found {
    if scope.is_repeated(slug) {
        return Found::Repeated;
    }
    if let Some(at) = scope.at(slug) {
        return Found::Exact(at);
    }
    if scope.dropped.contains(slug) {
        return Found::Dropped;
    }
    if let Some(at) = by_list_number(slug, scope) {
        return Found::Near(at);
    }
    let text = slug.as_str();
    let trimmed = text.strip_suffix("-results").or_else(|| text.strip_suffix("-md")).unwrap_or(text);
    if let Some(at) = scope.at(&Slug::new(trimmed)) {
        return Found::Near(at);
    }
    if !notes.may_compare(scope.producers().len()) {
        return Found::None;
    }
    let fits = |other: &Slug| {
        let other = other.as_str();
        other.len().abs_diff(trimmed.len()) <= 6 && near_slug(other, trimmed)
    };
    let tasks = scope.producers().iter().enumerate();
    let mut fitting = tasks.filter(|(_, task)| task.slug.as_ref().is_some_and(fits)).map(|(at, _)| at);
    match (fitting.next(), fitting.next()) {
        (Some(at), None) => Found::Near(at),
        (Some(_), Some(_)) => Found::Tie,
        _ => Found::None,
    }
}

/// Within two edits, but never from one number to another: `read-docs-2` is not `read-docs-1` written wrong.
fn near_slug(a: &str, b: &str) -> bool {
    let split = |text: &str| -> (usize, usize) {
        let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
        (stem.trim_end_matches('-').len(), stem.len())
    };
    let ((stem_a, digits_a), (stem_b, digits_b)) = (split(a), split(b));
    let (number_a, number_b) = (a.get(digits_a..).unwrap_or_default(), b.get(digits_b..).unwrap_or_default());
    let numbers = number_a == number_b || number_a.is_empty() || number_b.is_empty();
    let (stem_a, stem_b) = (a.get(..stem_a).unwrap_or_default(), b.get(..stem_b).unwrap_or_default());
    numbers && stem_a.len() >= 4 && within(stem_a, stem_b, 2)
}

/// The list's number of a task where the per-skill number belongs: `#write-docs-3` for the third task of the list, if
/// that is `write-docs-1`; also `#task-3`.
fn by_list_number(slug: &Slug, scope: &Scope) -> Option<usize> {
    let (stem, number) = slug.as_str().rsplit_once('-')?;
    let number: usize = number.parse().ok()?;
    let at = number.checked_sub(1)?;
    let index = scope.listed(at)?;
    let other = scope.producers().get(index)?.slug.as_ref()?;
    let same_stem = other
        .as_str()
        .rsplit_once('-')
        .is_some_and(|(head, tail)| head == stem && tail.bytes().all(|byte| byte.is_ascii_digit()));
    (same_stem || stem == "task").then_some(index)
}

/// Not itself, not a later step, and of the same step only if the caller splits it.
fn in_order(at: usize, producer: &Producer, checking: &mut Checking<'_>) -> Option<()> {
    let scope = checking.scope;
    if scope.own == Some(at) {
        let usable = checking.usable();
        checking.refuse(IssueCode::SelfReference, "", "", usable.iter().map(String::as_str));
        return None;
    }
    let fits =
        producer.done || producer.step.is_some_and(|step| step < scope.step || scope.same_step && step == scope.step);
    if !fits {
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

/// The heading as its key, mended if exactly one is near; unchecked while the output does not exist.
fn section(heading: &str, producer: &Producer, checking: &mut Checking<'_>) -> Option<String> {
    let key = heading_key(heading);
    if !producer.done || producer.headings.contains(&key) {
        return Some(key);
    }
    let near: Vec<&String> = producer.headings.iter().filter(|known| within(known, &key, 2)).collect();
    if let [only] = near.as_slice() {
        let target = Target::TaskOutput { slug: producer.slug.clone()?, heading: Some((*only).clone()) };
        checking.repaired(RepairCode::SlugNear, &target);
        return Some((*only).clone());
    }
    checking.refuse(IssueCode::AnchorMissing, "heading", &key, producer.headings.iter().map(String::as_str));
    None
}
