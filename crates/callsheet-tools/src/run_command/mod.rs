//! `run_command`: a program with its arguments, or a line for the shell, inside the project.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "parts of the confinement exist only on Linux"))]

pub(crate) mod border;
#[cfg(target_os = "linux")]
mod bwrap;
mod entry;
mod environment;
#[cfg(target_os = "linux")]
mod filter;
mod git_settings;
mod guard;
pub(crate) mod holding;
mod imports;
pub(crate) mod limits;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod note;
pub(crate) mod process;
#[cfg(target_os = "linux")]
mod processes;
mod protected;
mod released;
#[cfg(target_os = "linux")]
mod remembered;
#[cfg(target_os = "linux")]
mod root;
pub(crate) mod sandbox;
mod stream;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod watch;
mod worktree;

pub(crate) use environment::{listed, of_command, only};
#[cfg(target_os = "linux")]
pub use network::is_host;
#[cfg(target_os = "linux")]
pub use note::set_aside_left;
pub use process::kill_all;
#[cfg(target_os = "linux")]
pub use remembered::remember_in;
#[cfg(target_os = "linux")]
pub use supervisor::{supervise, supervise_with};

/// A process supervises commands only where it can adopt children, so here it does nothing.
#[cfg(not(target_os = "linux"))]
pub fn supervise() -> Option<std::process::ExitCode> {
    None
}

/// A supervising process, which could be killed, exists only on other systems.
#[cfg(not(target_os = "linux"))]
pub fn set_aside_left(_folder: &std::path::Path, _project: &std::path::Path) -> Vec<String> {
    Vec::new()
}

/// Whether a text names a host that can be granted. Used only where commands have their own network.
#[cfg(not(target_os = "linux"))]
pub fn is_host(text: &str) -> bool {
    !text.is_empty()
}

/// Where nothing is tested, there is nothing to remember.
#[cfg(not(target_os = "linux"))]
pub fn remember_in(_file: std::path::PathBuf) {}

/// A process supervises commands only where it can adopt children, so here it does nothing.
#[cfg(not(target_os = "linux"))]
pub fn supervise_with(_program: &std::path::Path) {}

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_runtime::grants::{CommandCall, CommandLine, RUN_COMMAND, command_text};
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use self::border::{Confined, OF_TOOLS, Temporary};
use self::guard::{Guard, Restored};
use self::limits::Over;
use self::process::{Bounds, End, Ended, NotRun};
use crate::common::place::readable;
use crate::common::words::say;
use crate::common::{Stop, Ticket, arguments, settle, spec};

/// The tool.
#[derive(Debug)]
pub struct RunCommand(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    call: CommandCall,
    timeout_seconds: Option<u64>,
}

impl RunCommand {
    /// The tool.
    pub fn new() -> Self {
        let classes = (ToolEffect::Execute, RepeatClass::Once);
        let (description, schema) = (include_str!("description.md"), include_str!("schema.json"));
        let aliases = &["bash", "run_script", "shell", "local_shell", "shell_command", "exec_command"];
        let mut spec = spec(RUN_COMMAND, aliases, description, schema, classes);
        // Two commands in one folder tree interfere with each other: builds, installs, version control.
        spec.exclusive = true;
        Self(spec)
    }
}

impl Default for RunCommand {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn obstacle(&self, given: &Value, workspace: &Workspace) -> Option<String> {
        match startable(given, workspace) {
            Err(Stop::Failed(why)) => Some(why),
            _ => None,
        }
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(run(given, context).await)
    }
}

