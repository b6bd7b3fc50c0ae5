//! `run_command`: a program with its arguments, or a line for the shell, inside the project.

mod environment;
mod guard;
pub(crate) mod process;
mod protected;
pub(crate) mod sandbox;
mod stream;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(target_os = "linux")]
mod supervisor;
mod worktree;

pub(crate) use environment::{given, unsecret};
pub use process::kill_all;
#[cfg(target_os = "linux")]
pub use supervisor::supervise;

/// Only where children can be adopted does a process supervise a command.
#[cfg(not(target_os = "linux"))]
pub fn supervise() -> Option<std::process::ExitCode> {
    None
}

use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::spec::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use self::guard::Restored;
use self::process::{Bounds, End, Ended, NotRun};
use self::sandbox::{Confined, Temporary};
use crate::common::place::readable;
use crate::common::words::say;
use crate::common::{Stop, Ticket, arguments, settle, spec};

/// The tool.
#[derive(Debug)]
pub struct RunCommand(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    argv: Option<Vec<String>>,
    command: Option<String>,
    #[serde(default)]
    shell: bool,
    cwd: Option<String>,
    timeout_seconds: Option<u64>,
}

impl RunCommand {
    /// The tool.
    pub fn new() -> Self {
        let classes = (ToolEffect::Execute, RepeatClass::Once);
        let (description, schema) = (include_str!("description.md"), include_str!("schema.json"));
        let mut spec = spec("run_command", &["bash", "run_script"], description, schema, classes);
        // Two commands in one tree get in each other's way: builds, installs, version control.
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

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(run(given, context).await)
    }
}

async fn run(given: &Value, context: &ToolContext) -> Result<ToolOutcome, Stop> {
    let wanted: Arguments = arguments(given)?;
    let argv = argv(&wanted)?;
    let temporary = temporary(context)?;
    let Some((program, rest)) = argv.split_first() else { return Err(which_form()) };
    let folder = {
        let (scope, cwd) = (context.clone(), wanted.cwd.clone());
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
    command.args(rest).current_dir(&folder.path).env_clear().envs(unsecret());
    command.envs(temporary.own().map(|folder| ("TMPDIR", folder)));
    let bounds = Bounds {
        timeout,
        cap: context.max_output_bytes,
        cancel: &context.cancel,
        confined: Confined::to(context.workspace.root(), &temporary.path()).and(context.workspace.shared()),
        stdin: None,
    };
    match process::run(command, bounds).await {
        Ok(ended) => {
            let outcome = with_cache(report(&ended), &ended, context);
            refuse_protected(&ended, &outcome)?;
            Ok(outcome)
        }
        Err(NotRun::Fault(fault)) => Err(Stop::Fault(fault)),
        Err(NotRun::Start(error)) => {
            Err(Stop::failed("command-not-started", &[("program", program), ("reason", &reason(&error))]))
        }
    }
}

/// Where a command may write besides the project, if one may run at all.
pub(crate) fn temporary(context: &ToolContext) -> Result<Temporary, Stop> {
    if context.workspace.holds_kept() {
        return Err(Stop::failed("command-holds-kept", &[]));
    }
    Temporary::of(&context.workspace).map_err(|error| Stop::failed("command-temporary", &[("reason", &error)]))
}

/// A command that changed what none may change has failed, whatever it says. It was put back already, as far as it could.
pub(crate) fn refuse_protected(ended: &Ended, outcome: &ToolOutcome) -> Result<(), Stop> {
    let (ToolOutcome::Output(said) | ToolOutcome::Failed(said)) = outcome else { return Ok(()) };
    let Restored { changed, open } = &ended.restored;
    if changed.is_empty() {
        return Ok(());
    }
    let key = if open.is_empty() { "command-protected" } else { "command-protected-open" };
    let words = say(key, &[("paths", &changed.join(", ")), ("open", &open.join(", "))]);
    Err(Stop::Failed(format!("{words}\n{said}")))
}

/// One of the two forms: a program with arguments, or one text for the shell, which must be asked for.
fn argv(wanted: &Arguments) -> Result<Vec<String>, Stop> {
    match (&wanted.argv, &wanted.command, wanted.shell) {
        (Some(argv), None, false) if argv.first().is_some_and(|program| !program.is_empty()) => Ok(argv.clone()),
        (None, Some(line), true) if !line.trim().is_empty() => Ok(vec!["sh".to_owned(), "-c".to_owned(), line.clone()]),
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

/// Folders below a home folder in which tools keep what they fetched.
const CACHES: [&str; 3] = [".cache", ".cargo", ".npm"];

/// A command that failed and speaks of a cache that it may not write to is told of the setting.
fn with_cache(outcome: ToolOutcome, ended: &Ended, context: &ToolContext) -> ToolOutcome {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let caches = CACHES.map(|name| home.join(name)).into_iter();
    let closed = caches.filter(|cache| !context.workspace.shared().contains(cache));
    let named: Vec<String> = closed
        .map(|cache| cache.display().to_string())
        .filter(|cache| ended.stderr.contains(cache) || ended.stdout.contains(cache))
        .collect();
    match outcome {
        ToolOutcome::Output(text) if !matches!(ended.end, End::Code(0)) && !named.is_empty() => {
            ToolOutcome::Output(format!("{text}\n[{}]", say("command-cache", &[("folders", &named.join(", "))])))
        }
        outcome => outcome,
    }
}

/// A program that ran and said no is output, not a failed call: what it said is what the model needs.
fn report(ended: &Ended) -> ToolOutcome {
    let how = match ended.end {
        End::Code(code) => say("command-code", &[("code", &code)]),
        End::Signal(signal) => say("command-signal", &[("signal", &signal)]),
        End::TimedOut => say("command-timeout", &[]),
    };
    let seconds = format!("{:.1}", ended.elapsed.as_secs_f64());
    let mut text = say("command-ended", &[("how", &how), ("seconds", &seconds)]);
    for (name, stream) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        if !stream.is_empty() {
            text.push_str(&format!("\n--- {name}\n{}", stream.trim_end_matches('\n')));
        }
    }
    if ended.stdout.is_empty() && ended.stderr.is_empty() {
        text.push_str(&format!("\n{}", say("command-silent", &[])));
    }
    if ended.end == End::TimedOut { ToolOutcome::Failed(text) } else { ToolOutcome::Output(text) }
}
