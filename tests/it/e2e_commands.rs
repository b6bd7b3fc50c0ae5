//! What is approved cannot approve: commands answer no gate, leave nothing behind, change nothing that decides later.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;

use crate::support::garden::{Ended, TestProject};
use callsheet_tools::{Enforcement, holding};

/// A loop that makes these calls, one a turn, and ends.
fn garden(calls: &[&[&str]]) -> TestProject {
    let mut garden = TestProject::bare();
    garden.write(
        ".callsheet/skills/try_it.md",
        "---\nname: try_it\ndescription: Tries it. Use it for trials.\ntools: [run_command]\nmode: loop\n---\nSay what.\n---\nTry it.\n",
    );
    garden.write("work.md", "## Goals / summary\nTry.\n## Tasks\n### Task section 1\n- **Name** Try\n- **What is needed** Try it.\n- **Skill** try_it\n- **References** [Water](water.md)\n- **Expected output** What came.\n");
    follow(&mut garden, calls);
    garden
}

/// From here on the model makes these calls, and ends. Each process begins with the first one.
fn follow(garden: &mut TestProject, calls: &[&[&str]]) {
    let replies: String = calls
        .iter()
        .map(|argv| {
            format!("[[rule.reply]]\ncalls = [{{ name = 'run_command', arguments = {{ argv = {argv:?} }} }}]\n")
        })
        .collect();
    let last = "[[rule.reply]]\ntext = '''\n## Result summary\nIt came.\n'''\n";
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n{replies}{last}"));
}

fn run(garden: &TestProject, approval: &str, code: i32) -> Ended {
    garden.expect(code, &["run", "--sheet", "work.md", "--approval", approval])
}

/// covers: 11.10
#[test]
fn an_approved_script_cannot_answer_the_next_gate() {
    if holding().writes != Enforcement::Full {
        println!("skipped: this system cannot keep commands from writing elsewhere");
        return;
    }
    let mut garden = garden(&[&["sh", "test.sh"]]);
    let callsheet = env!("CARGO_BIN_EXE_callsheet");
    garden.write(
        "test.sh",
        format!(
            "setsid sh -c 'echo $$ > child; while :; do {callsheet} approve; sleep 0.05; done' > /dev/null 2>&1 &\n\
             while [ ! -s child ]; do sleep 0.02; done\n{callsheet} approve > said 2>&1\n\
             for file in \"$CALLSHEET_HOME\"/config.toml \"$CALLSHEET_HOME\"/state/trust.json; do echo > \"$file\"; done\ntrue\n"
        ),
    );
    run(&garden, "before-apply", 3);
    let trusted = std::fs::read(garden.home().join("state/trust.json")).unwrap();
    garden.expect(0, &["approve"]);
    follow(&mut garden, &[&["touch", "second"]]);
    garden.expect(3, &["resume"]);
    assert!(!garden.runs(&garden.read("child")), "it left its session and its call");
    assert_eq!(garden.count("gate_answered"), 1, "the person's answer alone");
    assert!(!garden.path("second").exists(), "nobody approved it");
    assert!(!garden.home().join("config.toml").exists());
    assert_eq!(std::fs::read(garden.home().join("state/trust.json")).unwrap(), trusted);
    garden.expect(3, &["resume"]);
    garden.expect(0, &["approve"]);
    follow(&mut garden, &[]);
    garden.expect(0, &["resume"]);
    assert!(garden.path("second").exists());
}

