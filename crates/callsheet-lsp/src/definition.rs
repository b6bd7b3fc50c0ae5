//! Go to definition: where the thing at the cursor is written.

use std::ops::Range;
use std::path::Path;

use crate::cursor::{key, links, placeholder, producer, tasks};
use crate::lines::Lines;
use crate::project::{Definition, Kind, Named, Project};
use crate::rename;

/// The place of a definition.
pub(crate) enum Found {
    /// A line of the same text, and the bytes in it.
    Here(usize, Range<usize>),
    /// A place that the project knows.
    There(Definition),
}

/// Where the thing at a byte of a line is defined.
pub(crate) fn definition(
    project: &dyn Project,
    (kind, file, text): (Kind, &Path, &str),
    lines: &Lines<'_>,
    (number, byte): (usize, usize),
) -> Option<Found> {
    let line = lines.get(number);
    let there = |named| project.defined(file, text, named).map(Found::There);
    match kind {
        Kind::Template => {
            let at = lines.offset(number, byte);
            match placeholder(line, byte) {
                Some(inside) => there(Named::Value(line.get(inside)?.trim(), at)),
                None => there(Named::Call(at)),
            }
        }
        Kind::Skill => None,
        Kind::Sheet => {
            let tasks = tasks(text);
            let link = links(line).into_iter().find(|link| (link.title.start..=link.target.end).contains(&byte));
            let target = link.and_then(|link| line.get(link.target));
            if let Some(target) = target.filter(|target| producer(target, &tasks).is_none()) {
                return there(Named::Target(target));
            }
            if let Some((placed, _)) = rename::at(lines, &tasks, (number, byte)) {
                let first = placed.lines.start;
                let (line, bytes) = rename::definition(lines, placed).unwrap_or((first, 0..lines.get(first).len()));
                return Some(Found::Here(line, bytes));
            }
            let (_, value) = key(line).filter(|(name, value)| name == "skill" && value.contains(&byte))?;
            there(Named::Skill(line.get(value)?.trim()))
        }
    }
}
