//! Printing for engines: GBNF for llama.cpp, Lark for llguidance.

use std::fmt::Write;

use super::Grammar;
use super::pattern::{Class, Node, Pattern, lower_all};

/// In GBNF, longer groups become separate rules.
const LONG_GROUP: usize = 32;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Gbnf,
    Lark,
}

impl Grammar {
    /// The grammar as llama.cpp reads it; it starts at `root`.
    pub fn to_gbnf(&self) -> String {
        print(self, Form::Gbnf)
    }

    /// The grammar as llguidance reads it; it starts at `start`.
    pub fn to_lark(&self) -> String {
        print(self, Form::Lark)
    }
}

fn print(grammar: &Grammar, form: Form) -> String {
    let first = grammar.rules.first().map_or("", |(name, _)| name.as_str());
    let mut printer = Printer { form, first, helpers: Vec::new() };
    let mut out = String::new();
    for (name, node) in lower_all(grammar) {
        let mut body = String::new();
        printer.put(&mut body, &node, true);
        printer.rule(&mut out, &rule_name(name, first, form), &body);
    }
    for (index, body) in printer.helpers.iter().enumerate() {
        printer.rule(&mut out, &helper_name(index, form), body);
    }
    out
}

fn rule_name(name: &str, first: &str, form: Form) -> String {
    match form {
        _ if name == first && form == Form::Gbnf => "root".into(),
        _ if name == first => "start".into(),
        // The suffix distinguishes a rule that is itself called `root` or `start` from the first one.
        Form::Gbnf => format!("{}-r", name.replace('_', "-")),
        Form::Lark => format!("{name}_r"),
    }
}

/// Rules that the printer adds: in Lark, patterns, which are terminals; in GBNF, what is repeated.
fn helper_name(index: usize, form: Form) -> String {
    match form {
        Form::Gbnf => format!("p{index}"),
        Form::Lark => format!("P{index}"),
    }
}

struct Printer<'a> {
    form: Form,
    first: &'a str,
    helpers: Vec<String>,
}

