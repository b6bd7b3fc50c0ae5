//! A summary of a project's files if nobody describes the project (spec 5.1), and its most recently edited files.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::time::SystemTime;

use crate::paths::{Workspace, printable, walker};
use callsheet_core::texts::fill;

use super::language::language;

const OVERVIEW: &str = include_str!("prompts/overview.txt");

/// The maximum number of files that are considered. In a larger project, only the first ones are.
const SEEN: usize = 20_000;

/// The maximum number of names of one kind.
const TOLD: usize = 12;

/// Files with which programs and builds start, by name, with or without an extension.
const ENTRIES: &[&str] = &[
    "main",
    "__main__",
    "index",
    "app",
    "lib",
    "mod.ts",
    "manage.py",
    "cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "cmakelists.txt",
    "makefile",
    "justfile",
    "dockerfile",
];

/// A description from the names of the files: languages, folders, entry points, and with `top` the names at the top.
/// `None` if there are no files.
pub fn overview(workspace: &Workspace, top: bool) -> Option<String> {
    let files: Vec<String> = files(workspace).map(|(path, _)| path).collect();
    if files.is_empty() {
        return None;
    }
    let (mut languages, mut folders) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    for path in &files {
        *languages.entry(language(path)).or_default() += 1;
        if let Some((folder, _)) = path.split_once('/') {
            *folders.entry(folder).or_default() += 1;
        }
    }
    languages.remove("text");
    let mut entries: Vec<&str> = files.iter().map(String::as_str).filter(|path| is_entry(path)).collect();
    entries.sort_by_key(|path| path.matches('/').count());
    let names = files.iter().map(String::as_str).filter(|path| top && !path.contains('/'));
    let facts = [
        ("files", files.len().to_string()),
        ("languages", counted(languages, "")),
        ("folders", counted(folders, "/")),
        ("top", listed(names)),
        ("entries", listed(entries.into_iter())),
    ];
    let known: Vec<(&str, &str)> = facts.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let is_told =
        |line: &&str| !known.iter().any(|(name, value)| value.is_empty() && line.contains(&format!("{{{name}}}")));
    let lines: Vec<String> = OVERVIEW.lines().filter(is_told).map(|line| fill(line, &known)).collect();
    Some(lines.join("\n"))
}

/// Paths of the most recently edited files, the newest first.
pub fn edited_last(workspace: &Workspace, count: usize) -> Vec<String> {
    let mut files: Vec<(String, SystemTime)> =
        files(workspace).filter_map(|(path, about)| Some((path, about?.modified().ok()?))).collect();
    files.sort_by_key(|(_, time)| Reverse(*time));
    files.into_iter().take(count).map(|(path, _)| path).collect()
}

/// Files with their metadata, in path order, without ignored and hidden ones.
pub(crate) fn files(workspace: &Workspace) -> impl Iterator<Item = (String, Option<Metadata>)> {
    let root = workspace.root().to_owned();
    let walk = walker(&root).hidden(true).sort_by_file_name(Ord::cmp).build().flatten();
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let files = files.filter_map(move |entry| {
        let path = entry.path().strip_prefix(&root).ok()?.to_str()?.to_owned();
        Some((path, entry.metadata().ok()))
    });
    files.take(SEEN)
}

fn is_entry(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    ENTRIES.contains(&name.as_str()) || ENTRIES.contains(&stem) && language(path) != "text"
}

/// Names with their number of occurrences, the most frequent first.
fn counted(counts: BTreeMap<&str, usize>, mark: &str) -> String {
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let named = counts.into_iter().take(TOLD).map(|(name, count)| format!("{}{mark} ({count})", printable(name)));
    named.collect::<Vec<_>>().join(", ")
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.take(TOLD).map(printable).collect::<Vec<_>>().join(", ")
}
