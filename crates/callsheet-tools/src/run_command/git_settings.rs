//! Which files the settings of git name: included files and the hooks folder. This code asks git, because only git
//! knows what it will read.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use callsheet_runtime::paths::{host_program, plain, real};

/// How long git may take to read its settings. A pipe among them would block it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The setting that names the hooks folder.
const HOOKS: &str = "core.hookspath";
/// The maximum number of repositories in a project whose settings are read.
const MOST: usize = 64;

/// Variables that git needs to find its settings, and those that contain settings themselves.
pub(super) fn variables() -> Vec<(String, OsString)> {
    let names = ["PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];
    let known = names.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?)));
    let given = |number: usize| {
        let key = std::env::var(format!("GIT_CONFIG_KEY_{number}")).ok()?.to_ascii_lowercase();
        let value = std::env::var_os(format!("GIT_CONFIG_VALUE_{number}"))?;
        (key == HOOKS || is_include(&key)).then_some((key, value))
    };
    let count = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    let given: Vec<(String, OsString)> = (0..usize::min(count, MOST)).filter_map(given).collect();
    let count = ("GIT_CONFIG_COUNT".to_owned(), given.len().to_string().into());
    let given = given.into_iter().enumerate().flat_map(|(number, (key, value))| {
        [(format!("GIT_CONFIG_KEY_{number}"), key.into()), (format!("GIT_CONFIG_VALUE_{number}"), value)]
    });
    known.chain([count]).chain(given).collect()
}

/// The files and folders that decide what git runs in a project. `inside` is what is protected in it. `common` is the
/// folder that a linked worktree shares. `changeable` is where commands write, so no git from there is used.
pub(super) fn of(
    root: &Path,
    common: Option<&Path>,
    inside: &BTreeSet<PathBuf>,
    changeable: &[PathBuf],
) -> Vec<PathBuf> {
    let is_settings =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name == "config" || name == "config.worktree");
    let listed = host_program("git", changeable).map(|git| list(&git, None, root)).unwrap_or_default();
    let around = around(root, common, &listed);
    let within: Vec<&Path> =
        inside.iter().filter(|path| path.ends_with(".git")).filter_map(|git| git.parent()).collect();
    let mut all =
        named(root, &within, around.iter().chain(inside.iter().filter(is_settings)).map(PathBuf::as_path), changeable);
    // A variable can set it, too.
    all.extend(read(&listed, &root.join(".git/config"), root, &within).hooks);
    // Settings files that do not exist yet will count once they exist.
    all.extend(around.iter().filter(|file| !file.exists()).cloned());
    // A link in a path counts both by its own path and by its target.
    let led: Vec<PathBuf> = all.iter().map(|path| real(path)).collect();
    all.extend(led);
    all.iter().map(|path| plain(path)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Settings files that git reads for a project besides those in it: the files that git itself names there, and those
/// that a linked worktree shares (`common`). `listed` is git's list of settings in the project.
fn around(root: &Path, common: Option<&Path>, listed: &[u8]) -> BTreeSet<PathBuf> {
    let home = std::env::home_dir();
    let settings = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let settings = settings.or_else(|| Some(home.as_ref()?.join(".config")));
    let users = [home.map(|home| home.join(".gitconfig")), settings.map(|folder| folder.join("git/config"))];
    let shared = common.map(|folder| folder.join("config"));
    let system = Some(PathBuf::from("/etc/gitconfig"));
    let mut found: BTreeSet<PathBuf> = users.into_iter().chain([shared, system]).flatten().collect();
    let origins = listed.split(|byte| *byte == 0).step_by(2).filter_map(|origin| origin.strip_prefix(b"file:"));
    // Git names files of a repository relative to its top folder.
    found.extend(
        origins.flat_map(|origin| tops(root, root).map(move |top| plain(&top.join(OsStr::from_bytes(origin))))),
    );
    found
}

/// The files and folders that decide what git runs in a project, as far as these settings files name them, directly or
/// in files that they include, unconditionally or not. `changeable` is where commands write, so no git from there is
/// used. `within` holds the top folders of repositories in the project.
fn named<'a>(
    root: &Path,
    within: &[&Path],
    settings: impl Iterator<Item = &'a Path>,
    changeable: &[PathBuf],
) -> Vec<PathBuf> {
    // Git follows a link to settings.
    let mut open: VecDeque<PathBuf> = settings.filter(|file| file.is_file()).map(Path::to_path_buf).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let Some(git) = host_program("git", changeable) else { return Vec::new() };
    let (mut named, mut read_files) = (BTreeSet::new(), BTreeSet::new());
    while let Some(file) = open.pop_front().filter(|_| read_files.len() < MOST) {
        if read_files.insert(file.clone()) {
            let found = read(&list(&git, Some(&file), Path::new("/")), &file, root, within);
            open.extend(found.included.iter().filter(|file| file.is_file()).cloned());
            named.extend(found.included.into_iter().chain(found.hooks));
            named.insert(file);
        }
    }
    named.into_iter().collect()
}

