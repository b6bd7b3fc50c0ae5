//! The rules of a project for those who work in it: `AGENTS.md`, or the files that other programs read, from the root
//! and from the folders above what a task reads. A prompt contains them completely if they fit.

mod cut;

use std::collections::BTreeSet;
use std::path::{Component, Path};

use callsheet_core::nouns::tokens;
use callsheet_format::sheet::split_mark;

use crate::paths::{EntryKind, NOT_SEARCHED, Workspace};
use cut::{Cut, cut};

/// Names of rule files. In a folder, the first one that exists counts.
pub(crate) const FILES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// The largest rule file in bytes. A larger one is ignored.
pub const MOST_BYTES: u64 = 1 << 20;
/// How deep rule files may include others.
const DEEPEST: usize = 5;
/// The maximum number of tokens of rules in a prompt, whatever the window.
const MOST_TOKENS: u32 = 24_000;
/// Rules may take one part in this many of a window.
const SHARE: u32 = 6;

const OMITTED: &str = include_str!("prompts/omitted.txt");
const NESTED: &str = include_str!("prompts/nested.txt");

/// Rules in the form for a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Their text.
    pub text: String,
    /// For each file that was cut: what is left out.
    pub omitted: Vec<Omitted>,
}

/// Rules that do not fit into any prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// The file.
    pub path: String,
    /// How many rules are left out.
    pub count: usize,
    /// How many rules the file has.
    pub total: usize,
}

impl Omitted {
    /// In words, for people.
    pub fn words(&self) -> String {
        format!("{} of {} rules of {} are left out of prompts", self.count, self.total, self.path)
    }
}

/// Tokens that rules may have in a prompt for a model.
pub fn room(window: Option<u32>) -> u32 {
    window.map_or(MOST_TOKENS, |window| (window / SHARE).min(MOST_TOKENS))
}

/// The rules of the root, then those of the folders above files that are read, from the outermost to the innermost.
/// `None` if there are none.
pub fn rules(workspace: &Workspace, read: &[String], room: u32) -> Option<Rules> {
    let root = of_folder(workspace, "");
    let folders: BTreeSet<&str> = read.iter().flat_map(|path| above(path)).collect();
    let nested: Vec<(&str, (String, String))> =
        folders.into_iter().filter_map(|folder| Some((folder, of_folder(workspace, folder)?))).collect();
    if root.is_none() && nested.is_empty() {
        return None;
    }
    // Rules closer to a file say more about it, but the root's rules keep half of the room.
    let wanted: u32 = nested.iter().map(|(_, (_, text))| tokens(text)).fold(0, u32::saturating_add);
    let for_root = room.saturating_sub(wanted.min(room / 2));
    let mut rules = Rules::default();
    let mut left = room;
    if let Some((path, text)) = &root {
        left = left.saturating_sub(rules.add(path, text, for_root));
    }
    for (folder, (path, text)) in &nested {
        if !rules.text.is_empty() {
            rules.text.push_str("\n\n");
        }
        rules.text.push_str(&NESTED.replace("{folder}", folder).replace("{path}", path));
        rules.text.push_str("\n\n");
        left = left.saturating_sub(rules.add(path, text, left));
    }
    Some(rules)
}

impl Rules {
    /// Adds as much of a file as fits, and returns its tokens.
    fn add(&mut self, path: &str, text: &str, room: u32) -> u32 {
        let Cut { text, omitted, total } = cut(text.trim_matches('\n'), room);
        self.text.push_str(&text);
        if omitted > 0 {
            let numbers =
                [("{count}", omitted.to_string()), ("{total}", total.to_string()), ("{path}", path.to_owned())];
            let note = numbers.iter().fold(OMITTED.to_owned(), |note, (name, value)| note.replace(name, value));
            self.text.push_str(&format!("\n\n{note}"));
            self.omitted.push(Omitted { path: path.to_owned(), count: omitted, total });
        }
        tokens(&text)
    }
}

/// The folders above a path, outermost first, without the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let inside = !path.starts_with('/') && !path.starts_with("..");
    path.match_indices('/').filter(move |_| inside).filter_map(|(at, _)| path.get(..at))
}

/// The rule file of a folder, with what it includes. Folders of packages and builds have none, and neither has a folder
/// behind a link, because commands write there.
fn of_folder(workspace: &Workspace, folder: &str) -> Option<(String, String)> {
    let is_foreign = folder.split('/').any(|part| NOT_SEARCHED.iter().any(|name| part.eq_ignore_ascii_case(name)));
    if is_foreign || !is_direct(workspace, folder) {
        return None;
    }
    let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    FILES.iter().map(|name| path(name)).find_map(|path| {
        let text = read(workspace, &path)?;
        let mut seen = BTreeSet::from([path.clone()]);
        let text = with_imports(workspace, &text, folder, &mut seen, 0);
        Some((path, text))
    })
}

/// Whether a path of the project is in canonical form, without a link or `..`.
fn is_direct(workspace: &Workspace, path: &str) -> bool {
    let whole = workspace.root().join(path);
    path.is_empty() || whole.canonicalize().is_ok_and(|real| real == whole)
}

