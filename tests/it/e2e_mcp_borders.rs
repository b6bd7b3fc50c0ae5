//! What a project, a command or another server cannot do through MCP servers.
#![cfg(feature = "mcp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::e2e_mcp::{APPROVED, RUN, calls, confirm, follow, garden, listed, skill, tools};
use super::e2e_mcp_served::{Program, writing_with};
use crate::support::garden::TestProject;
use crate::support::root;

/// The path of the tests' server.
fn fixture() -> String {
    root().join("tests/fixtures/mcp/server.sh").display().to_string()
}

/// Its text.
fn script() -> String {
    std::fs::read_to_string(fixture()).unwrap()
}

/// A server of the project's own file.
fn mcp_json(name: &str, words: &[&str]) -> String {
    json!({"mcpServers": {name: {"command": words[0], "args": &words[1..]}}}).to_string()
}

fn configure(garden: &TestProject, text: &str) {
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), text).unwrap();
}

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A model that makes these calls, one a turn.
fn follow_calls(garden: &mut TestProject, made: &[&str]) {
    let reply = |call: &&str| format!("[[rule.reply]]\ncalls = [{{ {call} }}]\n");
    let replies: String = made.iter().map(reply).collect();
    let last = "[[rule.reply]]\ntext = '''\n## Result summary\nIt came.\n'''\n";
    garden.follow_text(&format!("[[rule]]\nphase = 'execute'\n{replies}{last}"));
}

/// covers: 13.6
#[test]
fn a_server_of_the_user_starts_apart_from_the_project() {
    let garden = garden(&["level"], "", &[]);
    let seen = garden.home().join("seen");
    let shell = format!("pwd > {}; ls -A >> {0}", seen.display());
    configure(&garden, &format!("[mcp.shed]\ncommand = ['sh', '-c', '{shell}']\n"));
    garden.call(&["doctor"]);
    let apart = garden.store().canonicalize().unwrap().join("servers/shed");
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), format!("{}\n", apart.display()), "an empty folder of its own");
    configure(&garden, &format!("[mcp.shed]\ncommand = ['sh', '-c', '{shell}']\ncwd = '.'\n"));
    garden.call(&["doctor"]);
    let project = garden.project().canonicalize().unwrap();
    assert!(std::fs::read_to_string(&seen).unwrap().starts_with(&format!("{}\n", project.display())));
}

/// covers: 13.6
#[test]
fn no_program_of_the_project_is_found_through_path() {
    let garden = garden(&["level"], "", &[]);
    let ran = garden.home().join("ran");
    program(&garden.path("bin/mytool"), &format!("#!/bin/sh\necho x > {}\n", ran.display()));
    program(&garden.path("mytool"), &format!("#!/bin/sh\necho x > {}\n", ran.display()));
    configure(&garden, "[mcp.shed]\ncommand = ['mytool']\ncwd = '.'\n");
    let usual = std::env::var("PATH").unwrap();
    for first in ["", ".", "bin", &garden.path("bin").display().to_string()] {
        let mut command = garden.command(&["tools", "confirm", "--yes"]);
        let ended = command.env("PATH", format!("{first}:{usual}")).output().unwrap();
        let words = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(words.contains("`mytool` did not start: it is in no folder of PATH"), "{words}");
        assert!(!ran.exists(), "{first}");
    }
}

