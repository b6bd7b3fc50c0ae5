//! Tests the probing of local servers against recorded answers in `fixtures/probe`, and what a model learns when it
//! connects.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use crate::support::{Server, dead_address, fixtures};
use callsheet_models::config::{Dialect, Provider, ProviderSettings, connect};
use callsheet_models::probe::{PROBE_TIME, Running, RunningModel, running_at, slots_of};
use callsheet_models::wire::ollama::{description, listed};
use callsheet_runtime::ports::WindowFrom;
use serde_json::json;

#[tokio::test]
async fn servers_tell_their_models_windows_and_slots() {
    let server = Server::start(fixtures().join("probe")).await;
    let targets = vec![
        ("gone".to_owned(), Dialect::Ollama, dead_address().await),
        ("llamacpp".to_owned(), Dialect::Llamacpp, server.address.clone()),
        ("ollama".to_owned(), Dialect::Ollama, server.address.clone()),
    ];
    let found = running_at(targets, PROBE_TIME * 20).await;
    let names: Vec<&str> = found.iter().map(|running| running.provider.as_str()).collect();
    assert_eq!(names, ["llamacpp", "ollama"]);
    assert_eq!(found[0].slots, Some(4));
    let brook = RunningModel {
        name: "brook".into(),
        loaded: true,
        window: Some(4096),
        tools: Some(true),
        ..RunningModel::default()
    };
    assert_eq!(found[0].models, [brook]);
    let of_ollama: Vec<_> = found[1].models.iter().map(|m| (m.name.as_str(), m.loaded, m.window, m.tools)).collect();
    assert_eq!(
        of_ollama,
        [("llama3.2:latest", true, Some(131_072), Some(true)), ("qwen3:8b", false, Some(131_072), Some(true))]
    );
}

/// An embedding model turns text into numbers, so it is never asked for an answer.
#[tokio::test]
async fn models_for_search_are_no_writers() {
    let model = |name: &str, writes| RunningModel { name: name.into(), writes, ..RunningModel::default() };
    let running = |models| Running {
        provider: "ollama".into(),
        dialect: Dialect::Ollama,
        base_url: String::new(),
        models,
        slots: None,
    };
    let names = |models| running(models).writers().iter().map(|model| model.name.clone()).collect::<Vec<_>>();
    let all = vec![model("embed", Some(false)), model("unknown", None), model("qwen3:8b", Some(true))];
    assert_eq!(names(all), ["qwen3:8b", "unknown"]);
    for (answer, writes) in [
        (json!({"capabilities": ["embedding"]}), Some(false)),
        (json!({"capabilities": ["completion", "tools"]}), Some(true)),
        (json!({"model_info": {"gemma3.pooling_type": 1}}), Some(false)),
        (json!({"model_info": {"llama.context_length": 4096}}), None),
    ] {
        assert_eq!(description(&answer).writes, writes, "{answer}");
    }
    let tags = json!({"models": [
        {"name": "a", "size": 274_302_450, "details": {"family": "nomic-bert"}},
        {"name": "b", "details": {"family": "llama"}},
    ]});
    let listed: Vec<(bool, Option<u64>)> = listed(&tags).iter().map(|model| (model.encodes, model.bytes)).collect();
    assert_eq!(listed, [(true, Some(274_302_450)), (false, None)]);
}

#[tokio::test]
async fn another_program_on_the_port_is_not_a_server() {
    let server = Server::start(fixtures().join("scripts")).await;
    let targets = vec![
        ("llamacpp".to_owned(), Dialect::Llamacpp, server.address.clone()),
        ("ollama".to_owned(), Dialect::Ollama, server.address.clone()),
    ];
    assert_eq!(running_at(targets, PROBE_TIME * 20).await, []);
}

#[tokio::test]
async fn connecting_learns_the_window() {
    let server = Server::start(fixtures().join("probe")).await;
    for (name, window) in [("llamacpp", 4096), ("ollama", 131_072)] {
        for (set, expected) in [(None, window), (Some(1024), 1024)] {
            let settings =
                ProviderSettings { base_url: Some(server.address.clone()), window: set, ..ProviderSettings::default() };
            let provider = Provider::resolve(name, &BTreeMap::from([(name.to_owned(), settings)])).unwrap();
            let model = connect(&provider, "brook", &BTreeMap::new()).await.unwrap();
            assert_eq!(model.info().window, Some(expected), "{name}");
            let from = if set.is_some() { WindowFrom::Setting } else { WindowFrom::Server };
            assert_eq!(model.info().window_from, Some(from), "{name}");
            let slots = slots_of(&provider, &BTreeMap::new()).await;
            assert_eq!(slots, (name == "llamacpp").then_some(4));
        }
    }
}
