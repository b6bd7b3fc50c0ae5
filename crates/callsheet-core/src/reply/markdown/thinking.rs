//! `thinking-removed` (spec 4.4): reasoning blocks outside fences are taken away and kept aside.

use crate::reply::{Notes, RepairCode, Span};

use super::fence::{Part, Tracker};
use super::heading::Format;
use super::text::Line;

const TAGS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
];

/// Takes reasoning out of the lines and returns it. Lines that become empty are marked removed.
pub fn remove(lines: &mut [Line], format: &Format, notes: &mut Notes) -> String {
    let mut thinking = String::new();
    if !lines.iter().any(|line| line.text.contains('<')) {
        return thinking;
    }
    let original: Vec<String> = lines.iter().map(|line| line.text.clone()).collect();
    drop_unopened(lines, &original, format, &mut thinking, notes);
    let mut tracker = Tracker::default();
    let mut open: Option<(&str, usize)> = None;
    for (at, line) in lines.iter_mut().enumerate() {
        if open.is_none() && tracker.next(&line.text) != Part::Outside {
            continue;
        }
        if open.is_none() && !line.text.contains('<') {
            continue;
        }
        let had_text = !line.text.trim().is_empty();
        let kept = take(&line.text, at, &mut open, &mut thinking, notes);
        if kept != line.text {
            line.removed |= had_text && kept.trim().is_empty();
            line.text = kept;
        }
    }
    if let Some((_, start)) = open {
        close_at_heading(lines, &original, start, format, notes);
    }
    thinking
}

/// The part of one line outside reasoning; opens and closes blocks as it goes.
fn take(
    line: &str,
    at: usize,
    open: &mut Option<(&'static str, usize)>,
    thinking: &mut String,
    notes: &mut Notes,
) -> String {
    let mut kept = String::new();
    let mut rest = line;
    loop {
        if let Some((close, start)) = open {
            let Some((inside, after)) = split_ignoring_case(rest, close) else {
                thinking.push_str(rest);
                thinking.push('\n');
                return kept;
            };
            thinking.push_str(inside);
            thinking.push('\n');
            let span = span(*start, at);
            notes.repair(RepairCode::ThinkingRemoved, span, close.trim_start_matches("</").trim_end_matches('>'), "");
            *open = None;
            rest = after;
        } else {
            let Some((before, after, close)) = split_opening(rest) else {
                kept.push_str(rest);
                return kept;
            };
            kept.push_str(before);
            *open = Some((close, at));
            rest = after;
        }
    }
}

/// A block that never closes ends before the first recognised heading; without one it takes all the rest. The line it
/// opens on has lost it already.
fn close_at_heading(lines: &mut [Line], original: &[String], start: usize, format: &Format, notes: &mut Notes) {
    let next = original.iter().enumerate().skip(start + 1).find(|(_, text)| format.is_title_line(text));
    let end = next.map_or(original.len(), |(at, _)| at);
    for (line, text) in lines.iter_mut().zip(original).skip(end) {
        *line = Line { text: text.clone(), removed: false };
    }
    notes.repair(RepairCode::ThinkingRemoved, span(start, end.saturating_sub(1)), "unclosed", "");
}

/// A closing tag without an opening one: providers that put the opening tag into the prompt send this. Everything
/// before it is reasoning if a recognised heading follows.
fn drop_unopened(lines: &mut [Line], original: &[String], format: &Format, thinking: &mut String, notes: &mut Notes) {
    let Some((at, after)) = first_unopened(original) else { return };
    let follows = original.iter().skip(at + 1).any(|text| format.is_title_line(text)) || format.is_title_line(&after);
    if !follows {
        return;
    }
    for (line, text) in lines.iter_mut().zip(original).take(at + 1) {
        thinking.push_str(text);
        thinking.push('\n');
        *line = Line { text: String::new(), removed: true };
    }
    if let Some(line) = lines.get_mut(at).filter(|_| !after.trim().is_empty()) {
        *line = Line { text: after, removed: false };
    }
    notes.repair(RepairCode::ThinkingRemoved, span(0, at), "unopened", "");
}

fn first_unopened(original: &[String]) -> Option<(usize, String)> {
    let mut tracker = Tracker::default();
    for (at, text) in original.iter().enumerate() {
        if tracker.next(text) != Part::Outside {
            continue;
        }
        if !text.contains('<') {
            continue;
        }
        let opens = split_opening(text).map(|(before, ..)| before.len());
        for (_, close) in TAGS {
            if let Some((before, after)) = split_ignoring_case(text, close)
                && opens.is_none_or(|open| before.len() < open)
            {
                return Some((at, after.to_owned()));
            }
        }
        if opens.is_some() {
            return None;
        }
    }
    None
}

/// Splits at the first opening tag of any kind, in any case; gives the tag that closes it. One look at the text.
fn split_opening(text: &str) -> Option<(&str, &str, &'static str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let (tag, close) = TAGS.into_iter().find(|(tag, _)| begins(rest, tag))?;
        Some((text.get(..at)?, rest.get(tag.len()..)?, close))
    })
}

/// Splits at the first occurrence of an ASCII `tag` in any case.
fn split_ignoring_case<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let (at, _) = text.match_indices('<').find(|(at, _)| text.get(*at..).is_some_and(|rest| begins(rest, tag)))?;
    Some((text.get(..at)?, text.get(at + tag.len()..)?))
}

fn begins(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
}

fn span(first: usize, last: usize) -> Span {
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    Span { first: number(first), last: number(last.max(first)) }
}