/// covers: 13.6, 13.3
#[test]
fn a_server_whose_files_a_command_rewrote_is_not_started() {
    let mut garden = garden(&["level"], "", &["level"]);
    configure(&garden, "");
    garden.trust();
    garden.plant("srv.sh", script());
    let list = listed(&garden).display().to_string();
    garden.plant(".mcp.json", mcp_json("shed", &["sh", "srv.sh", &list, "2025-11-25"]));
    let trusted = garden.expect(0, &["trust", "--yes"]);
    assert!(trusted.out.contains("running the files srv.sh"), "{}", trusted.out);
    let found = garden.call(&["doctor"]).out;
    assert!(found.contains("not as you confirmed them: srv.sh"), "{found}");
    assert!(!listed(&garden).with_extension("json.pid").exists(), "nothing was started");
    let refused = garden.expect(2, &["tools", "confirm"]);
    assert!(refused.err.contains("run these files with your rights, outside the sandbox: srv.sh"), "{}", refused.err);
    confirm(&garden);
    garden.expect(0, APPROVED);
    assert_eq!(calls(&garden), 1);

    skill(&garden, "run_command, shed__level");
    let escaped = garden.home().join("escaped");
    garden.plant("evil.sh", format!("echo x > {}\n{}", escaped.display(), script()));
    let rewrite = "name = 'run_command', arguments = { command = ['cp', 'evil.sh', 'srv.sh'] }";
    follow_calls(&mut garden, &[rewrite, "name = 'shed__level', arguments = { place = 'barrel' }"]);
    let ended = garden.call(APPROVED);
    assert!(ended.err.contains("not as you confirmed them: srv.sh"), "{}", ended.err);
    garden.call(&["doctor"]);
    assert_eq!(calls(&garden), 1);
    assert!(!escaped.exists(), "what the command wrote does not run outside the sandbox");
    garden.expect(0, &["tools", "confirm", "--yes"]);
    assert!(escaped.exists(), "the person said so");
}

/// covers: 13.7, 11.16
#[test]
fn a_project_cannot_mask_what_an_approval_shows() {
    let mut garden = garden(&["level"], "", &[]);
    configure(&garden, "");
    garden.trust();
    let server = |header: &str| json!({"url": "https://t.example/mcp", "headers": {header: "rm -rf ./notes ./src"}});
    let servers = json!({"mcpServers": {"t": server("Authorization"), "u": server("x]\",\"y")}});
    garden.plant(".mcp.json", servers.to_string());
    let trusted = garden.expect(0, &["trust", "--yes"]).out;
    assert!(trusted.contains("with the headers Authorization"), "{trusted}");
    let told = garden.expect(0, &["tools"]).err;
    assert!(told.contains("server `u` of .mcp.json") && told.contains("not the name of a header"), "{told}");
    skill(&garden, "run_command");
    follow_calls(
        &mut garden,
        &["name = 'run_command', arguments = { command = ['sh', '-c', 'rm -rf ./notes ./src'] }"],
    );
    garden.expect(3, RUN);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("rm -rf ./notes ./src") && !shown.contains("masked"), "{shown}");
}

/// covers: 13.7, 11.16
#[test]
fn secret_headers_of_the_user_are_masked_and_never_sent_unencrypted() {
    let garden = garden(&["level"], "", &[]);
    let headers = "headers = { Authorization = 'Bearer abcdefghijk', X-Tenant = 'the tenant' }";
    configure(&garden, &format!("[mcp.shed]\nurl = 'http://192.0.2.1/mcp'\n{headers}\n"));
    let told = garden.expect(0, &["tools"]).err;
    assert!(told.contains("it would send the header Authorization unencrypted"), "{told}");
    let shown = garden.call(&["doctor"]).out;
    assert!(shown.contains("[masked: secret of an MCP server]") && shown.contains("the tenant"), "{shown}");
    assert!(!shown.contains("abcdefghijk"), "{shown}");
}

/// covers: 13.6
#[test]
fn no_server_takes_the_names_of_another_ones_tools() {
    let garden = garden(&["level"], "env = { TOKEN = '${NO_SUCH_VARIABLE_HERE}' }\n", &["level"]);
    let own = garden.home().join("own.json");
    std::fs::write(&own, tools(&["level", "shed__level"])).unwrap();
    let server = json!({"command": "sh", "args": [fixture(), own, "2025-11-25"]});
    garden.plant(".mcp.json", json!({"mcpServers": {"shed": server, "mcp": server, "__": server}}).to_string());
    garden.trust();
    let told = garden.call(&["tools", "confirm", "--yes"]).err;
    for why in [
        "`shed` of your configuration: the variable NO_SUCH_VARIABLE_HERE is not set",
        "`shed` of .mcp.json: another one has this name already",
        "`mcp` of .mcp.json: no server can have this name",
        "`__` of .mcp.json: its name has no letter and no digit",
    ] {
        assert!(told.contains(why), "{why}: {told}");
    }
    assert!(!own.with_extension("json.pid").exists(), "none of them was started");
}

