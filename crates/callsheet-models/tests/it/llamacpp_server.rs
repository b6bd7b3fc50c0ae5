//! Runs the suite against a real llama.cpp server whose address is in `CALLSHEET_TEST_LLAMACPP`, such as
//! `http://127.0.0.1:8080`. Without it, the test reports that it was skipped. It asserts protocol and structure, never
//! meaning: the model may be the smallest one that exists.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_models::config::{Dialect, Provider, ProviderSettings, build, connect};
use callsheet_models::measure::{SPEED_TOKENS, speed};
use callsheet_models::probe::{PROBE_TIME, running_at};
use callsheet_runtime::conformance::{CheckOutcome, Finding, Scene, Subject, check_model, story_request};
use callsheet_runtime::ports::{Model, ModelFault};
use tokio_util::sync::CancellationToken;

struct Real {
    provider: Provider,
    window: u32,
}

impl Subject for Real {
    fn model(&self, scene: Scene) -> Result<Arc<dyn Model>, String> {
        let mut provider = self.provider.clone();
        match scene {
            Scene::Schema if provider.dialect == Dialect::OpenaiResponses => {
                return Err("this server takes a schema only in chat completions".to_owned());
            }
            Scene::Length if provider.dialect == Dialect::OpenaiResponses => {
                return Err("this server calls every response complete".to_owned());
            }
            Scene::Tool => return Err("a model this small calls no tools".to_owned()),
            Scene::Unreachable => provider.base_url = "http://127.0.0.1:9".to_owned(),
            Scene::Refused
            | Scene::UnknownModel
            | Scene::Overloaded
            | Scene::ServerError
            | Scene::BrokenOff
            | Scene::Empty => return Err("a sound server does not fail on demand".to_owned()),
            _ => {}
        }
        build(&provider, "any", &BTreeMap::new()).map_err(|error| error.to_string())
    }

    fn too_many_tokens(&self) -> u32 {
        self.window.saturating_mul(2)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn real_llamacpp_server() {
    let Ok(address) = std::env::var("CALLSHEET_TEST_LLAMACPP") else {
        eprintln!("skipped real_llamacpp_server: CALLSHEET_TEST_LLAMACPP is not set");
        return;
    };
    let found = running_at(vec![("llamacpp".into(), Dialect::Llamacpp, address.clone())], PROBE_TIME).await;
    let server = found.first().expect("the server answers the probe");
    println!("{server:?}");
    let window = server.models.first().and_then(|model| model.window).expect("it tells its window");
    assert!(server.slots.is_some_and(|slots| slots > 0));

    let settings = ProviderSettings { base_url: Some(address), ..ProviderSettings::default() };
    let provider = Provider::resolve("llamacpp", &BTreeMap::from([("llamacpp".to_owned(), settings)])).unwrap();
    let model = connect(&provider, "any", &BTreeMap::new()).await.unwrap();
    assert_eq!(model.info().window, Some(window));

    check(Real { provider, window }).await;
    let speed = speed(&model, SPEED_TOKENS, &CancellationToken::new()).await.unwrap();
    println!("{speed:?}");
    assert!(speed.tokens > 0);
}

async fn check(real: Real) {
    let findings = check_model(&real).await;
    findings.iter().for_each(|finding| println!("{}", finding.line()));
    let failed: Vec<String> = findings
        .iter()
        .filter(|finding| matches!(finding.outcome, CheckOutcome::Failed { .. }))
        .map(Finding::line)
        .collect();
    assert!(failed.is_empty(), "{}\n{}", real.provider.name, failed.join("\n"));
}

/// The same server speaks the wires of hosted vendors too.
#[tokio::test(flavor = "multi_thread")]
async fn real_llamacpp_server_in_other_dialects() {
    let Ok(address) = std::env::var("CALLSHEET_TEST_LLAMACPP") else {
        eprintln!("skipped real_llamacpp_server_in_other_dialects: CALLSHEET_TEST_LLAMACPP is not set");
        return;
    };
    for dialect in [Dialect::Openai, Dialect::Anthropic, Dialect::OpenaiResponses] {
        println!("{}", dialect.as_str());
        let base_url = Some(format!("{}/v1", address.trim_end_matches('/')));
        let settings = ProviderSettings { dialect: Some(dialect), base_url, ..ProviderSettings::default() };
        let all = BTreeMap::from([(dialect.as_str().to_owned(), settings)]);
        let provider = Provider::resolve(dialect.as_str(), &all).unwrap();
        check(Real { provider, window: 8192 }).await;
    }
}

/// Slots are freed when a call is cancelled, and consecutive calls on one model lose nothing.
#[tokio::test(flavor = "multi_thread")]
async fn real_llamacpp_server_over_many_calls() {
    let Ok(address) = std::env::var("CALLSHEET_TEST_LLAMACPP") else {
        eprintln!("skipped real_llamacpp_server_over_many_calls: CALLSHEET_TEST_LLAMACPP is not set");
        return;
    };
    let settings = ProviderSettings { base_url: Some(address), ..ProviderSettings::default() };
    let provider = Provider::resolve("llamacpp", &BTreeMap::from([("llamacpp".to_owned(), settings)])).unwrap();
    let model = build(&provider, "any", &BTreeMap::new()).unwrap();
    for _ in 0..8 {
        let cancel = CancellationToken::new();
        let result = model.ask(&story_request(1_500), &|_| cancel.cancel(), &cancel).await;
        assert_eq!(result, Err(ModelFault::Cancelled));
        let reply = model.ask(&story_request(2), &|_| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(reply.usage.output, 2);
    }

    // More calls than slots: the server queues them.
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let model = Arc::clone(&model);
        calls.spawn(async move { model.ask(&story_request(3), &|_| {}, &CancellationToken::new()).await });
    }
    let outputs: Vec<u64> = calls.join_all().await.into_iter().map(|reply| reply.unwrap().usage.output).collect();
    assert_eq!(outputs, [3; 10]);
}
