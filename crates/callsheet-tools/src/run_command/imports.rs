//! Files that rules for models include with lines `@path`. Whoever writes these files writes rules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::read_settled;
use callsheet_runtime::rules::{MOST_BYTES, imported};

use super::protected::is_rules;

/// The maximum number of files that are searched for such lines.
const MOST: usize = 200;

/// The files that rules among these paths include, directly or indirectly, whether they exist or not.
pub(super) fn brought_in(root: &Path, paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut open: Vec<PathBuf> = paths.iter().filter(|path| is_rules(path)).cloned().collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(file) = open.pop().filter(|_| seen.len() < MOST) {
        // Rules can be a link; included files cannot.
        let is_text = file.metadata().is_ok_and(|known| known.is_file() && known.len() <= MOST_BYTES);
        let folder = file.strip_prefix(root).ok().and_then(Path::parent).and_then(Path::to_str);
        let Some(folder) = folder.filter(|_| is_text && seen.insert(file.clone())) else { continue };
        let Ok(bytes) = file.canonicalize().and_then(|real| read_settled(&real)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let named = text.lines().filter_map(|line| imported(folder, line)).map(|below| root.join(below));
        let named: Vec<PathBuf> = named.filter(|path| !path.is_dir()).collect();
        found.extend(named.iter().cloned());
        open.extend(named);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::guard::Guard;
    use super::super::released::Freed;

    /// covers: 11.10
    #[test]
    fn what_decides_later_is_put_back_in_unusual_places_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in [".git/objects", ".git/refs", "docs", "src", "Target"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("CLAUDE.md"), "@docs/style.md\n").unwrap();
        fs::write(root.join("docs/style.md"), "@more.md\nBe brief.\n").unwrap();
        let guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
        let made = [
            "docs/style.md",
            "docs/more.md",
            "src/HEAD",
            ".git/rebase-merge/git-rebase-todo",
            ".git/remotes/origin",
            "Target/AGENTS.md",
        ];
        // These three entries make `src` a repository. If one is missing, it is not a repository.
        fs::create_dir_all(root.join("src/objects")).unwrap();
        fs::write(root.join("src/config"), "the person's").unwrap();
        fs::create_dir_all(root.join("src/refs")).unwrap();
        for name in made {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "evil").unwrap();
        }
        assert_eq!(guard.restore().open, [] as [&str; 0]);
        let left: Vec<&str> = made.into_iter().filter(|name| root.join(name).exists()).collect();
        assert_eq!(left, ["docs/style.md"]);
        assert_eq!(fs::read_to_string(root.join("docs/style.md")).unwrap(), "@more.md\nBe brief.\n");
    }

    /// covers: 11.10
    #[test]
    fn no_new_link_stays_where_commits_of_a_linked_worktree_write() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let common = root.join("main/.git");
        let own = common.join("worktrees/side");
        for path in [&own, &common.join("logs/refs/heads"), &common.join("refs/heads"), &root.join("side")] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(root.join("side/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", root.join("side/.git").display())).unwrap();
        let guard = Guard::of(&root.join("side"), &Freed::default(), &[]);
        let link = common.join("logs/refs/heads/new");
        symlink(root.join("outside"), &link).unwrap();
        guard.restore();
        assert!(!link.is_symlink());
    }
}
