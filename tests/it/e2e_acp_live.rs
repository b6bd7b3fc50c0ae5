//! What an editor gets while a run works: the text of replies as it comes, and approved changes of open files.
#![cfg(feature = "acp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::e2e_acp::edit_open;
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
    edit_open(&garden, None, (&[], false), async |editor| {
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
    edit_open(&garden, Some("approve"), (&[("water.md", &before)], true), async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, prompt).await;
        let written = editor.seen.written.lock().unwrap().clone();
        assert!(matches!(written.as_slice(), [path] if path.ends_with("water.md")), "{written:?}");
        let texts: Vec<String> = editor.seen.buffers.lock().unwrap().values().cloned().collect();
        assert_eq!(texts, [garden.read("water.md")]);
    });
    let garden = TestProject::with("writer");
    edit_open(&garden, Some("approve"), (&[("water.md", "not saved")], true), async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, prompt).await;
        assert!(editor.seen.written.lock().unwrap().is_empty());
        assert!(editor.seen.answers().contains("water.md has changes in the editor"), "{}", editor.seen.answers());
    });
    assert!(garden.read("water.md").contains("is mended"), "it is on disk all the same");
}
