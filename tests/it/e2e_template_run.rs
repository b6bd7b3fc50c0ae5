//! `template run` as a user has it: values in, a result out, gates and questions across processes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{Ended, TestProject, json_lines};

const LIBRARY: &str = r#"<templates version="1">
<task type="sequential" name="who"><description>Find who waters the {{what}}</description><inputs><input name="what"/></inputs>
<steps><task type="atomic" id="read"><description>Read about the {{what}}</description><instructions>Say who.</instructions>
<file_paths><path>water.md</path><path>nowhere.md</path></file_paths><allowed_tools/></task>
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
"#;

fn garden() -> TestProject {
    let garden = TestProject::scripted(SCRIPT);
    garden.write(".callsheet/templates/who.xml", LIBRARY);
    garden
}

/// covers: C14, C46, C48, C51
#[test]
fn a_process_waits_for_approval_and_the_run_goes_on_in_another_process() {
    let garden = garden();
    let ended = garden.expect(3, &["template", "run", "who", "what=barrels"]);
    assert!(ended.err.contains("Waiting for approval"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]);
    assert!(shown.out.contains("wc") && shown.out.contains("water.md"), "{}", shown.out);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("water.md") && prompt.contains("Read about the barrels"), "{prompt}");
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume"]);
    assert_eq!(ended.out.trim(), "Ana.");
    let result = result_of(&garden);
    assert_eq!(result["status"], "COMPLETE");
    assert_eq!(result["notes"]["step_results"].as_array().unwrap().len(), 3);
    assert_eq!(result["notes"]["metrics"]["calls"], 2, "no finished call was made again");
}

/// What is wrong stands first where a program tells how it is used after it.
/// covers: C25
#[test]
fn the_first_words_of_a_failed_script_are_shown() {
    let garden = TestProject::scripted(SCRIPT);
    let bad = r#"<task type="script" name="bad"><description>Fail</description><command>sh fail.sh</command></task>"#;
    garden.write("fail.sh", "(echo Not a repository; seq 1 30) >&2; exit 3");
    garden.write(".callsheet/templates/bad.xml", bad);
    let ended = garden.expect(5, &["template", "run", "--approval", "never", "bad"]);
    let (first, last) = ("\n  | Not a repository\n  | [20 lines omitted]\n  | 21\n", "\n  | 30\n");
    assert!(ended.err.contains(first) && ended.err.contains(last), "{}", ended.err);
}

/// The text of the model stays in the record as it was.
/// covers: C20
#[test]
fn declared_json_is_printed_alone() {
    let garden = TestProject::scripted(
        r#"[[rule]]
phase = "execute"
prompt = "Fence"
text = "```json\n{\"b\": 1}\n```\n"
[[rule]]
phase = "execute"
text = '{"status": "COMPLETE", "content": "", "parsed_content": {"b": 1, "a": [2]}}'
"#,
    );
    let task = |name: &str| {
        let head = format!("<task type=\"atomic\" name=\"{name}\"><description>{name}</description>");
        let form = "<output_format type=\"json\" schema=\"object\"/><allowed_tools/></task>";
        format!("{head}<instructions>Go.</instructions>{form}")
    };
    garden.write(".callsheet/templates/a.xml", format!("<templates>{}{}</templates>", task("Fence"), task("Envelope")));
    assert_eq!(garden.expect(0, &["template", "run", "Fence"]).out, "{\"b\":1}\n");
    assert_eq!(result_of(&garden)["content"], "{\"b\":1}");
    assert!(garden.expect(0, &["show"]).out.contains("\n\n{\"b\":1}\n"));
    assert_eq!(garden.expect(0, &["template", "run", "Envelope"]).out, "{\"b\":1,\"a\":[2]}\n");
}

/// covers: C51
#[test]
fn a_denied_process_never_runs() {
    let garden = garden();
    garden.expect(3, &["template", "run", "who", "what=barrels"]);
    garden.expect(0, &["deny", "--because", "not today"]);
    let ended = garden.expect(5, &["resume"]);
    assert!(ended.err.contains("denied: not today"), "{}", ended.err);
    let result = result_of(&garden);
    assert_eq!(result["error"]["details"]["halt"], "approval_denied");
    assert_eq!(result["error"]["details"]["failed_step"], 1);
}

