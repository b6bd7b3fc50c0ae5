//! References to files and directories (spec 5.3-5.6), answered by lookups.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use callsheet_core::issue::{IssueCode, RepairCode};
use callsheet_core::links::path_link;
use callsheet_core::nouns::{Fragment, Target};
use callsheet_core::symbols::is_symbol_suffix;

use crate::reading::{Answer, Candidates, FileFacts, Lookup};

use super::check::Checking;

/// Checks that a path and the named part of it exist.
pub(super) fn check(
    path: String,
    fragment: Option<Fragment>,
    directory: bool,
    checking: &mut Checking<'_>,
) -> Option<(Target, u32)> {
    let context = checking.context;
    let lookup = Lookup::Path { path, fragment };
    let answer = context.answers.get(&lookup);
    if answer.is_none() {
        checking.notes.answer(context, lookup.clone());
    }
    let Lookup::Path { path, fragment } = lookup else { return None };
    match answer {
        None => {
            checking.refuse(IssueCode::LookupMissing, "", &path, []);
            None
        }
        Some(Answer::File(facts)) => file(facts, fragment, checking),
        Some(Answer::Missing(candidates)) => missing(path, fragment, directory, candidates, checking),
        Some(Answer::Outside(candidates)) => {
            let near: Vec<&str> = candidates.without_slash.iter().chain(&candidates.near).map(String::as_str).collect();
            checking.refuse(IssueCode::OutsideProject, "", &path, near);
            None
        }
        Some(Answer::Unreadable(reason)) => {
            let issue = checking.issue(IssueCode::FileUnreadable, "", &[("reason", reason)]);
            checking.notes.push(issue);
            None
        }
        // Protected paths may be read. The shell says nothing else about them.
        Some(_) if directory => Some((Target::Directory(path), 0)),
        Some(_) => Some((Target::File { path, fragment }, 0)),
    }
}

fn file(facts: &FileFacts, fragment: Option<Fragment>, checking: &mut Checking<'_>) -> Option<(Target, u32)> {
    if facts.directory {
        if fragment.is_some() {
            checking.refuse(IssueCode::AnchorMissing, "directory", &facts.path, []);
            return None;
        }
        return Some((Target::Directory(facts.path.clone()), facts.tokens));
    }
    if facts.binary && !facts.picture {
        let issue = checking.issue(IssueCode::Binary, "", &[]).warning();
        checking.notes.push(issue);
    }
    let (fragment, clamped) = match fragment {
        Some(Fragment::Lines { first, last }) => {
            let (part, clamped) = lines(first, last, facts, checking)?;
            (Some(part), clamped)
        }
        Some(Fragment::Anchor(text)) => (Some(anchor(text, facts, checking)?), false),
        None => (None, false),
    };
    let target = Target::File { path: facts.path.clone(), fragment };
    if clamped {
        checking.repaired(RepairCode::LinesClamped, &target);
    }
    Some((target, facts.tokens))
}

fn lines(first: u32, last: u32, facts: &FileFacts, checking: &mut Checking<'_>) -> Option<(Fragment, bool)> {
    // A binary file has no countable lines.
    if !facts.binary && first > facts.lines {
        if not_yet(&facts.path, false, checking) {
            return Some((Fragment::Lines { first, last }, false));
        }
        let issue = checking.issue(IssueCode::LinesOutOfRange, "", &[("lines", &facts.lines.to_string())]);
        checking.notes.push(issue);
        return None;
    }
    let end = if facts.binary { last } else { last.min(facts.lines) };
    Some((Fragment::Lines { first, last: end }, end != last))
}

fn anchor(text: String, facts: &FileFacts, checking: &mut Checking<'_>) -> Option<Fragment> {
    if facts.symbols_unsupported {
        checking.refuse(IssueCode::SymbolUnsupported, "", &text, []);
        return None;
    }
    if facts.fragment_exists != Some(false) {
        return Some(Fragment::Anchor(text));
    }
    let anchors = &facts.anchors;
    let suffixes = anchors.iter().filter(|full| is_symbol_suffix(&text, full)).count();
    if suffixes > 1 || facts.fragment_ambiguous {
        checking.refuse(IssueCode::SymbolAmbiguous, "", &text, anchors.iter().map(String::as_str));
        return None;
    }
    if not_yet(&facts.path, false, checking) {
        return Some(Fragment::Anchor(text));
    }
    let code = if is_markdown(&facts.path) { IssueCode::AnchorMissing } else { IssueCode::SymbolNotFound };
    let variant = if anchors.is_empty() { "none" } else { "file" };
    checking.refuse(code, variant, &text, anchors.iter().map(String::as_str));
    None
}

