//! A recursive descent parser with a limited depth. `serde_json` decodes strings and numbers, so a valid token means
//! exactly the same as there.

use std::cell::OnceCell;

use callsheet_core::issue::RepairCode;
use serde_json::{Map, Number, Value};

use crate::reading::clause;

use super::{Document, Fault, JsonRepair, Located, MAX_DEPTH};

/// Characters that are escaped in regular expressions but never in JSON.
const PATTERN_ESCAPES: &str = "dswDSWBA.()[]{}*+?|^$";

/// Reads a whole text of one or several values, one after another or separated by commas.
pub fn read_document(text: &str) -> Result<Document, Fault> {
    let mut reader = Reader::new(text);
    let mut values = Vec::new();
    reader.skip_blank();
    while !reader.at_end() {
        values.push(reader.located()?);
        reader.skip_blank();
        if reader.peek() == Some(',') {
            let comma = reader.pos;
            reader.bump();
            reader.skip_blank();
            reader.repair("comma between values", comma, ",", "");
        }
    }
    Ok(Document { values, repairs: reader.repairs })
}

/// Reads single values from a text that also contains other things. Each value costs only its own length, because
/// properties of the whole text are computed once.
pub struct Scanner<'a> {
    reader: Reader<'a>,
}

impl<'a> Scanner<'a> {
    /// A scanner over `text`.
    pub fn new(text: &'a str) -> Self {
        Self { reader: Reader::new(text) }
    }

    /// Reads the value that starts at byte `start`, and ignores what follows it.
    pub fn one(&mut self, start: usize) -> Result<Document, Fault> {
        self.reader.pos = start;
        self.reader.depth = 0;
        self.reader.repairs.clear();
        self.reader.kinds.clear();
        let value = self.reader.located()?;
        Ok(Document { values: vec![value], repairs: std::mem::take(&mut self.reader.repairs) })
    }
}

