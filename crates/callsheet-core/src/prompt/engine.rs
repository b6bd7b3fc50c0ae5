//! Text with placeholders and blocks (spec 8.3, 8.4). It is parsed once and filled in one pass; inserted text is never
//! scanned.

use std::collections::BTreeMap;

use super::PromptError;

/// The value for a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The inner text of a block. Empty for a plain placeholder.
    Default,
    /// This text.
    Text(String),
}

/// Values by placeholder.
pub type Values = BTreeMap<&'static str, Value>;

/// A piece of a parsed part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Text(String),
    /// A placeholder.
    Slot {
        /// Its name.
        name: String,
        /// Whether it is alone on its line. If it is empty, the line is removed too.
        alone: bool,
    },
    /// A block with its own text.
    Block {
        /// Its name.
        name: String,
        /// Its text.
        inner: Vec<Piece>,
        /// As for a placeholder.
        alone: bool,
    },
}

/// Something in braces.
enum Token<'a> {
    Literal(&'a str),
    Slot(&'a str),
    Start(&'a str),
    End(&'a str),
}

/// Reads what is at an opening brace, with its length in bytes.
fn token(text: &str) -> Option<(Token<'_>, usize)> {
    if let Some(inner) = text.strip_prefix("{{") {
        let name = name_at(inner)?;
        let rest = inner.get(name.len()..)?;
        return rest.starts_with("}}").then_some((Token::Literal(name), name.len() + 4));
    }
    let inner = text.strip_prefix('{')?;
    let name = name_at(inner)?;
    let rest = inner.get(name.len()..)?;
    if rest.starts_with('}') {
        Some((Token::Slot(name), name.len() + 2))
    } else if rest.starts_with("/start}") {
        Some((Token::Start(name), name.len() + 8))
    } else if rest.starts_with("/end}") {
        Some((Token::End(name), name.len() + 6))
    } else {
        None
    }
}

/// Reads `[a-z][a-z0-9_]*` at the start.
fn name_at(text: &str) -> Option<&str> {
    if !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    let end = text.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    text.get(..end)
}

/// Parses one part of a template. `line` is the line of the file on which it starts.
///
/// # Errors
/// An undeclared placeholder, or a broken block.
pub fn parse_part(template: &str, declared: &[&'static str], text: &str, line: u32) -> Result<Vec<Piece>, PromptError> {
    let mut parser = PartParser { template, declared, pieces: Vec::new(), open: None, literal: String::new() };
    let mut rest = text;
    let mut line = line;
    let mut line_start = true;
    while let Some(at) = rest.find('{') {
        let (before, from_brace) = rest.split_at(at);
        line = line.saturating_add(u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX));
        if !before.is_empty() {
            line_start = before.ends_with('\n');
        }
        parser.literal.push_str(before);
        let Some((token, length)) = token(from_brace) else {
            parser.literal.push('{');
            rest = from_brace.get(1..).unwrap_or_default();
            line_start = false;
            continue;
        };
        rest = from_brace.get(length..).unwrap_or_default();
        let line_end = rest.is_empty() || rest.starts_with('\n');
        parser.take(token, line, line_start, line_end)?;
        line_start = false;
    }
    parser.literal.push_str(rest);
    parser.finish()
}

struct OpenBlock {
    name: String,
    line: u32,
    line_start: bool,
    outer: Vec<Piece>,
}

struct PartParser<'a> {
    template: &'a str,
    declared: &'a [&'static str],
    pieces: Vec<Piece>,
    open: Option<OpenBlock>,
    literal: String,
}

impl PartParser<'_> {
    fn take(&mut self, token: Token<'_>, line: u32, line_start: bool, line_end: bool) -> Result<(), PromptError> {
        match token {
            Token::Literal(name) => {
                self.literal.push('{');
                self.literal.push_str(name);
                self.literal.push('}');
                return Ok(());
            }
            Token::Slot(name) | Token::Start(name) | Token::End(name) if !self.declared.contains(&name) => {
                return Err(PromptError::Undeclared {
                    template: self.template.to_owned(),
                    placeholder: name.to_owned(),
                    line,
                    declared: self.declared.join(", "),
                });
            }
            _ => self.flush(),
        }
        match token {
            Token::Literal(_) => {}
            Token::Slot(name) => {
                self.pieces.push(Piece::Slot { name: name.to_owned(), alone: line_start && line_end });
            }
            Token::Start(name) if self.open.is_some() => return Err(self.block(name, line, "is inside another")),
            Token::Start(name) => {
                let outer = std::mem::take(&mut self.pieces);
                self.open = Some(OpenBlock { name: name.to_owned(), line, line_start, outer });
            }
            Token::End(name) => match self.open.take() {
                Some(open) if open.name == name => {
                    let inner = std::mem::replace(&mut self.pieces, open.outer);
                    let alone = open.line_start && line_end;
                    self.pieces.push(Piece::Block { name: open.name, inner, alone });
                }
                _ => return Err(self.block(name, line, "is closed but was never opened")),
            },
        }
        Ok(())
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(&mut self.literal)));
        }
    }

    fn finish(mut self) -> Result<Vec<Piece>, PromptError> {
        self.flush();
        match &self.open {
            Some(open) => Err(self.block(&open.name, open.line, "is not closed")),
            None => Ok(self.pieces),
        }
    }

    fn block(&self, name: &str, line: u32, fault: &'static str) -> PromptError {
        PromptError::Block {
            template: self.template.to_owned(),
            placeholder: name.to_owned(),
            line,
            fault,
            declared: self.declared.join(", "),
        }
    }
}

/// Fills a parsed part.
///
/// # Errors
/// A placeholder without a value.
pub fn render_pieces(template: &str, declared: &str, pieces: &[Piece], values: &Values) -> Result<String, PromptError> {
    let mut out = Filled::default();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.literal(text),
            Piece::Slot { name, alone } => match value(template, declared, name, values)? {
                Value::Default => out.insert("", *alone),
                Value::Text(text) => out.insert(text, *alone),
            },
            Piece::Block { name, inner, alone } => match value(template, declared, name, values)? {
                Value::Default => {
                    let text = render_pieces(template, declared, inner, values)?;
                    out.insert(&text, *alone);
                }
                Value::Text(text) => out.insert(text, *alone),
            },
        }
    }
    Ok(out.text)
}

fn value<'a>(template: &str, declared: &str, name: &str, values: &'a Values) -> Result<&'a Value, PromptError> {
    values.get(name).ok_or_else(|| PromptError::NoValue {
        template: template.to_owned(),
        placeholder: name.to_owned(),
        declared: declared.to_owned(),
    })
}

#[derive(Default)]
struct Filled {
    text: String,
    /// Whether the previous placeholder was alone on its line and empty, so that its line feed is removed too.
    swallow: bool,
}

impl Filled {
    fn literal(&mut self, text: &str) {
        let mut text = text;
        if std::mem::take(&mut self.swallow) {
            text = text.strip_prefix('\n').unwrap_or(text);
            if self.text.is_empty() || self.text.ends_with("\n\n") {
                text = text.strip_prefix('\n').unwrap_or(text);
            }
        }
        self.text.push_str(text);
    }

    fn insert(&mut self, text: &str, alone: bool) {
        self.swallow = alone && text.is_empty();
        self.text.push_str(text);
    }
}
