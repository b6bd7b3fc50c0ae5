//! A git branch for a run (spec 3.17). Each applied change set becomes one commit. If the process ends between a change
//! set and its commit, the commit is made when the run is resumed.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::run::{AppliedSet, Run, TaskRun};
use callsheet_core::visible::{visible, visible_line};

use crate::paths::{Workspace, host_program};
use crate::ports::Store;

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

/// Makes the commits that are missing of a run that rests, because git refused them or the process ended before. Blocks
/// while git works. If a commit fails, `tell` gets the reason.
pub fn commit_late(workspace: &Workspace, store: &dyn Store, run: &Run, tell: &dyn Fn(&str)) {
    Commits::default().look(workspace, store, run, tell);
}

impl Commits {
    /// Makes one commit for each change set that was applied or undone since the last look. Blocks while git works. If
    /// a commit fails, the files stay as they are, `tell` gets the reason once, and the next look tries again.
    pub(crate) fn look(&mut self, workspace: &Workspace, store: &dyn Store, run: &Run, tell: &dyn Fn(&str)) {
        let Some(branch) = &run.settings().branch else { return };
        if let Err(fault) = self.commit_all(workspace, store, (run, branch), tell)
            && !std::mem::replace(&mut self.told, true)
        {
            tell(&format!("note: changes are on disk but not committed to {branch}: {fault}"));
        }
    }

    fn commit_all(
        &mut self,
        workspace: &Workspace,
        store: &dyn Store,
        (run, branch): (&Run, &str),
        tell: &dyn Fn(&str),
    ) -> Result<(), BranchFault> {
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
                for path in git.commit(applied, &message(task, applied, &name), store)? {
                    let (task, path) = (&task.task.slug, visible_line(&path));
                    tell(&format!(
                        "note: the commit of {task} also contains your own edits of {path}, because they are in the same or adjacent lines"
                    ));
                }
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

    /// Commits what a change set changed, and nothing else. Leaves out files that git ignores and files without a
    /// difference. If no file remains, makes no commit. Returns the files that contain other changes of the same or
    /// adjacent lines, which the commit contains too.
    fn commit(&self, applied: &AppliedSet, message: &str, store: &dyn Store) -> Result<Vec<String>, BranchFault> {
        let paths = applied.changes.files.iter().map(|file| file.path.as_str());
        let words = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"];
        let listed = self.text(&words.into_iter().chain(paths).collect::<Vec<_>>())?;
        let listed: BTreeSet<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        if self.run(&["rev-parse", "--verify", "--quiet", "MERGE_HEAD"])?.status.success() {
            return Err(BranchFault::Git("a merge is not finished".to_owned()));
        }
        let has_commits = self.run(&["rev-parse", "--verify", "--quiet", "HEAD"])?.status.success();
        let prefix = self.text(&["rev-parse", "--show-prefix"])?;
        let (mut rows, mut mixed) = (Rows::default(), Vec::new());
        for file in &applied.changes.files {
            let head = if has_commits { self.in_head(&file.path)? } else { None };
            // A file that is in no commit and not listed is ignored. One whose removal is staged is not listed either.
            if head.is_none() && !listed.contains(file.path.as_str()) {
                continue;
            }
            let (from, to) = if applied.reverted { (&file.after, &file.before) } else { (&file.before, &file.after) };
            let (from, to) =
                (self.stored(&file.path, from.as_ref(), store)?, self.stored(&file.path, to.as_ref(), store)?);
            let (mode, head) = head.unzip();
            let change = [from.as_deref(), to.as_deref()];
            let (blob, is_mixed) = self.changed(head.as_deref(), change)?;
            mixed.extend((is_mixed && head != to).then(|| file.path.clone()));
            if blob == head {
                continue;
            }
            // What the person staged of the file stays staged.
            let staged = self.staged(&file.path)?.filter(|staged| Some(staged) != head.as_ref());
            let staged = staged.map(|staged| self.changed(Some(&staged), change)).transpose()?.map(|(blob, _)| blob);
            let mode = mode.unwrap_or_else(|| self.mode(&file.path).to_owned());
            let none = "0".repeat(head.as_deref().map_or(0, str::len));
            let row = |blob: Option<&str>| {
                let row = blob.map_or(format!("0 {none}"), |blob| format!("{mode} {blob}"));
                format!("{row}\t{}{}\0", prefix.trim_end_matches('\n'), file.path)
            };
            rows.of_commit.push_str(&row(blob.as_deref()));
            rows.of_index.push_str(&row(staged.as_ref().unwrap_or(&blob).as_deref()));
        }
        if !rows.of_commit.is_empty() {
            self.commit_rows(&rows, message, has_commits)?;
        }
        Ok(mixed)
    }

    /// Makes a commit with these rows of an index. The person's index keeps its other rows.
    fn commit_rows(&self, rows: &Rows, message: &str, has_commits: bool) -> Result<(), BranchFault> {
        let update = ["update-index", "-z", "--index-info"];
        fed(self.command(&update), rows.of_index.as_bytes())?;
        let folder = tempfile::tempdir().map_err(|error| BranchFault::Git(error.to_string()))?;
        let index = folder.path().join("index");
        let command = |words: &[&str]| {
            let mut command = self.command(words);
            command.env("GIT_INDEX_FILE", &index);
            command
        };
        fed(command(&["read-tree", if has_commits { "HEAD" } else { "--empty" }]), b"")?;
        fed(command(&update), rows.of_commit.as_bytes())?;
        fed(command(&["commit", "--quiet", "--cleanup=whitespace", "--file=-"]), message.as_bytes()).map(|_| ())
    }

    /// The mode and the blob of a file in the newest commit.
    fn in_head(&self, path: &str) -> Result<Option<(String, String)>, BranchFault> {
        let line = self.text(&["ls-tree", "-z", "HEAD", "--", path])?;
        let mut words = line.split([' ', '\t']);
        Ok(words.next().zip(words.nth(1)).map(|(mode, blob)| (mode.to_owned(), blob.to_owned())))
    }

    /// The mode for a file that is in no commit.
    fn mode(&self, path: &str) -> &'static str {
        let known = std::fs::symlink_metadata(self.workspace.root().join(path));
        if known.is_ok_and(|known| known.permissions().mode() & 0o100 != 0) { "100755" } else { "100644" }
    }

