//! Tests the table of faults against what vendors answer: `fixtures/faults/messages.toml`.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::{Duration, SystemTime};

use crate::support::fixtures;
use callsheet_models::fault::{FaultContext, from_status, from_stream, pause};
use callsheet_runtime::ports::ModelFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    from: String,
    status: Option<u16>,
    body: String,
    retry_after: Option<String>,
    retry_after_ms: Option<String>,
    expect: String,
}

/// Sun, 06 Nov 1994 08:49:37 GMT.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
}

fn told(fault: &ModelFault) -> String {
    match fault {
        ModelFault::Busy { wait: Some(wait), .. } => format!("busy after {} ms", wait.as_millis()),
        ModelFault::Busy { wait: None, .. } => "busy".to_owned(),
        ModelFault::Communication { .. } => "communication".to_owned(),
        ModelFault::Configuration { .. } => "configuration".to_owned(),
        ModelFault::Exhausted { .. } => "exhausted".to_owned(),
        ModelFault::ContextOverflow { .. } => "overflow".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_message_has_the_right_class() {
    let text = std::fs::read_to_string(fixtures().join("faults/messages.toml")).unwrap();
    let cases: Cases = toml::from_str(&text).unwrap();
    let context =
        FaultContext { provider: "acme".into(), model: "brook".into(), key_variable: Some("ACME_KEY".into()) };
    let mut wrong = Vec::new();
    for case in cases.case {
        let header = |name: &str| match name {
            "retry-after" => case.retry_after.clone(),
            "retry-after-ms" => case.retry_after_ms.clone(),
            _ => None,
        };
        let fault = match case.status {
            Some(status) => from_status(status, &case.body, pause::asked(header, &case.body, now()), &context),
            None => from_stream(&serde_json::from_str(&case.body).unwrap(), &context),
        };
        let words = fault.to_string();
        if told(&fault) != case.expect || words.contains(['{', '\n']) || words.is_empty() {
            wrong.push(format!("{}: expected {}, got {} ({words})", case.from, case.expect, told(&fault)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn advice_names_what_to_mend() {
    let context =
        FaultContext { provider: "acme".into(), model: "brook".into(), key_variable: Some("ACME_KEY".into()) };
    assert!(from_status(401, "", None, &context).to_string().contains("ACME_KEY"));
    assert!(from_status(404, "", None, &context).to_string().contains("`brook`"));
    let nameless = FaultContext { key_variable: None, ..context };
    assert!(from_status(401, "", None, &nameless).to_string().contains("api_key_env"));
}

#[test]
fn long_words_are_cut_at_a_character() {
    let fault = from_status(400, &"ä".repeat(5_000), None, &FaultContext::default());
    assert!(fault.to_string().chars().count() < 500);
}
