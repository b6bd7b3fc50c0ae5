//! Tests odd streams: each `fixtures/replies/DIALECT.NAME.http` answers one request, and the outcome is compared with
//! `DIALECT.NAME.expect.json`.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::support::{Server, check_file, files, fixtures};
use callsheet_models::config::{Provider, ProviderSettings, build};
use callsheet_runtime::ports::{ModelFault, ModelRequest};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn provider(dialect: &str, address: &str) -> Provider {
    let settings = ProviderSettings {
        dialect: Some(serde_json::from_value(dialect.into()).unwrap()),
        base_url: Some(address.to_owned()),
        price_input: Some(3.0),
        price_output: Some(15.0),
        ..ProviderSettings::default()
    };
    Provider::resolve("acme", &BTreeMap::from([("acme".to_owned(), settings)])).unwrap()
}

fn fault_as_json(fault: &ModelFault) -> Value {
    let class = match fault {
        ModelFault::Communication { .. } => "communication",
        ModelFault::Busy { .. } => "busy",
        ModelFault::Configuration { .. } => "configuration",
        ModelFault::Exhausted { .. } => "exhausted",
        ModelFault::ContextOverflow { .. } => "context_overflow",
        ModelFault::Deadline => "deadline",
        ModelFault::Cancelled => "cancelled",
    };
    json!({"fault": class, "words": fault.to_string()})
}

#[tokio::test]
async fn odd_streams() {
    let folder = fixtures().join("replies");
    let server = Server::start(folder.clone()).await;
    let request: ModelRequest =
        serde_json::from_str(&std::fs::read_to_string(folder.join("request.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for path in files(&folder, ".http") {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some((dialect, _)) = stem.split_once('.') else { continue };
        let model =
            build(&provider(dialect, &format!("{}/{stem}", server.address)), "brook", &BTreeMap::new()).unwrap();
        let deltas = Mutex::new(Vec::new());
        let sink = |text: &str| deltas.lock().unwrap().push(text.to_owned());
        let outcome = match model.ask(&request, &sink, &CancellationToken::new()).await {
            Ok(reply) => serde_json::to_value(reply).unwrap(),
            Err(fault) => fault_as_json(&fault),
        };
        let seen = json!({"deltas": deltas.into_inner().unwrap(), "outcome": outcome});
        let text = serde_json::to_string_pretty(&seen).unwrap() + "\n";
        wrong.extend(check_file(&path.with_extension("expect.json"), &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A llama.cpp server announces `Keep-Alive` but closes after each stream. No later request may be lost.
#[tokio::test]
async fn a_server_that_closes_after_each_stream_loses_nothing() {
    let folder = fixtures().join("replies");
    let server = Server::start(folder.clone()).await;
    let request: ModelRequest =
        serde_json::from_str(&std::fs::read_to_string(folder.join("request.json")).unwrap()).unwrap();
    let address = format!("{}/llamacpp.closes-after-the-stream", server.address);
    let model = build(&provider("llamacpp", &address), "brook", &BTreeMap::new()).unwrap();
    for _ in 0..20 {
        model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    }
    let calls = server.received().into_iter().filter(|request| request.line.starts_with("POST "));
    assert_eq!(calls.count(), 20);
}
