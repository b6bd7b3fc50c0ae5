//! What people are shown, and what lies about: foreign text without escapes, HTML and pictures; known keys masked by their
//! values; files that only their owner reads.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::garden::{Ended, TestProject, is_harmless};

const KEY: &str = "sk-test/0a1b2c&3d4e";
const PASSWORD: &str = "pass%2Fword-1";

/// A model that writes what it must not have and what must not be drawn into its result and into a file.
fn hostile() -> String {
    format!(
        "[[rule]]\nphase = \"plan\"\ntext = \"\"\"\n## Goals / summary\nWater \\u001B]0;title\\u0007 <img src=http://x.example/1>.\n\n**plan complete**\n## Tasks\n\
         ### Task section 1\n- **Name** Write Water 1\n- **What is needed** Note {KEY} and \\u202Etxet\\u001B[2J.\n- **Skill** write_document\n\
         - **References** [Water](water.md)\n\"\"\"\n\
         [[rule]]\nphase = \"execute\"\ntext = \"\"\"\n## Result summary\nThe key is {KEY}. <script>alert(1)</script>\\u001B[31m\n\n\
         ![pixel](http://x.example/p.png)\n## Change details\n- **file_path** notes/key.txt\n- **complete_file** true\n```text\nkey = {KEY}\nplain\n```\n\"\"\"\n\
         [[rule]]\nphase = \"iterate\"\ntext = \"\"\"\n## Tasks\n\"\"\"\n"
    )
}

fn with_key(garden: &TestProject, arguments: &[&str]) -> Command {
    let mut command = garden.command(arguments);
    command.env("OPENAI_API_KEY", KEY);
    command
}

fn run(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

/// Every file and folder below this one.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() { found.extend(all(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| Some((path.clone(), String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned()));
    all(folder).into_iter().filter_map(read).collect()
}

fn is_masked(text: &str) -> bool {
    ![KEY, "sk-test/0a1b2c&amp;3d4e", PASSWORD, "pass/word-1"].iter().any(|form| text.contains(form))
}