fn read(workspace: &Workspace, path: &str) -> Option<String> {
    let located = workspace.locate(path).ok()?;
    if !matches!(workspace.kind(&located), Ok(EntryKind::File(size)) if size <= MOST_BYTES) {
        return None;
    }
    let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
    let bytes = workspace.read(&located, most).ok().filter(|bytes| !bytes.is_binary())?;
    let text = String::from_utf8_lossy(&bytes.bytes).into_owned();
    Some(split_mark(&text).1.replace("\r\n", "\n")).filter(|text| !text.trim().is_empty())
}

/// The file that a line of rules includes, as a path below the project. `folder` is that of the rules. Its name must
/// have an extension, because `@` also precedes other words.
pub fn imported(folder: &str, line: &str) -> Option<String> {
    let name = line.trim().strip_prefix('@')?;
    let path = Path::new(name);
    if name.contains(char::is_whitespace) || path.extension().is_none() {
        return None;
    }
    let mut below: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.components() {
        match part {
            Component::Normal(part) => below.push(part.to_str()?),
            Component::ParentDir => drop(below.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(below.join("/"))
}

/// A text with the files that its lines `@path` include. A file is included once. A line that names no file stays
/// unchanged.
fn with_imports(workspace: &Workspace, text: &str, folder: &str, seen: &mut BTreeSet<String>, depth: usize) -> String {
    let mut fence = None;
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        cut::follow_fence(&mut fence, line);
        let named = imported(folder, line).filter(|_| fence.is_none() && depth < DEEPEST);
        let named = named.filter(|path| is_direct(workspace, path));
        let found = named.and_then(|path| read(workspace, &path).map(|inner| (path, inner)));
        match found {
            None => whole.push_str(line),
            Some((path, _)) if !seen.insert(path.clone()) => {}
            Some((path, inner)) => {
                let below = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                whole.push_str(&with_imports(workspace, &inner, below, seen, depth + 1));
                if !whole.ends_with('\n') {
                    whole.push('\n');
                }
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let workspace = Workspace::new(folder.path(), &[]).unwrap();
        (folder, workspace)
    }

    #[test]
    fn rules_of_folders_come_behind_those_of_the_root() {
        let files = [
            ("AGENTS.md", "- root\n"),
            ("pkg/AGENTS.md", "- pkg\n"),
            ("pkg/deep/CLAUDE.md", "- deep\n"),
            ("other/AGENTS.md", "- other\n"),
            ("pkg/deep/a.rs", ""),
        ];
        let (_folder, workspace) = project(&files);
        let found = rules(&workspace, &["pkg/deep/a.rs".to_owned(), "pkg/b.rs".to_owned()], 1_000).unwrap();
        let place = |text: &str| found.text.find(text).unwrap_or_else(|| panic!("{text}: {}", found.text));
        assert!(place("- root") < place("- pkg") && place("- pkg") < place("- deep"));
        assert!(!found.text.contains("- other") && found.omitted.is_empty());
        assert!(found.text.contains("below pkg/deep/, from pkg/deep/CLAUDE.md"));
    }

    #[test]
    fn other_files_stand_in_and_bring_others_in() {
        let files = [
            ("CLAUDE.md", "@docs/style.md\n@missing.md\n```\n@docs/style.md\n```\nmail @docs or a@b.c\n"),
            ("docs/style.md", "- short lines\n@more.md\n@../CLAUDE.md\n"),
            ("docs/more.md", "- tests first"),
        ];
        let (_folder, workspace) = project(&files);
        let found = rules(&workspace, &[], 1_000).unwrap().text;
        assert!(found.starts_with("- short lines\n- tests first\n"), "{found}");
        assert!(found.contains("@missing.md\n```\n@docs/style.md\n```\nmail @docs or a@b.c"), "{found}");
        let (_folder, workspace) = project(&[("GEMINI.md", "- g"), ("CLAUDE.md", "@CLAUDE.md\n- c")]);
        assert_eq!(rules(&workspace, &[], 1_000).unwrap().text, "- c");
        let (_folder, workspace) = project(&[("README.md", "- r")]);
        assert_eq!(rules(&workspace, &[], 1_000), None);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let text: String =
            (1..=200).map(|n| format!("{n}. Rule number {n} says what to do and what not to do.\n")).collect();
        let (_folder, workspace) = project(&[("AGENTS.md", &text)]);
        let whole = rules(&workspace, &[], room(Some(128_000))).unwrap();
        assert!(whole.omitted.is_empty() && whole.text.contains("200. Rule number 200"));
        let part = rules(&workspace, &[], room(Some(8_192))).unwrap();
        let [omitted] = part.omitted.as_slice() else { panic!("{:?}", part.omitted) };
        let kept = part.text.lines().filter(|line| line.ends_with("not to do.")).count();
        assert_eq!((omitted.total, omitted.count), (200, 200 - kept));
        assert!(kept > 10 && part.text.contains(&format!("[{} of 200 rules of AGENTS.md", omitted.count)));
    }
}
