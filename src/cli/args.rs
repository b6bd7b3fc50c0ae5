//! Commands and flags.

use std::path::PathBuf;

use callsheet_core::reply::near::within;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{ApproveArgs, DenyArgs, OpenArgs, TemplateCommand};

/// Turns a request into a sheet of small tasks and runs it: planned by a model, editable by you, durable, bounded, and
/// with your approval before anything is changed.
#[derive(Debug, Parser)]
#[command(name = "callsheet", version, arg_required_else_help = true, infer_subcommands = false)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Project folder; the current one if not given.
    #[arg(long, short = 'C', global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,

    /// One JSON object a line on stdout, and nothing else there.
    #[arg(long, global = true)]
    pub json: bool,

    /// More about what happens, on stderr; twice for everything.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plan and run a request, a sheet, or one skill.
    Run(super::RunArgs),
    /// Plan only: write an editable sheet that `run --sheet` runs.
    Plan(PlanArgs),
    /// Go on with an interrupted or waiting run.
    Resume(ResumeArgs),
    /// Follow up on a run that has ended: done tasks stay, and new ones are planned.
    Continue(ContinueArgs),
    /// Have failed, blocked or denied tasks of a run done again, and what they blocked.
    Retry(RetryArgs),
    /// Take tasks that have not begun off the list of a run.
    Drop(DropArgs),
    /// List the runs of this project.
    Runs,
    /// Inspect a run: its plan, a task, why it waits, one call with its prompt and reply, its events, its timeline.
    Show(ShowArgs),
    /// Answer a waiting run with yes.
    Approve(ApproveArgs),
    /// Answer a waiting run with no.
    Deny(DenyArgs),
    /// Take the changes of a run back, byte for byte.
    Undo(RunNameArgs),
    /// Stop a run from another terminal.
    Cancel(RunNameArgs),
    /// Skills: list, show, check, begin a new one.
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Templates, task trees in XML: check, list, show, find one that fits, begin a new one.
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Metadata of the project's files, for lookups of fresh context: build, bring up to date, remove.
    Index(IndexArgs),
    /// Prompt templates: list, copy them to be changed.
    #[command(subcommand)]
    Prompts(PromptsCommand),
    /// Models: list what is there, fetch the embedded one, measure one.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Check the set-up and say how to mend it.
    Doctor,
    /// List what files of this project could do once they are trusted, and trust them as they are now.
    Trust(super::TrustArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
}

/// Flags of everything that works with models.
#[derive(Clone, Debug, Default, Args)]
pub struct WorkArgs {
    /// Model to use: PROVIDER/MODEL, embedded:PATH or scripted:FILE.
    #[arg(long, short, env = "CALLSHEET_MODEL", value_name = "MODEL")]
    pub model: Option<String>,

    /// Offer only these skills.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub skills: Vec<String>,

    /// Work units in flight.
    #[arg(long, value_name = "N")]
    pub jobs: Option<u32>,

    /// When to ask before something is changed.
    #[arg(long, value_enum, value_name = "MODE")]
    pub approval: Option<ApprovalArg>,

    /// What to do at a gate when nobody can be asked: stop, deny, approve, or the slugs of tasks to approve.
    #[arg(long, value_name = "stop|deny|approve|SLUG,…")]
    pub headless: Option<HeadlessArg>,

    /// When tasks are refined before they run.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub refine: Option<RefinePolicyArg>,

    /// When the list is looked at again after a round.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub iterate: Option<RefinePolicyArg>,

    /// Rounds at most.
    #[arg(long, value_name = "N")]
    pub max_rounds: Option<u32>,

    /// Model calls at most.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u32>,

    /// Tokens at most, read and written.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,

    /// US dollars at most.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// Seconds at most, waiting for a person left out.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,

    /// Let http(s) references be read, and pages fetched.
    #[arg(long)]
    pub allow_http: bool,

    /// Files that are open.
    #[command(flatten)]
    pub opened: OpenArgs,

    /// Record each model call as a cassette in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,

    /// Answer model calls from the cassettes of this folder.
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,

    /// Warnings count as errors.
    #[arg(long)]
    pub strict: bool,

