//! A summary that only plans: it takes up what was asked and says what would be done with the sources for it, in sentences of
//! which none asserts anything (spec 3.8 `summary-missing`).

use std::collections::BTreeSet;

use crate::reply::list::{TASK_LABELS, label};
use crate::reply::markdown::{Document, Heading, Label, Section, label_line};
use crate::reply::near::folded;
use crate::reply::{Answer, Lookup, Notes, ReadContext};
use crate::spec::Target;

use super::asked::Asked;

/// What is to be known: the first words of a sentence that plans.
const TO_KNOW: &[&str] = &[
    "answer",
    "calculate",
    "compute",
    "count",
    "check if",
    "check whether",
    "check which",
    "decide",
    "determine",
    "extract",
    "figure out",
    "find",
    "get",
    "identify",
    "know",
    "list",
    "obtain",
    "see",
    "show",
    "summarise",
    "summarize",
    "tell",
    "understand",
    "work out",
];

/// Words that may stand between who works and what is done.
const BEFORE: &[&str] = &[
    "need", "must", "should", "can", "could", "will", "would", "ll", "am", "m", "are", "re", "going", "have", "to",
    "first", "then", "now", "also", "next", "finally", "just", "simply", "start", "by",
];

/// Those of them after which nothing is said to have been done.
const BOUND: &[&str] = &["need", "must", "should", "will", "would", "ll", "going"];

/// What is done with sources.
const PROCESS: &[&str] = &[
    "add",
    "aggregate",
    "analyse",
    "analyze",
    "calculate",
    "check",
    "combine",
    "compare",
    "compute",
    "consult",
    "count",
    "examine",
    "extract",
    "filter",
    "gather",
    "go",
    "group",
    "inspect",
    "iterate",
    "load",
    "look",
    "loop",
    "match",
    "open",
    "parse",
    "process",
    "query",
    "refer",
    "review",
    "scan",
    "search",
    "select",
    "sort",
    "sum",
    "sums",
    "tally",
    "total",
    "use",
    "verify",
];

/// What is done with data and nothing else: it needs no word of what it is for.
const OF_DATA: &[&str] =
    &["aggregate", "calculate", "compute", "extract", "filter", "iterate", "parse", "query", "sum", "tally"];

/// Done too, if it is still to be done: otherwise it may be what was found.
const OUTCOMES: &[&str] = &["determine", "display", "find", "identify", "list", "output", "print", "read", "show"];

/// Sentences about the form of the result.
const RESULT: &[&str] = &[
    "the expected output ",
    "the expected result ",
    "the output ",
    "the result ",
    "the task ",
    "this ",
    "the final output ",
];

/// Kinds of results, which are none themselves.
const KINDS: &[&str] = &[
    "count", "csv", "file", "line", "list", "name", "number", "numbers", "report", "set", "sum", "summary", "table",
    "total",
];

/// What is done to a result that is not there yet.
const TO_COME: &[&str] = &[
    "calculated",
    "compared",
    "computed",
    "counted",
    "determined",
    "displayed",
    "extracted",
    "grouped",
    "identified",
    "listed",
    "presented",
    "printed",
    "shown",
    "sorted",
    "summed",
];

/// Words behind which something is asserted.
const ASSERTS: &[&str] = &[
    "so",
    "therefore",
    "thus",
    "hence",
    "because",
    "gives",
    "giving",
    "yields",
    "equals",
    "resulting in",
    "results in",
    "namely",
    "that is",
    "we get",
    "we see",
    "and get",
    "and see",
    "found",
    "shows that",
    "means",
];

/// Words for what stands in sources.
const CONTENT: &[&str] =
    &["column", "columns", "data", "details", "figures", "information", "numbers", "rows", "values"];

/// Where it stands.
const STANDS: &[&str] =
    &["available", "contained", "found", "given", "listed", "located", "provided", "recorded", "stored"];

/// A task with one of these words may ask where something stands.
const PLACES: &[&str] = &[
    "column", "columns", "locate", "location", "place", "places", "section", "source", "sources", "stand", "stands",
    "where", "which",
];

/// Whether every sentence of a summary plans, the first one in words of the task, and nothing else of the reply says more.
pub(super) fn is_planned(summary: &str, document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    let asked = Asked::of(context);
    let mut sentences = sentences(summary);
    let opens = sentences.next().is_some_and(|said| opens(said, &asked) && is_empty_of(said, &asked));
    if !opens || asks_for_a_way(context) || !sentences.all(|said| is_plan(said, &asked)) {
        return false;
    }
    let end = copy_of_task(document, context).unwrap_or(document.len());
    let before = document.sections.iter().filter(|section| section.line < end);
    let cut = |section: &Section| Section { body: section.body.start..section.body.end.min(end), ..section.clone() };
    before
        .map(cut)
        .all(|section| says_nothing(&section, document, &asked) && brings_copies(&section, document, context, notes))
}

