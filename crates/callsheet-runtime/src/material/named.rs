//! Finds paths that a text names.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use super::index::RankedFile;

/// Where a text names a path by itself, not as a part of a longer one. A folder may be followed by its slash.
pub(crate) fn named_at(text: &str, path: &str) -> Option<usize> {
    if path.is_empty() {
        return None;
    }
    // In a script without blanks, a path is directly beside words.
    let is_ascii = path.is_ascii();
    let in_name = |character: char| {
        (character.is_alphanumeric() || matches!(character, '_' | '-')) && (character.is_ascii() || !is_ascii)
    };
    let found = text.match_indices(path).find(|(at, _)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let mut behind = text.get(at + path.len()..).unwrap_or_default().chars();
        let (next, after) = (behind.next(), behind.next());
        let goes_on = match next {
            // The end of a sentence, or of a folder's name.
            Some('.' | '/') => after.is_some_and(in_name),
            next => next.is_some_and(in_name),
        };
        !before.is_some_and(|before| in_name(before) || matches!(before, '/' | '.')) && !goes_on
    });
    found.map(|(at, _)| at)
}

/// The files that a text names, in its order: by their paths, or by a file name with an extension that only one file
/// has. Folders count if they are written with a slash.
pub fn named_in(text: &str, files: &[RankedFile]) -> Vec<String> {
    // A name on disk, and in a request, may have a letter with its mark as one character or as two.
    let text = &*text.nfc().collect::<String>();
    let composed: Vec<(String, &str)> =
        files.iter().map(|file| (file.path.nfc().collect(), file.path.as_str())).collect();
    let mut by_name: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut found: BTreeMap<(usize, &str), String> = BTreeMap::new();
    for (path, real) in &composed {
        let name = path.rsplit('/').next().unwrap_or(path);
        by_name.entry(name).and_modify(|only| *only = None).or_insert(Some(real));
        // A plain word, such as `license`, is not a path.
        if path.contains(['.', '/'])
            && let Some(at) = named_at(text, path)
        {
            found.insert((at, real), (*real).to_owned());
        }
        for ((end, _), (real_end, _)) in path.match_indices('/').zip(real.match_indices('/')) {
            let (Some(folder), Some(real)) = (path.get(..=end), real.get(..=real_end)) else { continue };
            if let Some(at) = named_at(text, folder) {
                found.insert((at, real), real.to_owned());
            }
        }
    }
    for (name, path) in by_name {
        if let (true, Some(path)) = (name.contains('.'), path)
            && let Some(at) = named_at(text, name)
        {
            found.insert((at, path), path.to_owned());
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::{RankedFile, named_in};

    fn named(text: &str) -> Vec<String> {
        let paths = ["Makefile", "README.md", "docs/a/ferry.md", "docs/b.md", "src/b.md", "src/main.rs"];
        let file = |path: &&str| RankedFile { path: (*path).to_owned(), score: 0.0, tokens: None };
        named_in(text, &paths.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn files_are_named_by_path_or_by_a_name_of_their_own() {
        assert_eq!(named("Compare src/main.rs with `ferry.md`."), ["src/main.rs", "docs/a/ferry.md"]);
        assert_eq!(named("b.md and xREADME.md and README.md2"), Vec::<String>::new());
        assert_eq!(named("docs/b.md, not src/b.md"), ["docs/b.md", "src/b.md"]);
        assert_eq!(named("请看ferry.md的内容"), ["docs/a/ferry.md"]);
        assert_eq!(named("the Makefile in src"), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_found_in_another_form_of_unicode() {
        let file = |path: &str| RankedFile { path: path.to_owned(), score: 0.0, tokens: None };
        let on_disk = "cafe\u{301}/re\u{301}sume\u{301}.md";
        assert_eq!(named_in("look at caf\u{e9}/r\u{e9}sum\u{e9}.md", &[file(on_disk)]), [on_disk]);
        assert_eq!(named_in("all of caf\u{e9}/", &[file(on_disk)]), ["cafe\u{301}/"]);
    }

    #[test]
    fn folders_are_named_with_their_slash() {
        assert_eq!(named("all of docs/a/, then src/"), ["docs/a/", "src/"]);
        assert_eq!(named("docs/a/ferry.md"), ["docs/a/ferry.md"]);
    }
}
