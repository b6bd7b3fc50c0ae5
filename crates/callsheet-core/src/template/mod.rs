//! Typed task trees of templates (spec "Templates"): what a run executes and what its results are. `callsheet-format`
//! reads and prints them.
//!
//! `tree` is the typed task tree. `operators` defines what its nodes do, `form` how they are written. `value`
//! contains paths, expressions and texts with placeholders. `names` defines what binds them, `shape` what their
//! values may be. `bind` contains environments and substitution, `result` results and errors, `issue` every
//! diagnostic as plain data. `matching` finds a suitable template.

mod bind;
mod choose;
pub mod form;
mod issue;
mod matching;
pub mod names;
pub mod operators;
mod place;
mod result;
pub mod schema;
mod served;
pub mod shape;
mod tree;
mod value;

pub use bind::*;
pub use choose::{Automatic, Choice, choose_automatically, choose_for_subtask};
pub use issue::{Code, Issue, Related, Severity};
pub use matching::{Match, Parts, Query, match_all_templates, match_templates, tokens};
pub use operators::{Facts, Kind};
pub use place::{Bytes, Lines, Position, Spot};
pub use result::*;
pub(crate) use result::{details, failure};
pub use served::{is_local_model, names_its_provider};
pub use tree::*;
pub(crate) use value::cut;
pub use value::{
    Comparison, Expression, Filled, Outcome, Path, Piece, Step, Term, Written, equal, is_ident, is_template_name,
    order_numbers, render, truth,
};
