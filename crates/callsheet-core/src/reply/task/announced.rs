//! A summary that tells what would have to be done, and nothing of what came of it (spec 3.8 `summary-missing`). Small models
//! take the result for a plan.

use crate::reply::ReadContext;
use crate::reply::markdown::{Document, Heading, Section};
use crate::reply::near::folded;

use super::asked::Asked;

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
    "we ll",
    "we are going to",
    "let me",
    "let us",
    "let s",
];

/// The same of sentences about the task itself, whatever they go on with.
const TASK: &[&str] = &[
    "the task is to",
    "the task requires",
    "the task asks",
    "the task was to",
    "the task involves",
    "the user asks",
    "the user wants",
    "the user needs to know",
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

/// What is done besides in a step of an announcement.
const STEPS: &[&str] = &[
    "answer", "display", "filter", "format", "get", "go", "group", "match", "note", "open", "output", "parse",
    "present", "print", "provide", "record", "report", "return", "select", "show", "sort",
];

/// Beginnings of a sentence that announces steps: they are taken to know something. What has to be done for anything else
/// may be the answer.
const TO_KNOW: &[&str] = &[
    "to answer",
    "to determine",
    "to explain",
    "to figure out",
    "to find",
    "to identify",
    "to know",
    "to see",
    "to understand",
];

/// What may stand between the words of a worker and the steps.
const TO_STEPS: &[&str] = &["", "do the following", "follow these steps", "take these steps", "perform these steps"];

/// Sentences about the work.
const WORK: &[&str] = &[
    "this process involves",
    "this process requires",
    "this approach involves",
    "this approach requires",
    "the process involves",
    "the process requires",
    "these steps involve",
    "these steps require",
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
    let steps = document.fences.is_empty() && announces_steps(first);
    if !steps && !speaks_ahead(first) {
        return false;
    }
    let is_ahead = |said: &str| {
        (speaks_ahead(said) && !tells_behind(said) || is_about_sources(said)) && !asked.is_told_more_by(said)
            || steps && (is_step(said) && !asked.is_told_more_beyond_files_by(said) || is_about_work(said))
    };
    (steps || is_ahead(first))
        && (copies_expected(document, context) || sentences.all(is_ahead) && says_no_more(document))
}

fn is_about_sources(said: &str) -> bool {
    let said = folded(said);
    ABOUT_SOURCES.iter().any(|words| said.starts_with(words))
}

/// Whether a sentence says that steps follow by which something is to be known.
fn announces_steps(said: &str) -> bool {
    let opens = said.trim_end().ends_with(':');
    let said = format!("{} ", folded(said));
    let to_know = said.strip_prefix("in order ").unwrap_or(&said);
    let ends = || {
        WORKER.iter().any(|words| {
            let rest = said.split_once(&format!(" {words} ")).map(|(_, rest)| rest.trim());
            rest.is_some_and(|rest| TO_STEPS.contains(&rest))
        })
    };
    opens && TO_KNOW.iter().any(|words| to_know.starts_with(&format!("{words} "))) && ends()
}

/// Whether a sentence begins with what is to be done.
fn is_step(said: &str) -> bool {
    let said = folded(said);
    let mut words =
        said.split(' ').skip_while(|word| word.bytes().all(|c| c.is_ascii_digit()) || BEFORE.contains(word));
    words.next().is_some_and(|word| DOING.contains(&word) || STEPS.contains(&word))
}

/// Whether a sentence says what the work is like, with no figure, code or link.
fn is_about_work(said: &str) -> bool {
    let plain = !said.contains(['`', '[']) && !said.contains("://") && !said.contains(|c: char| c.is_ascii_digit());
    let said = folded(said);
    plain && WORK.iter().any(|words| said.starts_with(words))
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

/// Whether a sentence goes on behind a colon once it has said what is to be done.
fn tells_behind(said: &str) -> bool {
    said.rsplit_once(": ").is_some_and(|(before, behind)| !behind.trim().is_empty() && speaks_ahead(before))
}

/// Sections other than the summary, without those that name sources or say that work is left.
fn others<'d>(document: &'d Document<'_>) -> impl Iterator<Item = &'d Section> {
    let aside = |section: &&Section| {
        section.heading.is_none_or(|heading| !matches!(heading, Heading::ResultSummary | Heading::Details))
            && !matches!(folded(&section.title).as_str(), "more work needed" | "details")
    };
    document.sections.iter().filter(aside)
}

pub(super) fn says_no_more(document: &Document<'_>) -> bool {
    others(document).all(|section| !document.has_text(section.body.clone()))
}

/// Whether the expected output of the task stands in a section of its own, word for word.
fn copies_expected(document: &Document<'_>, context: &ReadContext) -> bool {
    let Some(expected) = context.current.as_ref().map(|task| folded(&task.expected)) else { return false };
    let copies = |section: &Section| folded(&document.text(section.body.clone())) == expected;
    !expected.is_empty() && others(document).any(copies)
}
