//! Answers what reading must know about the project (the `Lookup` and `Answer` of core).

use std::path::Path;

use callsheet_core::nouns::{Fragment, tokens};
use callsheet_format::reading::{Answer, Answers, Candidates, FileFacts, Lookup};

use crate::issues::path_reason;
use crate::paths::{EntryKind, Located, PathFault, Workspace};
use crate::ports::{
    Documents, NoDocuments, NoOutline, NoResources, Outline, Resource, ResourceFault, Resources, ShownPicture,
};

use super::files::{self, Content, TextFile};
use super::large::LargeFiles;
use super::parts::{FragmentTarget, part_of};
use super::project::Project;
use super::render::listing_text;

/// The largest file whose text is used to validate changes.
const CONTENT_LIMIT: usize = 16 * 1024 * 1024;

/// Answers every lookup. The project is walked at most once. Further answers are added. The first is the same lookup for
/// each candidate of a missing path, so that a reader that chooses the only candidate knows its facts. The second is the
/// same lookup under the canonical path, if that is a different text.
///
/// `Path` is answered for reading: a protected file has facts like any other. `Content` is answered for writing:
/// `Protected` and `Outside` (only the project root counts) have priority over whether the file exists.
pub fn answer<'a>(lookups: impl IntoIterator<Item = &'a Lookup>, disk: Disk<'_>) -> Answers {
    let workspace = disk.workspace;
    let disk = Asked { disk, project: Project::new(workspace) };
    let mut answers = Answers::new();
    for lookup in lookups {
        let answer = disk.one(lookup);
        for candidate in candidates(&answer) {
            for path in [candidate.as_str(), candidate.trim_end_matches('/')] {
                if let Some(again) = of_path(lookup, path) {
                    answers.entry(again).or_insert_with_key(|again| disk.one(again));
                }
            }
        }
        if let Some(again) = canonical(lookup, &answer, workspace).and_then(|path| of_path(lookup, &path)) {
            answers.entry(again).or_insert_with(|| answer.clone());
        }
        answers.insert(lookup.clone(), answer);
    }
    answers
}

/// The same lookup for another path.
fn of_path(lookup: &Lookup, path: &str) -> Option<Lookup> {
    match lookup {
        Lookup::Path { fragment, .. } => Some(Lookup::Path { path: path.to_owned(), fragment: fragment.clone() }),
        Lookup::Content(_) => Some(Lookup::Content(path.to_owned())),
        Lookup::Symbols(_) => Some(Lookup::Symbols(path.to_owned())),
        Lookup::Glob(_) | Lookup::Resource { .. } | Lookup::Call { .. } => None,
    }
}

/// The canonical path of what a lookup found.
fn canonical(lookup: &Lookup, answer: &Answer, workspace: &Workspace) -> Option<String> {
    match (lookup, answer) {
        (Lookup::Path { .. }, Answer::File(facts)) => Some(facts.path.clone()),
        (Lookup::Content(path), Answer::Content(_)) => Some(workspace.locate_writable(path).ok()?.path().to_owned()),
        _ => None,
    }
}

fn candidates(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Missing(found) | Answer::Outside(found) => {
            found.without_slash.iter().chain(&found.respelled).chain(&found.near).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// The project on disk, and what is known about its files.
#[derive(Clone, Copy)]
pub struct Disk<'a> {
    /// The confined project.
    pub workspace: &'a Workspace,
    /// Symbols of code files.
    pub outline: &'a dyn Outline,
    /// Texts of PDF and office files.
    pub documents: &'a dyn Documents,
    /// Large files that were already read.
    pub large: &'a LargeFiles,
    /// Resources of servers.
    pub resources: &'a dyn Resources,
}

impl<'a> Disk<'a> {
    /// A project in which only text files are read, and code has no symbols. It has no servers.
    pub fn of_text(workspace: &'a Workspace, large: &'a LargeFiles) -> Self {
        Self { workspace, outline: &NoOutline, documents: &NoDocuments, large, resources: &NoResources }
    }
}

/// The current project, walked at most once.
struct Asked<'a> {
    disk: Disk<'a>,
    project: Project<'a>,
}

