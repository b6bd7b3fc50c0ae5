//! Tests the confinement of paths (spec 5.6) and reading within it.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use callsheet_runtime::paths::{EntryKind, PathFault, Workspace};

struct Place {
    directory: tempfile::TempDir,
    workspace: Workspace,
}

/// A project `project` with a few files, a read root `shared`, and `secret` beside both.
fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    for (path, text) in [
        ("project/src/a.rs", "a"),
        ("project/.git/config", "[core]"),
        ("project/.gitignore", "*.log\n/target/\n"),
        ("project/noise.log", "x"),
        ("project/target/out", "x"),
        ("project2/b.rs", "b"),
        ("shared/lib.md", "lib"),
        ("secret/key", "key"),
    ] {
        std::fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
        std::fs::write(base.join(path), text).unwrap();
    }
    let workspace = Workspace::new(&base.join("project"), &[base.join("shared")]).unwrap();
    Place { directory, workspace }
}

impl Place {
    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    fn read(&self, written: &str) -> Result<String, PathFault> {
        let located = self.workspace.locate(written)?;
        let bytes = self.workspace.read(&located, 1_000)?.bytes;
        Ok(String::from_utf8(bytes).unwrap())
    }

    fn canonical(&self, written: &str) -> String {
        self.workspace.locate(written).unwrap().path().to_owned()
    }
}

fn name(fault: &PathFault) -> &'static str {
    match fault {
        PathFault::Outside(_) => "outside",
        PathFault::Protected(_) => "protected",
        PathFault::Missing(_) => "missing",
        PathFault::Unreadable { .. } => "unreadable",
        PathFault::Unwritable { .. } => "unwritable",
    }
}

/// covers: 5.6
#[test]
fn reads_are_confined_to_the_project_and_the_read_roots() {
    let place = place();
    symlink(place.at("secret"), place.at("project/out")).unwrap();
    symlink(place.at("secret/key"), place.at("project/key")).unwrap();
    symlink("../shared", place.at("project/lib")).unwrap();
    symlink("src", place.at("project/code")).unwrap();
    symlink("nothing", place.at("project/dangling")).unwrap();
    symlink("loop-b", place.at("project/loop-a")).unwrap();
    symlink("loop-a", place.at("project/loop-b")).unwrap();
    let root = place.workspace.root().to_str().unwrap().to_owned();
    for (written, canonical) in [
        ("src/a.rs", "src/a.rs".to_owned()),
        ("./src/../src//a.rs", "src/a.rs".to_owned()),
        ("code/a.rs", "src/a.rs".to_owned()),
        (&format!("{root}/src/a.rs"), "src/a.rs".to_owned()),
        ("../project/src/a.rs", "src/a.rs".to_owned()),
        ("", ".".to_owned()),
        ("lib/lib.md", place.at("shared/lib.md").display().to_string()),
        (place.at("shared/lib.md").to_str().unwrap(), place.at("shared/lib.md").display().to_string()),
    ] {
        assert_eq!(place.canonical(written), canonical, "{written}");
    }
    let long = "x".repeat(300);
    let deep = "d/".repeat(3_000);
    for (written, fault) in [
        ("../secret/key", "outside"),
        ("../project2/b.rs", "outside"),
        ("../nothing", "outside"),
        ("missing/../../secret/key", "outside"),
        ("out/key", "outside"),
        ("out/nothing", "outside"),
        ("key", "outside"),
        ("/etc/passwd", "outside"),
        ("/", "outside"),
        ("dangling", "missing"),
        ("loop-a", "unreadable"),
        ("src/nothing.rs", "missing"),
        ("src/a.rs/below", "missing"),
        ("src/a.rs\0", "missing"),
        (&long, "missing"),
        (&deep, "missing"),
    ] {
        assert_eq!(place.read(written).as_ref().map_err(name), Err(fault), "{written}");
    }
}

