//! The common form for printers and the sampler: expressions lowered to literals, patterns over characters, and
//! structure.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::schema;
use super::{Expr, Grammar};

/// Ranges of characters, or all others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub negated: bool,
    pub ranges: Cow<'static, [(char, char)]>,
}

/// A regular expression: one lexeme of an engine.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    Text(String),
    Class(Class),
    Seq(Vec<Pattern>),
    Choice(Vec<Pattern>),
    Repeat(Box<Pattern>, u32, u32),
}

/// A lowered expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    Pattern(Pattern),
    Seq(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, u32, u32),
    Rule(String),
}

/// Control characters, no-break and zero-width characters, direction marks and non-characters. A reader would have to
/// repair them.
macro_rules! invisible {
    ($($more:expr),*) => {
        &[
            ('\u{0}', '\u{1f}'), ('\u{7f}', '\u{a0}'), ('\u{ad}', '\u{ad}'), ('\u{61c}', '\u{61c}'), ('\u{180e}', '\u{180e}'),
            ('\u{1680}', '\u{1680}'), ('\u{2000}', '\u{200f}'), ('\u{2028}', '\u{202f}'), ('\u{205f}', '\u{206f}'),
            ('\u{212a}', '\u{212a}'), ('\u{3000}', '\u{3000}'), ('\u{feff}', '\u{feff}'), ('\u{fff0}', '\u{ffff}'),
            $($more),*
        ]
    };
}

const fn others(ranges: &'static [(char, char)]) -> Class {
    Class { negated: true, ranges: Cow::Borrowed(ranges) }
}

const fn only(ranges: &'static [(char, char)]) -> Class {
    Class { negated: false, ranges: Cow::Borrowed(ranges) }
}

/// Any visible character or space except `<`, which may open a tag.
const PLAIN: Class = others(invisible!(('<', '<')));
/// What may follow `<`: nothing that begins the name of a reasoning tag, a call tag or a chat mark.
const AFTER_ANGLE: Class =
    others(invisible!(('/', '/'), ('<', '<'), ('F', 'F'), ('R', 'R'), ('T', 'T'), ('e', 'f'), ('r', 't'), ('|', '|')));
/// Prose in the value of a label: no `*`, `<`, `[`, `]`.
const PROSE: Class = others(invisible!(('*', '*'), ('<', '<'), ('[', '['), (']', ']')));
/// Prose on a separate line: no colon either, because `Goal: ...` reads as a label (spec 4.4 `label-form`).
const UNLABELLED: Class = others(invisible!(('*', '*'), (':', ':'), ('<', '<'), ('[', '['), (']', ']')));
/// A letter, or any visible non-ASCII character except dashes and bullets, which a reader takes as a part of the label
/// or mark.
const LETTER: Class = others(invisible!(
    (' ', '@'),
    ('[', '`'),
    ('{', '~'),
    ('\u{2010}', '\u{2015}'),
    ('\u{2022}', '\u{2023}'),
    ('\u{2212}', '\u{2212}'),
    ('\u{25e6}', '\u{25e6}')
));
/// What may begin a line of prose: nothing that opens a Markdown block other than a table, no check box, no digit.
const OPENER: Class = others(invisible!(
    (' ', ' '),
    ('#', '#'),
    ('*', '*'),
    ('+', '+'),
    ('-', '-'),
    ('0', '9'),
    ('<', '='),
    ('>', '>'),
    ('[', '['),
    ('_', '`'),
    ('~', '~'),
    ('\u{2013}', '\u{2013}'),
    ('\u{2022}', '\u{2023}'),
    ('\u{25e6}', '\u{25e6}')
));
/// What may follow a bracket at the start of a line: a link, but no check box.
const AFTER_BRACKET: Class = others(invisible!((' ', ' '), ('X', 'X'), ('x', 'x'), (']', ']'), ('<', '<')));
/// What may follow a number at the start of a line, so that it is not a list mark.
const AFTER_NUMBER: Class = others(invisible!((')', ')'), ('.', '.'), ('0', '9'), ('<', '<')));
/// Content of code: tabs too.
const CODE: Class = others(&[
    ('\u{0}', '\u{8}'),
    ('\u{a}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2066}', '\u{2069}'),
    ('\u{fff0}', '\u{ffff}'),
]);
/// Content of code that is neither blank nor a backtick.
const CODE_MARK: Class = others(&[
    ('\u{0}', '\u{1f}'),
    (' ', ' '),
    ('`', '`'),
    ('\u{7f}', '\u{9f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2066}', '\u{2069}'),
    ('\u{fff0}', '\u{ffff}'),
]);
/// Indentation of code.
const INDENT: Class = only(&[('\t', '\t'), (' ', ' ')]);
/// One part of a path.
const WORD: Class = only(&[('A', 'Z'), ('a', 'z'), ('0', '9'), ('_', '_'), ('-', '-')]);
/// Characters of a JSON text that need no escape.
pub(super) const JSON_PLAIN: Class = others(invisible!(('"', '"'), ('\\', '\\')));
/// What may follow a backslash in a JSON text.
pub(super) const JSON_ESCAPED: Class = only(&[('"', '"'), ('\\', '\\'), ('n', 'n'), ('t', 't')]);
/// Digits.
pub(super) const DIGIT: Class = only(&[('0', '9')]);
/// Digits without zero.
pub(super) const DIGIT_FIRST: Class = only(&[('1', '9')]);

