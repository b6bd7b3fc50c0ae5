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

/// A path in the configuration begins at the folder of that file. A full log is put aside once, and what cannot be
/// written is told once.
///
/// covers: 12.13
#[test]
fn a_log_is_beside_its_configuration_is_put_aside_when_full_and_its_loss_is_told() {
    let garden = TestProject::with("follow_up");
    let config = garden.home().join("config.toml");
    std::fs::create_dir_all(garden.home()).unwrap();
    let own = std::fs::read_to_string(&config).unwrap_or_default();
    std::fs::write(&config, format!("log.file = 'here.log'\n{own}")).unwrap();
    garden.expect(0, &["runs"]);
    let file = garden.home().join("here.log");
    assert_eq!(json_lines(&std::fs::read_to_string(&file).unwrap())[0]["message"], "begins");
    std::fs::write(&file, vec![b' '; 16 * 1024 * 1024]).unwrap();
    garden.expect(0, &["runs"]);
    assert_eq!(std::fs::metadata(garden.home().join("here.log.1")).unwrap().len(), 16 * 1024 * 1024);
    assert_eq!(json_lines(&std::fs::read_to_string(&file).unwrap())[0]["message"], "begins");
    let mut run = garden.command(&["--log", "/dev/full", "run", "Who looks after the water?"]);
    let ended = run.env("CALLSHEET_MODEL", garden.model()).output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{told}");
    assert_eq!(told.matches("can't write the log /dev/full, so lines of it are lost").count(), 1, "{told}");
}