    /// A recorded content of a file as a blob of the repository.
    fn stored(&self, path: &str, id: Option<&BlobId>, store: &dyn Store) -> Result<Option<String>, BranchFault> {
        let Some(id) = id else { return Ok(None) };
        let content = store.blob(id).map_err(|fault| BranchFault::Git(fault.to_string()))?;
        let blob = fed(self.command(&["hash-object", "-w", "--stdin", "--path", path]), &content)?;
        Ok(Some(blob.trim().to_owned()))
    }

    /// The blob of a file in the person's index.
    fn staged(&self, path: &str) -> Result<Option<String>, BranchFault> {
        let line = self.text(&["ls-files", "--stage", "-z", "--", path])?;
        Ok(line.split([' ', '\t']).nth(1).map(str::to_owned))
    }

    /// A content of a file with what the change set changed of it. Where both changed the same or adjacent lines, the
    /// content of the change set counts, and the flag is set.
    fn changed(
        &self,
        content: Option<&str>,
        [from, to]: [Option<&str>; 2],
    ) -> Result<(Option<String>, bool), BranchFault> {
        let all_of_it = || to.map(str::to_owned);
        let (Some(content), Some(from), Some(to)) = (content, from, to) else {
            return Ok((all_of_it(), content != from));
        };
        if content == from {
            return Ok((all_of_it(), false));
        }
        let folder = tempfile::tempdir().map_err(|error| BranchFault::Git(error.to_string()))?;
        let mut files = Vec::new();
        for (name, blob) in [("content", content), ("from", from), ("to", to)] {
            let content = self.run(&["cat-file", "blob", blob])?;
            let file = folder.path().join(name);
            std::fs::write(&file, content.stdout).map_err(|error| BranchFault::Git(error.to_string()))?;
            files.push(file.to_string_lossy().into_owned());
        }
        for (favour, is_mixed) in [(None, false), (Some("--theirs"), true)] {
            let words = ["merge-file", "--stdout", "--quiet"].into_iter().chain(favour);
            let merged = self.run(&words.chain(files.iter().map(String::as_str)).collect::<Vec<_>>())?;
            if merged.status.success() {
                let blob = fed(self.command(&["hash-object", "-w", "--stdin"]), &merged.stdout)?;
                return Ok((Some(blob.trim().to_owned()), is_mixed));
            }
        }
        // Binary files are not merged.
        Ok((all_of_it(), true))
    }
}

/// Rows for `git update-index`.
#[derive(Debug, Default)]
struct Rows {
    /// The files as the commit contains them.
    of_commit: String,
    /// The same files as the person's index contains them.
    of_index: String,
}

/// The output of a successful command that reads this input.
fn fed(mut command: Command, input: &[u8]) -> Result<String, BranchFault> {
    let fault = |error: std::io::Error| BranchFault::Git(error.to_string());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(fault)?;
    // If the command ends before it has read everything, its message says why.
    let _unread = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    checked(child.wait_with_output().map_err(fault)?)
}

fn checked(output: Output) -> Result<String, BranchFault> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    // Git gives the reason first, and then advice.
    let line = lines.next().unwrap_or("it failed without a message");
    Err(BranchFault::Git(visible_line(line)))
}
