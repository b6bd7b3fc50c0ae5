//! A git branch for a run (spec 3.17): each applied change set is one commit. A commit can be made later than its
//! change set, so a process that ended between the two leaves no gap.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use callsheet_core::nouns::Slug;
use callsheet_core::record::ChangeSet;
use callsheet_core::run::{AppliedSet, Run, TaskRun};
use callsheet_core::visible::{visible, visible_line};

use crate::paths::{Workspace, host_program};

/// The trailer that names the change set of a commit.
const TRAILER: &str = "Callsheet-Change";

/// How many commits of a branch are searched for change sets.
const COMMITS: &str = "--max-count=10000";

/// The most characters of the first line of a message.
const SUBJECT: usize = 72;

/// The most characters of the text below it.
const BODY: usize = 2_000;

/// Variables that say who commits, and where git finds its configuration. No other variable reaches git.
const INHERITED: [&str; 11] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "EMAIL",
    "USER",
    "LOGNAME",
    "TZ",
];

/// Why a run can't work on a branch. A person can mend each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BranchFault {
    /// There is no git outside the project.
    #[error("there is no git on this machine")]
    NoGit,
    /// The project is in no repository.
    #[error("the project is not in a git repository; create one with `git init`")]
    NoRepository,
    /// No branch can have this name.
    #[error("{0} can't be the name of a branch")]
    BadName(String),
    /// The branch exists and is not checked out.
    #[error("there is a branch {0} already; switch to it with `git switch {0}`, or give another name")]
    Exists(String),
    /// Tracked files have changes that are in no commit. A run would commit them as its own.
    #[error("{0} has changes that are in no commit; commit them or put them aside with `git stash`")]
    Uncommitted(String),
    /// The repository itself names a program that git would start for each added file.
    #[error(
        "the repository's configuration starts a program ({0}); if you trust it, set this in your own configuration"
    )]
    Program(String),
    /// Git says why.
    #[error("git says: {0}")]
    Git(String),
}

/// Switches the project to a new branch, unless it is on the branch already.
///
/// # Errors
/// See `BranchFault`. Nothing was changed then.
pub fn begin(workspace: &Workspace, branch: &str) -> Result<(), BranchFault> {
    let git = Git::of(workspace)?;
    if !git.run(&["rev-parse", "--is-inside-work-tree"])?.status.success() {
        return Err(BranchFault::NoRepository);
    }
    if branch.starts_with('-') || !git.run(&["check-ref-format", "--branch", branch])?.status.success() {
        return Err(BranchFault::BadName(visible_line(branch)));
    }
    git.refuse_programs()?;
    let words = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=all"];
    let changed = git.text(&words)?;
    if let Some(first) = changed.split('\0').find_map(|line| line.get(3..)) {
        return Err(BranchFault::Uncommitted(visible_line(first)));
    }
    if git.current()?.as_deref() == Some(branch) {
        return Ok(());
    }
    let reference = format!("refs/heads/{branch}");
    if git.run(&["show-ref", "--verify", "--quiet", &reference])?.status.success() {
        return Err(BranchFault::Exists(branch.to_owned()));
    }
    git.text(&["switch", "--quiet", "--create", branch]).map(|_| ())
}

/// The commits of one run.
#[derive(Default)]
pub(crate) struct Commits {
    /// The change sets that are in a commit. `None` before the first look.
    known: Option<BTreeSet<String>>,
    /// The counter of the run at the last look.
    looks: u64,
    /// Whether a person was told why a commit is missing.
    told: bool,
}

impl Commits {
    /// Commits the change sets that were applied or undone since the last look, each by itself. Blocks while git works.
    /// If a commit is not possible, the files stay as they are, `tell` gets the reason once, and a later look tries again.
    pub(crate) fn look(&mut self, workspace: &Workspace, run: &Run, tell: &dyn Fn(&str)) {
        let Some(branch) = &run.settings().branch else { return };
        if let Err(fault) = self.commit_all(workspace, run, branch)
            && !std::mem::replace(&mut self.told, true)
        {
            tell(&format!("note: changes on disk are not committed to {branch}: {fault}"));
        }
    }

    fn commit_all(&mut self, workspace: &Workspace, run: &Run, branch: &str) -> Result<(), BranchFault> {
        let tasks: Vec<&TaskRun> = match &self.known {
            None => run.all_tasks().collect(),
            Some(_) => run.changed_since(self.looks).into_iter().map(|(_, task, _)| task).collect(),
        };
        if tasks.iter().all(|task| task.applied.is_empty()) {
            return Ok(());
        }
        let git = Git::of(workspace)?;
        git.refuse_programs()?;
        if self.known.is_none() {
            self.known = Some(git.committed()?);
        }
        let known = self.known.get_or_insert_default();
        let id = run.id().map(ToString::to_string).unwrap_or_default();
        for task in tasks {
            for applied in &task.applied {
                let name = name_of(&id, &task.task.slug, applied);
                if known.contains(&name) {
                    continue;
                }
                if git.current()?.as_deref() != Some(branch) {
                    return Err(BranchFault::Git(format!("the project is not on the branch {branch}")));
                }
                git.commit(&applied.changes, &message(task, applied, &name))?;
                known.insert(name);
            }
        }
        self.looks = run.looks();
        Ok(())
    }
}

