//! `check_changes`: runs a command of the user's configuration on a copy of the project with changes that are not on
//! disk (spec 10.10). No model is offered this tool; it starts only what the user configured.

use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path};

use async_trait::async_trait;
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_runtime::paths::{has_plain_ignore_files, is_settled_folder, open_settled, read_link_settled};
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use ignore::WalkBuilder;
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use crate::common::{Stop, Ticket, arguments, settle, spec};
use crate::run_command::border::{Confined, private_folder};
use crate::run_command::holding::holding;
use crate::run_command::process::{self, Bounds, NotRun};
use crate::run_command::{of_command, reason, temporary};
use crate::script::report;

/// The maximum number of bytes of a project that are copied.
const MOST: u64 = 1 << 30;

/// Folders that are not copied: version control, and Callsheet's own folder.
const LEFT_OUT: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".callsheet"];

/// The tool.
#[derive(Debug)]
pub struct CheckChanges(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    argv: Vec<String>,
    files: Vec<ChangedFile>,
}

/// A file after the changes.
#[derive(Deserialize)]
struct ChangedFile {
    path: String,
    /// `None` if the file is deleted.
    content: Option<String>,
}

impl CheckChanges {
    /// The tool.
    pub fn new() -> Self {
        let classes = (ToolEffect::Execute, RepeatClass::Idempotent);
        let (description, schema) = (include_str!("description.md"), include_str!("schema.json"));
        Self(spec("check_changes", &[], description, schema, classes))
    }
}

impl Default for CheckChanges {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for CheckChanges {
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
    let Some((program, rest)) = wanted.argv.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err(Stop::failed("command-form", &[]));
    };
    // Nobody has approved the changes whose code the command is about to run.
    if !holding().is_whole() && !context.workspace.granted().contained {
        return Err(Stop::failed("check-unheld", &[]));
    }
    let temporary = temporary(context)?;
    let folder = private_folder().map_err(|error| not_copied(&error))?;
    // The project itself is not writable: what the command creates disappears with the copy.
    let copy = folder.path().join("project");
    let (from, to, ticket) =
        (context.workspace.root().to_path_buf(), copy.clone(), Ticket::new(context.cancel.clone()));
    let files = wanted.files;
    tokio::task::spawn_blocking(move || {
        copy_project(&from, &to, &ticket)?;
        files.iter().try_for_each(|file| put(&to, file)).map_err(|error| not_copied(&error))
    })
    .await
    .map_err(|error| Stop::Fault(ToolFault::Defect(error.to_string())))??;
    let mut command = Command::new(program);
    command.args(rest).current_dir(&copy).env_clear().envs(of_command(&context.workspace.granted().variables));
    command.envs(temporary.path().map(|folder| ("TMPDIR", folder)));
    let bounds = Bounds {
        timeout: context.timeout,
        cap: context.max_output_bytes,
        cancel: &context.cancel,
        confined: Confined::to_copy(&copy, &context.workspace).with(&temporary),
        stdin: None,
    };
    match process::run(command, bounds).await {
        Ok(ended) => report(&ended),
        Err(NotRun::Fault(fault)) => Err(Stop::Fault(fault)),
        Err(NotRun::Start(error)) => {
            Err(Stop::failed("command-not-started", &[("program", program), ("reason", &reason(&error))]))
        }
    }
}

fn not_copied(error: &std::io::Error) -> Stop {
    Stop::failed("check-copy", &[("reason", error)])
}

/// Copies everything that is not ignored. A link is copied as a link. Whatever a running command replaces in the
/// meantime is left out, and a link that it puts into a path leads nowhere.
fn copy_project(from: &Path, to: &Path, ticket: &Ticket) -> Result<(), Stop> {
    let mut walk = WalkBuilder::new(from);
    walk.hidden(false).parents(false).require_git(false).git_global(false).follow_links(false);
    let plain = has_plain_ignore_files(from);
    walk.ignore(plain).git_ignore(plain).git_exclude(plain);
    walk.filter_entry(|entry| {
        let is_left_out = entry.file_name().to_str().is_some_and(|name| LEFT_OUT.contains(&name));
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        !is_left_out && (!is_folder || has_plain_ignore_files(entry.path()))
    });
    let mut copied = 0_u64;
    for entry in walk.build().flatten() {
        ticket.check()?;
        let Ok(relative) = entry.path().strip_prefix(from) else { continue };
        let target = to.join(relative);
        let Some(kind) = entry.file_type() else { continue };
        if kind.is_file() {
            copied = copied.saturating_add(entry.metadata().map_or(0, |metadata| metadata.len()));
            if copied > MOST {
                return Err(Stop::failed("check-too-large", &[("bytes", &MOST)]));
            }
        }
        copy_entry(entry.path(), kind, &target).map_err(|error| not_copied(&error))?;
    }
    Ok(())
}

