//! What printers and the sampler work on: expressions lowered to literals, patterns over characters, and structure.

use super::schema;
use super::{Expr, Grammar};

/// Ranges of characters, or all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Class {
    pub negated: bool,
    pub ranges: &'static [(char, char)],
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

/// Controls, no-break and zero-width characters, direction marks and non-characters: a reader would have to repair them.
macro_rules! invisible {
    ($($more:expr),*) => {
        &[
            ('\u{0}', '\u{1f}'), ('\u{7f}', '\u{a0}'), ('\u{ad}', '\u{ad}'), ('\u{61c}', '\u{61c}'), ('\u{180e}', '\u{180e}'),
            ('\u{2000}', '\u{200f}'), ('\u{2028}', '\u{202f}'), ('\u{205f}', '\u{206f}'), ('\u{feff}', '\u{feff}'),
            ('\u{fff0}', '\u{ffff}'), $($more),*
        ]
    };
}

const fn others(ranges: &'static [(char, char)]) -> Class {
    Class { negated: true, ranges }
}

const fn only(ranges: &'static [(char, char)]) -> Class {
    Class { negated: false, ranges }
}

/// Any visible character or space.
const VISIBLE: Class = others(invisible!());
/// Prose inside a label's value: no `*`, `<`, `[`, `]`.
const PROSE: Class = others(invisible!(('*', '*'), ('<', '<'), ('[', '['), (']', ']')));
/// A letter, or anything visible beyond ASCII.
const LETTER: Class = others(invisible!((' ', '@'), ('[', '`'), ('{', '~')));
/// What may open a line of prose: nothing that makes Markdown see a block, except ordered lists and tables.
const OPENER: Class =
    others(invisible!((' ', ' '), ('#', '#'), ('*', '*'), ('+', '+'), ('-', '-'), ('<', '>'), ('_', '`'), ('~', '~')));
/// Content of code: tabs too.
const CODE: Class = others(&[
    ('\u{0}', '\u{8}'),
    ('\u{a}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2066}', '\u{2069}'),
    ('\u{fff0}', '\u{ffff}'),
]);
/// First character of a line of code that is no backtick.
const CODE_FIRST: Class = others(&[
    ('\u{0}', '\u{8}'),
    ('\u{a}', '\u{1f}'),
    ('`', '`'),
    ('\u{7f}', '\u{9f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2066}', '\u{2069}'),
    ('\u{fff0}', '\u{ffff}'),
]);
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

impl Class {
    /// Whether `c` is of this class.
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

fn block_line(max: u32) -> Pattern {
    let item = Pattern::Seq(vec![Pattern::Text("- ".into()), Pattern::Class(OPENER)]);
    let opener = Pattern::Choice(vec![item, Pattern::Class(OPENER)]);
    Pattern::Seq(vec![opener, up_to(VISIBLE, 0, max.saturating_sub(3))])
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
    let line = Pattern::Seq(vec![Pattern::Class(CODE_FIRST), up_to(CODE, 0, max.saturating_sub(1))]);
    let line = Node::Pattern(line);
    // A blank line is a newline of its own: a lexeme that may be empty is not allowed everywhere.
    let more = Node::Seq(vec![Node::Text("\n".into()), Node::Repeat(Box::new(line.clone()), 0, 1)]);
    Node::Seq(vec![line, Node::Repeat(Box::new(more), 0, lines.saturating_sub(1))])
}

pub(super) fn lower(expr: &Expr) -> Node {
    match expr {
        Expr::Literal(text) => Node::Text(text.clone()),
        Expr::Line { min, max } => Node::Pattern(line(*min, *max)),
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
