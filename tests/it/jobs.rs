//! The jobs of `bench/jobs` and their graders hold: every grader accepts its good samples and rejects its bad ones.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::Command;

use crate::support::root;

#[test]
fn graders_know_good_from_bad() {
    let program = root().join("bench/jobs/run");
    let ended = Command::new("python3").arg(program).arg("--self-test").output().expect("python3");
    let said = [ended.stdout, ended.stderr].concat();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&said));
}
