//! Commands and flags.

use std::path::PathBuf;

use callsheet_core::fuzzy::within;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{ApproveArgs, DenyArgs, OpenArgs, OutputFormat, ReportArgs, RunsArgs, SheetCommand, TemplateCommand};

/// Turn a request into a sheet of small tasks and run them with language models. You can edit the plan, resume after a
/// crash, set limits, and approve each change before it happens.
#[derive(Debug, Parser)]
#[command(name = "callsheet", version, infer_subcommands = false)]
pub struct Cli {
    /// What to do; by default Callsheet says what it finds here and what you can do next.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Project folder; by default the current folder.
    #[arg(long, short = 'C', global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,

    /// Print one JSON object per line to stdout, and nothing else.
    #[arg(long, global = true)]
    pub json: bool,

    /// Print more details to stderr; `-vv` prints everything.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Choose a model, write your configuration file and test the model with one short call.
    Init(super::InitArgs),
    /// Play a recorded run: a plan, parallel tasks, an approval, a crash, a resume and an undo. Needs no model.
    Demo(super::DemoArgs),
    /// Plan and run a request, a sheet, or one skill.
    Run(super::RunArgs),
    /// Plan a request without running it: write a sheet that you can edit and run with `run --sheet`.
    Plan(PlanArgs),
    /// Resume an interrupted or waiting run; raise limits of a running one, or answer its questions.
    Resume(ResumeArgs),
    /// Plan and run more tasks in a finished run; its results stay available.
    Continue(ContinueArgs),
    /// Re-run failed, blocked or denied tasks and their dependents.
    Retry(RetryArgs),
    /// Remove tasks that have not started from a run.
    Drop(DropArgs),
    /// List the runs of this project.
    Runs(RunsArgs),
    /// Watch a run on the whole screen: its tasks, what they write, what waits for you; answer and steer it.
    Watch(RunNameArgs),
    /// Open a page for your browser: see runs as they happen, approve, edit, retry and resume. Only this machine reaches it.
    #[cfg(feature = "page")]
    Serve(ServeArgs),
    /// Inspect a run: its plan, tasks, model calls, events, timeline, and why tasks wait.
    Show(ShowArgs),
    /// Write a run as one HTML or Markdown file to send: request, answer, changes, cost, timeline, tasks.
    Report(ReportArgs),
    /// Approve pending tasks, calls or changes.
    Approve(ApproveArgs),
    /// Deny pending tasks, calls or changes.
    Deny(DenyArgs),
    /// Revert all file changes that a run made.
    Undo(RunNameArgs),
    /// Stop a run from another terminal.
    Cancel(RunNameArgs),
    /// Check and create sheets.
    #[command(subcommand)]
    Sheet(SheetCommand),
    /// List, show, check and create skills.
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Check, list, show, match, run and create templates (task trees in XML).
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Build, update or clear the index of project files that templates search for context.
    Index(IndexArgs),
    /// List the prompt templates, or copy them for editing.
    #[command(subcommand)]
    Prompts(PromptsCommand),
    /// List, download and test models.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Check the setup and the stored runs, and suggest fixes.
    Doctor,
    /// Remove what no run of this project needs any more.
    Gc(super::GcArgs),
    /// Show what this project's files could do, and trust them in their current form.
    Trust(super::TrustArgs),
    /// List what commands are always allowed, allow more, and revoke it.
    Grants(super::GrantsArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Write the man pages to a folder.
    #[command(hide = true)]
    Man(ManArgs),
}

/// Flags of everything that works with models.
#[derive(Clone, Debug, Default, Args)]
pub struct WorkArgs {
    /// Model: PROVIDER/MODEL, embedded:PATH or scripted:FILE.
    #[arg(long, short, env = "CALLSHEET_MODEL", value_name = "MODEL")]
    pub model: Option<String>,

    /// Download the embedded model without asking if there is no other model.
    #[arg(long)]
    pub download: bool,

    /// Limit the plan to these skills.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub skills: Vec<String>,

    /// Number of parallel work units.
    #[arg(long, value_name = "N")]
    pub jobs: Option<u32>,

    /// When to ask for approval.
    #[arg(long, value_enum, value_name = "MODE")]
    pub approval: Option<ApprovalArg>,

    /// What to do at a gate when nobody can answer: stop, deny, approve, or approve the tasks with these slugs.
    #[arg(long, value_name = "stop|deny|approve|SLUG,…")]
    pub headless: Option<HeadlessArg>,

    /// Whether to plan the request; auto: unless it is one task.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub plan: Option<RefinePolicyArg>,

    /// When to refine tasks before they run.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub refine: Option<RefinePolicyArg>,