/// covers: C7
#[test]
fn a_missing_input_is_told_before_any_call() {
    let garden = garden();
    let ended = garden.expect(2, &["template", "run", "who"]);
    assert!(ended.err.contains("Missing required input: what"), "{}", ended.err);
    assert!(ended.err.contains("template run who what=TEXT"), "{}", ended.err);
    let ended = garden.expect(2, &["template", "run", "nobody"]);
    assert!(ended.err.contains("there is no template") && ended.err.contains("template list"), "{}", ended.err);
    let ended = garden.expect(2, &["template", "run", "who", "what:={"]);
    assert!(ended.err.contains("what:"), "{}", ended.err);
}

/// covers: C9
#[test]
fn values_come_from_text_files_and_json_and_the_result_is_json_where_asked() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = '[1, 2]'\n");
    let library = r#"<task type="atomic" name="take"><description>{{a}} {{b.n}} {{c}}</description>
<instructions>Answer.</instructions><output_format type="json" schema="array"/><allowed_tools/>
<inputs><input name="a"/><input name="b"/><input name="c"/></inputs></task>"#;
    garden.write(".callsheet/templates/take.xml", library);
    garden.write("c.txt", "from a file");
    let ended = garden.expect(0, &["--json", "template", "run", "take", "a=plain", "b:={\"n\": 7}", "c=@c.txt"]);
    let last = json_lines(&ended.out).pop().unwrap();
    assert_eq!(last["task_result"]["parsed_content"], serde_json::json!([1, 2]));
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("plain 7 from a file"), "{prompt}");
}

/// covers: T 5
#[test]
fn a_file_that_is_missing_is_told() {
    let garden = garden();
    garden.expect(3, &["template", "run", "who", "what=barrels"]);
    garden.expect(0, &["approve"]);
    let ended = garden.expect(0, &["resume"]);
    assert!(ended.err.contains("warning: who-read: ") && ended.err.contains("nowhere.md"), "{}", ended.err);
}

/// A process reads what a model said from a private file and its standard input, sees no secret, and its exit code is
/// what the evaluator judges.
/// covers: C25, C26, C27
#[test]
fn a_loop_judges_what_a_process_says() {
    let garden = TestProject::scripted(
        r#"
[[rule]]
phase = "execute"
prompt = "Judge exit 0"
text = '{"success": true}'
[[rule]]
phase = "execute"
prompt = "Judge exit 1"
text = '{"success": false, "feedback": "a number"}'
[[rule]]
phase = "execute"
[[rule.reply]]
text = "a | b"
[[rule.reply]]
text = "42"
"#,
    );
    let library = r#"<task type="director_evaluator_loop" name="until"><description>Write a number</description>
<director><description>Write a number. {{evaluation_feedback}}</description><instructions>Only it.</instructions><allowed_tools/></director>
<script_execution><command>grep -qx 42 {{files.said}}</command><input_file name="said" from="director_result" suffix=".txt"/></script_execution>
<evaluator><description>Judge exit {{script_exit_code}}</description><instructions>Say.</instructions><allowed_tools/>
<output_format type="json" schema="object"/></evaluator></task>"#;
    garden.write(".callsheet/templates/until.xml", library);
    let ended = garden.expect(0, &["template", "run", "until", "--approval", "never"]);
    assert_eq!(ended.out.trim(), "42", "{}", ended.err);
    assert_eq!(result_of(&garden)["notes"]["iterations_completed"], 2);
}

