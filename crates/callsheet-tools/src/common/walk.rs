//! Walks a project: always in the same order, respecting ignore files, and never outside its roots.

use std::path::{Path, PathBuf};

use callsheet_runtime::paths::{has_plain_ignore_files, is_fetched};
use ignore::{DirEntry, Walk, WalkBuilder};

use super::place::Place;
use super::{Stop, Ticket};

/// Folders that are never walked: version control and Callsheet's own.
const HIDDEN: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".callsheet"];

/// An entry that a walk found.
pub(crate) struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// How a model should name it.
    pub shown: String,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// Visits everything below `start`, in path order, down to `depth` levels. It follows a link only if its target is
/// inside the roots of `start`.
pub(crate) fn walk(
    start: &Place,
    depth: Option<usize>,
    ticket: &Ticket,
    mut visit: impl FnMut(Found) -> Result<(), Stop>,
) -> Result<(), Stop> {
    // The walk begins at the root, so that ignore files above the start apply, but those above the root do not.
    let mut seen = false;
    for entry in builder(&start.root, start, depth).flatten() {
        ticket.check()?;
        seen |= entry.path() == start.path;
        if entry.path() != start.path && entry.path().starts_with(&start.path) {
            visit(found(start, entry))?;
        }
    }
    if seen {
        return Ok(());
    }
    // The start itself is ignored. It was requested by name, so it is shown.
    for entry in builder(&start.path, start, depth).flatten() {
        ticket.check()?;
        if entry.path() != start.path {
            visit(found(start, entry))?;
        }
    }
    Ok(())
}

fn found(start: &Place, entry: DirEntry) -> Found {
    let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
    let path = entry.into_path();
    Found { shown: start.show(&path), path, is_dir }
}

fn builder(from: &Path, start: &Place, depth: Option<usize>) -> Walk {
    let above = start.path.strip_prefix(from).map_or(0, |rest| rest.components().count());
    let place = start.clone();
    let plain = has_plain_ignore_files(from);
    WalkBuilder::new(from)
        .ignore(plain)
        .git_ignore(plain)
        .git_exclude(plain)
        .hidden(false)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .follow_links(true)
        .max_depth(depth.map(|depth| depth.saturating_add(above)))
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| wanted(entry, &place))
        .build()
}

fn wanted(entry: &DirEntry, start: &Place) -> bool {
    let path = entry.path();
    if start.path.starts_with(path) {
        return true;
    }
    if !path.starts_with(&start.path) || entry.file_name().to_str().is_some_and(|name| HIDDEN.contains(&name)) {
        return false;
    }
    if entry.file_type().is_some_and(|kind| kind.is_dir()) && (is_fetched(path) || !has_plain_ignore_files(path)) {
        return false;
    }
    !entry.path_is_symlink() || path.canonicalize().is_ok_and(|target| start.contains(&target))
}
