//! `approve` and `deny`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// `approve`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("part").args(["hunks", "edit"]).multiple(true).conflicts_with("all")))]
pub struct ApproveArgs {
    /// The run; the newest waiting one if not given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Tasks to approve; all that wait if none is named.
    #[arg(value_name = "SLUG")]
    pub slugs: Vec<String>,

    /// All tasks and calls that wait, and later before-run gates of this run; never a change.
    #[arg(long, conflicts_with = "slugs")]
    pub all: bool,

    /// Keep only these hunks of the change that waits, by the numbers that `show` prints: `1,3` or `2-5`. If several
    /// changes wait, name the task.
    #[arg(long, value_name = "N,…")]
    pub hunks: Option<HunksArg>,

    /// Keep a hunk as FILE has it, as `show --hunk N` prints it and you edited it; may be given several times. The
    /// other hunks are kept as they are, or those of `--hunks` alone.
    #[arg(long, value_name = "N=FILE")]
    pub edit: Vec<EditArg>,

    /// Why the other hunks are refused; the result of the task tells it.
    #[arg(long, value_name = "TEXT", requires = "part")]
    pub because: Option<String>,

    /// Then go on with the run, as `resume` does, to the next gate or the end.
    #[arg(long)]
    pub resume: bool,
}

/// `deny`.
#[derive(Clone, Debug, Args)]
pub struct DenyArgs {
    /// The run; the newest waiting one if not given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Tasks to deny; all that wait if none is named.
    #[arg(value_name = "SLUG")]
    pub slugs: Vec<String>,

    /// Why; the next plan is made with these words.
    #[arg(long, value_name = "TEXT")]
    pub because: Option<String>,

    /// Then go on with the run, as `resume` does, to the next gate or the end.
    #[arg(long)]
    pub resume: bool,
}

/// The number of a hunk and the file that holds it as edited.
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
        edit.ok_or_else(|| "expected the number of a hunk and a file, such as 2=hunk.diff".to_owned())
    }
}

/// Numbers of hunks, as ranges with both ends.
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
        ranges.map(Self).ok_or_else(|| "expected numbers of hunks separated by commas, such as 1,3-5".to_owned())
    }
}