/// What a process reads and is told besides its words is approved with it: a model that fills it is asked for again.
#[test]
fn an_approval_of_a_process_holds_for_its_standard_input_and_its_variables() {
    for told in [
        r#"<command>sh</command><stdin from="director_result"/>"#,
        r#"<command>sh -c 'eval "$TODO"'</command><environment><var name="TODO">{{director_result}}</var></environment>"#,
    ] {
        let garden = TestProject::scripted(
            r#"
[[rule]]
phase = "execute"
prompt = "Judge"
text = '{"success": false, "feedback": "more"}'
[[rule]]
phase = "execute"
prompt = "Write more"
text = "touch unasked"
[[rule]]
phase = "execute"
text = "echo harmless"
"#,
        );
        let library = format!(
            r#"<task type="director_evaluator_loop" name="until"><description>Do</description><max_iterations>2</max_iterations>
<director><description>Write {{{{evaluation_feedback}}}}</description><allowed_tools/></director>
<script_execution>{told}</script_execution>
<evaluator><description>Judge</description><allowed_tools/><output_format type="json" schema="object"/></evaluator></task>"#
        );
        garden.write(".callsheet/templates/until.xml", library);
        garden.expect(3, &["template", "run", "until"]);
        garden.expect(0, &["approve"]);
        garden.expect(3, &["resume"]);
        assert!(!garden.path("unasked").exists(), "{told}");
        let shown = garden.expect(0, &["show"]).out;
        assert!(shown.contains("touch unasked"), "{shown}");
    }
}

/// A process that inherits every variable is shown as such, and no approval of one that does not holds for it.
#[test]
fn an_approval_of_a_process_holds_for_what_it_inherits() {
    let garden = TestProject::bare();
    let step = |inherit: &str| {
        format!(
            "<task type=\"script\"><description>x</description><command>sh x.sh</command>\
             <environment inherit=\"{inherit}\"/></task>"
        )
    };
    let library = format!(
        "<task type=\"sequential\" name=\"three\"><description>S</description><steps>{}{}{}</steps></task>",
        step("safe"),
        step("all"),
        step("all")
    );
    garden.write(".callsheet/templates/three.xml", library);
    garden.write("x.sh", "echo \"[$GARDEN_SECRET]\" >> out.txt\n");
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), "[tools]\nenvironment = ['GARDEN_SECRET']\n").unwrap();
    let expect = |code: i32, arguments: &[&str]| {
        let output = garden.command(arguments).env("GARDEN_SECRET", "plums").output().unwrap();
        let ended = Ended::from(output);
        assert_eq!(ended.code, code, "{arguments:?}\n{}\n{}", ended.out, ended.err);
        ended.out
    };
    expect(3, &["template", "run", "three"]);
    let shown = expect(0, &["show"]);
    assert!(!shown.contains("inherits"), "{shown}");
    expect(0, &["approve"]);
    expect(3, &["resume"]);
    assert_eq!(garden.read("out.txt"), "[]\n");
    let shown = expect(0, &["show"]);
    assert!(shown.contains("inherits all environment variables"), "{shown}");
    expect(0, &["approve"]);
    expect(0, &["resume"]);
    assert_eq!(garden.read("out.txt"), "[]\n[plums]\n[plums]\n");
}

/// A skill is called like a template; its instructions and references reach the model.
/// covers: C49
#[test]
fn a_skill_is_called() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = 'Ana.'\n");
    let library = r#"<task type="sequential" name="ask"><description>Ask</description><steps>
<call template="skill:read_files"><arg name="what_is_needed" value="Who waters?"/><arg name="references">["water.md"]</arg></call>
</steps></task>"#;
    garden.write(".callsheet/templates/ask.xml", library);
    garden.expect(0, &["template", "check"]);
    let ended = garden.expect(0, &["template", "run", "ask"]);
    assert_eq!(ended.out.trim(), "Ana.");
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("Who waters?") && prompt.contains("### water.md"), "{prompt}");
}

/// References of a called skill may be links.
///
/// covers: C49
#[test]
fn the_links_given_to_a_skill_reach_the_model() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = 'Ana.'\n");
    let library = r#"<task type="sequential" name="ask"><description>Ask</description><steps>