impl Printer<'_> {
    fn rule(&self, out: &mut String, name: &str, body: &str) {
        out.push_str(name);
        out.push_str(if self.form == Form::Gbnf { " ::= " } else { ": " });
        out.push_str(body);
        out.push('\n');
    }

    /// Writes the name of the rule that has this body.
    fn helper(&mut self, out: &mut String, body: String) {
        let known = self.helpers.iter().position(|known| *known == body);
        let index = known.unwrap_or_else(|| {
            self.helpers.push(body);
            self.helpers.len() - 1
        });
        out.push_str(&helper_name(index, self.form));
    }

    fn put(&mut self, out: &mut String, node: &Node, top: bool) {
        match node {
            Node::Text(text) => put_text(out, text),
            Node::Pattern(pattern) => {
                let slash = if self.form == Form::Lark { "/" } else { "" };
                let mut body = slash.to_owned();
                self.put_pattern(&mut body, pattern, true);
                body.push_str(slash);
                self.helper(out, body);
            }
            Node::Rule(name) => out.push_str(&rule_name(name, self.first, self.form)),
            Node::Seq(parts) if parts.is_empty() => out.push_str("\"\""),
            Node::Seq(parts) => {
                let parts = if self.form == Form::Gbnf { merged(parts) } else { parts.clone() };
                let mut body = String::new();
                put_many(&mut body, &parts, " ", |out, part| self.put(out, part, false));
                self.group(out, body, top || parts.len() < 2);
            }
            Node::Choice(parts) => {
                let mut body = String::new();
                put_many(&mut body, parts, " | ", |out, part| self.put(out, part, false));
                self.group(out, body, top);
            }
            // llama.cpp multiplies the counts of nested repetitions and refuses more than 2,000, unless there is a rule
            // in between.
            Node::Repeat(inner, min, max) if self.form == Form::Gbnf && *max > 1 => {
                let mut body = String::new();
                self.put(&mut body, inner, true);
                self.helper(out, body);
                put_count(out, *min, *max);
            }
            Node::Repeat(inner, min, max) => {
                out.push('(');
                self.put(out, inner, true);
                out.push(')');
                put_count(out, *min, *max);
            }
        }
    }

    /// Writes a group in brackets, unless it is the `whole` of its rule. In GBNF, a long group becomes a separate rule:
    /// a server gets the grammar with every request, so repeated parts are written once.
    fn group(&mut self, out: &mut String, body: String, whole: bool) {
        match self.form {
            _ if whole => out.push_str(&body),
            Form::Gbnf if body.len() > LONG_GROUP => self.helper(out, body),
            _ => {
                out.push('(');
                out.push_str(&body);
                out.push(')');
            }
        }
    }

    fn put_pattern(&mut self, out: &mut String, pattern: &Pattern, top: bool) {
        let gbnf = self.form == Form::Gbnf;
        match pattern {
            Pattern::Text(text) if gbnf => put_text(out, text),
            Pattern::Text(text) => text.chars().for_each(|c| put_char(out, c, self.form)),
            Pattern::Class(class) if gbnf => self.put_split(out, class, top),
            Pattern::Class(class) => put_class(out, class, self.form),
            Pattern::Seq(parts) => {
                let between = if gbnf { " " } else { "" };
                put_many(out, parts, between, |out, part| self.put_pattern(out, part, false));
            }
            Pattern::Choice(parts) => {
                let mut body = String::new();
                let bar = if gbnf { " | " } else { "|" };
                put_many(&mut body, parts, bar, |out, part| self.put_pattern(out, part, false));
                self.group(out, body, top && gbnf);
            }
            Pattern::Repeat(inner, min, max) => {
                let mut body = String::new();
                self.put_pattern(&mut body, inner, false);
                match **inner {
                    Pattern::Class(_) | Pattern::Choice(_) => out.push_str(&body),
                    _ => self.group(out, body, false),
                }
                put_count(out, *min, *max);
            }
        }
    }

    /// A negated class, as its ASCII part and a rule for the rest, which many classes share.
    fn put_split(&mut self, out: &mut String, class: &Class, top: bool) {
        if !class.negated {
            return put_class(out, class, self.form);
        }
        let mut ascii: Vec<(char, char)> = Vec::new();
        for c in ('\0'..='\x7f').filter(|c| class.contains(*c)) {
            match ascii.last_mut().filter(|(_, last)| u32::from(*last) + 1 == u32::from(c)) {
                Some((_, last)) => *last = c,
                None => ascii.push((c, c)),
            }
        }
        let mut others = vec![('\0', '\x7f')];
        others.extend(
            class.ranges.iter().filter(|(_, high)| *high > '\x7f').map(|(low, high)| (*(low.max(&'\u{80}')), *high)),
        );
        let mut body = String::new();
        put_class(&mut body, &Class { negated: false, ranges: ascii.into() }, self.form);
        body.push_str(" | ");
        let mut rest = String::new();
        put_class(&mut rest, &Class { negated: true, ranges: others.into() }, self.form);
        self.helper(&mut body, rest);
        self.group(out, body, top);
    }
}

/// Joins adjacent texts.
fn merged(parts: &[Node]) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    for part in parts {
        match (out.last_mut(), part) {
            (Some(Node::Text(before)), Node::Text(text)) => before.push_str(text),
            (_, part) => out.push(part.clone()),
        }
    }
    out
}

fn put_many<T>(out: &mut String, parts: &[T], between: &str, mut put: impl FnMut(&mut String, &T)) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(between);
        }
        put(out, part);
    }
}

fn put_count(out: &mut String, min: u32, max: u32) {
    let written = match (min, max) {
        (0, 1) => write!(out, "?"),
        (min, max) => write!(out, "{{{min},{max}}}"),
    };
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}

/// A literal in double quotes. Both engines read the JSON escapes of single characters.
fn put_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out.push('"');
}

fn put_class(out: &mut String, class: &Class, form: Form) {
    out.push_str(if class.negated { "[^" } else { "[" });
    for (low, high) in class.ranges.iter() {
        put_char(out, *low, form);
        if high > low {
            out.push('-');
            put_char(out, *high, form);
        }
    }
    out.push(']');
}

/// One character of a pattern. Everything except letters and digits is written as its number, so nothing is special.
fn put_char(out: &mut String, c: char, form: Form) {
    let number = u32::from(c);
    let written = match form {
        _ if c.is_ascii_alphanumeric() => write!(out, "{c}"),
        Form::Gbnf if number < 0x80 => write!(out, "\\x{number:02X}"),
        Form::Gbnf if number < 0x1_0000 => write!(out, "\\u{number:04X}"),
        Form::Gbnf => write!(out, "\\U{number:08X}"),
        Form::Lark => write!(out, "\\x{{{number:X}}}"),
    };
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}
