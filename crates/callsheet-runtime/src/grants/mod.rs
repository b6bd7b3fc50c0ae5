//! Grants: what a person allows for longer than one answer (spec 11.14). Only the person's list counts. A project
//! cannot add to it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use callsheet_core::evaluate::{ProcessFile, ProcessRequest, SCRIPT};
use callsheet_core::nouns::{BlobId, RunId, Slug, ToolCall, ToolSpec};
use callsheet_core::run::Run;
use callsheet_core::template::Inherit;
use callsheet_core::visible::visible_line;
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::paths::{Granted, decides};

/// The tool that runs commands.
pub const RUN_COMMAND: &str = "run_command";

/// A permission that a person gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The number in the list. `grants revoke` takes it.
    pub n: u32,
    /// What is allowed.
    pub what: GrantedThing,
    /// Where it is allowed.
    #[serde(flatten)]
    pub scope: Scope,
    /// When it ends, in milliseconds since the Unix epoch. `None` means that it lasts until it is revoked.
    pub until: Option<u64>,
    /// When it was given, in milliseconds since the Unix epoch.
    pub since: u64,
}

/// Where something is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The project. `None` means everywhere.
    pub project: Option<PathBuf>,
    /// The run. `None` means any run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The task of the run, with its parts and items, and with the tasks of templates that it calls. `None` means any
    /// task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Slug>,
}

/// The run or task that would use a grant.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The run. `None` means no run in particular.
    pub run: Option<RunId>,
    /// The names of the task and of everything that contains it. Empty means the run itself.
    pub tasks: Vec<Slug>,
}

impl Caller {
    /// A task of a run.
    pub fn of(run: &Run, task: &Slug) -> Self {
        Self { run: run.id().cloned(), tasks: run.names_around(task) }
    }

    /// The template node that a task of a run executes.
    pub fn of_node(run: &Run, task: &Slug) -> Self {
        Self { run: run.id().cloned(), tasks: run.first_of_node(task).cloned().into_iter().collect() }
    }
}

impl Scope {
    /// Whether this scope includes a caller in a project.
    pub fn holds(&self, project: &Path, caller: &Caller) -> bool {
        self.project.as_deref().is_none_or(|own| own == project)
            && self.run.as_ref().is_none_or(|own| caller.run.as_ref() == Some(own))
            && self.task.as_ref().is_none_or(|own| caller.tasks.contains(own))
    }
}

/// What is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantedThing {
    /// A host that commands may connect to.
    Host(String),
    /// A folder that commands may write to.
    Write(PathBuf),
    /// A folder or file that commands may read.
    Read(PathBuf),
    /// A variable of the environment that commands see.
    Variable(String),
    /// A protected file or folder that commands may change. The path is below the project.
    Protected(PathBuf),
    /// Commands that run without approval.
    Command(CommandGrant),
    /// Calls of a server's tool that are made without approval.
    Tool(ToolGrant),
    /// The script of one template node, in every item and iteration of a run. The scope names the node's first task.
    Script,
    /// Changes that are applied without approval: those to files below the project that match this pattern.
    Changes(String),
    /// Runs and approvals from elsewhere, if they are signed with this key.
    Approver(String),
}

impl GrantedThing {
    /// The text that people read, such as `host crates.io`.
    pub fn shown(&self) -> String {
        let path = |path: &Path| visible_line(&path.display().to_string());
        match self {
            Self::Host(host) => format!("host {}", visible_line(host)),
            Self::Write(folder) => format!("write {}", path(folder)),
            Self::Read(shown) => format!("read {}", path(shown)),
            Self::Variable(name) => format!("variable {}", visible_line(name)),
            Self::Protected(below) => format!("protected {}", path(below)),
            Self::Command(command) => format!("command {}", command.shown()),
            Self::Tool(tool) => format!("tool {}", visible_line(&tool.tool)),
            Self::Script => "script".to_owned(),
            Self::Changes(pattern) => format!("changes {}", visible_line(pattern)),
            Self::Approver(key) => format!("approver {}", visible_line(key)),
        }
    }
}

