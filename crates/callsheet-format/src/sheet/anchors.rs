//! Headings of Markdown documents and the anchors that name them (spec 3.1, 5.3).

use std::collections::BTreeMap;

use callsheet_core::names::heading_key;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::split_mark;

/// A heading and the lines of its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Plain text.
    pub title: String,
    /// Key by the rule of spec 3.1.
    pub key: String,
    /// The common web slug, with `-1`, `-2` for repeats.
    pub slug: String,
    /// 1-based line at which the heading starts.
    pub first: u32,
    /// Last line of its section, which ends before the next heading that is not deeper.
    pub last: u32,
}

/// The headings of `text` in order, without those in fences, list items and quotations.
pub fn headings(text: &str) -> Vec<Heading> {
    let (_, text) = split_mark(text);
    let lines = LineStarts::of(text);
    let mut found: Vec<Heading> = Vec::new();
    let mut nested = 0_u32;
    let mut open: Option<(u8, usize, String)> = None;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Item | Tag::BlockQuote(_)) => nested += 1,
            Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => nested = nested.saturating_sub(1),
            Event::Start(Tag::Heading { level, .. }) if nested == 0 => {
                open = Some((depth(level), range.start, String::new()));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some((_, _, title)) = &mut open {
                    title.push_str(&part);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, title)) = &mut open {
                    title.push(' ');
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, start, title)) = open.take() {
                    let title = title.trim().to_owned();
                    let key = heading_key(&title);
                    found.push(Heading {
                        level,
                        title,
                        key,
                        slug: String::new(),
                        first: lines.line_of(start),
                        last: 0,
                    });
                }
            }
            _ => {}
        }
    }
    close_sections(&mut found, lines.count());
    name_slugs(&mut found);
    found
}

/// Titles of the headings of a file. Empty unless its language or kind is Markdown.
pub fn titles_of(kind: &str, text: &str) -> Vec<String> {
    match kind {
        "markdown" | "mdx" => headings(text).into_iter().map(|heading| heading.title).collect(),
        _ => Vec::new(),
    }
}

/// The heading that `anchor` names: by the rule of spec 3.1 if that is unique, else by the common web slug, else the
/// first of several equal keys.
pub fn find_heading<'a>(headings: &'a [Heading], anchor: &str) -> Option<&'a Heading> {
    let anchor = anchor.to_lowercase();
    let mut by_key = headings.iter().filter(|heading| !heading.key.is_empty() && heading.key == anchor);
    let first = by_key.next();
    if first.is_some() && by_key.next().is_none() {
        return first;
    }
    headings.iter().find(|heading| !heading.slug.is_empty() && heading.slug == anchor).or(first)
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn close_sections(headings: &mut [Heading], lines: u32) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..headings.len() {
        let Some((level, first)) = headings.get(index).map(|heading| (heading.level, heading.first)) else { continue };
        while let Some(above) = open.last().and_then(|&above| headings.get_mut(above))
            && above.level >= level
        {
            above.last = first.saturating_sub(1).max(above.first);
            open.pop();
        }
        open.push(index);
    }
    for index in open {
        if let Some(heading) = headings.get_mut(index) {
            heading.last = lines.max(heading.first);
        }
    }
}

fn name_slugs(headings: &mut [Heading]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for heading in headings {
        let plain: String = heading
            .title
            .to_lowercase()
            .chars()
            .filter(|character| character.is_alphanumeric() || matches!(character, '-' | '_' | ' '))
            .map(|character| if character == ' ' { '-' } else { character })
            .collect();
        let mut slug = plain.clone();
        while seen.contains_key(&slug) {
            let repeats = seen.entry(plain.clone()).or_insert(0);
            *repeats = repeats.saturating_add(1);
            slug = format!("{plain}-{repeats}");
        }
        seen.insert(slug.clone(), 0);
        heading.slug = slug;
    }
}

/// Byte offsets of line starts, to turn offsets into line numbers. A line ends with `\n` as files count lines.
struct LineStarts {
    starts: Vec<usize>,
    count: u32,
}

impl LineStarts {
    fn of(text: &str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { starts, count: u32::try_from(text.lines().count()).unwrap_or(u32::MAX) }
    }

    fn line_of(&self, offset: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX).max(1)
    }

    fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{find_heading, headings};

    const DOCUMENT: &str = "---\ntitle: x\n---\n# Top / one\ntext\n\n## Example\na\n```\n# not this\n```\n- # nor this\n\n## Example\nb\n\nUnder\n-----\nc\n# Über uns\nlast\n";

    #[test]
    fn sections_end_before_the_next_heading_that_is_not_deeper() {
        let found: Vec<_> = headings(DOCUMENT).iter().map(|h| (h.slug.clone(), h.level, h.first, h.last)).collect();
        let expected = [
            ("top--one", 1, 4, 19),
            ("example", 2, 7, 13),
            ("example-1", 2, 14, 16),
            ("under", 2, 17, 19),
            ("über-uns", 1, 20, 21),
        ];
        assert_eq!(found, expected.map(|(slug, level, first, last)| (slug.to_owned(), level, first, last)));
    }

    #[test]
    fn anchors_name_headings_by_either_rule() {
        let all = headings(DOCUMENT);
        let line = |anchor: &str| find_heading(&all, anchor).map(|heading| heading.first);
        assert_eq!(line("top-one"), Some(4), "the rule of spec 3.1");
        assert_eq!(line("top--one"), Some(4), "the web rule");
        assert_eq!(line("Example"), Some(7));
        assert_eq!(line("example-1"), Some(14));
        assert_eq!(line("über-uns"), Some(20));
        assert_eq!(line("example-2"), None);
        assert_eq!(line(""), None);
    }

    #[test]
    fn a_byte_order_mark_hides_no_heading() {
        assert_eq!(headings(&format!("\u{feff}{DOCUMENT}")), headings(DOCUMENT));
    }

    #[test]
    fn a_title_that_equals_a_numbered_repeat_gets_a_number_of_its_own() {
        let slugs: Vec<_> = headings("# A\n# A\n# A 1\n# A\n").into_iter().map(|heading| heading.slug).collect();
        assert_eq!(slugs, ["a", "a-1", "a-1-1", "a-2"]);
    }

    proptest! {
        #[test]
        fn sections_lie_inside_any_text(text in "[#\\-> a`~\\r\\n1.=]{0,80}") {
            let lines = u32::try_from(text.lines().count()).unwrap().max(1);
            for heading in headings(&text) {
                prop_assert!(heading.first >= 1 && heading.first <= heading.last);
                prop_assert!(heading.last <= lines);
            }
        }
    }
}