/// covers: 13.6, 11.14
#[test]
fn a_grant_or_confirmation_is_not_for_another_server_of_the_same_name() {
    let mut garden = garden(&["level"], "", &["level"]);
    confirm(&garden);
    garden.expect(0, &["grants", "add", "tool", "shed__level", "--everywhere"]);
    let shown = garden.expect(0, &["tools"]).out;
    assert!(shown.contains("shed__level is called without asking (grant 1)"), "{shown}");
    let settings = std::fs::read_to_string(garden.home().join("config.toml")).unwrap();
    let other = garden.home().join("other.sh");
    std::fs::write(&other, script()).unwrap();
    configure(&garden, &settings.replace(&fixture(), &other.display().to_string()));
    let shown = garden.expect(0, &["tools"]).out;
    assert!(shown.contains("no tool is confirmed"), "another program: {shown}");
    let offered = confirm(&garden).out;
    assert!(offered.contains("shed__level (new) asks before each call"), "{offered}");
    follow(&mut garden, &["level"]);
    garden.expect(3, RUN);
    assert_eq!(calls(&garden), 0, "the grant was for the other program");
    configure(&garden, "");
    let list = listed(&garden).display().to_string();
    garden.plant(".mcp.json", mcp_json("shed", &["sh", &fixture(), &list, "2025-11-25"]));
    garden.trust();
    let shown = garden.expect(0, &["tools"]).out;
    assert!(shown.contains("shed (of this project's .mcp.json): no tool is confirmed"), "{shown}");
}