<call template="skill:read_files"><arg name="what_is_needed" value="Who waters?"/><arg name="references" value="[Water](water.md)
[Rota](README.md)"/></call></steps></task>"#;
    garden.write(".callsheet/templates/ask.xml", library);
    garden.expect(0, &["template", "run", "ask"]);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("### water.md") && prompt.contains("### README.md"), "{prompt}");
}

/// An unlisted tool is neither offered nor run, wrong arguments stop before running, aliases mean the canonical tools.
/// covers: C45
#[test]
fn c45_only_listed_tools_are_offered_and_run() {
    let garden = TestProject::scripted(
        r#"
[[rule]]
phase = "execute"
[[rule.reply]]
calls = [{ name = "write_file", arguments = { path = "new.md", content = "x" } }]
[[rule.reply]]
calls = [{ name = "read_file", arguments = { path = ["water.md", 3] } }]
[[rule.reply]]
calls = [{ name = "file_access", arguments = { path = "water.md" } }]
[[rule.reply]]
text = "Done."
"#,
    );
    let library = r#"<task type="atomic" name="read"><description>Read the water plan</description>
<instructions>Say it.</instructions><allowed_tools><tool>read_file</tool></allowed_tools></task>"#;
    garden.write(".callsheet/templates/read.xml", library);
    let ended = garden.expect(0, &["template", "run", "read"]);
    assert_eq!(ended.out.trim(), "Done.");
    let finished: Vec<_> = garden.facts().into_iter().filter(|fact| fact["event"] == "tool_finished").collect();
    assert_eq!(finished.len(), 1, "only the alias of what is listed ran: {finished:?}");
    assert!(!garden.path("new.md").exists());
    let asked: Vec<_> = garden.facts().into_iter().filter(|fact| fact["event"] == "calls_asked").collect();
    assert_eq!(asked.iter().map(|fact| fact["calls"][0]["name"].as_str().unwrap()).collect::<Vec<_>>(), ["read_file"]);
    assert_eq!(garden.count("reply_refused"), 2);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(!prompt.contains("write_file") && !prompt.contains("run_command"), "{prompt}");
}

fn result_of(garden: &TestProject) -> serde_json::Value {
    serde_json::from_str(&garden.run_file("result.json")).unwrap()
}

/// The provider answered, so nothing is unreachable: what it said cannot be used.
///
/// covers: C18
#[test]
fn a_model_that_never_calls_a_tool_rightly_is_no_outage() {
    let script = "[[rule]]\nphase = \"execute\"\ncalls = [{ name = \"read_file\", arguments = { nonsense = 1 } }]\n";
    let garden = TestProject::scripted(script);
    let one = "<task type=\"atomic\" name=\"one\"><description>Look</description><allowed_tools><tool>read_file</tool></allowed_tools></task>";
    garden.write(".callsheet/templates/one.xml", one);
    let ended = garden.expect(5, &["template", "run", "one"]);
    assert!(ended.err.contains("no valid reply after 2 attempts: the model repeated"), "{}", ended.err);
    let result = result_of(&garden);
    assert_eq!(result["error"]["type"], "INVALID_OUTPUT");
    assert_eq!(result["error"]["recovery"]["blame"], "model");
}

/// covers: C25
#[test]
fn the_last_words_of_a_failed_script_are_shown() {
    let garden = TestProject::scripted(SCRIPT);
    garden.write(
        ".callsheet/templates/bad.xml",
        "<templates version=\"1\"><task type=\"script\" name=\"bad\"><description>Fail</description>
<command>ls nowhere-at-all</command></task>
<task type=\"map\" name=\"each\" items=\"list\"><description>Each</description><inputs><input name=\"list\"/></inputs>
<body><task type=\"script\"><description>Fail</description><command>ls {{item}}</command></task></body></task></templates>",
    );
    for arguments in [&["bad"][..], &["each", "list:=[\"nowhere-at-all\"]"]] {
        let command = [&["template", "run", "--approval", "never"], arguments].concat();
        let ended = garden.expect(5, &command);
        assert!(ended.err.contains("exit code 2\n  | ls: cannot access 'nowhere-at-all'"), "{}", ended.err);
    }
}

