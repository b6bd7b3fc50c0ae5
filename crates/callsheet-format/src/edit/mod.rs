//! Changes to files (spec 3.9, 3.10): reads `Change details` blocks, and composes a set of changes into new file texts.
//! Pure: it takes the texts of the files and returns the texts to write. One error rejects the whole set.

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

use callsheet_core::nouns::BlobId;
use callsheet_core::symbols::Symbol;

/// Existing files by canonical path relative to the project root. An absent path does not exist.
pub type Files = BTreeMap<String, String>;

/// Symbols of the code files that changes name, by canonical path. For an absent file, no symbols can be found.
pub type Outlines = BTreeMap<String, Vec<Symbol>>;

/// What the model saw of the files that it changes, with the hash of the whole file at that time (spec 3.9).
#[derive(Clone, Copy, Debug)]
pub struct ShownFiles<'a> {
    /// Files that were shown completely.
    pub in_full: &'a BTreeMap<String, BlobId>,
    /// Files that were shown in part.
    pub in_part: &'a BTreeMap<String, BlobId>,
}

impl ShownFiles<'_> {
    /// The file's hash when it was shown.
    fn hash(&self, path: &str) -> Option<&BlobId> {
        self.in_full.get(path).or_else(|| self.in_part.get(path))
    }
}

/// One file before and after a set of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// Relative to the project root.
    pub path: String,
    /// Text before. `None` if the file did not exist.
    pub before: Option<String>,
    /// Text after. `None` if the file is deleted.
    pub after: Option<String>,
}
