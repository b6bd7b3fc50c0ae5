//! What an editor gets while a run works: the text of replies as it comes, forms, and approved changes of open files.
#![cfg(feature = "acp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::e2e_acp::{Has, edit_open};
use crate::support::garden::TestProject;

const PLAN: &str = "[[rule]]\nphase = 'plan'\ntext = '''\n## Goals / summary\nOne answer.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Look\n- **What is needed** Who waters.\n- **Skill** answer_from_documents\n- **References** [Water](water.md)\n- **Expected output** A name.\n'''\n";

/// covers: 13.8
#[test]
fn a_reply_is_told_while_it_comes_and_only_once() {
    let reply = "## Result summary\nAna looks after the barrels.\nBo looks after the hose.\n";
    let first = reply.find("Bo").unwrap();
    let rule = format!("[[rule]]\nphase = 'execute'\nuntil = 'go-on'\nuntil_after = {first}\ntext = '''\n{reply}'''\n");
    let garden = TestProject::scripted(&format!("{PLAN}{rule}"));
    let go_on = garden.home().with_file_name("go-on");
    edit_open(&garden, None, Has::default(), async |editor| {
        let session = editor.new_session(&garden).await;
        let seen = editor.seen.clone();
        let looking = async {
            seen.until(|seen| seen.answers().contains("Ana looks after the barrels.")).await;
            assert!(!seen.answers().contains("Bo"), "{}", seen.answers());
            std::fs::write(&go_on, "").unwrap();
        };
        let prompt = std::pin::pin!(editor.done(&session, "Who waters?"));
        match futures_util::future::select(prompt, std::pin::pin!(looking)).await {
            futures_util::future::Either::Left(_) => panic!("it ended before: {}", editor.seen.answers()),
            futures_util::future::Either::Right(((), prompt)) => prompt.await,
        }
        let answers = editor.seen.answers();
        assert_eq!(answers.matches("Ana looks after").count(), 1, "{answers}");
        assert_eq!(answers.matches("Bo looks after").count(), 1, "{answers}");
    });
}

/// covers: 13.8
#[test]
fn an_approved_change_reaches_open_files_unless_their_text_is_not_saved() {
    let prompt = "Bring the notes on water up to date.";
    let garden = TestProject::with("writer");
    let before = garden.read("water.md");
    edit_open(
        &garden,
        Some("approve"),
        Has { open: &[("water.md", &before)], writes: true, ..Has::default() },
        async |editor| {
            let session = editor.new_session(&garden).await;
            editor.done(&session, prompt).await;
            let written = editor.seen.written.lock().unwrap().clone();
            assert!(matches!(written.as_slice(), [path] if path.ends_with("water.md")), "{written:?}");
            let texts: Vec<String> = editor.seen.buffers.lock().unwrap().values().cloned().collect();
            assert_eq!(texts, [garden.read("water.md")]);
        },
    );
    let garden = TestProject::with("writer");
    edit_open(
        &garden,
        Some("approve"),
        Has { open: &[("water.md", "not saved")], writes: true, ..Has::default() },
        async |editor| {
            let session = editor.new_session(&garden).await;
            editor.done(&session, prompt).await;
            assert!(editor.seen.written.lock().unwrap().is_empty());
            assert!(editor.seen.answers().contains("water.md has changes in the editor"), "{}", editor.seen.answers());
        },
    );
    assert!(garden.read("water.md").contains("is mended"), "it is on disk all the same");
}

/// A garden whose task asks a person.
pub(super) fn asking() -> TestProject {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = 'plan'\ntext = '''\n## Goals / summary\nWater a bed.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Ask\n- **What is needed** Which bed.\n- **Skill** ask_first\n- **Expected output** A bed.\n'''\n[[rule]]\nphase = 'execute'\n[[rule.reply]]\ncalls = [{ name = 'ask_user', id = 'q1', arguments = { prompt = 'Which <b>bed</b> do you mean?' } }]\n[[rule.reply]]\ntext = '''\n## Result summary\nBed 4 it is.\n'''\n",
    );
    garden.write(
        ".callsheet/skills/ask_first.md",
        "---\nname: ask_first\ndescription: Ask a person before answering.\ntools: [ask_user]\nmode: loop\n---\nSay what is unclear.\n---\nAsk, then answer.\n",
    );
    garden
}

/// Whether a model read these words.
fn was_told(garden: &TestProject, words: &str) -> bool {
    (1..5).any(|number| garden.call(&["show", "--prompt", &number.to_string()]).out.contains(words))
}

