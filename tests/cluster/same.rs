//! What a cluster gives is what a local run gives.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cluster::Cluster;
use crate::support::crashes::{Act, end_of};
use crate::support::garden::TestProject;
use crate::support::killed::{APPROVED, FLOWING, RUN_SHEET, SHEET};
use crate::support::processes::Processes;

pub fn an_approved_sheet(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 1);
    let first = cluster.call(&RUN_SHEET);
    assert_eq!(first.code, 3, "{}", first.err);
    assert!(first.err.contains("Waiting for approval"), "{}", first.err);
    let listed = cluster.call(&["runs"]).out;
    let run = listed.split_whitespace().next().unwrap().to_owned();
    assert!(!cluster.project.path("rota.md").exists(), "nobody has approved it");
    cluster.approve_all(&run);
    assert_eq!(cluster.end(&run), end_of(&APPROVED, &mut Processes::of(&APPROVED)));
    assert!(!cluster.project.has_store(), "the run is on the cluster alone");
    let key = std::fs::read_to_string(cluster.project.home().join("config.toml")).unwrap_or_default();
    assert!(key.is_empty());
    let missing = cluster.call(&["show", "no-such-run"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
}

pub fn a_template(engine: &Path) {
    let cluster = Cluster::start(FLOWING.project(), engine, 1);
    let [Act::Drive(words)] = FLOWING.acts else { panic!("one command") };
    let ended = cluster.call(words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let run = cluster.call(&["runs"]).out.split_whitespace().next().unwrap().to_owned();
    assert_eq!(cluster.end(&run), end_of(&FLOWING, &mut Processes::of(&FLOWING)));
}

pub fn a_late_result(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 1);
    assert_eq!(cluster.call(&RUN_SHEET).code, 3);
    let run = cluster.call(&["runs"]).out.split_whitespace().next().unwrap().to_owned();
    let before = cluster.facts(&run);
    // The open gate is in flight. Somebody else answers it with the number of another start.
    let (number, started) = (1_u64..).zip(&before).filter(|(_, fact)| fact["event"] == "started").last().unwrap();
    let answered = json!({ "event": "gate_answered", "gate": started["effect"]["gate"], "answer": "listed" });
    let result = |attempt: u64| json!({ "returned": [{ "effect": started["effect"], "attempt": attempt, "events": [answered] }] });
    let (path, token) = (format!("CallsheetRun/{run}/land"), cluster.token());
    assert!(cluster.post(&token, &path, &result(number - 1)).contains(" 200 "), "it is heard, and changes nothing");
    assert_eq!(cluster.facts(&run), before);
    assert!(cluster.post(&token, &path, &result(number)).contains(" 200 "));
    assert!(cluster.has(&run, "gate_answered"), "the same result of the attempt in flight counts");
}

pub fn a_cancelled_run(engine: &Path) {
    let project = TestProject::scripted("[[rule]]\nphase = 'execute'\ndelay_ms = 600000\ntext = 'Late.'\n");
    project.write("work.md", SHEET);
    let cluster = Cluster::start(project, engine, 1);
    let run = cluster.begin(&RUN_SHEET);
    let end = Instant::now() + Duration::from_secs(60);
    while !cluster.has(&run, "started") {
        assert!(Instant::now() < end, "no task begins");
        std::thread::sleep(Duration::from_millis(50));
    }
    let cancelled = cluster.call(&["cancel", &run]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.err);
    assert_eq!(cluster.end(&run).outcome, "cancelled");
    let refused = cluster.call(&["cancel", &run]);
    assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
}
