//! A summary that tells what would have to be done, and nothing of what came of it (spec 3.8 `summary-missing`). Small models
//! take the result for a plan.

use crate::reply::ReadContext;
use crate::reply::markdown::{Document, Heading, Section};
use crate::reply::near::folded;

/// Words by which a sentence speaks of work to come, as [`folded`] gives them.
const AHEAD: &[&str] = &[
    "i will",
    "i ll",
    "i need to",
    "i have to",
    "i would",
    "i am going to",
    "i m going to",
    "we will",
    "we need to",
    "we have to",
    "let me",
    "the task is to",
    "the task requires",
    "the expected output will",
    "the result will",
    "the output will",
];

/// Whether every sentence of a summary speaks of work to come, and no other section says more; or its first one does, and
/// where the result belongs the task's own words stand.
pub(super) fn is_announced(summary: &str, document: &Document<'_>, context: &ReadContext) -> bool {
    let mut sentences = summary.lines().flat_map(|line| line.split(". ")).map(folded).filter(|said| said.contains(' '));
    let Some(first) = sentences.next() else { return false };
    if !is_ahead(&first) {
        return false;
    }
    copies_expected(document, context) || sentences.all(|said| is_ahead(&said)) && says_no_more(document)
}

/// Whether a sentence, folded, has words of work to come.
fn is_ahead(said: &str) -> bool {
    let said = format!(" {said} ");
    AHEAD.iter().any(|words| said.contains(&format!(" {words} ")))
}

/// Sections other than the summary, without those that name sources or say that work is left.
fn others<'d>(document: &'d Document<'_>) -> impl Iterator<Item = &'d Section> {
    let aside = |section: &&Section| {
        section.heading.is_none_or(|heading| !matches!(heading, Heading::ResultSummary | Heading::Details))
            && !matches!(folded(&section.title).as_str(), "more work needed" | "details")
    };
    document.sections.iter().filter(aside)
}

fn says_no_more(document: &Document<'_>) -> bool {
    others(document).all(|section| !document.has_text(section.body.clone()))
}

/// Whether the expected output of the task stands in a section of its own, word for word.
fn copies_expected(document: &Document<'_>, context: &ReadContext) -> bool {
    let Some(expected) = context.current.as_ref().map(|task| folded(&task.expected)) else { return false };
    let copies = |section: &Section| folded(&document.text(section.body.clone())) == expected;
    !expected.is_empty() && others(document).any(copies)
}
