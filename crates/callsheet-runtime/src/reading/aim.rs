//! Finds the files that a task with changes is about, from the form of its words.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::nouns::{SkillLayer, Target, Task};
use callsheet_core::run::TaskRun;
use callsheet_format::reading::{Answer, Lookup};
use callsheet_format::reply::references::files_of;

use crate::fault::DriveFault;
use crate::references;
use crate::references::language;
use crate::services::Services;

/// Files that a task is about, relative to the project root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteAim {
    /// The file that it creates.
    pub made: Option<String>,
    /// Existing files to begin with. Empty means any file.
    pub named: Vec<String>,
}

impl WriteAim {
    /// The file that must be among the changes, if there is exactly one.
    pub fn one(self) -> Option<String> {
        match self.named.as_slice() {
            [path] => Some(path.clone()),
            _ => self.made,
        }
    }
}

/// The files that a text names, in its order: existing ones, and those that it may ask for.
pub(crate) fn files_named(services: &Services, text: &str) -> Vec<String> {
    let known = known(services, &files_in(text));
    let mut found: Vec<String> = files_of(text).filter(|path| known.contains_key(path)).collect();
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

fn files_in(text: &str) -> BTreeSet<String> {
    files_of(text).filter(|word| is_inside(word)).collect()
}

/// Which of these words are files, and whether each exists.
fn known(services: &Services, words: &BTreeSet<String>) -> BTreeMap<String, bool> {
    let lookup = |path: &String| Lookup::Path { path: path.clone(), fragment: None };
    let lookups: Vec<Lookup> = words.iter().map(lookup).collect();
    let answers = references::answer(&lookups, services.disk());
    let exists = |path: &String| match answers.get(&lookup(path)) {
        Some(Answer::File(facts)) if !facts.directory => Some(true),
        Some(Answer::Missing(_)) if has_known_ending(path) => Some(false),
        _ => None,
    };
    words.iter().filter_map(|path| Some((path.clone(), exists(path)?))).collect()
}

/// What the task names. `edits` means that its skill changes files and creates none on its own.
pub(crate) fn write_aim(services: &Services, task: &Task, edits: bool) -> WriteAim {
    let (need, expected) = (files_in(&task.need), files_in(&task.expected));
    let known = known(services, &need.union(&expected).cloned().collect());
    let named = |paths: &BTreeSet<String>| -> Vec<(String, bool)> {
        paths.iter().filter_map(|path| Some((path.clone(), *known.get(path)?))).collect()
    };
    let linked = task.references.iter().filter_map(|reference| match &reference.target {
        Target::File { path, .. } => Some(path.as_str()),
        _ => None,
    });
    let linked: BTreeSet<&str> = linked.collect();
    choose(&named(&need), &named(&expected), &linked, edits)
}

/// The path of the new file, if the reply of a task is its text (spec 3.9): the request is to create this file, with a
/// bundled skill. A person's skill, or a plan, may want more written.
pub(crate) fn document(services: &Services, task: &TaskRun) -> Result<Option<String>, DriveFault> {
    let writes = task.skill.as_ref().is_some_and(|skill| skill.writes_files);
    if !writes || !task.direct || task.is_loop() {
        return Ok(None);
    }
    let skill = services.pinned(task.skill.as_ref())?;
    let is_bundled = skill.source.layer == SkillLayer::Bundled;
    Ok(is_bundled.then(|| write_aim(services, &task.task, skill.policy.new_files_named).made).flatten())
}

/// Which of the named files, each with whether it exists, the task is about. If only one does not exist, the task is to
/// create it. Existing files may be only the sources of another, unless the task edits files or sees nothing else.
fn choose(need: &[(String, bool)], expected: &[(String, bool)], linked: &BTreeSet<&str>, edits: bool) -> WriteAim {
    let paths = |list: &[(String, bool)], there: bool| -> BTreeSet<String> {
        list.iter().filter(|(_, exists)| *exists == there).map(|(path, _)| path.clone()).collect()
    };
    let all = [need, expected].concat();
    let (there, missing) = (paths(&all, true), paths(&all, false));
    let made = match expected {
        [(path, false)] => Some(path.clone()),
        // An existing file may be a source for the new one, unless the skill changes files.
        _ if missing.len() == 1 && (there.is_empty() || !edits) => missing.into_iter().next(),
        _ => None,
    };
    // If one file is expected, such as one that a route named, it is changed; it is not the place for another one.
    let wanted = matches!(expected, [(_, true)]);
    let alone = there.len() == 1 && linked.iter().all(|path| there.contains(*path));
    let named = match (&made, wanted) {
        (None, true) => paths(expected, true).into_iter().collect(),
        (None, false) if edits || alone => there.into_iter().collect(),
        _ => Vec::new(),
    };
    WriteAim { made, named }
}

/// A path below the project root in its normal spelling.
fn is_inside(word: &str) -> bool {
    !word.starts_with(['/', '.', '~'])
        && !word.ends_with('/')
        && word.split('/').all(|part| !part.is_empty() && part != "..")
}

/// Whether a word ends like a file name. Other words with a dot, such as a name in code or a domain, have other
/// endings.
fn has_known_ending(path: &str) -> bool {
    path.ends_with(".txt") || path.contains('.') && language(path) != "text"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(need: &[(&str, bool)], expected: &[(&str, bool)], linked: &[&str], edits: bool) -> String {
        let owned = |list: &[(&str, bool)]| -> Vec<(String, bool)> {
            list.iter().map(|(path, exists)| ((*path).to_owned(), *exists)).collect()
        };
        let aim = choose(&owned(need), &owned(expected), &linked.iter().copied().collect(), edits);
        format!("{} {}", aim.made.as_deref().unwrap_or("-"), aim.named.join(" "))
    }

    /// covers: 3.9
    #[test]
    fn the_file_is_the_one_to_be_made_or_one_that_is_named_for_editing() {
        let (new, old, other) = (("notes.md", false), ("README.md", true), ("docs/manual.md", true));
        assert_eq!(aim(&[new], &[], &["README.md"], false), "notes.md ");
        assert_eq!(aim(&[new, old], &[new], &["README.md"], false), "notes.md ");
        assert_eq!(aim(&[old], &[old], &["README.md"], false), "- README.md");
        assert_eq!(aim(&[old], &[], &["README.md", "docs/manual.md"], false), "- ");
        assert_eq!(aim(&[old], &[], &["README.md", "docs/manual.md"], true), "- README.md");
        assert_eq!(aim(&[old, other], &[old], &[], false), "- README.md");
        assert_eq!(aim(&[new, old], &[], &["README.md"], false), "notes.md ");
        assert_eq!(aim(&[new, old], &[], &["README.md"], true), "- README.md");
        assert_eq!(aim(&[old, other], &[], &[], true), "- README.md docs/manual.md");
        assert_eq!(aim(&[], &[], &["README.md"], true), "- ");
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
