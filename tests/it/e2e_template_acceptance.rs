//! Acceptance checks of templates that need real processes (spec "Templates" 17).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::garden::TestProject;
use serde_json::Value;

fn result_of(garden: &TestProject) -> Value {
    serde_json::from_str(&garden.run_file("result.json")).unwrap()
}

fn process(attributes: &str, argv: &str, rest: &str) -> String {
    format!(
        "<task type=\"script\" name=\"act\"{attributes}><description>Act</description><command>{argv}</command>{rest}</task>"
    )
}

/// A process that does not end takes its children with it, a stream without end is cut, and secrets are not handed on.
/// covers: C26
#[test]
fn c26_processes_are_bounded() {
    let garden = TestProject::scripted("");
    let act = |template: String| garden.write(".callsheet/templates/act.xml", template);
    garden.write("spawn.sh", "sleep 300 &\necho $! > child\necho begun\nwait\n");
    act(process("", "sh spawn.sh", "<timeout>1</timeout>"));
    garden.expect(6, &["template", "run", "act", "--approval", "never"]);
    assert!(!garden.runs(&garden.read("child")), "the grandchild lives on");
    let error = &result_of(&garden)["error"];
    assert_eq!(error["reason"], "execution_timeout");
    assert_eq!(error["details"]["script_stdout"], "begun\n");

    act(process(" effects=\"read\"", "yes", "<timeout>1</timeout>"));
    garden.expect(6, &["template", "run", "act", "--approval", "never"]);
    let details = &result_of(&garden)["error"]["details"];
    assert_eq!(details["truncated"], true);
    assert!(details["script_stdout"].as_str().unwrap().len() <= 262_144 + 100, "with a word on what was left out");
    act(process(" effects=\"read\"", "seq 1 100000", ""));
    garden.expect(0, &["template", "run", "act", "--approval", "never"]);
    let result = result_of(&garden);
    assert!(result["content"].as_str().unwrap().len() <= 262_144 + 100);
    assert_eq!(result["notes"]["warnings"][0]["code"], "output_truncated");

    act(process(
        " effects=\"read\"",
        "env",
        "<environment inherit=\"safe\"><var name=\"GIVEN\">it</var></environment>",
    ));
    let mut command = garden.command(&["template", "run", "act", "--approval", "never"]);
    let ended = command.env("A_SECRET_TOKEN", "s3cr3t").output().unwrap();
    assert!(ended.status.success());
    let content = result_of(&garden)["content"].as_str().unwrap().to_owned();
    assert!(content.contains("GIVEN=it") && content.contains("PATH="), "{content}");
    assert!(!content.contains("s3cr3t"), "{content}");
}

/// A script with `effects="read"` is not asked for, and cannot write; where the system cannot hold it to that, it asks.
/// covers: templates 2.2
#[test]
fn a_script_that_only_reads_runs_unasked() {
    let garden = TestProject::scripted("");
    let act = |template: String| garden.write(".callsheet/templates/act.xml", template);
    act(process(" effects=\"read\"", "sh try.sh", ""));
    garden.write("try.sh", "echo looked; echo changed > changed.txt");
    let held = garden.call(&["doctor"]).out.contains("run without approval");
    if !held {
        garden.expect(3, &["template", "run", "act"]);
        return;
    }
    garden.expect(5, &["template", "run", "act"]);
    let result = result_of(&garden);
    assert_eq!(result["error"]["details"]["script_stdout"], "looked\n", "{result}");
    assert!(!garden.path("changed.txt").exists());
    act(process(" effects=\"read\" requires_approval=\"true\"", "sh try.sh", ""));
    garden.expect(3, &["template", "run", "act"]);
}

