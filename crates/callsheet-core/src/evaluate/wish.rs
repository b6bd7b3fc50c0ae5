//! The files that a handler should see, and how many tokens they may take.

use serde::{Deserialize, Serialize};

use crate::file_index::FileMatch;

/// Files that a task needs in its prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRequest {
    /// Literal paths and globs, filled in.
    pub paths: Vec<String>,
    /// Those of the paths that an author or the caller wrote and that nothing in the run can still write. Without them,
    /// the model is not asked (spec 5).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// Whether the paths were requested with the run or while it ran, so that they do not come from the template.
    pub explicit: bool,
    /// A read-only command that prints one path per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// A lookup in the memory system with this text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// Files inherited with the frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<String>,
    /// Files that the command printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// Why the command returned nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_error: Option<String>,
    /// Files found by description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub described: Vec<FileMatch>,
    /// Fresh files: its own, and those of the operators whose frame it inherits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<FileMatch>,
}

/// Tokens of one file and of all files of a handler, at about four bytes per token (spec 5: 102,400 and 262,144 bytes).
pub const FILE_TOKENS: u32 = 25_600;
/// See [`FILE_TOKENS`].
pub const FILES_TOKENS: u32 = 65_536;

impl FileRequest {
    /// The maximum number of tokens that the files may take in a prompt. The number of files from a command or a glob
    /// is unknown.
    pub(super) fn most_tokens(&self) -> u64 {
        let single = self
            .paths
            .iter()
            .chain(&self.inherited)
            .all(|path| !path.contains(['*', '?', '[']) && !path.ends_with('/'));
        let found = [&self.described, &self.related].into_iter().map(Vec::len).sum::<usize>();
        let known = self.paths.len() + self.inherited.len() + self.printed.len() + found;
        let all = u64::from(FILES_TOKENS);
        if !single || !self.command.is_empty() || !self.query.is_empty() {
            return all;
        }
        u64::try_from(known).unwrap_or(u64::MAX).saturating_mul(u64::from(FILE_TOKENS)).min(all)
    }
}
