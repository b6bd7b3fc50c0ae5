//! Headings of Markdown files, which a symbol change can address (spec 3.9, 5.3).

use crate::sheet;

use super::text::Lines;

/// A heading of a Markdown file and its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its text without markup.
    pub title: String,
    /// Key by the rule of spec 3.1.
    pub key: String,
    /// Anchor by the common web rule, with `-1`, `-2` for repeats.
    pub anchor: String,
    /// 1 to 6.
    pub level: u8,
    /// 1-based line of the heading.
    pub first: usize,
    /// 1-based last non-blank line of its section. The section ends at the next heading that is not deeper than this
    /// one.
    pub last: usize,
    /// 1-based last line before the next section, including blank lines.
    pub last_blank: usize,
}

/// The headings of a Markdown text, in order, without those in fences, lists and quotes.
pub fn headings(text: &str) -> Vec<Heading> {
    let lines = Lines::of(text);
    let content = content_lines(&lines);
    let number = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let found = sheet::headings(text).into_iter();
    found
        .map(|heading| {
            let first = number(heading.first);
            let last_blank = number(heading.last).max(first);
            let last = content.get(last_blank).copied().unwrap_or(first).max(first);
            let sheet::Heading { level, title, key, slug, .. } = heading;
            Heading { title, key, anchor: slug, level, first, last, last_blank }
        })
        .collect()
}

/// For each line, the last non-blank line up to it, so that trailing blank lines are found without another walk.
fn content_lines(lines: &Lines<'_>) -> Vec<usize> {
    let mut content = vec![0usize; lines.count() + 1];
    for line in 1..=lines.count() {
        let before = content.get(line - 1).copied().unwrap_or(0);
        if let Some(slot) = content.get_mut(line) {
            *slot = if lines.get(line).trim().is_empty() { before } else { line };
        }
    }
    content
}

/// First line of the HTML comment that ends on the line above `first`. `first` itself if there is none.
pub(super) fn with_comment(lines: &Lines<'_>, first: usize) -> usize {
    let mut line = first.saturating_sub(1);
    if line == 0 || !lines.get(line).trim_end().ends_with("-->") {
        return first;
    }
    while line > 0 {
        if lines.get(line).trim_start().starts_with("<!--") {
            return line;
        }
        if lines.get(line).trim().is_empty() {
            return first;
        }
        line -= 1;
    }
    first
}
