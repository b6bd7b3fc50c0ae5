//! What a cluster gives is what a local run gives.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cluster::{Cluster, End};
use crate::support::garden::TestProject;
use crate::support::killed::{FLOW, FLOW_SCRIPT, SHEET, SHEET_SCRIPT};

pub const SHEET_WORDS: [&str; 3] = ["run", "--sheet", "work.md"];
pub const FLOW_WORDS: [&str; 6] = ["template", "run", "flow", "list:=[1,2,3]", "--approval", "never"];

pub fn with_sheet() -> TestProject {
    let project = TestProject::scripted(SHEET_SCRIPT);
    project.write("work.md", SHEET);
    project
}

pub fn with_flow() -> TestProject {
    let project = TestProject::scripted(FLOW_SCRIPT);
    project.write(".callsheet/templates/flow.xml", FLOW);
    project.write("count.sh", "echo ran >> ran.txt\nsleep 0.1\nwc -l < water.md > lines.txt\ncat lines.txt\n");
    project
}

/// The end of a local run of this sheet.
pub fn local_sheet() -> End {
    let project = with_sheet();
    project.expect(3, &SHEET_WORDS);
    project.expect(0, &["approve"]);
    project.expect(3, &["resume"]);
    project.expect(0, &["approve"]);
    project.expect(0, &["resume"]);
    End::of(&project, &project.expect(0, &["--json", "show"]).out, &project.facts())
}

pub fn local_flow() -> End {
    let project = with_flow();
    project.expect(0, &FLOW_WORDS);
    End::of(&project, &project.expect(0, &["--json", "show"]).out, &project.facts())
}

pub fn an_approved_sheet(engine: &Path) {
    let cluster = Cluster::start(with_sheet(), engine, 1);
    let first = cluster.call(&SHEET_WORDS);
    assert_eq!(first.code, 3, "{}", first.err);
    assert!(first.err.contains("Waiting for approval"), "{}", first.err);
    let listed = cluster.call(&["runs"]).out;
    let run = listed.split_whitespace().next().unwrap().to_owned();
    assert!(!cluster.project.path("rota.md").exists(), "nobody has approved it");
    cluster.approve_all(&run);
    assert_eq!(cluster.end(&run), local_sheet());
    assert!(!cluster.project.has_store(), "the run is on the cluster alone");
    let key = std::fs::read_to_string(cluster.project.home().join("config.toml")).unwrap_or_default();
    assert!(key.is_empty());
    let missing = cluster.call(&["show", "no-such-run"]);
    assert_eq!(missing.code, 2, "{}", missing.err);
}

pub fn a_template(engine: &Path) {
    let cluster = Cluster::start(with_flow(), engine, 1);
    let ended = cluster.call(&FLOW_WORDS);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let run = cluster.call(&["runs"]).out.split_whitespace().next().unwrap().to_owned();
    assert_eq!(cluster.end(&run), local_flow());
}

pub fn a_late_result(engine: &Path) {
    let cluster = Cluster::start(with_sheet(), engine, 1);
    assert_eq!(cluster.call(&SHEET_WORDS).code, 3);
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
    let run = cluster.begin(&SHEET_WORDS);
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
