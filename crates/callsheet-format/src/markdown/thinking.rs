//! `thinking-removed` (spec 4.4): reasoning at the beginning or the end of a reply is removed and kept separately. An
//! answer that only mentions such marks is unchanged.

use std::borrow::Cow;

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::fence::{Part, Tracker};
use super::heading::Format;
use super::text::{Line, is_blank};

/// Marks that begin and end reasoning, as models and their chat templates write them.
pub(crate) const TAGS: [(&str, &str); 14] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<unused94>", "<unused95>"),
    ("[THINK]", "[/THINK]"),
    ("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}"),
];

/// Signs that a mark begins with.
const SIGNS: [char; 3] = ['<', '[', '\u{25c1}'];

/// Removes reasoning from the lines and returns it. Lines that become empty are marked as removed.
pub fn remove<'a>(lines: &mut [Line<'a>], format: &Format, notes: &mut Diagnostics) -> String {
    let mut thinking = String::new();
    if !lines.iter().any(|line| line.text.contains(SIGNS)) {
        return thinking;
    }
    let mut begun = false;
    while take_first(lines, format, &mut thinking, notes) {
        begun = true;
    }
    if !begun {
        drop_unopened(lines, format, &mut thinking, notes);
    }
    take_last(lines, &mut thinking, notes);
    thinking
}

/// The text with reasoning at its beginning blanked, so that everything else keeps its position. A block that never
/// closes includes all the rest; a closing tag without an opening one includes everything before it.
pub fn without(text: &str) -> Cow<'_, str> {
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let start = text.len() - rest.trim_start().len();
        let opened = TAGS.into_iter().find(|(open, _)| begins(rest.trim_start(), open));
        let Some((open, close)) = opened else { break };
        let inside = text.get(start + open.len()..).unwrap_or_default();
        end = split_ignoring_case(inside, close).map_or(text.len(), |(_, after)| text.len() - after.len());
    }
    if end == 0 {
        let before = text.get(..split_opening(text).unwrap_or(text.len()));
        end = before.and_then(end_of_closing).unwrap_or(0);
    }
    let (Some(head), Some(rest)) = (text.get(..end).filter(|head| !head.is_empty()), text.get(end..)) else {
        return Cow::Borrowed(text);
    };
    let blank = head.chars().map(|c| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) });
    Cow::Owned(format!("{}{rest}", blank.collect::<String>()))
}

