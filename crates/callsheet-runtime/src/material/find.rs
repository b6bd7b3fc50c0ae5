//! Finds what a request needs to read: first the files that it names, then those that match its words, as many as the
//! budget allows.

use callsheet_core::names::reference_title;
use callsheet_core::nouns::{Fragment, Reference, Target};
use callsheet_core::words::Question;

use crate::file_index::{FileText, read_text};
use crate::paths::{EntryKind, Workspace};
use crate::pictures::tokens_of;
use crate::references::{Allowance, Demand, Disk, shares};

use super::index::{RankedFile, WordIndex};
use super::pieces::{Piece, best, pieces};

/// Files that match far less than the best one are left out, as in lookups.
const FLOOR: f64 = 0.25;
/// The maximum number of files that are opened to find their sections.
const OPENED: usize = 40;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct MaterialRequest<'a> {
    /// The text whose words are searched.
    pub text: &'a str,
    /// Files and folders that come first, whatever their words.
    pub named: &'a [String],
    /// If set, only files below this folder, besides the named ones.
    pub below: Option<&'a str>,
    /// Tokens for everything together.
    pub budget: u32,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Material {
    /// The whole project in path order, if it fits. Otherwise the matching files, the best last, with the sections of
    /// one file together in its order, followed by the named files in their order: a small model uses what is next to
    /// the request.
    pub references: Vec<MaterialReference>,
    /// Number of matching files that did not fit.
    pub left_out: usize,
}

/// A file or a section of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialReference {
    /// As a sheet would write it.
    pub reference: Reference,
    /// Tokens that it takes from the budget.
    pub tokens: u32,
    /// How well its file matches. 0 if it is only named.
    pub score: f64,
    /// Whether the request names it.
    pub named: bool,
    /// Whether it is shown completely. Otherwise its prompt cuts it to these tokens.
    pub fits: bool,
}

impl Material {
    /// Tokens of all references.
    pub fn tokens(&self) -> u32 {
        self.references.iter().fold(0, |sum, found| sum.saturating_add(found.tokens))
    }
}

/// Finds material. The same files and request give the same result. Reads files, so it blocks.
pub fn find(disk: Disk<'_>, index: &WordIndex, request: &MaterialRequest<'_>) -> Material {
    let ranked = index.rank(disk.workspace, request.text);
    if let Some(whole) = whole_project(&ranked, request) {
        return whole;
    }
    let mut finder = Finder { disk, question: Question::of(request.text), found: Material::default() };
    let named = named_files(disk.workspace, request.named, &ranked);
    let demands: Vec<Demand> = named.iter().map(|named| Demand { tokens: named.tokens, carried: false }).collect();
    let shares = shares(&demands, &Allowance { reference: request.budget, prompt: request.budget, preview: 0 });
    for (named, share) in named.iter().zip(shares) {
        finder.add_named(named, share);
    }
    let mut left = request.budget.saturating_sub(finder.found.tokens());
    let prefix = request.below.and_then(|folder| folder_prefix(disk.workspace, folder));
    let is_wanted = |file: &&RankedFile| {
        let is_below = request.below.is_none() || prefix.as_ref().is_some_and(|prefix| file.path.starts_with(prefix));
        is_below && !named.iter().any(|named| named.covers(&file.path))
    };
    let fitting: Vec<&RankedFile> = ranked.iter().filter(is_wanted).filter(|file| file.score > 0.0).collect();
    // Compared with all files: beside a named file that matches best, the others may have nothing to say.
    let least = ranked.first().map_or(0.0, |best| best.score * FLOOR);
    let mut opened = 0;
    for file in fitting.into_iter().filter(|file| file.score >= least) {
        let Some(tokens) = file.tokens.filter(|tokens| *tokens > 0) else { continue };
        let before = finder.found.references.len();
        if tokens <= left {
            finder.add(file_target(&file.path, None), tokens, file.score);
        } else if opened < OPENED && left > 0 {
            opened += 1;
            finder.add_sections(&file.path, left, file.score, false);
        }
        let taken = finder.found.references.iter().skip(before).fold(0, |sum: u32, one| sum.saturating_add(one.tokens));
        left = left.saturating_sub(taken);
        finder.found.left_out += usize::from(taken == 0);
    }
    Material { references: nearest_last(finder.found.references), left_out: finder.found.left_out }
}

/// Reorders references from "named first, then best first" to "best last, then named".
fn nearest_last(references: Vec<MaterialReference>) -> Vec<MaterialReference> {
    let (named, others): (Vec<_>, Vec<_>) = references.into_iter().partition(|found| found.named);
    let files = others.chunk_by(|a, b| path_of(a) == path_of(b));
    let mut ordered: Vec<MaterialReference> = files.rev().flatten().cloned().collect();
    ordered.extend(named);
    ordered
}

fn path_of(found: &MaterialReference) -> Option<&str> {
    match &found.reference.target {
        Target::File { path, .. } => Some(path),
        _ => None,
    }
}

