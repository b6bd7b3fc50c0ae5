//! `script`: the processes of templates (spec "Templates" 8). No model is offered it; an author wrote what it starts.
//! `script_read` starts processes with `effects="read"`, in a sandbox in which they can change nothing (spec
//! "Templates" 2.2).

use std::io::Write as _;
use std::path::Path;

use async_trait::async_trait;
use callsheet_core::evaluate::{ProcessFile, ProcessReport, ProcessRequest, SCRIPT, SCRIPT_READ};
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_core::template::Inherit;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde_json::Value;
use tokio::process::Command;

use crate::common::words::say;
use crate::common::{Stop, arguments, settle, spec};
use crate::run_command::border::{Confined, private_folder};
use crate::run_command::holding::holding;
use crate::run_command::process::{self, Bounds, End, Ended, NotRun};
use crate::run_command::{listed, only, over_words, reason, refuse_protected, temporary};

/// Environment variables that a process sees unless its author asks for others.
const SAFE: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TZ", "TERM"];

/// Environment variables for a process that nobody approved: nothing about the user's identity, nothing that opens a
/// door.
const UNASKED: [&str; 4] = ["PATH", "LANG", "TZ", "TERM"];

/// The tool.
#[derive(Debug)]
pub struct Script {
    spec: ToolSpec,
    reads: bool,
}

impl Script {
    /// For processes that may change the project.
    pub fn new() -> Self {
        let classes = (ToolEffect::Execute, RepeatClass::Once);
        let mut spec = spec(SCRIPT, &[], include_str!("description.md"), include_str!("schema.json"), classes);
        spec.exclusive = true;
        Self { spec, reads: false }
    }

    /// For processes that only read. `None` if the system cannot enforce that.
    pub fn reading() -> Option<Self> {
        let classes = (ToolEffect::Read, RepeatClass::Read);
        let spec = spec(SCRIPT_READ, &[], include_str!("description.md"), include_str!("schema.json"), classes);
        holding().holds_readers().then_some(Self { spec, reads: true })
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for Script {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(run(given, context, self.reads).await)
    }
}

async fn run(given: &Value, context: &ToolContext, reads: bool) -> Result<ToolOutcome, Stop> {
    let request: ProcessRequest = arguments(given)?;
    let folder = private_folder().map_err(|error| not_written(&error))?;
    let files = written(folder.path(), &request.files).map_err(|error| not_written(&error))?;
    let argv: Vec<String> = request.argv.iter().map(|word| filled(word, &files)).collect();
    let Some((program, rest)) = argv.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(Stop::failed("command-form", &[]));
    };
    let mut command = Command::new(program);
    command.args(rest).current_dir(context.workspace.root()).env_clear();
    let temporary = temporary(context)?;
    let confined = if reads {
        command.envs(unasked());
        Confined::reading(&context.workspace, true)
    } else {
        command.envs(inherited(request.inherit, context));
        Confined::to(&context.workspace)
    };
    command.envs(temporary.path().map(|folder| ("TMPDIR", folder)));
    command.envs(request.variables);
    let bounds = Bounds {
        timeout: context.timeout,
        cap: context.max_output_bytes,
        cancel: &context.cancel,
        confined: confined.seeing(folder.path()).with(&temporary),
        stdin: request.stdin.map(String::into_bytes),
    };
    match process::run(command, bounds).await {
        Ok(ended) => {
            let outcome = report(&ended)?;
            refuse_protected(&ended, &outcome)?;
            Ok(outcome)
        }
        Err(NotRun::Fault(fault)) => Err(Stop::Fault(fault)),
        Err(NotRun::Start(error)) => {
            Err(Stop::failed("command-not-started", &[("program", program), ("reason", &reason(&error))]))
        }
    }
}

fn not_written(error: &std::io::Error) -> Stop {
    Stop::Failed(say("script-file", &[("reason", error)]))
}

/// Writes the files into a folder that only this user can read. Returns their names with paths.
fn written(folder: &Path, files: &[ProcessFile]) -> std::io::Result<Vec<(String, String)>> {
    let mut paths = Vec::new();
    for (index, file) in files.iter().enumerate() {
        // An author chooses the suffix; only plain characters of it are used.
        let suffix: String = file.suffix.chars().filter(|c| c.is_ascii_alphanumeric() || ".-_".contains(*c)).collect();
        let path = folder.join(format!("file-{index}{suffix}"));
        std::fs::File::create_new(&path)?.write_all(file.content.as_bytes())?;
        paths.push((file.name.clone(), path.display().to_string()));
    }
    Ok(paths)
}

/// A word in which file paths replace their placeholders.
fn filled(word: &str, files: &[(String, String)]) -> String {
    let place = |text: String, (name, path): &(String, String)| text.replace(&format!("\0{name}\0"), path);
    files.iter().fold(word.to_owned(), place)
}

fn inherited(inherit: Inherit, context: &ToolContext) -> Variables {
    match inherit {
        Inherit::None => Vec::new(),
        Inherit::All => listed(&context.workspace.granted().variables).collect(),
        Inherit::Safe => only(&SAFE),
    }
}

/// What a process that nobody approved inherits, whatever its author asks for.
pub(crate) fn unasked() -> Variables {
    only(&UNASKED)
}

type Variables = Vec<(std::ffi::OsString, std::ffi::OsString)>;

pub(crate) fn report(ended: &Ended) -> Result<ToolOutcome, Stop> {
    let mut stderr = ended.stderr.clone();
    if let End::Over(over) = ended.end {
        stderr.push_str(&format!("\n[{}]\n", over_words(over)));
    }
    let report = ProcessReport {
        stdout: ended.stdout.clone(),
        stderr,
        exit_code: match ended.end {
            End::Code(code) => Some(code),
            End::Signal(_) | End::TimedOut | End::Over(_) => None,
        },
        timed_out: ended.end == End::TimedOut,
        truncated: ended.truncated,
    };
    let text = serde_json::to_string(&report).map_err(|error| Stop::Fault(ToolFault::Defect(error.to_string())))?;
    Ok(ToolOutcome::Output(text))
}
