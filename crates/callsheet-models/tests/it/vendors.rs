//! Tests what each hosted vendor of `vendors.toml` is sent, and how its reply is read:
//! `fixtures/vendors/VENDOR.sent.jsonl` contains one request per line, and then the reply to the one with tools. The
//! vendors answer with the stream of their dialect, `fixtures/vendors/DIALECT.http`. The README beside them says how
//! the requests differ from those of a library that was used before, and why.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::support::{Received, Server, check_file, fixtures, sorted};
use callsheet_core::nouns::{Picture, PictureFormat};
use callsheet_models::config::{Provider, Vendor, build, vendors};
use callsheet_runtime::ports::{Constraint, Message, Model, ModelRequest, ShownPicture};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-secret-of-the-test";

fn request(messages: Value) -> ModelRequest {
    let system = "Be brief.";
    serde_json::from_value(json!({
        "label": "", "system": system, "messages": messages, "max_output_tokens": 512, "temperature": 0.25, "seed": 7,
    }))
    .unwrap()
}

/// Every kind of request, with a name, except one that answers calls.
fn requests() -> Vec<(&'static str, ModelRequest)> {
    let plain = request(json!([{"role": "user", "text": "Name a river."}]));
    let mut turns = request(json!([
        {"role": "user", "text": "Name a river."}, {"role": "assistant", "text": "The Elbe."},
        {"role": "user", "text": "Another one."},
    ]));
    (turns.system, turns.temperature, turns.seed) = (String::new(), None, None);
    let mut schema = plain.clone();
    schema.constraint = Some(Constraint { json_schema: Some(odd_schema()), ..Constraint::default() });
    let mut twin = plain.clone();
    let form = callsheet_format::grammar::merge();
    twin.constraint = Some(Constraint { json_schema: Some(form.schema()), form: Some(form), grammar: None });
    let mut tools = request(json!([{"role": "user", "text": "Is it warmer in Oslo or in Rome?"}]));
    let tool = |name: &str| {
        json!({"name": name, "description": format!("The {name} of a city."), "effect": "read", "repeat": "Read",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}})
    };
    tools.tools = serde_json::from_value(json!([tool("weather"), tool("map.of")])).unwrap();
    let mut alone = tools.clone();
    alone.system.clear();
    let mut picture = plain.clone();
    picture.messages = vec![Message::User { text: "Name this river.".to_owned(), pictures: vec![dot()] }];
    vec![
        ("plain", plain),
        ("turns", turns),
        ("picture", picture),
        ("schema", schema),
        ("twin", twin),
        ("no system", alone),
        ("tools", tools),
    ]
}

fn dot() -> ShownPicture {
    let content: &[u8] = b"not really a picture";
    let blob = callsheet_core::nouns::BlobId::of(content);
    let about = Picture { blob, format: PictureFormat::Webp, width: 1, height: 1, bytes: content.len() as u64 };
    ShownPicture { about, content: content.into() }
}

/// Optional members, bounds, alternatives, a nested object and a definition.
fn odd_schema() -> Value {
    json!({
        "type": "object", "required": ["name"], "$defs": {"bank": {"type": "object", "properties": {"side": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "length": {"type": "integer", "minimum": 1},
            "bank": {"$ref": "#/$defs/bank", "description": "Where it is seen from."},
            "flows": {"oneOf": [
                {"type": "object", "required": ["into"], "properties": {"into": {"const": "sea"}}},
                {"type": "object", "required": ["into"], "properties": {"into": {"const": "lake"}, "lake": {"type": "string"}}},
            ]},
        },
    })
}

fn model(row: &Vendor, address: &str) -> Arc<dyn Model> {
    let mut provider = Provider::resolve(&row.name, &BTreeMap::new()).unwrap();
    let path = row.base_url.splitn(4, '/').nth(3).unwrap();
    provider.base_url = format!("{address}/{path}");
    let variable = row.api_key_env.clone().unwrap();
    build(&provider, "brook", &BTreeMap::from([(variable, KEY.to_owned())])).unwrap()
}

/// The address, the headers that matter, and the body.
fn seen(name: &str, received: &Received) -> Value {
    let told = |line: &&String| {
        let name = line.split(':').next().unwrap_or_default();
        !["host", "user-agent", "content-length", "accept", "accept-encoding"].contains(&name)
    };
    let mut headers: Vec<String> = received.head.iter().filter(told).map(|line| line.replace(KEY, "KEY")).collect();
    headers.sort();
    json!({"of": name, "line": received.line, "headers": headers, "body": sorted(&received.body)})
}

async fn sent_to(row: &Vendor) -> String {
    let dialect = row.dialect.as_str();
    let server = Server::start(fixtures().join("vendors").join(format!("{dialect}.http"))).await;
    let model = model(row, &server.address);
    let (mut lines, mut last) = (String::new(), None);
    for (name, request) in requests() {
        let reply = model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
        writeln!(lines, "{}", seen(name, server.received().last().unwrap())).unwrap();
        last = Some((request, reply));
    }
    let (mut request, reply) = last.unwrap();
    request.messages.push(Message::Assistant { text: reply.text.clone(), calls: reply.calls.clone() });
    for (number, call) in reply.calls.iter().enumerate() {
        let (text, error) = if number == 0 { ("4 °C", false) } else { ("no such city", true) };
        request.messages.push(Message::Tool {
            id: call.id.clone(),
            name: call.name.clone(),
            text: text.to_owned(),
            error,
        });
    }
    model.ask(&request, &|_| {}, &CancellationToken::new()).await.unwrap();
    writeln!(lines, "{}", seen("results", server.received().last().unwrap())).unwrap();
    writeln!(lines, "{}", json!({"reply": sorted(&serde_json::to_value(reply).unwrap())})).unwrap();
    lines
}

/// covers: 12.1
#[tokio::test]
async fn each_vendor_is_sent_what_its_fixture_says() {
    let mut wrong = Vec::new();
    for row in vendors().iter().filter(|row| !row.local) {
        let path = fixtures().join("vendors").join(format!("{}.sent.jsonl", row.name));
        wrong.extend(check_file(&path, &sent_to(row).await));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
