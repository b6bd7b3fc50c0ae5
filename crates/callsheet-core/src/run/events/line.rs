//! An event in one line for people. Text that is not ours stays apart: whoever shows the line passes it through the door of
//! its surface.

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinePiece {
    /// Our words.
    Own(String),
    /// Text of a model, a tool, a file or a person: at most `most` characters of it, on one line.
    Quoted {
        /// The text.
        text: String,
        /// How much of it is shown.
        most: usize,
    },
}

/// What happened, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its parts, in order.
    pub pieces: Vec<LinePiece>,
    /// The state of a task says it as well, so only a log shows it.
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
