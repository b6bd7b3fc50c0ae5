//! Turns references into the blocks of a prompt (spec 5.8, 5.9).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::issue::{Issue, IssueCode};
use callsheet_core::links::{is_restricted, link_target};
use callsheet_core::nouns::{BlobId, PICTURES, Reference, Target};
use callsheet_format::prompt::{Shown, cut, preview};
use tokio_util::sync::CancellationToken;

use crate::pictures::words;
use crate::ports::{FetchFault, ShownPicture};

use super::answer::Disk;
use super::gather::{Extent, Gatherer, Piece};
use super::pages::Pages;
use super::render::{block_of, restricted_text};
use super::shares::{Allowance, Demand, shares};
use super::sources::RunTexts;

/// How many lines of a whole file a preview shows.
const PREVIEW_WHOLE: u32 = 20;

/// How many lines of a range or section a preview shows.
const PREVIEW_PART: u32 = 30;

/// How much of each reference is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For refinement: only the beginning.
    Preview,
    /// For execution: everything that the budgets allow.
    Whole,
}

/// A reference to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The reference.
    pub reference: Reference,
    /// Whether wiring added it (spec 2.12). Such a reference is cut first, and left out if it is no longer relevant.
    pub carried: bool,
}

/// What to resolve.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// References in order.
    pub references: &'a [Wanted],
    /// How much of each is shown.
    pub level: Level,
    /// Tokens of the prompt.
    pub allowance: Allowance,
    /// Name of the task, for issues.
    pub task: Option<&'a str>,
    /// What the task needs. In a folder, the files most related to it come first.
    pub need: &'a str,
    /// Whether an earlier step has a task that may still create what is missing.
    pub writer_before: bool,
    /// Canonical links whose targets are no longer relevant (spec 5.10).
    pub restricted: &'a BTreeSet<String>,
    /// The number of the first picture that the message may show. `None` if the model sees no pictures.
    pub first_picture: Option<usize>,
}

impl Request<'_> {
    pub(crate) fn is_restricted(&self, target: &Target) -> bool {
        is_restricted(target, self.restricted)
    }
}

/// Where contents come from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The project.
    pub disk: Disk<'a>,
    /// The run's own texts.
    pub texts: &'a (dyn RunTexts + Sync),
    /// Pages of the run.
    pub pages: &'a Pages,
    /// Path of the file that the person has open.
    pub current_file: Option<&'a str>,
    /// Whether `http(s)` references may be read.
    pub allow_http: bool,
}

/// One block of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Canonical link.
    pub target: String,
    /// Heading, fence and content, or one line for restricted content. Empty if there is no content.
    pub text: String,
    /// Tokens of the content before it was cut.
    pub tokens: u32,
    /// Nothing was cut.
    pub whole: bool,
}

/// The blocks of a prompt and what is known about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// In reference order, without duplicates.
    pub blocks: Vec<Block>,
    /// The references that do not hold.
    pub issues: Vec<Issue>,
    /// Project files that were shown completely, with the hash of the shown content (spec 3.9).
    pub shown_in_full: BTreeMap<String, BlobId>,
    /// Project files that were shown in part, with the hash of the whole file.
    pub shown_in_part: BTreeMap<String, BlobId>,
    /// Pictures that the blocks name by their numbers.
    pub pictures: Vec<ShownPicture>,
    /// Whether a picture was left out because the model sees none.
    pub unseen: bool,
    /// Paths of pictures that are too large to be shown.
    pub too_large: Vec<String>,
}

