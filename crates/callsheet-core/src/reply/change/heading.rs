//! Headings of Markdown files: what a symbol change addresses there (spec 3.9, 5.3).

use std::collections::BTreeMap;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::sheet::heading_key;

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
    /// 1-based last line of its section that is not blank; the section runs to the next heading not deeper than this one.
    pub last: usize,
    /// 1-based last line before the next section, blank lines included.
    pub last_blank: usize,
}

/// The headings of a Markdown text, in order. Headings in fences, lists and quotes are none.
pub fn headings(text: &str) -> Vec<Heading> {
    let lines = Lines::of(text);
    let mut found: Vec<Heading> = Vec::new();
    let mut repeats: BTreeMap<String, usize> = BTreeMap::new();
    let mut depth = 0usize;
    let mut open: Option<(u8, usize, String)> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                open = Some((number(level), lines.line_at(range.start), String::new()));
                depth += 1;
            }
            Event::End(TagEnd::Heading(_)) if open.is_some() => {
                depth = depth.saturating_sub(1);
                if let Some((level, first, title)) = open.take() {
                    found.push(heading(title, level, first, &mut repeats));
                }
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(words) | Event::Code(words) => {
                if let Some((_, _, title)) = &mut open {
                    title.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, title)) = &mut open {
                    title.push(' ');
                }
            }
            _ => {}
        }
    }
    close_sections(&mut found, &lines);
    found
}

fn heading(title: String, level: u8, first: usize, repeats: &mut BTreeMap<String, usize>) -> Heading {
    let key = heading_key(&title);
    let mut anchor = web_anchor(&title);
    let seen = repeats.entry(anchor.clone()).or_insert(0);
    if *seen > 0 {
        anchor = format!("{anchor}-{seen}");
    }
    *seen += 1;
    Heading { title, key, anchor, level, first, last: first, last_blank: first }
}

/// Lowercase, spaces to hyphens, other punctuation dropped.
fn web_anchor(title: &str) -> String {
    title
        .trim()
        .chars()
        .flat_map(char::to_lowercase)
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

/// Sets where sections end. A stack of open sections keeps it linear in the number of headings.
fn close_sections(found: &mut [Heading], lines: &Lines<'_>) {
    let mut open: Vec<usize> = Vec::new();
    let mut ends = vec![lines.count(); found.len()];
    for (index, heading) in found.iter().enumerate() {
        while let Some(&last) = open.last() {
            if found.get(last).is_some_and(|outer| outer.level >= heading.level) {
                if let Some(end) = ends.get_mut(last) {
                    *end = heading.first.saturating_sub(1);
                }
                open.pop();
            } else {
                break;
            }
        }
        open.push(index);
    }
    // The last line of each line's run of content, so that trailing blank lines are found without walking them again.
    let mut content = vec![0usize; lines.count() + 1];
    for line in 1..=lines.count() {
        let before = content.get(line - 1).copied().unwrap_or(0);
        if let Some(slot) = content.get_mut(line) {
            *slot = if lines.get(line).trim().is_empty() { before } else { line };
        }
    }
    for (heading, end) in found.iter_mut().zip(ends) {
        heading.last_blank = end.max(heading.first);
        heading.last = content.get(heading.last_blank).copied().unwrap_or(heading.first).max(heading.first);
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// First line of the HTML comment that ends on the line above `first`; `first` itself if there is none.
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
