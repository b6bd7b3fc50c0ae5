//! Renames a task together with all references to it.

use std::ops::Range;

use callsheet_core::fuzzy::normalize;
use callsheet_core::names::slug_of;
use callsheet_format::markdown::item_text;

use crate::cursor::{Placed, after, key, links, producer, tasks};
use crate::lines::Lines;

/// A line, the bytes to remove from it, and the text that replaces them.
pub(crate) type Edit = (usize, Range<usize>, String);

/// The task at a position, with the bytes that name it. The position can be in a link, in an `after:`, or in the task's
/// own name.
pub(crate) fn at<'a>(
    lines: &Lines<'_>,
    tasks: &'a [Placed],
    (number, byte): (usize, usize),
) -> Option<(&'a Placed, Range<usize>)> {
    let line = lines.get(number);
    for link in links(line).into_iter().filter(|link| (link.title.start..=link.target.end).contains(&byte)) {
        if let Some((placed, slug)) = line.get(link.target.clone()).and_then(|target| producer(target, tasks)) {
            return Some((placed, link.target.start + slug.start..link.target.start + slug.end));
        }
    }
    for word in after_words(line).into_iter().filter(|word| word.start <= byte && byte <= word.end) {
        if let Some(placed) = line.get(word.clone()).and_then(|written| named(written, lines, tasks)) {
            return Some((placed, word));
        }
    }
    let placed = tasks.iter().rev().find(|placed| placed.lines.contains(&number))?;
    let name = definition(lines, placed)?;
    (name.0 == number && (name.1.start..=name.1.end).contains(&byte)).then_some((placed, name.1))
}

/// The line and bytes where the name of a task is written.
pub(crate) fn definition(lines: &Lines<'_>, placed: &Placed) -> Option<(usize, Range<usize>)> {
    let name = placed.task.name.as_str();
    for number in placed.lines.clone() {
        let line = lines.get(number);
        if let Some((_, value)) = key(line).filter(|(key, _)| key == "name") {
            return Some((number, value));
        }
        if number == placed.lines.start
            && let Some(start) = line.find(&format!("**{name}**"))
        {
            return Some((number, start + 2..start + 2 + name.len()));
        }
    }
    // The first words of the item are its name.
    let line = lines.get(placed.lines.start);
    let start = line.len() - item_text(line)?.len();
    line.get(start..).filter(|text| !text.is_empty() && !text.starts_with("**") && line.contains("[ ]"))?;
    Some((placed.lines.start, start..line.len()))
}

/// The words and numbers that an `after:` names.
fn after_words(line: &str) -> Vec<Range<usize>> {
    let Some(value) = after(line) else { return Vec::new() };
    let mut found = Vec::new();
    let mut start = value.start;
    for word in line.get(value).unwrap_or_default().split(',') {
        let trimmed = word.trim_start();
        let from = start + word.len() - trimmed.len();
        found.push(from..from + trimmed.trim_end().len());
        start += word.len() + 1;
    }
    found
}

/// The only task that the words of an `after:` can mean, by the rules of the reader.
fn named<'a>(written: &str, lines: &Lines<'_>, tasks: &'a [Placed]) -> Option<&'a Placed> {
    let wanted = normalize(written);
    if wanted.is_empty() || written.trim().parse::<u64>().is_ok() {
        return None;
    }
    let words = |placed: &Placed| {
        let first = item_text(lines.get(placed.lines.start)).map(normalize).unwrap_or_default();
        [normalize(&placed.task.name), first]
    };
    let fits = |placed: &&Placed, whole: bool| {
        words(placed).iter().any(|words| match words.strip_prefix(wanted.as_str()) {
            Some(rest) => rest.is_empty() || !whole && rest.starts_with(' '),
            None => false,
        })
    };
    let one = |whole: bool| {
        let mut found = tasks.iter().filter(|placed| fits(placed, whole));
        found.next().filter(|_| found.next().is_none())
    };
    one(true).or_else(|| one(false))
}

/// The bytes of the name at a position, and the name.
pub(crate) fn prepare(text: &str, lines: &Lines<'_>, place: (usize, usize)) -> Option<(Range<usize>, String)> {
    let tasks = tasks(text);
    let (placed, bytes) = at(lines, &tasks, place)?;
    Some((bytes, placed.task.name.clone()))
}

/// The edits that rename the task at a position, or why it cannot be renamed.
pub(crate) fn rename(
    text: &str,
    lines: &Lines<'_>,
    place: (usize, usize),
    to: &str,
) -> Result<Vec<Edit>, &'static str> {
    let to = to.trim();
    let slug = slug_of(to);
    if to.is_empty() || to.contains(['\n', '\r', '*', '`', '[', ']', ',']) {
        return Err("a name must be a single line without commas and Markdown marks");
    }
    let tasks = tasks(text);
    let (placed, _) = at(lines, &tasks, place).ok_or("there is no task name here")?;
    if tasks.iter().any(|other| other.task.slug == slug && other.task.slug != placed.task.slug) {
        return Err("another task has this name");
    }
    let (number, name) = definition(lines, placed).ok_or("this task does not have its own name; give it one first")?;
    let mut edits: Vec<Edit> = Vec::new();
    let written = lines.get(number).get(name.clone()).unwrap_or_default();
    if !lines.get(number).contains(&format!("**{written}**")) && key_is_absent(lines, placed) {
        // The first words remain as text.
        edits.push((number, name.start..name.start, format!("**{to}** ")));
    } else {
        edits.push((number, name, to.to_owned()));
    }
    for number in 0..lines.count() {
        let line = lines.get(number);
        for link in links(line) {
            let Some(target) = line.get(link.target.clone()) else { continue };
            let Some((_, bytes)) = producer(target, &tasks).filter(|(of, _)| of.task.slug == placed.task.slug) else {
                continue;
            };
            if line.get(link.title.clone()) == Some(placed.task.name.as_str()) {
                edits.push((number, link.title.clone(), to.to_owned()));
            }
            edits.push((number, link.target.start + bytes.start..link.target.start + bytes.end, slug.to_string()));
        }
        for word in after_words(line) {
            let of = line.get(word.clone()).and_then(|written| named(written, lines, &tasks));
            if of.is_some_and(|of| of.task.slug == placed.task.slug) {
                edits.push((number, word, to.to_owned()));
            }
        }
    }
    Ok(edits)
}

fn key_is_absent(lines: &Lines<'_>, placed: &Placed) -> bool {
    placed.lines.clone().all(|number| key(lines.get(number)).is_none_or(|(key, _)| key != "name"))
}
