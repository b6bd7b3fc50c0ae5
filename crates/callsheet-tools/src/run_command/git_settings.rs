//! Which files the settings of git name: those that it includes, and the folder of its hooks. Git itself says it, since it
//! alone knows what it will read.

use std::collections::{BTreeSet, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use callsheet_runtime::paths::{host_program, plain};

/// How long git may take to read its settings: a pipe among them would be waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Repositories in a project whose settings are read.
const MOST: usize = 64;

/// Files with settings that git reads for a project besides those in it: the system's, the user's, those of a repository
/// around the project, and those that a linked worktree shares (`common`).
pub(super) fn around(root: &Path, common: Option<&Path>) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let settings = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let settings = settings.or_else(|| Some(home.as_ref()?.join(".config")));
    let users = [home.map(|home| home.join(".gitconfig")), settings.map(|folder| folder.join("git/config"))];
    let outer = root.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let outer = outer.filter(|folder| *folder != root).map(|folder| folder.join(".git/config"));
    let shared = common.map(|folder| folder.join("config"));
    let system = Some(PathBuf::from("/etc/gitconfig"));
    users.into_iter().chain([outer, shared, system]).flatten().collect()
}

/// The files and folders that decide what git runs in a project, as far as these files with settings name them, or files that
/// they include, now or under a condition. `changeable`: where commands write, so no git from there is asked.
pub(super) fn named<'a>(root: &Path, settings: impl Iterator<Item = &'a Path>, changeable: &[PathBuf]) -> Vec<PathBuf> {
    let is_file = |file: &Path| file.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut open: VecDeque<PathBuf> = settings.filter(|file| is_file(file)).map(Path::to_path_buf).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let Some(git) = host_program("git", changeable) else { return Vec::new() };
    let (mut named, mut read_files) = (BTreeSet::new(), BTreeSet::new());
    while let Some(file) = open.pop_front().filter(|_| read_files.len() < MOST) {
        if read_files.insert(file.clone()) {
            let found = read(&list(&git, &file), &file, root);
            open.extend(found.included.iter().filter(|file| is_file(file)).cloned());
            named.extend(found.included.into_iter().chain(found.hooks));
        }
    }
    named.into_iter().collect()
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

/// What settings name.
#[derive(Default)]
struct Named {
    included: Vec<PathBuf>,
    hooks: Vec<PathBuf>,
}

/// Origins and settings come in turn, each ended by a zero byte; a setting is a name, a line end and a value. What is
/// included only now and then counts too, and what is not there yet decides as well once it is there.
fn read(listed: &str, file: &Path, root: &Path) -> Named {
    let mut named = Named::default();
    let mut parts = listed.split('\0');
    while let (Some(origin), Some(setting)) = (parts.next(), parts.next()) {
        let origin = origin.strip_prefix("file:").map_or(file, Path::new);
        let Some((name, value)) = setting.split_once('\n') else { continue };
        let below = value.strip_prefix("~/").and_then(|below| Some(std::env::home_dir()?.join(below)));
        let at = |folder: &Path| plain(&below.clone().unwrap_or_else(|| folder.join(value)));
        if name == "include.path" || (name.starts_with("includeif.") && name.ends_with(".path")) {
            named.included.push(at(origin.parent().unwrap_or(root)));
        } else if name == "core.hookspath" {
            named.hooks.extend(tops(file, root).map(at));
        }
    }
    named
}

/// The folders at which hooks of these settings can run: that of the project, and that whose files their repository holds.
fn tops<'a>(file: &'a Path, root: &'a Path) -> impl Iterator<Item = &'a Path> {
    let folder = file.ancestors().find(|way| way.file_name().is_some_and(|name| name == ".git"));
    let own = folder.and_then(Path::parent).filter(|top| *top != root);
    std::iter::once(root).chain(own)
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
        let found = read(&listed, &file, &root);
        assert_eq!(found.hooks, [root.join("hooks")]);
        assert_eq!(found.included, [root.join("more"), root.join("gone")]);
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(&file, "[includeIf \"gitdir:/nowhere/\"]\npath = ../more\n[core]\nhooksPath = hooks\n").unwrap();
        std::fs::write(root.join("more"), "[core]\nhooksPath = others\n").unwrap();
        let found = named(&root, [file.as_path()].into_iter(), &[]);
        let all = [root.join("hooks"), root.join("more"), root.join("others")];
        assert!(host_program("git", &[]).is_none() || found == all, "{found:?}");
    }
}
