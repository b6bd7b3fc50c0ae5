//! The last look at an edited sheet before it is written over: every word of it was there before, stands in what is
//! written, or was told of (spec 2.18). It knows nothing of the form, so it holds for whatever reading does.

use std::collections::BTreeSet;

use crate::reply::markdown::{Label, item_text, label_line};
use crate::reply::near::folded;
use crate::reply::{Issue, IssueCode, Notes, Phase, Repair, RepairCode, Span};

use super::format::TASK_LABELS;
use super::unread::quoted;

/// Words that a heading, a key or a marker may have, and that tell nothing more than it does.
const FORM_WORDS: &str = include_str!("form.words");

/// What an edited sheet is held against.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The sheet as the run has it without the edit, with the calls of its tasks.
    pub before: &'a str,
    /// The sheet that will be written over the edited one, likewise.
    pub after: &'a str,
    /// Other texts whose words are known: the request, what tasks were called and asked for earlier.
    pub known: &'a str,
    /// Liberties that were taken in reading.
    pub repairs: &'a [Repair],
}

/// Lines of an edited sheet with words that it would lose: an error each, but titles of sections, of which only their
/// order is kept, a warning.
pub fn lost(edited: &str, kept: &Kept<'_>) -> Vec<Issue> {
    let sieve = Sieve::new(kept);
    let lines: Vec<&str> = edited.lines().collect();
    let mut notes = Notes::new(Phase::Plan, false);
    for (at, line) in lines.iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        if sieve.holds(line, number) {
            continue;
        }
        let text = quoted(line);
        let below = lines.iter().skip(at + 1).find(|line| !line.trim().is_empty());
        let opens_tasks = below.is_some_and(|line| known_label(line).is_some());
        let is_section = line.starts_with("###") && opens_tasks;
        let variant = if is_section { "title" } else { "line" };
        let issue = notes.issue(IssueCode::TextUnread, variant, Span::line(number), &[("text", &text)]);
        notes.push(if is_section { issue.warning() } else { issue });
    }
    notes.finish(()).issues
}

struct Sieve<'a> {
    unchanged: BTreeSet<&'a str>,
    /// Lines that are kept, folded.
    lines: BTreeSet<String>,
    /// All texts that are kept, folded, a blank at both ends.
    texts: String,
    /// Words of lines that are new in what will be written, and words of the form.
    words: BTreeSet<String>,
    repairs: &'a [Repair],
}

impl<'a> Sieve<'a> {
    fn new(kept: &Kept<'a>) -> Self {
        let unchanged: BTreeSet<&str> = kept.before.lines().map(str::trim).collect();
        let texts = format!(" {} {} {} ", folded(kept.before), folded(kept.after), folded(kept.known));
        let lines = [kept.before, kept.after, kept.known].into_iter().flat_map(str::lines).map(folded).collect();
        let added = kept.after.lines().filter(|line| !unchanged.contains(line.trim())).map(folded);
        let words = added.chain([folded(FORM_WORDS)]);
        let words = words.flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
        Self { unchanged, lines, texts, words, repairs: kept.repairs }
    }

    /// Whether the words of a line are kept.
    fn holds(&self, line: &str, number: u32) -> bool {
        // Of a task that is done already nothing is taken: it stands there as it was, or words are lost.
        let is_echo = |repair: &Repair| repair.code == RepairCode::EchoDropped && within(repair.span, number);
        self.unchanged.contains(line.trim())
            || self.stands(line)
            || !self.repairs.iter().any(is_echo) && self.is_told(&self.without_repairs(own_words(line), number))
    }

    /// Whether a text stands somewhere in what is kept, word by word.
    fn stands(&self, text: &str) -> bool {
        let text = folded(text);
        text.is_empty() || self.lines.contains(&text) || self.texts.contains(&format!(" {text} "))
    }

    fn is_told(&self, text: &str) -> bool {
        let is_kept = |word: &str| self.words.contains(word) || word.bytes().all(|byte| byte.is_ascii_digit());
        self.stands(text) || folded(text).split(' ').all(is_kept)
    }

    /// The text without what was read as other words of about the same length.
    fn without_repairs(&self, mut text: String, number: u32) -> String {
        let count = |text: &str| folded(text).split(' ').count();
        for repair in self.repairs.iter().filter(|repair| within(repair.span, number) && !repair.after.is_empty()) {
            let of_line = repair.before.lines().count() == 1 && count(&repair.before) <= count(&repair.after) + 1;
            if of_line && let Some(at) = text.find(repair.before.trim()) {
                text.replace_range(at..at + repair.before.trim().len(), " ");
            }
        }
        text
    }
}

fn within(span: Span, number: u32) -> bool {
    (span.first..=span.last).contains(&number)
}

/// A line without its list marker, its label and its links: what links lead to is checked where they are read.
fn own_words(line: &str) -> String {
    let text = known_label(line).unwrap_or_else(|| item_text(line).unwrap_or(line));
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = around_link(rest) {
        words.push_str(before);
        words.push(' ');
        rest = after;
    }
    words.push_str(rest);
    words
}

/// The text before the first link, and the text behind it.
fn around_link(text: &str) -> Option<(&str, &str)> {
    let middle = text.find("](")?;
    let start = text.get(..middle)?.rfind('[')?;
    let end = text.get(middle..)?.find(')')? + middle;
    Some((text.get(..start)?, text.get(end + 1..)?))
}

/// The value of a line that begins with a known label.
fn known_label(line: &str) -> Option<&str> {
    let label = label_line(line, TASK_LABELS)?;
    matches!(label.label, Label::Known(_)).then_some(label.value)
}

#[cfg(test)]
mod tests {
    use super::super::format::SHEET;
    use super::*;

    /// Every title and label that is read is no word of a person.
    #[test]
    fn the_words_of_the_form_are_those_of_its_titles_and_labels() {
        let known: BTreeSet<String> = folded(FORM_WORDS).split(' ').map(str::to_owned).collect();
        let titles = SHEET.rules.iter().flat_map(|rule| [&[rule.title], rule.synonyms].concat());
        let labels = TASK_LABELS.iter().flat_map(|rule| [&[rule.name], rule.synonyms].concat());
        let missing: Vec<String> = titles
            .chain(labels)
            .chain(SHEET.markers.iter().copied())
            .flat_map(|title| folded(title).split(' ').map(str::to_owned).collect::<Vec<_>>())
            .filter(|word| !known.contains(word))
            .collect();
        assert_eq!(missing, Vec::<String>::new());
    }
}