/// Beginnings of the markers that count in a result on a separate line without any markup, in lower case (spec 2.13,
/// 3.11). No line of a block begins like this.
const MARKERS: &[&str] = &["more work n", "no changes n"];

impl Class {
    /// The class without these characters.
    fn without(&self, taken: &[char]) -> Self {
        let mut ranges: Vec<(char, char)> = Vec::new();
        if self.negated {
            ranges.extend(self.ranges.iter());
            ranges.extend(taken.iter().filter(|c| self.contains(**c)).map(|c| (*c, *c)));
        } else {
            let each = self.ranges.iter().flat_map(|(low, high)| *low..=*high);
            ranges.extend(each.filter(|c| !taken.contains(c)).map(|c| (c, c)));
        }
        Self { negated: self.negated, ranges: ranges.into() }
    }

    /// Whether the class contains `c`.
    pub fn contains(&self, c: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != self.negated
    }
}

fn up_to(class: Class, min: u32, max: u32) -> Pattern {
    Pattern::Repeat(Box::new(Pattern::Class(class)), min, max.max(min))
}

fn line(min: u32, max: u32) -> Pattern {
    Pattern::Seq(vec![Pattern::Class(LETTER), up_to(PROSE, min.saturating_sub(1), max.saturating_sub(1))])
}

/// One character of prose on a separate line.
fn prose() -> Pattern {
    let angle = Pattern::Seq(vec![Pattern::Text("<".into()), Pattern::Class(AFTER_ANGLE)]);
    Pattern::Choice(vec![Pattern::Class(PLAIN), angle])
}

fn sentence(min: u32, max: u32) -> Pattern {
    let rest = up_to(UNLABELLED, min.saturating_sub(1), max.saturating_sub(1));
    Pattern::Seq(vec![Pattern::Class(LETTER), rest])
}

fn block_line(max: u32) -> Pattern {
    let ordered = Pattern::Seq(vec![up_to(DIGIT, 1, 3), Pattern::Text(". ".into())]);
    let mark = Pattern::Choice(vec![Pattern::Text("- ".into()), ordered]);
    let mark = Pattern::Repeat(Box::new(mark), 0, 1);
    let link = Pattern::Seq(vec![Pattern::Text("[".into()), Pattern::Class(AFTER_BRACKET)]);
    let text = Pattern::Choice(vec![deciding(&OPENER, &PLAIN, ""), link]);
    let number = Pattern::Seq(vec![up_to(DIGIT, 1, 9), Pattern::Class(AFTER_NUMBER)]);
    let start = Pattern::Choice(vec![Pattern::Seq(vec![mark.clone(), text]), number]);
    let rest = Pattern::Repeat(Box::new(prose()), 0, max.saturating_sub(3));
    let short = begun("").unwrap_or(Pattern::Choice(Vec::new()));
    Pattern::Choice(vec![Pattern::Seq(vec![start, rest]), Pattern::Seq(vec![mark, short])])
}

/// Characters that may follow `prefix` in [`MARKERS`].
fn nexts(prefix: &str) -> BTreeSet<char> {
    MARKERS.iter().filter_map(|title| title.strip_prefix(prefix)?.chars().next()).collect()
}

