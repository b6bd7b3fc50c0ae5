//! Texts of blocks.

use callsheet_core::fence::block;
use callsheet_format::sheet::{find_heading, headings};

use crate::paths::{Listing, printable};
use callsheet_core::texts::fill;

const BINARY: &str = include_str!("prompts/binary.txt");
const NAMES_OMITTED: &str = include_str!("prompts/names-omitted.txt");
const RESTRICTED: &str = include_str!("prompts/restricted.txt");

/// Ending of a heading whose content is left out of later prompts (spec 5.10).
const NO_LONGER_RELEVANT: &str = "(no longer relevant)";

/// A block in the form of spec 5.9. Titles and targets are untrusted too, so they stay on the heading's line.
pub(super) fn block_of(title: &str, target: &str, language: &str, content: &str) -> String {
    // Line ends in a title are folded like other blanks.
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    block(&printable(&title), &printable(target), language, content)
}

/// A listing, one name per line.
pub(super) fn listing_text(listing: &Listing) -> String {
    let mut text: String = listing.names.iter().map(|name| format!("{name}\n")).collect();
    if listing.left_out > 0 {
        text.push_str(&names_omitted(listing.left_out));
        text.push('\n');
    }
    text
}

/// The text about names that were left out.
pub(crate) fn names_omitted(count: usize) -> String {
    fill(NAMES_OMITTED, &[("count", &count.to_string())])
}

/// The text that replaces the content of a binary file.
pub(super) fn binary_text(bytes: u64) -> String {
    fill(BINARY, &[("bytes", &bytes.to_string())])
}

/// The one-line stub that replaces restricted content.
pub(super) fn restricted_text(target: &str) -> String {
    fill(RESTRICTED, &[("target", &printable(target))])
}

/// The section of a Markdown text with its line numbers.
pub(super) fn section(text: &str, anchor: &str) -> Option<(u32, u32)> {
    let all = headings(text);
    find_heading(&all, anchor).map(|heading| (heading.first, heading.last))
}

/// Slugs of all headings.
pub(super) fn anchors(text: &str) -> Vec<String> {
    headings(text).into_iter().map(|heading| heading.slug).collect()
}

/// Lines of a document that are no longer relevant, and how they can still be read.
pub(super) struct Mark {
    /// The first line, from 1.
    pub(super) first: u32,
    /// The last line.
    pub(super) last: u32,
    /// The link.
    pub(super) link: String,
}

/// The sections of a Markdown document whose headings say that they are no longer relevant.
pub(super) fn marked_headings(document: &str, reference: impl Fn(&str) -> String) -> Vec<Mark> {
    let all = headings(document).into_iter();
    let marked = all.filter(|heading| heading.title.to_lowercase().ends_with(NO_LONGER_RELEVANT));
    marked.map(|heading| Mark { first: heading.first, last: heading.last, link: reference(&heading.slug) }).collect()
}

/// A document in which a stub replaces each part that is no longer relevant.
pub(super) fn without_marked(document: &str, mut marks: Vec<Mark>) -> String {
    // The stub of an outer part also covers the parts inside it.
    marks.sort_by_key(|mark| (mark.first, std::cmp::Reverse(mark.last)));
    let mut text = String::with_capacity(document.len());
    let (mut marks, mut hidden) = (marks.into_iter().peekable(), 0);
    for (at, line) in (1_u32..).zip(document.split_inclusive('\n')) {
        while let Some(mark) = marks.next_if(|mark| mark.first <= at) {
            if mark.last > hidden {
                text.push_str(&restricted_text(&mark.link));
                text.push('\n');
                hidden = mark.last;
            }
        }
        if at > hidden {
            text.push_str(line);
        }
    }
    text
}
