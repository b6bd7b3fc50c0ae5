//! The file that a writer's task is about, by the form of its words.

use std::collections::BTreeSet;

use callsheet_core::spec::{Target, Task};
use callsheet_format::reading::{Answer, Lookup};
use callsheet_format::reply::references::files_of;

use crate::references;
use crate::references::language;
use crate::services::Services;

/// A file that a task is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedFile {
    /// Path relative to the project root.
    pub path: String,
    /// It is there already.
    pub exists: bool,
}

/// The file, if the task names one alone.
pub(crate) fn expected_file(services: &Services, task: &Task) -> Option<ExpectedFile> {
    let of = |text: &str| files_of(text).filter(|word| is_inside(word)).collect::<BTreeSet<String>>();
    let (need, expected) = (of(&task.need), of(&task.expected));
    let lookup = |path: &String| Lookup::Path { path: path.clone(), fragment: None };
    let lookups: Vec<Lookup> = need.union(&expected).map(lookup).collect();
    let answers = references::answer(&lookups, services.disk());
    let exists = |path: &String| match answers.get(&lookup(path)) {
        Some(Answer::File(facts)) if !facts.directory => Some(true),
        Some(Answer::Missing(_)) if has_known_ending(path) => Some(false),
        _ => None,
    };
    let named = |paths: &BTreeSet<String>| -> Vec<(String, bool)> {
        paths.iter().filter_map(|path| Some((path.clone(), exists(path)?))).collect()
    };
    let linked = task.references.iter().filter_map(|reference| match &reference.target {
        Target::File { path, .. } => Some(path.as_str()),
        _ => None,
    });
    let linked: BTreeSet<&str> = linked.collect();
    choose(&named(&need), &named(&expected), &linked)
}

/// The one of the named files, each with whether it exists, that the task is about. A file that is not there is to be made;
/// one that is there may be only what another is made from.
fn choose(need: &[(String, bool)], expected: &[(String, bool)], linked: &BTreeSet<&str>) -> Option<ExpectedFile> {
    if let [(path, false)] = expected {
        return Some(ExpectedFile { path: path.clone(), exists: false });
    }
    let mut all = need.iter().chain(expected);
    let (path, exists) = all.next()?;
    let alone = all.all(|(other, _)| other == path) && (!exists || linked.iter().all(|other| *other == path.as_str()));
    alone.then(|| ExpectedFile { path: path.clone(), exists: *exists })
}

/// A path below the project root that is written as it stands there.
fn is_inside(word: &str) -> bool {
    !word.starts_with(['/', '.', '~'])
        && !word.ends_with('/')
        && word.split('/').all(|part| !part.is_empty() && part != "..")
}

/// What else has a point inside, such as a name of code or a domain, has another ending.
fn has_known_ending(path: &str) -> bool {
    path.ends_with(".txt") || path.contains('.') && language(path) != "text"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(need: &[(&str, bool)], expected: &[(&str, bool)], linked: &[&str]) -> Option<String> {
        let owned = |list: &[(&str, bool)]| -> Vec<(String, bool)> {
            list.iter().map(|(path, exists)| ((*path).to_owned(), *exists)).collect()
        };
        choose(&owned(need), &owned(expected), &linked.iter().copied().collect()).map(|file| file.path)
    }

    /// covers: 3.9
    #[test]
    fn the_file_is_the_one_to_be_made_or_the_only_one() {
        let (new, old, other) = (("notes.md", false), ("README.md", true), ("docs/manual.md", true));
        assert_eq!(chosen(&[new], &[], &["README.md"]).as_deref(), Some("notes.md"));
        assert_eq!(chosen(&[new, old], &[new], &["README.md"]).as_deref(), Some("notes.md"));
        assert_eq!(chosen(&[old], &[old], &["README.md"]).as_deref(), Some("README.md"));
        assert_eq!(chosen(&[old], &[], &["README.md", "docs/manual.md"]), None);
        assert_eq!(chosen(&[old, other], &[old], &[]), None);
        assert_eq!(chosen(&[], &[], &["README.md"]), None);
    }

    #[test]
    fn names_of_code_and_places_outside_are_no_files_to_make() {
        assert!(has_known_ending("docs/notes.md") && has_known_ending("a.txt"));
        assert!(!has_known_ending("Net.run") && !has_known_ending("example.com") && !has_known_ending("Makefiles"));
        assert!(is_inside("docs/notes.md"));
        assert!(
            ["/etc/notes.md", "../notes.md", "a/../notes.md", "docs/", "//host/a.md"]
                .iter()
                .all(|path| !is_inside(path))
        );
    }
}
