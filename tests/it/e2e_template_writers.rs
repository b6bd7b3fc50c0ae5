//! Writing skills that a template calls: their changes go through the gate and the writer of sheets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const LIBRARY: &str = r#"<task type="sequential" name="note"><description>Note</description><steps>
<call id="write" template="skill:write_document"><arg name="what_is_needed" value="Write notes.md: who waters the barrels"/>
<arg name="references">["water.md"]</arg></call>
<task type="atomic" id="say"><description>Say: {{steps.write.content}}</description><instructions>Say.</instructions><allowed_tools/></task>
</steps></task>"#;

const SCRIPT: &str = r#"
[[rule]]
phase = "execute"
prompt = "Say: "
text = "It is noted."
[[rule]]
phase = "execute"
prompt = "Write notes.md"
text = '''
## Result summary
Wrote who waters the barrels.
## Change details
- **file_path** notes.md
- **complete_file** true
```markdown
Ana waters the barrels.
```
'''
"#;

fn garden() -> TestProject {
    let garden = TestProject::scripted(SCRIPT);
    garden.write(".callsheet/templates/note.xml", LIBRARY);
    garden
}

/// covers: C49, C51
#[test]
fn a_writing_skill_that_a_template_calls_proposes_its_changes() {
    let garden = garden();
    garden.expect(3, &["template", "run", "note", "--approval", "before-apply"]);
    assert!(!garden.path("notes.md").exists(), "nothing is written unasked");
    let shown = garden.expect(0, &["show"]);
    assert!(shown.out.contains("notes.md") && shown.out.contains("+Ana waters the barrels."), "{}", shown.out);
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume"]);
    assert_eq!(garden.read("notes.md"), "Ana waters the barrels.\n");
    assert!(ended.err.contains("callsheet undo"), "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("## Change details") && !prompt.contains("write_file"), "{prompt}");
    let next = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(next.contains("Say: Wrote who waters the barrels."), "{next}");
    garden.expect(0, &["undo"]);
    assert!(!garden.path("notes.md").exists());
}

/// A reply without a change is refused, as in a sheet, and asked for again.
///
/// covers: C49
#[test]
fn a_called_skill_that_writes_nothing_is_asked_again() {
    let twice = SCRIPT.replace(
        "prompt = \"Write notes.md\"\ntext = ",
        "prompt = \"Write notes.md\"\n[[rule.reply]]\ntext = 'I have written it.'\n[[rule.reply]]\ntext = ",
    );
    let garden = TestProject::scripted(&twice);
    garden.write(".callsheet/templates/note.xml", LIBRARY);
    garden.expect(3, &["template", "run", "note", "--approval", "before-apply"]);
    let refused = garden.facts().into_iter().filter(|fact| fact["event"] == "reply_refused").count();
    assert_eq!(refused, 1);
    assert!(garden.expect(0, &["show"]).out.contains("+Ana waters the barrels."));
}

/// covers: C40
#[test]
fn a_called_skill_that_never_writes_fails_and_is_not_split() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = 'I have written it.'\n");
    garden.write(".callsheet/templates/note.xml", LIBRARY);
    let ended = garden.expect(5, &["template", "run", "note", "--approval", "before-apply"]);
    assert!(ended.err.contains("no valid reply") && !ended.err.contains("split"), "{}", ended.err);
}

/// covers: C51
#[test]
fn denied_changes_of_a_called_skill_are_not_made() {
    let garden = garden();
    garden.expect(3, &["template", "run", "note", "--approval", "before-apply"]);
    garden.expect(0, &["deny", "--because", "not today"]);
    let ended = garden.expect(5, &["resume"]);
    assert!(ended.err.contains("denied: not today"), "{}", ended.err);
    assert!(!garden.path("notes.md").exists());
}

/// `effects="read"` of an operator holds for the skills that it calls: nothing is changed, whatever was approved.
///
/// covers: C26
#[test]
fn a_writing_skill_where_only_reading_is_allowed_changes_nothing() {
    let garden = garden();
    let reading = LIBRARY.replace(r#"name="note">"#, r#"name="note" effects="read">"#);
    garden.write(".callsheet/templates/note.xml", reading);
    let ended = garden.expect(0, &["template", "run", "note", "--approval", "never"]);
    assert!(!garden.path("notes.md").exists() && garden.count("changes_applied") == 0, "{}", ended.err);
    assert!(
        !garden.expect(0, &["show", "--prompt", "1"]).out.contains("## Change details"),
        "no form of changes is asked for"
    );
}
