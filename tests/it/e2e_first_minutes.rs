//! What a new user does first: a request as they write it, from where they stand, with what they have.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::garden::{Ended, TestProject, json_lines};

const ANSWERED: &str = "[[rule]]\nlabel = \"^execute\"\ntext = \"## Result summary\\nAna looks after the barrels.\"\n";

/// A project whose requests are one task of one skill: no planning, and nothing but the answer is asked.
fn asked() -> TestProject {
    TestProject::scripted(ANSWERED)
}

fn sheet(garden: &TestProject) -> String {
    garden.write(
        "work.md",
        "## Goals / summary\nWho.\n## Tasks\n- **What is needed** Who looks after the barrels?\n- **Expected output** A name.\n",
    );
    "work.md".to_owned()
}

fn script(garden: &TestProject) -> String {
    format!("scripted:{}", garden.project().with_file_name("script.toml").display())
}

/// The request of the newest run.
fn request(garden: &TestProject) -> String {
    garden.facts()[0]["entry"]["skill"]["prompt"].as_str().unwrap().to_owned()
}

fn prompt(garden: &TestProject) -> String {
    garden.expect(0, &["show", "--prompt", "1"]).out
}

/// covers: 11.13
#[test]
fn a_request_is_the_only_argument_and_one_word_is_a_command() {
    let garden = TestProject::with("answer");
    let model = format!("scripted:{}", crate::support::root().join("tests/fixtures/e2e/answer.toml").display());
    let ended = garden.expect(0, &["who looks after the water?", "--model", &model]);
    assert_eq!(ended.out.trim(), "Ana looks after the barrels.");
    let ended = garden.expect(0, &["-p", "water", "--model", &model]);
    assert_eq!(ended.out.trim(), "Ana looks after the barrels.");
    let ended = garden.expect(2, &["water"]);
    assert!(ended.err.contains("water"), "{}", ended.err);
}

fn piped(mut command: Command, text: Option<&str>) -> (Ended, bool) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let held = match text {
        Some(text) => {
            pipe.write_all(text.as_bytes()).unwrap();
            drop(pipe);
            None
        }
        None => Some(pipe),
    };
    (Ended::from(child.wait_with_output().unwrap()), held.is_some())
}

/// covers: 11.13
#[test]
fn a_pipe_adds_to_the_request_and_an_open_one_keeps_nobody_waiting() {
    let garden = asked();
    let run = ["run", "who is it?", "--skill", "answer_from_documents", "--set", "refine=never", "-p"];
    let (ended, _) = piped(garden.command(&run), Some("```\nfenced {request}\n```\nof the pump\n"));
    assert_eq!((ended.code, ended.out.trim()), (0, "Ana looks after the barrels."), "{}", ended.err);
    let whole = request(&garden);
    assert!(whole.starts_with("who is it?\n") && whole.contains("````\n```\nfenced {request}\n```\nof the pump\n````"));
    // Nobody writes to this one, and nobody closes it.
    let (ended, held) = piped(garden.command(&run), None);
    assert!(held && ended.code == 0 && ended.err.contains("nothing came on standard input"), "{}", ended.err);
    assert_eq!(request(&garden), "who is it?");
    // Alone it is the request.
    let alone = ["-p", "--skill", "answer_from_documents", "--set", "refine=never", "--model", &script(&garden)];
    let (ended, _) = piped(garden.command(&alone), Some("who is it now?\n"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(request(&garden).trim(), "who is it now?");
}

#[test]
fn output_has_the_format_that_is_asked_for() {
    let garden = asked();
    let work = sheet(&garden);
    let run = |format: &str| {
        let arguments =
            ["run", "--sheet", &work, "--set", "refine=never", "--set", "iterate=never", "--output-format", format];
        garden.expect(0, &arguments).out
    };
    assert_eq!(run("text").trim(), "Ana looks after the barrels.");
    let json = json_lines(&run("json"));
    assert_eq!(json.len(), 1, "{json:?}");
    assert_eq!(
        (json[0]["result"].as_str(), json[0]["answer"].as_str()),
        (Some("complete"), Some("Ana looks after the barrels."))
    );
    let lines = json_lines(&run("stream-json"));
    assert!(lines.iter().any(|line| line["event"] == "run_started") && lines.last().unwrap()["result"] == "complete");
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b.c"]).args(arguments).current_dir(folder);
    assert!(command.output().unwrap().status.success(), "{arguments:?}");
}

/// covers: 11.12
#[test]
fn a_project_is_found_from_below() {
    let garden = asked();
    let work = sheet(&garden);
    git(&garden.project(), &["init", "-q"]);
    garden.write("AGENTS.md", "- Always name the barrel.\n");
    std::fs::create_dir_all(garden.path("sub/deep")).unwrap();
    let run = ["run", "--sheet", &format!("../../{work}"), "--set", "refine=never", "--set", "iterate=never"];
    let mut command = garden.command(&run);
    command.current_dir(garden.path("sub/deep"));
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("the project is "), "{}", ended.err);
    assert!(prompt(&garden).contains("Always name the barrel."));
    assert!(!garden.path("sub/deep/.callsheet").exists());
}

/// covers: 11.12
#[test]
fn a_renamed_project_says_where_its_runs_are_and_takes_them_over() {
    let garden = asked();
    let work = sheet(&garden);
    garden.expect(0, &["run", "--sheet", &work, "--set", "refine=never", "--set", "iterate=never"]);
    let moved = garden.project().with_file_name("moved");
    std::fs::rename(garden.project(), &moved).unwrap();
    let there = |arguments: &[&str]| {
        let mut command = garden.command(arguments);
        command.current_dir(&moved);
        Ended::from(command.output().unwrap())
    };
    let ended = there(&["runs"]);
    assert!(ended.err.contains("/garden") && ended.err.contains("callsheet runs --adopt"), "{}", ended.err);
    assert!(there(&["show"]).err.contains("callsheet runs --adopt"));
    assert_eq!(there(&["runs", "--adopt"]).code, 0);
    let ended = there(&["show"]);
    assert!(ended.code == 0 && ended.out.contains("Ana looks after"), "{}{}", ended.out, ended.err);
    assert!(!there(&["runs"]).err.contains("--adopt"));
}

/// A model that the project asks for is never replaced in silence.
#[test]
fn an_untrusted_model_of_a_project_is_an_error_where_nobody_is_asked() {
    let mut garden = asked();
    let work = sheet(&garden);
    let own = script(&garden);
    garden.forget_model();
    let run = ["run", "--sheet", &work, "--set", "refine=never", "--set", "iterate=never"];
    garden.plant(
        ".callsheet/config.toml",
        format!("model = '{own}'\n'evil\\u001b[2J\\nkey' = 1\n")
            .replace("'evil\\u001b[2J\\nkey'", "\"evil\\u001b[2J\\nkey\""),
    );
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), "model = 'scripted:/nowhere.toml'\n").unwrap();
    let ended = garden.expect(1, &run);
    assert!(ended.err.contains("is not trusted") && ended.err.contains("callsheet trust"), "{}", ended.err);
    assert!(ended.err.contains("evil<U+001B>[2J<U+000A>key"), "{}", ended.err);
    let named = [&run[..], &["--model", &own]].concat();
    garden.expect(0, &named);
    garden.trust();
    garden.expect(0, &run);
}

