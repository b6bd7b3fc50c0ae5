//! Changes to files (spec 3.9, 3.10): reading `Change details` blocks, and composing a set of changes into new file
//! texts. Pure: the texts of the files come in, the texts to write go out, and one error refuses the whole set.

mod colours;
mod compose;
mod edited;
mod excerpt;
mod form;
mod heading;
mod hunks;
mod parse;
mod place;
mod rebase;
mod rest;
pub(crate) mod text;
mod value;

pub use colours::{Painter, diff_colours};
pub use compose::{compose, names_symbol, validate};
pub use edited::EditFault;
pub use heading::{Heading, headings};
pub use hunks::{
    Hunk, HunkKind, HunkPick, HunkVerdict, PickFault, Picked, diff_of, has_same_lines, header, hunks, pick, unified,
};
pub use parse::{ChangeBlock, ChangeFence, ChangeKey, is_path_key, read_change};
pub use rebase::rebase;
pub use value::{Change, ChangeWay, SymbolPosition};

use std::collections::BTreeMap;

use callsheet_core::spec::BlobId;
use callsheet_core::symbols::Symbol;

/// Files that exist, by canonical path relative to the project root; a path that is absent does not exist.
pub type Files = BTreeMap<String, String>;

/// Symbols of code files that changes name, by canonical path; a file that is absent has none that can be found.
pub type Outlines = BTreeMap<String, Vec<Symbol>>;

/// What the model saw of the files it changes, with the hash of the whole file at that time (spec 3.9).
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Files shown in full.
    pub in_full: &'a BTreeMap<String, BlobId>,
    /// Files of which a part was shown.
    pub in_part: &'a BTreeMap<String, BlobId>,
}

impl Shown<'_> {
    /// The hash the file had when it was shown.
    fn hash(&self, path: &str) -> Option<&BlobId> {
        self.in_full.get(path).or_else(|| self.in_part.get(path))
    }
}

/// One file before and after a set of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// Relative to the project root.
    pub path: String,
    /// Text before; `None`: the file did not exist.
    pub before: Option<String>,
    /// Text after; `None`: the file is deleted.
    pub after: Option<String>,
}
