//! Templates: task trees that a person writes in XML (spec "Templates"). Pure: files, models and tools are told to it.
//!
//! From text to tree: `xml` (tolerant, bounded) → `read` (aliases, the table of `grammar`, lowering) → `tree`, the
//! typed task tree that sheets share. `issue` holds every diagnostic, `value` paths, expressions and texts with
//! placeholders.

mod grammar;
mod issue;
mod place;
mod print;
mod read;
mod schema;
mod tree;
mod value;
mod xml;

pub use issue::{Code, Issue, Related, Severity};
pub use place::{Bytes, Lines, Place, Spot};
pub use print::{Printed, print_templates};
pub use read::{FileReading, read_file, read_text};
pub use tree::*;
pub use value::{
    Comparison, Expression, Filled, Outcome, Path, Piece, Step, Term, equal, is_ident, is_template_name, order_numbers,
    render, truth,
};
