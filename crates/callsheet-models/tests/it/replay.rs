//! Tests cassettes: recorded calls are answered in order; anything else is refused with its place.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::sync::Arc;

use callsheet_models::replay::{CassetteError, Cassettes, Recording};
use callsheet_models::scripted::Scripted;
use callsheet_runtime::ports::{Message, Model, ModelFault, ModelRequest};
use tokio_util::sync::CancellationToken;

fn request(label: &str, prompt: &str) -> ModelRequest {
    serde_json::from_value(serde_json::json!({
        "label": label, "system": "Rules.\nMore rules.", "messages": [{"role": "user", "text": prompt}],
        "max_output_tokens": 100,
    }))
    .unwrap()
}

async fn ask(model: &Arc<dyn Model>, request: &ModelRequest) -> Result<String, ModelFault> {
    model.ask(request, &|_| {}, &CancellationToken::new()).await.map(|reply| reply.text)
}

fn scripted() -> Arc<dyn Model> {
    let script = "[[rule]]\nthen = \"loop\"\n[[rule.reply]]\ntext = \"one\"\n[[rule.reply]]\n\
                  fault = { kind = \"communication\", message = \"busy\", retry_after_ms = 5 }\n\
                  [[rule.reply]]\ntext = \"three\"\n";
    Arc::new(Scripted::parse(script, "s", None).unwrap())
}

async fn recorded(folder: &Path) -> Arc<dyn Model> {
    let model = Recording::create(folder).unwrap().record(scripted());
    for _ in 0..3 {
        let _ = ask(&model, &request("plan", "Do it.\nNow.")).await;
    }
    let _ = ask(&model, &request("refine a", "Refine.")).await;
    Cassettes::open(folder).unwrap().replay("scripted:s").unwrap()
}

#[tokio::test]
async fn equal_requests_are_answered_in_recorded_order() {
    let folder = tempfile::tempdir().unwrap();
    let replay = recorded(folder.path()).await;
    let plan = request("plan", "Do it.\nNow.");
    assert_eq!(ask(&replay, &plan).await.unwrap(), "one");
    assert!(matches!(ask(&replay, &plan).await, Err(ModelFault::Busy { wait: Some(_), .. })));
    assert_eq!(ask(&replay, &plan).await.unwrap(), "three");
    let Err(ModelFault::Configuration { message }) = ask(&replay, &plan).await else { panic!("a fourth answer") };
    assert!(message.contains("3 times"), "{message}");
}

#[tokio::test]
async fn a_mismatch_names_the_nearest_cassette_and_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let replay = recorded(folder.path()).await;
    let message = |result: Result<String, ModelFault>| match result {
        Err(ModelFault::Configuration { message }) => message,
        other => panic!("{other:?}"),
    };
    let text = message(ask(&replay, &request("plan", "Do it.\nLater.")).await);
    assert_eq!(
        text,
        "no cassette answers `plan`; the nearest is 0001-plan.json, which differs at messages[0].text, line 2: \
         recorded \"Now.\", asked \"Later.\""
    );
    let mut longer = request("refine a", "Refine.");
    longer.messages.push(Message::user("again"));
    let text = message(ask(&replay, &longer).await);
    assert!(text.contains("0004-refine-a.json") && text.contains("messages[1]: the request contains it"), "{text}");
    let mut shorter = request("refine a", "Refine.");
    shorter.max_output_tokens = 50;
    let text = message(ask(&replay, &shorter).await);
    assert!(text.contains("max_output_tokens: recorded 100, asked 50"), "{text}");
}

#[tokio::test]
async fn numbers_go_on_and_cancelled_calls_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let model = Recording::create(folder.path()).unwrap().record(scripted());
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let _ = model.ask(&request("plan", "x"), &|_| {}, &cancelled).await;
    let _ = ask(&model, &request("merge", "x")).await;
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    // The recording is ignored as part of the project that contains it.
    assert_eq!(names.remove(0), ".ignore");
    assert_eq!(names, ["0001-plan.json", "0002-plan.json", "0003-plan.json", "0004-refine-a.json", "0005-merge.json"]);
}

#[tokio::test]
async fn a_folder_without_the_model_or_with_rubbish_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path()).await;
    let cassettes = Cassettes::open(folder.path()).unwrap();
    let Err(error) = cassettes.replay("ollama/brook") else { panic!("it was replayed") };
    assert!(matches!(&error, CassetteError::NoSuchModel { known, .. } if known == "scripted:s"), "{error}");
    std::fs::write(folder.path().join("0009-odd.json"), "{}").unwrap();
    assert!(matches!(Cassettes::open(folder.path()), Err(CassetteError::Invalid { .. })));
}
