//! The log of the program (spec 12.13).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use serde_json::Value;

use crate::support::garden::{TestProject, json_lines};

/// covers: 12.13, 11.16
#[test]
fn a_log_says_what_was_done_and_holds_neither_content_nor_keys() {
    let garden = TestProject::with("follow_up");
    let file = garden.home().with_file_name("callsheet.log");
    let log = file.display().to_string();
    let key = "sk-a-secret-of-a-test";
    let mut command = garden.command(&["--log", &log, "run", &format!("Who looks after the water? {key}")]);
    command.env("CALLSHEET_MODEL", garden.model()).env("OPENAI_API_KEY", key);
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = json_lines(&text);
    let of_effects = lines.iter().filter(|line| line["message"] == "ended");
    let kinds: Vec<&str> = of_effects.filter_map(|line| line["span"]["kind"].as_str()).collect();
    assert!(kinds.contains(&"ask_model"), "{text}");
    assert!(!text.contains(key) && !text.contains("looks after"), "{text}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

/// covers: 12.13
#[test]
fn a_log_is_written_only_where_the_person_says_so() {
    let garden = TestProject::with("follow_up");
    std::fs::create_dir_all(garden.path(".callsheet")).unwrap();
    garden.write(".callsheet/config.toml", "log.file = 'planted.log'\n");
    let ended = garden.call(&["run", "Who looks after the water?"]);
    assert!(!garden.path("planted.log").exists(), "{}", ended.err);
    let mut command = garden.command(&["--log", "x.log", "runs"]);
    let ended = command.env("CALLSHEET_LOG", "callsheet=loud").output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("CALLSHEET_LOG is no filter"), "{ended:?}");
}
