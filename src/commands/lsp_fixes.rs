//! Corrections that an editor offers: names that somebody may have meant by what is written.

use callsheet_core::fuzzy::meant;
use callsheet_core::issue::{Issue, IssueCode, Repair};
use callsheet_core::template as tree;
use callsheet_format::items::MissingField;
use callsheet_lsp::{Finding, Fix, Weight};

use super::check::written_at;

/// A part of a line: its number from 1, and the bytes before it.
struct Part<'a> {
    line: (u32, &'a str),
    byte: usize,
    wrong: &'a str,
}

impl Part<'_> {
    fn column(&self, byte: usize) -> u32 {
        let before = self.line.1.get(..byte).unwrap_or_default().chars().count();
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn fix(&self, right: String) -> Fix {
        Fix { line: self.line.0, column: self.column(self.byte), wrong: self.wrong.to_owned(), right }
    }
}

fn line_of(text: &str, number: u32) -> Option<&str> {
    text.lines().nth(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// The corrections of an issue of a template.
pub(super) fn of_template(text: &str, issue: &tree::Issue) -> Vec<Fix> {
    let part = || {
        let found = issue.found.as_deref().filter(|found| !found.is_empty() && issue.line == issue.end_line)?;
        let line = line_of(text, issue.line)?;
        let (from, to) = (byte_of(line, issue.column), byte_of(line, issue.end_column));
        Some(Part { line: (issue.line, line), byte: from + only(line.get(from..to)?, found)?, wrong: found })
    };
    let Some(part) = part() else { return Vec::new() };
    let right = meant(part.wrong, issue.expected.iter().map(String::as_str));
    right.into_iter().map(|right| part.fix(right)).collect()
}

/// The byte of a column, which counts characters from 1.
fn byte_of(line: &str, column: u32) -> usize {
    let before = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    line.char_indices().nth(before).map_or(line.len(), |(at, _)| at)
}

/// The byte of a part that occurs exactly once.
fn only(text: &str, part: &str) -> Option<usize> {
    let mut found = text.match_indices(part).map(|(at, _)| at);
    found.next().filter(|_| found.next().is_none())
}

/// The corrections of an issue of a sheet.
pub(super) fn of_sheet(text: &str, issue: &Issue) -> Vec<Fix> {
    let number = issue.place.span.first;
    let Some(line) = line_of(text, number) else { return Vec::new() };
    let Some((byte, written)) = written_at(line, issue) else { return Vec::new() };
    let inside = part_of_link(written, issue.code);
    let Some(wrong) = written.get(inside.clone()).filter(|wrong| !wrong.is_empty()) else { return Vec::new() };
    let part = Part { line: (number, line), byte: byte + inside.start, wrong };
    let is_anchor = inside.start > 0 && written.get(..inside.start).is_some_and(|before| before.ends_with('#'));
    let bare = |name: &'_ String| if is_anchor { name.trim_start_matches('#').to_owned() } else { name.clone() };
    let allowed: Vec<String> = issue.allowed.iter().map(bare).collect();
    meant(wrong, allowed.iter().map(String::as_str)).into_iter().map(|right| part.fix(right)).collect()
}

/// The bytes of a written link that an issue is about: its anchor, or else its path. A word that is no link is about
/// itself.
fn part_of_link(written: &str, code: IssueCode) -> std::ops::Range<usize> {
    let target = written.find("](").filter(|_| written.starts_with('[')).map_or(0..written.len(), |at| {
        let end = written.rfind(')').unwrap_or(written.len());
        at + 2..end.max(at + 2)
    });
    let sign = written.get(target.clone()).and_then(|target| target.find('#')).map(|at| at + target.start);
    match sign {
        Some(sign) if code == IssueCode::FileMissing => target.start..sign,
        Some(sign) => sign + 1..target.end,
        None => target,
    }
}

/// A field that no item of a list has, where a sheet names it.
pub(super) fn of_field(text: &str, missing: &MissingField) -> Option<Finding> {
    let MissingField { item, field, known } = missing;
    let placeholder = format!("{{{item}.{field}}}");
    let found = (1..).zip(text.lines()).find_map(|(number, line)| Some((number, line, line.find(&placeholder)?)));
    let (number, line, at) = found?;
    // The brace and the dot take a byte each.
    let part = Part { line: (number, line), byte: at + item.len() + 2, wrong: field };
    let fixes = meant(field, known.iter().map(String::as_str)).into_iter().map(|right| part.fix(right)).collect();
    Some(Finding {
        weight: Weight::Warning,
        code: "field-missing".to_owned(),
        message: missing.to_string(),
        start: (number, part.column(part.byte)),
        end: (number, part.column(part.byte + field.len())),
        fixes,
    })
}

/// The correction that a reader made by itself.
pub(super) fn of_repair(text: &str, repair: &Repair) -> Vec<Fix> {
    let number = repair.span.first;
    let part = || {
        let line = line_of(text, number)?;
        Some(Part { line: (number, line), byte: only(line, &repair.before)?, wrong: &repair.before })
    };
    let is_one = !repair.before.is_empty() && super::check::is_near(repair.code);
    part().filter(|_| is_one).map(|part| part.fix(repair.after.clone())).into_iter().collect()
}
