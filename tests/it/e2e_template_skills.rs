//! Templates where a request or a sheet meets them: chosen for a request, suggested to the planner, called as a skill,
//! and asking for subtasks through the whole binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const REPORT: &str = r#"<template name="water_report" params="question:string" AUTO><task type="atomic">
<description>Report who waters the barrels of the garden</description><instructions>Answer: {{question}}</instructions>
<expected_output>Two paragraphs.</expected_output><allowed_tools/></task></template>"#;

const SCRIPT: &str = r#"
[[rule]]
phase = "plan"
text = '''
## Goals / summary
Say who waters.
**plan complete**
## Tasks
### Task section 1
- **Name** Report 1
- **What is needed** Who waters the barrels.
- **Skill** water_report
- **References** none
- **Expected output** A name.
'''

[[rule]]
phase = "refine"
text = '''
## Task
- **What is needed** Who waters the barrels.
## Tool Calls
```json
{"name": "water_report", "arguments": {"question": "Who waters the barrels?"}}
```
'''

[[rule]]
phase = "execute"
prompt = "Report who waters"
text = '''
Ana waters them.

On Mondays it is Bo.
'''
"#;

fn garden(auto: &str) -> TestProject {
    let garden = TestProject::scripted(SCRIPT);
    garden.write(".callsheet/templates/water.xml", REPORT.replace("AUTO", auto));
    garden
}

const REQUEST: &str = "Report who waters the barrels of the garden";

/// covers: C38
#[test]
fn c38_a_request_runs_a_template_only_if_it_may_and_the_choice_is_shown() {
    let ended = garden("auto_select=\"true\"").expect(0, &["run", REQUEST]);
    assert!(ended.err.contains("template water_report (score ") && ended.err.contains("text "), "{}", ended.err);
    assert!(ended.out.contains("Ana waters them."), "{}", ended.out);
    let garden = garden("");
    let ended = garden.expect(0, &["run", REQUEST]);
    assert!(!ended.err.contains("template water_report (score "), "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("may fit this request, best first: water_report"), "{prompt}");
    assert!(
        prompt.contains("- **water_report** Report who waters the barrels of the garden (question) (template)"),
        "{prompt}"
    );
    // What nobody knows is answered with what there is, templates and skills alike.
    let ended = garden.expect(2, &["template", "run", "water_reprot"]);
    assert!(ended.err.contains("water_report"), "{}", ended.err);
    let ended = garden.expect(2, &["run", "--skill", "water_reprot", "who waters"]);
    assert!(ended.err.contains("water_report"), "{}", ended.err);
}

/// covers: C49
#[test]
fn c49_a_template_is_a_skill_of_a_sheet() {
    let garden = garden("");
    let ended = garden.expect(0, &["run", "who waters?"]);
    assert!(ended.out.contains("Ana waters them."), "the summary is the first paragraph: {}", ended.out);
    // The plan, the refinement and the call of the template.
    assert!(ended.err.contains("- model calls: 3,"), "{}", ended.err);
    let finished = garden.facts().into_iter().find(|fact| fact["event"] == "call_returned");
    let finished = finished.expect("the call").to_string();
    assert!(finished.contains("\"summary\":\"Ana waters them.\""), "{finished}");
    // The arguments are bound before any call: a bad one is told to the refinement, which may mend it.
    let asked = garden.asked();
    assert_eq!(asked.iter().filter(|line| line.contains("refine")).count(), 1, "{asked:?}");
}

/// A skill that is a template with errors is there, and what is wrong with it is told.
///
/// covers: C49
#[test]
fn c49_a_sheet_whose_template_has_errors_says_so() {
    let garden = garden("");
    let library = "<templates>\n<task type=\"map\" name=\"broken\"><description>A</description></task>\n\
        <task type=\"sequential\" name=\"caller\"><description>A</description><steps><call template=\"broken\"/></steps></task>\n\
        </templates>";
    garden.write(".callsheet/templates/broken.xml", library);
    let sheet = |skill: &str| {
        format!(
            "## Goals / summary\nKnow.\n## Tasks\n### Task section 1\n- **Name** Look\n- **What is needed** Look.\n\
             - **Skill** {skill}\n- **Expected output** A word.\n"
        )
    };
    for skill in ["broken", "template:broken", "caller"] {
        garden.write("w.md", sheet(skill));
        let name = skill.trim_start_matches("template:");
        let told = format!("skill \"{name}\" is a template with errors: .callsheet/templates/broken.xml:2 T011.");
        let checked = garden.expect(2, &["sheet", "check", "w.md"]);
        assert!(checked.out.contains(&told) && !checked.out.contains("does not exist"), "{}", checked.out);
        let ended = garden.expect(2, &["run", "--sheet", "w.md"]);
        assert!(ended.err.contains(&told), "{}", ended.err);
    }
    garden.write("w.md", sheet("brokne_thing"));
    let checked = garden.expect(2, &["sheet", "check", "w.md"]);
    assert!(checked.out.contains("skill \"brokne_thing\" does not exist"), "{}", checked.out);
}

/// covers: C49
#[test]
fn c49_of_equal_names_the_template_wins_and_is_told() {
    let garden = garden("");
    garden.write(
        ".callsheet/skills/water_report.md",
        "---\nname: water_report\ndescription: Look who waters.\n---\nRead.\n---\nAnswer from the files.\n",
    );
    let ended = garden.expect(0, &["run", "who waters?"]);
    assert!(ended.err.contains("T519") && ended.err.contains("water_report"), "{}", ended.err);
    assert!(ended.out.contains("Ana waters them."), "{}", ended.out);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("- **skill:water_report** Look who waters."), "{prompt}");
}