#[test]
fn new_files_pass_their_own_checks_anywhere() {
    let garden = TestProject::bare();
    let empty = garden.project().with_file_name("empty");
    std::fs::create_dir(&empty).unwrap();
    let there = |arguments: &[&str]| {
        let mut command = garden.command(arguments);
        command.current_dir(&empty);
        Ended::from(command.output().unwrap())
    };
    assert_eq!(there(&["sheet", "new", "plan.md"]).code, 0);
    let ended = there(&["sheet", "check", "plan.md"]);
    assert!(ended.code == 0 && ended.err.contains("no issues"), "{}{}", ended.out, ended.err);
    for (name, flags) in [("review_notes", &[][..]), ("weekly-digest", &["--folder"])] {
        let made = there(&[&["skill", "new", name], flags].concat());
        let file = made.out.trim().to_owned();
        let ended = there(&["skill", "check", &file]);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        let listed = there(&["skill", "list"]).out;
        let title = name.replace(['_', '-'], " ");
        assert!(listed.to_lowercase().contains(&format!("{title}.")), "{title}: {listed}");
    }
}

/// covers: 5.11
#[test]
fn rules_without_room_are_said_at_start_in_the_prompt_by_doctor_and_in_the_report() {
    let garden = TestProject::scripted(&format!("[model]\nwindow = 8192\n{ANSWERED}"));
    let work = sheet(&garden);
    let rules: String =
        (1..=200).map(|n| format!("{n}. Rule number {n} says what to do and what to leave.\n")).collect();
    garden.write("AGENTS.md", rules);
    let run = ["run", "--sheet", &work, "--set", "refine=never", "--set", "iterate=never"];
    let ended = garden.expect(0, &run);
    let told = "of 200 rules of AGENTS.md";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert!(prompt(&garden).contains(told));
    let mut doctor = garden.command(&["doctor"]);
    doctor.env("CALLSHEET_MODEL", script(&garden));
    let doctor = Ended::from(doctor.output().unwrap());
    assert!(doctor.out.contains(told), "{}", doctor.out);
    for format in ["html", "md"] {
        assert!(garden.expect(0, &["report", "--format", format, "-o", "-"]).out.contains(told), "{format}");
    }
}

/// covers: 5.11
#[test]
fn rules_beside_a_file_go_to_the_task_that_reads_it() {
    let garden = asked();
    garden.write("AGENTS.md", "- Root rule.\n");
    garden.write("pkg/AGENTS.md", "- Rule of the package.\n");
    garden.write("pkg/code.md", "The port is 8080.\n");
    let task = |reference: &str| {
        format!(
            "## Goals / summary\nG.\n## Tasks\n- **What is needed** The port.\n{reference}- **Expected output** A number.\n"
        )
    };
    let run = ["run", "--sheet", "work.md", "--set", "refine=never", "--set", "iterate=never"];
    garden.write("work.md", task("- **References** [c](pkg/code.md)\n"));
    garden.expect(0, &run);
    let seen = prompt(&garden);
    assert!(seen.find("Root rule.").unwrap() < seen.find("Rule of the package.").unwrap());
    garden.write("work.md", task(""));
    garden.expect(0, &run);
    assert!(!prompt(&garden).contains("Rule of the package."));
}

