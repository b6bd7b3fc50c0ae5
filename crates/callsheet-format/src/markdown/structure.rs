//! Headings according to CommonMark, outside fences, list items and quotes.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::text::{Line, is_blank};

/// How a heading is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Number signs.
    Atx,
    /// Underlined on the next line.
    Underlined,
    /// A bold line or a title alone. Counts only if it is recognised.
    Line,
}

/// A heading before it is matched. Lines are 0-based.
#[derive(Clone, Debug)]
pub struct Raw<'a> {
    /// Its line.
    pub line: usize,
    /// Last line: the underline, if there is one.
    pub last: usize,
    /// Written level.
    pub level: u8,
    /// Text as written, with markup.
    pub text: &'a str,
    /// Form.
    pub form: Form,
}

/// Headings and thematic breaks of the lines. `hidden` lines (fences, quoted user text) are skipped.
pub fn scan<'l>(lines: &'l [Line<'_>], hidden: &'l [bool]) -> (Vec<Raw<'l>>, Vec<usize>) {
    let mut scan =
        Scan { lines, hidden, headings: Vec::new(), rules: Vec::new(), first: 0, unsure: false, above: Above::Edge };
    for (at, (line, hide)) in lines.iter().zip(hidden).enumerate() {
        scan.above = scan.take(at, if *hide { "" } else { &line.text });
    }
    scan.flush(lines.len());
    (scan.headings, scan.rules)
}

/// What is above a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// A blank line, or a line after which no block is open.
    Edge,
    /// One line of words at the margin after an edge: a paragraph outside lists and quotations.
    Words,
    /// Anything else.
    Other,
}

/// Walks the lines. Most headings are recognised by their line alone, because at the margin they end any open block.
/// Only uncertain parts are parsed, which takes hundreds of steps per line.
struct Scan<'l> {
    lines: &'l [Line<'l>],
    hidden: &'l [bool],
    headings: Vec<Raw<'l>>,
    rules: Vec<usize>,
    /// First line of the part.
    first: usize,
    /// Whether some line of the part may be a heading or a rule.
    unsure: bool,
    above: Above,
}

impl<'l> Scan<'l> {
    /// Processes a line, and returns what it is for the next one.
    fn take(&mut self, at: usize, text: &'l str) -> Above {
        let Some(first) = text.bytes().next() else { return Above::Edge };
        match first {
            b'#' => self.atx(at, text),
            b' ' | b'\t' => {
                let rest = text.trim_start_matches([' ', '\t']);
                self.unsure |= rest.starts_with('#') || !rest.is_empty() && is_signs(rest);
                if rest.is_empty() { Above::Edge } else { Above::Other }
            }
            b'-' | b'=' | b'*' | b'_' if is_signs(text) => self.signs(at, text, first),
            _ if first.is_ascii_control() => {
                self.unsure = true;
                Above::Other
            }
            _ if self.above == Above::Edge && !b"-=*_+>`~.)[<0123456789".contains(&first) => Above::Words,
            _ => Above::Other,
        }
    }

    fn atx(&mut self, at: usize, text: &'l str) -> Above {
        let level = text.bytes().take_while(|byte| *byte == b'#').count();
        match (level, text.as_bytes().get(level)) {
            (1..=6, None | Some(b' ' | b'\t')) => {
                self.flush(at);
                self.first = at + 1;
                let level = u8::try_from(level).unwrap_or(6);
                self.headings.push(Raw { line: at, last: at, level, text: text.trim(), form: Form::Atx });
                Above::Edge
            }
            (_, next) => {
                self.unsure |= next.is_some_and(u8::is_ascii_control);
                Above::Other
            }
        }
    }

    /// Handles a line at the margin that consists only of signs: a rule, an underline, or a list item.
    fn signs(&mut self, at: usize, text: &str, sign: u8) -> Above {
        let same = text.bytes().filter(|byte| *byte == sign).count();
        let blanks = text.bytes().filter(|byte| matches!(byte, b' ' | b'\t')).count();
        let long = same >= 3 && same + blanks == text.len();
        let solid = text.trim_end_matches([' ', '\t']).len() == same;
        if long && (matches!(sign, b'*' | b'_') || sign == b'-' && self.above == Above::Edge) {
            self.flush(at);
            self.rules.push(at);
        } else if long && solid && self.above == Above::Words {
            let line = at.saturating_sub(1);
            self.flush(line);
            let written = self.lines.get(line).map_or("", |line| line.text.trim());
            let level = if sign == b'=' { 1 } else { 2 };
            self.headings.push(Raw { line, last: at, level, text: written, form: Form::Underlined });
        } else {
            self.unsure = true;
            return Above::Other;
        }
        self.first = at + 1;
        Above::Edge
    }