fn is_markdown(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "md" | "markdown" | "mdx"))
}

/// Handles a missing path: repaired if exactly one other path is meant, accepted if an earlier task may create it.
fn missing(
    path: String,
    fragment: Option<Fragment>,
    directory: bool,
    candidates: &Candidates,
    checking: &mut Checking<'_>,
) -> Option<(Target, u32)> {
    let waits = checking.scope.may_come(&path, directory);
    if let Some(inside) = &candidates.without_slash {
        return repaired(inside.clone(), fragment, RepairCode::PathLeadingSlash, checking);
    }
    if let Some(other) = &candidates.respelled {
        return repaired(other.clone(), fragment, RepairCode::PathSpelling, checking);
    }
    if let [only] = candidates.near.as_slice()
        && !checking.notes.is_by_hand()
        && is_near(&path, only)
        && (!waits || same_but_case(&path, only))
    {
        return repaired(only.clone(), fragment, RepairCode::PathNear, checking);
    }
    if waits {
        not_yet(&path, directory, checking);
        let target = if directory { Target::Directory(path) } else { Target::File { path, fragment } };
        return Some((target, 0));
    }
    // Shown as a link to it would be written: a name may look like something else, or like the rejected one.
    let near: Vec<String> = candidates.near.iter().map(|path| path_link(path)).collect();
    checking.refuse(IssueCode::FileMissing, "", &path, near.iter().map(String::as_str));
    None
}

/// Warns about a file that an earlier task must still create, if one may create it (spec 5.5).
fn not_yet(path: &str, directory: bool, checking: &mut Checking<'_>) -> bool {
    let waits = checking.scope.may_come(path, directory);
    if waits {
        let issue = checking.issue(IssueCode::NotYet, "", &[]).warning();
        checking.notes.push(issue);
    }
    waits
}

/// Prompts with example paths, which small models copy.
const PROMPTS: &[&str] = &[include_str!("../../../prompts/task_creation_initial.md")];

/// Code spans of those prompts that may be paths, without their fragments.
static EXAMPLES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let spans = PROMPTS.iter().flat_map(|prompt| prompt.lines()).flat_map(|line| line.split('`').skip(1).step_by(2));
    let paths = spans.filter(|span| span.contains(['.', '/']) && !span.starts_with('#') && !span.contains(' '));
    paths.filter_map(|path| path.split('#').next()).map(|path| path.trim_end_matches('/')).collect()
});

/// Whether an existing path may be meant by a missing one (repair `path-near`): it has the same extension, because
/// `main.ts` is not a misspelled `main.rs`, and the missing path is not an example from a prompt.
pub fn is_near(path: &str, other: &str) -> bool {
    let ending = |path: &str| {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase())
    };
    let path = path.trim_start_matches("./").trim_end_matches('/');
    ending(path) == ending(other) && !EXAMPLES.contains(path)
}

/// Whether the paths are spellings of the same file, instead of a similar name for a file that is still to be created.
fn same_but_case(path: &str, other: &str) -> bool {
    let (path, other) = (path.to_lowercase(), other.to_lowercase());
    path == other || other.ends_with(&format!("/{path}"))
}

/// Replaces what was written by the candidate. Uses the candidate's own facts once they are known; without a fragment
/// its existence is enough.
fn repaired(
    path: String,
    fragment: Option<Fragment>,
    code: RepairCode,
    checking: &mut Checking<'_>,
) -> Option<(Target, u32)> {
    let lookup = Lookup::Path { path: path.clone(), fragment: fragment.clone() };
    let answer = checking.notes.answer(checking.context, lookup);
    let (target, tokens) = match (answer, &fragment) {
        (Some(Answer::File(facts)), _) => file(facts, fragment, checking)?,
        (_, None) => (Target::File { path, fragment: None }, 0),
        _ => {
            checking.refuse(IssueCode::LookupMissing, "", &path, []);
            return None;
        }
    };
    checking.repaired(code, &target);
    Some((target, tokens))
}