/// The heading above the need of the task, if that stands word for word under its key: there the prompt is copied, and what
/// stands behind it goes on with that.
fn copy_of_task(document: &Document<'_>, context: &ReadContext) -> Option<usize> {
    let need = folded(&context.current.as_ref().filter(|task| !task.need.trim().is_empty())?.need);
    let is_need = |at: usize| {
        label_line(document.line(at), TASK_LABELS)
            .is_some_and(|found| matches!(found.label, Label::Known(label::NEED)) && folded(found.value) == need)
    };
    let unknown = document.sections.iter().filter(|section| section.heading.is_none());
    let mut copies = unknown.filter_map(|section| Some((section, section.body.clone().find(|at| is_need(*at))?)));
    let (section, at) = copies.next()?;
    let heading = (section.body.start..at).rev().find(|at| document.line(*at).starts_with('#'));
    Some(heading.unwrap_or(section.line))
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split(". ")).filter(|said| !said.trim().is_empty())
}

/// Whether the way itself was asked for: then a plan is the answer.
fn asks_for_a_way(context: &ReadContext) -> bool {
    const AMOUNTS: &[&str] = &[
        "big", "cold", "deep", "early", "far", "fast", "few", "heavy", "high", "hot", "large", "late", "long", "many",
        "much", "often", "old", "soon", "tall", "wide",
    ];
    const WAYS: &[&str] = &["formula", "instructions", "method", "procedure", "step", "steps", "way"];
    let task = context.current.iter().flat_map(|task| [&task.need, &task.expected]);
    let is_way = |text: &String| folded(text).split(' ').any(|word| WAYS.contains(&word));
    let asks_how = |text: &String| {
        let text = folded(text);
        let mut words = text.split(' ').peekable();
        while let Some(word) = words.next() {
            if word == "how" && !words.peek().is_some_and(|next| AMOUNTS.contains(next)) {
                return true;
            }
        }
        text.contains(" to do ") || text.ends_with(" to do")
    };
    task.clone().any(is_way) || task.chain(&context.prompts).any(asks_how)
}

/// Whether a sentence begins a plan: `to find the total …, we need to sum …`, `I will filter …`.
fn opens(said: &str, asked: &Asked) -> bool {
    let plain = folded(said);
    let words: Vec<&str> = plain.split(' ').collect();
    let whole = plain.strip_prefix("in order ").unwrap_or(&plain);
    let known = |aim: &str| TO_KNOW.iter().any(|verb| aim.strip_prefix(verb).is_some_and(|rest| rest.starts_with(' ')));
    let (to_know, by) = (whole.strip_prefix("to ").is_some_and(known), whole.starts_with("by "));
    let first = workers(&words).find_map(|at| Some((at, done(words.get(at..)?)?)));
    let begins = |at: usize| at == 0 || at == 1 && words.first().is_some_and(|word| BEFORE.contains(word));
    let plans = match first {
        Some((at, _)) if to_know => asked.has_most_of(words.iter().take(at).skip(2).copied()),
        Some((at, (_, true))) if by => asked.has_most_of(words.iter().skip(at).copied()),
        Some((at, (verb, true))) if begins(at) => words.get(at) == Some(&"i") || OF_DATA.contains(&verb),
        _ => false,
    };
    // `This requires a seal` may be the answer.
    let of_task = plain.starts_with("the task ") || plain.starts_with("the expected ");
    plans || of_task && is_about_result(&plain) && asked.has_most_of(words.iter().skip(3).copied())
}

/// Where somebody is named who works.
fn workers<'w>(words: &'w [&'w str]) -> impl Iterator<Item = usize> + 'w {
    words.iter().enumerate().filter(|(_, word)| matches!(**word, "we" | "i")).map(|(at, _)| at)
}

/// What the one named in the first word does with sources, and whether it is still to be done.
fn done<'w>(words: &[&'w str]) -> Option<(&'w str, bool)> {
    let mut bound = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        let has = *word == "have";
        if has && words.get(at + 1) != Some(&"to") {
            return None;
        }
        if BEFORE.contains(word) {
            bound |= has || BOUND.contains(word);
            continue;
        }
        return (PROCESS.contains(word) || bound && OUTCOMES.contains(word)).then_some((*word, bound));
    }
    None
}

