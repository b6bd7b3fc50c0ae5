//! Hover: what the cursor is on.

use std::ops::Range;
use std::path::Path;

use crate::cursor::{key, links, placeholder, producer, tasks};
use crate::project::{Entry, Kind, Project};

/// Markdown about what is at a byte of a line, and the bytes that it describes.
pub(crate) fn hover(
    project: &dyn Project,
    (kind, file, text): (Kind, &Path, &str),
    (line, byte): (&str, usize),
) -> Option<(String, Range<usize>)> {
    if kind == Kind::Template {
        let inside = placeholder(line, byte)?;
        let name = line.get(inside.clone())?.trim();
        let entry = project.values(file, text).into_iter().find(|entry| entry.name == name)?;
        return Some((about(&entry), inside.start.saturating_sub(2)..inside.end + 2));
    }
    if kind == Kind::Sheet
        && let Some(link) = links(line).into_iter().find(|link| (link.title.start..=link.target.end).contains(&byte))
    {
        let target = line.get(link.target.clone())?;
        let tasks = tasks(text);
        let words = match producer(target, &tasks) {
            Some((placed, _)) => format!("The result of **{}**: {}", placed.task.name, placed.task.need),
            None => project.shown(target),
        };
        return Some((words, link.title.start..link.target.end));
    }
    let (name, value) = key(line)?;
    let (entries, word) = match (kind, name.as_str()) {
        (Kind::Sheet, "skill") => (project.skills(), value.clone()),
        (Kind::Skill, "tools") => (project.tools(), word_at(line, byte, &value)?),
        _ => return None,
    };
    let written = line.get(word.clone()).filter(|_| word.contains(&byte))?.trim();
    let entry = entries.into_iter().find(|entry| entry.name == written)?;
    Some((about(&entry), word))
}

fn about(entry: &Entry) -> String {
    format!("**{}** {}", entry.name, entry.about)
}

/// The word of a value that contains a byte.
fn word_at(line: &str, byte: usize, value: &Range<usize>) -> Option<Range<usize>> {
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
    let start = line.get(value.start..byte)?.rfind(is_end).map_or(value.start, |at| value.start + at + 1);
    let end = line.get(byte..value.end)?.find(is_end).map_or(value.end, |at| byte + at);
    Some(start..end)
}
