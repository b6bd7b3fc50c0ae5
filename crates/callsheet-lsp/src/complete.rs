//! Completion: what can be inserted at the cursor.

use std::ops::Range;
use std::path::Path;

use crate::cursor::{after, key, open, tasks};
use crate::project::{Entry, Kind, Project};

/// The maximum number of entries that are offered. An editor asks again as the word grows.
const MOST: usize = 200;

/// The offered entries, and the bytes of the line that they replace.
pub(crate) struct Offer {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bytes: Range<usize>,
}

/// What can be inserted at a byte of a line.
pub(crate) fn complete(
    project: &dyn Project,
    (kind, file, text): (Kind, &Path, &str),
    (number, line, byte): (usize, &str, usize),
) -> Option<Offer> {
    let before = line.get(..byte)?;
    let offer = |entries: Vec<Entry>, word: &str| {
        let entries = fitting(entries, word);
        Some(Offer { entries, bytes: byte - word.len()..byte })
    };
    match kind {
        Kind::Template => {
            let word = open(before, "{{", &['}', '{'])?.trim_start();
            offer(project.values(file, text), word)
        }
        Kind::Skill => {
            let (key, _) = key(before).filter(|(key, _)| key == "tools")?;
            let word = before.rsplit([':', ',', '[', ' ']).next().filter(|_| !key.is_empty())?;
            offer(project.tools(), word)
        }
        Kind::Sheet => {
            if let Some(target) = open(before, "](", &[')']) {
                return match target.split_once('#') {
                    Some(("", _)) => offer(results(text, number), target),
                    Some((path, part)) => offer(project.anchors(path), part),
                    None => {
                        let mut entries = results(text, number);
                        entries.extend(project.paths().into_iter().map(|name| Entry { name, about: String::new() }));
                        offer(entries, target)
                    }
                };
            }
            if let Some((_, value)) = key(before).filter(|(key, _)| key == "skill") {
                return offer(project.skills(), before.get(value)?);
            }
            let word = before.get(after(before)?)?.rsplit(',').next()?.trim_start();
            let own = tasks(text).into_iter().filter(|placed| !placed.lines.contains(&number));
            let name =
                |placed: crate::cursor::Placed| Entry { name: placed.task.name, about: one_line(&placed.task.need) };
            offer(own.map(name).collect(), word)
        }
    }
}

/// Links to the results of the tasks above a line.
fn results(text: &str, number: usize) -> Vec<Entry> {
    let above = tasks(text).into_iter().filter(|placed| placed.lines.end <= number);
    above.map(|placed| Entry { name: format!("#{}-results", placed.task.slug), about: placed.task.name }).collect()
}

/// The entries that start with a word, or else those that contain it.
fn fitting(entries: Vec<Entry>, word: &str) -> Vec<Entry> {
    let word = word.to_lowercase();
    let (mut begin, rest): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.name.to_lowercase().starts_with(&word));
    begin.extend(rest.into_iter().filter(|entry| entry.name.to_lowercase().contains(&word)));
    begin.truncate(MOST);
    begin
}

/// The beginning of a text, as one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect()
}
