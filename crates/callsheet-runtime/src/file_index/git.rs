//! The commit that last changed each file, as far as `git` tells: one process, one pass, no shell.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::paths::{Workspace, host_program};

/// How many commits are searched.
const COMMITS: &str = "--max-count=5000";
/// How many bytes of output are read.
const MOST: u64 = 64 * 1024 * 1024;
/// Begins the line of a commit. No path contains it.
const MARK: char = '\u{1}';

/// Date and subject of the last commit of each file of a project. Empty if there is no repository or no `git`. Nothing
/// that a repository's configuration may name is started.
pub(super) fn last_commits(workspace: &Workspace) -> BTreeMap<String, String> {
    let root = workspace.root();
    let Some(git) = host_program("git", &workspace.changeable()) else { return BTreeMap::new() };
    let mut command = Command::new(git);
    // Nobody approved this process, so it inherits no secret, and it does not fetch what a repository lacks.
    let path = std::env::var_os("PATH").map(|path| ("PATH", path));
    command.env_clear().envs(path).envs([("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")]);
    command
        .args([
            "--no-pager",
            "-c",
            "log.showSignature=false",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.quotePath=false",
        ])
        .args([
            "log",
            COMMITS,
            "--no-mailmap",
            "--no-renames",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--name-only",
        ])
        .args(["--relative", "--format=%x01%cs %s", "--", "."])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for key in crate::transport_policy::withheld() {
        command.env_remove(key);
    }
    let Ok(mut child) = command.spawn() else { return BTreeMap::new() };
    let mut out = BTreeMap::new();
    if let Some(stdout) = child.stdout.take() {
        let mut commit = String::new();
        let mut reader = BufReader::new(stdout.take(MOST));
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches('\n');
            match text.strip_prefix(MARK) {
                Some(words) => commit = words.to_owned(),
                None if text.is_empty() => {}
                None => drop(out.entry(text.to_owned()).or_insert_with(|| commit.clone())),
            }
            line.clear();
        }
    }
    // It ends by itself when its output is closed.
    if let Err(error) = child.wait() {
        tracing::debug!(%error, "git");
    }
    out
}