/// Models of a task in their order: one that cannot be used is told, one that cannot be reached is followed by the next.
/// covers: templates 2.2
#[test]
fn a_task_falls_back_to_its_next_model() {
    let garden = TestProject::bare();
    let away = "fault = { kind = \"communication\", message = \"nobody is there\" }\n";
    garden.write("away.toml", format!("[default]\n{away}"));
    garden.write("back.toml", "[default]\ntext = \"said by the other\"\n");
    garden.write("chosen.toml", "[default]\ntext = \"said by the chosen one\"\n");
    let of = |name: &str| format!("scripted:{}", garden.path(name).display());
    garden.write(
        ".callsheet/templates/ask.xml",
        format!(
            "<task name=\"ask\"><description>Ask</description><allowed_tools/><model>scripted:gone.toml, {}, {}</model></task>",
            of("away.toml"),
            of("back.toml")
        ),
    );
    let config = garden.home().join("config.toml");
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(config, format!("model = \"{}\"\ncomm_tries = 1\n", of("chosen.toml"))).unwrap();
    let ended = garden.expect(0, &["template", "run", "ask"]);
    assert_eq!(ended.out.trim(), "said by the other", "{}", ended.err);
    assert!(ended.err.contains("can't use the model scripted:gone.toml"), "{}", ended.err);
    assert!(ended.err.contains("nobody is there; asking"), "{}", ended.err);
    let last = garden.facts().into_iter().rfind(|fact| fact["event"] == "reply_received");
    let told = garden.expect(0, &["show", "--call", "1"]).out;
    assert!(told.contains("back.toml") && told.contains("2 sends"), "{told}\n{last:?}");
    // What is said on the command line overrules what a template asks for.
    let ended = garden.expect(0, &["template", "run", "ask", "--model", &of("chosen.toml")]);
    assert_eq!(ended.out.trim(), "said by the chosen one");
}

/// A run that a provider's absence ended goes on where it was; what was answered is not asked again.
/// covers: templates 15
#[test]
fn a_template_run_goes_on_after_an_outage() {
    let mut garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\nprompt = \"Do b\"\n\
         fault = { kind = \"communication\", message = \"nobody is there\" }\n\
         [[rule]]\nphase = \"execute\"\ntext = \"Done.\"\n",
    );
    garden.write(".callsheet/templates/work.xml", WORK);
    garden.write(".callsheet/config.toml", "comm_tries = 1\n");
    let ended = garden.expect(7, &["template", "run", "work", "list:=[1,2]"]);
    assert!(ended.err.contains("Next: callsheet resume"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 1);
    garden.follow_text("[[rule]]\nphase = \"execute\"\ntext = \"Done.\"\n");
    let ended = garden.expect(0, &["resume"]);
    assert_eq!(ended.out.trim(), "Done.");
    assert_eq!(result_of(&garden)["status"], "COMPLETE");
    assert_eq!(garden.count("reply_received"), 8, "each task was answered once");
}

const ASKS: &str =
    r#"<task name="ask"><description>Ask who waters</description><instructions>Ask.</instructions></task>"#;

/// A question waits while no process runs; the answer goes back to the model. With nobody to ask the model is told so.
/// covers: C46
#[test]
fn c46_a_question_survives_the_process() {
    let script = r#"
[[rule]]
phase = "execute"
prompt = "Ask who waters"
text = '<result status="WAITING"><content>Who waters?</content></result>'
"#;
    let mut garden = TestProject::scripted(script);
    garden.write(".callsheet/templates/ask.xml", ASKS);
    garden.expect(3, &["template", "run", "ask"]);
    assert_eq!(garden.count("reply_received"), 1);
    garden.follow_text("[[rule]]\nphase = \"execute\"\ntext = \"It is settled.\"\n");
    let ended = garden.expect(0, &["resume", "--answer", "Ana does"]);
    assert_eq!(ended.out.trim(), "It is settled.");
    assert_eq!(result_of(&garden)["status"], "COMPLETE");
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("Ana does"), "the answer reaches the model: {prompt}");
    assert_eq!(garden.count("reply_received"), 2, "nothing was asked twice");
}

