//! The host's small texts for models, and the strict engine that fills in placeholders (spec 8.3, 8.4). Prompt
//! templates are in `callsheet-format`.

mod engine;
mod error;
mod note;

pub use engine::{Piece, Value, Values, parse_part, render_pieces};
pub use error::PromptError;
pub use note::Note;