/// Whether a sentence says of what kind the result should be, or what the task is.
fn is_about_result(said: &str) -> bool {
    let Some(rest) = RESULT.iter().find_map(|words| said.strip_prefix(words)) else { return false };
    let mut words = rest.split(' ').filter(|word| !matches!(*word, "also" | "just" | "only" | "simply" | "then"));
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    match (first, second) {
        ("requires" | "involves", _) | ("is" | "was", "to") => {
            !said.starts_with("the output ") && !said.starts_with("the result ")
        }
        ("should" | "will" | "would", "be") | ("is", _) => {
            let is_article = |word: &str| matches!(word, "a" | "an" | "the" | "one");
            let kind = if second == "be" { words.next().unwrap_or_default() } else { second };
            let kind = if is_article(kind) { words.next().unwrap_or_default() } else { kind };
            KINDS.contains(&kind) && !said.starts_with("this ")
        }
        ("should" | "will", verb) => {
            matches!(
                verb,
                "contain" | "display" | "have" | "include" | "indicate" | "list" | "require" | "involve" | "show"
            )
        }
        _ => false,
    }
}

/// Whether a sentence plans on: what is done then, what is listed in the end, a step.
fn is_plan(said: &str, asked: &Asked) -> bool {
    let said = behind_reason(said, asked);
    let plain = folded(said);
    let words: Vec<&str> = plain.split(' ').collect();
    let goes_on = |at: usize| done(words.get(at..).unwrap_or_default()).is_some_and(|(_, bound)| bound);
    let to_come = || {
        words.windows(3).any(|three| match three {
            [first, "be", last] => matches!(*first, "will" | "should" | "must" | "to") && TO_COME.contains(last),
            _ => false,
        })
    };
    let is_step = || {
        let mut words =
            words.iter().skip_while(|word| word.bytes().all(|c| c.is_ascii_digit()) || BEFORE.contains(word));
        let verb = words.next();
        verb.is_some_and(|verb| PROCESS.contains(verb) || OUTCOMES.contains(verb))
    };
    let plans = workers(&words).any(goes_on) || is_about_result(&plain) || to_come() || is_step();
    plans && is_empty_of(said, asked) || tells_where(said, asked)
}

/// A sentence without a reason in front of it that is taken from the task: `Since a bye is no win, …`.
fn behind_reason<'t>(said: &'t str, asked: &Asked) -> &'t str {
    const REASONS: &[&str] = &["as", "because", "given", "if", "since", "when"];
    let Some((reason, rest)) = said.split_once(", ") else { return said };
    let plain = folded(reason);
    let Some((first, clause)) = plain.split_once(' ') else { return said };
    let of_task = REASONS.contains(&first) && asked.has_most_words_of(&[clause]);
    // Where a reason, or a yes or no, was asked for it may be the answer.
    let is_answer = || asked.has_any_of(&["if", "reason", "reasons", "whether", "why"]);
    let clause = reason.trim_start().split_once(' ').map_or("", |(_, clause)| clause);
    if of_task && is_empty_of(clause, asked) && !is_answer() { rest } else { said }
}

/// Whether a sentence says in which source the data stand, and nothing of them.
fn tells_where(said: &str, asked: &Asked) -> bool {
    const AROUND: &[&str] =
        &["all", "are", "be", "can", "is", "necessary", "needed", "relevant", "required", "the", "these", "this"];
    let found = STANDS.iter().find_map(|stands| said.split_once(&format!(" {stands} ")));
    found.is_some_and(|(head, place)| {
        let head = folded(head);
        let mut words = head.split(' ').filter(|word| !AROUND.contains(word));
        let is_data = words.next().is_some_and(|word| CONTENT.contains(&word)) && words.next().is_none();
        let is_place = ["by ", "in ", "under ", "within "].iter().any(|word| place.starts_with(word));
        is_data && is_place && is_empty_of(place, asked) && !asked.has_any_of(PLACES)
    })
}

/// Whether a sentence that plans asserts nothing and has no fact besides.
fn is_empty_of(said: &str, asked: &Asked) -> bool {
    let plain = format!(" {} ", folded(said));
    let asserts = ASSERTS.iter().any(|words| plain.contains(&format!(" {words} ")));
    let adds =
        [": ", ";", " – ", " — ", " - ", " = "].iter().any(|mark| said.trim().get(1..).unwrap_or("").contains(mark));
    !asserts && !adds && !is_clause_of_its_own(said) && !asked.is_told_a_fact_by(said)
}

/// Whether behind a comma something is said to be, and not in words such as `which` or `whether`.
fn is_clause_of_its_own(said: &str) -> bool {
    const BELOW: &[&str] =
        &["who", "which", "that", "whose", "where", "when", "if", "whether", "what", "how", "as", "to"];
    const IS: &[&str] = &["is", "are", "was", "were", "has", "had"];
    let mut below = true;
    for written in said.split_whitespace() {
        let word = folded(written);
        below |= BELOW.contains(&word.as_str());
        if IS.contains(&word.as_str()) && !below {
            return true;
        }
        if written.ends_with(',') || word == "but" {
            below = false;
        }
    }
    false
}