fn copy_entry(from: &Path, kind: std::fs::FileType, target: &Path) -> io::Result<()> {
    if kind.is_dir() {
        return if is_settled_folder(from) { std::fs::create_dir_all(target) } else { Ok(()) };
    }
    let there = target.parent().is_some_and(Path::is_dir);
    if kind.is_symlink() {
        let link = read_link_settled(from).ok().filter(|_| there);
        return link.map_or(Ok(()), |link| std::os::unix::fs::symlink(link, target));
    }
    if !kind.is_file() || !there {
        return Ok(());
    }
    let mut file = match open_settled(from) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        Err(_) => return Ok(()),
        Ok(file) => file,
    };
    let mode = file.metadata()?.permissions().mode() & 0o777;
    let mut copy = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(target)?;
    io::copy(&mut file, &mut copy).map(drop)
}

/// Writes a changed file into the copy, never through a link.
fn put(copy: &Path, file: &ChangedFile) -> std::io::Result<()> {
    let relative = Path::new(&file.path);
    let mut target = copy.to_path_buf();
    for part in relative.components() {
        let Component::Normal(name) = part else {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, file.path.clone()));
        };
        target.push(name);
        if target.is_symlink() {
            std::fs::remove_file(&target)?;
        }
    }
    let Some(content) = &file.content else {
        return match std::fs::remove_file(&target) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // An existing file keeps its permissions.
    std::fs::write(&target, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, content: Option<&str>) -> ChangedFile {
        ChangedFile { path: path.to_owned(), content: content.map(str::to_owned) }
    }

    #[test]
    fn a_copy_has_what_is_not_ignored_and_the_changes_in_it_stay_there() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        for (path, text) in
            [("src/a.txt", "a"), ("b.txt", "b"), ("target/x", "x"), (".gitignore", "target/\n"), (".git/c", "c")]
        {
            let path = from.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/hosts", from.join("hosts")).unwrap();
        copy_project(&from, &to, &Ticket::new(Default::default())).unwrap_or_else(|_| panic!("copied"));
        assert!(to.join("src/a.txt").exists() && to.join(".gitignore").exists());
        assert!(!to.join("target").exists() && !to.join(".git").exists());
        for file in [changed("src/a.txt", Some("new")), changed("b.txt", None), changed("c/d.txt", Some("d"))] {
            put(&to, &file).unwrap();
        }
        put(&to, &changed("hosts", Some("mine"))).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("src/a.txt")).unwrap(), "new");
        assert!(!to.join("b.txt").exists() && to.join("c/d.txt").exists() && !to.join("hosts").is_symlink());
        assert_eq!(std::fs::read_to_string(from.join("src/a.txt")).unwrap(), "a");
        assert!(put(&to, &changed("../out.txt", Some("x"))).is_err());
    }

    /// A command of another run replaces files and folders by links while the host copies them.
    /// covers: 10.10
    #[test]
    fn what_was_exchanged_for_a_link_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["secrets/deep", "project", "copy"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join("secrets/id"), "the secret").unwrap();
        std::os::unix::fs::symlink("id", root.join("secrets/link")).unwrap();
        std::os::unix::fs::symlink("../secrets", root.join("project/sub")).unwrap();
        std::os::unix::fs::symlink("../secrets/id", root.join("project/file")).unwrap();
        // Each name is listed with the type that it had before it became a link to `secrets`.
        for (name, found) in [("sub/id", "id"), ("file", "id"), ("sub/deep", "deep"), ("sub/link", "link")] {
            let kind = root.join("secrets").join(found).symlink_metadata().unwrap().file_type();
            let target = root.join("copy").join(name.replace('/', "-"));
            copy_entry(&root.join("project").join(name), kind, &target).unwrap();
            assert!(target.symlink_metadata().is_err(), "{name}");
        }
    }
}