    /// Whether sections run strictly one after the other, or only what writes waits for them.
    #[arg(long, value_enum, value_name = "ORDER")]
    pub sections: Option<SectionsArg>,

    /// When to review the task list after a round.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub iterate: Option<RefinePolicyArg>,

    /// Whether a model reviews each result; auto: it does not.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub review: Option<RefinePolicyArg>,

    /// Sampling temperature of executions.
    #[arg(long, value_name = "NUMBER", value_parser = not_negative)]
    pub temperature: Option<f64>,

    /// Sampling seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Whether a model writes one answer from several results; auto: when a model planned their tasks.
    #[arg(long, value_enum, value_name = "POLICY")]
    pub join: Option<RefinePolicyArg>,

    /// Limit on rounds.
    #[arg(long, value_name = "N")]
    pub max_rounds: Option<u32>,

    /// Limit on model calls.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u32>,

    /// Limit on tokens, input plus output.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,

    /// Limit on cost, in US dollars.
    #[arg(long, value_name = "USD", value_parser = not_negative)]
    pub max_cost: Option<f64>,

    /// Use models without a known price even under a limit on cost, which cannot hold them.
    #[arg(long)]
    pub allow_unpriced: bool,

    /// Limit on run time in seconds, not counting the time the run waits for you.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,

    /// Allow http(s) references and the fetching of web pages.
    #[arg(long)]
    pub allow_http: bool,

    /// Files that are open.
    #[command(flatten)]
    pub opened: OpenArgs,

    /// Record every model call in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,

    /// Answer model calls from the recordings in this folder.
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,

    /// Share of its recorded time that each reply takes: 1 is the recorded speed, 0 (the default) replies at once.
    #[arg(long, value_name = "SHARE", requires = "replay", value_parser = not_negative)]
    pub pace: Option<f64>,

    /// Treat warnings as errors.
    #[arg(long)]
    pub strict: bool,

    /// Print plain lines instead of the full-screen view.
    #[arg(long)]
    pub plain: bool,

    /// Print the answer and ask nothing: no screen, and a run stops at a gate.
    #[arg(long, short)]
    pub print: bool,

    /// What stdout gets: the answer, one JSON object at the end, or one a line as things happen (the same as `--json`).
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,
}

/// `plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// Request, with or without quotes; `-` reads it from stdin.
    #[arg(value_name = "REQUEST", required = true)]
    pub request: Vec<String>,

    /// Output file; `-` prints to stdout. Default: `sheet.md`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `resume`.
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// Run to resume; by default the newest unfinished one.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Answer to the first open question, or to the question of the named TASK (as `show` lists it). If the text itself
    /// starts with a word and `=`, put another `=` in front.
    #[arg(long, value_name = "[TASK=]TEXT")]
    pub answer: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `continue`.
#[derive(Clone, Debug, Args)]
pub struct ContinueArgs {
    /// Run name, or a unique prefix of it.
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Request for the follow-up, with or without quotes; `-` reads it from stdin.
    #[arg(value_name = "REQUEST", required_unless_present = "withdraw")]
    pub request: Vec<String>,

    /// Withdraw the last follow-up if it has no task list yet.
    #[arg(long, conflicts_with = "request")]
    pub withdraw: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `retry`.
#[derive(Clone, Debug, Args)]
pub struct RetryArgs {
    /// Run name, or a unique prefix of it.
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Slugs of the tasks, as `show` prints them; by default all failed tasks.
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `drop`.
#[derive(Clone, Debug, Args)]
pub struct DropArgs {
    /// Run name, or a unique prefix of it.
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Slugs of the tasks, as `show` prints them.
    #[arg(value_name = "TASK", required = true)]
    pub tasks: Vec<String>,
}

/// A run by name.
#[derive(Clone, Debug, Args)]
pub struct RunNameArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
}

/// `serve`.
#[cfg(feature = "page")]
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Port on this machine; by default a free one.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
}

/// `show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Show one task: definition, inputs, progress and result.
    #[arg(long, value_name = "SLUG", group = "what")]
    pub task: Option<String>,

    /// Show one model call: prompt, reply, repairs, issues and cost.
    #[arg(long, value_name = "N", group = "what")]
    pub call: Option<u32>,

    /// Show the exact prompt of one model call.
    #[arg(long, value_name = "N", group = "what")]
    pub prompt: Option<u32>,

    /// Explain why tasks are not done and what to do: one task and all it waits for, or each.
    #[arg(long, value_name = "TASK", group = "what")]
    pub why: Option<Option<String>>,

    /// Print all recorded events, one JSON object per line.
    #[arg(long, group = "what")]
    pub events: bool,