/// A skill of the project is not replaced by a template that comes with Callsheet.
///
/// covers: C49, T519
#[test]
fn a_skill_of_the_project_wins_over_a_built_in_template() {
    let garden = TestProject::scripted("[default]\ntext = \"## Result summary\\nMine.\"\n");
    garden.write(
        ".claude/skills/triage/SKILL.md",
        "---\nname: triage\ndescription: Sort what comes in.\n---\nSort by the colour of the flower.\n",
    );
    garden.expect(0, &["trust", "--yes"]);
    let ended = garden.expect(0, &["run", "--skill", "triage", "sort"]);
    assert!(ended.err.contains("is used, not the built-in template"), "{}", ended.err);
    assert!(garden.expect(0, &["show", "--prompt", "1"]).out.contains("colour of the flower"));
}

/// covers: C42, C43
#[test]
fn c42_a_subtask_answers_the_reply_that_asked_for_it() {
    let garden = TestProject::scripted(
        r#"
[[rule]]
phase = "execute"
prompt = "Lead the watering"
[[rule.reply]]
text = '''{"status": "CONTINUATION", "content": "first", "notes": {"subtask_request": {"type": "atomic", "description": "Count the barrels", "inputs": {"where": "yard"}}}}'''
[[rule.reply]]
text = "There are four."

[[rule]]
phase = "execute"
prompt = "Count the barrels"
text = "four"
"#,
    );
    garden.write(
        ".callsheet/templates/lead.xml",
        "<task type=\"atomic\" name=\"lead\"><description>Lead the watering</description></task>",
    );
    let ended = garden.expect(0, &["template", "run", "lead"]);
    assert!(ended.out.contains("There are four."), "{}", ended.out);
    let last = garden.expect(0, &["show", "--prompt", "3"]).out;
    assert!(last.contains("## Subtask result") && last.contains("four"), "{last}");
}

const COUNT: &str = r#"<template name="water_report" params="question:string"><task type="sequential">
<description>Report who waters the barrels of the garden</description><steps>
<task type="atomic" id="who"><description>Say who: {{question}}</description><instructions>One line.</instructions><allowed_tools/></task>
<task type="script" id="count"><description>Count the lines</description><command>wc -l water.md</command></task>
<task type="atomic" id="sum"><description>Sum up: {{steps.who.content}}</description><instructions>One line.</instructions><allowed_tools/></task>
</steps></task></template>"#;

const COUNTED: &str = "
[[rule]]
phase = \"execute\"
prompt = \"Say who\"
text = \"Ana waters.\"

[[rule]]
phase = \"execute\"
prompt = \"Sum up\"
text = \"Ana waters all of them.\"
";

/// covers: C49, C48
#[test]
fn c49_a_sheet_waits_for_a_template_that_waits_for_a_person() {
    let garden = TestProject::scripted(&format!("{SCRIPT}{COUNTED}"));
    garden.write(".callsheet/templates/water.xml", COUNT);
    // The template runs a process: the task is a writer, and waits to begin.
    let ended = garden.expect(3, &["run", "who waters?"]);
    let outer = ended.err.split("callsheet approve ").nth(1).expect("how to go on").trim().to_owned();
    let outer = outer.split(' ').next().unwrap();
    garden.expect(0, &["approve"]);
    // Inside it the process waits, and nobody is there.
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains(&format!("Answer: callsheet approve {outer} --resume")), "{}", ended.err);
    let shown = garden.expect(0, &["show", outer]).out;
    assert!(shown.contains("report-1/water-report-count wants") && shown.contains("wc"), "{shown}");
    // Another look changes nothing, and asks no model.
    let asked = garden.asked().len();
    garden.expect(3, &["resume"]);
    assert_eq!(garden.asked().len(), asked);
    let told = garden.expect(0, &["approve", outer]);
    assert!(told.err.contains(&format!("callsheet resume {outer}\n")), "{}", told.err);
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.out.contains("Ana waters all of them."), "{}", ended.out);
    // The plan, the refinement, and two calls of the template, each paid for once.
    assert!(ended.err.contains("- model calls: 4,"), "{}", ended.err);
    // Its tasks are shown under the task that called it, and the sheet holds that alone.
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("[report-1/water-report-who]"), "{shown}");
    let sheet = std::fs::read_to_string(garden.run_folder().join("sheet.md")).unwrap();
    assert!(!sheet.contains("water-report"), "{sheet}");
}

