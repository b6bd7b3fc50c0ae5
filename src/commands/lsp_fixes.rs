//! Corrections that an editor offers: names that somebody may have meant by what is written.

use callsheet_core::fuzzy::meant;
use callsheet_core::issue::{Issue, IssueCode, Repair};
use callsheet_core::template as tree;
use callsheet_format::skill::SkillIssue;
use callsheet_lsp::Fix;

use super::check::written_at;

/// A part of a line: its number from 1, and the bytes before it.
struct Part<'a> {
    line: (u32, &'a str),
    byte: usize,
    wrong: &'a str,
}

impl Part<'_> {
    fn fix(&self, right: String) -> Fix {
        let before = self.line.1.get(..self.byte).unwrap_or_default().chars().count();
        let column = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
        Fix { line: self.line.0, column, wrong: self.wrong.to_owned(), right }
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

/// The corrections of an issue of a skill file.
pub(super) fn of_skill(text: &str, issue: &SkillIssue) -> Vec<Fix> {
    let part = || {
        let misspelt = issue.misspelt.as_ref()?;
        let line = line_of(text, issue.line)?;
        let byte = whole_word(line, byte_of(line, issue.column), &misspelt.word)?;
        let part = Part { line: (issue.line, line), byte, wrong: &misspelt.word };
        Some(misspelt.meant.iter().map(|right| part.fix(right.clone())).collect())
    };
    part().unwrap_or_default()
}

/// The byte of a word at this byte, or else of one that occurs exactly once behind it.
fn whole_word(line: &str, from: usize, word: &str) -> Option<usize> {
    let rest = line.get(from..)?;
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let is_whole = |at: &usize| {
        let before = rest.get(..*at).unwrap_or_default().ends_with(joins);
        !before && !rest.get(at + word.len()..).unwrap_or_default().starts_with(joins)
    };
    let mut found = rest.match_indices(word).map(|(at, _)| at).filter(is_whole);
    let first = found.next()?;
    (first == 0 || found.next().is_none()).then_some(from + first)
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
