//! Finds what one reference means.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::fuzzy::nearest;
use callsheet_core::issue::{Issue, IssueCode, Severity};
use callsheet_core::links::parse_target;
use callsheet_core::nouns::{BlobId, Fragment, Phase, Picture, PlanPart, Slug, Target};
use callsheet_format::prompt::Excerpt;

use crate::issues::Finding;
use crate::paths::{EntryKind, Located, PathFault, Workspace};
use crate::pictures::words;
use crate::ports::{Page, Resource, ResourceFault, ShownPicture};
use crate::rules::FILES;

use super::answer::Disk;
use super::files::{self, Content, TextFile};
use super::language::{is_markdown, language};
use super::large::LargeFiles;
use super::overview::overview;
use super::parts::{FragmentTarget, part_of};
use super::project::{CANDIDATES, Project};
use super::render::{Mark, anchors, binary_text, listing_text, marked_headings, section, without_marked};
use super::resolve::{Level, Request, Sources};
use super::sources::{Output, TaskOutput};

/// The maximum number of task sections that are searched for candidates.
const SECTIONS: u32 = 100;

/// How much of a piece a preview shows (spec 5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The first 20 lines.
    Whole,
    /// The first 30 lines.
    Part,
    /// All of it.
    Fixed,
}

/// The content of one reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Equal for references with the same content.
    pub(super) identity: String,
    pub(super) language: &'static str,
    pub(super) excerpt: Excerpt,
    pub(super) extent: Extent,
    /// The project file that it comes from, with the hash of the whole file.
    pub(super) file: Option<(String, BlobId)>,
    /// Whether sections that are no longer relevant were left out.
    pub(super) shortened: bool,
    /// What a person skipped or undid in the output that contains it. This is never cut.
    pub(super) rejected: String,
    /// A picture to show. The excerpt is what is said of it without it.
    pub(super) picture: Option<ShownPicture>,
    /// For a folder: its files, in the order in which they are shown as far as there is room.
    pub(super) inside: Vec<Piece>,
}

/// Looks up references for one request.
pub(super) struct Gatherer<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) sources: &'a Sources<'a>,
    project: Project<'a>,
    /// Why pages could not be fetched, by address: the key of the words and the reason.
    refused_pages: &'a std::collections::BTreeMap<String, (IssueCode, &'static str, String)>,
    pub(super) issues: Vec<Issue>,
    /// Whether a picture was left out because the model sees none.
    pub(super) unseen: bool,
    /// Pictures that are too large.
    pub(super) too_large: Vec<String>,
}

/// `None` if there is nothing to show. If that is a fault, the issues say why.
type Found = Option<Piece>;