async fn run(given: &Value, context: &ToolContext) -> Result<ToolOutcome, Stop> {
    let wanted: Arguments = arguments(given)?;
    let argv = argv(&wanted.call.command)?;
    let temporary = temporary(context)?;
    let Some((program, rest)) = argv.split_first() else { return Err(which_form()) };
    let folder = {
        let (scope, cwd) = (context.clone(), wanted.call.cwd.clone());
        tokio::task::spawn_blocking(move || {
            readable(&scope, cwd.as_deref().unwrap_or("."), &Ticket::new(scope.cancel.clone()))
        })
        .await
        .map_err(|error| Stop::Fault(ToolFault::Defect(error.to_string())))??
    };
    if !folder.path.is_dir() {
        return Err(Stop::failed("command-cwd", &[("path", &folder.shown)]));
    }
    let timeout =
        wanted.timeout_seconds.map_or(context.timeout, |wanted| context.timeout.min(Duration::from_secs(wanted)));
    let mut command = Command::new(program);
    let granted = context.workspace.granted();
    command.args(rest).current_dir(&folder.path).env_clear().envs(of_command(&granted.variables));
    command.envs(temporary.path().map(|folder| ("TMPDIR", folder)));
    let bounds = Bounds {
        timeout,
        cap: context.max_output_bytes,
        cancel: &context.cancel,
        confined: Confined::to(&context.workspace).with(&temporary),
        stdin: None,
    };
    match process::run(command, bounds).await {
        Ok(ended) => {
            let outcome = with_grants(report(&ended), &ended, context);
            refuse_protected(&ended, &outcome)?;
            Ok(outcome)
        }
        Err(NotRun::Fault(fault)) => Err(Stop::Fault(fault)),
        Err(NotRun::Start(error)) => {
            // A skill names its files relative to its own folder, and commands run in the project.
            let beside = context.skill_dir.iter().map(|folder| folder.join(program)).find(|path| path.is_file());
            let beside = beside.map(|path| say("command-beside-skill", &[("path", &path.display())]));
            let reason = beside.unwrap_or_else(|| reason(&error));
            Err(Stop::failed("command-not-started", &[("program", program), ("reason", &reason)]))
        }
    }
}

/// Of these paths below the project, those that no command elsewhere may change (spec 15.23): all if no command may run in
/// the project.
pub fn closed_to_commands(workspace: &Workspace, paths: &[PathBuf]) -> Vec<PathBuf> {
    let confined = Confined::to(workspace);
    let guard = Guard::of(workspace.root(), &confined.released, &confined.view.changeable);
    let is_closed = |path: &&PathBuf| workspace.holds_kept() || guard.protects(path);
    paths.iter().filter(is_closed).cloned().collect()
}

/// Fails if the command can never start, whatever earlier tasks create in the project. A program that is named by a
/// path may still appear.
fn startable(given: &Value, workspace: &Workspace) -> Result<(), Stop> {
    let wanted: Arguments = arguments(given)?;
    let argv = argv(&wanted.call.command)?;
    may_run(workspace)?;
    let Some(program) = argv.first().filter(|program| !program.contains('/') && !is_on_path(program)) else {
        return Ok(());
    };
    let reason = say("command-not-found", &[]);
    Err(Stop::failed("command-not-started", &[("program", program), ("reason", &reason)]))
}

/// Whether a folder of the commands' search path has a program of this name. A folder below the project may still get
/// one.
fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.is_relative() || folder.join(program).is_file())
}

fn may_run(workspace: &Workspace) -> Result<(), Stop> {
    if workspace.holds_kept() { Err(Stop::failed("command-holds-kept", &[])) } else { Ok(()) }
}

/// Where a command may write besides the project, if a command may run at all.
pub(crate) fn temporary(context: &ToolContext) -> Result<Temporary, Stop> {
    may_run(&context.workspace)?;
    Temporary::new().map_err(|error| Stop::failed("command-temporary", &[("reason", &error)]))
}

/// Marks a command as failed that changed what no command may change, whatever it reported. The change has already been
/// put back as far as possible.
pub(crate) fn refuse_protected(ended: &Ended, outcome: &ToolOutcome) -> Result<(), Stop> {
    let (ToolOutcome::Output(said) | ToolOutcome::Failed(said)) = outcome else { return Ok(()) };
    let Restored { changed, open, grantable, left, rest } = &ended.restored;
    let mut words: Vec<String> = ended.lost.then(|| say("command-lost", &[])).into_iter().chain(left.clone()).collect();
    if !changed.is_empty() {
        let key = if open.is_empty() { "command-protected" } else { "command-protected-open" };
        words.push(say(key, &[("paths", &changed.join(", ")), ("open", &open.join(", "))]));
    }
    if words.is_empty() {
        return Ok(());
    }
    words.extend((!rest.is_empty()).then(|| say("command-rest", &[("paths", &rest.join(", "))])));
    let person = words.join("\n");
    words.extend((!grantable.is_empty()).then(|| grantable_words(grantable)));
    words.push(said.clone());
    Err(Stop::Fault(ToolFault::Told { person, model: words.join("\n") }))
}

/// How a person lets commands change a protected path.
fn grantable_words(paths: &[String]) -> String {
    say("command-closed", &[("paths", &paths.join(", ")), ("words", &command_text(paths))])
}