/// The settings of a file and of everything that it includes. Without a file, everything that git reads in a folder.
fn list(git: &Path, file: Option<&Path>, folder: &Path) -> Vec<u8> {
    let mut command = Command::new(git);
    command.args(["config", "--list", "--show-origin", "--includes", "--null"]).current_dir(folder);
    if let Some(file) = file {
        command.arg("--file").arg(file);
    }
    let Ok(mut child) = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
        return Vec::new();
    };
    let Some(mut out) = child.stdout.take() else { return Vec::new() };
    let (sender, listed) = channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _cut = out.read_to_end(&mut bytes);
        let _late = sender.send(bytes);
    });
    let bytes = listed.recv_timeout(PATIENCE).unwrap_or_default();
    // It is no error if the process has ended in the meantime. No thread remains: this process is about to fork.
    let _gone = child.kill();
    let _reaped = child.wait();
    let _ended = reader.join();
    bytes
}

/// What the settings name.
#[derive(Default)]
struct Named {
    included: Vec<PathBuf>,
    hooks: Vec<PathBuf>,
}

/// Parses git's list. Origins and settings alternate, each ended by a zero byte. A setting is a name, a line end and a
/// value. A conditional include counts too, and so does a file that does not exist yet, because it decides once it
/// exists.
fn read(listed: &[u8], file: &Path, root: &Path, within: &[&Path]) -> Named {
    let mut named = Named::default();
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(origin), Some(setting)) = (parts.next(), parts.next()) {
        let origin = origin.strip_prefix(b"file:").map_or(file, |origin| Path::new(OsStr::from_bytes(origin)));
        let Some(end) = setting.iter().position(|byte| *byte == b'\n') else { continue };
        let (Some(name), Some(value)) = (setting.get(..end), setting.get(end + 1..)) else { continue };
        let name = String::from_utf8_lossy(name);
        let below =
            value.strip_prefix(b"~/").and_then(|below| Some(std::env::home_dir()?.join(OsStr::from_bytes(below))));
        let at = |folder: &Path| below.clone().unwrap_or_else(|| folder.join(OsStr::from_bytes(value)));
        if is_include(&name) {
            named.included.push(at(origin.parent().unwrap_or(root)));
        } else if name == HOOKS {
            named.hooks.extend(tops(file, root).chain(within.iter().copied()).map(at));
        }
    }
    named
}

fn is_include(name: &str) -> bool {
    name == "include.path" || (name.starts_with("includeif.") && name.ends_with(".path"))
}

/// The folders in which hooks of these settings can run: the project, repositories around it, and the folder whose
/// files the repository holds.
fn tops<'a>(file: &'a Path, root: &'a Path) -> impl Iterator<Item = &'a Path> {
    let folder = file.ancestors().find(|way| way.file_name().is_some_and(|name| name == ".git"));
    let own = folder.and_then(Path::parent).filter(|top| *top != root);
    let outer = root.ancestors().skip(1).filter(|folder| folder.join(".git").symlink_metadata().is_ok());
    std::iter::once(root).chain(own.filter(|top| !root.starts_with(top))).chain(outer)
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
        let found = read(listed.as_bytes(), &file, &root, &[]);
        assert_eq!(found.hooks, [root.join("hooks")]);
        assert_eq!(found.included, [root.join(".git/../more"), root.join(".git/../gone")]);
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(&file, "[includeIf \"gitdir:/nowhere/\"]\npath = ../more\n[core]\nhooksPath = hooks\n").unwrap();
        std::fs::write(root.join("more"), "[core]\nhooksPath = others\n").unwrap();
        let found = named(&root, &[], [file.as_path()].into_iter(), &[]);
        let found: BTreeSet<PathBuf> = found.iter().map(|path| plain(path)).collect();
        let all = ["hooks", "more", "others", ".git/config"].map(|name| root.join(name));
        assert!(host_program("git", &[]).is_none() || found == BTreeSet::from(all), "{found:?}");
    }

    /// covers: 11.10
    #[test]
    fn settings_behind_links_and_around_the_project_count() {
        let Some(git) = host_program("git", &[]) else { return };
        for (apart, at) in [(&["--separate-git-dir", "apart"][..], "apart"), (&[], ".git")] {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            let root = top.join("project");
            std::fs::create_dir_all(&root).unwrap();
            let made = Command::new(&git).args(["init", "-q"]).args(apart).current_dir(&top).status();
            assert!(made.unwrap().success());
            let settings = top.join(at).join("config");
            let text =
                std::fs::read_to_string(&settings).unwrap() + "[includeIf \"gitdir:/nowhere/\"]\npath = ../link\n";
            std::fs::write(&settings, text).unwrap();
            std::fs::write(top.join("more"), "[core]\nhooksPath = project/hooks\n").unwrap();
            std::os::unix::fs::symlink("more", top.join("link")).unwrap();
            let around = around(&root, None, &list(&git, None, &root));
            assert!(around.contains(&settings), "{at}: {around:?}");
            let found = named(&root, &[], around.iter().map(PathBuf::as_path), &[]);
            assert!(found.contains(&root.join("hooks")), "they count from the top of the repository: {found:?}");
        }
    }
}
