//! Templates that are edited while a run of theirs rests: what did not change stays, what changed begins again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const LIBRARY: &str = r#"<templates version="1">
<task type="sequential" name="who"><description>Find who waters</description><inputs><input name="what"/></inputs>
<steps><task type="atomic" id="read"><description>Read about the {{what}}</description><instructions>Say who.</instructions>
<file_paths><path>water.md</path></file_paths><allowed_tools/></task>
<task type="script" id="count"><description>Count the lines</description><command>wc -l water.md</command></task>
<task type="atomic" id="say"><description>Say: {{steps.read.content}} of {{steps.count.content}}</description>
<instructions>One line.</instructions><allowed_tools/></task></steps></task></templates>"#;

const SCRIPT: &str = r#"
[[rule]]
phase = "execute"
prompt = "Read about"
text = "Ana waters the barrels."
[[rule]]
phase = "execute"
prompt = "Say: "
text = "Ana."
[[rule]]
phase = "execute"
prompt = "Shout: "
text = "ANA!"
[[rule]]
phase = "execute"
text = "And Ben."
"#;

const FILE: &str = ".callsheet/templates/who.xml";

fn garden() -> TestProject {
    let garden = TestProject::scripted(SCRIPT);
    garden.write(FILE, LIBRARY);
    garden
}

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

/// covers: C48, T 15
#[test]
fn an_edit_of_what_has_not_begun_applies_and_nothing_is_asked_anew() {
    let garden = garden();
    garden.expect(3, &["template", "run", "who", "what=barrels"]);
    garden.write(FILE, LIBRARY.replace("Say: ", "Shout: "));
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume"]);
    assert_eq!(ended.out.trim(), "ANA!");
    assert!(ended.err.contains("who.xml changed and applies from now on\n"), "{}", ended.err);
    assert_eq!(garden.asked().len(), 2, "the first step is not asked again");
}

/// A complete run goes on where its template changed. Only a run that is named does.
/// covers: T 15
#[test]
fn a_complete_run_pays_only_for_what_changed() {
    let garden = garden();
    garden.expect(0, &["template", "run", "--approval", "never", "who", "what=barrels"]);
    let run = run_of(&garden);
    let unchanged = garden.expect(0, &["resume", &run]);
    assert!(!unchanged.err.contains("who.xml"), "{}", unchanged.err);
    garden.write(FILE, LIBRARY.replace("Say: ", "Shout: "));
    let ended = garden.expect(0, &["resume", &run]);
    assert_eq!(ended.out.trim(), "ANA!");
    assert!(ended.err.contains("applies from now on; who-say begins again"), "{}", ended.err);
    assert_eq!((garden.asked().len(), garden.count("tool_finished")), (3, 1), "one call more, no process more");
    let more = "<task id=\"more\"><description>Name another</description><allowed_tools/></task></steps>";
    garden.write(FILE, LIBRARY.replace("Say: ", "Shout: ").replace("</steps>", more));
    let ended = garden.expect(0, &["resume", &run]);
    assert_eq!(ended.out.trim(), "And Ben.");
    assert!(ended.err.contains("applies from now on; who has other steps\n"), "{}", ended.err);
    assert_eq!(garden.asked().len(), 4);
}

/// covers: T 15
#[test]
fn a_run_says_why_it_keeps_the_recorded_version() {
    let garden = garden();
    garden.expect(3, &["template", "run", "who", "what=barrels"]);
    for (edited, why) in [
        (
            LIBRARY.replace("<input name=\"what\"/>", "<input name=\"what\"/><input name=\"why\"/>"),
            "the new one takes other inputs",
        ),
        (LIBRARY.replace("\"script\"", "\"scripts\""), "the new one is not available"),
        ("<templates".to_owned(), "the new one is not available"),
    ] {
        garden.write(FILE, edited);
        let ended = garden.expect(3, &["resume"]);
        assert!(ended.err.contains("the run uses the previous version") && ended.err.contains(why), "{}", ended.err);
    }
    std::fs::remove_file(garden.path(FILE)).unwrap();
    garden.expect(0, &["approve"]);
    assert_eq!(garden.expect(0, &["resume"]).out.trim(), "Ana.");
}

/// A file of a cloned project gains nothing by an edit.
/// covers: T 15, 12.7
#[test]
fn an_edited_template_that_is_not_trusted_is_not_taken_over() {
    let garden = garden();
    garden.expect(3, &["template", "run", "who", "what=barrels"]);
    garden.plant(FILE, LIBRARY.replace("wc -l", "rm -f"));
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains("callsheet trust"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]);
    assert!(shown.out.contains("wc") && !shown.out.contains("rm -f"), "{}", shown.out);
}

/// covers: T 15
#[test]
fn changes_that_would_be_made_again_are_undone_first() {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\n[[rule.reply]]\n\
         calls = [{ name = \"write_file\", arguments = { path = \"new.md\", content = \"One.\\n\" } }]\n\
         [[rule.reply]]\ntext = \"Written.\"\n",
    );
    let notes = |words: &str| {
        format!(
            "<task name=\"notes\"><description>{words}</description><allowed_tools><tool>write_file</tool></allowed_tools></task>"
        )
    };
    garden.write(".callsheet/templates/notes.xml", notes("Write notes"));
    garden.expect(0, &["template", "run", "--approval", "never", "notes"]);
    assert_eq!(garden.read("new.md"), "One.\n");
    let run = run_of(&garden);
    garden.write(".callsheet/templates/notes.xml", notes("Write short notes"));
    let kept = garden.expect(0, &["resume", &run]);
    assert!(kept.err.contains(&format!("callsheet undo {run} notes")), "{}", kept.err);
    assert_eq!(garden.asked().len(), 2);
    garden.expect(0, &["undo", &run, "notes"]);
    let ended = garden.expect(0, &["resume", &run]);
    assert!(ended.err.contains("notes begins again"), "{}", ended.err);
    assert!(garden.asked().len() > 2);
}

/// covers: T 15
#[test]
fn a_raised_limit_stays_raised_unless_the_edit_changes_it() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = '{\"success\": false}'\n");
    let until = |words: &str, most: u32| {
        format!(
            "<task type=\"director_evaluator_loop\" name=\"until\"><description>Write</description>\
             <max_iterations>{most}</max_iterations><director><description>Write</description></director>\
             <evaluator><description>{words}</description></evaluator></task>"
        )
    };
    let file = ".callsheet/templates/until.xml";
    garden.write(file, until("Judge", 1));
    let ended = garden.call(&["template", "run", "until"]);
    assert!(ended.err.contains("no success within 1 iteration"), "{}", ended.err);
    let run = run_of(&garden);
    let ended = garden.call(&["resume", &run, "--limit", "until.max_iterations=2"]);
    assert!(ended.err.contains("no success within 2 iterations"), "{}", ended.err);
    garden.write(file, until("Judge again", 1));
    let ended = garden.call(&["resume", &run]);
    assert!(ended.err.contains("no success within 2 iterations"), "{}", ended.err);
    garden.write(file, until("Judge once more", 3));
    let ended = garden.call(&["resume", &run]);
    assert!(ended.err.contains("no success within 3 iterations"), "{}", ended.err);
}