/// covers: C51
#[test]
fn run_takes_a_template_with_its_values() {
    let garden = garden();
    let ended = garden.expect(0, &["run", "--approval", "never", "--template", "who", "what=barrels"]);
    assert_eq!(ended.out.trim(), "Ana.");
    let ended = garden.expect(2, &["run", "--template", "who"]);
    assert!(ended.err.contains("Missing required input: what"), "{}", ended.err);
}

/// Whatever is listed, `effects="read"` holds.
///
/// covers: C45
#[test]
fn a_task_that_only_reads_is_offered_no_writing_tool() {
    let script = "[[rule]]\nphase = \"execute\"\ntext = \"done\"\n";
    let garden = TestProject::scripted(script);
    garden.write(
        ".callsheet/templates/one.xml",
        "<task type=\"atomic\" name=\"one\" effects=\"read\"><description>Look</description><allowed_tools>
<tool>read_file</tool><tool>write_file</tool><tool>run_command</tool></allowed_tools></task>",
    );
    garden.expect(0, &["template", "run", "one"]);
    let request = garden.expect(0, &["show", "--json", "--prompt", "1"]).out;
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    let offered: Vec<&str> =
        request["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(offered, ["read_file"]);
}

/// covers: C34
#[test]
fn limits_of_a_task_cut_its_reply_and_the_time_of_what_is_below() {
    let script = "[[rule]]\nphase = \"execute\"\ntext = \"0123456789 0123456789\"\n";
    let garden = TestProject::scripted(script);
    garden.write(
        ".callsheet/templates/some.xml",
        "<templates version=\"1\"><task type=\"atomic\" name=\"cut\"><description>Look</description>
<limits max_output_bytes=\"10\"/><allowed_tools/></task>
<task type=\"script\" name=\"long\"><description>Count</description><limits max_output_bytes=\"1000\"/><command>seq 5000</command></task>
<task type=\"sequential\" name=\"slow\"><description>Wait</description><limits timeout_seconds=\"1\"/>
<steps><task type=\"script\"><description>Wait</description><command>sleep 20</command></task></steps></task></templates>",
    );
    let cut = garden.expect(6, &["template", "run", "--json", "cut"]).out;
    let last = |out: &str| json_lines(out).pop().expect("the result");
    assert_eq!(last(&cut)["task_result"]["error"]["resource"], "output", "{cut}");
    let long = garden.expect(0, &["template", "run", "--json", "--approval", "never", "long"]).out;
    let kept = last(&long)["task_result"]["content"].as_str().unwrap().len();
    assert!((500..1_200).contains(&kept), "{kept} bytes");
    let slow = garden.expect(6, &["template", "run", "--approval", "never", "slow"]).err;
    assert_eq!(result_of(&garden)["error"]["reason"], "execution_timeout", "{slow}");
    assert!(slow.contains("slow.timeout_seconds is 1; raise it"), "the limit of the task above: {slow}");
}

/// covers: C22
#[test]
fn what_the_top_template_returns_is_checked() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"[1]\"\n");
    garden.write(
        ".callsheet/templates/r.xml",
        "<template name=\"r\" params=\"\" returns=\"object\"><task type=\"atomic\"><description>Look</description><allowed_tools/></task></template>",
    );
    garden.expect(5, &["template", "run", "r"]);
    assert_eq!(result_of(&garden)["error"]["reason"], "output_format_failure");
}

/// covers: C18
#[test]
fn an_empty_reply_is_no_outage() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"\"\n");
    garden.write(
        ".callsheet/templates/one.xml",
        "<task type=\"atomic\" name=\"one\" disable_reparsing=\"true\"><description>Look</description><allowed_tools/></task>",
    );
    garden.expect(5, &["template", "run", "one"]);
    assert_eq!(result_of(&garden)["error"]["type"], "INVALID_OUTPUT");
}

