//! Why driving stopped before its run ended. The run itself is safe on disk and can be resumed.

use callsheet_core::issue::Issue;
use callsheet_core::nouns::RunId;
use callsheet_core::run::Reject;

use crate::branch::BranchFault;
use crate::ports::StoreFault;

/// Why driving stopped. Each variant says who can fix it and whether a retry helps.
#[derive(Debug, thiserror::Error)]
pub enum DriveFault {
    /// The user's disk or another process. A retry helps once the disk is in order or the other process has ended.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The record is damaged or of a newer version. No retry helps.
    #[error("entry {n} of the record does not fit: {reject}")]
    Replay {
        /// Number of the entry.
        n: u64,
        /// Why it does not fit.
        reject: Reject,
    },
    /// What a person gave cannot be executed. A retry helps after a change.
    #[error(transparent)]
    Input(#[from] InputFault),
    /// Our defect: nothing is pending, although the run has not ended. No retry helps.
    #[error("the run has nothing left to do but has not ended after {entries} log entries; this is a bug")]
    Stalled {
        /// Entries of the log so far.
        entries: u64,
    },
    /// Our defect. No retry helps.
    #[error("{0}; this is a bug")]
    Defect(String),
}

/// What a person gave and cannot be executed. Nothing of it was recorded.
#[derive(Debug, thiserror::Error)]
pub enum InputFault {
    /// The request contains no words.
    #[error("the request is empty")]
    EmptyRequest,
    /// Another run already has this name.
    #[error("run {0} already exists")]
    RunExists(RunId),
    /// No skill has this name.
    #[error("there is no skill \"{name}\". {advice}")]
    UnknownSkill {
        /// The name.
        name: String,
        /// Where to find existing names.
        advice: String,
    },
    /// No task of the sheet has this name.
    #[error("there is no task {name} to approve. {advice}")]
    UnknownTask {
        /// The name.
        name: String,
        /// A similar name, or what else can be given.
        advice: String,
    },
    /// The skill cannot run alone without a refinement, and refinements are disabled.
    #[error(
        "skill \"{0}\" needs tool arguments that only a refinement can give, and refinement is disabled. Allow it with \
         `--set refine=auto`"
    )]
    NeedsRefinement(String),
    /// The folder of the project or of the run cannot be used; the message names it.
    #[error("{0}")]
    Folder(String),
    /// The run cannot work on its git branch.
    #[error(transparent)]
    Branch(#[from] BranchFault),
    /// The run cannot be resumed or continued like that.
    #[error("{0}")]
    NotResumable(Reject),
    /// The run changed these files on another machine, and they are different here.
    #[error(
        "on another machine, the run changed files that differ here, so nothing was done:\n{}",
        .0.iter().map(|file| format!("  {file}")).collect::<Vec<_>>().join("\n")
    )]
    FilesDiffer(Vec<String>),
    /// The given sheet has errors.
    #[error("the sheet has errors:\n{}", .0.iter().map(Issue::to_string).collect::<Vec<_>>().join("\n"))]
    GivenSheet(Vec<Issue>),
    /// The edited sheet of the run has errors. Lines for a person describe them.
    #[error("the edited sheet has errors:\n{}", .0.join("\n"))]
    EditedSheet(Vec<String>),
}

impl DriveFault {
    pub(crate) fn defect(what: impl std::fmt::Display) -> Self {
        Self::Defect(what.to_string())
    }
}