/// One letter in any case.
fn letter(c: char) -> Pattern {
    let both: Vec<(char, char)> = BTreeSet::from([c, c.to_ascii_uppercase()]).iter().map(|c| (*c, *c)).collect();
    Pattern::Class(Class { negated: false, ranges: both.into() })
}

/// The beginning of a text up to the character that distinguishes it from all [`MARKERS`], in any case. The first
/// character is from `first`, the others from `then`.
fn deciding(first: &Class, then: &Class, prefix: &str) -> Pattern {
    let nexts = nexts(prefix);
    let mut taken: Vec<char> = nexts.iter().flat_map(|c| [*c, c.to_ascii_uppercase()]).collect();
    if prefix.ends_with(' ') {
        // Several spaces count as one.
        taken.push(' ');
    }
    let mut ways = vec![Pattern::Class(first.without(&taken))];
    for next in nexts {
        let longer = format!("{prefix}{next}");
        if !MARKERS.contains(&longer.as_str()) {
            ways.push(Pattern::Seq(vec![letter(next), deciding(then, then, &longer)]));
        }
    }
    Pattern::Choice(ways)
}

/// The beginning of one of [`MARKERS`], not the whole. `None` if only its last character follows.
fn begun(prefix: &str) -> Option<Pattern> {
    let mut ways = Vec::new();
    for next in nexts(prefix) {
        let longer = format!("{prefix}{next}");
        if !MARKERS.contains(&longer.as_str()) {
            let more = begun(&longer).map(|more| Pattern::Repeat(Box::new(more), 0, 1));
            ways.push(Pattern::Seq(std::iter::once(letter(next)).chain(more).collect()));
        }
    }
    (!ways.is_empty()).then_some(Pattern::Choice(ways))
}

fn block(lines: u32, max: u32) -> Node {
    let line = Node::Pattern(block_line(max));
    if lines <= 1 {
        return line;
    }
    let newline = Node::Choice(vec![Node::Text("\n".into()), Node::Text("\n\n".into())]);
    let more = Node::Seq(vec![newline, line.clone()]);
    Node::Seq(vec![line, Node::Repeat(Box::new(more), 0, lines - 1)])
}

fn code(lines: u32, max: u32) -> Node {
    let rest = Pattern::Seq(vec![Pattern::Class(CODE_MARK), up_to(CODE, 0, max.saturating_sub(1))]);
    let marks = Pattern::Repeat(Box::new(Pattern::Text("`".into())), 0, 2);
    // A line that begins with a backtick would be read as the end of the fence.
    let indented = Pattern::Seq(vec![up_to(INDENT, 1, max / 2), marks, rest.clone()]);
    let line = Node::Pattern(Pattern::Choice(vec![rest, indented]));
    // A blank line is a separate newline: a lexeme that may be empty is not allowed everywhere.
    let more = Node::Seq(vec![Node::Text("\n".into()), Node::Repeat(Box::new(line.clone()), 0, 1)]);
    Node::Seq(vec![line, Node::Repeat(Box::new(more), 0, lines.saturating_sub(1))])
}

pub(super) fn lower(expr: &Expr) -> Node {
    match expr {
        Expr::Literal(text) => Node::Text(text.clone()),
        Expr::Line { min, max } => Node::Pattern(line(*min, *max)),
        Expr::Sentence { min, max } => Node::Pattern(sentence(*min, *max)),
        Expr::Number => Node::Pattern(Pattern::Seq(vec![Pattern::Class(DIGIT_FIRST), up_to(DIGIT, 0, 4)])),
        Expr::Block { lines, line } => block(*lines, *line),
        Expr::Code { lines, line } => code(*lines, *line),
        Expr::Word { min, max } => Node::Pattern(up_to(WORD, (*min).max(1), *max)),
        Expr::Seq(parts) => Node::Seq(parts.iter().map(lower).collect()),
        Expr::Choice(parts) => Node::Choice(parts.iter().map(lower).collect()),
        Expr::Repeat { expr, min, max } => Node::Repeat(Box::new(lower(expr)), *min, (*max).max(*min)),
        Expr::Rule(name) => Node::Rule(name.clone()),
        Expr::Json(schema) => schema::lower(schema),
    }
}

/// All rules lowered, in order.
pub(super) fn lower_all(grammar: &Grammar) -> Vec<(&str, Node)> {
    grammar.rules.iter().map(|(name, expr)| (name.as_str(), lower(expr))).collect()
}
