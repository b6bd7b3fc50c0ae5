//! Example projects, and what the shell would answer of them: existence, lines, headings, near names (spec 4.4, 5.4).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use callsheet_core::fuzzy::{nearest, within};
use callsheet_core::nouns::{Fragment, tokens};
use callsheet_format::reading::{Answer, Candidates, FileFacts, Lookup};
use callsheet_format::sheet::{find_heading, headings};

/// The files of a project, by path.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Where the prompts say that the project is.
    root: String,
    files: BTreeMap<String, String>,
    folders: BTreeSet<String>,
}

impl World {
    /// Loads `fixtures/book/world/NAME`.
    pub fn load(name: &str) -> Self {
        let root = super::folder().join("world").join(name);
        let mut world = Self { root: format!("/srv/{name}"), ..Self::default() };
        world.walk(&root, "");
        assert!(!world.files.is_empty(), "no project {name}");
        world
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).expect("a project") {
            let entry = entry.expect("entry");
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                self.walk(&entry.path(), &format!("{path}/"));
                self.folders.insert(path);
            } else {
                self.files.insert(path, fs::read_to_string(entry.path()).expect("text"));
            }
        }
    }

    /// A file that an earlier task wrote.
    pub fn add(&mut self, path: &str) {
        self.files.insert(path.to_owned(), String::new());
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// What the shell answers.
    pub fn answer(&self, lookup: &Lookup) -> Answer {
        match lookup {
            Lookup::Path { path, fragment } if self.inside(path).is_some() => {
                match self.path(self.inside(path).unwrap_or_default(), fragment.as_ref()) {
                    Answer::Missing(_) => Answer::Missing(Candidates::default()),
                    found => found,
                }
            }
            Lookup::Content(path) if self.inside(path).is_some() => {
                let path = self.inside(path).unwrap_or_default();
                let found = self.missing(&format!("/{path}"), true);
                self.text(path).map_or(found, |text| Answer::Content(text.to_owned()))
            }
            Lookup::Path { path, fragment } => self.path(path, fragment.as_ref()),
            Lookup::Content(path) => match plain(path).and_then(|path| self.text(&path).map(str::to_owned)) {
                Some(text) if !path.starts_with('/') => Answer::Content(text),
                _ => self.missing(path, true),
            },
            Lookup::Glob(pattern) => {
                let ending = pattern.rsplit('*').next().unwrap_or_default();
                Answer::Matches(self.files.keys().filter(|path| path.ends_with(ending)).take(10).cloned().collect())
            }
            Lookup::Symbols(_) => Answer::NoSymbols,
            Lookup::Call { .. } => Answer::Startable,
            Lookup::Resource { .. } => Answer::Missing(Candidates::default()),
        }
    }

    /// The path in the project of one that is written from the root.
    fn inside<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(&self.root)?;
        if rest.is_empty() { Some(".") } else { rest.strip_prefix('/') }
    }

    fn path(&self, path: &str, fragment: Option<&Fragment>) -> Answer {
        if path.starts_with('/') {
            let found = self.missing(path, false);
            let known = matches!(&found, Answer::Missing(others) if others.without_slash.is_some());
            return match found {
                Answer::Missing(others) if !known => Answer::Outside(others),
                found => found,
            };
        }
        match plain(path) {
            None if path.starts_with("..") => Answer::Outside(Candidates::default()),
            None => Answer::File(FileFacts { path: ".".to_owned(), directory: true, ..FileFacts::default() }),
            Some(plain) if self.folders.contains(&plain) => {
                Answer::File(FileFacts { path: plain, directory: true, ..FileFacts::default() })
            }
            Some(plain) => match self.text(&plain) {
                Some(text) => Answer::File(facts(&plain, text, fragment)),
                None => self.missing(path, false),
            },
        }
    }

    fn missing(&self, path: &str, writing: bool) -> Answer {
        let exists = |plain: &String| {
            let parent = plain.rsplit_once('/').map_or("", |(parent, _)| parent);
            self.files.contains_key(plain)
                || self.folders.contains(plain)
                || (writing && (parent.is_empty() || self.folders.contains(parent)))
        };
        let without_slash = path.strip_prefix('/').and_then(plain).filter(exists);
        Answer::Missing(Candidates {
            without_slash,
            respelled: None,
            near: plain(path).map(|path| self.near(&path)).unwrap_or_default(),
        })
    }

    fn near(&self, wanted: &str) -> Vec<String> {
        let lower = wanted.to_lowercase();
        let end = format!("/{wanted}");
        let split = |path: &str| path.rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap_or_default();
        let (folder, name) = wanted.rsplit_once('/').unwrap_or(("", wanted));
        let tests: [&dyn Fn(&str) -> bool; 3] =
            [&|path| path.to_lowercase() == lower, &|path| path.ends_with(&end), &|path| match path.contains('/') {
                true => split(path).0 == folder && within(name, &split(path).1, 2),
                false => folder.is_empty() && within(name, path, 2),
            }];
        let all = || self.files.keys().chain(&self.folders);
        let found = tests.iter().map(|test| all().filter(|path| test(path)).take(5).cloned().collect::<Vec<_>>());
        found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }
}

/// A path without `.`, `..` and slashes around it; `None` for the root and what leaves it.
fn plain(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { None } else { Some(parts.join("/")) }
}

fn facts(path: &str, text: &str, fragment: Option<&Fragment>) -> FileFacts {
    let lines = u32::try_from(text.lines().count()).expect("small");
    let bytes = u64::try_from(text.len()).expect("small");
    let mut facts = FileFacts { path: path.to_owned(), bytes, lines, tokens: tokens(text), ..FileFacts::default() };
    if let Some(Fragment::Anchor(anchor)) = fragment {
        if path.ends_with(".md") {
            let all = headings(text);
            facts.fragment_exists = Some(find_heading(&all, anchor).is_some());
            facts.anchors = nearest(anchor, all.iter().map(|heading| heading.slug.as_str()), 5);
        } else {
            facts.symbols_unsupported = true;
        }
    }
    facts
}
