//! Tests the format of scripts: `fixtures/scripts/rules/all.toml` with `all.expect.txt`, and wrong scripts.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Mutex;

use crate::support::{check_file, fixtures};
use callsheet_models::scripted::{ScriptError, Scripted};
use callsheet_runtime::ports::{Message, Model, ModelRequest};
use tokio_util::sync::CancellationToken;

fn request(label: &str, prompt: &str) -> ModelRequest {
    serde_json::from_value(serde_json::json!({
        "label": label, "system": "s", "messages": [{"role": "user", "text": prompt}], "max_output_tokens": 100,
    }))
    .unwrap()
}

#[tokio::test]
async fn rules_choose_in_order() {
    let folder = fixtures().join("scripts/rules");
    let model = Scripted::open(&folder.join("all.toml")).unwrap();
    assert_eq!((model.info().window, model.info().capabilities.tools), (Some(4096), false));
    let mut seen = String::new();
    for (label, prompt) in [
        ("plan", "do it"),
        ("plan", "do it, second proposal"),
        ("plan", "do it"),
        ("plan", "do it"),
        ("refine find-code", ""),
        ("refine find-tests", ""),
        ("execute once", ""),
        ("execute once", ""),
        ("execute slow", ""),
        ("execute from a file", ""),
        ("iterate", ""),
        ("planning", ""),
    ] {
        let deltas = Mutex::new(Vec::new());
        let sink = |text: &str| deltas.lock().unwrap().push(text.to_owned());
        let outcome = match model.ask(&request(label, prompt), &sink, &CancellationToken::new()).await {
            Ok(mut reply) => {
                reply.model = String::new();
                serde_json::to_string(&reply).unwrap()
            }
            Err(fault) => format!("{fault:?}").replace(&folder.display().to_string(), "FOLDER"),
        };
        seen.push_str(&format!("{label} | {prompt}\n  {outcome}\n  {:?}\n", deltas.into_inner().unwrap()));
    }
    assert_eq!(check_file(&folder.join("all.expect.txt"), &seen), None);
}

/// Ids of calls never repeat those of earlier calls in the conversation.
#[tokio::test]
async fn ids_are_new_in_the_conversation() {
    let model = Scripted::parse("[default]\ncalls = [{ name = \"read\" }]", "s", None).unwrap();
    let mut conversation = request("execute", "go");
    for expected in ["read-1", "read-2", "read-3"] {
        let reply = model.ask(&conversation, &|_| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(reply.calls[0].id, expected);
        conversation.messages.push(Message::Assistant { text: String::new(), calls: reply.calls });
    }
}

#[test]
fn wrong_scripts_are_told() {
    let message = |text: &str| match Scripted::parse(text, "mine.toml", None) {
        Err(ScriptError::Invalid { name, message }) => format!("{name}: {message}"),
        other => panic!("{other:?}"),
    };
    assert!(message("[[rule]]\nphase = \"plan\"").contains("`text`"));
    assert!(message("[[rule]]\ntext = \"a\"\n[[rule.reply]]\ntext = \"b\"").contains("either one reply"));
    assert!(message("[[rule]]\nlabel = \"(\"\ntext = \"a\"").contains("label"));
    assert!(message("[[rule]]\ntxt = \"a\"").contains("txt"));
    let missing = Scripted::parse("[default]\ntext_file = \"no-such.md\"", "s", None);
    assert!(matches!(missing, Err(ScriptError::Unreadable { .. })));
}
