//! Prints a form as the grammar of its Markdown.

use super::form::{Form, Member, Part, Value};
use super::sections::Lists;
use super::{Expr, Grammar};

/// The maximum number of calls in one reply.
const MAX_CALLS: usize = 3;
/// Fence tags that a model may choose from. Every fence has one (spec 5.9).
const FENCE_TAGS: &[&str] = &[
    "text",
    "markdown",
    "rust",
    "python",
    "javascript",
    "typescript",
    "json",
    "toml",
    "yaml",
    "csv",
    "html",
    "css",
    "sql",
    "sh",
    "c",
    "cpp",
    "java",
    "go",
];

impl Form {
    /// The grammar of its Markdown.
    pub fn grammar(&self) -> Grammar {
        let mut writer = Writer::default();
        let reply = writer.group(&self.parts);
        let mut rules = vec![("reply".to_owned(), reply)];
        rules.append(&mut writer.rules);
        Grammar { rules }
    }
}

#[derive(Default)]
struct Writer {
    rules: Vec<(String, Expr)>,
}

impl Writer {
    fn group(&mut self, parts: &[Part]) -> Expr {
        let parts = parts.iter().map(|part| self.part(part)).collect();
        joined(parts)
    }

    fn part(&mut self, part: &Part) -> Expr {
        match part {
            Part::Text(text) => Expr::text(text),
            Part::Flag { text, .. } => Expr::text(text).optional(),
            Part::Member(member) => self.member(member),
            Part::List { first, item, min, max, empty, .. } => {
                let first = first.as_ref().map(|first| self.group(first));
                let item = self.group(item);
                let min = if empty.is_empty() { *min } else { (*min).max(1) };
                let items = match first {
                    None => item.repeat(min, *max),
                    Some(first) => {
                        let more = item.repeat(min.saturating_sub(1), max.saturating_sub(1));
                        let items = joined(vec![first, more]);
                        if min == 0 { items.optional() } else { items }
                    }
                };
                if empty.is_empty() { items } else { Expr::Choice(vec![items, self.group(empty)]) }
            }
            Part::OneOf { ways, .. } => Expr::Choice(ways.iter().map(|(_, parts)| self.group(parts)).collect()),
            Part::Calls { before, tools, needed } => {
                let calls = joined(vec![Expr::text(before), self.calls(tools)]);
                if *needed { calls } else { calls.optional() }
            }
            Part::Sections(sections) => {
                let (expr, rules) = Lists::grammar(sections);
                self.rules.extend(rules);
                expr
            }
        }
    }

    fn member(&mut self, member: &Member) -> Expr {
        let value = self.value(&member.name, &member.value);
        let expr = joined(vec![Expr::text(&member.before), value, Expr::text(&member.after)]);
        if member.needed { expr } else { expr.optional() }
    }

    fn value(&mut self, name: &str, value: &Value) -> Expr {
        match value {
            Value::Line { min, max } => Expr::Line { min: *min, max: *max },
            Value::Sentence { min, max } => Expr::Sentence { min: *min, max: *max },
            Value::Block { lines, line } => Expr::Block { lines: *lines, line: *line },
            Value::Document => self.document(),
            Value::Fence { lines } => fence(*lines),
            Value::Choice(texts) => self.rule(name, Expr::Choice(texts.iter().map(Expr::text).collect())),
            Value::Links { links, max, between } => {
                let link = self.rule("link", Expr::Choice(links.iter().map(Expr::text).collect()));
                let more = Expr::Seq(vec![Expr::text(between), link.clone()]).repeat(0, max.saturating_sub(1));
                Expr::Seq(vec![link, more])
            }
            Value::Path(paths) => self.rule("path", Expr::Choice(paths.iter().map(|path| known_path(path)).collect())),
            Value::NewPath => {
                let folder = Expr::Seq(vec![Expr::Word { min: 1, max: 30 }, Expr::text("/")]).repeat(0, 4);
                Expr::Seq(vec![folder, file_name()])
            }
            Value::FileName => file_name(),
            Value::Symbol => {
                let more = Expr::Seq(vec![Expr::text("."), Expr::Word { min: 1, max: 40 }]).repeat(0, 3);
                Expr::Seq(vec![Expr::Word { min: 1, max: 40 }, more])
            }
            Value::Number => Expr::Number,
        }
    }