/// covers: 5.6, protected-path, outside-project
#[test]
fn writes_are_confined_to_the_project_and_leave_out_what_is_protected() {
    let place = place();
    symlink(".git", place.at("project/alias")).unwrap();
    symlink(place.at("secret/new"), place.at("project/dangling")).unwrap();
    symlink("../shared", place.at("project/lib")).unwrap();
    let workspace = place.workspace.clone().protecting(&place.at("project/runs/today"));
    for (written, canonical) in [
        ("src/a.rs", "src/a.rs"),
        ("new/deep/file.txt", "new/deep/file.txt"),
        (".gitignore", ".gitignore"),
        ("src/../.github/x", ".github/x"),
        ("runs/other", "runs/other"),
    ] {
        assert_eq!(workspace.locate_writable(written).unwrap().path(), canonical);
    }
    let long = "x".repeat(300);
    for (written, fault) in [
        (".git/config", "protected"),
        (".GIT/config", "protected"),
        ("vendor/lib/.git/config", "protected"),
        ("alias/config", "protected"),
        (".hg/x", "protected"),
        (".svn/x", "protected"),
        (".jj/x", "protected"),
        (".callsheet/config.toml", "protected"),
        ("runs/today/sheet.md", "protected"),
        ("../secret/new", "outside"),
        ("lib/lib.md", "outside"),
        ("/tmp/x", "outside"),
        ("dangling", "unwritable"),
        ("src/a.rs/below", "unwritable"),
        ("x\0", "unwritable"),
        (".", "unwritable"),
        ("", "unwritable"),
        (&long, "unwritable"),
    ] {
        let found = workspace.locate_writable(written).map(|located| located.path().to_owned());
        assert_eq!(found.as_ref().map_err(name), Err(fault), "{written}");
    }
}

/// covers: 5.6 the check is repeated at use
#[test]
fn what_became_a_link_after_the_check_is_not_followed() {
    let place = place();
    std::fs::write(place.at("secret/a.rs"), "key").unwrap();
    let located = place.workspace.locate("src/a.rs").unwrap();
    let directory = place.workspace.locate("src").unwrap();
    std::fs::rename(place.at("project/src"), place.at("project/old")).unwrap();
    symlink(place.at("secret"), place.at("project/src")).unwrap();
    assert_eq!(name(&place.workspace.read(&located, 10).unwrap_err()), "unreadable");
    assert_eq!(name(&place.workspace.kind(&located).unwrap_err()), "unreadable");
    assert_eq!(name(&place.workspace.list(&directory, 10).unwrap_err()), "unreadable");
    std::fs::remove_file(place.at("project/src")).unwrap();
    std::fs::create_dir(place.at("project/src")).unwrap();
    symlink(place.at("secret/a.rs"), place.at("project/src/a.rs")).unwrap();
    assert_eq!(name(&place.workspace.read(&located, 10).unwrap_err()), "unreadable");
}