#[test]
fn doctor_asks_the_server_that_is_configured() {
    let garden = TestProject::bare();
    std::fs::create_dir_all(garden.home()).unwrap();
    let config = "model = 'mine/m'\n[providers.mine]\ndialect = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\n";
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    let ended = garden.expect(1, &["doctor"]);
    assert!(ended.out.contains("!! mine at http://127.0.0.1:9/v1"), "{}", ended.out);

    // A vendor whose interface tells nothing about the model is asked, too.
    for (vendor, refuses) in [("openai", true), ("anthropic", true), ("gemini", false)] {
        let url = if refuses { refusing() } else { "http://127.0.0.1:9/v1".to_owned() };
        let config = format!(
            "model = '{vendor}/m'\n[providers.{vendor}]\nbase_url = '{url}'\napi_key_env = 'MY_KEY'\nwindow = 8000\n"
        );
        std::fs::write(garden.home().join("config.toml"), config).unwrap();
        let mut doctor = garden.command(&["doctor"]);
        let ended = Ended::from(doctor.env("MY_KEY", "sk-wrong").output().unwrap());
        assert_eq!(ended.code, 1, "{}", ended.out);
        assert!(ended.out.contains(&format!("!! {vendor} at {url}")), "{}", ended.out);
        assert_eq!(ended.out.contains("rejected the API key in MY_KEY"), refuses, "{}", ended.out);
    }
}

/// covers: 7.9
#[test]
fn nothing_is_downloaded_unasked() {
    let garden = TestProject::bare();
    let ended = garden.call(&["run", "who waters?"]);
    // A server of the machine that runs the tests may answer; nothing is fetched in any case.
    assert!(!ended.err.contains("downloading"), "{}", ended.err);
    assert!(!garden.home().join("data").exists());
}

/// A server that refuses every key.
fn refusing() -> String {
    let body = "{\"error\":{\"message\":\"Incorrect API key provided\"}}";
    format!("http://{}/v1", answering(move |_| ("401 Unauthorized", body)))
}

/// A server that answers the first line of each request with a status and a body. Returns its address.
fn answering(answer: impl Fn(&str) -> (&'static str, &'static str) + Send + 'static) -> std::net::SocketAddr {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            let mut head = [0; 64 * 1024];
            let read = std::io::Read::read(&mut stream, &mut head).unwrap_or_default();
            let asked = String::from_utf8_lossy(&head[..read]).into_owned();
            let (status, body) = answer(asked.lines().next().unwrap_or_default());
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _closed = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// The models that a server has are named where the configured one is missing.
#[test]
fn doctor_names_the_models_that_a_server_has() {
    let garden = TestProject::bare();
    std::fs::create_dir_all(garden.home()).unwrap();
    let tags = r#"{"models":[{"name":"pear:7b"},{"name":"plum:latest"}]}"#;
    let list = r#"{"object":"list","data":[{"id":"pear:7b"}]}"#;
    let address = answering(move |asked| match asked.split(' ').nth(1) {
        Some("/api/tags") => ("200 OK", tags),
        Some("/v1/models") => ("200 OK", list),
        _ => ("404 Not Found", r#"{"error":"model not found"}"#),
    });
    let rows = [
        ("ollama", "", "it has no model `apple:4b`, but pear:7b, plum:latest; fetch it: ollama pull apple:4b"),
        ("openai", "/v1", "it lists no model `apple:4b`, but pear:7b"),
    ];
    for (dialect, path, told) in rows {
        let provider = format!("[providers.mine]\ndialect = '{dialect}'\nbase_url = 'http://{address}{path}'\n");
        std::fs::write(garden.home().join("config.toml"), format!("model = 'mine/apple:4b'\n{provider}")).unwrap();
        let ended = garden.expect(1, &["doctor"]);
        assert!(ended.out.contains(&format!("!! mine at http://{address}{path}: {told}")), "{}", ended.out);
    }
}

#[test]
fn a_rejected_key_is_called_so_once() {
    let garden = TestProject::bare();
    std::fs::create_dir_all(garden.home()).unwrap();
    let url = refusing();
    let config =
        format!("model = 'mine/m'\n[providers.mine]\ndialect = 'openai'\nbase_url = '{url}'\napi_key_env = 'MY_KEY'\n");
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    let call = |arguments: &[&str]| {
        let mut command = garden.command(arguments);
        command.env("MY_KEY", "sk-wrong");
        Ended::from(command.output().unwrap())
    };
    let ended = call(&["run", "who waters?"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_eq!(ended.err.matches("rejected the API key in MY_KEY").count(), 1, "{}", ended.err);
    assert!(!ended.err.contains("could not reach"), "{}", ended.err);
    assert!(call(&["doctor"]).out.contains("rejected the API key in MY_KEY"));
}