    /// The rule for an expression: the existing one, else a new one with that name, followed by a number if the name is
    /// already used.
    fn rule(&mut self, name: &str, expr: Expr) -> Expr {
        if let Some((known, _)) = self.rules.iter().find(|(_, known)| *known == expr) {
            return Expr::rule(known);
        }
        let mut free = name.to_owned();
        let mut number = 1;
        while self.rules.iter().any(|(known, _)| *known == free) {
            number += 1;
            free = format!("{name}_{number}");
        }
        self.rules.push((free.clone(), expr));
        Expr::rule(free)
    }

    /// Free Markdown: paragraphs, lists, headings below the section's, and fences.
    fn document(&mut self) -> Expr {
        let gap = Expr::Choice(vec![Expr::text("\n"), Expr::text("\n\n")]);
        // The newline belongs to the heading: by itself it would end the lexeme with which `## Details` starts.
        let heading = Expr::Choice(vec![Expr::text("\n### Part: "), Expr::text("\n\n### Part: ")]);
        let heading = Expr::Seq(vec![heading, Expr::Line { min: 2, max: 80 }]);
        let code = Expr::Code { lines: 80, line: 200 };
        let code = Expr::Seq(vec![Expr::text("```"), tag(), Expr::text("\n"), code, Expr::text("\n```")]);
        let entry = self.rule("entry", Expr::Choice(vec![Expr::Block { lines: 1, line: 600 }, code]));
        let more = Expr::Choice(vec![Expr::Seq(vec![gap, entry.clone()]), heading]).repeat(0, 120);
        Expr::Seq(vec![entry, more])
    }

    /// 1 to [`MAX_CALLS`] fences; ids are fixed by position (spec 4.4 `call-id-set`).
    fn calls(&mut self, tools: &[(String, serde_json::Value)]) -> Expr {
        let arguments: Vec<Expr> = tools
            .iter()
            .enumerate()
            .map(|(index, (_, schema))| self.rule(&format!("arguments_{index}"), Expr::Json(schema.clone())))
            .collect();
        let mut after = Expr::Seq(Vec::new());
        for number in (1..=MAX_CALLS).rev() {
            let choices = tools.iter().zip(&arguments).map(|((tool, _), arguments)| call(tool, arguments, number));
            let this = self.rule(&format!("call_{number}"), Expr::Choice(choices.collect()));
            after = Expr::Seq(if number == MAX_CALLS { vec![this] } else { vec![this, after.optional()] });
        }
        after
    }
}

fn call(tool: &str, arguments: &Expr, number: usize) -> Expr {
    let name = serde_json::Value::from(tool);
    let id = serde_json::Value::from(format!("{tool}-{number}"));
    Expr::Seq(vec![
        Expr::text(format!("\n```json\n{{\"name\": {name}, \"id\": {id}, \"arguments\": ")),
        arguments.clone(),
        Expr::text("}\n```"),
    ])
}

/// A sequence without empty texts and without sequences inside it.
fn joined(parts: Vec<Expr>) -> Expr {
    let mut out: Vec<Expr> = Vec::new();
    for part in parts {
        match part {
            Expr::Literal(text) if text.is_empty() => {}
            Expr::Seq(inner) => out.extend(inner),
            part => out.push(part),
        }
    }
    match <[Expr; 1]>::try_from(out) {
        Ok([only]) => only,
        Err(out) => Expr::Seq(out),
    }
}

fn tag() -> Expr {
    Expr::Choice(FENCE_TAGS.iter().map(|tag| Expr::text(*tag)).collect())
}

fn fence(lines: u32) -> Expr {
    let content = Expr::Code { lines, line: 200 };
    Expr::Seq(vec![Expr::text("\n```"), tag(), Expr::text("\n"), content, Expr::text("\n```")])
}

fn file_name() -> Expr {
    Expr::Seq(vec![Expr::Word { min: 1, max: 40 }, Expr::text("."), Expr::Word { min: 1, max: 8 }])
}

/// A path in pieces that end where the words of a new path end, so that both can be read in parallel.
fn known_path(path: &str) -> Expr {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut pieces: Vec<String> = Vec::new();
    let mut last = None;
    for c in path.chars() {
        match pieces.last_mut().filter(|_| last == Some(true) && word(c)) {
            Some(piece) => piece.push(c),
            None => pieces.push(c.to_string()),
        }
        last = Some(word(c));
    }
    Expr::Seq(pieces.into_iter().map(Expr::Literal).collect())
}
