//! Which files earlier tasks may create (spec 5.5 `not-yet`): those that they name.

use std::collections::BTreeMap;

/// The longest word, in bytes, that can be a path.
const LONGEST: usize = 200;

/// Steps of tasks that may change files, with their number in each step, by the files that they name.
#[derive(Clone, Debug, Default)]
pub(super) struct Making {
    /// Those that name this file, by its path or by its name alone, or a file in this directory.
    named: BTreeMap<String, BTreeMap<u32, usize>>,
    /// Those that name this directory, which ends with a slash. They may create any file in it.
    within: BTreeMap<String, BTreeMap<u32, usize>>,
}

impl Making {
    /// Adds a task of a step with the paths that it names.
    pub(super) fn add(&mut self, step: u32, paths: &[String]) {
        self.each(paths, |steps| *steps.entry(step).or_default() += 1);
    }

    /// Removes it again.
    pub(super) fn remove(&mut self, step: u32, paths: &[String]) {
        self.each(paths, |steps| {
            let left = steps.get(&step).copied().unwrap_or_default().saturating_sub(1);
            match left {
                0 => steps.remove(&step),
                left => steps.insert(step, left),
            };
        });
    }

    fn each(&mut self, paths: &[String], mut change: impl FnMut(&mut BTreeMap<u32, usize>)) {
        for path in paths {
            if path.ends_with('/') {
                change(self.within.entry(path.clone()).or_default());
                continue;
            }
            let name = path.rsplit('/').next().unwrap_or_default();
            let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
            for key in folders.chain([path.as_str(), name]) {
                change(self.named.entry(key.to_owned()).or_default());
            }
        }
    }

    /// Whether a task of an earlier step may create a path. A directory ends with a slash.
    pub(super) fn may(&self, path: &str, directory: bool, step: u32) -> bool {
        let path = plain(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let key = if directory { format!("{path}/") } else { path.to_owned() };
        let before =
            |steps: Option<&BTreeMap<u32, usize>>| steps.is_some_and(|steps| steps.range(..step).next().is_some());
        let named = |key: &str| before(self.named.get(key));
        let within = |folder: &str| before(self.within.get(folder));
        let short = key.get(..key.len().min(LONGEST)).unwrap_or_default();
        named(&key) || named(name) || short.match_indices('/').filter_map(|(at, _)| short.get(..=at)).any(within)
    }
}

fn plain(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path)
}

/// The words of a text that are paths: of files, which contain an extension, a slash or a capital letter, such as
/// `notes/summary.md` and `Makefile`, and of directories, which end with a slash.
pub fn files_of(text: &str) -> impl Iterator<Item = String> {
    let is_end = |c: char| {
        c.is_whitespace()
            || matches!(c, '`' | '"' | '\'' | '(' | ')' | '[' | ']' | '<' | '>' | '*' | ',' | ':' | ';' | '#')
    };
    let words = text.split(is_end).map(|word| word.trim_end_matches(['.', '!', '?']));
    let words = words.map(|word| word.strip_prefix("./").unwrap_or(word)).filter(|word| word.len() <= LONGEST);
    words.filter(|word| word.len() > 1 && is_path(word)).map(str::to_owned)
}

fn is_path(word: &str) -> bool {
    is_file(word) || word.contains('/') || word.contains(char::is_uppercase)
}

fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let letters = |text: &str| text.chars().all(char::is_alphanumeric);
    // `e.g` is none.
    stem.len() + ending.len() > 2
        && letters(ending)
        && ending.len() <= 8
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
}