/// Notes of earlier tasks tell how it went: no content, and nothing that differs from one run to the next.
///
/// covers: C15, C16
#[test]
fn prompts_of_equal_runs_are_equal() {
    let script = "[[rule]]\nphase = \"execute\"\nprompt = \"Write it\"\ntext = \"the whole of it\"\n
[[rule]]\nphase = \"execute\"\nprompt = \"Judge\"\ntext = '{\"verdict\": \"accept\"}'\n
[[rule]]\nphase = \"execute\"\nprompt = \"Say how\"\ntext = \"well\"\n";
    let prompt = || {
        let garden = TestProject::scripted(script);
        garden.write(
            ".callsheet/templates/two.xml",
            "<task type=\"sequential\" name=\"two\"><description>Two</description><steps>
<task type=\"director_evaluator_loop\" id=\"until\"><description>Write</description><max_iterations>1</max_iterations>
<director><description>Write it</description></director><evaluator><description>Judge {{director_result}}</description></evaluator></task>
<task type=\"atomic\" id=\"say\"><description>Say how</description><allowed_tools/></task></steps></task>",
        );
        garden.expect(0, &["template", "run", "two"]);
        garden.expect(0, &["show", "--prompt", "3"]).out
    };
    let (first, second) = (prompt(), prompt());
    assert_eq!(first, second);
    assert!(first.contains("iteration_history") && !first.contains("\"wall\""), "{first}");
    assert!(!first.contains("the whole of it"), "{first}");
}

/// Warnings of other templates in its file are none of its business.
/// covers: T 3
#[test]
fn a_clean_template_runs_strictly_beside_one_with_warnings() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"Ana.\"\n");
    let library = r#"<templates version="1"><task type="atomic" name="warned"><description>Say</description><allowed_tools/></task>
<task type="atomic" name="clean"><description>Say</description><instructions>Go.</instructions><allowed_tools/></task>
<task type="sequential" name="calls"><description>Say</description><steps><call template="warned"/></steps></task></templates>"#;
    garden.write(".callsheet/templates/a.xml", library);
    assert_eq!(garden.expect(0, &["template", "run", "clean", "--set=strict=true"]).out.trim(), "Ana.");
    let ended = garden.expect(2, &["template", "run", "warned", "--set=strict=true"]);
    assert!(ended.err.contains("list them: callsheet template check --strict"), "{}", ended.err);
    let ended = garden.expect(2, &["template", "run", "calls", "--set=strict=true"]);
    assert!(ended.err.contains("T507") && ended.err.contains("template check --strict"), "{}", ended.err);
}

/// A template that has errors is told of where it is called, before any call of a model.
/// covers: T030, T 3
#[test]
fn a_caller_of_a_broken_template_never_runs() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"Ana.\"\n");
    let broken = r#"<template name="broken" params="a=5, c"><task type="atomic"><description>Say {{a}} {{c}}</description></task></template>"#;
    let caller = r#"<task type="sequential" name="caller"><description>S</description><steps>
<task type="atomic"><description>First</description><instructions>Go.</instructions><allowed_tools/></task>
<call template="broken"><arg name="c" value="1"/></call></steps></task>"#;
    garden.write(".callsheet/templates/broken.xml", broken);
    garden.write(".callsheet/templates/caller.xml", caller);
    let ended = garden.expect(2, &["template", "check", ".callsheet/templates/caller.xml"]);
    let told = "T030 call.unknown: the template `broken` has errors and cannot be called: ";
    assert!(ended.out.contains(told) && ended.out.contains("broken.xml:1 T023"), "{}", ended.out);
    let ended = garden.expect(2, &["template", "run", "caller"]);
    assert!(ended.err.contains("\"caller\" has errors"), "{}", ended.err);
    assert!(!garden.path(".callsheet/runs").exists(), "{}", ended.err);
}

