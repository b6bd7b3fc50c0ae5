//! Several tokens with rights of their own.

use std::path::Path;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::support::garden::Ended;
use crate::support::killed::{APPROVED, RUN_SHEET};

/// A command of somebody with a token of their own.
fn call(cluster: &Cluster, token: &str, words: &[&str]) -> Ended {
    let words: Vec<&str> = words.iter().copied().chain(["--on", &cluster.on]).collect();
    Ended::from(cluster.project.command(&words).env("CALLSHEET_CLUSTER_TOKEN", token).output().unwrap())
}

fn token(cluster: &Cluster, name: &str, may: &str) -> String {
    let made = cluster.project.expect(0, &["--json", "serve", "tokens", "add", name, "--may", may]).out;
    serde_json::from_str::<Value>(&made).unwrap()["token"].as_str().unwrap().to_owned()
}

/// Ana approves, Ben steers, Cem looks; the record says who decided.
pub fn two_people(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 1);
    let (ana, ben, cem) =
        (token(&cluster, "ana", "approve"), token(&cluster, "ben", "steer"), token(&cluster, "cem", "look"));
    let refused = call(&cluster, &cem, &RUN_SHEET);
    assert!(refused.code != 0 && refused.err.contains("the token cem has the right to look"), "{}", refused.err);
    let begun = call(&cluster, &ana, &RUN_SHEET);
    assert_eq!(begun.code, 3, "{}", begun.err);
    let run = call(&cluster, &cem, &["runs"]).out.split_whitespace().next().unwrap().to_owned();
    for (weak, right) in [(&ben, "approve"), (&cem, "steer")] {
        let refused = call(&cluster, weak, &["approve", &run]);
        let words = format!("needs the right to {right}");
        assert!(refused.code == 2 && refused.err.contains(&words), "{}", refused.err);
    }
    let refused = call(&cluster, &ben, &["undo", &run]);
    assert!(refused.code == 2 && refused.err.contains("needs the right to approve"), "{}", refused.err);
    assert_eq!(call(&cluster, &ana, &["approve", &run, "write-rota-1"]).code, 0);
    assert_eq!(call(&cluster, &ben, &["drop", &run, "write-thanks-1"]).code, 0);
    let answered = cluster.facts(&run).into_iter().find(|fact| fact["event"] == "gate_answered").unwrap();
    assert_eq!(answered["by"], json!({ "api": "ana" }));
    assert_eq!(call(&cluster, &cem, &["show", &run]).code, 0);
    let refused = call(&cluster, &cem, &["cancel", &run]);
    assert!(refused.code == 2 && refused.err.contains("needs the right to steer"), "{}", refused.err);
    // No token of a person makes its holder a worker or the engine.
    for path in ["work/take", "slots/ask", "CallsheetRun/x/land/send", "invoke/CallsheetRun/land"] {
        assert!(cluster.post(&ana, path, &json!({})).starts_with("HTTP/1.1 403 "), "{path}");
    }
    cluster.project.expect(0, &["serve", "tokens", "revoke", "ana"]);
    let gone = call(&cluster, &ana, &["show", &run]);
    assert!(gone.code != 0 && gone.err.contains("does not accept the token"), "{}", gone.err);
}
