//! The files that a person names in a text (spec 2.2). The task that the host creates from the text reads them.

use callsheet_core::links::{parse_name, parse_target};
use callsheet_core::nouns::{Fragment, Reference, Target};
use callsheet_format::reading::{Answer, Lookup};
use callsheet_format::reply::references::{files_of, written_links};

use crate::paths::EntryKind;

use super::answer::{Disk, answer};

/// The maximum number of references from one text. A pasted log may name any number of files.
const MOST: usize = 20;

/// References to the existing files and directories that a text names, each once. Links and bare paths keep the part
/// that they name, if it exists.
pub fn named_references(text: &str, disk: Disk<'_>) -> Vec<Reference> {
    let links = written_links(text).into_iter().map(|link| link.target.into_owned());
    let mut found: Vec<Reference> = Vec::new();
    for written in links.chain(files_of(text)) {
        if found.len() == MOST {
            break;
        }
        let Some(target) = existing(&written, disk) else { continue };
        let path = path_of(&target);
        // A bare path occurs a second time without its part.
        let is_known =
            |known: &Reference| known.target == target || target.whole().is_none() && path_of(&known.target) == path;
        if !found.iter().any(is_known) {
            let title = path.rsplit('/').next().unwrap_or(path).to_owned();
            found.push(Reference { title, target });
        }
    }
    found
}

fn path_of(target: &Target) -> &str {
    match target {
        Target::File { path, .. } | Target::Directory(path) => path,
        _ => "",
    }
}

/// The file or directory whose path is this word, by its name in the project.
fn existing(written: &str, disk: Disk<'_>) -> Option<Target> {
    let (path, fragment) = match parse_target(written).or_else(|_| parse_name(written)).ok()? {
        Target::File { path, fragment } => (path, fragment),
        Target::Directory(path) => (path, None),
        _ => return None,
    };
    let located = disk.workspace.locate(&path).ok()?;
    let real = located.path().to_owned();
    match disk.workspace.kind(&located).ok()? {
        EntryKind::File(_) => Some(Target::File { fragment: part(&real, fragment, disk), path: real }),
        // A single word can match a directory by chance, and the project itself is not a reference.
        EntryKind::Directory if written.contains('/') && real != "." => Some(Target::Directory(real)),
        EntryKind::Directory | EntryKind::Special => None,
    }
}

/// The part of a file, if the file contains it.
fn part(path: &str, fragment: Option<Fragment>, disk: Disk<'_>) -> Option<Fragment> {
    let lookup = Lookup::Path { path: path.to_owned(), fragment: Some(fragment?) };
    let answers = answer([&lookup], disk);
    let Some(Answer::File(facts)) = answers.get(&lookup) else { return None };
    let Lookup::Path { fragment: Some(fragment), .. } = &lookup else { return None };
    match fragment {
        Fragment::Lines { first, last } if *first <= facts.lines => {
            Some(Fragment::Lines { first: *first, last: (*last).min(facts.lines) })
        }
        Fragment::Anchor(_) if facts.fragment_exists == Some(true) => Some(fragment.clone()),
        _ => None,
    }
}
