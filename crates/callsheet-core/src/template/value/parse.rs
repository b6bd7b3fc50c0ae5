//! Reading expressions (spec 8).

use serde_json::{Number, Value};

use super::expression::{Comparison, Term};
use super::path::Path;

/// The largest length of an expression, in characters.
pub(in crate::template) const MAX_CHARACTERS: usize = 1_024;

/// The largest nesting depth of brackets and `!`.
const MAX_DEPTH: usize = 64;

/// The only function.
const LENGTH: &str = "len(";

/// The only comparison that is a word.
const IN: &str = "in";

type Fault = (usize, String);

/// Longer signs precede their prefixes.
const COMPARISONS: [(&str, Comparison); 8] = [
    ("===", Comparison::Equal),
    ("!==", Comparison::Unequal),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// The tree of an expression, and its text without outer blanks.
pub(super) fn parse(text: &str) -> Result<(Term, String), Fault> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        return Err((0, format!("the expression is longer than {MAX_CHARACTERS} characters")));
    }
    let mut parser = Parser { text, at: 0, depth: 0, aliases: Vec::new() };
    let root = parser.any()?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.fault("an operator or the end"));
    }
    let mut canonical = String::with_capacity(text.len());
    let mut copied = 0;
    for at in parser.aliases {
        canonical.push_str(text.get(copied..at).unwrap_or_default());
        canonical.push_str("step_results");
        copied = at + "result".len();
    }
    canonical.push_str(text.get(copied..).unwrap_or_default());
    Ok((root, canonical.trim().to_owned()))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The positions where a variable has another name.
    aliases: Vec<usize>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, sign: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn fault(&self, wanted: &str) -> Fault {
        let found = match self.rest().chars().next() {
            Some(character) => format!("`{character}`"),
            None => "the end".to_owned(),
        };
        (self.at, format!("{wanted} is expected, not {found}"))
    }

    fn any(&mut self) -> Result<Term, Fault> {
        self.list("||", Self::all, Term::Any)
    }

    fn all(&mut self) -> Result<Term, Fault> {
        self.list("&&", Self::not, Term::All)
    }

    fn list(
        &mut self,
        sign: &str,
        part: fn(&mut Self) -> Result<Term, Fault>,
        join: fn(Vec<Term>) -> Term,
    ) -> Result<Term, Fault> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.take(sign) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { join(parts) })
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err((self.at, format!("the expression is nested deeper than {MAX_DEPTH}")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn not(&mut self) -> Result<Term, Fault> {
        self.blanks();
        if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at += 1;
            let inner = self.deeper(Self::not)?;
            return Ok(Term::Not(Box::new(inner)));
        }
        let left = self.atom()?;
        self.blanks();
        let sign = COMPARISONS.iter().copied().find(|(sign, _)| self.rest().starts_with(sign));
        let Some((sign, comparison)) = sign.or_else(|| self.is_in().then_some((IN, Comparison::In))) else {
            return Ok(left);
        };
        self.at += sign.len();
        let right = self.atom()?;
        Ok(Term::Compare(Box::new(left), comparison, Box::new(right)))
    }

    /// Whether the word `in` comes next and is not the beginning of a name.
    fn is_in(&self) -> bool {
        let behind = self.rest().strip_prefix(IN);
        behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '\'')))
    }

    fn atom(&mut self) -> Result<Term, Fault> {
        self.blanks();
        let rest = self.rest();
        match rest.chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.deeper(Self::any)?;
                if !self.take(")") {
                    return Err(self.fault("`)`"));
                }
                Ok(inner)
            }
            Some(quote @ ('"' | '\'')) => {
                let inside = rest.get(1..).unwrap_or_default();
                let Some(end) = inside.find(quote) else {
                    return Err((self.at, "this string is not closed".to_owned()));
                };
                self.at += end + 2;
                Ok(Term::Literal(Value::String(inside.get(..end).unwrap_or_default().to_owned())))
            }
            Some('-' | '0'..='9') => self.number(),
            Some('l') if rest.starts_with(LENGTH) => {
                self.at += LENGTH.len();
                let inner = self.deeper(Self::any)?;
                if !self.take(")") {
                    return Err(self.fault("`)`"));
                }
                Ok(Term::Length(Box::new(inner)))
            }
            _ => self.word(),
        }
    }

    fn number(&mut self) -> Result<Term, Fault> {
        let rest = self.rest();
        let length = rest
            .char_indices()
            .find(|(at, c)| {
                let exponent_sign =
                    matches!(c, '+' | '-') && (*at == 0 || rest.get(..*at).is_some_and(ends_in_exponent));
                !(c.is_ascii_alphanumeric() || *c == '.' || exponent_sign)
            })
            .map_or(rest.len(), |(at, _)| at);
        let number = rest.get(..length).and_then(|text| serde_json::from_str::<Number>(text).ok());
        let Some(number) = number else { return Err((self.at, "this is not a number".to_owned())) };
        self.at += length;
        Ok(Term::Literal(Value::Number(number)))
    }

    fn word(&mut self) -> Result<Term, Fault> {
        let Some((path, length)) = Path::prefix(self.rest()) else {
            return Err(self.fault("a name, a number, a string or `(`"));
        };
        let start = self.at;
        let variable = start + Path::variable_at(self.rest());
        self.at += length;
        let (path, alias) = path.canonical();
        if alias {
            self.aliases.push(variable);
        }
        let literal = match path.name.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Ok(Term::Path(path)),
        };
        if path.steps.is_empty() {
            return Ok(Term::Literal(literal));
        }
        Err((start, format!("`{}` has no parts", path.name)))
    }
}

fn ends_in_exponent(text: &str) -> bool {
    text.ends_with(['e', 'E'])
}