/// Whether a section other than the summary says nothing but which sources there are and what the result should be.
fn says_nothing(section: &Section, document: &Document<'_>, asked: &Asked) -> bool {
    let is_nothing = |line: &str| {
        names_source(line) || sentences(line).all(|said| is_about_result(&folded(said)) && is_empty_of(said, asked))
    };
    match section.heading {
        Some(Heading::ResultSummary) => true,
        Some(Heading::Details) => {
            let mut fences = document.fences.iter().map(|fence| fence.span).peekable();
            section.body.clone().all(|at| {
                let number = document.span(at..at + 1).first;
                while fences.next_if(|fence| fence.last < number).is_some() {}
                fences.peek().is_some_and(|fence| fence.first <= number) || is_nothing(document.line(at))
            })
        }
        _ => {
            folded(&section.title) == "more work needed"
                || !document.has_text(section.body.clone())
                || has_files_alone(section, document)
        }
    }
}

/// Whether a section of no known heading has nothing but fences below names of files.
fn has_files_alone(section: &Section, document: &Document<'_>) -> bool {
    let mut fences = document.fences.iter().map(|fence| fence.span).peekable();
    let mut name = file_of(&section.title);
    section.body.clone().all(|at| {
        let number = document.span(at..at + 1).first;
        while fences.next_if(|fence| fence.last < number).is_some() {}
        let line = document.line(at).trim();
        if fences.peek().is_some_and(|fence| fence.first <= number) {
            return name.is_some();
        }
        if line.starts_with('#') {
            name = file_of(line);
        }
        line.is_empty() || line.starts_with('#') && name.is_some()
    })
}

/// The name of a file at the end of a heading.
fn file_of(title: &str) -> Option<&str> {
    let name = title.rsplit([' ', '`', '(', ')', '*']).find(|word| !word.is_empty())?;
    name.trim_matches('.').contains('.').then_some(name)
}

/// Whether a line names a source and nothing else.
pub(super) fn names_source(line: &str) -> bool {
    const CONTENT_OF: &[&str] = &[
        "are",
        "below",
        "complete",
        "content",
        "contents",
        "data",
        "details",
        "file",
        "filename",
        "following",
        "from",
        "full",
        "here",
        "is",
        "line",
        "lines",
        "of",
        "source",
        "text",
        "the",
        "this",
        "whole",
    ];
    let is_file = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.rsplit_once('.').is_some_and(|(name, ending)| {
            !name.is_empty() && ending.len() <= 5 && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    let names =
        |word: &str| is_file(word) || folded(word).split(' ').all(|word| word.is_empty() || CONTENT_OF.contains(&word));
    let plain = folded(line);
    let is_mark = line.split_whitespace().all(names) || plain == "more work needed";
    is_mark
        || ["filename", "file name", "file", "path", "lines"].iter().any(|key| plain.starts_with(&format!("{key} ")))
}

/// Whether the fences of a section are copies of a file of the project under its name: whole ones, unless a block hands the
/// file over.
fn brings_copies(section: &Section, document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    let of_title = section.heading.is_none();
    let mut name = file_of(&section.title).filter(|_| of_title).unwrap_or_default().to_owned();
    let mut fences = document.fences.iter().peekable();
    section.body.clone().all(|at| {
        let number = document.span(at..at + 1).first;
        while fences.next_if(|fence| fence.span.first < number).is_some() {}
        if let Some(fence) = fences.next_if(|fence| fence.span.first == number) {
            return !name.is_empty() && is_copy(&name, &fence.content, of_title, context, notes);
        }
        let line = document.line(at);
        if folded(line).starts_with("filename ") {
            name = line.rsplit([' ', '*']).next().unwrap_or_default().trim_matches('`').to_owned();
        } else if of_title && line.trim_start().starts_with('#') {
            name = file_of(line.trim()).unwrap_or_default().to_owned();
        }
        true
    })
}

/// Whether every line of a text stands in the file of that name that the task refers to, and where it must be whole every
/// line of that in the text.
fn is_copy(name: &str, content: &str, whole: bool, context: &ReadContext, notes: &mut Notes) -> bool {
    let references = context.current.iter().flat_map(|task| &task.references);
    let files = references.filter_map(|link| match &link.target {
        Target::File { path, .. } => Some(path.as_str()),
        _ => None,
    });
    let end = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let path = files.into_iter().find(|path| end(path) == end(name)).unwrap_or(name);
    match notes.answer(context, Lookup::Content(path.to_owned())) {
        Some(Answer::Content(text)) => {
            let (file, copy) = (lines(text), lines(content));
            copy.is_subset(&file) && (!whole || file == copy)
        }
        _ => false,
    }
}

fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}
