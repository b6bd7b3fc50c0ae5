//! Which files the settings of git name: those that it includes, and the folder of its hooks. Git itself says it, since it
//! alone knows what it will read.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// The files and folders that decide what git runs in a project, as far as settings name them.
pub(super) fn named(root: &Path) -> Vec<PathBuf> {
    if !root.join(".git").exists() {
        return Vec::new();
    }
    let Some(git) = program(root) else { return Vec::new() };
    let mut command = Command::new(git);
    command.args(["config", "--list", "--show-origin", "--includes", "--null"]);
    command.current_dir(root).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = match command.output() {
        Ok(done) if done.status.success() => done.stdout,
        _ => return Vec::new(),
    };
    read(&String::from_utf8_lossy(&listed), root)
}

/// Git, but never one of the project: this is no place to run what a model wrote.
fn program(root: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute() && !folder.starts_with(root));
    folders.map(|folder| folder.join("git")).find(|git| git.canonicalize().is_ok_and(|git| !git.starts_with(root)))
}

/// Origins and settings come in turn, each ended by a zero byte; a setting is a name, a line end and a value.
fn read(listed: &str, root: &Path) -> Vec<PathBuf> {
    let mut named = Vec::new();
    let mut parts = listed.split('\0');
    while let (Some(origin), Some(setting)) = (parts.next(), parts.next()) {
        named.extend(origin.strip_prefix("file:").map(|file| root.join(file)));
        if let Some(("core.hookspath", folder)) = setting.split_once('\n') {
            let home = || std::env::home_dir();
            let below = folder.strip_prefix("~/").and_then(|below| Some(home()?.join(below)));
            named.push(below.unwrap_or_else(|| root.join(folder)));
        }
    }
    named.sort();
    named.dedup();
    // What is not there yet decides as well once it is there.
    let real = |path: PathBuf| path.canonicalize().ok().or_else(|| Some(path).filter(|path| is_plain(path)));
    named.into_iter().filter_map(real).collect()
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| part != Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_and_the_folder_of_hooks_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("hooks")).unwrap();
        std::fs::write(root.join("more"), "").unwrap();
        let listed = "file:more\0user.name\nA\nB\0file:gone\0core.hookspath\nhooks\0command line:\0core.bare\nfalse\0";
        assert_eq!(read(listed, &root), [root.join("gone"), root.join("hooks"), root.join("more")]);
    }
}
