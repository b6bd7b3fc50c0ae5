//! Trust in the files of a project (spec 12.7): what could act for a person is left out until they trust it as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callsheet_core::spec::BlobId;

/// Files of projects that a person trusts, by what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    everything: bool,
    /// Hashes by path.
    hashes: BTreeMap<String, String>,
}

impl Trusted {
    /// Only these: hashes of contents by the names of [`file_name`].
    pub fn only(hashes: BTreeMap<String, String>) -> Self {
        Self { everything: false, hashes }
    }

    /// All that is there, to be looked at and never acted on.
    pub fn everything() -> Self {
        Self { everything: true, hashes: BTreeMap::new() }
    }

    /// Whether this content of this file is trusted.
    pub fn holds(&self, path: &Path, content: &[u8]) -> bool {
        let known = || self.hashes.get(&file_name(path));
        self.everything || known().is_some_and(|hash| hash == BlobId::of(content).as_str())
    }
}

/// Names that a reader of replies does not tell apart are one: those that differ in case, blanks, `-` and `_`.
pub(crate) fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name under which a file is trusted: its full path.
pub fn file_name(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

/// A file that is left out until it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is.
    pub path: PathBuf,
    /// Hash of what it holds.
    pub hash: BlobId,
    /// `skill`, `template` or `prompt`.
    pub kind: &'static str,
    /// What it holds, by name.
    pub names: Vec<String>,
    /// What trust would let it do, in words for a person.
    pub gains: Vec<String>,
}