    /// Plain lines instead of the live view.
    #[arg(long)]
    pub plain: bool,
}

/// `plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// The request, in quotes or not; `-` reads it from stdin.
    #[arg(value_name = "REQUEST", required = true)]
    pub request: Vec<String>,

    /// Where to write it; `-` prints it. `sheet.md` if not given.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write over an existing file.
    #[arg(long)]
    pub force: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `resume`.
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// The run; the newest unfinished one if not given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Answer to the question a tool asked: of several the first, or the one named in front, as `show` names it. A text
    /// that itself begins with a word and `=` has another `=` in front.
    #[arg(long, value_name = "[TASK=]TEXT")]
    pub answer: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `continue`.
#[derive(Clone, Debug, Args)]
pub struct ContinueArgs {
    /// The run; a unique beginning will do.
    #[arg(value_name = "RUN")]
    pub run: String,

    /// What is to be done next, in quotes or not; `-` reads it from stdin.
    #[arg(value_name = "REQUEST", required_unless_present = "withdraw")]
    pub request: Vec<String>,

    /// Take back the follow-up that has no list yet: the run is again as it was before it.
    #[arg(long, conflicts_with = "request")]
    pub withdraw: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `retry`.
#[derive(Clone, Debug, Args)]
pub struct RetryArgs {
    /// The run; a unique beginning will do.
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Slugs of the tasks, as `show` prints them; all that failed if none is named.
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `drop`.
#[derive(Clone, Debug, Args)]
pub struct DropArgs {
    /// The run; a unique beginning will do.
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Slugs of the tasks, as `show` prints them.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
}

/// A run by name.
#[derive(Clone, Debug, Args)]
pub struct RunNameArgs {
    /// The run; a unique beginning will do, the newest one if not given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
}

/// `show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// The run; a unique beginning will do, the newest one if not given.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// One task: what it is, what it read, how it went, its result.
    #[arg(long, value_name = "SLUG", group = "what")]
    pub task: Option<String>,

    /// One model call: prompt, reply, repairs, issues, cost.
    #[arg(long, value_name = "N", group = "what")]
    pub call: Option<u32>,

    /// The prompt of one model call exactly as sent.
    #[arg(long, value_name = "N", group = "what")]
    pub prompt: Option<u32>,

    /// Why tasks are not done and what to do: of one task and those it waits for, or of each.
    #[arg(long, value_name = "TASK", group = "what")]
    pub why: Option<Option<String>>,

    /// All recorded facts, one JSON object a line.
    #[arg(long, group = "what")]
    pub events: bool,

    /// When each unit ran.
    #[arg(long, group = "what")]
    pub timeline: bool,

    /// The sheet as it stands.
    #[arg(long, group = "what")]
    pub plan: bool,

    /// One hunk of the change that waits (of `--task`, if several do), to be edited and given back with
    /// `approve --edit N=FILE`.
    #[arg(long, value_name = "N", conflicts_with_all = ["call", "prompt", "why", "events", "timeline", "plan"])]
    pub hunk: Option<u32>,
}

/// An amount of money.
fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "expected a number of at least 0".to_owned())
}

/// `skill`.
#[derive(Debug, Subcommand)]
pub enum SkillCommand {
    /// The skills that are offered, with where they come from.
    List,
    /// The file of one skill; where it comes from on stderr.
    Show(SkillShowArgs),
    /// Check skill files and print every issue with line and column.
    Check(SkillCheckArgs),
    /// Write a commented skill file to begin with; never writes over one.
    New(SkillNewArgs),
}

/// `skill show`.
#[derive(Clone, Debug, Args)]
pub struct SkillShowArgs {
    /// Its name, as `skill list` prints it.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `skill new`.
#[derive(Clone, Debug, Args)]
pub struct SkillNewArgs {
    /// Its name: a-z, 0-9, `-` and, without `--folder`, `_`.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// In your own skills folder, for all projects, instead of the project's.
    #[arg(long)]
    pub user: bool,

