//! The Markdown layer of all readers (spec 3.1, 3.2, 4.2): text preparation, sections by recognised headings, labelled
//! lists and fences, each with its lines in the original text.
//!
//! A reader creates one [`Document`] with its [`Format`], walks its sections, and asks for the [`Piece`]s of a section
//! body with the [`LabelRule`]s that it knows. All work takes linear time in the text.

pub(crate) mod channels;
mod document;
mod fence;
mod heading;
mod inert;
mod items;
mod label;
mod nested;
mod pieces;
mod structure;
mod text;
pub(crate) mod thinking;
mod turn_end;
mod wrapper;

pub(crate) use document::marker_of;
pub use document::{Document, Prepare, Section};
pub use fence::Fence;
pub(crate) use fence::{Part, Tracker};
pub use heading::{Format, Heading, Rule};
pub use inert::inert;
pub use label::{Label, LabelRule, item_text};
pub(crate) use label::{label_line, marker};
pub use pieces::{Labelled, Piece, PieceKind};
pub use text::{MAX_REPLY_BYTES, from_bytes, odd_places, straighten};
pub(crate) use text::{dedent, is_blank, plain_start};
pub use thinking::without as without_thinking;
