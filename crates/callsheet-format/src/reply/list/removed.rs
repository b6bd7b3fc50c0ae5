//! The tasks under `Removed tasks` (spec 3.5), one per line: the name of an unfinished task and a reason. A line
//! without both removes nothing, which is reported.

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::record::Removal;

use crate::reading::{Diagnostics, KnownTask, ReadContext, numbered_start};
use crate::reply::references::is_none;

/// The task whose name begins the line (the longest such name), and the text after it. `Task 3` is enough if only one
/// name begins like this.
pub(super) fn read(text: &str, first: u32, context: &ReadContext, removed: &mut Vec<Removal>, notes: &mut Diagnostics) {
    for (number, line) in (first..).zip(text.lines()) {
        let line = line.trim().trim_start_matches(['-', '*', '+', ' ']);
        if !line.chars().any(char::is_alphanumeric) || is_none(line) {
            continue;
        }
        let Some((known, rest)) = named(line, context) else {
            ignored("", line, number, context, notes);
            continue;
        };
        let reason = rest.trim_matches(|c: char| !c.is_alphanumeric() && !"\"'`(.)!?".contains(c)).trim();
        if known.done {
            ignored("done", line, number, context, notes);
        } else if !reason.chars().any(char::is_alphanumeric) {
            ignored("reason", line, number, context, notes);
        } else if removed.iter().all(|removal| removal.task != known.task.slug) {
            removed.push(Removal { task: known.task.slug.clone(), reason: reason.to_owned() });
        }
    }
}

fn ignored(variant: &str, line: &str, number: u32, context: &ReadContext, notes: &mut Diagnostics) {
    let issue = notes.issue(IssueCode::RemovalIgnored, variant, Span::line(number), &[("line", line)]).warning();
    let open = context.tasks.iter().filter(|known| !known.done).map(|known| known.task.name.as_str());
    notes.push(if variant.is_empty() { issue.allowed(line, open) } else { issue });
}

/// The text after the target of a link, if the name was a link.
fn named<'a, 'l>(line: &'l str, context: &'a ReadContext) -> Option<(&'a KnownTask, &'l str)> {
    let bare = line.trim_start_matches(['*', '[', '`', '"', '_', ' ']);
    let begins = |name: &str| {
        let head = bare.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name))?;
        let rest = bare.get(head.len()..)?;
        (!rest.starts_with(char::is_alphanumeric)).then(|| behind_link(rest))
    };
    let whole = context.tasks.iter().filter_map(|known| Some((known, begins(&known.task.name)?)));
    let whole = whole.max_by_key(|(known, _)| known.task.name.len());
    whole.or_else(|| {
        let short = |known: &'a KnownTask| {
            let number = numbered_start(&known.task.slug)?;
            Some((known, begins(&number.as_str().replacen("task-", "Task ", 1))?))
        };
        let mut found = context.tasks.iter().filter(|known| !known.done).filter_map(short);
        found.next().filter(|_| found.next().is_none())
    })
}

/// The text after the target of a link. If the name was not a link, the whole rest.
fn behind_link(rest: &str) -> &str {
    let link = rest.trim_start_matches(['*', '`', '_']).strip_prefix("](");
    link.and_then(|target| target.split_once(')')).map_or(rest, |(_, behind)| behind)
}