struct Reader<'a> {
    text: &'a str,
    pos: usize,
    depth: usize,
    repairs: Vec<JsonRepair>,
    kinds: Vec<&'static str>,
    /// Computed once, when it is first needed.
    last_smart_close: OnceCell<Option<usize>>,
    last_comment_close: OnceCell<Option<usize>>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            pos: 0,
            depth: 0,
            repairs: Vec::new(),
            kinds: Vec::new(),
            last_smart_close: OnceCell::new(),
            last_comment_close: OnceCell::new(),
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.pos += next.len_utf8();
        Some(next)
    }

    fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    fn cut_off(&self, at: usize) -> Fault {
        let what = clause("json-cut", &[]);
        Fault { truncated: true, at, reached: self.pos, what }
    }

    fn fault(&self, at: usize, what: impl Into<String>) -> Fault {
        Fault { truncated: false, at, reached: self.pos, what: what.into() }
    }

    /// Notes each kind of correction once: the same mistake on every line is one habit.
    fn repair(&mut self, kind: &'static str, at: usize, before: &str, after: &str) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
            let code = if kind.starts_with("odd") { RepairCode::QuotesStraightened } else { RepairCode::JsonSyntax };
            self.repairs.push(JsonRepair { code, at, before: before.to_owned(), after: after.to_owned() });
        }
    }

    /// Skips blanks and comments.
    fn skip_blank(&mut self) {
        while let Some(next) = self.peek() {
            let at = self.pos;
            match next {
                ' ' | '\t' | '\n' | '\r' => self.pos += 1,
                '\u{a0}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{feff}' | '\u{2060}' => {
                    self.bump();
                    self.repair("odd blank", at, "invisible character", "");
                }
                '/' if self.rest().starts_with("//") => {
                    self.skip_line();
                    self.repair("comment", at, "// comment", "");
                }
                '/' if self.rest().starts_with("/*") => {
                    let last = *self.last_comment_close.get_or_init(|| self.text.rfind("*/"));
                    if last.is_none_or(|close| close < self.pos + 2) {
                        return;
                    }
                    let Some(length) = self.rest().find("*/") else { return };
                    self.pos += length + 2;
                    self.repair("comment", at, "/* comment */", "");
                }
                '#' => {
                    self.skip_line();
                    self.repair("comment", at, "# comment", "");
                }
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        self.pos += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn located(&mut self) -> Result<Located, Fault> {
        let start = self.pos;
        let value = self.value()?;
        Ok(Located { value, start, end: self.pos })
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some(quote) if is_quote(quote) => Ok(Value::String(self.string()?)),
            Some(digit) if digit == '-' || digit.is_ascii_digit() => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() => self.word(),
            Some(other) => Err(self.fault(self.pos, clause("json-value", &[("found", &other.to_string())]))),
            None => Err(self.fault(self.pos, clause("json-value-end", &[]))),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, Fault>) -> Result<Value, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fault(self.pos, clause("json-deep", &[("levels", &MAX_DEPTH.to_string())])));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, Fault> {
        self.bump();
        let mut map = Map::new();
        self.skip_blank();
        loop {
            match self.peek() {
                Some('}') => {
                    self.bump();
                    return Ok(Value::Object(map));
                }
                None => return self.unclosed("}", Value::Object(map)),
                Some(_) => {}
            }
            let key = self.key()?;
            self.skip_blank();
            if self.peek() != Some(':') {
                return Err(self.expected(&clause("json-colon", &[("key", &cut(&key))])));
            }
            self.bump();
            self.skip_blank();
            let value = self.value()?;
            map.insert(key, value);
            self.separator('}')?;
        }
    }

    fn array(&mut self) -> Result<Value, Fault> {
        self.bump();
        let mut items = Vec::new();
        self.skip_blank();
        loop {
            match self.peek() {
                Some(']') => {
                    self.bump();
                    return Ok(Value::Array(items));
                }
                None => return self.unclosed("]", Value::Array(items)),
                Some(_) => {}
            }
            items.push(self.value()?);
            self.separator(']')?;
        }
    }

    /// Reads what follows an item: a comma (a closer directly after it is a mistake to repair), the closer, or the end.
    fn separator(&mut self, closer: char) -> Result<(), Fault> {
        self.skip_blank();
        match self.peek() {
            None => Ok(()),
            Some(next) if next == closer => Ok(()),
            Some(',') => {
                let comma = self.pos;
                self.bump();
                self.skip_blank();
                match self.peek() {
                    Some(next) if next == closer => {
                        self.repair("trailing comma", comma, &format!(",{closer}"), &closer.to_string())
                    }
                    // A value was begun and is missing. Adding closers would hide that.
                    None => return Err(self.fault(self.pos, clause("json-comma-end", &[]))),
                    Some(_) => {}
                }
                Ok(())
            }
            Some(_) => Err(self.expected(&clause("json-separator", &[("closer", &closer.to_string())]))),
        }
    }

    fn expected(&self, what: &str) -> Fault {
        match self.peek() {
            Some(found) => {
                self.fault(self.pos, clause("json-expected", &[("found", &found.to_string()), ("wanted", what)]))
            }
            None => self.fault(self.pos, clause("json-expected-end", &[("wanted", what)])),
        }
    }

    /// Handles a text that ends inside a container, which is then closed at the very end.
    fn unclosed(&mut self, closer: &str, value: Value) -> Result<Value, Fault> {
        // Noted after the last text, not after the blank end.
        self.repair("missing closer", self.text.trim_end().len().saturating_sub(1), "", closer);
        Ok(value)
    }

    fn key(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some(quote) if is_quote(quote) => self.string(),
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' || letter == '$' => {
                let start = self.pos;
                let length = self
                    .rest()
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-')))
                    .unwrap_or(self.rest().len());
                self.pos += length;
                let key = self.text.get(start..self.pos).unwrap_or("").to_owned();
                self.repair("bare key", start, &key, &format!("{key:?}"));
                Ok(key)
            }
            _ => Err(self.expected(&clause("json-key", &[]))),
        }
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.pos;
        let length = self
            .rest()
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(self.rest().len());
        self.pos += length;
        let token = self.text.get(start..self.pos).unwrap_or("");
        match serde_json::from_str::<Number>(token) {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(self.fault(start, clause("json-number", &[("token", &cut(token))]))),
        }
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let start = self.pos;
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        self.pos += length;
        let token = self.text.get(start..self.pos).unwrap_or("");
        let (value, canonical) = match token {
            "true" | "True" => (Value::Bool(true), "true"),
            "false" | "False" => (Value::Bool(false), "false"),
            "null" | "None" => (Value::Null, "null"),
            _ => return Err(self.fault(start, clause("json-word", &[("token", &cut(token))]))),
        };
        if token != canonical {
            self.repair("word", start, token, canonical);
        }
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.pos;
        if let Some(plain) = self.rest().strip_prefix('"').and_then(plain_string) {
            self.pos += plain.len() + 2;
            return Ok(plain.to_owned());
        }
        let open = self.bump().unwrap_or('"');
        let close = self.closing(open);
        // The string is built as strict JSON and decoded by serde_json, so that escapes have their usual meaning.
        let mut strict = String::from("\"");
        loop {
            let at = self.pos;
            let Some(next) = self.bump() else {
                return Err(self.cut_off(start));
            };
            match next {
                _ if next == close => break,
                '\\' => {
                    let Some(escaped) = self.bump() else {
                        return Err(self.cut_off(start));
                    };
                    if escaped == '\'' {
                        strict.push('\'');
                        if open != '\'' {
                            self.repair("wrong escape", at, "\\'", "'");
                        }
                    } else if PATTERN_ESCAPES.contains(escaped) {
                        // JSON has no such escape, and a regular expression needs its backslash.
                        strict.push_str("\\\\");
                        strict.push(escaped);
                        self.repair("wrong escape", at, &format!("\\{escaped}"), &format!("\\\\{escaped}"));
                    } else {
                        strict.push('\\');
                        strict.push(escaped);
                    }
                }
                '"' => strict.push_str("\\\""),
                '\n' => self.raw_control(&mut strict, at, "\\n"),
                '\r' => self.raw_control(&mut strict, at, "\\r"),
                '\t' => self.raw_control(&mut strict, at, "\\t"),
                other => strict.push(other),
            }
        }
        strict.push('"');
        if open == '\'' {
            self.repair("single quotes", start, "'…'", "\"…\"");
        } else if open != '"' || close != '"' {
            self.repair("odd quotes", start, &format!("{open}…{close}"), "\"…\"");
        }
        serde_json::from_str(&strict).map_err(|_| self.fault(start, clause("json-escape", &[])))
    }

    fn raw_control(&mut self, strict: &mut String, at: usize, escape: &str) {
        strict.push_str(escape);
        self.repair("raw control", at, "raw line break or tab in a string", escape);
    }

    fn has_smart_close(&self) -> bool {
        self.last_smart_close.get_or_init(|| self.text.rfind('\u{201d}')).is_some_and(|at| at >= self.pos)
    }

    /// The quote that ends a string. A smart quote ends at its partner if the text still contains one, else at a plain
    /// quote.
    fn closing(&self, open: char) -> char {
        match open {
            '\u{201c}' | '\u{201d}' | '\u{201e}' if self.has_smart_close() => '\u{201d}',
            '\u{2018}' | '\u{2019}' => '\u{2019}',
            '\'' => '\'',
            _ => '"',
        }
    }
}

/// A text up to its closing quote, if it contains no escapes and needs none.
fn plain_string(text: &str) -> Option<&str> {
    let end = text.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    text.get(..end).filter(|_| text.as_bytes().get(end) == Some(&b'"'))
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}')
}

fn cut(token: &str) -> String {
    token.chars().take(40).collect()
}
