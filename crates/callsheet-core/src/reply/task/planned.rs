//! A summary that only plans: it takes up what was asked and says what would be done with the sources for it, in sentences of
//! which none asserts anything (spec 3.8 `summary-missing`).

use std::collections::BTreeSet;

use crate::reply::markdown::{Document, Heading, Section};
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

/// Whether every sentence of a summary plans, the first one in words of the task, and nothing else of the reply says more.
pub(super) fn is_planned(summary: &str, document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    let asked = Asked::of(context);
    let mut sentences = sentences(summary);
    let opens = sentences.next().is_some_and(|said| opens(said, &asked) && is_empty_of(said, &asked));
    opens
        && !asks_for_a_way(context)
        && sentences.all(|said| is_plan(said, &asked))
        && document.sections.iter().all(|section| says_nothing(section, document, &asked))
        && document.sections.iter().all(|section| brings_copies(section, document, context, notes))
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
    plans || of_task && is_about_result(&plain) && asked.has_most_of(words.iter().skip(2).copied())
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
    let mut words = rest.split(' ');
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
    plans && is_empty_of(said, asked)
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
        _ => folded(&section.title) == "more work needed" || !document.has_text(section.body.clone()),
    }
}

/// Whether a line of a `Details` block names a source and nothing else.
fn names_source(line: &str) -> bool {
    let line = folded(line);
    let is_mark = matches!(line.as_str(), "" | "content" | "more work needed");
    is_mark || ["filename", "file name", "file", "path", "lines"].iter().any(|key| line.starts_with(&format!("{key} ")))
}

/// Whether the fences of a section are copies of a file of the project under its name.
fn brings_copies(section: &Section, document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    let mut name = String::new();
    let mut fences = document.fences.iter().peekable();
    section.body.clone().all(|at| {
        let number = document.span(at..at + 1).first;
        while fences.next_if(|fence| fence.span.first < number).is_some() {}
        if let Some(fence) = fences.next_if(|fence| fence.span.first == number) {
            return !name.is_empty() && is_copy(&name, &fence.content, context, notes);
        }
        let line = document.line(at);
        if folded(line).starts_with("filename ") {
            name = line.rsplit([' ', '*']).next().unwrap_or_default().trim_matches('`').to_owned();
        }
        true
    })
}

/// Whether every line of a text stands in the file of that name that the task refers to.
fn is_copy(name: &str, content: &str, context: &ReadContext, notes: &mut Notes) -> bool {
    let references = context.current.iter().flat_map(|task| &task.references);
    let files = references.filter_map(|link| match &link.target {
        Target::File { path, .. } => Some(path.as_str()),
        _ => None,
    });
    let end = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let path = files.into_iter().find(|path| end(path) == end(name)).unwrap_or(name);
    match notes.answer(context, Lookup::Content(path.to_owned())) {
        Some(Answer::Content(text)) => {
            let lines: BTreeSet<&str> = text.lines().map(str::trim).collect();
            content.lines().map(str::trim).all(|line| line.is_empty() || lines.contains(line))
        }
        _ => false,
    }
}
