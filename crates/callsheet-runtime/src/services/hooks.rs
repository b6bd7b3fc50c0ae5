//! Hooks: commands of the user that a run asks at fixed points (spec 12.11).

use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet_core::nouns::BlobId;

use crate::trust::named_files;

/// A point of a run at which hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookPoint {
    /// Before a run or a follow-up begins.
    PrePlan,
    /// Before a tool call is made.
    PreTool,
    /// Before changes are written to files.
    PreWrite,
    /// After a task ended.
    PostTask,
    /// After a run ended or began to wait for a person.
    RunEnd,
}

impl HookPoint {
    /// All points.
    pub const ALL: [Self; 5] = [Self::PrePlan, Self::PreTool, Self::PreWrite, Self::PostTask, Self::RunEnd];

    /// Its name in the configuration and in the input of hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrePlan => "pre-plan",
            Self::PreTool => "pre-tool",
            Self::PreWrite => "pre-write",
            Self::PostTask => "post-task",
            Self::RunEnd => "run-end",
        }
    }
}

/// A command that a run asks at one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// When the hook is asked.
    pub point: HookPoint,
    /// The name in the configuration.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The files of the project that these name, with the hashes of their contents when the run began.
    pub files: Vec<(PathBuf, BlobId)>,
}

impl Hook {
    /// A hook that is as its files are now.
    pub fn new(point: HookPoint, name: String, argv: Vec<String>, project: &Path) -> Self {
        let files = named_files(project, argv.iter().map(String::as_str));
        Self { point, name, argv, files }
    }

    /// Whether the files are as they were when the run began.
    pub fn is_as_it_was(&self, project: &Path) -> bool {
        named_files(project, self.argv.iter().map(String::as_str)) == self.files
    }
}

/// All hooks of a run.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// The hooks in the order in which they are asked.
    pub list: Vec<Hook>,
    /// How long each hook may take.
    pub timeout: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { list: Vec::new(), timeout: Duration::from_secs(30) }
    }
}

impl Hooks {
    /// Whether there is a hook for a point.
    pub fn has(&self, point: HookPoint) -> bool {
        self.list.iter().any(|hook| hook.point == point)
    }
}