    /// Show when each unit ran and what tasks waited for.
    #[arg(long, group = "what")]
    pub timeline: bool,

    /// Print the current sheet.
    #[arg(long, group = "what")]
    pub plan: bool,

    /// Print plain text: no colours, no pager.
    #[arg(long)]
    pub plain: bool,

    /// Print one hunk of the pending change, for editing; return it with `approve --edit N=FILE`. If several changes are
    /// pending, name the task with `--task`.
    #[arg(long, value_name = "N", conflicts_with_all = ["call", "prompt", "why", "events", "timeline", "plan"])]
    pub hunk: Option<u32>,
}

/// An amount of money.
fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number that is 0 or more".to_owned())
}

/// `skill`.
#[derive(Debug, Subcommand)]
pub enum SkillCommand {
    /// List the available skills and where each comes from.
    List,
    /// Print the file of one skill, and its source on stderr.
    Show(SkillShowArgs),
    /// Check skill files and print each issue with its line and column.
    Check(SkillCheckArgs),
    /// Create a commented skill file to start from; never overwrites a file.
    New(SkillNewArgs),
}

/// `skill show`.
#[derive(Clone, Debug, Args)]
pub struct SkillShowArgs {
    /// Skill name, as `skill list` prints it.
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `skill new`.
#[derive(Clone, Debug, Args)]
pub struct SkillNewArgs {
    /// Skill name: a-z, 0-9, `-` and, without `--folder`, `_`.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Create it in your own skills folder, for all projects.
    #[arg(long)]
    pub user: bool,

    /// Create NAME/SKILL.md, the form that other programs can read too.
    #[arg(long)]
    pub folder: bool,
}

/// `skill check`.
#[derive(Clone, Debug, Args)]
pub struct SkillCheckArgs {
    /// Files or folders; by default all your skills and the project's.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// `index`.
#[derive(Clone, Debug, Args)]
pub struct IndexArgs {
    /// Index only files that match. A pattern without `/` applies in every folder. Repeatable.
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// Skip files that match. Repeatable.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// List the index instead of building it.
    #[arg(long, conflicts_with_all = ["include", "exclude", "remove"])]
    pub list: bool,

    /// Remove these files and folders from the index, or clear the whole index. Your files stay untouched.
    #[arg(long, value_name = "PATH", num_args = 0.., conflicts_with_all = ["include", "exclude"])]
    pub remove: Option<Vec<PathBuf>>,
}

/// `prompts`.
#[derive(Debug, Subcommand)]
pub enum PromptsCommand {
    /// List the prompt templates in use, with their sources and hashes.
    List,
    /// Copy the bundled prompt templates to a folder; by default the project's `.callsheet/prompts`.
    Eject(PromptsEjectArgs),
}

/// `prompts eject`.
#[derive(Clone, Debug, Args)]
pub struct PromptsEjectArgs {
    /// Target folder.
    #[arg(value_name = "DIR", conflicts_with = "user")]
    pub folder: Option<PathBuf>,

    /// Copy to your own prompts folder, for all projects.
    #[arg(long)]
    pub user: bool,

    /// Copy only the prompt templates with these names.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub only: Vec<String>,

    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// `model`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// List servers, configured providers, API keys and embedded models.
    List,
    /// Download an embedded model.
    Pull(ModelPullArgs),
    /// Test a model: slots, context window, tool calls, schemas, grammars and speed.
    Test(ModelTestArgs),
}

/// `model pull`.
#[derive(Clone, Debug, Args)]
pub struct ModelPullArgs {
    /// Name in the catalog; by default the best one that is fit for real work.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// `model test`.
#[derive(Clone, Debug, Args)]
pub struct ModelTestArgs {
    /// Model to test; by default the one that `run` would choose.
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

/// `man`.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Folder.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
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
    /// When it helps.
    Auto,
    /// Every time.
    Always,
    /// Never.
    Never,
}

/// Orders of task sections of spec 2.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SectionsArg {
    /// What only reads starts once its inputs are there and no writer of an earlier section is left.
    Dependencies,
    /// A section starts when the one before it has ended.
    Strict,
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
                    let (task, below) = in_call.map_or((slug.as_str(), None), |(task, below)| (task, Some(below)));
                    is_slug(task) && below.is_none_or(is_name_below)
                };
                // A slip of the finger must not leave a run waiting for nobody.
                let meant = [("stop", 1), ("deny", 1), ("approve", 2)];
                if let Some((word, _)) = meant.into_iter().find(|(word, edits)| within(text, word, *edits)) {
                    Err(format!("did you mean {word}? (To approve a task called {text}, run `callsheet approve`.)"))
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
fn is_name_below(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
