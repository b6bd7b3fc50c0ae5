//! Text with placeholders: `{{ path }}`. `{{{{` is a literal `{{` (spec 4).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::template::place::Spot;

use super::path::Path;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Literal(String),
    /// A placeholder for a value, with the place where it was written.
    Placeholder(Path, Spot),
}

/// Text that an author wrote, with open placeholders. It is recorded as its canonical text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Recorded", into = "Recorded")]
pub struct Filled {
    pieces: Vec<Piece>,
}

/// The recorded form: the text alone, or the text with the places of its placeholders.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Recorded {
    Text(String),
    Placed { text: String, at: Vec<Spot> },
}

/// A `{{` as written, with its range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path. `None` if it is not a valid placeholder.
    pub path: Option<Path>,
    /// Whether it uses another name for its variable.
    pub alias: bool,
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
}

impl Filled {
    /// Text without placeholders.
    pub fn literal(text: &str) -> Self {
        let mut out = Self::default();
        out.add(text);
        out
    }

    /// Joins pieces. Neighbouring literals become one.
    pub fn from_pieces(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut out = Self::default();
        for piece in pieces {
            match piece {
                Piece::Literal(text) => out.add(&text),
                place @ Piece::Placeholder(..) => out.pieces.push(place),
            }
        }
        out
    }

    /// Parses a text, and returns what was written at each `{{`. An invalid placeholder stays as it is.
    pub fn read(text: &str) -> (Self, Vec<Written>) {
        let (mut out, mut written) = (Self::default(), Vec::new());
        let mut at = 0;
        while let Some(found) = text.get(at..).and_then(|rest| rest.find("{{")) {
            let open = at + found;
            out.add(text.get(at..open).unwrap_or_default());
            let rest = text.get(open..).unwrap_or_default();
            if rest.starts_with("{{{{") {
                out.add("{{");
                at = open + 4;
            } else if let Some((path, length)) = placeholder(rest) {
                let (path, alias) = path.canonical();
                written.push(Written { path: Some(path.clone()), alias, start: open, end: open + length });
                out.pieces.push(Piece::Placeholder(path, Spot::default()));
                at = open + length;
            } else if rest.get(1..).and_then(placeholder).is_some() {
                out.add("{");
                at = open + 1;
            } else {
                let line = rest.split('\n').next().unwrap_or_default();
                let length = line.find("}}").map_or(2, |end| end + 2);
                written.push(Written { path: None, alias: false, start: open, end: open + length });
                out.add("{{");
                at = open + 2;
            }
        }
        out.add(text.get(at..).unwrap_or_default());
        (out, written)
    }

    /// Sets the places of the placeholders, in order.
    pub fn placed(mut self, spots: impl IntoIterator<Item = Spot>) -> Self {
        let places = self.pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Placeholder(_, at) => Some(at),
            Piece::Literal(_) => None,
        });
        for (at, spot) in places.zip(spots) {
            *at = spot;
        }
        self
    }

    fn add(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Piece::Literal(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Literal(text.to_owned()));
        }
    }

    /// Its pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The placeholders in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(path, _) => Some(path),
            Piece::Literal(_) => None,
        })
    }

    /// The placeholders with their places, in order.
    pub fn places(&self) -> impl Iterator<Item = (&Path, Spot)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(path, at) => Some((path, *at)),
            Piece::Literal(_) => None,
        })
    }

    /// The path, if the text is a single placeholder.
    pub fn single(&self) -> Option<&Path> {
        match self.pieces.as_slice() {
            [Piece::Placeholder(path, _)] => Some(path),
            _ => None,
        }
    }

    /// The text, if it has no placeholder.
    pub fn as_literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

/// The placeholder at the start of `rest`, and its length in bytes.
fn placeholder(rest: &str) -> Option<(Path, usize)> {
    let inside = rest.strip_prefix("{{")?;
    let blanks = [' ', '\t', '\n', '\r'];
    let start = inside.trim_start_matches(blanks);
    let (path, length) = Path::prefix(start)?;
    let behind = start.get(length..)?;
    let close = behind.trim_start_matches(blanks);
    close.starts_with("}}").then(|| (path, rest.len() - close.len() + 2))
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => f.write_str(&escaped(text))?,
                Piece::Placeholder(path, _) => write!(f, "{{{{{path}}}}}")?,
            }
        }
        Ok(())
    }
}

/// Doubles `{{`, so that reading returns the original.
fn escaped(text: &str) -> String {
    text.replace("{{", "{{{{")
}

impl From<Filled> for Recorded {
    fn from(text: Filled) -> Self {
        let at: Vec<Spot> = text.places().map(|(_, spot)| spot).collect();
        if at.is_empty() { Self::Text(text.to_string()) } else { Self::Placed { text: text.to_string(), at } }
    }
}

impl From<Recorded> for Filled {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Text(text) => Self::read(&text).0,
            Recorded::Placed { text, at } => Self::read(&text).0.placed(at),
        }
    }
}