/// covers: 11.10, 2.16
#[test]
fn what_a_command_starts_ends_with_it_and_what_is_protected_comes_back() {
    let garden = garden(&[
        &["sh", "leave.sh"],
        &["sh", "-c", "kill -9 $$"],
        &["no-such-program"],
        &["sh", "-c", "echo out; echo err >&2; exit 3"],
    ]);
    garden.write(".git/hooks/pre-commit", "#!/bin/sh\ntrue\n");
    garden.write(".git/config", "[core]\n");
    garden.write(
        "leave.sh",
        "setsid sh -c 'echo $$ > one; exec sleep 600' > /dev/null 2>&1 &\n\
         (setsid sh -c '(echo $$; exec sleep 600) > /dev/null & echo $! > two' &)\n\
         nohup env -i sh -c 'echo $$ > three; exec sleep 600' > /dev/null 2>&1 &\n\
         while [ ! -s one ] || [ ! -s two ] || [ ! -s three ]; do sleep 0.02; done\n\
         echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit\n\
         echo evil > .callsheet/skills/evil.md; mkdir -p .agents/skills; echo evil > .agents/skills/evil.md\n\
         echo fine > made; echo told\n",
    );
    run(&garden, "never", 0);
    for name in ["one", "two", "three"] {
        assert!(!garden.runs(&garden.read(name)), "{name} outlived its call");
    }
    assert_eq!(garden.read(".git/hooks/pre-commit"), "#!/bin/sh\ntrue\n");
    for name in [".git/hooks/post-commit", ".callsheet/skills/evil.md", ".agents/skills"] {
        assert!(!garden.path(name).exists(), "{name} was left");
    }
    assert_eq!(garden.read("made"), "fine\n");
    let told = garden.expect(0, &["show", "--prompt", "5"]).out;
    for words in [
        "This changed .agents/skills, ",
        "which no command may write",
        "cannot create .git/hooks/post-commit",
        "told",
        "ended by signal 9",
        "no-such-program could not be started: no such program here",
        "exit code 3",
    ] {
        assert!(told.contains(words), "{words} is missing: {told}");
    }
}

/// A command cannot write a sheet; a person can meanwhile.
/// covers: 11.11
#[test]
fn a_command_cannot_edit_the_sheet_and_a_person_can_meanwhile() {
    let edit =
        "for sheet in .callsheet/runs/*/sheet.md; do sed -i 's/Try it\\./Try it, and rm it./' \"$sheet\"; done; true";
    let garden = garden(&[&["sh", "-c", edit]]);
    let ended = run(&garden, "never", 0);
    assert!(!ended.err.contains("the edited sheet") && !garden.run_file("sheet.md").contains("rm it"), "{}", ended.err);
    assert!(!garden.run_folder().join("sheet-ignored.md").exists());
}

/// covers: 11.10
#[test]
fn where_the_state_folder_is_in_the_project_no_command_runs() {
    let garden = garden(&[&["touch", "made"]]);
    let inside = |arguments: &[&str]| {
        let mut command = garden.command(arguments);
        Ended::from(command.env("CALLSHEET_HOME", garden.path("home")).output().unwrap())
    };
    assert_eq!(inside(&["trust", "--yes"]).code, 0);
    let ended = inside(&["run", "--sheet", "work.md", "--approval", "never"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!garden.path("made").exists());
    assert!(inside(&["show", "--prompt", "2"]).out.contains("no command runs here"));
    assert!(inside(&["doctor"]).out.contains("commands are disabled"));
}

/// covers: 11.10
#[test]
fn a_variable_that_a_provider_names_as_its_key_reaches_no_command() {
    let garden = garden(&[&["env"]]);
    let home = garden.home();
    std::fs::create_dir_all(&home).unwrap();
    let provider = "[providers.mine]\ndialect = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key_env = 'MY_LLM'\n\
                    [tools]\nenvironment = ['MY_NAME', 'MY_LLM']\n";
    std::fs::write(Path::new(&home).join("config.toml"), provider).unwrap();
    let mut command = garden.command(&["run", "--sheet", "work.md", "--approval", "never"]);
    let ended = Ended::from(command.env("MY_LLM", "hidden-word").env("MY_NAME", "seen-word").output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let told = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(told.contains("MY_NAME=seen-word") && !told.contains("hidden-word"), "{told}");
}
