//! Resolves a path again for each command, because a command may have put a link into it since.

use std::collections::VecDeque;
use std::ffi::OsString;
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
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let found = folders.filter_map(|folder| steady(&folder.join(name), changeable));
    found.filter(|program| !is_below(program, changeable)).find(|program| program.is_file())
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
}
