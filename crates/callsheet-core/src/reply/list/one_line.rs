//! Tasks in one line (spec 4.4 `list-shape`): `- **Find Code 1** Where the stops are read.`, with the name of a skill and a
//! number as the name.

use crate::reply::markdown::{Label, Labelled, Piece, PieceKind};
use crate::reply::near::folded;
use crate::reply::{Notes, ReadContext, RepairCode};
use crate::sheet::slug_of;

use super::format::label;
use super::group::RawTask;

/// Words of the shortest need.
const SHORTEST: usize = 3;

/// The tasks of a section in which every item is a new task in one line; none if one is anything else.
pub fn tasks<'a>(pieces: &[Piece<'a>], context: &ReadContext, notes: &mut Notes) -> Option<Vec<RawTask<'a>>> {
    let found: Option<Vec<RawTask<'a>>> = pieces.iter().map(|piece| task(piece, context)).collect();
    let found = found.filter(|found| !found.is_empty())?;
    for task in &found {
        let written = task.labels.first().map_or("", |label| label.written);
        notes.repair(RepairCode::ListShape, task.span, written, "");
    }
    Some(found)
}

fn task<'a>(piece: &Piece<'a>, context: &ReadContext) -> Option<RawTask<'a>> {
    let PieceKind::Label(line) = &piece.kind else { return None };
    let Labelled { label: Label::Unknown(name), value, .. } = line else { return None };
    let (stem, number) = name.trim().rsplit_once(' ')?;
    let skill = context.catalog.iter().find(|skill| folded(&skill.name) == folded(stem))?;
    let counts = number.bytes().all(|byte| byte.is_ascii_digit());
    let slug = slug_of(name);
    let known = context.tasks.iter().any(|known| known.task.slug == slug || known.task.aliases.contains(&slug));
    let says = value.split_whitespace().nth(SHORTEST - 1).is_some() && !value.starts_with(['(', '<', ':']);
    if !counts || known || !says || folded(value) == folded(&skill.description) {
        return None;
    }
    let labels = vec![
        line.as_key(label::NAME, name.clone().into()),
        line.as_key(label::NEED, value.clone()),
        line.as_key(label::SKILL, skill.name.clone().into()),
    ];
    Some(RawTask { hint: None, labels, fences: Vec::new(), span: piece.span })
}
