//! Ends of a run that no model decides: limits, the last round, a provider that does not answer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{Ended, TestProject};

/// covers: 2.15 limit_reached, 11.9 exit 6
#[test]
fn a_limit_ends_the_run_and_leaves_what_is_pending() {
    let garden = TestProject::with("answer");
    let ended = garden.expect(6, &["run", "who waters?", "--set", "limits.max_calls=1"]);
    assert!(ended.err.contains("max_calls"), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("[read-water-1] ready"), "{shown}");
    assert_eq!(garden.count("reply_received"), 1);
    let again = garden.expect(6, &["resume"]);
    assert!(again.err.contains("Reached a limit: max_calls is used up"), "{}", again.err);
    assert!(again.err.contains("--set limits.max_calls=N"), "{}", again.err);
    garden.expect(0, &["resume", "--set", "limits.max_calls=2"]);
}

/// covers: 2.15 max_rounds, 11.9 exit 6
#[test]
fn the_last_round_ends_the_run() {
    let tasks = |need: &str| format!("## Tasks\n- **What is needed** {need}\n- **Expected output** A word.");
    let (first, second, third) = (tasks("Ask."), tasks("Ask once more."), tasks("Ask twice more."));
    let garden = TestProject::scripted(&format!(
        "[[rule]]\nphase = \"route\"\ntext = \"answer_from_documents\"\n\
         [[rule]]\nphase = \"plan\"\ntext = '''\n## Goals / summary\nAsk.\n{first}\n'''\n\
         [[rule]]\nphase = \"iterate\"\n[[rule.reply]]\ntext = '''\n{second}\n'''\n[[rule.reply]]\ntext = '''\n{third}\n'''\n\
         [[rule]]\nphase = \"execute\"\ntext = '''\n## Result summary\nAna waters.\n'''\n"
    ));
    let ended = garden.expect(6, &["run", "keep asking", "--set", "max_rounds=2"]);
    assert!(garden.run_file("report.md").contains("Max rounds reached."), "{}", ended.err);
    assert_eq!(garden.facts().iter().filter(|fact| fact["event"] == "execution_finished").count(), 2);
}

/// covers: 2.15 unreachable, 11.9 exit 7, 12.3, 12.4
#[test]
fn a_provider_that_does_not_answer_is_told_and_the_run_can_go_on() {
    let mut garden =
        TestProject::scripted("[default]\nfault = { kind = \"communication\", message = \"connection refused\" }\n");
    let mut command = garden.command(&["run", "who waters?"]);
    let ended = Ended::from(command.env("CALLSHEET_COMM_TRIES", "1").output().unwrap());
    assert_eq!(ended.code, 7, "{}", ended.err);
    assert!(ended.err.contains("connection refused"), "{}", ended.err);
    assert_eq!(
        (garden.count("call_failed"), garden.count("reply_received")),
        (1, 0),
        "one attempt, and no content failure"
    );
    garden.follow("answer");
    garden.expect(0, &["resume"]);
    assert!(garden.run_file("report.md").contains("Ana looks after the barrels."));
}

/// A server that takes the call and says nothing is left like one that is not there. It told no window either.
/// covers: 12.1
#[test]
fn a_server_that_says_nothing_is_left() {
    // Nobody accepts: the system takes the connections, and that is all.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let garden = TestProject::bare();
    std::fs::create_dir_all(garden.home()).unwrap();
    let config = format!(
        "model = \"quiet/brook\"\ncomm_tries = 1\n[providers.quiet]\ndialect = \"openai\"\n\
         base_url = \"http://{}/v1\"\nfirst_byte_seconds = 1\n",
        server.local_addr().unwrap()
    );
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    let ended = garden.expect(7, &["run", "who waters?"]);
    assert!(ended.err.contains("within 1s ([providers.quiet] first_byte_seconds)"), "{}", ended.err);
    assert_eq!(ended.err.matches("set providers.quiet.window").count(), 1, "{}", ended.err);
    let doctor = garden.call(&["doctor"]).out;
    assert!(doctor.contains("context window of quiet/brook: not known (set providers.quiet.window)"), "{doctor}");
}

/// Which model answered is what the record says, whatever a run began with; a gate names the one that will.
/// covers: 7.9, 11.3
#[test]
fn show_names_the_models_that_answered() {
    let mut garden = TestProject::with("writer");
    let began = crate::support::root().join("tests/fixtures/e2e/writer.toml");
    let other = garden.home().with_file_name("other.toml");
    std::fs::copy(&began, &other).unwrap();
    std::fs::create_dir_all(garden.home()).unwrap();
    let config =
        format!("model = \"scripted:{}\"\n[models]\nexecute = \"scripted:{}\"\n", began.display(), other.display());
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    garden.forget_model();
    garden.expect(3, &["run", "bring the notes up to date"]);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains(&format!("Model: scripted:{}\n", began.display())), "{shown}");
    assert!(shown.contains(&format!("    model: scripted:{}\n", other.display())), "the gate names who will: {shown}");
    garden.expect(0, &["approve"]);
    garden.expect(3, &["resume"]);
    let shown = garden.expect(0, &["show"]).out;
    let models = format!("Models: scripted:{} (plan), scripted:{} (execute)\n", began.display(), other.display());
    assert!(shown.contains(&models), "{shown}");
}

const ONE: &str = r#"<task name="one"><description>Tell of the water</description><instructions>At length.</instructions>
<allowed_tools/><limits max_tokens="MOST"/></task>"#;

fn of_tokens(most: u32) -> TestProject {
    let words = "water ".repeat(400);
    let garden = TestProject::scripted(&format!("[[rule]]\nphase = \"execute\"\ntext = '''\n{words}\n'''\n"));
    garden.write(".callsheet/templates/one.xml", ONE.replace("MOST", &most.to_string()));
    garden
}

/// covers: C35
#[test]
fn a_reply_is_cut_where_the_token_budget_ends() {
    let garden = of_tokens(400);
    let ended = garden.expect(6, &["template", "run", "one"]);
    assert!(ended.err.contains("the token budget cut the reply off"), "{}", ended.err);
    let reply = garden.facts().into_iter().find(|fact| fact["event"] == "reply_received").unwrap();
    assert_eq!(reply["stop"], "budget", "{reply}");
    let used = reply["usage"]["input"].as_u64().unwrap() + reply["usage"]["output"].as_u64().unwrap();
    assert!(used <= 400 && used > 300, "{used}");
    of_tokens(4_000).expect(0, &["template", "run", "one"]);
}

/// covers: C35
#[test]
fn a_prompt_that_leaves_no_room_for_a_reply_is_not_sent() {
    let garden = of_tokens(20);
    let ended = garden.expect(6, &["template", "run", "one"]);
    assert!(ended.err.contains("its token budget has only 20 left"), "{}", ended.err);
    assert_eq!(garden.count("reply_received"), 0);
    let sheet = TestProject::with("answer");
    let ended = sheet.expect(6, &["run", "who waters?", "--set", "limits.max_tokens=20"]);
    assert!(ended.err.contains("max_tokens leaves 20 tokens, too few for another call"), "{}", ended.err);
    assert_eq!(sheet.count("reply_received"), 0);
    let again = sheet.expect(6, &["resume"]);
    assert!(again.err.contains("too few for another call"), "{}", again.err);
    assert_eq!(sheet.count("call_failed"), 1, "it is not tried again with the same limit");
    sheet.expect(0, &["resume", "--set", "limits.max_tokens=100000"]);
}