/// The name of a change set in a trailer.
fn name_of(run: &str, task: &Slug, applied: &AppliedSet) -> String {
    let undone = if applied.reverted { "/undone" } else { "" };
    format!("{run}/{task}/{}{undone}", applied.set)
}

/// The message of a commit: the task's name, what is needed, and the change set.
fn message(task: &TaskRun, applied: &AppliedSet, name: &str) -> String {
    let undo = if applied.reverted { "Undo: " } else { "" };
    let subject: String = visible_line(task.task.name.trim()).chars().take(SUBJECT - undo.len()).collect();
    let body: String = visible(task.task.need.trim()).chars().take(BODY).collect();
    format!("{undo}{subject}\n\n{body}\n\n{TRAILER}: {name}\n")
}

/// Git in the folder of a project. It runs no hook and signs nothing, because both start programs that nobody approved.
struct Git<'a> {
    program: std::path::PathBuf,
    workspace: &'a Workspace,
}

impl<'a> Git<'a> {
    fn of(workspace: &'a Workspace) -> Result<Self, BranchFault> {
        let program = host_program("git", &workspace.changeable()).ok_or(BranchFault::NoGit)?;
        Ok(Self { program, workspace })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.env_clear().envs(inherited).env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_LITERAL_PATHSPECS", "1");
        for setting in ["core.hooksPath=/dev/null", "core.fsmonitor=false", "commit.gpgSign=false"] {
            command.args(["-c", setting]);
        }
        command.args(words).current_dir(self.workspace.root()).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Result<Output, BranchFault> {
        self.command(words).output().map_err(|error| BranchFault::Git(error.to_string()))
    }

    /// What a successful command prints.
    fn text(&self, words: &[&str]) -> Result<String, BranchFault> {
        checked(self.run(words)?)
    }

    /// Refuses filters of file contents that the repository's own configuration names. Those of the person are theirs.
    fn refuse_programs(&self) -> Result<(), BranchFault> {
        let words =
            ["config", "--show-scope", "--includes", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];
        let output = self.run(&words)?;
        let listed = String::from_utf8_lossy(&output.stdout);
        let of_repository = |line: &str| {
            let (scope, name) = line.split_once('\t')?;
            matches!(scope, "local" | "worktree").then(|| visible_line(name))
        };
        listed.lines().find_map(of_repository).map_or(Ok(()), |name| Err(BranchFault::Program(name)))
    }

    /// The branch that is checked out, if any.
    fn current(&self) -> Result<Option<String>, BranchFault> {
        let output = self.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }

    /// The change sets that the commits of the branch name.
    fn committed(&self) -> Result<BTreeSet<String>, BranchFault> {
        if !self.run(&["rev-parse", "--verify", "--quiet", "HEAD"])?.status.success() {
            return Ok(BTreeSet::new());
        }
        let format = format!("--format=%(trailers:key={TRAILER},valueonly)");
        let text = self.text(&["log", COMMITS, "--no-show-signature", &format])?;
        Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// Commits the files of a change set, and nothing else. Files that git ignores, and files without a difference, are
    /// left out; there is no commit if that leaves none.
    fn commit(&self, changes: &ChangeSet, message: &str) -> Result<(), BranchFault> {
        for file in &changes.files {
            // Git refuses an ignored file, and a deleted one that it did not know. Neither belongs into the commit.
            let added = self.run(&["add", "--all", "--", &file.path])?;
            if !added.status.success() {
                tracing::debug!(path = file.path, "git does not add a file");
            }
        }
        let paths = changes.files.iter().map(|file| file.path.as_str());
        let words = ["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative", "--"];
        let staged = self.text(&words.into_iter().chain(paths).collect::<Vec<_>>())?;
        let staged: Vec<&str> = staged.split('\0').filter(|path| !path.is_empty()).collect();
        if staged.is_empty() {
            return Ok(());
        }
        let words = ["commit", "--quiet", "--only", "--cleanup=whitespace", "--file=-", "--"];
        let mut command = self.command(&words.into_iter().chain(staged).collect::<Vec<_>>());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| BranchFault::Git(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(message.as_bytes()).map_err(|error| BranchFault::Git(error.to_string()))?;
        }
        checked(child.wait_with_output().map_err(|error| BranchFault::Git(error.to_string()))?).map(|_| ())
    }
}

fn checked(output: Output) -> Result<String, BranchFault> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed without a message");
    Err(BranchFault::Git(visible_line(line)))
}
