//! Headings as CommonMark sees them, outside fences, list items and quotes.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::text::Line;

/// How a heading is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Number signs.
    Atx,
    /// Underlined on the next line.
    Underlined,
    /// A line that is bold, or a title alone: counts only if recognised.
    Line,
}

/// A heading before it is recognised. Lines are 0-based.
#[derive(Clone, Debug)]
pub struct Raw {
    /// Its line.
    pub line: usize,
    /// Last line, the underline if there is one.
    pub last: usize,
    /// Written level.
    pub level: u8,
    /// Text as written, with markup.
    pub text: String,
    /// Form.
    pub form: Form,
}

/// Headings and thematic breaks of the lines; `hidden` lines (fences, quoted user text) are passed over.
pub fn scan(lines: &[Line], hidden: &[bool]) -> (Vec<Raw>, Vec<usize>) {
    let (text, starts) = masked(lines, hidden);
    let line_of = |offset: usize| starts.partition_point(|start| *start <= offset).saturating_sub(1);
    let mut headings = Vec::new();
    let mut rules = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(&text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::Item | Tag::BlockQuote(_)) => depth += 1,
            Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => rules.push(line_of(range.start)),
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                let line = line_of(range.start);
                let last = line_of(range.end.saturating_sub(1).max(range.start));
                let written = lines.get(line).map_or("", |line| line.text.trim());
                let form = if written.starts_with('#') { Form::Atx } else { Form::Underlined };
                let last = if form == Form::Atx { line } else { last };
                headings.push(Raw { line, last, level: number(level), text: written.to_owned(), form });
            }
            _ => {}
        }
    }
    (headings, rules)
}

/// Bytes of a line that can say what it is: markers of blocks stand at its beginning. A line of thousands of markers
/// would open as many containers.
const TELLING: usize = 1_000;

/// The beginning of a line that tells what it is.
fn telling(line: &str) -> &str {
    let mut end = TELLING.min(line.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}

/// The beginnings of the lines, hidden ones blank and without HTML blocks, in which headings would not be seen; and
/// where each line starts.
fn masked(lines: &[Line], hidden: &[bool]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(lines.len());
    for (line, hide) in lines.iter().zip(hidden) {
        starts.push(text.len());
        if !hide {
            let shown = telling(&line.text);
            let body = shown.trim_start();
            if let Some(rest) = body.strip_prefix('<') {
                text.push_str(shown.get(..shown.len() - body.len()).unwrap_or_default());
                text.push('x');
                text.push_str(rest);
            } else {
                text.push_str(shown);
            }
            // What begins like a rule and goes on with words is none.
            let rest = line.text.get(shown.len()..).unwrap_or_default();
            if !rest.trim_matches(|c: char| c.is_whitespace() || "-*_=".contains(c)).is_empty() {
                text.push('x');
            }
        }
        text.push('\n');
    }
    (text, starts)
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
