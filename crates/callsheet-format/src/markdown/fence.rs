//! Finds fences before everything else, so that nothing inside one is read. More tolerant than CommonMark of content
//! that is indented less than its list item, which small models often write.

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::text::{Line, dedent, indent, is_blank};

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// First word of the info string in lower case. Empty if there is none.
    pub lang: String,
    /// Content with its indentation inside the fence. Each line ends with a newline.
    pub content: String,
    /// From the opening to the closing line.
    pub span: Span,
    /// Columns of blanks before the opening mark. More than 0 inside a list item.
    pub indent: usize,
    /// Whether it has a closing line.
    pub closed: bool,
    /// Whether a mark with a language that is at least as long is inside, so that the end of the fence is uncertain.
    pub unsure: bool,
}

/// An opening or closing mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// Backtick or tilde.
    pub sign: char,
    /// How many.
    pub count: usize,
    /// Columns before it.
    pub indent: usize,
    /// Text after it, trimmed.
    pub info: &'a str,
}

/// The fence mark of a line, if it has one.
pub fn mark(line: &str) -> Option<Mark<'_>> {
    let sign = line.bytes().find(|byte| !matches!(byte, b' ' | b'\t')).filter(|byte| matches!(byte, b'`' | b'~'))?;
    let sign = char::from(sign);
    let start = line.trim_start_matches([' ', '\t']);
    let info = start.trim_start_matches(sign);
    let count = start.len() - info.len();
    let info = info.trim();
    (count >= 3 && !(sign == '`' && info.contains('`'))).then(|| Mark { sign, count, indent: indent(line), info })
}

/// Tracks fences line by line.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    open: Option<(char, usize, usize)>,
    list: Option<usize>,
}

/// How a line relates to the fences around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Opens one.
    Open(Mark<'a>),
    /// Closes one.
    Close,
    /// Inside one.
    Inside,
    /// Outside.
    Outside,
}

impl Tracker {
    /// Processes the next line.
    pub fn next<'a>(&mut self, line: &'a str) -> Part<'a> {
        let mark = mark(line);
        match (self.open, mark) {
            (Some((sign, count, depth)), Some(mark))
                if mark.sign == sign && mark.count >= count && mark.info.is_empty() && mark.indent <= depth + 3 =>
            {
                self.open = None;
                Part::Close
            }
            (Some(_), _) => Part::Inside,
            (None, Some(mark)) if mark.indent < self.list.unwrap_or(0) + 4 => {
                self.open = Some((mark.sign, mark.count, mark.indent));
                Part::Open(mark)
            }
            (None, _) => {
                self.follow_list(line);
                Part::Outside
            }
        }
    }

    /// Whether a line inside the open fence would open a fence that is at least as long.
    fn is_opened_again(&self, line: &str) -> bool {
        let (Some((sign, count, _)), Some(mark)) = (self.open, mark(line)) else { return false };
        mark.sign == sign && mark.count >= count && !mark.info.is_empty()
    }

    /// Whether a fence is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn follow_list(&mut self, line: &str) {
        if is_blank(line) {
            return;
        }
        if let Some(marker) = super::label::marker(line) {
            self.list = Some(marker.content);
        } else if indent(line) == 0 {
            self.list = None;
        }
    }
}

/// Removes a mark at the very end, directly after a fence and with nothing after it, because it opens nothing. Such a
/// mark is left over from a form.
pub fn drop_stray(lines: &mut [Line<'_>], notes: &mut Diagnostics) {
    let mut filled = lines.iter().enumerate().rev().filter(|(_, line)| !is_blank(&line.text)).map(|(at, _)| at);
    let (Some(last), Some(before)) = (filled.next(), filled.next()) else { return };
    let is_mark = |at: usize| lines.get(at).and_then(|line| mark(&line.text)).is_some_and(|mark| mark.info.is_empty());
    if !is_mark(last) || !is_mark(before) {
        return;
    }
    let mut tracker = Tracker::default();
    let mut parts = lines.iter().map(|line| tracker.next(&line.text));
    let closed = parts.nth(before) == Some(Part::Close);
    let opens = matches!(parts.nth(last - before - 1), Some(Part::Open(_)));
    if closed
        && opens
        && let Some(line) = lines.get_mut(last)
    {
        let span = Span::line(u32::try_from(last + 1).unwrap_or(u32::MAX));
        notes.repair(RepairCode::FenceClosed, span, &line.text, "");
        *line = Line::gone();
    }
}

/// All fences of the lines, in order. `hidden` lines count as blank.
pub fn find(lines: &[Line<'_>], hidden: &[bool]) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut tracker = Tracker::default();
    for (at, (line, hide)) in lines.iter().zip(hidden).enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let text = if *hide { "" } else { &*line.text };
        match tracker.next(text) {
            Part::Outside => {}
            Part::Open(opening) => fences.push(Fence {
                lang: opening.info.split_whitespace().next().unwrap_or("").trim_matches(['{', '}', '.']).to_lowercase(),
                content: String::new(),
                span: Span::line(number),
                indent: opening.indent,
                closed: false,
                unsure: false,
            }),
            part => {
                if let Some(fence) = fences.last_mut() {
                    fence.span.last = number;
                    if part == Part::Close {
                        fence.closed = true;
                    } else {
                        fence.unsure |= tracker.is_opened_again(text);
                        fence.content.push_str(dedent(text, fence.indent));
                        fence.content.push('\n');
                    }
                }
            }
        }
    }
    if let Some(fence) = fences.last_mut().filter(|fence| !fence.closed) {
        drop_blank_end(&mut fence.content);
    }
    fences
}

/// Removes blank lines before the end of a text from a fence that is closed only by that end.
fn drop_blank_end(content: &mut String) {
    let kept = content.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, is_blank(line)))
    });
    let end = kept.filter(|(_, blank)| !blank).last().map_or(0, |(at, _)| at);
    content.truncate(end);
}
