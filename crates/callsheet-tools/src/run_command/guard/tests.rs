//! Changes the protected part of projects in every way and checks that it is put back.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::protected::MODE;
use super::*;

fn project() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in [".git/hooks", ".callsheet/skills", ".callsheet/runs/one", "shared"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    for (name, text) in
        [(".git/config", "[core]\n"), (".callsheet/skills/a.md", "A\n"), ("shared/b.md", "B\n"), ("free.txt", "")]
    {
        fs::write(root.join(name), text).unwrap();
    }
    symlink("../../shared", root.join(".callsheet/skills/linked")).unwrap();
    (folder, root)
}

#[test]
fn what_is_free_is_left_alone() {
    let (_keep, root) = project();
    let guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
    fs::write(root.join("free.txt"), "changed").unwrap();
    fs::write(root.join(".callsheet/runs/one/sheet.md"), "view").unwrap();
    fs::create_dir_all(root.join(".git/objects")).unwrap();
    assert_eq!(guard.restore(), Restored::default());
    assert_eq!(fs::read_to_string(root.join(".callsheet/runs/one/sheet.md")).unwrap(), "view");
}

/// covers: 11.10
#[test]
fn what_is_protected_is_put_back_whatever_was_done_to_it() {
    let (_keep, root) = project();
    fs::write(root.join(".git/hooks/pre-push"), "#!/bin/sh\n").unwrap();
    set_mode(&root.join(".git/hooks/pre-push"), 0o755).unwrap();
    let guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
    fs::write(root.join(".git/config"), "[core]\nhooksPath = evil\n").unwrap();
    fs::remove_file(root.join(".git/hooks/pre-push")).unwrap();
    fs::write(root.join(".git/hooks/post-commit"), "evil").unwrap();
    fs::write(root.join("shared/b.md"), "evil").unwrap();
    fs::rename(root.join(".callsheet/skills"), root.join("moved")).unwrap();
    symlink("../moved", root.join(".callsheet/skills")).unwrap();
    symlink("shared", root.join(".agents")).unwrap();
    symlink("../shared", root.join(".callsheet/mine")).unwrap();
    fs::create_dir_all(root.join(".callsheet/templates/deep")).unwrap();
    fs::write(root.join(".callsheet/templates/deep/x.xml"), "<templates/>").unwrap();
    let Restored { changed, open, .. } = guard.restore();
    assert_eq!(open, [] as [&str; 0]);
    for name in [".git/config", ".git/hooks/pre-push", ".git/hooks/post-commit", "shared/b.md", ".callsheet/skills"] {
        assert!(changed.iter().any(|path| path == name), "{name} is missing: {changed:?}");
    }
    assert_eq!(Guard::of(&root, &Freed::default(), std::slice::from_ref(&root)).before, guard.before);
    assert_eq!(guard.restore(), Restored::default());
    assert!(root.join("moved/a.md").exists(), "behind a new link lies what is the project's");
    let hook = root.join(".git/hooks/pre-push");
    assert_eq!(hook.metadata().unwrap().permissions().mode() & MODE, 0o755);
}

/// covers: 11.10
#[test]
fn nothing_hides_in_a_folder_that_cannot_be_looked_into() {
    for (name, mode) in [(".git/hooks", 0o000), (".git/hooks", 0o300), (".git", 0o000), (".agents", 0o100)] {
        let (_keep, root) = project();
        let guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
        fs::create_dir_all(root.join(".agents/skills")).unwrap();
        fs::write(root.join(".agents/skills/evil.md"), "evil").unwrap();
        fs::write(root.join(".git/hooks/post-commit"), "evil").unwrap();
        set_mode(&root.join(name), mode).unwrap();
        let restored = guard.restore();
        assert_eq!(restored.open, [] as [&str; 0], "{name}");
        assert!(restored.changed.contains(&".git/hooks/post-commit".to_owned()), "{name}: {restored:?}");
        set_mode(&root.join(".agents"), 0o700).unwrap();
        assert!(!root.join(".agents/skills").exists() && !root.join(".git/hooks/post-commit").exists(), "{name}");
        assert_eq!(Guard::of(&root, &Freed::default(), std::slice::from_ref(&root)).before, guard.before);
    }
}

/// covers: 11.10
#[test]
fn what_is_nested_is_protected_too() {
    let (_keep, root) = project();
    let kept = [
        "lib/.git/config",
        "lib/.git/hooks/pre-push",
        "lib/.agents/skills/a.md",
        ".git/worktrees/one/gitdir",
        ".git/modules/a/b/config",
    ];
    for name in kept {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), "as it was").unwrap();
    }
    let guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
    let added = [
        ".git/commondir",
        ".git/worktrees/one/config.worktree",
        ".git/modules/a/b/hooks/post-checkout",
        "lib/.callsheet/templates/x.xml",
        "new/deep/.git/config",
        "sub/.git",
    ];
    for name in kept.iter().chain(&added) {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), "evil").unwrap();
    }
    let free = [".git/worktrees/one/index", ".git/modules/a/b/objects/ab/config", "node_modules/x/.git/config"];
    for name in free {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), "free").unwrap();
    }
    let restored = guard.restore();
    for name in kept.iter().chain(&added) {
        assert!(restored.changed.iter().any(|path| Path::new(name).starts_with(path)), "{name}: {restored:?}");
    }
    assert_eq!(restored.open, [] as [&str; 0]);
    assert!(kept.iter().all(|name| fs::read_to_string(root.join(name)).unwrap() == "as it was"));
    assert!(!added.iter().any(|name| root.join(name).exists()) && free.iter().all(|name| root.join(name).exists()));
}

