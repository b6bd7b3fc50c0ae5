//! What the hosted library must carry over several turns.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "hosted")]

mod support;

use std::collections::BTreeMap;

use callsheet_models::config::{Provider, ProviderSettings, build};
use callsheet_runtime::ports::{Message, ModelRequest};
use serde_json::json;
use support::{Server, fixtures};
use tokio_util::sync::CancellationToken;

/// Gemini refuses a tool round trip without the signature that came with the call.
#[tokio::test]
async fn signatures_go_back_with_their_calls() {
    let server = Server::start(fixtures().join("wire/gemini")).await;
    let settings = ProviderSettings {
        base_url: Some(format!("{}/tool/v1beta", server.address)),
        api_key_env: Some("TEST_KEY".to_owned()),
        ..ProviderSettings::default()
    };
    let provider = Provider::resolve("gemini", &BTreeMap::from([("gemini".to_owned(), settings)])).unwrap();
    let environment = BTreeMap::from([("TEST_KEY".to_owned(), "k".to_owned())]);
    let model = build(&provider, "brook", &environment).unwrap();
    let mut request: ModelRequest = serde_json::from_value(json!({
        "label": "execute", "system": "", "messages": [{"role": "user", "text": "go"}], "max_output_tokens": 100,
    }))
    .unwrap();
    let reply = model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    let call = reply.calls[0].clone();
    request.messages.push(Message::Assistant { text: reply.text, calls: reply.calls });
    let result = Message::Tool { id: call.id, name: call.name, text: "4 °C".into(), error: false };
    request.messages.push(result);
    model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    let sent = server.received().last().unwrap().body.to_string();
    assert!(sent.contains("\"thoughtSignature\":\"c2lnbmVk\""), "{sent}");
}
