//! A git branch for a run (spec 3.17). Each applied change set becomes one commit. If the process ends between a change
//! set and its commit, the commit is made when the run is resumed.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use callsheet_core::nouns::Slug;
use callsheet_core::record::ChangeSet;
use callsheet_core::run::{AppliedSet, Run, TaskRun};
use callsheet_core::visible::{visible, visible_line};

use crate::paths::{Workspace, host_program};

/// The trailer of a commit that names its change set.
const TRAILER: &str = "Callsheet-Change";

/// Searches only the newest commits of a branch for change sets.
const COMMITS: &str = "--max-count=10000";

/// Most characters in the first line of a commit message.
const SUBJECT: usize = 72;

/// Most characters of the text below the first line.
const BODY: usize = 2_000;

/// The variables of the user that git gets. They say who commits, and where git finds its configuration.
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

/// Why a run can't work on a branch. A person can fix each of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BranchFault {
    /// No folder of the `PATH` that commands cannot change contains git.
    #[error("git can't be found; install it, or add its folder to the PATH")]
    NoGit,
    /// The project is not in a git repository.
    #[error("the project is not in a git repository; create one with `git init`")]
    NoRepository,
    /// No branch can have this name.
    #[error("{0} can't be the name of a branch")]
    BadName(String),
    /// The branch exists and is not checked out.
    #[error("the branch {0} exists already; switch to it with `git switch {0}`, or choose another name")]
    Exists(String),
    /// Tracked files have uncommitted changes, which the run would commit as its own.
    #[error("{0} has uncommitted changes; commit them, or set them aside with `git stash`")]
    Uncommitted(String),
    /// The repository itself names a program that git would start for each added file.
    #[error(
        "the repository's configuration starts a program ({0}); if you trust it, move this to your own configuration"
    )]
    Program(String),
    /// The run works on a branch that is not checked out.
    #[error("the project is not on the branch {0}, on which the run works; switch to it: git switch {0}")]
    Elsewhere(String),
    /// Git knows no name and address for commits.
    #[error("git does not know who commits; set `git config user.name` and `git config user.email`")]
    NoIdentity,
    /// Git failed with this message.
    #[error("git says: {0}")]
    Git(String),
}

/// Switches the project to a new branch, unless it is on the branch already.
///
/// # Errors
/// See [`BranchFault`]. After an error, nothing has changed.
pub fn begin(workspace: &Workspace, branch: &str) -> Result<(), BranchFault> {
    let git = Git::of(workspace)?;
    if !git.run(&["rev-parse", "--is-inside-work-tree"])?.status.success() {
        return Err(BranchFault::NoRepository);
    }
    if branch.starts_with('-') || !git.run(&["check-ref-format", "--branch", branch])?.status.success() {
        return Err(BranchFault::BadName(visible_line(branch)));
    }
    git.refuse_programs()?;
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if !git.run(&["var", who])?.status.success() {
            return Err(BranchFault::NoIdentity);
        }
    }
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

/// Refuses to change files while another branch is checked out than the one on which the run works. Blocks while git
/// works.
///
/// # Errors
/// Another branch is checked out, or git can't be asked.
pub(crate) fn refuse_elsewhere(workspace: &Workspace, branch: &str) -> Result<(), BranchFault> {
    match Git::of(workspace)?.current()? {
        Some(current) if current == branch => Ok(()),
        _ => Err(BranchFault::Elsewhere(branch.to_owned())),
    }
}

/// The commits of one run.
#[derive(Default)]
pub(crate) struct Commits {
    /// The change sets that have a commit. `None` before the first look.
    known: Option<BTreeSet<String>>,
    /// The change counter of the run at the last look.
    looks: u64,
    /// Whether the person was told that a commit is missing.
    told: bool,
}

impl Commits {
    /// Makes one commit for each change set that was applied or undone since the last look. Blocks while git works. If
    /// a commit fails, the files stay as they are, `tell` gets the reason once, and the next look tries again.
    pub(crate) fn look(&mut self, workspace: &Workspace, run: &Run, tell: &dyn Fn(&str)) {
        let Some(branch) = &run.settings().branch else { return };
        if let Err(fault) = self.commit_all(workspace, run, branch)
            && !std::mem::replace(&mut self.told, true)
        {
            tell(&format!("note: changes are on disk but not committed to {branch}: {fault}"));
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
                    return Err(BranchFault::Elsewhere(branch.to_owned()));
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

/// The message of a commit: the task's name, what it needed, and the trailer with the change set.
fn message(task: &TaskRun, applied: &AppliedSet, name: &str) -> String {
    let undo = if applied.reverted { "Undo: " } else { "" };
    let subject: String = visible_line(task.task.name.trim()).chars().take(SUBJECT - undo.len()).collect();
    let body: String = visible(task.task.need.trim()).chars().take(BODY).collect();
    format!("{undo}{subject}\n\n{body}\n\n{TRAILER}: {name}\n")
}

/// Git in the project folder. It runs no hooks and signs nothing, because both would start programs that nobody
/// approved.
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

    /// The output of a successful command.
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

    /// The change sets that have a commit on the branch.
    fn committed(&self) -> Result<BTreeSet<String>, BranchFault> {
        if !self.run(&["rev-parse", "--verify", "--quiet", "HEAD"])?.status.success() {
            return Ok(BTreeSet::new());
        }
        let format = format!("--format=%(trailers:key={TRAILER},valueonly)");
        let text = self.text(&["log", COMMITS, "--no-show-signature", &format])?;
        Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// Commits the files of a change set, and nothing else. Leaves out files that git ignores and files without a
    /// difference. If no file remains, makes no commit.
    fn commit(&self, changes: &ChangeSet, message: &str) -> Result<(), BranchFault> {
        let paths = changes.files.iter().map(|file| file.path.as_str());
        let words = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"];
        let listed = self.text(&words.into_iter().chain(paths.clone()).collect::<Vec<_>>())?;
        let listed: BTreeSet<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        if listed.is_empty() {
            return Ok(());
        }
        self.text(&["add", "--all", "--"].into_iter().chain(listed).collect::<Vec<_>>())?;
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