/// covers: 11.14
#[test]
fn what_is_released_is_left_alone_and_nothing_beside_it() {
    let (_keep, root) = project();
    let whole = [".git/hooks", ".vscode/settings.json", "AGENTS.md", "new/.git", "shared"].map(PathBuf::from);
    let released = Freed { whole: whole.to_vec(), commits: Vec::new() };
    let guard = Guard::of(&root, &released, &[]);
    let free = [".git/hooks/pre-push", ".vscode/settings.json", "AGENTS.md", "new/.git/config"];
    let kept = [".git/config.worktree", ".vscode/tasks.json", "CLAUDE.md", "other/.git/config", "new/.callsheet/a"];
    for name in free.iter().chain(&kept) {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), "new").unwrap();
    }
    // A link of Callsheet's own files points here.
    fs::write(root.join("shared/b.md"), "new").unwrap();
    let restored = guard.restore();
    assert_eq!(restored.open, [] as [&str; 0]);
    assert!(free.iter().all(|name| root.join(name).exists()) && !kept.iter().any(|name| root.join(name).exists()));
    assert_eq!(fs::read_to_string(root.join("shared/b.md")).unwrap(), "B\n");
    let grantable = [".git/config.worktree", ".vscode/tasks.json", "CLAUDE.md", "other/.git"];
    assert_eq!(restored.grantable, grantable);
}

/// Protected files are put back before anything is removed, and the content of a new folder is neither listed nor an
/// obstacle.
/// covers: 11.10
#[test]
fn a_new_folder_goes_as_a_whole_however_deep_it_is_and_whatever_its_modes_are() {
    let (_keep, root) = project();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/AGENTS.md"), "good").unwrap();
    let guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
    let mut nest = rustix::fs::open(&root, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    for name in [".husky"].into_iter().chain(std::iter::repeat_n("a", 2500)) {
        rustix::fs::mkdirat(&nest, name, 0o700.into()).unwrap();
        nest = rustix::fs::openat(&nest, name, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    }
    fs::write(root.join(".husky/pre-commit"), "evil").unwrap();
    // A file whose name is an obstacle, and an unreadable folder in the place of a file.
    fs::remove_file(root.join("src/AGENTS.md")).unwrap();
    for name in ["src/.callsheet-put-back-1/x", "src/AGENTS.md/deep/deeper", ".vscode/a"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::create_dir_all(root.join(format!("src/.callsheet-put-back-{}/x", std::process::id()))).unwrap();
    set_mode(&root.join("src/AGENTS.md/deep"), 0).unwrap();
    set_mode(&root.join("src/AGENTS.md"), 0).unwrap();
    let restored = guard.restore();
    assert_eq!(restored.open, [] as [&str; 0]);
    assert_eq!(restored.changed, [".husky", ".vscode", "src/AGENTS.md"]);
    assert_eq!(fs::read_to_string(root.join("src/AGENTS.md")).unwrap(), "good");
    let removed = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".callsheet-removed");
    assert_eq!(fs::read_dir(&root).unwrap().flatten().filter(removed).count(), 0);
}

/// covers: 11.10
#[test]
fn what_could_not_be_put_back_is_named() {
    let (_keep, root) = project();
    let mut guard = Guard::of(&root, &Freed::default(), std::slice::from_ref(&root));
    guard.before.insert(root.join(".git/config"), Entry::Other(0, 0));
    let restored = guard.restore();
    assert_eq!((restored.changed, restored.open), (vec![".git/config".to_owned()], vec![".git/config".to_owned()]));
}

/// covers: 15.23
#[test]
fn what_no_command_elsewhere_may_change_is_known_before() {
    let (_keep, root) = project();
    fs::write(root.join(".git/config"), "[core]\nhooksPath = tools/hooks\n").unwrap();
    fs::create_dir(root.join("docs")).unwrap();
    fs::write(root.join("AGENTS.md"), "@docs/rules.md\n").unwrap();
    fs::write(root.join("docs/rules.md"), "Be kind.\n").unwrap();
    let freed = Freed { whole: vec![PathBuf::from(".vscode")], commits: Vec::new() };
    let guard = Guard::of(&root, &freed, std::slice::from_ref(&root));
    let protected =
        ["tools/hooks/pre-commit", "docs/rules.md", "shared/new.md", "AGENTS.md", ".git/config", ".envrc", "sub/HEAD"];
    for path in protected {
        assert!(guard.protects(Path::new(path)), "{path}");
    }
    for path in ["free.txt", "docs/other.md", "tools/new.sh", ".vscode/tasks.json"] {
        assert!(!guard.protects(Path::new(path)), "{path}");
    }
}
