//! Texts of blocks.

use callsheet_core::sheet::{block, find_heading, headings};

use crate::issues::fill;
use crate::paths::{Listing, printable};

const BINARY: &str = include_str!("prompts/binary.txt");
const NAMES_OMITTED: &str = include_str!("prompts/names-omitted.txt");
const RESTRICTED: &str = include_str!("prompts/restricted.txt");

/// Ending of a heading whose content is left out of later prompts (spec 5.10).
const NO_LONGER_RELEVANT: &str = "(no longer relevant)";

/// A block in the form of spec 5.9. Titles and targets are untrusted too: they stay on the heading's line.
pub(super) fn block_of(title: &str, target: &str, language: &str, content: &str) -> String {
    // Line ends of a title are folded like other blanks.
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    block(&printable(&title), &printable(target), language, content)
}

/// A listing, one name a line.
pub(super) fn listing_text(listing: &Listing) -> String {
    let mut text: String = listing.names.iter().map(|name| format!("{name}\n")).collect();
    if listing.left_out > 0 {
        text.push_str(&fill(NAMES_OMITTED, &[("count", &listing.left_out.to_string())]));
        text.push('\n');
    }
    text
}

/// What is said of a binary file instead of its content.
pub(super) fn binary_text(bytes: u64) -> String {
    fill(BINARY, &[("bytes", &bytes.to_string())])
}

/// The one-line stub of restricted content.
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

/// A document whose sections marked as no longer relevant are replaced by a stub each that names how to read them.
pub(super) fn without_restricted(document: &str, reference: impl Fn(&str) -> String) -> String {
    let all = headings(document);
    let marked: Vec<_> =
        all.iter().filter(|heading| heading.title.to_lowercase().ends_with(NO_LONGER_RELEVANT)).collect();
    if marked.is_empty() {
        return document.to_owned();
    }
    let mut text = String::with_capacity(document.len());
    for (at, line) in (1_u32..).zip(document.split_inclusive('\n')) {
        match marked.iter().find(|heading| (heading.first..=heading.last).contains(&at)) {
            None => text.push_str(line),
            // A marked section inside a marked one is covered by the outer stub.
            Some(heading) if heading.first == at => {
                text.push_str(&restricted_text(&reference(&heading.slug)));
                text.push('\n');
            }
            Some(_) => {}
        }
    }
    text
}
