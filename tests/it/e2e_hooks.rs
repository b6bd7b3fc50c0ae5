//! Hooks: commands of the user that are asked at fixed points of a run.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::e2e_sandbox::holds;
use crate::support::garden::TestProject;

/// A hook that reads its input, prints what it must say, and ends with 1 if the input has the word.
const NO: &str = "text=$(cat)\ncase \"$text\" in *'\"hook\":\"'*\"$1\"*) point=${text#*hook\\\":\\\"}; echo \"no ${point%%\\\"*} with $1\"; exit 1;; esac\n";

fn config(garden: &TestProject, text: &str) {
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), text).unwrap();
    garden.write("no.sh", NO);
}

fn change(text: &str) -> String {
    format!(
        "[[rule.reply]]\ntext = '''\n## Change details\n- **file_path** a.md\n```\nOld.\n```\n```\n{text}\n```\n## Result summary\nFixed.\n'''\n"
    )
}

const SHEET: &str = "## Goals / summary\nFixed.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Fix\n- **What is needed** Fix a.md.\n- **Skill** edit_document\n- **References** [A](a.md)\n- **Expected output** A change.\n";

/// Changes that a hook refuses are not written; the model sees why and makes others, which ask anew.
///
/// covers: 12.11
#[test]
fn a_hook_refuses_changes_and_the_model_makes_others() {
    if !holds() {
        return;
    }
    let replies = format!("[[rule]]\nphase = 'execute'\n{}{}", change("Secret."), change("New."));
    let garden = TestProject::scripted(&replies);
    config(&garden, "[hooks.pre-write]\nno-secrets = ['sh', 'no.sh', 'Secret']\n");
    garden.write("a.md", "Old.\n");
    garden.write("work.md", SHEET);
    let ended = garden.expect(0, &["run", "--sheet", "work.md", "--approval", "before-apply", "--headless", "approve"]);
    assert!(ended.err.contains("no pre-write with Secret"), "{}", ended.err);
    let told = "the hook \"no-secrets\" refused these changes";
    assert!(ended.err.contains(told) && !ended.err.contains("the check \"no-secrets\""), "{}", ended.err);
    assert_eq!(garden.read("a.md"), "New.\n", "{}", ended.err);
    assert_eq!(garden.count("gate_answered"), 2, "the new changes ask anew");
}

/// A call that a hook refuses is not made, and the model is told why.
///
/// covers: 12.11
#[test]
fn a_hook_refuses_a_call() {
    if !holds() {
        return;
    }
    let garden = crate::e2e_grants::garden(&["['touch', 'a']"]);
    config(&garden, "[hooks.pre-tool]\nno-touch = \"sh no.sh touch\"\n");
    garden.expect(3, crate::e2e_grants::RUN);
    let ended = garden.expect(0, &["approve", "--resume"]);
    assert!(
        ended.err.contains("the hook no-touch refused a call of run_command: no pre-tool with touch"),
        "{}",
        ended.err
    );
    assert!(!garden.path("a").exists());
    assert!(
        garden
            .expect(0, &["show", "--prompt", "2"])
            .out
            .contains("This call was not made: the hook no-touch refused it.")
    );
}

/// A refused request begins no run; after tasks and runs hooks are told; what they say changes nothing. A hook cannot write,
/// and a project's hooks wait for trust.
///
/// covers: 12.11, 12.7
#[test]
fn hooks_are_asked_before_a_run_and_told_after_it() {
    if !holds() {
        return;
    }
    let garden =
        TestProject::scripted("[default]\ntext = '''\n## Result summary\nRead well.\n\n## Result\nFine.\n'''\n");
    config(
        &garden,
        "[hooks.pre-plan]\nno-digging = ['sh', 'no.sh', 'dig']\n[hooks.post-task]\nlisten = ['sh', 'no.sh', 'Read well']\n\
         [hooks.run-end]\nend = ['sh', '-c', 'touch made; exit 3']\n",
    );
    let run = |words| ["run", words, "--skill", "answer_from_documents", "--set", "plan=never"];
    let refused = garden.expect(5, &run("who digs?"));
    assert!(refused.err.contains("the hook no-digging refuses this: no pre-plan with dig"), "{}", refused.err);
    assert_eq!(garden.expect(0, &["runs", "--json"]).out, "");
    let ended = garden.expect(0, &run("who waters?"));
    assert!(ended.err.contains("the hook listen (post-task) says no: no post-task with Read well"), "{}", ended.err);
    assert!(ended.err.contains("the hook end (run-end) says no:"), "{}", ended.err);
    assert!(!garden.path("made").exists());

    std::fs::remove_file(garden.home().join("config.toml")).unwrap();
    garden.write(".callsheet/config.toml", "[hooks.pre-plan]\nno = ['false']\n");
    let ended = garden.expect(0, &run("who waters?"));
    assert!(ended.err.contains("hooks.pre-plan"), "told that it waits for trust: {}", ended.err);
    garden.expect(0, &["trust", "--yes"]);
    let refused = garden.expect(5, &run("who waters?"));
    assert!(refused.err.contains("the hook no refuses this: it exited with code 1"), "{}", refused.err);
}

/// The file that a project's hook runs needs trust, too. If it changes in a run, the hook is not asked, and nobody's answer
/// is yes.
///
/// covers: 12.7, 12.11
#[test]
fn a_hook_whose_file_changed_says_no() {
    if !holds() {
        return;
    }
    let garden = crate::e2e_grants::garden(&["['sh', '-c', 'echo exit 0 > guard.sh']", "['touch', 'a']"]);
    garden.trust();
    garden.plant(".callsheet/config.toml", "[hooks.pre-tool]\nguard = ['sh', 'guard.sh']\n");
    garden.plant("guard.sh", "! grep -q '\"a\"'\n");
    let listed = garden.expect(2, &["trust"]).out;
    assert!(listed.contains("guard.sh could:\n    be run as the hook guard"), "{listed}");
    garden.trust();
    let ended = garden.call(&["run", "--sheet", "work.md", "--approval", "never"]);
    let told = "the hook guard refused a call of run_command: a file that it runs changed since the run began";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert!(!garden.path("a").exists());
    let listed = garden.expect(2, &["trust"]).out;
    assert!(listed.contains("be run as the hook guard"), "it waits for trust again: {listed}");
}
