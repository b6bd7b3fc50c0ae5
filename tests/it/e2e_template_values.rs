//! Values of templates through the whole binary: the fields of a reply, typed replies as models write them, files and
//! inputs that are missing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const TYPED: &str = r#"<templates><template name="typed" params="text"><task type="atomic">
<description>Type {{text}}</description><output_format type="json" schema="object"/><allowed_tools/></task></template></templates>"#;

fn typed(replies: &[&str]) -> TestProject {
    let mut script = "[[rule]]\nphase = \"execute\"\n".to_owned();
    for reply in replies {
        script.push_str(&format!("[[rule.reply]]\ntext = {}\n", toml_text(reply)));
    }
    let garden = TestProject::scripted(&script);
    garden.write(".callsheet/templates/typed.xml", TYPED);
    garden
}

/// A text as a TOML string: JSON strings are such.
fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// covers: C20
#[test]
fn a_typed_reply_is_read_as_it_is_meant() {
    let replies = [
        "Sure! {\"a\": 1}",
        "Here:\n```json\n{\"a\": 1}\n```\nBye.",
        "<think>{\"a\": 2}</think>{\"a\": 1}",
        "{'a': 1,}",
        "{\"a\": 1} // one",
        "\"{\\\"a\\\": 1}\"",
        "The list [1] gives {\"a\": 1}.",
    ];
    for reply in replies {
        let ended = typed(&[reply]).expect(0, &["template", "run", "typed", "text=x"]);
        assert_eq!(ended.out.trim().replace(' ', ""), "{\"a\":1}", "{reply}");
        let told = ended.err.contains("was repaired") || ended.err.contains("thinking, which was left out");
        assert!(told, "{reply}: {}", ended.err);
    }
    let garden = typed(&["{\"flag\": True, \"text\": \"one\ntwo\"}"]);
    assert_eq!(
        garden.expect(0, &["template", "run", "typed", "text=x"]).out.trim(),
        "{\"flag\":true,\"text\":\"one\\ntwo\"}"
    );
    let garden = typed(&["```json\n{\"a\": 1}\n```"]);
    let ended = garden.expect(0, &["template", "run", "typed", "text=x"]);
    assert!(ended.out.trim() == "{\"a\":1}" && !ended.err.contains("repaired"), "{}", ended.err);
}

/// covers: C20
#[test]
fn a_typed_reply_that_needs_a_guess_is_asked_for_again() {
    for reply in ["It is {\"a\": 1} or {\"a\": 2}.", "{\"a\": 1 \"b\": 2}", "No JSON."] {
        let garden = typed(&[reply, "{\"a\": 3}"]);
        assert_eq!(garden.expect(0, &["template", "run", "typed", "text=x"]).out.trim(), "{\"a\": 3}", "{reply}");
        assert_eq!(garden.asked().len(), 2, "{reply}");
    }
    let ended = typed(&["No JSON."]).expect(5, &["template", "run", "typed", "text=x"]);
    assert_eq!(ended.out, "", "what failed has no result");
}

/// covers: C7
#[test]
fn missing_inputs_are_said_before_a_run_is_made() {
    let garden = typed(&["{}"]);
    let ended = garden.expect(2, &["template", "run", "typed"]);
    assert!(ended.err.contains("Missing required input: text"), "{}", ended.err);
    assert!(ended.err.contains("template run typed text=TEXT"), "{}", ended.err);
    let ended = garden.expect(2, &["template", "run", "summarise_files", "files=a.md"]);
    assert!(ended.err.contains("files:=@FILE [question=TEXT]"), "{}", ended.err);
    assert!(!garden.path(".callsheet/runs").exists());
}

/// covers: C14
#[test]
fn files_of_a_callers_list_are_there_before_the_first_call() {
    let garden = typed(&["Fine."]);
    garden.write("a.md", "A");
    let run = |files: &str| garden.expect(2, &["template", "run", "summarise_files", files]).err;
    let lost = run("files:=[\"a.md\", \"b.md\"]");
    assert!(lost.contains("b.md") && !lost.contains("a.md,"), "{lost}");
    assert!(run("files:=[\"a.md\", \"notes/*.md\"]").contains("notes/*.md"));
    assert!(run("files:=[]").contains("a list of at least one file wanted"));
    garden.write(
        ".callsheet/templates/globs.xml",
        "<templates><template name=\"globs\" params=\"n, files\"><task><description>{{n}}</description><file_paths>\
         <path>notes/*.md</path><path>{{files}}</path></file_paths><allowed_tools/></task></template></templates>",
    );
    let ended = garden.expect(2, &["template", "run", "globs", "n=1", "files=a.md"]);
    assert!(ended.err.contains("notes/*.md") && !ended.err.contains("a.md"), "{}", ended.err);
    assert!(garden.asked().is_empty(), "nothing was asked");
    garden.write("notes/n.md", "N");
    garden.expect(0, &["template", "run", "globs", "n=1", "files=a.md"]);
    garden.expect(0, &["template", "run", "summarise_files", "files:=[\"a.md\", \"notes/*.md\"]"]);
}

/// An index changes no prompt that did not ask for it.
///
/// covers: C13
#[test]
fn an_index_changes_only_prompts_that_ask_for_it() {
    let garden = typed(&["Barrels are full."]);
    garden.write("barrels.md", "# Barrels\n\nAll about the barrels.\n");
    let reduce = |name: &str, settings: &str| {
        format!(
            "<task type=\"reduce\" name=\"{name}\" items=\"list\"><description>Say what barrels hold</description>{settings}\
             <inputs><input name=\"list\">[\"barrels\"]</input></inputs><initial_value>none</initial_value>\
             <inner_task><description>Barrels {{{{current_data}}}}</description><allowed_tools/></inner_task>\
             <reduction_task><description>Barrels {{{{current_result}}}}</description><allowed_tools/></reduction_task></task>"
        )
    };
    let asks = "<context_management fresh_context=\"enabled\"/>";
    let both = format!("<templates>{}{}</templates>", reduce("plain", ""), reduce("asks", asks));
    garden.write(".callsheet/templates/both.xml", both);
    let prompts = |name: &str| {
        garden.expect(0, &["template", "run", name]);
        garden.expect(0, &["show", "--prompt", "1"]).out + &garden.expect(0, &["show", "--prompt", "2"]).out
    };
    let before = prompts("plain");
    garden.expect(0, &["index"]);
    assert_eq!(prompts("plain"), before);
    assert!(prompts("asks").contains("All about the barrels"));
}