/// What was paid for stays: of a map whose last item failed, a retry asks for that item alone.
/// covers: T 15
#[test]
fn retry_of_a_template_runs_what_failed_and_keeps_the_rest() {
    let broken = r#"[[rule]]
phase = "execute"
prompt = "Weigh z"
text = '{"status": "FAILED", "content": "too heavy"}'
[[rule]]
phase = "execute"
text = "light"
"#;
    let mut garden = TestProject::scripted(broken);
    let weigh = r#"<task type="map" name="weigh" items="list"><description>Weigh all</description><inputs><input name="list"/></inputs>
<body><task><description>Weigh {{item}}</description><instructions>Say how heavy.</instructions><allowed_tools/></task></body></task>"#;
    garden.write(".callsheet/templates/weigh.xml", weigh);
    let list: Vec<String> = ('a'..='z').map(|letter| format!("\"{letter}\"")).collect();
    let list = format!("list:=[{}]", list.join(","));
    let ended = garden.expect(5, &["template", "run", "weigh", &list]);
    assert!(ended.err.contains("Next: callsheet retry"), "{}", ended.err);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(garden.asked().len(), 26);

    let ended = garden.expect(2, &["retry", &run, "weigh-99"]);
    assert!(ended.err.contains("has no task weigh-99"), "{}", ended.err);

    garden.follow_text("[[rule]]\nphase = \"execute\"\ntext = \"heavy\"\n");
    let ended = garden.expect(0, &["retry", &run]);
    let weights: Vec<String> = serde_json::from_str(ended.out.trim()).unwrap();
    assert_eq!((weights.len(), weights[0].as_str(), weights[25].as_str()), (26, "light", "heavy"));
    assert_eq!(garden.asked().len(), 27, "one call more");
    let ended = garden.expect(2, &["retry", &run]);
    assert!(ended.err.contains("no task of run"), "{}", ended.err);
}

/// A limit that ended a run and was raised in its file since counts on resume, and no finished call is made again.
/// covers: T 9
#[test]
fn a_raised_limit_of_a_template_counts_on_resume() {
    let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"light\"\n");
    let capped = |calls: &str| {
        format!(
            "<task type=\"map\" name=\"capped\" items=\"list\" max_parallel=\"1\"><description>Weigh all</description>\
             <limits max_calls=\"{calls}\"/><inputs><input name=\"list\"/></inputs><body><task><description>Weigh {{{{item}}}}\
             </description><instructions>Say.</instructions><allowed_tools/></task></body></task>"
        )
    };
    garden.write(".callsheet/templates/capped.xml", capped("2"));
    garden.expect(6, &["template", "run", "capped", r#"list:=["a","b","c"]"#]);
    assert_eq!(garden.asked().len(), 2);
    garden.write(".callsheet/templates/capped.xml", capped("10"));
    let ended = garden.expect(0, &["resume"]);
    assert_eq!(ended.out.trim(), r#"["light","light","light"]"#);
    assert!(ended.err.contains("capped.xml changed and applies"), "{}", ended.err);
    assert_eq!(garden.asked().len(), 3, "what was paid for stays");
}

/// Limits of a task that had begun count as they stand in its file on resume, those that were taken out as well.
/// covers: T 9
#[test]
fn a_lifted_limit_of_a_template_counts_on_resume() {
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\n[[rule.reply]]\n\
         calls = [{ name = \"read_file\", arguments = { path = \"water.md\" } }]\n[[rule.reply]]\ntext = \"seven\"\n\
         [model]\nwindow = 60000\n",
    );
    garden.write("water.md", "Ana waters.\n");
    let looks = |limits: &str| {
        format!(
            "<task name=\"looks\"><description>Look</description><file_paths><path>water.md</path></file_paths>\
             <limits {limits}/><allowed_tools><tool>read_file</tool></allowed_tools><recovery reparse=\"false\"/></task>"
        )
    };
    garden.write(".callsheet/templates/looks.xml", looks("max_turns=\"1\""));
    garden.expect(6, &["template", "run", "looks"]);
    garden.write(".callsheet/templates/looks.xml", looks("max_context_fraction=\"0.001\""));
    let full = garden.expect(6, &["resume"]);
    assert!(full.err.contains("looks.xml changed and applies"), "{}", full.err);
    garden.write(".callsheet/templates/looks.xml", looks(""));
    let ended = garden.expect(0, &["resume"]);
    assert_eq!(ended.out.trim(), "seven");
}
