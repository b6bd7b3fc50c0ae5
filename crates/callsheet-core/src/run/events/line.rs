//! An event in one line for people. Foreign text is kept apart. The face that shows the line must pass foreign text
//! through the door of its surface.

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinePiece {
    /// Text of Callsheet.
    Own(String),
    /// Text of a model, a tool, a file or a person.
    Quoted {
        /// The text.
        text: String,
        /// How many characters of it are shown at most. They are shown on one line.
        most: usize,
    },
}

/// An event in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its parts, in order.
    pub pieces: Vec<LinePiece>,
    /// Whether the state of a task already shows it, so that only a log shows the line.
    pub is_detail: bool,
}

impl Line {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self { pieces: vec![LinePiece::Own(words.into())], is_detail: false }
    }

    pub(super) fn detail(words: impl Into<String>) -> Self {
        Self { is_detail: true, ..Self::new(words) }
    }

    pub(super) fn say(mut self, words: &str) -> Self {
        self.pieces.push(LinePiece::Own(words.to_owned()));
        self
    }

    pub(super) fn quote(mut self, text: &str, most: usize) -> Self {
        self.pieces.push(LinePiece::Quoted { text: text.to_owned(), most });
        self
    }
}