    /// Parses the part up to a line, if necessary.
    fn flush(&mut self, end: usize) {
        if !std::mem::take(&mut self.unsure) {
            return;
        }
        let part = self.lines.get(self.first..end).unwrap_or_default();
        let (text, starts) = masked(part, self.hidden.get(self.first..end).unwrap_or_default());
        let base = self.first;
        let line_of = |offset: usize| base + starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let mut depth = 0_usize;
        for (event, range) in Parser::new_ext(&text, Options::empty()).into_offset_iter() {
            match event {
                Event::Start(Tag::Item | Tag::BlockQuote(_)) => depth += 1,
                Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => depth = depth.saturating_sub(1),
                Event::Rule if depth == 0 => self.rules.push(line_of(range.start)),
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    let line = line_of(range.start);
                    let last = line_of(range.end.saturating_sub(1).max(range.start));
                    let written = self.lines.get(line).map_or("", |line| line.text.trim());
                    let form = if written.starts_with('#') { Form::Atx } else { Form::Underlined };
                    let last = if form == Form::Atx { line } else { last };
                    self.headings.push(Raw { line, last, level: number(level), text: written, form });
                }
                _ => {}
            }
        }
    }
}

/// Whether a line consists only of blanks and of signs of rules and underlines.
fn is_signs(text: &str) -> bool {
    text.bytes().all(|byte| b" \t-=*_".contains(&byte))
}

/// How many bytes of a line determine its kind. Block markers are at the beginning of a line. A line of thousands of
/// markers would open as many containers.
const TELLING: usize = 1_000;

