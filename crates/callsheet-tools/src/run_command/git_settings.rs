//! Which files the settings of git name: those that it includes, and the folder of its hooks. Git itself says it, since it
//! alone knows what it will read.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use callsheet_runtime::paths::plain;

/// How long git may take to read its settings: a pipe among them would be waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Repositories in a project whose settings are read.
const MOST: usize = 64;

/// The files and folders that decide what git runs in a project, as far as these files with settings name them.
pub(super) fn named<'a>(root: &Path, settings: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let files = settings.filter(|file| file.symlink_metadata().is_ok_and(|found| found.is_file()));
    let mut files = files.take(MOST).peekable();
    if files.peek().is_none() {
        return Vec::new();
    }
    let Some(git) = program(root) else { return Vec::new() };
    let mut named: Vec<PathBuf> = files.flat_map(|file| read(&list(&git, file), file, root)).collect();
    named.sort();
    named.dedup();
    named
}

/// The settings of a file and of all that it includes. Only the file is named, so it does not matter whether git would take
/// its folder for a repository.
fn list(git: &Path, file: &Path) -> String {
    let mut command = Command::new(git);
    command.args(["config", "--list", "--show-origin", "--includes", "--null", "--file"]).arg(file).current_dir("/");
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
        return String::new();
    };
    let Some(mut out) = child.stdout.take() else { return String::new() };
    let (sender, listed) = channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _cut = out.read_to_end(&mut bytes);
        let _late = sender.send(bytes);
    });
    let bytes = listed.recv_timeout(PATIENCE).unwrap_or_default();
    // One that has ended meanwhile is no error. No thread is left: this process is about to fork.
    let _gone = child.kill();
    let _reaped = child.wait();
    let _ended = reader.join();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Git, but never one of the project: this is no place to run what a model wrote.
fn program(root: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute() && !folder.starts_with(root));
    folders.map(|folder| folder.join("git")).find(|git| git.canonicalize().is_ok_and(|git| !git.starts_with(root)))
}

/// Origins and settings come in turn, each ended by a zero byte; a setting is a name, a line end and a value. What is
/// included only now and then counts too.
fn read(listed: &str, file: &Path, root: &Path) -> Vec<PathBuf> {
    let mut named = Vec::new();
    let mut parts = listed.split('\0');
    while let (Some(origin), Some(setting)) = (parts.next(), parts.next()) {
        let origin = origin.strip_prefix("file:").map_or(file, Path::new);
        let Some((name, value)) = setting.split_once('\n') else { continue };
        let includes = name == "include.path" || (name.starts_with("includeif.") && name.ends_with(".path"));
        let around = match name {
            "core.hookspath" => top_of(file, root),
            _ if includes => origin.parent().unwrap_or(root),
            _ => continue,
        };
        let home = || std::env::home_dir();
        let below = value.strip_prefix("~/").and_then(|below| Some(home()?.join(below)));
        named.push(below.unwrap_or_else(|| around.join(value)));
    }
    // What is not there yet decides as well once it is there.
    named.iter().map(|path| plain(path)).collect()
}

/// The folder whose files a repository with these settings holds.
fn top_of<'a>(file: &'a Path, root: &'a Path) -> &'a Path {
    let folder = file.ancestors().find(|way| way.file_name().is_some_and(|name| name == ".git"));
    folder.and_then(Path::parent).filter(|top| top.starts_with(root)).unwrap_or(root)
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
        let file = root.join(".git/config");
        let listed = "file:F\0user.name\nA\nB\0file:F\0core.hookspath\nhooks\0file:F\0include.path\n../more\0\
                      file:F\0includeif.onbranch:a.path\n../gone\0file:F\0core.bare\nfalse\0";
        let listed = listed.replace("file:F", &format!("file:{}", file.display()));
        assert_eq!(read(&listed, &file, &root), [root.join("hooks"), root.join("more"), root.join("gone")]);
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(&file, "[include]\npath = ../more\n[core]\nhooksPath = hooks\n").unwrap();
        let found = named(&root, [file.as_path()].into_iter());
        assert!(program(&root).is_none() || found == [root.join("hooks"), root.join("more")], "{found:?}");
    }
}