impl Asked<'_> {
    fn one(&self, lookup: &Lookup) -> Answer {
        match lookup {
            Lookup::Path { path, fragment } => {
                let found = self.disk.workspace.locate(path);
                let facts = found.and_then(|located| self.facts(&located, fragment.as_ref()));
                let link = self.disk.workspace.is_link(path);
                facts.map_or_else(
                    |fault| self.refusal(&fault, lookup, path),
                    |facts| Answer::File(FileFacts { link, ..facts }),
                )
            }
            Lookup::Glob(pattern) => Answer::Matches(self.project.matches(pattern)),
            Lookup::Content(path) => {
                self.content(path).map_or_else(|fault| self.refusal(&fault, lookup, path), Answer::Content)
            }
            Lookup::Symbols(path) => match self.content(path) {
                Ok(text) => self.disk.outline.outline(path, &text).map_or(Answer::NoSymbols, Answer::Symbols),
                Err(fault) => self.refusal(&fault, lookup, path),
            },
            Lookup::Resource { server, uri } => match self.disk.resources.read(server, uri) {
                Ok(Resource::Text(page)) => Answer::File(FileFacts {
                    path: uri.clone(),
                    bytes: page.text.len() as u64,
                    tokens: tokens(&page.text),
                    ..FileFacts::default()
                }),
                Ok(Resource::Picture(ShownPicture { about, .. })) => Answer::File(FileFacts {
                    path: uri.clone(),
                    picture: true,
                    binary: true,
                    bytes: about.bytes,
                    tokens: about.tokens(),
                    ..FileFacts::default()
                }),
                Err(ResourceFault::Missing(near)) => Answer::Missing(Candidates { near, ..Candidates::default() }),
                Err(ResourceFault::Unreadable(reason)) => Answer::Unreadable(reason),
            },
            // Tools are not on disk.
            Lookup::Call { .. } => Answer::Startable,
        }
    }

    fn refusal(&self, fault: &PathFault, lookup: &Lookup, path: &str) -> Answer {
        let without_slash = || without_slash(path, lookup, self.disk.workspace);
        match fault {
            PathFault::Missing(_) => {
                let respelled = self.disk.workspace.respelled(path).map(|located| located.path().to_owned());
                Answer::Missing(Candidates { without_slash: without_slash(), respelled, near: self.project.near(path) })
            }
            // A path that exists elsewhere was meant as written. Nothing in the project replaces it.
            PathFault::Outside(_) if self.disk.workspace.exists_outside(path) => Answer::Outside(Candidates::default()),
            PathFault::Outside(_) => {
                let found = Candidates {
                    without_slash: without_slash(),
                    respelled: None,
                    near: if path.starts_with('/') { self.project.near(path) } else { Vec::new() },
                };
                // There is nothing at that path; a path in the project was meant (repair `path-leading-slash`).
                if found.without_slash.is_some() { Answer::Missing(found) } else { Answer::Outside(found) }
            }
            PathFault::Protected(_) => Answer::Protected,
            PathFault::Unreadable { reason, .. } | PathFault::Unwritable { reason, .. } => {
                Answer::Unreadable(reason.clone())
            }
        }
    }

    /// The text of a file from which changes are composed.
    fn content(&self, path: &str) -> Result<String, PathFault> {
        self.disk.workspace.locate_writable(path).and_then(|located| content(self.disk.workspace, &located))
    }

    /// Facts of what exists.
    fn facts(&self, located: &Located, fragment: Option<&Fragment>) -> Result<FileFacts, PathFault> {
        let path = located.path().to_owned();
        let (lines, anchor) = match fragment {
            None => (None, None),
            Some(Fragment::Lines { first, last }) => (Some((*first, *last)), None),
            Some(Fragment::Anchor(anchor)) => (None, Some(anchor)),
        };
        Ok(match files::read(self.disk, located, lines)? {
            Content::Directory(listing) => FileFacts {
                path,
                directory: true,
                tokens: tokens(&listing_text(&listing)),
                fragment_exists: anchor.map(|_| false),
                ..FileFacts::default()
            },
            Content::Binary { bytes } => FileFacts { path, binary: true, bytes, ..FileFacts::default() },
            Content::Picture(about, content) => FileFacts {
                path,
                picture: content.is_some(),
                binary: true,
                bytes: about.bytes,
                tokens: content.map_or(0, |_| about.tokens()),
                ..FileFacts::default()
            },
            Content::Text(text) => {
                let mut facts = FileFacts {
                    path,
                    bytes: text.bytes,
                    lines: text.excerpt.total,
                    tokens: text.excerpt.tokens(),
                    ..FileFacts::default()
                };
                if let Some(anchor) = anchor {
                    self.anchor_facts(&mut facts, &text, anchor);
                }
                facts
            }
        })
    }

    fn anchor_facts(&self, facts: &mut FileFacts, text: &TextFile, anchor: &str) {
        let part = match part_of(&facts.path, text, anchor, self.disk.outline) {
            None => {
                facts.symbols_unsupported = true;
                return;
            }
            Some(part) => part,
        };
        facts.fragment_exists = Some(matches!(part, FragmentTarget::Lines { .. }));
        facts.fragment_ambiguous = matches!(part, FragmentTarget::Several(_));
        match part {
            FragmentTarget::Lines { first, last } => {
                facts.tokens = super::Excerpt::lines(&text.excerpt.head, first, last).tokens();
            }
            FragmentTarget::Several(names) | FragmentTarget::Missing(names) => facts.anchors = names,
        }
    }
}

/// The path without its leading slash, if it exists in the project; for writing, if its directory does.
fn without_slash(path: &str, lookup: &Lookup, workspace: &Workspace) -> Option<String> {
    let stripped = path.strip_prefix('/')?.trim_start_matches('/');
    if matches!(lookup, Lookup::Content(_)) {
        // An absolute path of a new file in the project means its path in the project.
        let inside = Path::new(path).strip_prefix(workspace.root()).ok().and_then(Path::to_str);
        let stripped = inside.filter(|inside| !inside.is_empty()).unwrap_or(stripped);
        let located = workspace.locate_writable(stripped).ok()?;
        let parent = stripped.trim_end_matches('/').rsplit_once('/').map_or(".", |(parent, _)| parent);
        let parent = workspace.locate(parent).ok()?;
        return (workspace.kind(&parent).ok()? == EntryKind::Directory).then(|| located.path().to_owned());
    }
    let located = workspace.locate(stripped).ok().filter(|located| located.base == 0 && located.path() != ".")?;
    Some(located.path().to_owned())
}

/// The text of a file. Only UTF-8 text can be written back unchanged.
fn content(workspace: &Workspace, located: &Located) -> Result<String, PathFault> {
    let unreadable = |reason: String| PathFault::Unreadable { path: located.path().to_owned(), reason };
    let read = workspace.read(located, CONTENT_LIMIT)?;
    if read.truncated {
        return Err(unreadable(path_reason("too-large")));
    }
    if read.is_binary() {
        return Err(unreadable(path_reason("binary")));
    }
    String::from_utf8(read.bytes).map_err(|_| unreadable(path_reason("not-utf8")))
}
