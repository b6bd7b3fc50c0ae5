//! Resolves a path again for each command, because a command may have put a link into it since.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links in one path.
const MOST_LINKS: usize = 40;

/// Where a path leads. `None` if it leads nowhere, or through a link in one of the canonical folders that commands can
/// change.
pub fn steady(path: &Path, changeable: &[PathBuf]) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut rest = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next()? {
            Component::RootDir => real = PathBuf::from("/"),
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => {
                let next = real.join(name);
                if !next.symlink_metadata().ok()?.is_symlink() {
                    real = next;
                    continue;
                }
                links += 1;
                if links > MOST_LINKS || is_below(&next, changeable) {
                    return None;
                }
                let to = parts(&fs::read_link(&next).ok()?);
                to.into_iter().rev().for_each(|part| rest.push_front(part));
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(real)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}

/// Whether a path lies in one of these folders.
pub fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// A program from the user's `PATH` that no command can have put there.
pub fn host_program(name: &str, changeable: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found =
        host_folders(&path, changeable).into_iter().filter_map(|folder| firm(&folder.join(name), changeable));
    found.find(|program| program.is_file())
}

/// The folders of a `PATH` into which no command can have put a program.
pub fn host_folders(path: &OsStr, changeable: &[PathBuf]) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.filter(|folder| firm(folder, changeable).is_some()).collect()
}

/// Where a path leads. `None` if it leads nowhere, or a command could have had a part in where it leads or in what is
/// there.
pub fn firm(path: &Path, changeable: &[PathBuf]) -> Option<PathBuf> {
    steady(path, changeable).filter(|real| !is_below(real, changeable))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_that_a_command_could_make_leads_anywhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["secret", "project/real", "home/tools"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink(root.join("secret"), root.join("project/made")).unwrap();
        symlink("../project", root.join("home/work")).unwrap();
        let changeable = [root.join("project")];
        let leads = |path: &str| steady(&root.join(path), &changeable);
        assert_eq!(leads("project/real"), Some(root.join("project/real")));
        assert_eq!(leads("project/made"), None, "the link lies where commands write");
        assert_eq!(leads("home/work/real"), Some(root.join("project/real")), "the link is the user's own");
        assert_eq!(leads("home/work/made"), None);
        assert_eq!(leads("home/tools/../../secret"), Some(root.join("secret")));
        assert_eq!(leads("project/gone"), None);
    }

    #[test]
    fn a_path_of_programs_keeps_only_folders_that_no_command_could_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/bin")).unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        symlink(root.join("project/bin"), root.join("linked")).unwrap();
        symlink(root.join("bin"), root.join("project/made")).unwrap();
        let at = |name: &str| root.join(name).into_os_string().into_string().unwrap();
        let names = [
            at("project/bin"),
            at("linked"),
            at("project/made"),
            String::new(),
            ".".to_owned(),
            "bin".to_owned(),
            at("gone"),
            at("bin"),
        ];
        let path = OsString::from(names.join(":"));
        assert_eq!(host_folders(&path, &[root.join("project")]), [root.join("bin")]);
    }
}