const WORK: &str = r#"<task type="sequential" name="work"><description>Work</description><steps>
<parallel id="both" max_parallel="2"><task id="a"><description>Do a</description><instructions>Briefly.</instructions><allowed_tools/></task>
<task id="b"><description>Do b</description><instructions>Briefly.</instructions><allowed_tools/></task></parallel>
<task type="map" id="each" items="list" max_parallel="2"><description>Each</description><body>
<task><description>Look at {{item}}</description><instructions>Briefly.</instructions><allowed_tools/></task></body></task>
<task type="reduce" id="sum" items="list"><description>Sum</description><initial_value>none</initial_value>
<inner_task><description>Weigh {{current_data}}</description><instructions>Briefly.</instructions><allowed_tools/></inner_task>
<reduction_task><description>Add to {{accumulator}}</description><instructions>Briefly.</instructions><allowed_tools/></reduction_task></task>
</steps></task>"#;

/// Real processes, killed after every few facts and taken up again: the same result, and no reply is paid twice.
/// covers: C48
#[test]
fn c48_killed_processes_come_to_the_same_result() {
    let garden = |moment: Option<usize>| {
        let garden = TestProject::scripted("[[rule]]\nphase = \"execute\"\ntext = \"Done.\"\n");
        garden.write(".callsheet/templates/work.xml", WORK);
        let arguments = ["template", "run", "work", "list:=[1,2]", "--approval", "never", "--json"];
        let mut command = garden.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut facts = lines.map_while(Result::ok).filter(|line| line.contains("\"event\":"));
        let seen = facts.by_ref().take(moment.unwrap_or(usize::MAX)).count();
        let finished = moment.is_none_or(|moment| seen < moment);
        if !finished {
            child.kill().unwrap();
        }
        // On a busy machine it may have ended before the kill.
        let killed = child.wait().unwrap().code().is_none();
        if !finished && killed {
            // The run itself may have ended before the process that was killed.
            let run = garden.run_folder().file_name().and_then(|name| name.to_str()).unwrap().to_owned();
            garden.expect(0, &["resume", &run, "--approval", "never"]);
        }
        (garden, finished)
    };
    let (whole, _) = garden(None);
    let mut expected = result_of(&whole);
    without_metrics(&mut expected);
    let replies = whole.count("reply_received");
    let facts = whole.facts().len();
    assert!(facts > 30, "{facts} facts");
    for moment in (1..facts).step_by(facts / 9) {
        let (killed, _) = garden(Some(moment));
        let mut result = result_of(&killed);
        without_metrics(&mut result);
        assert_eq!(result, expected, "killed after {moment} facts");
        assert_eq!(killed.count("reply_received"), replies, "killed after {moment} facts");
    }
}

fn without_metrics(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("metrics");
            map.values_mut().for_each(without_metrics);
        }
        Value::Array(list) => list.iter_mut().for_each(without_metrics),
        _ => {}
    }
}

/// A reply that is refused is a reply: with a limit of three the fourth is not asked for.
/// covers: C32
#[test]
fn c32_a_refused_reply_is_a_turn() {
    let reply =
        |n: u32| format!("[[rule.reply]]\ncalls = [{{ name = \"read_file\", arguments = {{ nothing = {n} }} }}]\n");
    let replies: String = (1..=4).map(reply).collect();
    let garden = TestProject::scripted(&format!("[[rule]]\nphase = \"execute\"\n{replies}"));
    let library = r#"<task type="atomic" name="turns"><description>Read</description><instructions>Go.</instructions>
<allowed_tools><tool>read_file</tool></allowed_tools><limits max_turns="3"/><recovery reparse="false"/></task>"#;
    garden.write(".callsheet/templates/turns.xml", library);
    let ended = garden.expect(6, &["template", "run", "turns"]);
    assert!(ended.err.contains("it used all of its 3 turns") && ended.err.contains("calls: 3"), "{}", ended.err);
}
