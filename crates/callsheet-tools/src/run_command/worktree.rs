//! A linked git worktree: the project has a file in the place of `.git`, and commits write to the folder of its
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of a repository that a linked worktree uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worktree {
    /// Its own folder in the repository.
    pub own: PathBuf,
    /// The folder that all worktrees share.
    pub common: PathBuf,
}

impl Worktree {
    /// The worktree of a project. A file that only claims to belong to one leads nowhere, because the repository must
    /// know the worktree.
    pub(super) fn of(project: &Path) -> Option<Self> {
        let mark = project.join(".git");
        if !mark.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let own = project.join(fs::read_to_string(&mark).ok()?.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        let named = |file: &str| {
            let text = fs::read_to_string(own.join(file)).ok()?;
            own.join(text.trim()).canonicalize().ok()
        };
        let common = named("commondir")?;
        let known = named("gitdir")? == mark.canonicalize().ok()?;
        (known && own.parent()? == common.join("worktrees")).then_some(Self { own, common })
    }

    /// What a commit writes if a person grants it: the worktree's own folder, objects, branches and their logs. Hooks
    /// and configuration of the repository are not included.
    pub(super) fn writable(&self) -> impl Iterator<Item = PathBuf> {
        self.parts().filter(|folder| is_real_folder(folder))
    }

    /// Where that is, whatever is there now.
    pub(super) fn parts(&self) -> impl Iterator<Item = PathBuf> {
        let shared = ["objects", "refs", "logs"].map(|name| self.common.join(name));
        std::iter::once(self.own.clone()).chain(shared)
    }
}

/// Whether a path is a folder and not a link to one. A project that comes with such a link would mean another folder.
fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_worktree_that_its_repository_knows_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let own = root.join("main/.git/worktrees/side");
        for name in
            ["side", "main/.git/objects", "main/.git/refs", "main/.git/hooks", "claims", "main/.git/worktrees/side"]
        {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("side/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(root.join("claims/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", root.join("side/.git").display())).unwrap();
        let found = Worktree::of(&root.join("side")).unwrap();
        let names: Vec<PathBuf> = found.writable().collect();
        assert_eq!(names, [own, root.join("main/.git/objects"), root.join("main/.git/refs")]);
        // A link in the place of such a folder would mean files elsewhere.
        std::os::unix::fs::symlink(&root, root.join("main/.git/logs")).unwrap();
        assert_eq!(found.writable().count(), 3);
        assert_eq!(Worktree::of(&root.join("claims")), None);
        assert_eq!(Worktree::of(&root.join("main")), None);
    }
}
