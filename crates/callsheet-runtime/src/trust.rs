//! Trust in the files of a project (spec 12.7): files that could act for a person are not used until the person trusts
//! their current content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;

use crate::paths::read_regular;

/// Files of projects that a person trusts, by their content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    everything: bool,
    /// Hashes by path.
    hashes: BTreeMap<String, String>,
}

impl Trusted {
    /// Trusts only these: hashes of contents by the names of [`file_name`].
    pub fn only(hashes: BTreeMap<String, String>) -> Self {
        Self { everything: false, hashes }
    }

    /// Trusts everything, for looking at files and never acting on them.
    pub fn everything() -> Self {
        Self { everything: true, hashes: BTreeMap::new() }
    }

    /// What is trusted below a folder: hashes by paths that start there.
    pub fn below(&self, folder: &Path) -> BTreeMap<String, String> {
        let folder = file_name(folder);
        let inside = |path: &String| Some(path.strip_prefix(&folder)?.strip_prefix('/')?.to_owned());
        self.hashes.iter().filter_map(|(path, hash)| Some((inside(path)?, hash.clone()))).collect()
    }

    /// Trusts in a copy of a project what is trusted in the project.
    pub fn in_copy(folder: &Path, below: &BTreeMap<String, String>) -> Self {
        Self::only(below.iter().map(|(path, hash)| (file_name(&folder.join(path)), hash.clone())).collect())
    }

    /// Whether this content of this file is trusted.
    pub fn holds(&self, path: &Path, content: &[u8]) -> bool {
        self.holds_hash(path, &BlobId::of(content))
    }

    /// Whether content with this hash is trusted in this file.
    pub fn holds_hash(&self, path: &Path, hash: &BlobId) -> bool {
        self.everything || self.hashes.get(&file_name(path)).is_some_and(|known| known == hash.as_str())
    }
}

/// Folds a name: a reader of replies does not distinguish names that differ only in case, blanks, `-` and `_`.
pub(crate) fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name under which a file is trusted: its full path.
pub fn file_name(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

/// The files of a project that the words of a command name, in order, with the hashes of their contents. The command does
/// what they say.
pub fn named_files<'a>(project: &Path, words: impl IntoIterator<Item = &'a str>) -> Vec<(PathBuf, BlobId)> {
    let Ok(root) = project.canonicalize() else { return Vec::new() };
    let named = words.into_iter().filter_map(|word| {
        let path = root.join(word).canonicalize().ok().filter(|path| path.starts_with(&root))?;
        let content = read_regular(&path).ok()?;
        Some((path, BlobId::of(&content)))
    });
    named.collect()
}

/// A file that is not used until it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is.
    pub path: PathBuf,
    /// Hash of its content.
    pub hash: BlobId,
    /// `skill`, `template` or `prompt`.
    pub kind: &'static str,
    /// Names of what it contains.
    pub names: Vec<String>,
    /// What trust would allow it to do, in words for a person.
    pub gains: Vec<String>,
}