impl<'a> Gatherer<'a> {
    pub(super) fn new(
        request: &'a Request<'a>,
        sources: &'a Sources<'a>,
        refused_pages: &'a std::collections::BTreeMap<String, (IssueCode, &'static str, String)>,
    ) -> Self {
        let project = Project::new(sources.disk.workspace);
        Self { request, sources, project, refused_pages, issues: Vec::new(), unseen: false, too_large: Vec::new() }
    }

    pub(super) fn piece(&mut self, target: &Target) -> Found {
        let link = target.to_string();
        match target {
            Target::ProjectDescription => self.description(&link),
            Target::CurrentFile(fragment) => match self.sources.current_file {
                Some(path) => self.file(&link, path, fragment.as_ref()),
                None => {
                    self.warn(IssueCode::NoCurrentFile, "no-current-file", &link);
                    None
                }
            },
            Target::Plan(part) => self.plan(&link, part),
            Target::TaskOutput { slug, heading } => self.output(&link, slug, heading.as_deref()),
            Target::TaskDetail { slug, file } => self.detail(&link, slug, file),
            Target::PromptHeading(anchor) => self.prompt_heading(&link, anchor),
            Target::File { path, fragment } => self.file(&link, path, fragment.as_ref()),
            Target::Directory(path) => self.file(&link, path, None),
            Target::Http(url) => self.page(&link, url),
            Target::Resource { server, uri } => self.resource(&link, server, uri),
        }
    }

    fn description(&mut self, link: &str) -> Found {
        let workspace = self.sources.disk.workspace;
        match description_file(workspace) {
            Some(located) => self.located(link, &located, None),
            None => Some(Piece::of(link, "markdown", Excerpt::whole(overview(workspace, true)?), Extent::Whole)),
        }
    }

    fn plan(&mut self, link: &str, part: &PlanPart) -> Found {
        let text = match part {
            PlanPart::OriginalPrompt => self.sources.texts.prompts().into_iter().next(),
            _ => self.sources.texts.plan(part),
        };
        let Some(text) = text else {
            let parts = self.plan_parts();
            let allowed = nearest(link, parts.iter().map(String::as_str), CANDIDATES);
            self.error(IssueCode::ReferenceInvalid, "plan-missing", link, &[], allowed);
            return None;
        };
        let language = if *part == PlanPart::OriginalPrompt { "text" } else { "markdown" };
        Some(Piece::of(link, language, Excerpt::whole(text), Extent::Whole))
    }

    /// The existing parts of the plan.
    fn plan_parts(&self) -> Vec<String> {
        let sections = (1..=SECTIONS).map(PlanPart::Section).take_while(|part| self.sources.texts.plan(part).is_some());
        [PlanPart::OriginalPrompt, PlanPart::Goals]
            .into_iter()
            .chain(sections)
            .map(|part| Target::Plan(part).to_string())
            .collect()
    }

    fn prompt_heading(&mut self, link: &str, anchor: &str) -> Found {
        let prompts = self.sources.texts.prompts();
        for prompt in &prompts {
            if let Some((first, last)) = section(prompt, anchor) {
                return Some(Piece::of(link, "markdown", Excerpt::lines(prompt, first, last), Extent::Part));
            }
        }
        let known: Vec<String> = prompts.iter().flat_map(|prompt| anchors(prompt)).collect();
        let allowed = nearest(anchor, known.iter().map(String::as_str), CANDIDATES);
        self.error(IssueCode::AnchorMissing, "prompt-anchor-missing", link, &[("anchor", anchor)], allowed);
        None
    }

    /// The output of a done task, or an issue.
    fn done(&mut self, link: &str, slug: &Slug) -> Option<TaskOutput> {
        match self.sources.texts.output(slug) {
            Output::Done(output) => return Some(output),
            Output::NotYet => {
                let values = [("slug", slug.as_str())];
                let allowed = self.outputs_near(link);
                self.error(IssueCode::ReferenceOrder, "not-done", link, &values, allowed);
            }
            Output::Unknown => {
                let allowed = self.outputs_near(link);
                self.error(IssueCode::ReferenceInvalid, "output-missing", link, &[], allowed);
            }
        }
        None
    }

    /// Existing outputs, the most similar first.
    fn outputs_near(&self, link: &str) -> Vec<String> {
        let known: Vec<String> = self.sources.texts.outputs().iter().map(|slug| format!("#{slug}-results")).collect();
        nearest(link, known.iter().map(String::as_str), CANDIDATES)
    }

    fn output(&mut self, link: &str, slug: &Slug, heading: Option<&str>) -> Found {
        let output = self.done(link, slug)?;
        let slug = output.slug.as_ref().unwrap_or(slug);
        let Some(heading) = heading else {
            let text = match self.request.level {
                Level::Preview => output.summary,
                Level::Whole => without_marked(&output.document, self.marks_of_output(slug, &output.document)),
            };
            let identity = format!("#{slug}-results");
            return Some(Piece::of(&identity, "markdown", Excerpt::whole(text), Extent::Fixed));
        };
        let Some((first, last)) = section(&output.document, heading) else {
            let known = anchors(&output.document);
            let allowed = nearest(heading, known.iter().map(String::as_str), CANDIDATES);
            let values = [("slug", slug.as_str()), ("anchor", heading)];
            self.error(IssueCode::AnchorMissing, "output-anchor-missing", link, &values, allowed);
            return None;
        };
        let mut excerpt = Excerpt::lines(&output.document, first, last);
        self.warn_of_marked_heading(link, "output.md", &excerpt.head);
        excerpt.head = without_marked(&excerpt.head, inside(self.marks_of_output(slug, &output.document), first, last));
        let rejected =
            if excerpt.head.trim_end().ends_with(output.rejected.trim()) { String::new() } else { output.rejected };
        let piece = Piece::of(&format!("task://{slug}.md#{heading}"), "markdown", excerpt, Extent::Part);
        Some(Piece { rejected, ..piece })
    }

    fn detail(&mut self, link: &str, slug: &Slug, file: &str) -> Found {
        let output = self.done(link, slug)?;
        let slug = output.slug.as_ref().unwrap_or(slug);
        let Some(bytes) = self.sources.texts.detail(slug, file) else {
            let values = [("slug", slug.as_str()), ("file", file)];
            self.error(IssueCode::FileMissing, "detail-missing", link, &values, output.details);
            return None;
        };
        let identity = format!("task://{slug}/{file}");
        if crate::paths::is_binary(&bytes) {
            self.warn(IssueCode::Binary, "binary", link);
            let text = binary_text(bytes.len() as u64);
            let piece = Piece::of(&identity, "text", Excerpt::whole(text), Extent::Fixed);
            return Some(Piece { rejected: output.rejected, ..piece });
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let piece = Piece::of(&identity, language(file), Excerpt::whole(text), Extent::Whole);
        Some(Piece { rejected: output.rejected, ..piece })
    }

    fn page(&mut self, link: &str, url: &str) -> Found {
        if !self.sources.allow_http {
            self.error(IssueCode::HttpRefused, "http-off", link, &[], Vec::new());
            return None;
        }
        if let Some(Page { text, media_type, .. }) = self.sources.pages.cached(url) {
            return Some(Piece::of(link, page_language(&media_type), Excerpt::whole(text), Extent::Whole));
        }
        if let Some((code, words, reason)) = self.refused_pages.get(url) {
            self.error(*code, words, link, &[("reason", reason)], Vec::new());
            return None;
        }
        // It is not fetched yet, so a preview shows only the address.
        Some(Piece::of(link, "text", Excerpt::whole(url), Extent::Fixed))
    }

    fn resource(&mut self, link: &str, server: &str, uri: &str) -> Found {
        match self.sources.disk.resources.read(server, uri) {
            Ok(Resource::Text(Page { text, media_type, .. })) => {
                return Some(Piece::of(link, page_language(&media_type), Excerpt::whole(text), Extent::Whole));
            }
            Ok(Resource::Picture(ShownPicture { about, content })) => {
                return Some(Piece { file: None, ..self.picture(link, link, about, Some(content)) });
            }
            Err(ResourceFault::Missing(near)) => {
                self.error(IssueCode::FileMissing, "resource-missing", link, &[], near);
            }
            Err(ResourceFault::Unreadable(reason)) => {
                self.error(IssueCode::FileUnreadable, "resource-unreadable", link, &[("reason", &reason)], Vec::new());
            }
        }
        None
    }

    fn file(&mut self, link: &str, path: &str, fragment: Option<&Fragment>) -> Found {
        match self.sources.disk.workspace.locate(path) {
            Ok(located) => self.located(link, &located, fragment),
            Err(fault) => {
                self.path_issue(&fault, link, path);
                None
            }
        }
    }

    fn located(&mut self, link: &str, located: &Located, fragment: Option<&Fragment>) -> Found {
        let lines = match fragment {
            Some(Fragment::Lines { first, last }) => Some((*first, *last)),
            _ => None,
        };
        let path = located.path().to_owned();
        match files::read(self.sources.disk, located, lines) {
            Err(fault) => {
                self.path_issue(&fault, link, &path);
                None
            }
            Ok(Content::Directory(listing)) => {
                let text = listing_text(&listing);
                let piece = Piece::of(&format!("{path}/"), "text", Excerpt::whole(text), Extent::Fixed);
                let inside = if self.request.level == Level::Whole { self.inside(located) } else { Vec::new() };
                Some(Piece { inside, ..piece })
            }
            Ok(Content::Binary { bytes }) => {
                self.warn(IssueCode::Binary, "binary", link);
                Some(Piece::of(&path, "text", Excerpt::whole(binary_text(bytes)), Extent::Fixed))
            }
            Ok(Content::Picture(about, content)) => Some(self.picture(link, &path, about, content)),
            Ok(Content::Text(text)) => self.text(link, &path, text, fragment),
        }
    }

    /// A picture, or why it is not shown.
    pub(super) fn picture(&mut self, link: &str, path: &str, about: Picture, content: Option<Arc<[u8]>>) -> Piece {
        let file = Some((path.to_owned(), about.blob.clone()));
        let piece = |key: &str| {
            let said = Excerpt::whole(words(key, &about, 0));
            Piece { file, ..Piece::of(path, "text", said, Extent::Fixed) }
        };
        match (content, self.request.first_picture) {
            (None, _) => {
                self.too_large.push(path.to_owned());
                self.warn(IssueCode::Binary, "picture-too-large", link);
                piece("too-large")
            }
            (Some(_), None) => {
                self.warn(IssueCode::Binary, "picture-unseen", link);
                self.unseen = true;
                piece("unseen")
            }
            (Some(_), Some(_)) if self.request.level == Level::Preview => piece("preview"),
            (Some(content), Some(_)) => {
                let piece = piece("no-room");
                Piece { picture: Some(ShownPicture { about, content }), ..piece }
            }
        }
    }

    pub(super) fn text(&mut self, link: &str, path: &str, text: TextFile, fragment: Option<&Fragment>) -> Found {
        let file = Some((path.to_owned(), text.hash.clone()));
        let piece = |identity: String, excerpt: Excerpt, extent: Extent| {
            let file = file.clone();
            Some(Piece { file, ..Piece::of(&identity, language(path), excerpt, extent) })
        };
        match fragment {
            None if text.complete => {
                let shown = without_marked(&text.excerpt.head, self.marks_of_file(path, &text));
                let shortened = shown != text.excerpt.head;
                let found = piece(path.to_owned(), Excerpt::whole(shown), Extent::Whole);
                found.map(|piece| Piece { shortened, ..piece })
            }
            None => piece(path.to_owned(), text.excerpt, Extent::Whole),
            Some(Fragment::Lines { first, .. }) if *first > text.excerpt.total => {
                let lines = text.excerpt.total.to_string();
                self.missing(IssueCode::LinesOutOfRange, "lines-out-of-range", link, &[("lines", &lines)], Vec::new());
                None
            }
            Some(Fragment::Lines { first, last }) => {
                piece(format!("{path}#L{first}-L{last}"), text.excerpt, Extent::Part)
            }
            Some(Fragment::Anchor(anchor)) => match part_of(path, &text, anchor, self.sources.disk.outline) {
                Some(FragmentTarget::Lines { first, last }) => {
                    let mut excerpt = Excerpt::lines(&text.excerpt.head, first, last);
                    self.warn_of_marked_heading(link, path, &excerpt.head);
                    excerpt.head = without_marked(&excerpt.head, inside(self.marks_of_file(path, &text), first, last));
                    piece(format!("{path}#L{first}-L{last}"), excerpt, Extent::Part)
                }
                Some(FragmentTarget::Several(names)) => {
                    let values = [("anchor", anchor.as_str())];
                    self.error(IssueCode::SymbolAmbiguous, "symbol-ambiguous", link, &values, names);
                    None
                }
                Some(FragmentTarget::Missing(names)) => {
                    let (code, words) = match is_markdown(path) {
                        true => (IssueCode::AnchorMissing, "anchor-missing"),
                        false => (IssueCode::SymbolNotFound, "symbol-not-found"),
                    };
                    self.missing(code, words, link, &[("anchor", anchor)], names);
                    None
                }
                None => {
                    self.error(IssueCode::SymbolUnsupported, "symbol-unsupported", link, &[], Vec::new());
                    None
                }
            },
        }
    }

    /// Warns if a section is shown because a link names it, although its own heading says that it is no longer
    /// relevant.
    fn warn_of_marked_heading(&mut self, link: &str, path: &str, section: &str) {
        if is_markdown(path) && marked_headings(section, str::to_owned).iter().any(|mark| mark.first == 1) {
            self.warn(IssueCode::ReferenceRestricted, "reference-restricted", link);
        }
    }

    /// The parts of a file that are no longer relevant, according to their headings or a listed link (spec 5.10).
    fn marks_of_file(&self, path: &str, text: &TextFile) -> Vec<Mark> {
        let content = &text.excerpt.head;
        let mut marks =
            if is_markdown(path) { marked_headings(content, |anchor| format!("{path}#{anchor}")) } else { Vec::new() };
        for link in self.request.restricted {
            let Ok(Target::File { path: of, fragment: Some(fragment) }) = parse_target(link) else { continue };
            if of != path {
                continue;
            }
            let lines = match &fragment {
                Fragment::Lines { first, last } => Some((*first, *last)),
                Fragment::Anchor(anchor) => match part_of(path, text, anchor, self.sources.disk.outline) {
                    Some(FragmentTarget::Lines { first, last }) => Some((first, last)),
                    _ => None,
                },
            };
            marks.extend(lines.map(|(first, last)| Mark { first, last, link: link.clone() }));
        }
        marks
    }

    fn marks_of_output(&self, slug: &Slug, document: &str) -> Vec<Mark> {
        let mut marks = marked_headings(document, |anchor| format!("task://{slug}.md#{anchor}"));
        for link in self.request.restricted {
            let Ok(Target::TaskOutput { slug: of, heading: Some(heading) }) = parse_target(link) else { continue };
            let lines = if of == *slug { section(document, &heading) } else { None };
            marks.extend(lines.map(|(first, last)| Mark { first, last, link: link.clone() }));
        }
        marks
    }

    fn path_issue(&mut self, fault: &PathFault, link: &str, path: &str) {
        match fault {
            PathFault::Missing(_) => {
                let near = self.project.near(path);
                self.missing(IssueCode::FileMissing, "file-missing", link, &[], near);
            }
            PathFault::Outside(_) => {
                // An absolute path may be meant from the root of the project.
                let near = if path.starts_with('/') { self.project.near(path) } else { Vec::new() };
                self.error(IssueCode::OutsideProject, "outside-project", link, &[], near);
            }
            PathFault::Protected(_) => {
                self.error(IssueCode::ProtectedPath, "protected-path", link, &[], Vec::new());
            }
            PathFault::Unreadable { reason, .. } | PathFault::Unwritable { reason, .. } => {
                self.error(IssueCode::FileUnreadable, "unreadable", link, &[("reason", reason)], Vec::new());
            }
        }
    }

    /// Reports a missing target. Before execution it is no error if an earlier task may still create it (spec 5.5).
    fn missing(&mut self, code: IssueCode, words: &str, link: &str, values: &[(&str, &str)], allowed: Vec<String>) {
        if self.request.level == Level::Preview && self.request.writer_before {
            self.warn(IssueCode::NotYet, "not-yet", link);
        } else {
            self.error(code, words, link, values, allowed);
        }
    }

    pub(super) fn warn(&mut self, code: IssueCode, words: &str, link: &str) {
        self.push(code, Severity::Warning, words, link, &[], Vec::new());
    }

    fn error(&mut self, code: IssueCode, words: &str, link: &str, values: &[(&str, &str)], allowed: Vec<String>) {
        self.push(code, Severity::Error, words, link, values, allowed);
    }

    fn push(
        &mut self,
        code: IssueCode,
        severity: Severity,
        words: &str,
        link: &str,
        values: &[(&str, &str)],
        allowed: Vec<String>,
    ) {
        let phase = match self.request.level {
            Level::Preview => Phase::Refine,
            Level::Whole => Phase::Execute,
        };
        let task = self.request.task;
        let mut issue = Finding { code, severity, phase, task, target: link, words, values, allowed }.issue();
        issue.place.key = Some("References".to_owned());
        self.issues.push(issue);
    }
}

