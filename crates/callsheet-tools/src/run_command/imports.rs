//! Files that rules for models bring in by lines `@path`: who writes those writes rules.

use std::collections::BTreeSet;
use std::path::PathBuf;

use callsheet_runtime::paths::{plain, read_settled};
use callsheet_runtime::rules::imported;

use super::protected::is_rules;

/// Files that are read for such lines.
const MOST: usize = 200;
/// Bytes of one of them.
const MOST_BYTES: u64 = 1 << 20;

/// What files of rules among these paths bring in, and what that brings in, be it there or not.
pub(super) fn brought_in(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut open: Vec<PathBuf> = paths.iter().filter(|path| is_rules(path)).cloned().collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(file) = open.pop().filter(|_| seen.len() < MOST) {
        let is_text = file.symlink_metadata().is_ok_and(|known| known.is_file() && known.len() < MOST_BYTES);
        if !is_text || !seen.insert(file.clone()) {
            continue;
        }
        let (Ok(bytes), Some(folder)) = (read_settled(&file), file.parent()) else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let named = text.lines().filter_map(imported).map(|name| plain(&folder.join(name)));
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
        let guard = Guard::of(&root, &[], std::slice::from_ref(&root));
        let made = [
            "docs/style.md",
            "docs/more.md",
            "src/commondir",
            "src/config.worktree",
            ".git/rebase-merge/git-rebase-todo",
            ".git/remotes/origin",
            "Target/AGENTS.md",
        ];
        fs::write(root.join("src/HEAD"), "ref: refs/heads/main\n").unwrap();
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
        let guard = Guard::of(&root.join("side"), &[], &[]);
        let link = common.join("logs/refs/heads/new");
        symlink(root.join("outside"), &link).unwrap();
        guard.restore();
        assert!(!link.is_symlink());
    }
}
