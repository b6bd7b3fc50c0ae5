//! Builds the index of a project: walks it with respect to ignore files, reads each file once, and writes a metadata
//! text by rule.

use std::path::Path;

use callsheet_core::file_index::{Facts, identifiers_of, metadata};
use callsheet_core::nouns::BlobId;
use callsheet_format::sheet::titles_of;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::paths::{EntryKind, Workspace, walker};
use crate::ports::{IndexEntry, Outline};
use crate::references::language;

use super::git::last_commits;

/// Larger files are left out (spec 13).
pub(crate) const LARGEST: u64 = 1024 * 1024;

/// What is to be indexed.
#[derive(Clone, Copy)]
pub struct BuildRequest<'a> {
    /// Finds the names that a file defines.
    pub workspace: &'a Workspace,
    /// If not empty, index only files that match one of these.
    pub outline: &'a dyn Outline,
    /// Index no files that match one of these.
    pub include: &'a [String],
    /// No files that match one of these.
    pub exclude: &'a [String],
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Entries by path.
    pub entries: Vec<IndexEntry>,
    /// Number of binary files.
    pub binary: usize,
    /// Number of files that are too large.
    pub too_large: usize,
    /// Number of files that could not be read, or whose names are not text.
    pub unreadable: usize,
}

/// Reads the files of a project.
///
/// # Errors
/// A text about an invalid pattern.
pub fn build_index(request: BuildRequest<'_>) -> Result<Built, String> {
    let root = request.workspace.root();
    let (include, exclude) = (patterns(request.include)?, patterns(request.exclude)?);
    let commits = last_commits(request.workspace);
    let mut built = Built::default();
    for entry in walker(root).sort_by_file_name(Ord::cmp).build().flatten() {
        if entry.file_type().is_none_or(|kind| !kind.is_file()) {
            continue;
        }
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else {
            built.unreadable += 1;
            continue;
        };
        if (!request.include.is_empty() && !include.is_match(path)) || exclude.is_match(path) {
            continue;
        }
        let commit = commits.get(path).map(String::as_str);
        match read_text(request.workspace, path) {
            FileText::Text(bytes) => built.entries.push(entry_of(request, path, &bytes, commit)),
            FileText::Binary => built.binary += 1,
            FileText::TooLarge => built.too_large += 1,
            FileText::Unreadable => built.unreadable += 1,
        }
    }
    built.entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(built)
}

/// Whether a file is still in the state that the index knows. `None` if it is missing or unreadable.
pub fn is_current(workspace: &Workspace, entry: &IndexEntry) -> Option<bool> {
    let located = workspace.locate(&entry.path).ok()?;
    let EntryKind::File(size) = workspace.kind(&located).ok()? else { return None };
    if size != entry.size {
        return Some(false);
    }
    let bytes = workspace.read(&located, usize::try_from(LARGEST).unwrap_or(usize::MAX)).ok()?;
    Some(BlobId::of(&bytes.bytes) == entry.hash)
}

/// What a file contains, as far as its words matter.
pub(crate) enum FileText {
    Text(Vec<u8>),
    Binary,
    TooLarge,
    Unreadable,
}

/// Reads a file for its words.
pub(crate) fn read_text(workspace: &Workspace, path: &str) -> FileText {
    let Ok(located) = workspace.locate(path) else { return FileText::Unreadable };
    match workspace.kind(&located) {
        Ok(EntryKind::File(size)) if size > LARGEST => return FileText::TooLarge,
        Ok(EntryKind::File(_)) => {}
        _ => return FileText::Unreadable,
    }
    match workspace.read(&located, usize::try_from(LARGEST).unwrap_or(usize::MAX)) {
        Ok(read) if read.truncated => FileText::TooLarge,
        Ok(read) if read.is_binary() => FileText::Binary,
        Ok(read) => FileText::Text(read.bytes),
        Err(_) => FileText::Unreadable,
    }
}

fn entry_of(request: BuildRequest<'_>, path: &str, bytes: &[u8], last_commit: Option<&str>) -> IndexEntry {
    let (size, hash) = (u64::try_from(bytes.len()).unwrap_or(u64::MAX), BlobId::of(bytes));
    let text = String::from_utf8_lossy(bytes);
    let symbols = request.outline.outline(path, &text).unwrap_or_default();
    let (kind, identifiers) = (language(path), identifiers_of(&symbols));
    let headings = titles_of(kind, &text);
    let facts = Facts { path, kind, size, text: &text, headings: &headings, identifiers: &identifiers, last_commit };
    IndexEntry { path: request.workspace.root().join(path).display().to_string(), text: metadata(&facts), size, hash }
}

fn patterns(globs: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        // As in ignore files, a pattern without a slash applies in every folder.
        let anywhere = if glob.contains('/') { glob.trim_start_matches("./").to_owned() } else { format!("**/{glob}") };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
        set.add(glob.map_err(|error| error.to_string())?);
    }
    set.build().map_err(|error| error.to_string())
}