/// covers: 11.15, 11.16
#[test]
fn what_a_model_says_reaches_no_surface_raw() {
    let garden = TestProject::scripted(&hostile());
    std::fs::create_dir_all(garden.home()).unwrap();
    let config =
        format!("[providers.mine]\ndialect = \"openai\"\nbase_url = \"http://me:{PASSWORD}@127.0.0.1:9/v1\"\n");
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    let tape = garden.project().with_file_name("tape");
    let tape_name = tape.to_str().unwrap();
    let begun = ["run", "note the key", "--approval", "before-apply", "--record", tape_name];
    let mut shown = vec![("run", run(&mut with_key(&garden, &begun)))];
    assert_eq!(shown[0].1.code, 3, "{}", shown[0].1.err);
    let hunk = run(&mut with_key(&garden, &["show", "--hunk", "1"]));
    let edit = garden.project().with_file_name("hunk.diff");
    std::fs::write(&edit, hunk.out.replace("plain", "edited")).unwrap();
    shown.push(("show --hunk", hunk));
    let id = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    let edited = format!("1={}", edit.display());
    let approved = ["approve", &id, "--edit", &edited, "--resume", "--model", "unused"];
    shown.push(("approve", run(&mut with_key(&garden, &approved[..4]))));
    shown.push(("resume", run(&mut with_key(&garden, &["resume", &id]))));
    // What is applied is what was approved, not what was shown.
    assert_eq!(garden.read("notes/key.txt"), format!("key = {KEY}\nedited\n"));
    let looks: [&[&str]; 16] = [
        &["show"],
        &["show", "--json"],
        &["show", "--events"],
        &["show", "--plan"],
        &["show", "--call", "2"],
        &["show", "--call", "2", "--json"],
        &["show", "--prompt", "2"],
        &["show", "--task", "write-water-1"],
        &["show", "--timeline"],
        &["runs"],
        &["runs", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["model", "list"],
        &["report", "-o", "-"],
        &["report", "--format", "md", "-o", "-"],
    ];
    shown.extend(looks.map(|look| (look[look.len() - 1], run(&mut with_key(&garden, look)))));
    for (name, ended) in &shown {
        for text in [&ended.out, &ended.err] {
            assert!(is_harmless(text) && !text.contains('\u{202e}'), "{name}: {text:?}");
            assert!(is_masked(text), "{name}: {text}");
        }
    }
    let markdown = &shown.last().unwrap().1.out;
    assert!(markdown.contains("[masked: OPENAI_API_KEY]") && markdown.contains("&lt;script>"), "{markdown}");
    for (path, text) in texts(&garden.run_folder()) {
        let is_drawn = path.extension().is_some_and(|extension| extension == "md");
        assert!(is_harmless(&text) && !text.contains('\u{202e}') && is_masked(&text), "{}: {text:?}", path.display());
        let is_sheet = path.ends_with("sheet.md");
        assert!(
            !is_drawn || is_sheet || !text.contains("<script") && !text.contains("<img"),
            "{}: {text}",
            path.display()
        );
        assert!(!is_drawn || is_sheet || !text.replace("\\![", "").contains("!["), "{}: {text}", path.display());
    }
    let recorded = texts(&tape);
    assert!(recorded.len() > 2 && recorded.iter().all(|(_, text)| is_masked(text)), "{recorded:?}");
}

/// The sheet shows marks; a person who edits other words of it changes none of the task with them.
/// covers: 11.15
#[test]
fn an_edit_of_a_sheet_with_marks_leaves_what_they_stand_for() {
    let garden = TestProject::scripted(&hostile());
    assert_eq!(run(&mut with_key(&garden, &["run", "note the key", "--approval", "before-run"])).code, 3);
    let sheet = garden.run_folder().join("sheet.md");
    let text = std::fs::read_to_string(&sheet).unwrap();
    assert!(text.contains("<U+001B>[2J") && text.contains("[masked: OPENAI_API_KEY]"), "{text}");
    std::fs::write(&sheet, text.replace("## Tasks\n", "## Tasks\n### Task section 1\n- **Name** Read Water 1\n- **What is needed** Read it.\n- **Skill** read_files\n- **References** [Water](water.md)\n\n").replace("### Task section 1\n- **Name** Write", "- **Name** Write")).unwrap();
    let looked = run(&mut with_key(&garden, &["show", "--plan"]));
    assert!(looked.out.contains("Read Water 1"), "{}{}", looked.out, looked.err);
    let lists: Vec<_> = garden.facts().into_iter().filter(|fact| fact["event"] == "list_adopted").collect();
    let tasks = lists.last().unwrap()["list"]["steps"].to_string();
    assert!(lists.len() == 2 && tasks.contains(KEY) && !tasks.contains("masked"), "{tasks}");
}

/// covers: 11.15
#[test]
fn a_setting_of_a_clone_is_told_clean() {
    let garden = TestProject::bare();
    let names = [
        "\"\\u001B]0;x\\u0007\\u202Eevil\" = 1",
        "[\"\\u001B[2J\"]\nx = 1",
        "jobs = \"\\u001B[31mmany\"",
        "[providers.\"a\\u001Bb\"]\nslots = 1",
        "[checks]\n\"a\\u001B\" = [\"b\\u001B\"]",
    ];
    for text in names {
        garden.plant(".callsheet/config.toml", text);
        for command in [&["runs"][..], &["doctor"], &["runs", "--json"], &["model", "list"], &["trust"]] {
            let ended = garden.call(command);
            assert!(is_harmless(&ended.out) && is_harmless(&ended.err), "{text}: {:?} {:?}", ended.out, ended.err);
            assert!(!ended.err.contains('\u{202e}') && !ended.out.contains('\u{202e}'), "{text}");
        }
    }
}

/// covers: 11.16
#[test]
fn files_are_their_owners_alone_whatever_the_mask() {
    let garden = TestProject::with("writer");
    let tape = garden.project().with_file_name("tape");
    let command = garden.command(&[
        "run",
        "bring the notes up to date",
        "--approval",
        "never",
        "--record",
        tape.to_str().unwrap(),
    ]);
    let mut masked = Command::new("sh");
    masked.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    masked.current_dir(garden.project()).env_clear();
    for (name, value) in command.get_envs() {
        masked.env(name, value.unwrap());
    }
    let ended = run(&mut masked);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let own = [garden.home(), garden.path(".callsheet"), tape];
    let open: Vec<PathBuf> = own
        .iter()
        .flat_map(|folder| all(folder))
        .filter(|path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o077 != 0)
        .collect();
    assert!(open.is_empty(), "{open:?}");
    // A file of the project is as the person's mask says.
    let mode = std::fs::metadata(garden.path("notes/rota.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o666);
}
