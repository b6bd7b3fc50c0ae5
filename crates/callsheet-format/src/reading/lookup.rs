//! What reading must know about the world. The shell answers lookups. An unanswered one is itself an issue
//! (`lookup-missing`), so reading stays pure and total.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::nouns::{Fragment, Policy, Skill, Slug, Task, ToolSpec, Wording};
use callsheet_core::symbols::Symbol;
use serde::{Deserialize, Serialize};

use super::known::KnownTasks;

/// One question about the world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookup {
    /// Facts about the file or directory that a path names (relative to the root, or absolute as written).
    Path {
        /// The path as written, percent-decoded, without fragment.
        path: String,
        /// The part of it that is named.
        fragment: Option<Fragment>,
    },
    /// Files that match a rejected pattern, at most ten.
    Glob(String),
    /// The whole text of a file, for change validation.
    Content(String),
    /// The symbols of a code file, for changes that name one.
    Symbols(String),
    /// Facts about a resource of an MCP server.
    Resource {
        /// The server.
        server: String,
        /// The address of the resource.
        uri: String,
    },
    /// Whether a tool call can start.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments, as JSON.
        arguments: String,
    },
}

/// What is known about a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The canonical target path, `/` separated: relative to the project root when inside it.
    pub path: String,
    /// Whether it is a directory.
    pub directory: bool,
    /// Whether the requested path names a symbolic link. Its target is `path`.
    #[serde(default)]
    pub link: bool,
    /// Whether the first 8 KiB contain NUL (spec 5.4).
    pub binary: bool,
    /// Whether it is a picture that models may see (spec 5.14).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub picture: bool,
    /// Bytes.
    pub bytes: u64,
    /// Number of lines of a text file.
    pub lines: u32,
    /// Tokens of the whole content, or of the requested fragment.
    pub tokens: u32,
    /// Whether the requested fragment exists. `None` if none was requested or it is a line range.
    pub fragment_exists: Option<bool>,
    /// Whether the fragment names several symbols. All of them are in `anchors` (spec 5.3).
    pub fragment_ambiguous: bool,
    /// Whether the language of the file has no outline, so that an anchor cannot be checked (`symbol-unsupported`).
    pub symbols_unsupported: bool,
    /// Headings or symbols nearest to a missing fragment, at most five. For an ambiguous one, all full paths.
    pub anchors: Vec<String>,
}

/// Other paths that may have been meant, without duplicates, at most five of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidates {
    /// The path without its leading slash, if that exists in the project (repair `path-leading-slash`).
    pub without_slash: Option<String>,
    /// The path without the spelling of links (`my%20file.txt`) or of other systems (`src\a.txt`), if that exists
    /// (repair `path-spelling`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respelled: Option<String>,
    /// Paths that differ by case, by missing leading components, or by at most 2 edits of the file name in the same
    /// directory (repair `path-near`, which applies only if there is exactly one).
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
    /// It exists but cannot be read, for this reason.
    Unreadable(String),
    /// It may be read but never written: version control, `.callsheet/`, the run directory.
    Protected,
    /// Paths that match a pattern.
    Matches(Vec<String>),
    /// The text of a file, with its hash.
    Content(String),
    /// The symbols of a code file, in its text as a `Content` lookup returns it.
    Symbols(Vec<Symbol>),
    /// There is no parser for the file, or parsing failed (`symbol-unsupported`).
    NoSymbols,
    /// Nothing is known that prevents the call.
    Startable,
    /// The call cannot start, for this reason.
    Stuck(String),
}

/// Answers by lookup.
pub type Answers = BTreeMap<Lookup, Answer>;

/// What a text from an earlier moment may show of a run. It serves to distinguish a person's edit from old text (spec
/// 2.18).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Removed tasks, in the order of first appearance.
    pub dropped: Vec<Task>,
    /// Former wordings of done tasks.
    pub wordings: BTreeMap<Slug, Vec<Wording>>,
}

/// Everything with which reading may compare a reply. All values are snapshots; reading changes none.
#[derive(Clone, Debug, Default)]
pub struct ReadContext {
    /// Skills offered, sorted by name bytes.
    pub catalog: Vec<Skill>,
    /// Templates that would be skills if they had no errors, each with its first error.
    pub broken: BTreeMap<String, String>,
    /// Skills and templates of the project that are left out until they are trusted (spec 12.7), each with its kind.
    pub untrusted: BTreeMap<String, &'static str>,
    /// Registered and enabled tools.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Registered but disabled tools.
    pub disabled_tools: BTreeSet<String>,
    /// Tasks of the run so far.
    pub tasks: KnownTasks,
    /// What a person's edit may show from earlier. Empty for all other texts.
    pub past: Past,
    /// Number of steps in the plan of the run. 0 before there is a plan.
    pub steps: usize,
    /// Every slug that was ever assigned (spec 6.3).
    pub taken: BTreeSet<Slug>,
    /// The prompt and follow-ups verbatim, for echoes and prompt headings.
    pub prompts: Vec<String>,
    /// The task being refined or executed.
    pub current: Option<Task>,
    /// The file that the task is about, if it names exactly one. It need not exist.
    pub expected_file: Option<String>,
    /// Whether `http(s)` references may be used.
    pub allow_http: bool,
    /// Path of the file that the person has open.
    pub current_file: Option<String>,
    /// Per-prompt token budget for `over-budget` (spec 5.8).
    pub prompt_budget: u32,
    /// Per-reference token budget.
    pub reference_budget: u32,
    /// Whether the provider stopped the reply at its length limit.
    pub length_stop: bool,
    /// Refinement policy of the run, for `refinement-required` (spec 2.12).
    pub refine: Policy,
    /// Canonical targets that are no longer relevant (for `reference-restricted`, spec 5.10).
    pub restricted: BTreeSet<String>,
    /// Warnings are errors.
    pub strict: bool,
    /// Paths that were shown completely, with the hash of the shown content (spec 3.9).
    pub shown_in_full: BTreeMap<String, callsheet_core::nouns::BlobId>,
    /// Paths that were shown in part, with the hash of the whole file when shown.
    pub shown_in_part: BTreeMap<String, callsheet_core::nouns::BlobId>,
    /// Answers to the lookups.
    pub answers: Answers,
}
