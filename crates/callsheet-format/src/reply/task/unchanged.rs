//! Whether a reply that changes nothing shows why (spec 3.11): it must name a file and quote lines of it.

use std::collections::BTreeSet;

use crate::markdown::Document;
use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::reply::references::files_of;

/// The maximum number of files that are examined.
const FILES: usize = 5;

/// The maximum number of quotations that are searched.
const QUOTES: usize = 40;

/// Shortest quotation in characters.
const SHORTEST: usize = 6;

/// Label of the file in the form of spec 3.11. Its value may contain blanks.
const LABEL: &str = "- **file_path** ";

/// Existing files that the reply names and quotes: in a fence, after `>` or in quotation marks.
pub(super) fn shown(document: &Document<'_>, context: &ReadContext, notes: &mut Diagnostics) -> Vec<String> {
    let text = document.whole();
    let quotes = quotes(document, &text);
    let labelled: BTreeSet<String> =
        text.lines().filter_map(|line| line.trim().strip_prefix(LABEL)).map(|path| path.trim().to_owned()).collect();
    let words = files_of(&text).filter(|word| word.contains(['.', '/']) && !labelled.contains(word));
    let words: BTreeSet<String> = words.collect();
    let mut shown = Vec::new();
    for path in labelled.iter().chain(&words).take(FILES).cloned() {
        if let Some(Answer::Content(file)) = notes.answer(context, Lookup::Content(path.clone())) {
            let file = folded(file);
            shown.extend(quotes.iter().any(|quote| file.contains(quote.as_str())).then_some(path));
        }
    }
    shown
}

/// The file that the task is about, if it does not exist. Then something must be changed.
pub(super) fn missing<'a>(context: &'a ReadContext, notes: &mut Diagnostics) -> Option<&'a str> {
    let path = context.expected_file.as_deref()?;
    let answer = notes.answer(context, Lookup::Content(path.to_owned()));
    matches!(answer, Some(Answer::Missing(_))).then_some(path)
}

fn quotes(document: &Document<'_>, text: &str) -> Vec<String> {
    let text = text.replace(['“', '”', '„'], "\"");
    let fenced = document.fences.iter().flat_map(|fence| fence.content.lines());
    let behind = text.lines().filter_map(|line| line.trim_start().strip_prefix('>'));
    let inside = |mark: char| text.lines().flat_map(move |line| line.split(mark).skip(1).step_by(2));
    let all = fenced.chain(behind).chain(inside('"')).chain(inside('`')).map(folded);
    all.filter(|quote| quote.chars().count() >= SHORTEST && has_words(quote)).take(QUOTES).collect()
}

/// Whether a quotation has words. A name or path alone is not a quotation.
fn has_words(quote: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    quote.split(|c: char| !is_name(c)).filter(|word| !word.is_empty()).nth(1).is_some()
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
