//! A summary that tells what would have to be done, and nothing of what came of it (spec 3.8 `summary-missing`). Small models
//! take the result for a plan.

use std::collections::BTreeSet;

use crate::reply::ReadContext;
use crate::reply::markdown::{Document, Heading, Section};
use crate::reply::near::folded;

/// Words by which a sentence speaks of work to come, as [`folded`] gives them; what follows is what its writer will do.
const WORKER: &[&str] = &[
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
];

/// The same of sentences about the task itself, whatever they go on with.
const TASK: &[&str] = &[
    "the task is to",
    "the task requires",
    "the task asks",
    "the expected output will",
    "the expected output should",
    "the result will",
    "the output will",
];

/// Beginnings of sentences that tell where something stands, and not what.
const ABOUT_SOURCES: &[&str] =
    &["this file ", "the file ", "this document ", "the document ", "the information ", "the relevant information "];

/// Words that point to what follows.
const BELOW: &[&str] = &["in the table below", "in the list below", "listed below", "shown below", "given below"];

/// What is done for an answer. Anything else that somebody has to do may be the answer itself.
const DOING: &[&str] = &[
    "analyse",
    "analyze",
    "begin",
    "calculate",
    "check",
    "collect",
    "compare",
    "compile",
    "compute",
    "consult",
    "count",
    "create",
    "describe",
    "determine",
    "document",
    "examine",
    "explain",
    "explore",
    "extract",
    "figure",
    "find",
    "gather",
    "generate",
    "identify",
    "inspect",
    "investigate",
    "know",
    "list",
    "locate",
    "look",
    "proceed",
    "produce",
    "read",
    "refer",
    "review",
    "scan",
    "search",
    "see",
    "start",
    "study",
    "summarise",
    "summarize",
    "understand",
    "use",
    "verify",
    "write",
];

/// Words that may stand before what is done.
const BEFORE: &[&str] =
    &["first", "then", "now", "also", "next", "just", "carefully", "finally", "simply", "have", "to", "need", "like"];

/// Whether every sentence of a summary speaks of work to come, and no other section says more; or its first one does, and
/// where the result belongs the task's own words stand.
pub(super) fn is_announced(summary: &str, document: &Document<'_>, context: &ReadContext) -> bool {
    let mut sentences =
        summary.lines().flat_map(|line| line.split(". ")).filter(|said| said.trim().contains(char::is_whitespace));
    let Some(first) = sentences.next() else { return false };
    let asked = Asked::of(context);
    let points = |said: &str| BELOW.iter().any(|words| folded(said).contains(words)) && !asked.is_told_more_by(said);
    if points(first) && sentences.clone().all(points) {
        return has_nothing_below(document);
    }
    if !speaks_ahead(first) {
        return false;
    }
    let is_ahead = |said: &str| (speaks_ahead(said) || is_about_sources(said)) && !asked.is_told_more_by(said);
    is_ahead(first) && (copies_expected(document, context) || sentences.all(is_ahead) && says_no_more(document))
}

fn is_about_sources(said: &str) -> bool {
    let said = folded(said);
    ABOUT_SOURCES.iter().any(|words| said.starts_with(words))
}

/// Whether the sections behind the summary hold nothing but names of files, fences and headings.
fn has_nothing_below(document: &Document<'_>) -> bool {
    let behind = document.sections.iter().filter(|section| section.heading != Some(Heading::ResultSummary));
    behind.filter(|section| document.has_text(section.body.clone())).all(|section| {
        document
            .text(section.body.clone())
            .lines()
            .map(str::trim)
            .all(|line| line.is_empty() || line.starts_with(['`', '~', '#']) || folded(line).starts_with("filename "))
    })
}

/// Whether a sentence has words of work to come, and of doing the task.
fn speaks_ahead(said: &str) -> bool {
    let said = format!(" {} ", folded(said));
    let rest = |words: &&str| said.split_once(&format!(" {words} ")).map(|(_, rest)| rest.to_owned());
    let does =
        |rest: String| rest.split(' ').find(|word| !BEFORE.contains(word)).is_some_and(|word| DOING.contains(&word));
    TASK.iter().any(|words| rest(words).is_some()) || WORKER.iter().filter_map(rest).any(does)
}

/// The words of a task and of the request.
struct Asked {
    words: BTreeSet<String>,
}

impl Asked {
    fn of(context: &ReadContext) -> Self {
        let mut words = BTreeSet::new();
        let mut take = |text: &str| words.extend(plain_words(text));
        if let Some(task) = &context.current {
            [&task.name, &task.need, &task.expected].into_iter().for_each(|text| take(text));
            for link in &task.references {
                take(&link.title);
                take(&link.target.to_string());
            }
        }
        context.prompts.iter().for_each(|prompt| take(prompt));
        Self { words }
    }

    /// Whether a sentence brings a fact that was not given: a figure, a name, a code span or a link with another word.
    fn is_told_more_by(&self, said: &str) -> bool {
        let mut in_code = false;
        let mut begins = true;
        for word in said.split_whitespace() {
            let is_code = in_code || word.contains('`');
            in_code ^= word.matches('`').count() % 2 == 1;
            let is_link = word.contains("](") || word.contains("://");
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let is_name = !begins
                && bare.starts_with(char::is_uppercase)
                && !matches!(plain_words(bare).next().as_deref(), Some("i"));
            let is_figure = bare.contains(|c: char| c.is_ascii_digit());
            begins = bare.is_empty() && begins || word.ends_with([':', '?', '!']);
            if (is_code || is_link || is_name || is_figure) && !plain_words(word).all(|word| self.words.contains(&word))
            {
                return true;
            }
        }
        false
    }
}

/// Words in lower case.
fn plain_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
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