/// A server's tool as it was when a person granted it. If the tool changes, the grant no longer counts (spec 13.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolGrant {
    /// The canonical name of the tool.
    pub tool: String,
    /// The hash of the server's place and of the tool's declaration.
    pub hash: BlobId,
}

impl ToolGrant {
    /// Grants a tool as it is now. `None` if the tool does not come from a server, because then it cannot be granted.
    pub fn of(spec: &ToolSpec) -> Option<Self> {
        spec.granted_as.clone().map(|hash| Self { tool: spec.name.clone(), hash })
    }
}

/// A command as people and models write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// One text: a line for the shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// The commands that run without approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandGrant {
    /// The program and its first arguments, or a whole line for the shell.
    pub command: CommandLine,
    /// The project folder in which they run. Empty means the root of the project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cwd: String,
}

/// A call that would run a command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CommandCall {
    /// What it runs.
    pub command: CommandLine,
    /// The folder in which the call runs it.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// Makes a matcher for files below the project. `*` matches within one folder only.
///
/// # Errors
/// The pattern is not a glob.
pub fn file_pattern(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(true).build()?.compile_matcher())
}

/// The grants that together cover changes to all these files of a project. `None` if a file is not covered. No grant
/// covers a file that may decide what runs later or what a model reads.
pub fn covering_changes<'a>(grants: &'a [Grant], project: &Path, files: &[&str]) -> Option<BTreeSet<u32>> {
    let pattern = |grant: &'a Grant| match &grant.what {
        GrantedThing::Changes(pattern) => Some((grant.n, file_pattern(pattern).ok()?)),
        _ => None,
    };
    let patterns: Vec<(u32, GlobMatcher)> = grants.iter().filter_map(pattern).collect();
    let covers = |file: &&str| patterns.iter().find(|(_, pattern)| pattern.is_match(file)).map(|(n, _)| *n);
    let covering = |file: &&str| covers(file).filter(|_| !decides(project, Path::new(file)));
    files.iter().map(covering).collect::<Option<BTreeSet<u32>>>().filter(|grants| !grants.is_empty())
}

impl CommandCall {
    /// The command of a `run_command` call, or of a script that may write, sets no variables and does not get the whole
    /// environment. `None` for other calls. A file that is written for the script appears as its placeholder.
    pub fn of(call: &ToolCall) -> Option<Self> {
        match call.name.as_str() {
            RUN_COMMAND => Self::deserialize(&call.arguments).ok(),
            SCRIPT => {
                let request = ProcessRequest::deserialize(&call.arguments).ok()?;
                let is_plain = request.variables.is_empty() && request.inherit != Inherit::All;
                let name = |word: String, file: &ProcessFile| {
                    word.replace(&format!("\0{}\0", file.name), &format!("{{{{files.{}}}}}", file.name))
                };
                let words = request.argv.iter().map(|word| request.files.iter().fold(word.clone(), name));
                is_plain.then(|| Self { command: CommandLine::Words(words.collect()), cwd: None })
            }
            _ => None,
        }
    }

    /// Makes a grant for commands that begin with the first `words` of this one, in the same folder. For a line for the
    /// shell, the grant allows exactly this line.
    pub fn grant(&self, words: usize) -> CommandGrant {
        let command = match &self.command {
            CommandLine::Words(all) => CommandLine::Words(all.iter().take(words).cloned().collect()),
            CommandLine::Shell(line) => CommandLine::Shell(line.clone()),
        };
        CommandGrant { command, cwd: plain_folder(self.cwd.as_deref().unwrap_or_default()) }
    }

    /// The words of the command. A line for the shell counts as one word.
    pub fn words(&self) -> &[String] {
        match &self.command {
            CommandLine::Words(words) => words,
            CommandLine::Shell(line) => std::slice::from_ref(line),
        }
    }
}

/// The words of a line for the shell, if each character of them stands only for itself. `None` if the line has anything
/// that a shell could read in another way, such as a quote, a variable, a pattern or a second command.
fn plain_words(line: &str) -> Option<Vec<String>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,= ".contains(c);
    let words: Vec<String> = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let assigns = words.first().is_some_and(|program| program.contains('='));
    (line.chars().all(is_plain) && !assigns).then_some(words)
}

