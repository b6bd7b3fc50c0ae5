//! Callsheet as an MCP server: plans, runs, approvals, and what a program is told while it waits.
#![cfg(feature = "mcp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::garden::TestProject;

/// A program that `callsheet mcp` serves.
pub(super) struct Program {
    child: std::process::Child,
    lines: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
    number: u32,
    /// The reports of progress that it got.
    told: Vec<Value>,
}

impl Program {
    pub(super) fn of(garden: &TestProject, arguments: &[&str]) -> Self {
        Self::with(garden, arguments, &[])
    }

    /// The same with variables.
    pub(super) fn with(garden: &TestProject, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = garden.command(arguments);
        command.env("CALLSHEET_MODEL", garden.model()).envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut program = Self { child, lines, number: 0, told: Vec::new() };
        let info =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert_eq!(program.ask("initialize", info)["serverInfo"]["name"], "callsheet");
        program.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        program
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}));
        loop {
            let line = self.lines.next().unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.number {
                return answer["result"].clone();
            }
            if answer["method"] == "notifications/progress" {
                self.told.push(answer["params"].clone());
            }
        }
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The same for a program that wants to know how the call proceeds.
    fn call_and_listen(&mut self, tool: &str, arguments: Value) -> Value {
        self.told.clear();
        self.ask("tools/call", json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "t1"}}))
    }

    /// The state of a run once something waits there, or it has ended.
    pub(super) fn settled(&mut self, run: &str) -> Value {
        self.call("status", json!({"run": run, "wait": true}))["structuredContent"].clone()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

/// A garden whose model plans one task that writes a file.
fn writing() -> TestProject {
    writing_with("write_document")
}

/// The same with another skill.
pub(super) fn writing_with(skill: &str) -> TestProject {
    TestProject::scripted(
        &"[[rule]]\nphase = 'plan'\ntext = '''\n## Goals / summary\nNote the level.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Note\n- **What is needed** Write the level into level.md.\n- **Skill** write_document\n- **References** [Water](water.md)\n- **Expected output** The file level.md.\n'''\n[[rule]]\nphase = 'execute'\ntext = '''\n## Change details\n- **file_path** level.md\n- **complete_file** true\n```markdown\n41 cm\n```\n## Result summary\nWrote [the level](level.md).\n'''\n"
            .replace("write_document", skill),
    )
}

/// covers: 13.5
#[test]
fn a_program_starts_runs_and_approves_only_with_the_right_to() {
    let garden = writing();
    let mut program = Program::of(&garden, &["mcp"]);
    let tools = program.ask("tools/list", json!({}))["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 11, "{tools}");
    assert!(!tools.to_string().contains("\"format\""), "clients warn about formats that are not standard: {tools}");
    let begun = program.call("run", json!({"request": "Note the level of the water in level.md."}));
    let run = begun["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let status = program.settled(&run);
    let number = status["approvals"][0]["approval"].clone();
    assert!(number.is_u64(), "{status}");
    let refused = program.call("approve", json!({"run": run, "approval": number}));
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains(&format!("callsheet approve {run}")), "{refused}");
    assert!(!garden.path("level.md").exists());
    let unanswered = program.call("result", json!({"run": run}));
    assert_eq!(unanswered["isError"], true, "{unanswered}");
    drop(program);
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    loop {
        let status = program.settled(&run);
        let Some(number) = status["approvals"][0]["approval"].as_u64() else { break };
        program.call("approve", json!({"run": run, "approval": number}));
    }
    assert_eq!(garden.read("level.md"), "41 cm\n");
    let answer = program.call("result", json!({"run": run}));
    assert!(answer["structuredContent"]["answer"].as_str().unwrap().contains("level"), "{answer}");
    let by: Vec<Value> =
        garden.facts().iter().filter(|fact| fact["event"] == "gate_answered").map(|fact| fact["by"].clone()).collect();
    assert!(!by.is_empty() && by.iter().all(|by| by == "client"), "{by:?}");
}

/// covers: 13.5
#[test]
fn a_program_that_asks_for_something_else_is_told_what_is_wrong() {
    let garden = writing();
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    let words = |answer: Value| {
        assert_eq!(answer["isError"], true, "{answer}");
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(words(program.call("run", json!({}))).contains("exactly one of a request, a sheet and a template"));
    assert!(words(program.call("run", json!({"template": "no_such"}))).contains("no_such"));
    for name in ["document:", "document=@/etc/host", "@/etc/hostname", "-x"] {
        let named = json!({"template": "extract_data", "values": {name: "name"}});
        assert!(words(program.call("run", named)).contains("is not the name of an input"), "{name}");
    }
    assert!(
        words(program.call("status", json!({"run": "../x"})))
            .contains("there is no run ../x. list all runs: the tool `runs`")
    );
    assert!(words(program.call("cancel", json!({"other": 1}))).contains("unknown field"));
    assert!(words(program.call("retry", json!({"run": "../x", "tasks": ["a"]}))).contains("unknown field"));
    assert!(words(program.call("destroy", json!({}))).contains("no tool destroy"));
    let listed = program.call("templates", json!({}))["structuredContent"].clone();
    let extract = listed["templates"].as_array().unwrap().iter().find(|one| one["name"] == "extract_data").unwrap();
    let inputs = ["document", "fields"];
    let inputs = inputs.map(|name| json!({"name": name, "type": "string", "about": "", "required": true}));
    assert_eq!(extract["inputs"], json!(inputs), "{extract}");
}

/// covers: 13.5
#[test]
fn a_program_gets_a_plan_before_anything_starts_and_hears_how_it_goes_on() {
    let garden = writing();
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    let planned = program.call_and_listen("plan", json!({"request": "Note the level of the water in level.md."}));
    let plan = planned["structuredContent"].clone();
    let sheet = plan["sheet"].as_str().unwrap_or_else(|| panic!("{planned}"));
    assert!(sheet.contains("### Task section 1") && sheet.contains("Write the level"), "{sheet}");
    let of_plan = program.call("status", json!({"run": plan["run"]}))["structuredContent"].clone();
    assert_eq!((&of_plan["outcome"], &of_plan["works"]), (&json!("planned"), &json!(false)), "{of_plan}");
    assert!(!garden.path("level.md").exists());
    let begun = program.call("run", json!({"sheet": sheet.replace("level.md", "water-level.md")}));
    let run = begun["structuredContent"]["run"].clone();
    let waits = program.call_and_listen("status", json!({"run": run, "wait": true}));
    assert!(waits["structuredContent"]["approvals"][0]["approval"].is_u64(), "{waits}");
    assert!(!program.told.is_empty());
    for (told, next) in program.told.iter().zip(program.told.iter().skip(1)) {
        assert!(told["progress"].as_f64() < next["progress"].as_f64(), "{:?}", program.told);
    }
    assert!(program.told.iter().all(|told| told["progressToken"] == "t1" && told["message"].is_string()));
    program.told.clear();
    program.call("status", json!({"run": run}));
    assert!(program.told.is_empty(), "a program that asked for no reports gets none");
}

/// covers: 13.5
#[test]
fn results_are_what_the_tools_declare() {
    let garden = writing();
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    let tools = program.ask("tools/list", json!({}))["tools"].clone();
    let fits = |tool: &str, result: &Value| {
        let declared = tools.as_array().unwrap().iter().find(|declared| declared["name"] == tool).unwrap();
        let checked = jsonschema::validate(&declared["outputSchema"], &result["structuredContent"]);
        assert!(checked.is_ok(), "{tool}: {checked:?} {result}");
        result["structuredContent"].clone()
    };
    fits("plan", &program.call("plan", json!({"request": "Note the level in level.md."})));
    let begun = fits("run", &program.call("run", json!({"request": "Note the level in level.md."})));
    let run = begun["run"].clone();
    while let Some(number) =
        fits("status", &program.call("status", json!({"run": run, "wait": true})))["approvals"][0]["approval"].as_u64()
    {
        fits("approve", &program.call("approve", json!({"run": run, "approval": number})));
    }
    fits("result", &program.call("result", json!({"run": run})));
    let listed = fits("runs", &program.call("runs", json!({})));
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2, "{listed}");
    fits("templates", &program.call("templates", json!({})));
    let stopped = program.call("cancel", json!({"run": run}));
    assert!(stopped["isError"] == true || !fits("cancel", &stopped).is_null());
}

/// covers: 13.5
#[test]
fn a_request_without_a_plan_is_told() {
    let garden = TestProject::scripted("[[rule]]\nphase = 'plan'\ntext = 'I cannot.'\n");
    let mut program = Program::of(&garden, &["mcp"]);
    let refused = program.call("plan", json!({"request": "Note the level in level.md."}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("There is no plan"), "{refused}");
}

/// covers: 13.5
#[test]
fn a_run_whose_process_was_killed_rests_until_a_program_resumes_it() {
    let script = |delay: u32| {
        format!("[[rule]]\nphase = 'execute'\ndelay_ms = {delay}\ntext = '''\n## Result summary\n41 cm.\n'''\n")
    };
    let mut garden = TestProject::scripted(&script(100_000));
    let mut program = Program::of(&garden, &["mcp"]);
    let sheet = "## Goals / summary\nThe level.\n## Tasks\n### Task section 1\n- **Name** Read\n- **What is needed** The level.\n- **Skill** read_files\n- **References** [Water](water.md)\n- **Expected output** A level.\n";
    let begun = program.call("run", json!({"sheet": sheet}));
    let run = begun["structuredContent"]["run"].clone();
    let states = |program: &mut Program| {
        let status = program.call("status", json!({"run": run}))["structuredContent"].clone();
        let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
        (status["works"] == true, tasks.into_iter().filter(|task| task["state"] == "running").count())
    };
    while states(&mut program).1 == 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    garden.kill_driver();
    while states(&mut program).0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(states(&mut program), (false, 0));
    let mut other = Program::of(&garden, &["mcp"]);
    let refused = other.call("resume", json!({"run": run}));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("callsheet resume"), "{refused}");
    garden.follow_text(&script(0));
    let resumed = program.call("resume", json!({"run": run}));
    assert!(resumed["structuredContent"]["done"][0].as_str().unwrap().contains("Started process"), "{resumed}");
    assert_eq!(program.settled(run.as_str().unwrap())["outcome"], "complete");
}

/// covers: 13.5, 2.18
#[test]
fn a_program_is_told_where_an_edited_sheet_has_errors() {
    let garden = writing();
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    let begun = program.call("run", json!({"request": "Note the level of the water in level.md."}));
    let run = begun["structuredContent"]["run"].as_str().unwrap().to_owned();
    assert!(program.settled(&run)["problems"].as_array().unwrap().is_empty());
    let sheet = garden.run_folder().join("sheet.md");
    let text = std::fs::read_to_string(&sheet).unwrap();
    std::fs::write(&sheet, text.replace("write_document", "write_dokument")).unwrap();
    let status = program.call("status", json!({"run": run}))["structuredContent"].clone();
    let problem = status["problems"][0].as_str().unwrap_or_default();
    assert!(problem.contains("sheet.md:") && problem.contains("write_dokument"), "{status}");
}

/// covers: 13.5
#[test]
fn a_program_whose_answer_came_too_late_is_told_who_answered() {
    let garden = writing();
    let mut program = Program::of(&garden, &["mcp", "--may", "approve"]);
    let begun = program.call("run", json!({"request": "Note the level of the water in level.md."}));
    let run = begun["structuredContent"]["run"].as_str().unwrap().to_owned();
    let number = program.settled(&run)["approvals"][0]["approval"].clone();
    let done = program.call("approve", json!({"run": run, "approval": number}));
    assert!(done["structuredContent"]["done"][0].as_str().unwrap().contains("recorded the answer"), "{done}");
    let late = program.call("approve", json!({"run": run, "approval": number, "deny": true}));
    assert_eq!(late["isError"], true, "{late}");
}

/// covers: 13.5, 2.18 retry
#[test]
fn a_program_has_a_task_done_again_and_says_what_was_wrong() {
    let script = "[[rule]]\nprompt = 'In inches'\ntext = '16 in.'\n[default]\ntext = '41 cm.'\n";
    let garden = TestProject::scripted(script);
    let template = "template: level\nabout: The level\ntasks:\n  - read: {ask: \"Read the level.\"}\n  - note: {ask: \"Note {{read}}\"}\n";
    garden.write(".callsheet/templates/level.yaml", template);
    let mut program = Program::of(&garden, &["mcp"]);
    let begun = program.call("run", json!({"template": "level"}));
    let run = begun["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    assert_eq!(program.settled(&run)["outcome"], "complete");
    let misspelt = program.call("retry", json!({"run": run, "task": "level-raed"}));
    assert_eq!(misspelt["isError"], true, "{misspelt}");
    let told = misspelt["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("Did you mean level-read,"), "{told}");
    let again = json!({"run": run, "task": "level-read", "because": "In inches, please."});
    let refused = Program::of(&garden, &["mcp"]).call("retry", again.clone());
    assert!(refused["content"][0]["text"].as_str().unwrap().contains(&format!("callsheet retry {run}")), "{refused}");
    let retried = program.call("retry", again);
    assert!(retried["structuredContent"]["done"].is_array(), "{retried}");
    while garden.count("task_retried") == 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(program.settled(&run)["outcome"], "complete");
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompt.contains("16 in."), "its reader has the new result: {prompt}");
    let retried = garden.facts().into_iter().find(|fact| fact["event"] == "task_retried").unwrap();
    assert_eq!((&retried["task"], &retried["because"]), (&json!("level-read"), &json!("In inches, please.")));
    let nothing = program.call("retry", json!({"run": run}));
    assert!(nothing["content"][0]["text"].as_str().unwrap().contains("no task of run"), "{nothing}");
}
