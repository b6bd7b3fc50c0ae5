//! Tokens of XML. Every byte belongs to a token or a fault, and is examined a bounded number of times.

use callsheet_core::template::Bytes;

use super::{Fault, FaultKind};

/// An attribute of a start tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawAttribute {
    pub(super) name: Bytes,
    /// The value without its quotes.
    pub(super) value: Bytes,
}

/// One token.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Text(Bytes),
    /// The text without its brackets.
    Cdata(Bytes),
    Start {
        name: Bytes,
        attributes: Vec<RawAttribute>,
        empty: bool,
        span: Bytes,
    },
    End {
        name: Bytes,
        span: Bytes,
    },
    /// A comment.
    Nothing,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, start: usize) -> Self {
        Self { text, at: start, faults: Vec::new() }
    }

    pub(super) fn slice(&self, span: Bytes) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn malformed(&mut self, span: Bytes, message: impl Into<String>, advice: &'static str) {
        self.faults.push(Fault::malformed(span, message, advice));
    }

    /// The next token. `None` at the end.
    pub(super) fn next(&mut self) -> Option<Token> {
        let start = self.at;
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        if !rest.starts_with('<') {
            self.at = rest.find('<').map_or(self.text.len(), |found| start + found);
            return Some(Token::Text(Bytes::new(start, self.at)));
        }
        Some(if rest.starts_with("<!--") {
            self.until("<!--", "-->", "comment");
            Token::Nothing
        } else if rest.starts_with("<![CDATA[") {
            Token::Cdata(self.until("<![CDATA[", "]]>", "CDATA section"))
        } else if rest.starts_with("<?") {
            self.instruction();
            Token::Nothing
        } else if rest.starts_with("<!") {
            self.declaration();
            Token::Nothing
        } else if rest.starts_with("</") {
            self.end_tag()
        } else if rest.chars().nth(1).is_some_and(is_name_start) {
            self.start_tag()
        } else {
            self.malformed(Bytes::new(start, start + 1), "a bare `<`", "write `&lt;`");
            self.at = rest.get(1..).and_then(|rest| rest.find('<')).map_or(self.text.len(), |found| start + 1 + found);
            Token::Text(Bytes::new(start, self.at))
        })
    }

    /// Skips `open … close` and returns the range between them.
    fn until(&mut self, open: &str, close: &str, what: &str) -> Bytes {
        let start = self.at;
        let inner = start + open.len();
        match self.text.get(inner..).and_then(|rest| rest.find(close)) {
            Some(found) => {
                self.at = inner + found + close.len();
                Bytes::new(inner, inner + found)
            }
            None => {
                let span = Bytes::new(start, inner);
                self.faults.push(Fault::malformed(span, format!("this {what} is not closed"), "close it").fatal());
                self.at = self.text.len();
                Bytes::new(inner.min(self.text.len()), self.text.len())
            }
        }
    }

    fn instruction(&mut self) {
        let start = self.at;
        let inner = self.until("<?", "?>", "processing instruction");
        let text = self.slice(inner);
        let span = Bytes::new(start, self.at);
        if text.strip_prefix("xml").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])) {
            let encoding = text.split_once("encoding").map(|(_, rest)| rest.trim_start_matches(['=', ' ', '"', '\'']));
            if encoding.is_some_and(|name| !name.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("utf-8"))) {
                let message = "the declared encoding is not UTF-8";
                self.faults.push(Fault::new(FaultKind::Encoding, span, message, "save the file as UTF-8"));
            }
            return;
        }
        let message = "a processing instruction is ignored";
        self.faults.push(Fault::new(FaultKind::Ignored, span, message, "remove it"));
    }

    /// Reads `<!DOCTYPE …>` and other declarations, including their internal subset.
    fn declaration(&mut self) {
        let start = self.at;
        let mut depth = 0_usize;
        let mut quote: Option<char> = None;
        let mut end = self.text.len();
        for (at, character) in self.rest().char_indices().skip(2) {
            match (quote, character) {
                (Some(open), _) if open == character => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if depth > 0 => quote = Some(character),
                (None, '[') => depth += 1,
                (None, ']') => depth = depth.saturating_sub(1),
                (None, '>') if depth == 0 => {
                    end = start + at + 1;
                    break;
                }
                _ => {}
            }
        }
        self.at = end;
        let message = "document types and declarations are not allowed";
        let advice = "remove it; only the five predefined entities exist";
        self.faults.push(Fault::new(FaultKind::Forbidden, Bytes::new(start, end), message, advice));
    }

    fn end_tag(&mut self) -> Token {
        let start = self.at;
        self.at += 2;
        let name = self.name();
        self.skip_blanks();
        if self.peek() == Some(b'>') {
            self.at += 1;
        } else {
            let junk = self.rest().find(['<', '>']).unwrap_or(self.rest().len());
            self.at += junk;
            self.malformed(Bytes::new(start, self.at), "this end tag is not well formed", "write `</name>`");
            if self.peek() == Some(b'>') {
                self.at += 1;
            }
        }
        Token::End { name, span: Bytes::new(start, self.at) }
    }

    fn name(&mut self) -> Bytes {
        let start = self.at;
        let length = self.rest().find(|character| !is_name(character)).unwrap_or(self.rest().len());
        self.at += length;
        Bytes::new(start, self.at)
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn start_tag(&mut self) -> Token {
        let start = self.at;
        self.at += 1;
        let name = self.name();
        let mut attributes = Vec::new();
        let mut empty = false;
        loop {
            let before = self.at;
            self.skip_blanks();
            let blank = self.at > before;
            let rest = self.rest();
            match self.peek() {
                Some(b'>') => {
                    self.at += 1;
                    break;
                }
                Some(b'/') if rest.starts_with("/>") => {
                    self.at += 2;
                    empty = true;
                    break;
                }
                None | Some(b'<') => {
                    let span = Bytes::new(start, before);
                    self.malformed(span, "this tag is not closed", "close it with `>`");
                    break;
                }
                Some(_) if rest.starts_with(is_name_start) => {
                    if !blank {
                        let span = Bytes::new(self.at, self.at);
                        self.malformed(span, "a space is missing before this attribute", "add one");
                    }
                    attributes.extend(self.attribute());
                }
                Some(_) => {
                    let junk = rest.find([' ', '\t', '\r', '\n', '<', '>']).unwrap_or(rest.len()).max(1);
                    let junk = if rest.is_char_boundary(junk) { junk } else { rest.len() };
                    self.at += junk;
                    let message = "this does not belong in a tag";
                    self.malformed(Bytes::new(self.at - junk, self.at), message, "write name=\"value\"");
                }
            }
        }
        Token::Start { name, attributes, empty, span: Bytes::new(start, self.at) }
    }

    /// Reads an attribute. `None` if it has no value.
    fn attribute(&mut self) -> Option<RawAttribute> {
        let name = self.name();
        let behind = self.at;
        self.skip_blanks();
        if self.peek() != Some(b'=') {
            self.at = behind;
            self.malformed(name, "this attribute has no value", "write name=\"value\"");
            return None;
        }
        self.at += 1;
        self.skip_blanks();
        let value = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.quoted(char::from(quote)),
            _ => self.unquoted(),
        };
        Some(RawAttribute { name, value })
    }

    fn unquoted(&mut self) -> Bytes {
        let start = self.at;
        let rest = self.rest();
        let mut length = rest.find([' ', '\t', '\r', '\n', '<', '>', '"', '\'']).unwrap_or(rest.len());
        if rest.get(..length).is_some_and(|value| value.ends_with('/')) && rest.as_bytes().get(length) == Some(&b'>') {
            length -= 1;
        }
        self.at += length;
        let span = Bytes::new(start, self.at);
        self.malformed(span, "this value is not quoted", "write it in quotes");
        span
    }

    /// Reads a value in quotes. A `<` inside is a fault. If the quote does not close on that line, the value ends
    /// there.
    fn quoted(&mut self, quote: char) -> Bytes {
        let open = self.at;
        let start = open + 1;
        let mut at = start;
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let Some(found) = rest.find([quote, '<']) else {
                self.malformed(Bytes::new(open, start), "this value is not closed", "close the quote");
                self.at = self.text.len();
                return Bytes::new(start.min(self.text.len()), self.text.len());
            };
            at += found;
            if self.text.get(at..).is_some_and(|rest| rest.starts_with(quote)) {
                self.at = at + 1;
                return Bytes::new(start, at);
            }
            let line = self.text.get(at..).unwrap_or_default().split('\n').next().unwrap_or_default();
            let Some(closing) = line.find(quote) else {
                self.malformed(Bytes::new(open, start), "this value is not closed", "close the quote");
                self.at = at;
                return Bytes::new(start, at);
            };
            self.malformed(Bytes::new(at, at + 1), "a bare `<` in a value", "write `&lt;`");
            at += closing;
        }
    }
}

/// Whether a name may begin with the character.
pub(in crate::template) fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || character == '_' || character == ':'
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '-' | '.')
}