/// A program and its arguments: the given ones, or the shell with its line.
fn argv(command: &CommandLine) -> Result<Vec<String>, Stop> {
    match command {
        CommandLine::Words(words) if words.first().is_some_and(|program| !program.trim().is_empty()) => {
            Ok(words.clone())
        }
        CommandLine::Shell(line) if !line.trim().is_empty() => Ok(vec!["sh".to_owned(), "-c".to_owned(), line.clone()]),
        _ => Err(which_form()),
    }
}

fn which_form() -> Stop {
    Stop::failed("command-form", &[])
}

pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => say("command-not-found", &[]),
        std::io::ErrorKind::PermissionDenied => say("command-not-executable", &[]),
        _ => error.to_string(),
    }
}

/// Folders below a home in which tools keep their downloads.
const CACHES: [&str; 3] = [".cache", ".cargo", ".npm"];

/// Tells a failed command what it was refused and how a person can allow it.
fn with_grants(outcome: ToolOutcome, ended: &Ended, context: &ToolContext) -> ToolOutcome {
    let ToolOutcome::Output(mut text) = outcome else { return outcome };
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let granted = &context.workspace.granted().writable;
    let said = [&ended.stderr, &ended.stdout];
    // What tools keep below a granted folder stays closed until it is granted separately.
    let refused = said.iter().any(|text| text.contains("Read-only file system"));
    let of_tools = OF_TOOLS.iter().map(|name| home.join(name)).filter(|tool| {
        refused && !tool.ends_with("bin") && granted.iter().any(|folder| folder != tool && tool.starts_with(folder))
    });
    let caches = CACHES.map(|name| home.join(name)).into_iter().chain(of_tools);
    let closed = caches.filter(|cache| !granted.contains(cache));
    let named: Vec<String> = closed
        .map(|cache| cache.display().to_string())
        .filter(|cache| ended.end != End::Code(0) && (ended.stderr.contains(cache) || ended.stdout.contains(cache)))
        .collect();
    let fails_on = |path: &&String| {
        ended.end != End::Code(0) && [&ended.stderr, &ended.stdout].iter().any(|text| text.contains(*path))
    };
    let (of_git, closed): (Vec<String>, Vec<String>) =
        ended.closed.iter().filter(fails_on).cloned().partition(|path| path.ends_with(".git"));
    if refused && !of_git.is_empty() {
        text.push_str(&format!(
            "\n[{}]",
            say("command-git", &[("paths", &of_git.join(", ")), ("words", &command_text(&of_git))])
        ));
    }
    if !closed.is_empty() {
        text.push_str(&format!("\n[{}]", grantable_words(&closed)));
    }
    for (key, slot, refused) in [("command-cache", "folders", &named), ("command-hosts", "hosts", &ended.refused)] {
        if !refused.is_empty() {
            text.push_str(&format!("\n[{}]", say(key, &[(slot, &refused.join(", ")), ("words", &refused.join(" "))])));
        }
    }
    ToolOutcome::Output(text)
}

/// A program that ran and reported failure is output, not a failed call: the model needs what it printed. It is not told
/// how long that took, so that a repeated command gives an equal prompt, whose reply may be reused.
fn report(ended: &Ended) -> ToolOutcome {
    let mut text = match ended.end {
        End::Code(code) => say("command-code", &[("code", &code)]),
        End::Signal(signal) => say("command-signal", &[("signal", &signal)]),
        End::TimedOut => say("command-timeout", &[]),
        End::Over(over) => over_words(over),
    };
    for (name, stream) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        if !stream.is_empty() {
            text.push_str(&format!("\n--- {name}\n{}", stream.trim_end_matches('\n')));
        }
    }
    if ended.stdout.is_empty() && ended.stderr.is_empty() {
        text.push_str(&format!("\n{}", say("command-silent", &[])));
    }
    let stopped = matches!(ended.end, End::TimedOut | End::Over(_));
    if stopped { ToolOutcome::Failed(text) } else { ToolOutcome::Output(text) }
}

/// Which limit a command exceeded, and the setting for it.
pub(crate) fn over_words(over: Over) -> String {
    match over {
        Over::Memory(bytes) => say("command-memory", &[("mb", &(bytes >> 20))]),
        Over::Cpu(seconds) => say("command-cpu", &[("seconds", &seconds)]),
    }
}