#[test]
fn pipes_and_devices_are_never_opened() {
    let place = place();
    let pipe = place.at("project/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let located = place.workspace.locate("pipe").unwrap();
    assert_eq!(place.workspace.kind(&located).unwrap(), EntryKind::Special);
    // Opening a pipe without a writer would block for ever.
    assert_eq!(name(&place.workspace.read(&located, 10).unwrap_err()), "unreadable");
    let devices = Workspace::new(Path::new("/dev"), &[]).unwrap();
    assert_eq!(name(&devices.read(&devices.locate("zero").unwrap(), 10).unwrap_err()), "unreadable");
}

#[test]
fn listings_leave_out_ignored_files_and_version_control() {
    let place = place();
    std::fs::write(place.at("project/two\nlines"), "").unwrap();
    std::fs::write(place.at("project").join(std::ffi::OsString::from_vec(b"caf\xe9".to_vec())), "").unwrap();
    let root = place.workspace.locate(".").unwrap();
    let listing = place.workspace.list(&root, 200).unwrap();
    assert_eq!(listing.names, [".gitignore", "caf\u{fffd}", "src/", "two\u{fffd}lines"]);
    let short = place.workspace.list(&root, 1).unwrap();
    assert_eq!((short.names.len(), short.left_out), (1, 3));
    let ignored = place.workspace.locate("target").unwrap();
    assert_eq!(place.workspace.list(&ignored, 9).unwrap().names, ["out"], "asked for by name it is shown");
}

#[test]
fn reading_stops_at_the_limit() {
    let place = place();
    let located = place.workspace.locate("src/a.rs").unwrap();
    let exact = place.workspace.read(&located, 1).unwrap();
    assert_eq!((exact.bytes.as_slice(), exact.truncated), (b"a".as_slice(), false));
    let cut = place.workspace.read(&located, 0).unwrap();
    assert_eq!((cut.bytes.len(), cut.truncated), (0, true));
}

/// A privileged user can read everything, so this runs as another user if possible.
#[test]
fn an_unreadable_file_is_told_from_a_missing_one() {
    const CHILD: &str = "CALLSHEET_TEST_UNPRIVILEGED";
    const NAME: &str = "an_unreadable_file_is_told_from_a_missing_one";
    if let Some(root) = std::env::var_os(CHILD) {
        let workspace = Workspace::new(Path::new(&root), &[]).unwrap();
        let file = workspace.locate("closed.txt").unwrap();
        assert_eq!(
            workspace.read(&file, 10).unwrap_err(),
            PathFault::Unreadable { path: "closed.txt".to_owned(), reason: "permission denied".to_owned() }
        );
        assert_eq!(name(&workspace.locate("closed/file.txt").unwrap_err()), "unreadable");
        assert_eq!(name(&workspace.locate("nothing.txt").unwrap_err()), "missing");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::write(root.join("closed.txt"), "x").unwrap();
    std::fs::create_dir(root.join("closed")).unwrap();
    let set =
        |name: &str, mode| std::fs::set_permissions(root.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    set("closed.txt", 0);
    set("closed", 0);
    set("", 0o755);
    let privileged = std::fs::File::open(root.join("closed.txt")).is_ok();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", NAME, "--nocapture"]).env(CHILD, root);
    if privileged {
        child.uid(65_534).gid(65_534);
    }
    let output = child.output();
    set("closed", 0o755);
    match output {
        Err(error) => eprintln!("skipped {NAME}: the test cannot be run as another user: {error}"),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && text.contains("1 passed"),
                "{text}{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

/// A file system may store a letter and its mark as two characters, while a model writes one.
#[test]
fn a_name_is_found_in_another_form_of_unicode() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("cafe\u{301}")).unwrap();
    let on_disk = "cafe\u{301}/re\u{301}sume\u{301}.md";
    std::fs::write(folder.path().join(on_disk), "text").unwrap();
    let workspace = Workspace::new(folder.path(), &[]).unwrap();
    let written = "caf\u{e9}/r\u{e9}sum\u{e9}.md";
    assert_eq!(workspace.locate(written).unwrap().path(), on_disk);
    assert_eq!(workspace.locate_writable(written).unwrap().path(), on_disk);
    // Two files whose names differ only in the form are two files.
    std::fs::write(folder.path().join("\u{e9}.md"), "one").unwrap();
    std::fs::write(folder.path().join("e\u{301}.md"), "other").unwrap();
    assert_eq!(workspace.locate("\u{e9}.md").unwrap().path(), "\u{e9}.md");
    assert_eq!(workspace.locate("e\u{301}.md").unwrap().path(), "e\u{301}.md");
}

#[test]
fn a_path_is_found_as_links_and_other_systems_spell_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    for name in ["my file.txt", "src/a b.txt"] {
        std::fs::write(folder.path().join(name), "text").unwrap();
    }
    let workspace = Workspace::new(folder.path(), &[]).unwrap();
    let found = |written: &str| workspace.respelled(written).map(|located| located.path().to_owned());
    assert_eq!(found("my%20file.txt").as_deref(), Some("my file.txt"));
    assert_eq!(found("src\\a b.txt").as_deref(), Some("src/a b.txt"));
    assert_eq!(found("src\\a%20b.txt").as_deref(), Some("src/a b.txt"));
    assert_eq!(found("%2e%2e%2fpasswd"), None);
    assert_eq!(found("my file.txt"), None, "it is spelled as it is");
}

/// This holds without git and ignore files, too.
#[test]
fn what_tools_fetched_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["node_modules/a/index.js", "env/pyvenv.cfg", "out/CACHEDIR.TAG", "src/main.js"] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let workspace = Workspace::new(folder.path(), &[]).unwrap();
    let listing = workspace.list(&workspace.locate(".").unwrap(), 100).unwrap();
    assert_eq!(listing.names, ["src/"]);
    assert!(workspace.locate("node_modules/a/index.js").is_ok(), "what is named is there");
}
