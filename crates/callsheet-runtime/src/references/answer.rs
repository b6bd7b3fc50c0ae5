//! Answering what reading must know of the project (the `Lookup` and `Answer` of core).

use callsheet_core::reply::near::nearest;
use callsheet_core::reply::{Answer, Answers, Candidates, FileFacts, Lookup};
use callsheet_core::sheet::{find_heading, headings};
use callsheet_core::spec::{Fragment, tokens};

use crate::paths::{Located, PathFault, Workspace};

use super::files::{self, Content, TextFile};
use super::language::is_markdown;
use super::project::{CANDIDATES, Project};
use super::render::listing_text;

/// Largest file whose text is given for the validation of changes.
const CONTENT_LIMIT: usize = 16 * 1024 * 1024;

/// Answers every lookup. The project is walked at most once. For each candidate of a missing path the answer to the
/// same lookup of the candidate is given too, so that a reader that takes the only candidate knows its facts.
///
/// `Path` is answered for reading: a protected file has facts like any other. `Content` is answered for writing:
/// `Protected` and `Outside` (the project root alone counts) come before whether the file exists.
pub fn answer<'a>(lookups: impl IntoIterator<Item = &'a Lookup>, workspace: &Workspace) -> Answers {
    let project = Project::new(workspace);
    let mut answers = Answers::new();
    for lookup in lookups {
        let answer = one(lookup, workspace, &project);
        for candidate in candidates(&answer) {
            for path in [candidate.as_str(), candidate.trim_end_matches('/')] {
                let again = match lookup {
                    Lookup::Path { fragment, .. } => {
                        Lookup::Path { path: path.to_owned(), fragment: fragment.clone() }
                    }
                    Lookup::Content(_) => Lookup::Content(path.to_owned()),
                    Lookup::Glob(_) => continue,
                };
                if !answers.contains_key(&again) {
                    let found = one(&again, workspace, &project);
                    answers.insert(again, found);
                }
            }
        }
        answers.insert(lookup.clone(), answer);
    }
    answers
}

fn candidates(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Missing(found) | Answer::Outside(found) => {
            found.without_slash.iter().chain(&found.near).cloned().collect()
        }
        _ => Vec::new(),
    }
}

fn one(lookup: &Lookup, workspace: &Workspace, project: &Project<'_>) -> Answer {
    match lookup {
        Lookup::Path { path, fragment } => {
            let found = workspace.locate(path).and_then(|located| facts(workspace, &located, fragment.as_ref()));
            found.map_or_else(|fault| refusal(&fault, path, workspace, project), Answer::File)
        }
        Lookup::Glob(pattern) => Answer::Matches(project.matches(pattern)),
        Lookup::Content(path) => {
            let found = workspace.locate_writable(path).and_then(|located| content(workspace, &located));
            found.map_or_else(|fault| refusal(&fault, path, workspace, project), Answer::Content)
        }
    }
}

fn refusal(fault: &PathFault, path: &str, workspace: &Workspace, project: &Project<'_>) -> Answer {
    match fault {
        PathFault::Missing(_) => Answer::Missing(Candidates {
            without_slash: without_slash(path, workspace),
            near: project.near(path),
        }),
        // A path that exists elsewhere was meant as it is written: nothing in the project stands for it.
        PathFault::Outside(_) if workspace.exists_outside(path) => Answer::Outside(Candidates::default()),
        PathFault::Outside(_) => Answer::Outside(Candidates {
            without_slash: without_slash(path, workspace),
            near: if path.starts_with('/') { project.near(path) } else { Vec::new() },
        }),
        PathFault::Protected(_) => Answer::Protected,
        PathFault::Unreadable { reason, .. } | PathFault::Unwritable { reason, .. } => {
            Answer::Unreadable(reason.clone())
        }
    }
}

fn without_slash(path: &str, workspace: &Workspace) -> Option<String> {
    let stripped = path.strip_prefix('/')?.trim_start_matches('/');
    let located = workspace.locate(stripped).ok().filter(|located| located.base == 0 && located.path() != ".")?;
    Some(located.path().to_owned())
}

/// The text of a file as changes are composed from it: only text that is UTF-8 can be given back unchanged.
fn content(workspace: &Workspace, located: &Located) -> Result<String, PathFault> {
    let unreadable =
        |reason: &str| PathFault::Unreadable { path: located.path().to_owned(), reason: reason.to_owned() };
    let read = workspace.read(located, CONTENT_LIMIT)?;
    if read.truncated {
        return Err(unreadable("it is larger than 16 MiB"));
    }
    if read.is_binary() {
        return Err(unreadable("it is a binary file"));
    }
    String::from_utf8(read.bytes).map_err(|_| unreadable("its text is not UTF-8"))
}

/// Facts of what exists.
fn facts(workspace: &Workspace, located: &Located, fragment: Option<&Fragment>) -> Result<FileFacts, PathFault> {
    let path = located.path().to_owned();
    let anchor = match fragment {
        Some(Fragment::Anchor(anchor)) => Some(anchor.as_str()),
        _ => None,
    };
    Ok(match files::read(workspace, located, None)? {
        Content::Directory(listing) => FileFacts {
            path,
            directory: true,
            tokens: tokens(&listing_text(&listing)),
            fragment_exists: anchor.map(|_| false),
            ..FileFacts::default()
        },
        Content::Binary { bytes } => FileFacts { path, binary: true, bytes, ..FileFacts::default() },
        Content::Text(text) => {
            let mut facts = FileFacts {
                path,
                bytes: text.bytes,
                lines: text.excerpt.total,
                tokens: text.excerpt.tokens(),
                ..FileFacts::default()
            };
            match fragment {
                None => {}
                Some(Fragment::Lines { first, last }) => {
                    facts.tokens = range_tokens(workspace, located, &text, (*first, *last))?;
                }
                Some(Fragment::Anchor(anchor)) => anchor_facts(&mut facts, &text, anchor),
            }
            facts
        }
    })
}

fn range_tokens(
    workspace: &Workspace,
    located: &Located,
    text: &TextFile,
    (first, last): (u32, u32),
) -> Result<u32, PathFault> {
    if text.complete {
        return Ok(super::Excerpt::lines(&text.excerpt.head, first, last).tokens());
    }
    match files::read(workspace, located, Some((first, last)))? {
        Content::Text(part) => Ok(part.excerpt.tokens()),
        _ => Ok(0),
    }
}

fn anchor_facts(facts: &mut FileFacts, text: &TextFile, anchor: &str) {
    if !is_markdown(&facts.path) || !text.complete {
        facts.symbols_unsupported = true;
        return;
    }
    let all = headings(&text.excerpt.head);
    match find_heading(&all, anchor) {
        Some(heading) => {
            facts.fragment_exists = Some(true);
            facts.tokens = super::Excerpt::lines(&text.excerpt.head, heading.first, heading.last).tokens();
        }
        None => {
            facts.fragment_exists = Some(false);
            facts.anchors = nearest(anchor, all.iter().map(|heading| heading.slug.as_str()), CANDIDATES);
        }
    }
}
