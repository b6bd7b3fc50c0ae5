//! Replies constrained by a JSON schema: read as their Markdown, and given up where a provider refuses them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

/// covers: 4.1, 2.3
#[test]
fn a_twin_is_read_as_the_markdown_it_stands_for() {
    let garden = TestProject::with("twins");
    let ended = garden.expect(0, &["run", "who waters?"]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n\\## Details\nNobody else.\n");
    let refused: Vec<String> =
        garden.facts().iter().filter(|fact| fact["event"] == "reply_refused").map(ToString::to_string).collect();
    assert!(refused.len() == 1 && refused[0].contains("need-missing"), "{refused:?}");
    let sheet = garden.run_file("sheet.md");
    assert!(sheet.contains("- **Name** Task 1\n- **What is needed** Who looks after"), "{sheet}");
    let document = garden.run_file("tasks/task-1.md");
    assert!(document.starts_with("## Result summary\nAna looks after"), "{document}");
}

/// covers: 12.3
#[test]
fn a_refused_schema_falls_back_to_free_text_with_one_word() {
    let garden = TestProject::with("twins-refused");
    let ended = garden.expect(0, &["run", "who waters?"]);
    assert_eq!(ended.out, "Ana looks after the barrels.\n");
    assert_eq!(ended.err.matches("accepts no constraint on replies").count(), 1, "{}", ended.err);
    assert_eq!(garden.count("call_failed"), 0);
}
