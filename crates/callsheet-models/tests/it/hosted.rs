//! Tests what hosted vendors need beyond single requests: data carried over several turns, native tools, ends.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{Server, check_file, fixtures, sorted};
use callsheet_core::nouns::{ToolCall, ToolSpec};
use callsheet_core::record::StopReason;
use callsheet_models::config::{Provider, ProviderSettings, build};
use callsheet_runtime::ports::{Message, Model, ModelRequest};
use serde_json::json;
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

/// A signature that was lost with a process gets a substitute, for models that refuse calls without one.
#[tokio::test]
async fn a_lost_signature_has_a_stand_in() {
    let server = Server::start(fixtures().join("vendors/gemini.http")).await;
    let mut request: ModelRequest = serde_json::from_value(json!({
        "label": "execute", "system": "", "messages": [{"role": "user", "text": "go"}], "max_output_tokens": 100,
    }))
    .unwrap();
    let call = |id: &str| ToolCall { name: "weather".into(), id: id.into(), arguments: json!({}) };
    request.messages.push(Message::Assistant { text: String::new(), calls: vec![call("a"), call("weather-1")] });
    for (name, stand_in) in [("gemini-3-pro", Some("skip_thought_signature_validator")), ("gemini-2.5-flash", None)] {
        let settings = ProviderSettings { base_url: Some(server.address.clone()), ..ProviderSettings::default() };
        let provider = Provider::resolve("gemini", &BTreeMap::from([("gemini".to_owned(), settings)])).unwrap();
        let model = build(&provider, name, &BTreeMap::new()).unwrap();
        model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
        let sent = server.received().last().unwrap().body.clone();
        let parts = &sent["contents"][1]["parts"];
        assert_eq!(parts[0]["thoughtSignature"].as_str(), stand_in, "{name}: {sent}");
        assert_eq!(parts[1], json!({"functionCall": {"name": "weather", "args": {}}}), "an id of ours is not sent");
    }
}

/// A model of a vendor whose address is a scene of recorded traffic.
fn model(name: &str, base_url: String) -> Arc<dyn Model> {
    let settings = ProviderSettings {
        base_url: Some(base_url),
        api_key_env: Some("TEST_KEY".to_owned()),
        ..ProviderSettings::default()
    };
    let provider = Provider::resolve(name, &BTreeMap::from([(name.to_owned(), settings)])).unwrap();
    build(&provider, "brook", &BTreeMap::from([("TEST_KEY".to_owned(), "k".to_owned())])).unwrap()
}

/// The request of a handler that may read, write, list and run, with the model's native tools.
fn handler_request(model: &dyn Model) -> ModelRequest {
    let tool = |name: &str| -> ToolSpec {
        serde_json::from_value(json!({
            "name": name, "description": format!("Does {name}."), "effect": "read", "repeat": "Read",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }))
        .unwrap()
    };
    let mut request: ModelRequest = serde_json::from_value(json!({
        "label": "execute", "system": "", "messages": [{"role": "user", "text": "go"}], "max_output_tokens": 100,
    }))
    .unwrap();
    request.tools = ["read_file", "write_file", "list_files", "run_command"].map(tool).to_vec();
    request.native_tools = model.native_tools().to_vec();
    request
}

/// An Anthropic row sends its native tools by type and name, and converts their calls to canonical ones and back.
/// Another row sends ordinary schemas of the same tools.
/// covers: C45
#[tokio::test]
async fn c45_an_anthropic_row_gives_native_tools_and_another_schemas() {
    let server = Server::start(fixtures().join("wire/anthropic")).await;
    let native = model("anthropic", format!("{}/native/v1", server.address));
    let mut request = handler_request(&*native);
    let reply = native.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    let calls: Vec<_> = reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
    let wanted = [
        ("read_file", json!({"path": "notes.md", "start_line": 1, "end_line": 5})),
        ("run_command", json!({"shell": true, "command": "ls"})),
        ("list_files", json!({"path": "src"})),
    ];
    assert_eq!(calls, wanted);
    request.messages.push(Message::Assistant { text: String::new(), calls: reply.calls.clone() });
    for call in reply.calls {
        request.messages.push(Message::Tool { id: call.id, name: call.name, text: "done".into(), error: false });
    }
    native.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    let sent = server.received().last().unwrap().body.clone();
    let text = serde_json::to_string_pretty(&sorted(&sent)).unwrap() + "\n";
    let wrong = check_file(&fixtures().join("wire/anthropic/native.sent.json"), &text);
    assert!(wrong.is_none(), "{wrong:?}");

    let server = Server::start(fixtures().join("wire/gemini")).await;
    let other = model("gemini", format!("{}/tool/v1beta", server.address));
    assert!(other.native_tools().is_empty());
    let request = handler_request(&*other);
    other.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    let sent = server.received().last().unwrap().body.clone();
    let names: Vec<_> =
        sent["tools"][0]["functionDeclarations"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read_file", "write_file", "list_files", "run_command"]);
}

/// covers: templates 14
#[test]
fn older_models_get_ordinary_schemas() {
    let provider = Provider::resolve("anthropic", &BTreeMap::new()).unwrap();
    let environment = BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]);
    let native = |model: &str| build(&provider, model, &environment).unwrap().native_tools().len();
    assert_eq!((native("claude-sonnet-4-5"), native("claude-3-5-haiku-latest")), (2, 0));
}

/// Both report it beside the reason for the end.
///
/// covers: 12.2
#[tokio::test]
async fn a_filter_is_known_from_the_frames() {
    for (name, folder, path) in [("openai", "openai-responses", "filtered/v1"), ("gemini", "gemini", "blocked/v1beta")]
    {
        let server = Server::start(fixtures().join("wire").join(folder)).await;
        let model = model(name, format!("{}/{path}", server.address));
        let request: ModelRequest = serde_json::from_value(json!({
            "label": "execute", "system": "", "messages": [{"role": "user", "text": "go"}], "max_output_tokens": 100,
        }))
        .unwrap();
        let reply = model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(reply.stop, StopReason::Filtered, "{name}");
    }
}