/// The beginning of a line, which determines the kind of the line.
fn telling(line: &str) -> &str {
    let mut end = TELLING.min(line.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}

/// The part of the lines that shows blocks, with hidden lines blank and without HTML blocks, which would hide headings;
/// and the start of each line. Several blank lines become one, and the words of a line become one letter, because a
/// Markdown parser needs hundreds of steps for text that does not matter here.
fn masked(lines: &[Line<'_>], hidden: &[bool]) -> (String, Vec<usize>) {
    // HTML inside an item or a quotation is a block, and its words show where it ends.
    let html = |line: &Line<'_>| {
        let (marks, words) = split_marks(telling(&line.text));
        words.starts_with('<') && !is_blank(marks)
    };
    let all = lines.iter().zip(hidden).any(|(line, hide)| !hide && html(line));
    let mut masked = Masked { text: String::new(), after_blank: false, whole: all, all };
    let mut starts = Vec::with_capacity(lines.len());
    for (line, hide) in lines.iter().zip(hidden) {
        starts.push(masked.text.len());
        let shown = if *hide { "" } else { telling(&line.text) };
        masked.push(shown, line.text.get(shown.len()..).filter(|_| !hide).unwrap_or_default());
    }
    (masked.text, starts)
}

/// A text that is masked line by line.
struct Masked {
    text: String,
    /// Whether the last line is blank.
    after_blank: bool,
    /// Whether it is in a paragraph that may begin with link definitions, whose words matter.
    whole: bool,
    /// All words count.
    all: bool,
}

impl Masked {
    /// Adds the beginning of a line, and its rest if it is too long.
    fn push(&mut self, shown: &str, rest: &str) {
        if shown.bytes().all(|byte| matches!(byte, b' ' | b'\t')) && rest.is_empty() {
            if !self.after_blank {
                self.text.push('\n');
            }
            (self.after_blank, self.whole) = (true, self.all);
            return;
        }
        self.after_blank = false;
        let (marks, words) = split_marks(shown);
        self.whole |= words.starts_with('[');
        self.text.push_str(marks);
        if self.whole
            || marks.bytes().any(|byte| matches!(byte, b'`' | b'~'))
            || words.starts_with(|c: char| c.is_ascii_control())
        {
            let html = words.strip_prefix('<').filter(|_| is_blank(marks));
            self.text.push_str(if html.is_some() { "x" } else { "" });
            self.text.push_str(html.unwrap_or(words));
        } else if !words.is_empty() {
            self.text.push('x');
        }
        // A line that begins like a rule and continues with words is not a rule.
        if !rest.trim_matches(|c: char| c.is_whitespace() || "-*_=".contains(c)).is_empty() {
            self.text.push('x');
        }
        self.text.push('\n');
    }
}

/// A line split before its first word: first the blanks, signs and digits that can form block marks.
fn split_marks(line: &str) -> (&str, &str) {
    let end = line.bytes().position(|byte| !b" \t-+*_=#>`~.)0123456789".contains(&byte)).unwrap_or(line.len());
    line.split_at(end)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// First and last line, level and form of each heading, and the lines of rules.
    type ParsedHeadings = (Vec<(usize, usize, u8, Form)>, Vec<usize>);

    /// What the parser finds in the unmasked text, except for HTML at the beginning of lines.
    fn parsed(text: &str) -> ParsedHeadings {
        let shown: Vec<String> = text
            .split('\n')
            .map(|line| match line.trim_start().strip_prefix('<') {
                Some(rest) => format!("{}x{rest}", &line[..line.len() - line.trim_start().len()]),
                None => line.to_owned(),
            })
            .collect();
        let text = shown.join("\n") + "\n";
        let line_of = |offset: usize| text[..offset].matches('\n').count();
        let (mut headings, mut rules, mut depth) = (Vec::new(), Vec::new(), 0);
        for (event, range) in Parser::new_ext(&text, Options::empty()).into_offset_iter() {
            match event {
                Event::Start(Tag::Item | Tag::BlockQuote(_)) => depth += 1,
                Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => depth -= 1,
                Event::Rule if depth == 0 => rules.push(line_of(range.start)),
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    let (line, last) = (line_of(range.start), line_of(range.end - 1));
                    let atx = shown[line].trim().starts_with('#');
                    let (last, form) = if atx { (line, Form::Atx) } else { (last, Form::Underlined) };
                    headings.push((line, last, number(level), form));
                }
                _ => {}
            }
        }
        (headings, rules)
    }

    fn scanned(text: &str) -> ParsedHeadings {
        let lines: Vec<Line<'_>> = text.split('\n').map(Line::of).collect();
        let hidden = vec![false; lines.len()];
        let (headings, rules) = scan(&lines, &hidden);
        (headings.iter().map(|raw| (raw.line, raw.last, raw.level, raw.form)).collect(), rules)
    }

    #[test]
    fn lines_that_look_alike_are_told_apart() {
        for text in [
            "# a\nb\n---\nc\n\n---\n- d\n---\n***",
            "- a\n\n  # b\n\n---\n",
            "[a]: b\n'c'\n===\n\n[d]:\nb\n---",
            "- <div>\nfoo\n---\n> <!-- a\nb\n===",
            "a\nb\n===\n > c\nd\n---",
            "a\n-\n\nb\n--\n\n=\n",
            "1. a\n\n   b\n   ---\n2) c\n---",
            "\u{a0}\n---\n\u{c}\n---\nx\u{c}\n===\u{c}\n",
            "    a\n---\n\tb\n===\n",
            "#a\n---\n####### b\n===\n#\n##\t\n",
        ] {
            assert_eq!(scanned(text), parsed(text), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// The quick method finds the same as the parser. Fences never occur here, because they are hidden.
        #[test]
        fn headings_and_rules_are_those_of_the_parser(
            lines in proptest::collection::vec(
                "( |  |    |\t)?(- |> |1\\. |\\* )?(|a|ab c|#|# a|## b #|-|--|---|- - -|===|=|\\*\\*\\*|__|___|\\[a\\]: b|'c'|<div>|<!-- a|-->|#a|1\\.|\\+)( |  )?",
                0..9,
            ),
        ) {
            let text = lines.join("\n");
            prop_assert_eq!(scanned(&text), parsed(&text), "{:?}", text);
        }
    }
}