/// All files in path order, if they fit together. Then nothing is missed, and all calls about a project begin alike, so
/// a provider reads the beginning once. `None` if they do not fit, or if the request says which files it is about,
/// because others would only distract.
fn whole_project(ranked: &[RankedFile], request: &MaterialRequest<'_>) -> Option<Material> {
    if request.below.is_some() || !request.named.is_empty() {
        return None;
    }
    let mut files: Vec<(&RankedFile, u32)> =
        ranked.iter().filter_map(|file| Some((file, file.tokens.filter(|tokens| *tokens > 0)?))).collect();
    let total = files.iter().fold(0, |sum: u32, (_, tokens)| sum.saturating_add(*tokens));
    if total > request.budget {
        return None;
    }
    files.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    let references = files.into_iter().map(|(file, tokens)| MaterialReference {
        reference: referring(file_target(&file.path, None)),
        tokens,
        score: file.score,
        named: false,
        fits: true,
    });
    Some(Material { references: references.collect(), left_out: 0 })
}

/// Something that a request names.
struct Named {
    path: String,
    is_folder: bool,
    tokens: u32,
}

impl Named {
    fn covers(&self, path: &str) -> bool {
        if self.is_folder {
            self.path == "." || path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'))
        } else {
            self.path == path
        }
    }
}

/// The named files that exist, each once, in their order.
fn named_files(workspace: &Workspace, names: &[String], ranked: &[RankedFile]) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for name in names {
        let Ok(located) = workspace.locate(name) else { continue };
        if found.iter().any(|known| known.path == located.path()) {
            continue;
        }
        let mut named = Named { path: located.path().to_owned(), is_folder: false, tokens: 0 };
        match workspace.kind(&located) {
            Ok(EntryKind::File(bytes)) => {
                // Files that are ignored or in another root have no words in the index.
                let known = ranked.iter().find(|file| file.path == named.path);
                let guess = || {
                    let plain = || u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX);
                    tokens_of(workspace, &located).unwrap_or_else(plain)
                };
                named.tokens = known.and_then(|file| file.tokens).unwrap_or_else(guess);
            }
            Ok(EntryKind::Directory) => {
                named.is_folder = true;
                let inside = ranked.iter().filter(|file| named.covers(&file.path)).filter_map(|file| file.tokens);
                named.tokens = inside.fold(0, u32::saturating_add);
            }
            _ => continue,
        }
        found.push(named);
    }
    found
}

/// The common prefix of the paths below a folder.
fn folder_prefix(workspace: &Workspace, folder: &str) -> Option<String> {
    let located = workspace.locate(folder).ok()?;
    match (workspace.kind(&located), located.path()) {
        (Ok(EntryKind::Directory), ".") => Some(String::new()),
        (Ok(EntryKind::Directory), path) => Some(format!("{path}/")),
        _ => None,
    }
}

fn file_target(path: &str, fragment: Option<Fragment>) -> Target {
    Target::File { path: path.to_owned(), fragment }
}

fn referring(target: Target) -> Reference {
    let mut reference = Reference { title: String::new(), target };
    reference.title = reference_title(&reference);
    reference
}

struct Finder<'a> {
    disk: Disk<'a>,
    question: Question,
    found: Material,
}

impl Finder<'_> {
    fn add(&mut self, target: Target, tokens: u32, score: f64) {
        self.found.references.push(MaterialReference {
            reference: referring(target),
            tokens,
            score,
            named: false,
            fits: true,
        });
    }

    /// Adds a named file in any case: completely, else its best sections, else cut by its prompt.
    fn add_named(&mut self, named: &Named, share: u32) {
        let before = self.found.references.len();
        let whole = || match named.is_folder {
            true => Target::Directory(named.path.clone()),
            false => file_target(&named.path, None),
        };
        if named.tokens <= share {
            self.add(whole(), named.tokens, 0.0);
        } else if !named.is_folder {
            self.add_sections(&named.path, share, 0.0, true);
        }
        if self.found.references.len() == before {
            self.add(whole(), share, 0.0);
            self.found.references.iter_mut().skip(before).for_each(|found| found.fits = false);
        }
        self.found.references.iter_mut().skip(before).for_each(|found| found.named = true);
    }

    /// The sections of a file that match best and have at most `room` tokens together. If the file is `wanted` in any
    /// case, sections without any of the words come last.
    fn add_sections(&mut self, path: &str, room: u32, score: f64, wanted: bool) {
        let FileText::Text(bytes) = read_text(self.disk.workspace, path) else { return };
        let text = String::from_utf8_lossy(&bytes);
        let pieces = pieces(path, &text, self.disk.outline);
        let scores = best(&self.question, &text, &pieces);
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        let score_of = |at: usize| scores.get(at).copied().unwrap_or(0.0);
        order.sort_by(|a, b| score_of(*b).total_cmp(&score_of(*a)));
        let least = order.first().map_or(0.0, |at| score_of(*at) * FLOOR);
        let mut chosen: Vec<&Piece> = Vec::new();
        let mut left = room;
        for at in order {
            if !wanted && (score_of(at) <= 0.0 || score_of(at) < least) {
                break;
            }
            let Some(piece) = pieces.get(at).filter(|piece| piece.tokens > 0 && piece.tokens <= left) else { continue };
            left = left.saturating_sub(piece.tokens);
            chosen.push(piece);
        }
        chosen.sort_by_key(|piece| piece.first);
        for piece in together(&chosen) {
            self.add(file_target(path, Some(piece.fragment())), piece.tokens, score);
        }
    }
}

/// Pieces in order, with adjacent pieces joined.
fn together(chosen: &[&Piece]) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in chosen {
        match joined.last_mut() {
            Some(before) if before.last + 1 == piece.first => {
                before.last = piece.last;
                before.tokens = before.tokens.saturating_add(piece.tokens);
                before.anchor = None;
            }
            _ => joined.push((*piece).clone()),
        }
    }
    joined
}