impl CommandGrant {
    /// Whether this grant allows the call's command. Whole words are compared, so a longer word does not match. A line for
    /// the shell counts as its words if the shell would run exactly these.
    pub fn covers(&self, call: &CommandCall) -> bool {
        let in_folder = plain_folder(call.cwd.as_deref().unwrap_or_default()) == self.cwd;
        in_folder
            && match (&self.command, &call.command) {
                (CommandLine::Words(first), CommandLine::Words(all)) => !first.is_empty() && all.starts_with(first),
                (CommandLine::Words(first), CommandLine::Shell(line)) => {
                    !first.is_empty() && plain_words(line).is_some_and(|all| all.starts_with(first))
                }
                (CommandLine::Shell(line), CommandLine::Shell(other)) => line == other,
                (CommandLine::Shell(_), CommandLine::Words(_)) => false,
            }
    }

    /// Whether the call's command has these words and no others.
    pub fn is_exactly(&self, call: &CommandCall) -> bool {
        let words = match &call.command {
            CommandLine::Words(words) => Some(words.len()),
            CommandLine::Shell(line) => plain_words(line).map(|words| words.len()),
        };
        self.covers(call) && matches!(&self.command, CommandLine::Words(own) if words == Some(own.len()))
    }

    /// The text that people read, such as `cargo test …`.
    pub fn shown(&self) -> String {
        let what = match &self.command {
            CommandLine::Words(words) => format!("{} …", command_text(words)),
            CommandLine::Shell(line) => format!("the line `{}`", visible_line(line)),
        };
        if self.cwd.is_empty() { what } else { format!("{what} in {}", visible_line(&self.cwd)) }
    }
}

impl Grant {
    /// Whether this grant counts for a caller in a project at this time.
    pub fn counts(&self, project: &Path, caller: &Caller, now_ms: u64) -> bool {
        self.scope.holds(project, caller) && !self.has_ended(now_ms)
    }

    /// Whether the grant has expired.
    pub fn has_ended(&self, now_ms: u64) -> bool {
        self.until.is_some_and(|until| until <= now_ms)
    }

    /// Tells a person what was just allowed.
    pub fn told(&self) -> String {
        let of_task = |task: &Slug| format!(" by {}", visible_line(task.as_str()));
        let by = self.scope.task.as_ref().map(of_task).unwrap_or_default();
        let of_run = if self.scope.run.is_some() { " in this run" } else { "" };
        let (n, what) = (self.n, self.what.shown());
        format!("grant {n}: {what}{by}{of_run} (revoke it: callsheet grants revoke {n})")
    }

    /// Adds what this grant allows commands to do. A grant that only answers gates adds nothing.
    pub fn add_to(&self, granted: &mut Granted) {
        match &self.what {
            GrantedThing::Host(host) => granted.hosts.push(host.clone()),
            GrantedThing::Write(folder) => granted.writable.push(folder.clone()),
            GrantedThing::Read(path) => granted.shown.push(path.clone()),
            GrantedThing::Variable(name) => granted.variables.push(name.clone()),
            GrantedThing::Protected(below) => granted.protected.push(below.clone()),
            GrantedThing::Command(_)
            | GrantedThing::Tool(_)
            | GrantedThing::Script
            | GrantedThing::Changes(_)
            | GrantedThing::Approver(_) => {}
        }
    }
}

/// Words quoted as for a shell, so that a person sees where each word ends. Invisible characters are made visible.
pub fn command_text(words: &[String]) -> String {
    let plain =
        |word: &String| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "/._-+=@,:".contains(c));
    let quoted = |word: &String| format!("'{}'", visible_line(word).replace('\'', r"'\''"));
    let words = words.iter().map(|word| if plain(word) { word.clone() } else { quoted(word) });
    words.collect::<Vec<_>>().join(" ")
}

/// Normalises a project folder: `./a/` becomes `a`.
fn plain_folder(folder: &str) -> String {
    let parts = Path::new(folder).components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().display().to_string()
}

#[cfg(test)]
mod tests;
