//! What reading must know of the world. The shell answers lookups; an unanswered one is itself an issue
//! (`lookup-missing`), so reading stays pure and total.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::spec::{Fragment, Policy, Skill, Slug, Task, ToolSpec, Wording};
use callsheet_core::symbols::Symbol;
use serde::{Deserialize, Serialize};

use super::known::KnownTasks;

/// One question about the world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookup {
    /// Facts of the file or directory that a path means (relative to the root, or absolute as written).
    Path {
        /// The path as written, percent-decoded, without fragment.
        path: String,
        /// The part of it that is meant.
        fragment: Option<Fragment>,
    },
    /// Files that match a refused pattern, at most ten.
    Glob(String),
    /// The whole text of a file, for change validation.
    Content(String),
    /// The symbols of a code file, for changes that name one.
    Symbols(String),
    /// Whether a tool call can start.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments, as JSON.
        arguments: String,
    },
}

/// What is known of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The canonical target path, `/` separated: relative to the project root when inside it.
    pub path: String,
    /// It is a directory.
    pub directory: bool,
    /// The path as it was asked for names a symbolic link, which leads to `path`.
    #[serde(default)]
    pub link: bool,
    /// NUL in the first 8 KiB (spec 5.4).
    pub binary: bool,
    /// Bytes.
    pub bytes: u64,
    /// Lines of a text file.
    pub lines: u32,
    /// Tokens of the whole content, or of the fragment if one was asked.
    pub tokens: u32,
    /// Whether the fragment asked for exists; `None` if none was asked or it is a line range.
    pub fragment_exists: Option<bool>,
    /// The fragment names several symbols, all of them in `anchors` (spec 5.3).
    pub fragment_ambiguous: bool,
    /// No outline for the language of the file: an anchor cannot be checked (`symbol-unsupported`).
    pub symbols_unsupported: bool,
    /// Headings or symbols nearest to a fragment that does not exist, at most five; all full paths if ambiguous.
    pub anchors: Vec<String>,
}

/// Other paths that may have been meant; all unique, at most five each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidates {
    /// The path without its leading slash exists in the project (repair `path-leading-slash`).
    pub without_slash: Option<String>,
    /// The same path without the spelling of links (`my%20file.txt`) or of other systems (`src\a.txt`) exists (repair
    /// `path-spelling`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respelled: Option<String>,
    /// Paths that differ by case, by missing leading components, or by at most 2 edits of the file name in the same
    /// directory (repair `path-near`, applied only if there is exactly one).
    pub near: Vec<String>,
}

/// The answer to a lookup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The path exists and may be read.
    File(FileFacts),
    /// Nothing is there.
    Missing(Candidates),
    /// It leads out of every allowed root (spec 5.6).
    Outside(Candidates),
    /// It exists and cannot be read; the reason.
    Unreadable(String),
    /// It may be read and never written: version control, `.callsheet/`, the run directory.
    Protected,
    /// Paths that match a pattern.
    Matches(Vec<String>),
    /// The text of a file, with the hash it had.
    Content(String),
    /// The symbols of a code file, in its text as a `Content` lookup gives it.
    Symbols(Vec<Symbol>),
    /// There is no parser for the file, or it could not be parsed (`symbol-unsupported`).
    NoSymbols,
    /// Nothing is known against the call.
    Startable,
    /// The call cannot start; the reason.
    Stuck(String),
}

/// Answers by lookup.
pub type Answers = BTreeMap<Lookup, Answer>;

/// What a text of an earlier moment may show of a run, by which a person's edit is told from it (spec 2.18).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Tasks that were dropped, in the order of first appearance.
    pub dropped: Vec<Task>,
    /// Former wordings of tasks that are done.
    pub wordings: BTreeMap<Slug, Vec<Wording>>,
}

/// Everything reading may compare a reply with. All values are snapshots; reading changes none.
#[derive(Clone, Debug, Default)]
pub struct ReadContext {
    /// Skills offered, sorted by name bytes.
    pub catalog: Vec<Skill>,
    /// Templates that would be skills if they had no errors, each with its first error.
    pub broken: BTreeMap<String, String>,
    /// Tools registered and switched on.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Tools registered and switched off.
    pub disabled_tools: BTreeSet<String>,
    /// Tasks of the run so far.
    pub tasks: KnownTasks,
    /// What a person's edit may show of earlier; empty for all else that is read.
    pub past: Past,
    /// So many steps the plan of the run has; 0 before there is one.
    pub steps: usize,
    /// Every slug ever given (spec 6.3).
    pub taken: BTreeSet<Slug>,
    /// The prompt and follow-ups verbatim, for echoes and prompt headings.
    pub prompts: Vec<String>,
    /// The task being refined or executed.
    pub current: Option<Task>,
    /// The file that the task is about, if it names one alone; it need not exist.
    pub expected_file: Option<String>,
    /// `http(s)` references may be used.
    pub allow_http: bool,
    /// Path of the file the person has open.
    pub current_file: Option<String>,
    /// Per-prompt token budget for `over-budget` (spec 5.8).
    pub prompt_budget: u32,
    /// Per-reference token budget.
    pub reference_budget: u32,
    /// The provider stopped the reply at its length limit.
    pub length_stop: bool,
    /// Refinement policy of the run, for `refinement-required` (spec 2.12).
    pub refine: Policy,
    /// Canonical targets that are no longer relevant, for `reference-restricted` (spec 5.10).
    pub restricted: BTreeSet<String>,
    /// Warnings are errors.
    pub strict: bool,
    /// Paths shown to the model in full, with the hash of what was shown (spec 3.9).
    pub shown_in_full: BTreeMap<String, callsheet_core::spec::BlobId>,
    /// Paths shown to the model in part, with the hash of the whole file as shown.
    pub shown_in_part: BTreeMap<String, callsheet_core::spec::BlobId>,
    /// Answers to the lookups.
    pub answers: Answers,
}
