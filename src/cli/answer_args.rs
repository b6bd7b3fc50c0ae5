//! `approve` and `deny`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// `approve`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("part").args(["hunks", "edit"]).multiple(true).conflicts_with("all")))]
pub struct ApproveArgs {
    /// Run to answer; by default the newest run, if it waits.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Tasks to approve; all pending tasks if you name none.
    #[arg(value_name = "SLUG")]
    pub slugs: Vec<String>,

    /// Approve all pending tasks and calls and all later plans of the run, but no change of files.
    #[arg(long, conflicts_with = "slugs")]
    pub all: bool,

    /// Keep only these hunks of the pending change, by the numbers that `show` prints: `1,3` or `2-5`. If several
    /// changes are pending, name the task.
    #[arg(long, value_name = "N,…")]
    pub hunks: Option<HunksArg>,

    /// Replace hunk N with your edited version in FILE (start from `show --hunk N`). Keeps the other hunks unchanged,
    /// or only those that `--hunks` names. Repeatable.
    #[arg(long, value_name = "N=FILE")]
    pub edit: Vec<EditArg>,

    /// Reason for rejecting the other hunks; the task's result quotes it.
    #[arg(long, value_name = "TEXT", requires = "part")]
    pub because: Option<String>,

    /// Answer in this way from now on. For a command: allow commands in this project that begin with its first N words,
    /// or with all of them; for a shell line, exactly this line. For a script of a template: allow it for all items and
    /// iterations of this run. For changes: allow all changes of the named tasks in this run.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, conflicts_with_all = ["all", "part"])]
    pub always: Option<Option<u32>>,

    /// Approve nothing here, but sign the approval with your key file for where the run waits; there, `import` takes it.
    #[cfg(feature = "share")]
    #[arg(long, value_name = "FILE", requires = "output", conflicts_with_all = ["all", "part", "always", "resume"])]
    pub sign: Option<PathBuf>,

    /// Output file of the signed approval.
    #[cfg(feature = "share")]
    #[arg(long, short, value_name = "FILE", requires = "sign")]
    pub output: Option<PathBuf>,

    /// Then resume the run until its next approval or its end.
    #[arg(long)]
    pub resume: bool,
}

/// `deny`.
#[derive(Clone, Debug, Args)]
pub struct DenyArgs {
    /// Run to answer; by default the newest run, if it waits.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Tasks to deny; all pending tasks if you name none.
    #[arg(value_name = "SLUG")]
    pub slugs: Vec<String>,

    /// Reason; the model sees it when it plans again.
    #[arg(long, value_name = "TEXT")]
    pub because: Option<String>,

    /// Then resume the run until its next approval or its end.
    #[arg(long)]
    pub resume: bool,
}

/// The number of a hunk and the file with its edited text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditArg {
    /// The hunk.
    pub number: u32,
    /// The file.
    pub file: PathBuf,
}

impl std::str::FromStr for EditArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let edit = text.split_once('=').and_then(|(number, file)| {
            let number = number.trim().parse::<u32>().ok().filter(|number| *number > 0)?;
            (!file.is_empty()).then(|| Self { number, file: PathBuf::from(file) })
        });
        edit.ok_or_else(|| "expected a hunk number and a file, such as 2=hunk.diff".to_owned())
    }
}

/// Numbers of hunks as ranges that include both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunksArg(pub Vec<(u32, u32)>);

impl std::str::FromStr for HunksArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
        let range = |part: &str| match part.split_once('-') {
            Some((first, last)) => Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last),
            None => number(part).map(|number| (number, number)),
        };
        let ranges = text.split(',').map(range).collect::<Option<Vec<_>>>();
        ranges.map(Self).ok_or_else(|| "expected hunk numbers separated by commas, such as 1,3-5".to_owned())
    }
}
