//! Printing for engines: GBNF for llama.cpp, Lark for llguidance.

use std::fmt::Write;

use super::Grammar;
use super::pattern::{Class, Node, Pattern, lower_all};

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
        // The suffix keeps a rule that is itself called `root` or `start` apart from the first one.
        Form::Gbnf => format!("{}-r", name.replace('_', "-")),
        Form::Lark => format!("{name}_r"),
    }
}

/// Rules of the printer's own: patterns, which in Lark are terminals, and in GBNF what is repeated.
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

    /// Writes the name of the rule with this body.
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
                put_pattern(&mut body, pattern, self.form);
                body.push_str(slash);
                self.helper(out, body);
            }
            Node::Rule(name) => out.push_str(&rule_name(name, self.first, self.form)),
            Node::Seq(parts) if parts.is_empty() => out.push_str("\"\""),
            Node::Seq(parts) => {
                let brackets = !top && parts.len() > 1;
                put_many(out, parts, " ", brackets, |out, part| self.put(out, part, false));
            }
            Node::Choice(parts) => put_many(out, parts, " | ", !top, |out, part| self.put(out, part, false)),
            // llama.cpp multiplies the counts of nested repetitions and refuses more than 2,000, unless a rule stands between.
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
}

fn put_many<T>(out: &mut String, parts: &[T], between: &str, brackets: bool, mut put: impl FnMut(&mut String, &T)) {
    if brackets {
        out.push('(');
    }
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(between);
        }
        put(out, part);
    }
    if brackets {
        out.push(')');
    }
}

fn put_count(out: &mut String, min: u32, max: u32) {
    let written = match (min, max) {
        (0, 1) => write!(out, "?"),
        (min, max) => write!(out, "{{{min},{max}}}"),
    };
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}

/// A literal in double quotes; both engines read the escapes of JSON that stand for themselves.
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

fn put_pattern(out: &mut String, pattern: &Pattern, form: Form) {
    let between = if form == Form::Gbnf { " " } else { "" };
    match pattern {
        Pattern::Text(text) if form == Form::Gbnf => put_text(out, text),
        Pattern::Text(text) => text.chars().for_each(|c| put_char(out, c, form)),
        Pattern::Class(class) => put_class(out, class, form),
        Pattern::Seq(parts) => put_many(out, parts, between, false, |out, part| put_pattern(out, part, form)),
        Pattern::Choice(parts) => {
            let bar = if form == Form::Gbnf { " | " } else { "|" };
            put_many(out, parts, bar, true, |out, part| put_pattern(out, part, form));
        }
        Pattern::Repeat(inner, min, max) => {
            let brackets = !matches!(**inner, Pattern::Class(_) | Pattern::Choice(_));
            if brackets {
                out.push('(');
            }
            put_pattern(out, inner, form);
            if brackets {
                out.push(')');
            }
            put_count(out, *min, *max);
        }
    }
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

/// One character of a pattern; everything but letters and digits as its number, so nothing is special.
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
