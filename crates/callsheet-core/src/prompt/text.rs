//! Measuring, cutting and fencing text for a model.

use std::borrow::Cow;

use crate::spec::tokens;

use super::Note;

/// Quarters of a token.
fn weight(character: char) -> u64 {
    if character.is_ascii() { 1 } else { 4 }
}

/// The first `most` lines, with a note of what is left out.
pub fn cut_lines(text: &str, most: usize) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= most {
        return Cow::Borrowed(text);
    }
    Cow::Owned(joined(&lines, most, lines.len()))
}

/// About `most` tokens: the first 70 % and the last 30 % at line ends, with a note in place (spec 5.8).
pub fn cut_tokens(text: &str, most: u32) -> Cow<'_, str> {
    if tokens(text) <= most {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().collect();
    let quarters = u64::from(most) * 4;
    let head = fitting(lines.iter().copied(), quarters * 7 / 10);
    let tail = fitting(lines.iter().rev().copied(), quarters * 3 / 10).min(lines.len().saturating_sub(head));
    if head == 0 && tail == 0 {
        return Cow::Owned(cut_characters(text, quarters));
    }
    Cow::Owned(joined(&lines, head, lines.len() - tail))
}

/// How many of the lines fit.
fn fitting<'a>(lines: impl Iterator<Item = &'a str>, quarters: u64) -> usize {
    let mut left = quarters;
    lines
        .take_while(|line| {
            let cost = line.chars().map(weight).sum::<u64>() + 1;
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        })
        .count()
}

/// Lines before `head`, a note, lines from `tail` on (0-based).
fn joined(lines: &[&str], head: usize, tail: usize) -> String {
    let omitted = lines.get(head..tail).unwrap_or_default().join("\n");
    let note = Note::OmittedLines.fill(&[
        ("first", &(head + 1).to_string()),
        ("last", &tail.to_string()),
        ("total", &lines.len().to_string()),
        ("tokens", &tokens(&omitted).to_string()),
    ]);
    let mut kept: Vec<&str> = lines.get(..head).unwrap_or_default().to_vec();
    kept.push(&note);
    kept.extend(lines.get(tail..).unwrap_or_default());
    kept.join("\n")
}

/// For lines longer than the whole budget.
fn cut_characters(text: &str, quarters: u64) -> String {
    let mut left = quarters;
    let kept: String = text
        .chars()
        .take_while(|character| {
            let fits = weight(*character) <= left;
            left = left.saturating_sub(weight(*character));
            fits
        })
        .collect();
    let omitted = tokens(text.get(kept.len()..).unwrap_or_default()).to_string();
    format!("{kept}\n{}", Note::OmittedText.fill(&[("tokens", &omitted)]))
}
