//! The paths of a project, walked once for all questions of one call, and suggestions for missing paths.

use std::cell::OnceCell;

use callsheet_core::fuzzy::within;
use globset::GlobBuilder;

use crate::paths::{Workspace, walker};

/// The maximum number of paths of a project that are searched for candidates. In a larger project, only the first
/// ones are.
const WALK_LIMIT: usize = 200_000;

/// The maximum number of candidates of one path.
pub(super) const CANDIDATES: usize = 5;

/// The maximum number of files that match a pattern (spec 5.2).
const MATCHES: usize = 10;

/// A project's paths. The project is walked when they are first needed.
pub(super) struct Project<'a> {
    workspace: &'a Workspace,
    /// Sorted, directories with a final `/`, without ignored files.
    paths: OnceCell<Vec<String>>,
}

/// Existing paths that may have been meant by a missing one.
pub fn near_paths(workspace: &Workspace, written: &str) -> Vec<String> {
    Project::new(workspace).near(written)
}

impl<'a> Project<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, paths: OnceCell::new() }
    }

    fn paths(&self) -> &[String] {
        self.paths.get_or_init(|| {
            let root = self.workspace.root();
            let mut paths: Vec<String> = walker(root)
                .sort_by_file_name(Ord::cmp)
                .build()
                .flatten()
                .filter_map(|entry| {
                    let path = entry.path().strip_prefix(root).ok()?.to_str().filter(|path| !path.is_empty())?;
                    let directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                    Some(if directory { format!("{path}/") } else { path.to_owned() })
                })
                .take(WALK_LIMIT)
                .collect();
            paths.sort_unstable();
            paths
        })
    }

    /// Paths that may have been meant by a missing one: those that differ by case; else those that end with it; else
    /// those in the same directory whose name is at most 2 edits away (spec 4.4, `path-near`).
    pub(super) fn near(&self, written: &str) -> Vec<String> {
        let Some(wanted) = self.plain(written) else { return Vec::new() };
        let lower = wanted.to_lowercase();
        let name_of = |path: &'_ str| path.trim_end_matches('/').to_owned();
        let mut found: Vec<&String> =
            self.paths().iter().filter(|path| name_of(path).to_lowercase() == lower).collect();
        if found.is_empty() {
            let end = format!("/{wanted}");
            found = self.paths().iter().filter(|path| name_of(path).ends_with(&end)).collect();
        }
        let found =
            if found.is_empty() { self.near_in_directory(&wanted) } else { found.into_iter().cloned().collect() };
        // A link that leads nowhere, or out of the project, is not a candidate.
        found.into_iter().filter(|path| self.workspace.locate(path).is_ok()).take(CANDIDATES).collect()
    }

    /// Reads the same directory itself, so that it also finds ignored files: whether a file exists does not depend on
    /// ignore files.
    fn near_in_directory(&self, wanted: &str) -> Vec<String> {
        let (directory, name) = wanted.rsplit_once('/').unwrap_or((".", wanted));
        let Ok(located) = self.workspace.locate(directory) else { return Vec::new() };
        let Ok(entries) = self.workspace.root().join(&located.relative).read_dir() else { return Vec::new() };
        if located.base != 0 {
            return Vec::new();
        }
        let prefix = if located.path() == "." { String::new() } else { format!("{}/", located.path()) };
        let mut found: Vec<String> = entries
            .flatten()
            .filter_map(|entry| {
                let other = entry.file_name().into_string().ok().filter(|other| within(name, other, 2))?;
                let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
                Some(format!("{prefix}{other}{slash}"))
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// A path relative to the root without `.`, `..` and a leading slash. `None` if there is no such form.
    fn plain(&self, written: &str) -> Option<String> {
        let root = self.workspace.root().to_str().unwrap_or_default();
        let relative = written.strip_prefix(root).filter(|rest| rest.starts_with('/')).unwrap_or(written);
        let mut parts: Vec<&str> = Vec::new();
        for part in relative.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part),
            }
        }
        if parts.is_empty() { None } else { Some(parts.join("/")) }
    }

    /// Files that match a pattern, at most ten. If a pattern without a slash matches nothing in the root, it is tried
    /// in every directory.
    pub(super) fn matches(&self, pattern: &str) -> Vec<String> {
        let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
        let found = self.matching(pattern);
        if found.is_empty() && !pattern.contains('/') { self.matching(&format!("**/{pattern}")) } else { found }
    }

    fn matching(&self, pattern: &str) -> Vec<String> {
        let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else { return Vec::new() };
        let matcher = glob.compile_matcher();
        let files = self.paths().iter().filter(|path| !path.ends_with('/'));
        files.filter(|path| matcher.is_match(path.as_str())).take(MATCHES).cloned().collect()
    }
}