/// covers: 13.8, 10.8
#[test]
fn an_editor_with_forms_answers_a_question_in_one() {
    let garden = asking();
    let filled = json!({ "answer": "the fourth" });
    edit_open(&garden, None, Has { fills: Some(&filled), ..Has::default() }, async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, "Water the bed.").await;
        assert!(editor.seen.answers().ends_with("Bed 4 it is.\n\n"), "one turn: {}", editor.seen.answers());
        let forms = editor.seen.forms.lock().unwrap().clone();
        let [form] = forms.as_slice() else { panic!("{forms:?}") };
        assert!(form.message.contains("Which") && !form.message.contains("<b>"), "{}", form.message);
    });
    assert!(was_told(&garden, "the fourth"));
    // Whoever declines answers with the next message.
    let garden = asking();
    edit_open(&garden, None, Has { fills: Some(&Value::Null), ..Has::default() }, async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, "Water the bed.").await;
        assert!(editor.seen.answers().contains("Your next message is the answer"), "{}", editor.seen.answers());
        editor.done(&session, "the fifth").await;
        assert_eq!(editor.seen.forms.lock().unwrap().len(), 1, "it is not asked again");
    });
    assert!(was_told(&garden, "the fifth"));
}

/// A garden with a change of four parts.
fn parts() -> TestProject {
    let hunks = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/hunks.toml")).unwrap();
    let plan = PLAN.replace("answer_from_documents", "write_document");
    let garden = TestProject::scripted(&format!("{plan}{hunks}"));
    let rota: String =
        (1..=30).map(|week| format!("week {week}: {}\n", if week < 10 { "Ana" } else { "Ben" })).collect();
    garden.write("rota.md", rota);
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), "approval.mode = 'before-apply'\n").unwrap();
    garden
}

/// covers: 13.8, 11.4
#[test]
fn an_editor_with_forms_keeps_parts_of_a_change() {
    let garden = parts();
    let chosen = json!({ "answer": ["2", "3"] });
    edit_open(&garden, Some("some"), Has { fills: Some(&chosen), ..Has::default() }, async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, "Bring the rota up to date.").await;
        let forms = editor.seen.forms.lock().unwrap().clone();
        let form = serde_json::to_value(&forms[0]).unwrap();
        let options = form.pointer("/requestedSchema/properties/answer/items/anyOf").unwrap().as_array().unwrap();
        assert_eq!(options.len(), 4, "{form}");
        assert!(options[2].to_string().contains("+week 3: Ana and Ben"), "each part is shown: {form}");
    });
    let rota = garden.read("rota.md");
    assert!(rota.contains("week 3: Ana and Ben") && rota.contains("week 24: Ben"), "{rota}");
    assert!(garden.path("notes/swaps.md").exists() && garden.path("minutes.md").exists());
    // Nothing chosen, or something that was not offered, changes nothing.
    for chosen in [Value::Null, json!({ "answer": [] }), json!({ "answer": ["2", "9"] }), json!({ "answer": "2" })] {
        let garden = parts();
        edit_open(&garden, Some("some"), Has { fills: Some(&chosen), ..Has::default() }, async |editor| {
            let session = editor.new_session(&garden).await;
            editor.done(&session, "Bring the rota up to date.").await;
            assert!(editor.seen.answers().contains("still waits for your approval"), "{}", editor.seen.answers());
        });
        assert!(!garden.path("notes/swaps.md").exists() && garden.path("minutes.md").exists(), "{chosen}");
    }
}

/// covers: 13.8
#[test]
fn lines_that_are_no_messages_are_answered_and_do_no_harm() {
    let garden = TestProject::bare();
    let mut child = garden.command(&["acp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer_to = |line: &str| -> Value {
        writeln!(stdin, "{line}").unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    assert_eq!(answer_to("{nonsense")["error"]["code"], -32700);
    assert_eq!(answer_to("[1, 2]")["error"]["code"], -32600);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}});
    assert_eq!(answer_to(&hello.to_string())["result"]["agentInfo"]["name"], "callsheet");
    let destroy = json!({"jsonrpc": "2.0", "id": 2, "method": "session/destroy", "params": {}});
    assert_eq!(answer_to(&destroy.to_string())["error"]["code"], -32601);
    let bare = json!({"jsonrpc": "2.0", "id": 3, "method": "session/new", "params": {"cwd": 7}});
    assert_eq!(answer_to(&bare.to_string())["error"]["code"], -32602);
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
