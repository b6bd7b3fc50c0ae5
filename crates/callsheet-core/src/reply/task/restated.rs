//! A summary that only says once more what the task is (spec 3.8 `summary-missing`).

use std::collections::BTreeSet;

use crate::reply::list::{TASK_LABELS, label};
use crate::reply::markdown::{Document, Heading, Label, Section, label_line};
use crate::reply::near::folded;
use crate::reply::{Answer, Lookup, Notes, ReadContext};
use crate::spec::Target;

use super::announced::says_no_more;
use super::asked::Asked;
use super::links::{outside_fences, without_dead_links};
use super::planned::names_source;

/// Words of the shortest need of which a copy is no answer.
const SHORTEST: usize = 4;

/// Sources and fences that are compared.
const MOST_SOURCES: usize = 8;

/// Whether a summary is the need of the task, word for word, or holds nothing but items under the keys of a task that have
/// mostly words of the task and no fact besides, or announces in words of the task what does not follow, and no other section
/// says anything; or if it is in words of the task what is asked for, and all else are copies of whole sources.
pub(super) fn is_restated(summary: &str, document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    // What stands in a fence is more, also where it is a file to hand over.
    if document.fences.is_empty() {
        return (copies_need(summary, context)
            || keys_alone(summary, context)
            || announces_nothing(summary, context, notes))
            && says_no_more(document);
    }
    asks_only(summary, context) && brings_sources_alone(document, context, notes)
}

fn copies_need(summary: &str, context: &ReadContext) -> bool {
    let Some(task) = &context.current else { return false };
    // Beyond this many bytes more the two cannot be the same.
    if summary.len() > 2 * task.need.len() + 64 {
        return false;
    }
    let need = folded(&task.need);
    need.split(' ').nth(SHORTEST - 1).is_some() && folded(summary) == need
}

/// Whether a summary is words of the need or of the expected output in their order, `are as follows:` or the like, and behind the
/// colon nothing, or nothing but links to what is not there: a link that leads somewhere may be the answer.
fn announces_nothing(summary: &str, context: &ReadContext, notes: &mut Notes) -> bool {
    const OPENS: &[&str] = &[
        "are as follows",
        "is as follows",
        "are the following",
        "is the following",
        "are listed below",
        "is listed below",
        "are listed here",
        "are given below",
        "are shown below",
        "are",
        "is",
        "follow",
        "follows",
    ];
    let Some(task) = &context.current else { return false };
    let Some((head, behind)) = summary.split_once(':') else { return false };
    let head = folded(head);
    let Some(said) = OPENS.iter().find_map(|words| head.strip_suffix(words)?.strip_suffix(' ')) else { return false };
    if said.split(' ').count() < SHORTEST || !in_order(said, &task.need) && !in_order(said, &task.expected) {
        return false;
    }
    let is_empty = |text: &str| !text.contains(char::is_alphanumeric);
    is_empty(behind) || without_dead_links(behind, context, notes).is_some_and(|rest| is_empty(&rest))
}

/// Whether all these words stand in a text in their order.
fn in_order(said: &str, text: &str) -> bool {
    let text = folded(text);
    let mut rest = text.split(' ');
    said.split(' ').all(|word| rest.any(|next| next == word))
}

/// Whether a summary, fences and names of sources aside, is the need or the expected output of the task, or most of one in its
/// order, and asserts nothing.
fn asks_only(summary: &str, context: &ReadContext) -> bool {
    let Some(task) = &context.current else { return false };
    let lines = outside_fences(summary);
    let said: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).filter(|line| !names_source(line)).collect();
    let said = said.join(" ");
    let plain = folded(&said);
    let words: Vec<&str> = plain.split(' ').collect();
    let is_most_of = |asked: &String| {
        if said.len() > 2 * asked.len() + 64 {
            return false;
        }
        let asked = folded(asked);
        let mut rest = asked.split(' ');
        let count = rest.clone().count();
        asked == plain
            || 3 * words.len() >= 2 * count
                && !asserts(&words)
                && words.iter().all(|word| rest.any(|next| next == *word))
    };
    words.len() >= SHORTEST && [&task.need, &task.expected].into_iter().any(is_most_of)
}

/// Whether something is said to be, and not in words such as `that are not paid`.
fn asserts(words: &[&str]) -> bool {
    const BELOW: &[&str] = &["how", "if", "that", "what", "when", "where", "whether", "which", "who", "whose"];
    const IS: &[&str] = &["are", "can", "cannot", "had", "has", "have", "is", "must", "was", "were", "will"];
    let below = words.iter().position(|word| BELOW.contains(word)).unwrap_or(words.len());
    words.iter().take(below).any(|word| IS.contains(word))
}

/// Whether all fences are copies of whole files that the task refers to or that are named beside them, and no line says more
/// than which they are.
fn brings_sources_alone(document: &Document<'_>, context: &ReadContext, notes: &mut Notes) -> bool {
    if document.fences.len() > MOST_SOURCES {
        return false;
    }
    let files = context.current.iter().flat_map(|task| &task.references).filter_map(|link| match &link.target {
        Target::File { path, fragment: None } => Some(path.clone()),
        _ => None,
    });
    let written = document.whole();
    let marks = |c: char| !(c.is_alphanumeric() || matches!(c, '/' | '.' | '_'));
    let lines_beside = outside_fences(&written);
    let words =
        lines_beside.iter().filter(|(_, line)| names_source(line)).flat_map(|(_, line)| line.split_whitespace());
    let named = words.map(|word| word.trim_matches(marks)).filter(|word| word.contains('.')).map(str::to_owned);
    let mut texts: Vec<BTreeSet<String>> = Vec::new();
    for path in files.chain(named).take(MOST_SOURCES) {
        if let Some(Answer::Content(text)) = notes.answer(context, Lookup::Content(path)) {
            texts.push(lines(text));
        }
    }
    let copies = document.fences.iter().all(|fence| texts.contains(&lines(&fence.content)));
    let is_source = |section: &Section| {
        section.heading == Some(Heading::ResultSummary) || {
            let text = document.text(section.body.clone());
            outside_fences(&text).iter().all(|(_, line)| names_source(line))
        }
    };
    copies && document.sections.iter().all(is_source)
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn keys_alone(summary: &str, context: &ReadContext) -> bool {
    let mut lines = summary.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if context.current.is_none() || lines.peek().is_none() {
        return false;
    }
    let items: Option<Vec<(&str, &str)>> = lines.map(key_and_value).collect();
    let Some(items) = items.filter(|items| items.len() > 1 && items.iter().any(|(key, _)| *key == label::NEED)) else {
        return false;
    };
    let values: Vec<&str> = items.iter().map(|(_, value)| *value).collect();
    let asked = Asked::of(context);
    let tells = |value: &&str| asked.is_told_more_by(value) || is_quoted(value);
    !values.iter().any(tells) && asked.has_most_words_of(&values)
}

/// A key of a task in an item or a line of its own, and what stands behind it.
fn key_and_value(line: &str) -> Option<(&'static str, &str)> {
    let found = label_line(line, TASK_LABELS)?;
    match found.label {
        Label::Known(name) if name != label::OUTPUT => Some((name, found.value)),
        _ => None,
    }
}

fn is_quoted(value: &str) -> bool {
    value.matches(['"', '“', '„', '«']).count() > 0
}
