//! Verdicts on results (spec 3.13): `yes`, or `no` with what is missing.

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::nouns::Phase;

use crate::markdown::{Document, Format, Prepare};
use crate::reading::{Diagnostics, Reading};

/// A verdict has no sections.
const FORMAT: Format = Format { rules: &[], markers: &[], plain_titles: false };

/// The maximum number of characters of a sentence that says what is missing.
const SENTENCE: usize = 400;

/// Reads a verdict: what is missing, or `None` if the result is complete. An unreadable verdict counts as `yes`, with a
/// warning. Case, marks and fences are ignored.
pub fn read_review(text: &str) -> Reading<Option<String>> {
    let mut notes = Diagnostics::new(Phase::Review, false);
    let document = Document::read(text, &FORMAT, Prepare::default(), &mut notes);
    let whole = document.whole();
    let lines = whole.lines().map(bare).filter(|line| !line.is_empty() && !is_fence(line));
    match verdict(lines) {
        Some(Verdict::Yes) => notes.finish(None),
        Some(Verdict::No(missing)) => {
            let issue = notes.issue(IssueCode::ReviewMissing, "", Span::line(1), &[("missing", &missing)]);
            notes.push(issue);
            notes.finish(Some(missing))
        }
        None => {
            let issue = notes.issue(IssueCode::ReviewUnreadable, "", Span::line(1), &[]).warning();
            notes.push(issue);
            notes.finish(None)
        }
    }
}

enum Verdict {
    Yes,
    No(String),
}

/// The first word decides. `no` needs a sentence after a mark or on the next line.
fn verdict<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<Verdict> {
    let first = lines.next()?;
    let end = first.find(|c: char| !c.is_alphanumeric()).unwrap_or(first.len());
    let (word, rest) = first.split_at(end);
    match word.to_lowercase().as_str() {
        "yes" => Some(Verdict::Yes),
        "no" => {
            let behind = rest.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
            let marked = rest.trim_start().starts_with(|c: char| !c.is_alphanumeric()) || rest.trim().is_empty();
            let sentence = if behind.is_empty() { lines.next()? } else { behind };
            let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
            let sentence: String = sentence.trim_end_matches('.').chars().take(SENTENCE).collect();
            (marked && !sentence.is_empty()).then_some(Verdict::No(sentence))
        }
        _ => None,
    }
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

fn is_mark(c: char) -> bool {
    matches!(c, '*' | '_' | '`' | '"' | '\'' | '#' | '>' | '-' | '–' | '—' | ':' | ';' | ',' | '.' | '!')
}

/// A line without the marks around it. A fence mark stays.
fn bare(line: &str) -> &str {
    let line = line.trim();
    if is_fence(line) {
        return line;
    }
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
    line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"'))
}
