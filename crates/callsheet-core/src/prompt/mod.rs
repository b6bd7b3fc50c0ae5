//! The small texts of the host that a model reads, and the strict engine that fills placeholders (spec 8.3, 8.4). Prompt
//! templates are in `callsheet-format`.

mod engine;
mod error;
mod note;

pub use engine::{Piece, Value, Values, parse_part, render_pieces};
pub use error::PromptError;
pub use note::Note;
