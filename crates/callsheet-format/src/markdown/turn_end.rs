//! `example-dropped` at a chat mark (spec 4.4): models that continue after their reply end it with a mark of their chat
//! template and invent what comes next. Reading stops there.

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::fence::{Part, Tracker};
use super::text::{Line, is_blank};

/// Marks that end a turn or begin the next one, as the chat templates of open models write them.
const MARKS: [&str; 24] = [
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|begin_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|end|>",
    "<|eos|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<end_of_turn>",
    "<start_of_turn>",
    "<eos>",
    "<|return|>",
    "<|END_RESPONSE|>",
    "<|START_RESPONSE|>",
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
    STRIKE_END,
];
/// Ends a turn, and in HTML, struck-out text.
const STRIKE_END: &str = "</s>";
const STRIKE_START: &str = "<s>";
/// Begins the next message of the same turn, if it follows `<|end|>`.
const NEXT_MESSAGE: &str = "<|start|>";
/// Roles that may follow a mark.
const ROLES: [&str; 4] = ["assistant", "model", "user", "system"];

/// Removes marks before the reply, and everything from the first mark on that follows some text, is outside code, and
/// is at the beginning or the end of a line. Returns whether the reply ended at one.
pub fn cut(lines: &mut [Line<'_>], notes: &mut Diagnostics) -> bool {
    let Some((at, kept)) = begin(lines, notes).map(|at| (at, String::new())).or_else(|| find(lines)) else {
        return false;
    };
    let span = Span { first: number(at), last: number(lines.len().saturating_sub(1)) };
    let rest = lines.get(at..).unwrap_or_default().iter().map(|line| &*line.text);
    let dropped = rest.take(8).collect::<Vec<_>>().join("\n");
    notes.repair(RepairCode::ExampleDropped, span, dropped.get(kept.len()..).unwrap_or_default(), "");
    for line in lines.iter_mut().skip(at) {
        *line = Line::gone();
    }
    if let Some(line) = lines.get_mut(at).filter(|_| !kept.trim().is_empty()) {
        *line = Line::of(kept);
    }
    true
}

/// Removes marks before the reply. If there was no text yet, returns the line where somebody else's turn begins.
fn begin(lines: &mut [Line<'_>], notes: &mut Diagnostics) -> Option<usize> {
    for (at, line) in lines.iter_mut().enumerate() {
        if is_blank(&line.text) {
            continue;
        }
        let (said, role) = behind_marks(&line.text);
        if said.len() == line.text.trim_start().len() {
            return None;
        }
        if role.is_some_and(|role| role == "user" || role == "system") {
            return Some(at);
        }
        let marks = line.text.strip_suffix(said).unwrap_or_default();
        notes.repair(RepairCode::ExampleDropped, Span::line(number(at)), marks.trim(), "");
        let said = said.to_owned();
        let says_something = !said.is_empty();
        *line = Line { text: said.into(), removed: !says_something };
        if says_something {
            return None;
        }
    }
    None
}

/// A line after the marks at its beginning, and the role that they name.
fn behind_marks(line: &str) -> (&str, Option<&'static str>) {
    let mut rest = line.trim_start();
    let (mut role, mut marked) = (None, false);
    loop {
        let named = ROLES.into_iter().find(|role| {
            let after = rest.strip_prefix(role);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-')))
        });
        let word = match (mark(rest), named) {
            (Some(word), _) => word,
            (None, Some(word)) if marked && role.is_none() => {
                role = Some(word);
                word
            }
            _ => return (rest, role),
        };
        marked = true;
        rest = rest.get(word.len()..).unwrap_or_default().trim_start();
    }
}

/// The line of the mark, and what comes before it in that line.
fn find(lines: &[Line<'_>]) -> Option<(usize, String)> {
    // Every mark begins with the same sign, which most replies do not contain.
    if !lines.iter().any(|line| line.text.contains('<')) {
        return None;
    }
    let mut tracker = Tracker::default();
    let last = lines.iter().rposition(|line| !is_blank(&line.text)).unwrap_or_default();
    let next = |at: usize| lines.iter().skip(at + 1).map(|line| &*line.text).find(|text| !is_blank(text));
    let is_last =
        |at: usize| at >= last || next(at).is_some_and(|text| mark(text.trim_start()).is_some() || begins_turn(text));
    let (mut says_something, mut strikes) = (false, false);
    for (at, line) in lines.iter().enumerate() {
        let outside = tracker.next(&line.text) == Part::Outside;
        let text = &*line.text;
        if outside && text.contains('<') {
            if let Some(kept) = before_mark(text, says_something, strikes, is_last(at)) {
                return Some((at, kept.to_owned()));
            }
            strikes = strikes || text.contains(STRIKE_START);
        }
        says_something = says_something || !is_blank(text);
    }
    None
}

/// The text of a line before a mark that ends the reply.
fn before_mark(line: &str, says_something: bool, strikes: bool, is_last: bool) -> Option<&str> {
    let mut seen = 0;
    let mut ticks = 0_usize;
    for (at, _) in line.match_indices('<') {
        ticks += code_marks(line.get(seen..at).unwrap_or_default());
        seen = at;
        let (before, rest) = line.split_at(at);
        let Some(mark) = mark(rest).filter(|_| ticks.is_multiple_of(2)) else { continue };
        let after = rest.get(mark.len()..).unwrap_or_default();
        let at_edge = match (before.trim().is_empty(), after.trim().is_empty()) {
            (true, true) => true,
            // A sentence may begin or end with a mark that it mentions.
            (true, false) => {
                let glued = !after.starts_with(char::is_whitespace);
                glued || self::mark(after.trim_start()).is_some() || begins_turn(after)
            }
            (false, true) => is_last || !before.ends_with(char::is_whitespace),
            (false, false) => self::mark(after.trim_start()).is_some(),
        };
        let goes_on = mark == "<|end|>" && after.trim_start().starts_with(NEXT_MESSAGE);
        let is_html = mark == STRIKE_END && (strikes || before.contains(STRIKE_START));
        if at_edge && !goes_on && !is_html && (says_something || !before.trim().is_empty()) {
            return Some(before.trim_end());
        }
    }
    None
}

/// Whether a role comes before a colon or is alone: then it is somebody else's turn.
fn begins_turn(text: &str) -> bool {
    let text = text.trim_start();
    ROLES
        .into_iter()
        .filter_map(|role| text.strip_prefix(role))
        .any(|rest| rest.trim().is_empty() || rest.starts_with([':', '\n']))
}

fn mark(text: &str) -> Option<&'static str> {
    MARKS.into_iter().find(|mark| text.starts_with(mark))
}

/// Number of backtick runs. After an odd number of them, the text is code.
fn code_marks(text: &str) -> usize {
    let mut before = ' ';
    let mut count = 0;
    for c in text.chars() {
        count += usize::from(c == '`' && before != '`');
        before = c;
    }
    count
}

fn number(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text before the mark of a reply. `None` if the reply does not end at one.
    fn kept(text: &str) -> Option<String> {
        let mut lines: Vec<Line<'_>> = text.lines().map(Line::of).collect();
        let cut = cut(&mut lines, &mut Diagnostics::new(callsheet_core::nouns::Phase::Execute, false));
        let left = lines.iter().filter(|line| !line.removed).map(|line| &*line.text);
        cut.then(|| left.collect::<Vec<_>>().join("\n"))
    }

    /// covers: 4.4 example-dropped
    #[test]
    fn a_reply_ends_at_a_mark_at_the_edge_of_a_line_and_outside_code() {
        for (text, left) in [
            ("Two.<|im_end|>", "Two."),
            ("Two.\n<|im_end|>\n<|im_start|>user\nAnd now?", "Two."),
            ("Two.<end_of_turn>\n<start_of_turn>user", "Two."),
            ("Two.<|im_end|><|im_start|>user Go on", "Two."),
            ("Two.\n  <|eot_id|> assistant: more", "Two."),
            ("<|im_start|>assistant\nTwo.<|im_end|>", "Two."),
            ("<|start_header_id|>assistant<|end_header_id|>\n\nTwo.<|eot_id|>", "\nTwo."),
            ("<|im_end|>\n<|im_start|>user\nAnd now?", ""),
            ("`a` and `b`</s>\nnext", "`a` and `b`"),
            ("```\n<|im_end|>\n```\n<|im_end|>\nmore", "```\n<|im_end|>\n```"),
        ] {
            assert_eq!(kept(text).as_deref(), Some(left), "{text}");
        }
        for text in [
            "",
            "<|im_end|>",
            "<|im_start|>assistant\n<|im_end|>",
            "<|im_start|>assistant Two.",
            "<s>Two.</s>",
            "The token <|im_end|> ends a turn.",
            "The token `<|im_end|>`",
            "```\n<|im_end|>\n```",
            "{\"pattern\": \"<|im_end|>\"}",
            "One\n<s>Two</s>\nThree",
            "Some <s>words\nand more</s>\nThree",
            "Thought<|end|><|start|>assistant",
        ] {
            assert_eq!(kept(text), None, "{text}");
        }
    }
}