impl Piece {
    /// Tokens of the piece and of the files in it.
    pub(super) fn tokens(&self) -> u32 {
        if let Some(picture) = &self.picture {
            return self.excerpt.tokens().saturating_add(picture.about.tokens());
        }
        self.inside.iter().fold(self.excerpt.tokens(), |sum, file| sum.saturating_add(file.tokens()))
    }

    /// Hash of its content, or of the whole file if that is too large to be read completely.
    pub(super) fn hash(&self) -> BlobId {
        if !self.inside.is_empty() {
            // The hash does not depend on the order in which they are shown.
            let files: BTreeMap<&str, BlobId> =
                self.inside.iter().map(|file| (file.identity.as_str(), file.hash())).collect();
            let files: String = files.iter().map(|(path, hash)| format!("{path} {hash}\n")).collect();
            return BlobId::of(format!("{}{files}", self.excerpt.head).as_bytes());
        }
        match (&self.file, &self.picture) {
            (_, Some(picture)) => picture.about.blob.clone(),
            (Some((_, hash)), None) if self.excerpt.gap.is_some() => hash.clone(),
            _ if self.rejected.is_empty() => BlobId::of(self.excerpt.head.as_bytes()),
            _ => BlobId::of(format!("{}{}", self.excerpt.head, self.rejected).as_bytes()),
        }
    }