/// Removes the block at the beginning of the lines. Returns false if there is none.
fn take_first(lines: &mut [Line<'_>], format: &Format, thinking: &mut String, notes: &mut Diagnostics) -> bool {
    let Some(start) = lines.iter().position(|line| !is_blank(&line.text)) else { return false };
    let opened = lines.get(start).and_then(|line| {
        let text = line.text.trim_start();
        let (open, close) = TAGS.into_iter().find(|(open, _)| begins(text, open))?;
        Some((open, close, text.get(open.len()..)?.to_owned()))
    });
    let Some((_, close, rest)) = opened else { return false };
    let behind = |at: usize| if at == start { Some(rest.as_str()) } else { lines.get(at).map(|line| &*line.text) };
    let closed = (start..lines.len()).find_map(|at| Some((at, split_ignoring_case(behind(at)?, close)?)));
    let (end, inside, kept) = match closed {
        Some((at, (inside, after))) => (at + 1, inside.to_owned(), after.trim_start().to_owned()),
        None => {
            let next = lines.iter().enumerate().skip(start + 1).find(|(_, line)| format.is_title_line(&line.text));
            let end = next.map_or(lines.len(), |(at, _)| at);
            (end, behind(end - 1).unwrap_or_default().to_owned(), String::new())
        }
    };
    for at in start..end - 1 {
        thinking.push_str(behind(at).unwrap_or_default());
        thinking.push('\n');
    }
    thinking.push_str(&inside);
    thinking.push('\n');
    let what = if closed.is_some() { name_of(close) } else { "unclosed" };
    notes.repair(RepairCode::ThinkingRemoved, span(start, end - 1), what, "");
    for line in lines.iter_mut().take(end).skip(start) {
        *line = Line::gone();
    }
    if let Some(line) = lines.get_mut(end - 1).filter(|_| !kept.is_empty()) {
        *line = Line::of(kept);
    }
    true
}

fn name_of(close: &'static str) -> &'static str {
    close.trim_start_matches(|c: char| !c.is_alphanumeric()).trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// Removes the block at the end of the lines, if there is text before it.
fn take_last(lines: &mut [Line<'_>], thinking: &mut String, notes: &mut Diagnostics) {
    let Some(last) = lines.iter().rposition(|line| !is_blank(&line.text)) else { return };
    let ends = lines.get(last).map(|line| line.text.trim_end()).unwrap_or_default();
    let Some((open, close)) = TAGS.into_iter().find(|(_, close)| ends_with(ends, close)) else { return };
    let mut tracker = Tracker::default();
    let mut first = None;
    for (at, line) in lines.iter().enumerate().take(last + 1) {
        if tracker.next(&line.text) == Part::Outside && begins(line.text.trim_start(), open) {
            first = Some(at);
        }
    }
    let text_before = |first: &usize| lines.iter().take(*first).any(|line| !is_blank(&line.text));
    let Some(first) = first.filter(text_before) else { return };
    for line in lines.iter_mut().take(last + 1).skip(first) {
        thinking.push_str(&line.text);
        thinking.push('\n');
        *line = Line::gone();
    }
    notes.repair(RepairCode::ThinkingRemoved, span(first, last), name_of(close), "");
}

/// Handles a closing tag without an opening one, which providers send that put the opening tag into the prompt.
/// Everything before it is reasoning if a recognised heading follows, or if it ends a line or is alone on one and text
/// follows.
fn drop_unopened(lines: &mut [Line<'_>], format: &Format, thinking: &mut String, notes: &mut Diagnostics) {
    let original: Vec<Cow<'_, str>> = lines.iter().map(|line| line.text.clone()).collect();
    let Some((at, after)) = last_unopened(&original, format).or_else(|| last_at_edge(&original, format)) else {
        return;
    };
    for (line, text) in lines.iter_mut().zip(&original).take(at + 1) {
        thinking.push_str(text);
        thinking.push('\n');
        *line = Line::gone();
    }
    if let Some(line) = lines.get_mut(at).filter(|_| !after.trim().is_empty()) {
        *line = Line::of(after);
    }
    notes.repair(RepairCode::ThinkingRemoved, span(0, at), "unopened", "");
}

/// The last line that is a closing tag, or ends with one directly after its text, before all opening tags and all
/// recognised headings, with text after it.
fn last_at_edge(original: &[Cow<'_, str>], format: &Format) -> Option<(usize, String)> {
    let mut tracker = Tracker::default();
    let mut found = None;
    for (at, text) in original.iter().enumerate() {
        if tracker.next(text) != Part::Outside {
            continue;
        }
        if format.is_title_line(text) {
            break;
        }
        if !text.contains(SIGNS) {
            continue;
        }
        let text = text.trim();
        let closed = TAGS.into_iter().find(|(_, close)| ends_with(text, close));
        if split_opening(text).is_some() {
            break;
        }
        if let Some((_, close)) = closed {
            let before = text.get(..text.len() - close.len()).unwrap_or_default();
            let glued = !before.ends_with(|c: char| c.is_whitespace() || c == '`');
            let follows = original.iter().skip(at + 1).any(|line| !is_blank(line));
            found = (glued && follows).then(|| (at, String::new())).or(found);
        }
    }
    found
}

/// The last closing tag before all opening ones that a recognised heading follows: its line, and what comes after it.
/// Of several, the last counts, because the remaining text would be read in the same way.
fn last_unopened(original: &[Cow<'_, str>], format: &Format) -> Option<(usize, String)> {
    let mut tracker = Tracker::default();
    let mut last_title = None;
    let mut found = None;
    for (at, text) in original.iter().enumerate() {
        if tracker.next(text) != Part::Outside || !text.contains(SIGNS) {
            continue;
        }
        let opens = split_opening(text);
        if let Some(after) = text.get(..opens.unwrap_or(text.len())).and_then(end_of_closing) {
            let after = text.get(after..).unwrap_or_default();
            let title = *last_title.get_or_insert_with(|| original.iter().rposition(|text| format.is_title_line(text)));
            if title.is_none_or(|title| title <= at) && !format.is_title_line(after) {
                break;
            }
            found = Some((at, after.to_owned()));
            tracker = Tracker::default();
            tracker.next(after);
        }
        if opens.is_some() {
            break;
        }
    }
    found
}

/// Where the last closing tag of a text ends.
fn end_of_closing(text: &str) -> Option<usize> {
    text.rmatch_indices(SIGNS).find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let (_, close) = TAGS.into_iter().find(|(_, close)| begins(rest, close))?;
        Some(at + close.len())
    })
}

/// Where the first opening tag of any kind is, found in one pass over the text.
fn split_opening(text: &str) -> Option<usize> {
    let opens = |rest: &str| TAGS.into_iter().any(|(open, _)| begins(rest, open));
    text.match_indices(SIGNS).map(|(at, _)| at).find(|at| text.get(*at..).is_some_and(opens))
}

/// Splits at the first occurrence of `tag`, ignoring case.
fn split_ignoring_case<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let (at, _) = text.match_indices(SIGNS).find(|(at, _)| text.get(*at..).is_some_and(|rest| begins(rest, tag)))?;
    Some((text.get(..at)?, text.get(at + tag.len()..)?))
}

fn begins(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
}

fn ends_with(text: &str, tag: &str) -> bool {
    text.len().checked_sub(tag.len()).and_then(|at| text.get(at..)).is_some_and(|tail| tail.eq_ignore_ascii_case(tag))
}

fn span(first: usize, last: usize) -> Span {
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    Span { first: number(first), last: number(last.max(first)) }
}
