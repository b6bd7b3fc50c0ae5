//! Commands and flags.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{ApproveArgs, DenyArgs, ReportArgs, RunsArgs, SheetCommand, TemplateCommand, WorkArgs};

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

    /// Use the runs of the cluster at this address, such as https://127.0.0.1:8080, instead of those of this machine.
    #[arg(long, global = true, value_name = "URL", hide = cfg!(not(feature = "cluster")))]
    pub on: Option<String>,

    /// Print one JSON object per line to stdout, and nothing else.
    #[arg(long, global = true)]
    pub json: bool,

    /// Write a log to this file, a JSON object per line; CALLSHEET_LOG says what is logged, by default `info`.
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,

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
    /// Begin a new run that shares the work of another one up to a task, to try something else from there.
    Fork(ForkArgs),
    /// List the runs of this project.
    Runs(RunsArgs),
    /// Watch a run in full screen: its tasks, what they write, and what waits for you. You can answer and control it
    /// there.
    Watch(RunNameArgs),
    /// Open a page for your browser: see runs as they happen, approve, edit, retry and resume. Programs use the same runs
    /// over HTTP with tokens. Only this machine reaches it.
    #[cfg(feature = "page")]
    Serve(super::ServeArgs),
    /// Serve an editor: diagnostics, completion, hover and rename in sheets, skills and templates (Language Server Protocol).
    #[cfg(feature = "lsp")]
    Lsp,
    /// Serve an editor as its agent: it plans and runs what you write there, and asks you there (Agent Client Protocol).
    #[cfg(feature = "acp")]
    Acp,
    /// Serve a program: it starts runs, looks at them and stops them (Model Context Protocol over stdin and stdout).
    #[cfg(feature = "mcp")]
    Mcp(super::McpArgs),
    /// Inspect a run: its plan, tasks, model calls, events, timeline, and why tasks wait.
    Show(ShowArgs),
    /// Write a run as one HTML or Markdown file to send: request, answer, changes, cost, timeline, tasks.
    Report(ReportArgs),
    /// Write a run as one file for another machine, encrypted, or with keys masked to look at.
    #[cfg(feature = "share")]
    Export(super::ExportArgs),
    /// Take in a run from another machine, or an approval that somebody signed.
    #[cfg(feature = "share")]
    Import(super::ImportArgs),
    /// Make or show the key file with which you sign approvals and open exported runs.
    #[cfg(feature = "share")]
    #[command(subcommand)]
    Key(super::KeyCommand),
    /// Approve pending tasks, calls or changes.
    Approve(ApproveArgs),
    /// Deny pending tasks, calls or changes.
    Deny(DenyArgs),
    /// Undo the changes of files that a run, or some of its tasks, made.
    Undo(UndoArgs),
    /// Stop a run from another terminal.
    Cancel(RunNameArgs),
    /// Check and create sheets.
    #[command(subcommand)]
    Sheet(SheetCommand),
    /// List, show, check and create skills.
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Check, list, show, match, run and create templates (task trees in YAML or XML).
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Look up what a run would find for a text: files and sections with scores and excerpts.
    Find(FindArgs),
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
    /// List all settings: value, where it comes from, and what it means.
    Config(ConfigArgs),
    /// Remove what no run of this project needs any more.
    Gc(super::GcArgs),
    /// Show what this project's files could do, and trust them in their current form.
    Trust(super::TrustArgs),
    /// List the tools of your MCP servers, confirm them, and revoke that.
    #[cfg(feature = "mcp")]
    Tools(super::ToolsArgs),
    /// List what commands are always allowed to do, allow more, or revoke a grant.
    Grants(super::GrantsArgs),
    /// Start a durable engine and a worker that drive runs of this project on this machine.
    #[command(subcommand, hide = cfg!(not(feature = "cluster")))]
    Cluster(super::ClusterCommand),
    /// Perform the tasks of runs on a cluster with the models and tools of this machine.
    #[command(hide = cfg!(not(feature = "cluster")))]
    Worker(super::WorkerArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Write the man pages to a folder.
    #[command(hide = true)]
    Man(ManArgs),
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
    /// Run to resume; by default the newest run, if it is unfinished.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Answer to the first open question, or to the question of the named TASK (as `show` lists it). If the text itself
    /// starts with a word and `=`, put another `=` in front.
    #[arg(long, value_name = "[TASK=]TEXT")]
    pub answer: Option<String>,

    /// Raise a limit of a task, as in `tests.timeout_seconds=900` or `polish.max_iterations=8`. If the task failed, it continues
    /// with what it has. Repeatable.
    #[arg(long, value_name = "TASK.LIMIT=N", value_parser = task_limit)]
    pub limit: Vec<(String, f64)>,

    /// Resume with the files as they are, although the run changed some of them on another machine and they differ here.
    #[arg(long)]
    pub files_as_they_are: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `continue`.
#[derive(Clone, Debug, Args)]
pub struct ContinueArgs {
    /// Run name, or a unique prefix of it; without it, the newest run that has ended. A request without RUN needs quotes.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Request for the follow-up, with or without quotes; `-` reads it from stdin.
    #[arg(value_name = "REQUEST")]
    pub request: Vec<String>,

    /// Name of the new run, if RUN runs a template. If a run has this name, a number is added.
    #[arg(long, value_name = "NAME", value_parser = super::run_args::run_name, help_heading = super::work_args::FOR_PROGRAMS)]
    pub name: Option<String>,

    /// Withdraw the last follow-up if it has no task list yet.
    #[arg(long, conflicts_with = "request")]
    pub withdraw: bool,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// A limit of a task and its new bound.
fn task_limit(text: &str) -> Result<(String, f64), String> {
    let (name, max) = text.split_once('=').ok_or("write TASK.LIMIT=N, as in tests.timeout_seconds=900")?;
    let max = max.trim().parse().map_err(|_| format!("{max} is not a number"))?;
    let name = name.trim();
    if name.split_once('.').is_none_or(|(task, limit)| task.is_empty() || limit.is_empty()) {
        return Err(format!(
            "{name} does not name a task; write TASK.LIMIT=N, or raise a limit of the run with --set limits.NAME=N"
        ));
    }
    Ok((name.to_owned(), max))
}

/// `retry`.
#[derive(Clone, Debug, Args)]
pub struct RetryArgs {
    /// Run name, or a unique prefix of it; by default the newest run, if it is incomplete.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Slugs of the tasks, as `show` prints them; by default all failed tasks. A done task runs again with the tasks
    /// that read its result.
    #[arg(value_name = "TASK", requires = "run")]
    pub tasks: Vec<String>,

    /// Keep the changes that the tasks have already made to files.
    #[arg(long)]
    pub keep_changes: bool,

    /// What was wrong with their results. Their prompts then contain it.
    #[arg(long, value_name = "WORDS")]
    pub because: Option<String>,

    /// Shared flags.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `undo`.
#[derive(Clone, Debug, Args)]
pub struct UndoArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Slugs of the tasks whose changes to undo, as `show` prints them; by default all changes of the run.
    #[arg(value_name = "TASK", requires = "run")]
    pub tasks: Vec<String>,
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

/// `fork`.
#[derive(Clone, Debug, Args)]
pub struct ForkArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Share only what happened before this task began, or the first N events; by default share everything.
    #[arg(long, value_name = "TASK|N")]
    pub at: Option<String>,
}

/// Names a run.
#[derive(Clone, Debug, Args)]
pub struct RunNameArgs {
    /// Run name, or a unique prefix of it; by default the newest run.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
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

/// `find`.
#[derive(Clone, Debug, Args)]
pub struct FindArgs {
    /// Words to look for, or a request, with or without quotes.
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
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

/// `config`.
#[derive(Clone, Debug, Args)]
pub struct ConfigArgs {
    /// List only settings with this text in their name.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
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