    /// In the folder form that other programs read too: NAME/SKILL.md.
    #[arg(long)]
    pub folder: bool,
}

/// `skill check`.
#[derive(Clone, Debug, Args)]
pub struct SkillCheckArgs {
    /// Files or folders; all skills of the project and the user if none is named.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// `index`.
#[derive(Clone, Debug, Args)]
pub struct IndexArgs {
    /// Only files that match; may stand several times. A pattern without `/` holds in every folder.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// No files that match; may stand several times.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// List what is in the index instead of building it.
    #[arg(long, conflicts_with_all = ["include", "exclude", "remove"])]
    pub list: bool,

    /// Take these files and folders out of the index; all of it if none is named. No file is touched.
    #[arg(long, value_name = "PATH", num_args = 0.., conflicts_with_all = ["include", "exclude"])]
    pub remove: Option<Vec<PathBuf>>,
}

/// `prompts`.
#[derive(Debug, Subcommand)]
pub enum PromptsCommand {
    /// The templates in use, where each comes from and its hash.
    List,
    /// Copy the shipped templates to a folder; the project's `.callsheet/prompts` if none is named.
    Eject(PromptsEjectArgs),
}

/// `prompts eject`.
#[derive(Clone, Debug, Args)]
pub struct PromptsEjectArgs {
    /// Folder.
    #[arg(value_name = "DIR", conflicts_with = "user")]
    pub folder: Option<PathBuf>,

    /// Your own prompts folder, for all projects.
    #[arg(long)]
    pub user: bool,

    /// Only these templates, by name.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub only: Vec<String>,

    /// Write over files that are there.
    #[arg(long)]
    pub force: bool,
}

/// `model`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// What is there: servers, configured providers, keys, embedded models.
    List,
    /// Fetch an embedded model.
    Pull(ModelPullArgs),
    /// Measure a model: slots, context, tool calls, schema, grammar, tokens a second.
    Test(ModelTestArgs),
}

/// `model pull`.
#[derive(Clone, Debug, Args)]
pub struct ModelPullArgs {
    /// Name in the catalogue; the first that can be had if not given.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// `model test`.
#[derive(Clone, Debug, Args)]
pub struct ModelTestArgs {
    /// The model; the one that `run` would choose if not given.
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,
}

/// `completions`.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// Shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Approval modes of spec 11.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApprovalArg {
    /// Before writers run and before changes are applied.
    Both,
    /// Only before writers run.
    BeforeRun,
    /// Only before changes are applied and commands run.
    BeforeApply,
    /// Never ask.
    Never,
}

/// Policies of spec 2.12 and 2.13.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RefinePolicyArg {
    /// Where it adds something.
    Auto,
    /// Each time.
    Always,
    /// Not at all.
    Never,
}

/// Headless policies of spec 11.8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadlessArg {
    /// Save and stop.
    Stop,
    /// Deny.
    Deny,
    /// Approve all of this run.
    Approve,
    /// Approve these tasks.
    Slugs(Vec<String>),
}

impl std::str::FromStr for HeadlessArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stop" => Ok(Self::Stop),
            "deny" => Ok(Self::Deny),
            "approve" => Ok(Self::Approve),
            _ => {
                let slugs: Vec<String> = text.split(',').map(str::trim).map(str::to_owned).collect();
                let valid = |slug: &String| {
                    let in_call = slug.split_once('/');
                    let (outer, inner) = in_call.map_or((slug.as_str(), None), |(outer, inner)| (outer, Some(inner)));
                    is_slug(outer) && inner.is_none_or(is_inner_name)
                };
                // A slip of the finger must not leave a run waiting for nobody.
                let meant = [("stop", 1), ("deny", 1), ("approve", 2)];
                if let Some((word, _)) = meant.into_iter().find(|(word, edits)| within(text, word, *edits)) {
                    Err(format!("did you mean {word}? (a task called {text} is approved by `callsheet approve`)"))
                } else if slugs.iter().all(valid) {
                    Ok(Self::Slugs(slugs))
                } else {
                    Err("expected stop, deny, approve, or slugs of tasks separated by commas".to_owned())
                }
            }
        }
    }
}

fn is_slug(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Tasks of templates have the names that their authors gave.
fn is_inner_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