/// covers: C49
#[test]
fn c49_a_denial_inside_a_template_fails_the_task_of_the_sheet() {
    let garden = TestProject::scripted(&format!("{SCRIPT}{COUNTED}"));
    garden.write(".callsheet/templates/water.xml", COUNT);
    garden.expect(3, &["run", "--approval", "before-apply", "--set", "iterate=never", "who waters?"]);
    garden.expect(0, &["deny", "--because", "not today"]);
    let ended = garden.expect(5, &["resume"]);
    assert!(ended.err.contains("Report 1 failed: denied: not today"), "{}", ended.err);
}

/// covers: C49
#[test]
fn c49_a_failure_inside_a_template_is_told_with_its_place() {
    let garden =
        TestProject::scripted(&SCRIPT.replace(
            "Ana waters them.\n\nOn Mondays it is Bo.",
            "{\"status\": \"FAILED\", \"content\": \"no barrel\"}",
        ));
    garden.write(".callsheet/templates/water.xml", REPORT.replace("AUTO", ""));
    let ended = garden.expect(5, &["run", "--set", "iterate=never", "who waters?"]);
    let told = "Report 1 failed: no barrel (.callsheet/templates/water.xml:1:57: report-1/water-report)";
    assert!(ended.err.contains(told), "{}", ended.err);
}

const ASKING: &str = r#"<template name="water_report" params="question:string"><task type="atomic">
<description>Answer a person: {{question}}</description><instructions>Ask first.</instructions>
<allowed_tools><tool>ask_user</tool></allowed_tools></task></template>"#;

const ASKED: &str = r#"
[[rule]]
phase = "execute"
prompt = "In the yard"
text = "Ana waters the one in the yard."

[[rule]]
phase = "execute"
prompt = "Answer a person"
calls = [{ name = "ask_user", arguments = { prompt = "Which barrel?" } }]
"#;

/// covers: C49
#[test]
fn c49_a_question_inside_a_template_is_answered_through_the_sheet() {
    let garden = TestProject::scripted(&format!("{SCRIPT}{ASKED}"));
    garden.write(".callsheet/templates/water.xml", ASKING);
    let ended = garden.expect(3, &["run", "who waters?"]);
    assert!(ended.err.contains("Answer: callsheet resume ") && ended.err.contains("--answer"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("Which barrel?"), "{shown}");
    let ended = garden.expect(0, &["resume", "--answer", "In the yard."]);
    assert!(ended.out.contains("Ana waters the one in the yard."), "{}", ended.out);
    assert_eq!(garden.asked().iter().filter(|line| line.contains("plan")).count(), 1, "{:?}", garden.asked());
}

const WRITING: &str = r#"<template name="water_report" params="question:string"><task type="atomic">
<description>Write who waters: {{question}}</description><instructions>Write the file.</instructions>
<allowed_tools effects="write"><tool>write_file</tool></allowed_tools></task></template>"#;

const WRITTEN: &str = r#"
[[rule]]
phase = "execute"
prompt = "Write who waters"
[[rule.reply]]
calls = [{ name = "write_file", arguments = { path = "who.md", content = "Ana.\n" } }]
[[rule.reply]]
text = "It is written."
"#;

/// covers: C49
#[test]
fn c49_an_undo_takes_back_what_a_template_inside_a_sheet_changed() {
    let garden = TestProject::scripted(&format!("{SCRIPT}{WRITTEN}"));
    garden.write(".callsheet/templates/water.xml", WRITING);
    let before = garden.files();
    let ended = garden.expect(0, &["run", "--approval", "never", "who waters?"]);
    assert_eq!(garden.read("who.md"), "Ana.\n");
    assert!(ended.err.contains("Revert the changes: callsheet undo "), "{}", ended.err);
    let undone = garden.expect(0, &["undo"]);
    assert!(undone.err.contains("deleted who.md"), "{}", undone.err);
    assert_eq!(garden.files(), before);
    let again = garden.expect(0, &["undo"]);
    assert!(again.err.contains("has no changes to revert"), "{}", again.err);
}

/// A refinement that is nothing but the call of its template is one.
///
/// covers: C49
#[test]
fn c49_a_bare_call_of_a_template_is_read() {
    for reply in [
        r#"{"name": "water_report", "arguments": {"question": "Who?"}}"#,
        r#"{"question": "Who?"}"#,
        "Sure:\n```json\n{'name': 'water_report', 'arguments': {'question': 'Who?'}}\n```",
        r#"{"water_report": {"question": "Who?"}}"#,
    ] {
        let (before, refine) = SCRIPT.split_once("phase = \"refine\"\ntext = '''").unwrap();
        let (_, after) = refine.split_once("\n'''").unwrap();
        let script = format!("{before}phase = \"refine\"\ntext = \"\"\"\n{reply}\n\"\"\"{after}");
        let garden = TestProject::scripted(&script);
        garden.write(".callsheet/templates/water.xml", REPORT.replace("AUTO", ""));
        let ended = garden.expect(0, &["run", "who waters?"]);
        assert!(ended.out.contains("Ana waters them."), "{reply}: {}", ended.err);
        assert_eq!(garden.asked().iter().filter(|line| line.contains("refine")).count(), 1, "{reply}");
    }
}
