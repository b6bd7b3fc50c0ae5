//! Templates: task trees that a person writes in XML (spec "Templates"). Pure: files, models and tools are told to it.
//!
//! From text to tree: `xml` (tolerant, bounded) → `read` (aliases, the table of `grammar`, lowering) → `tree`, the
//! typed task tree. `issue` holds every diagnostic, `value` paths, expressions and texts with
//! placeholders. Across files: `check`. For a run: `bind` (environments, substitution), `result` (results, errors, replies),
//! `matching`.

mod bind;
mod check;
mod choose;
mod grammar;
mod issue;
mod known;
mod matching;
mod place;
mod powers;
mod print;
mod read;
mod result;
mod schema;
mod tree;
mod value;
mod xml;

pub use bind::*;
pub use check::{Layer, Library, Loaded, TemplateFile};
pub use choose::{Automatic, Choice, choose_automatically, choose_for_subtask};
pub use grammar::{issue_schema, json_schema, xml_schema};
pub use issue::{Code, Issue, Related, Severity};
pub use known::{FindSchema, Known, names_its_provider};
pub use matching::{Match, Parts, Query, match_all_templates, match_templates, tokens};
pub use place::{Bytes, Lines, Place, Spot};
pub use powers::powers;
pub use print::print_templates;
pub use read::{FileReading, Outermost, read_file, read_file_with, read_text};
pub use result::*;
pub use tree::defaults as context_defaults;
pub use tree::*;
pub use value::{
    Comparison, Expression, Filled, Outcome, Path, Piece, Step, Term, equal, is_ident, is_template_name, order_numbers,
    render, truth,
};
