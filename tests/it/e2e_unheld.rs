//! Where the system holds no command.
//!
//! covers: 11.10
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::Command;

use crate::support::garden::{Ended, TestProject};

/// Where namespaces are refused, `doctor` says what is open, and no earlier answer covers a command.
#[test]
fn where_namespaces_are_refused_each_command_asks() {
    let garden = TestProject::bare();
    garden.write(
        ".callsheet/templates/act.xml",
        r#"<task type="script" name="act"><description>Act</description><command>touch made</command></task>"#,
    );
    // No namespace can be made within this one, and its user has no rights.
    let refusing = "echo 0 > /proc/sys/user/max_user_namespaces || exit 99; \
                    exec setpriv --bounding-set -all --inh-caps -all --no-new-privs \"$0\" \"$@\"";
    let call = |arguments: &[&str]| {
        let wanted = garden.command(arguments);
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", refusing]).arg(wanted.get_program());
        command.args(wanted.get_args()).current_dir(garden.project()).env_clear();
        command.envs(wanted.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ended::from(command.output().unwrap())
    };
    let doctor = call(&["doctor"]);
    if doctor.code == 99 || doctor.err.contains("unshare failed") {
        let known = std::env::var_os("CALLSHEET_TEST_WITHOUT_NAMESPACES").is_some();
        assert!(known, "this machine has no namespaces; to skip, set CALLSHEET_TEST_WITHOUT_NAMESPACES");
        return;
    }
    assert!(doctor.out.contains("!! commands, reading: commands can read your files"), "{}", doctor.out);
    let run = ["template", "run", "act", "--approval", "never", "--headless", "approve"];
    let ended = call(&run);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("cannot keep a command from changing other files"), "{}", ended.err);
    assert!(!garden.path("made").exists());
    assert_eq!(call(&["approve", "--resume"]).code, 0);
    assert!(garden.path("made").exists());
    std::fs::remove_file(garden.path("made")).unwrap();
    std::fs::write(garden.home().join("config.toml"), "[tools]\ncontained = true\n").unwrap();
    assert_eq!(call(&run).code, 0);
    assert!(garden.path("made").exists());
}