impl Resolved {
    /// All blocks, separated by an empty line, without empty references.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().map(|block| block.text.as_str());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Resolves references into blocks from the current state of the disk (spec 2.8). Whole pages are fetched first.
///
/// # Errors
/// Only `FetchFault::Cancelled`; other faults of pages become issues.
pub async fn resolve(
    request: &Request<'_>,
    sources: &Sources<'_>,
    cancel: &CancellationToken,
) -> Result<Resolved, FetchFault> {
    let mut refused = BTreeMap::new();
    if request.level == Level::Whole && sources.allow_http {
        for url in urls(request) {
            match sources.pages.page(url, cancel).await {
                Ok(_) => {}
                Err(FetchFault::Cancelled) => return Err(FetchFault::Cancelled),
                Err(fault) => {
                    refused.insert(url.to_owned(), refusal(fault));
                }
            }
        }
    }
    Ok(show(request, sources, &refused))
}

/// The issue for a page that could not be fetched: code, key of its words, reason.
fn refusal(fault: FetchFault) -> (IssueCode, &'static str, String) {
    let none = String::new();
    match fault {
        FetchFault::Off => (IssueCode::HttpRefused, "http-no-network", none),
        FetchFault::Refused(reason) => (IssueCode::HttpRefused, "http-refused", reason),
        FetchFault::Status(status) => (IssueCode::FileUnreadable, "http-status", status.to_string()),
        FetchFault::NotText(media) => (IssueCode::FileUnreadable, "http-not-text", media),
        FetchFault::Network(reason) => (IssueCode::FileUnreadable, "http-failed", reason),
        FetchFault::Cancelled => (IssueCode::FileUnreadable, "http-cancelled", none),
    }
}

/// The result of checking references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The references that do not hold.
    pub issues: Vec<Issue>,
    /// Hashes of the contents, for references that have one, by target as written in a link.
    pub contents: BTreeMap<String, BlobId>,
    /// Tokens with which they would be shown if a prompt had room for all: each once and within its own limit, without
    /// carried ones and pages that are not fetched yet.
    pub tokens: u64,
}

/// Checks the references as they are now. Fetches and renders nothing.
pub fn check(request: &Request<'_>, sources: &Sources<'_>) -> Checked {
    let refused = BTreeMap::new();
    let mut gatherer = Gatherer::new(request, sources, &refused);
    let mut checked = Checked::default();
    let mut seen = BTreeSet::new();
    for wanted in request.references {
        let issues = gatherer.issues.len();
        let target = &wanted.reference.target;
        if !wanted.carried && request.is_restricted(target) {
            gatherer.warn(IssueCode::ReferenceRestricted, "reference-restricted", &target.to_string());
        }
        if let Some(piece) = gatherer.piece(target) {
            checked.contents.insert(link_target(target), piece.hash());
            let tokens = piece.tokens().min(request.allowance.reference);
            if !wanted.carried && seen.insert(piece.identity) {
                checked.tokens = checked.tokens.saturating_add(u64::from(tokens));
            }
        }
        if wanted.carried {
            gatherer.issues.truncate(issues);
        }
    }
    checked.issues = gatherer.issues;
    checked
}

fn urls<'a>(request: &Request<'a>) -> impl Iterator<Item = &'a str> {
    request.references.iter().filter_map(|wanted| match &wanted.reference.target {
        Target::Http(url) => Some(url.as_str()),
        _ => None,
    })
}

/// A reference that has something to show.
pub(super) struct Item<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) piece: Piece,
    carried: bool,
}