/// covers: 13.5
#[test]
fn a_value_from_a_program_is_text_whatever_it_begins_with() {
    let garden = TestProject::scripted("[default]\ntext = '''\n## Result summary\nSaid.\n'''\n");
    let template = "template: say\nabout: Say {{word}}\ninputs:\n  word: {type: \"string\"}\ntasks:\n  - said:\n      ask: \"Say {{word}}.\"\n";
    garden.write(".callsheet/templates/say.yaml", template);
    let outside = garden.home().join("outside.txt");
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(&outside, "OUTSIDE\n").unwrap();
    garden.trust();
    let mut program = Program::of(&garden, &["mcp"]);
    let value = format!("@{}", outside.display());
    let begun = program.call("run", json!({"template": "say", "values": {"word": value}}));
    let run = begun["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    program.settled(&run);
    let prompt = garden.expect(0, &["show", &run, "--prompt", "1"]).out;
    assert!(prompt.contains(&value) && !prompt.contains("OUTSIDE"), "{prompt}");
}

/// covers: 13.5, 11.16
#[test]
fn a_program_reads_no_key_of_a_provider_and_sees_a_failed_check() {
    let garden = writing_with("edit_code");
    let key = "sk-a-secret-of-a-test";
    configure(&garden, &format!("[checks]\ntest = [\"sh\", \"-c\", \"echo too short for {key}; exit 1\"]\n"));
    let variables = [("OPENAI_API_KEY", key), ("CALLSHEET_APPROVAL_MODE", "before-apply")];
    let mut program = Program::with(&garden, &["mcp"], &variables);
    let begun = program.call("run", json!({"request": format!("Note the level in level.md for {key}.")}));
    let run = begun["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let status = program.settled(&run);
    let check = &status["approvals"][0]["check"];
    assert_eq!(check["end"], "failed", "{status}");
    assert!(check["output"].as_str().unwrap().contains("too short for [masked: OPENAI_API_KEY]"), "{check}");
    let listed = program.call("runs", json!({})).to_string();
    assert!(listed.contains("[masked: OPENAI_API_KEY]"), "{listed}");
    assert!(!listed.contains(key) && !status.to_string().contains(key), "{listed} {status}");
    program.call("cancel", json!({"run": run}));
}

/// covers: 13.3
#[test]
fn a_schema_that_takes_years_to_check_is_left_out() {
    let garden = garden(&["level"], "", &[]);
    let part = |level: u32| {
        let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        (format!("a{level}"), json!({"anyOf": [below, below]}))
    };
    let mut parts: serde_json::Map<String, serde_json::Value> = (1..32).map(part).collect();
    parts.insert("a0".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "$defs": parts, "properties": {"place": {"$ref": "#/$defs/a31"}}});
    let list = json!([{"name": "bomb", "inputSchema": schema}, {"name": "odd", "description": 5}, {"name": "good", "inputSchema": {"type": "object"}}]);
    std::fs::write(listed(&garden), list.to_string()).unwrap();
    let ended = confirm(&garden);
    assert!(ended.err.contains("left out bomb") && ended.err.contains("expand to more than"), "{}", ended.err);
    assert!(
        ended.err.contains("left out odd: it has no schema"),
        "one odd tool does not spoil the list: {}",
        ended.err
    );
    assert!(ended.out.contains("shed__good") && !ended.out.contains("shed__bomb"), "{}", ended.out);
}

/// covers: 13.3
#[test]
fn the_order_of_tools_does_not_matter() {
    let garden = garden(&["level", "depth"], "", &[]);
    confirm(&garden);
    std::fs::write(listed(&garden), tools(&["depth", "level"])).unwrap();
    let told = garden.expect(0, &["tools", "confirm"]).err;
    assert!(told.contains("shed offers what you confirmed"), "{told}");
}

/// covers: 13.3, 13.1
#[test]
fn what_keeps_tools_from_a_run_is_told() {
    let mut garden = garden(&["level"], "", &["level"]);
    confirm(&garden);
    std::fs::write(garden.home().join("state/tools.json"), "{").unwrap();
    follow(&mut garden, &[]);
    let told = garden.call(RUN).err;
    assert!(told.contains("note: no tool of a server is confirmed, because the list of confirmed tools"), "{told}");
    configure(&garden, "[mcp.\"my.server\"]\ncommand = ['sh']\n");
    let told = garden.call(&["tools"]).err;
    assert!(told.contains("ignored the unknown key `mcp.my.server.command`"), "{told}");
    garden.plant(".mcp.json", mcp_json("other", &["sh"]));
    let told = garden.call(&["tools"]).err;
    assert!(told.contains("skipped until you trust them: .mcp.json"), "{told}");
}

/// covers: 13.5
#[test]
fn a_program_without_rights_stops_only_its_own_runs_and_starts_only_a_few() {
    let garden = writing_with("write_document");
    let request = json!({"request": "Note the level of the water in level.md."});
    let mut first = Program::of(&garden, &["mcp"]);
    let mut runs: Vec<String> = Vec::new();
    for _ in 0..8 {
        let begun = first.call("run", request.clone());
        runs.push(begun["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned());
    }
    let refused = first.call("run", request.clone());
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("8 runs that you started"), "{refused}");
    let mut second = Program::of(&garden, &["mcp"]);
    let refused = second.call("cancel", json!({"run": runs[0]}));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("callsheet cancel"), "{refused}");
    for run in &runs {
        let stopped = first.call("cancel", json!({"run": run}));
        assert_ne!(stopped["isError"], true, "{stopped}");
    }
    while first.call("run", request.clone())["isError"] == true {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    while zombies(first.id()) > 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Children of a process that have ended and that nobody waited for.
fn zombies(parent: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).unwrap().flatten();
    let children: String =
        threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default()).collect();
    let status = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    children.split_whitespace().filter(|pid| status(pid).contains("State:\tZ")).count()
}
