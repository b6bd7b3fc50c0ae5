//! Tasks on one line (spec 4.4 `list-shape`): `- **Find Code 1** Where the stops are read.`, named after a skill with a
//! number (some of them misspelled), or `- **find_code** Where the stops are read.` with only the skill.

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;
use callsheet_core::names::slug_of;
use callsheet_core::nouns::Skill;

use crate::markdown::{Label, Labelled, Piece, PieceKind};
use crate::reading::{Diagnostics, ReadContext};

use super::format::label;
use super::group::RawTask;

/// The smallest number of words in a need.
const SHORTEST: usize = 3;

/// The tasks of a section in which every item is a new task on one line. Empty if any item is something else.
pub fn tasks<'a>(pieces: &[Piece<'a>], context: &ReadContext, notes: &mut Diagnostics) -> Option<Vec<RawTask<'a>>> {
    let exact: Vec<Option<RawTask<'a>>> =
        pieces.iter().map(|piece| task(piece, context, |name| skill_of(name, context))).collect();
    // If most items name a skill, the name in the others may be misspelled.
    let named = exact.iter().flatten().count();
    if 2 * named < pieces.len() {
        return None;
    }
    let near = |piece: &Piece<'a>| task(piece, context, |name| Some((near_skill_of(name, context, notes)?, true)));
    let found: Option<Vec<RawTask<'a>>> =
        exact.into_iter().zip(pieces).map(|(exact, piece)| exact.or_else(|| near(piece))).collect();
    let found = found.filter(|found| !found.is_empty())?;
    for task in &found {
        let written = task.labels.first().map_or("", |label| label.written);
        notes.repair(RepairCode::ListShape, task.span, written, "");
    }
    Some(found)
}

fn task<'a, 'c>(
    piece: &Piece<'a>,
    context: &'c ReadContext,
    skill_of: impl FnOnce(&str) -> Option<(&'c Skill, bool)>,
) -> Option<RawTask<'a>> {
    let PieceKind::Label(line) = &piece.kind else { return None };
    let Labelled { label: Label::Unknown(name), value, .. } = line else { return None };
    let (skill, numbered) = skill_of(name)?;
    let slug = slug_of(name);
    let known = context.tasks.find(&slug).is_some();
    let says = value.split_whitespace().nth(SHORTEST - 1).is_some() && !value.starts_with(['(', '<', ':']);
    // The catalog shows each skill with its description in exactly this form.
    if known || !says || is_copied(value, &skill.description) {
        return None;
    }
    let key = numbered.then(|| line.as_key(label::NAME, name.clone().into()));
    let mut labels: Vec<Labelled<'a>> = key.into_iter().collect();
    labels.push(line.as_key(label::NEED, value.clone()));
    // A misspelled skill is repaired where all skills are.
    let stem = name.rsplit_once(' ').filter(|(stem, _)| numbered && normalize(stem) != normalize(&skill.name));
    let skill = stem.map_or(skill.name.as_str(), |(stem, _)| stem);
    labels.push(line.as_key(label::SKILL, skill.to_owned().into()));
    Some(RawTask { hint: None, labels, fences: Vec::new(), span: piece.span })
}

/// Whether a need is a description or the beginning of one, ignoring what the catalog adds in brackets.
pub fn is_copied(need: &str, description: &str) -> bool {
    let need = need.split_once(" (").map_or(need, |(before, _)| before);
    let need = normalize(need);
    !need.is_empty() && normalize(description).starts_with(&need)
}

/// The skill whose name a label with a number misspells.
fn near_skill_of<'c>(written: &str, context: &'c ReadContext, notes: &Diagnostics) -> Option<&'c Skill> {
    let (stem, number) = written.trim().rsplit_once(' ')?;
    let counts = number.bytes().all(|byte| byte.is_ascii_digit());
    super::skill::only_near(stem, context, notes).filter(|_| counts)
}

/// The skill that a label names, with a number after it (true) or without one.
pub fn skill_of<'c>(written: &str, context: &'c ReadContext) -> Option<(&'c Skill, bool)> {
    let written = written.trim();
    // Comparing the first letter avoids nearly all of the work for text that names no skill.
    let letter = |text: &str| text.chars().find(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase());
    let first = letter(written);
    let named = |name: &str| {
        let wanted = normalize(name);
        context.catalog.iter().find(|skill| letter(&skill.name) == first && normalize(&skill.name) == wanted)
    };
    if !context.catalog.iter().any(|skill| letter(&skill.name) == first) {
        return None;
    }
    if let Some(skill) = named(written) {
        return Some((skill, false));
    }
    let (stem, number) = written.rsplit_once(' ')?;
    let counts = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((named(stem).filter(|_| counts)?, true))
}