pub(crate) fn show(
    request: &Request<'_>,
    sources: &Sources<'_>,
    refused: &BTreeMap<String, (IssueCode, &'static str, String)>,
) -> Resolved {
    let mut resolved = Resolved::default();
    let mut gatherer = Gatherer::new(request, sources, refused);
    let mut items: Vec<Result<Item<'_>, Block>> = Vec::new();
    for wanted in request.references {
        let target = &wanted.reference.target;
        let link = target.to_string();
        if request.is_restricted(target) {
            if wanted.carried {
                items.push(Err(stub(link)));
                continue;
            }
            gatherer.warn(IssueCode::ReferenceRestricted, "reference-restricted", &link);
        }
        // The producer decides what a carried link means. If the link does not hold, nobody needs to know.
        let issues = gatherer.issues.len();
        let Some(piece) = gatherer.piece(target) else {
            if wanted.carried {
                gatherer.issues.truncate(issues);
            }
            continue;
        };
        let known = items.iter_mut().flatten().find(|item| item.piece.identity == piece.identity);
        match known {
            Some(item) => item.carried &= wanted.carried,
            None => items.push(Ok(Item { wanted, piece, carried: wanted.carried })),
        }
    }
    show_files_once(&mut items);
    let demand = |item: &Item<'_>| Demand { tokens: item.piece.tokens(), carried: item.carried };
    let demands: Vec<Demand> = items.iter().flatten().map(demand).collect();
    let mut given = shares(&demands, &request.allowance).into_iter();
    for item in items {
        match item {
            Err(stub) => resolved.blocks.push(stub),
            Ok(item) => resolved.add(&item, request, given.next().unwrap_or(0)),
        }
    }
    (resolved.issues, resolved.unseen, resolved.too_large) = (gatherer.issues, gatherer.unseen, gatherer.too_large);
    resolved
}

/// Removes a file from a folder's files if it is referenced itself, or if an earlier folder already shows it.
fn show_files_once(items: &mut [Result<Item<'_>, Block>]) {
    let mut seen: BTreeSet<String> = items.iter().flatten().map(|item| item.piece.identity.clone()).collect();
    for item in items.iter_mut().flatten() {
        item.piece.inside.retain(|file| seen.insert(file.identity.clone()));
    }
}

fn stub(target: String) -> Block {
    Block { text: format!("{}\n", restricted_text(&target)), tokens: 0, whole: false, target }
}

impl Resolved {
    fn add(&mut self, item: &Item<'_>, request: &Request<'_>, share: u32) {
        let piece = &item.piece;
        if !piece.inside.is_empty() {
            return self.add_folder(item, request.first_picture.unwrap_or(1), share);
        }
        if let Some(picture) = &piece.picture {
            return self.add_picture(item, picture, request.first_picture.unwrap_or(1), share);
        }
        let allowance = request.allowance.preview;
        let Shown { text, whole } = match (request.level, piece.extent) {
            (Level::Whole, _) => cut(&piece.excerpt, share),
            (Level::Preview, Extent::Fixed) => cut(&piece.excerpt, allowance),
            (Level::Preview, Extent::Whole) => preview(&piece.excerpt, PREVIEW_WHOLE, allowance),
            (Level::Preview, Extent::Part) => preview(&piece.excerpt, PREVIEW_PART, allowance),
        };
        if let Some((path, hash)) = &piece.file {
            self.shown(path, hash, whole && !piece.shortened && piece.excerpt.is_whole_text());
        }
        let target = item.wanted.reference.target.to_string();
        let text = match text.trim() {
            "" => String::new(),
            _ => block_of(&item.wanted.reference.title, &target, piece.language, &text),
        };
        let text = if piece.rejected.is_empty() { text } else { format!("{text}\n{}\n", piece.rejected.trim()) };
        self.blocks.push(Block { target, text, tokens: piece.excerpt.tokens(), whole });
    }

    /// Adds a picture, or what is said of it if there is no room for it.
    fn add_picture(&mut self, item: &Item<'_>, picture: &ShownPicture, first: usize, share: u32) {
        let (piece, number) = (&item.piece, first.saturating_add(self.pictures.len()));
        let whole = piece.tokens() <= share && number <= PICTURES;
        let text = if whole { words("shown", &picture.about, number) } else { piece.excerpt.head.clone() };
        if whole {
            self.pictures.push(picture.clone());
        }
        let target = item.wanted.reference.target.to_string();
        let text = block_of(&item.wanted.reference.title, &target, piece.language, &text);
        self.blocks.push(Block { target, text, tokens: piece.tokens(), whole });
    }

    pub(super) fn shown(&mut self, path: &str, hash: &BlobId, full: bool) {
        if full {
            self.shown_in_part.remove(path);
            self.shown_in_full.insert(path.to_owned(), hash.clone());
        } else if !self.shown_in_full.contains_key(path) {
            self.shown_in_part.insert(path.to_owned(), hash.clone());
        }
    }
}