    fn of(identity: &str, language: &'static str, excerpt: Excerpt, extent: Extent) -> Self {
        Self {
            identity: identity.to_owned(),
            language,
            excerpt,
            extent,
            file: None,
            shortened: false,
            rejected: String::new(),
            picture: None,
            inside: Vec::new(),
        }
    }
}

/// The marks below the first line of a part, counted from that line.
fn inside(marks: Vec<Mark>, first: u32, last: u32) -> Vec<Mark> {
    let inner = marks.into_iter().filter(|mark| mark.first > first && mark.last <= last);
    inner.map(|mark| Mark { first: mark.first + 1 - first, last: mark.last + 1 - first, ..mark }).collect()
}

fn page_language(media_type: &str) -> &'static str {
    match media_type {
        "text/html" | "application/xhtml+xml" => "html",
        "text/markdown" => "markdown",
        "application/json" => "json",
        _ => "text",
    }
}

/// The project's description (spec 5.1): its rules, else a `README`, else empty. Whoever shows it cuts it like any
/// other reference.
pub fn project_description(workspace: &Workspace) -> Option<Excerpt> {
    match files::read(Disk::of_text(workspace, &LargeFiles::default()), &description_file(workspace)?, None) {
        Ok(Content::Text(text)) => Some(text.excerpt),
        _ => None,
    }
}

fn description_file(workspace: &Workspace) -> Option<Located> {
    let is_file = |located: &Located| matches!(workspace.kind(located), Ok(EntryKind::File(_)));
    if let Some(found) = FILES.iter().filter_map(|name| workspace.locate(name).ok()).find(is_file) {
        return Some(found);
    }
    let mut names: Vec<String> = workspace
        .root()
        .read_dir()
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            let lower = name.to_ascii_lowercase();
            lower == "readme" || lower.starts_with("readme.")
        })
        .collect();
    names.sort_by_key(|name| (!is_markdown(name), name.clone()));
    names.iter().filter_map(|name| workspace.locate(name).ok()).find(is_file)
}
