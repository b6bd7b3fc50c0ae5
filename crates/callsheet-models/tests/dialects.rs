//! What the dialects compute: the context an Ollama server is asked for, and the alarm on cut prompts.

use callsheet_models::wire::{llamacpp, ollama};
use callsheet_runtime::ports::{Constraint, ModelFault, ModelRequest};
use proptest::prelude::*;
use serde_json::json;

fn request(prompt: &str, max_output_tokens: u32) -> ModelRequest {
    serde_json::from_value(json!({
        "label": "plan", "system": "", "messages": [{"role": "user", "text": prompt}],
        "max_output_tokens": max_output_tokens,
    }))
    .unwrap()
}

/// A prompt of `tokens` tokens and the eight of its frame.
fn prompt(tokens: usize) -> String {
    "abcd".repeat(tokens)
}

#[test]
fn the_context_grows_in_steps_and_never_shrinks() {
    for (tokens, output, at_least, window, expected) in [
        (10, 100, 0, None, 2048),
        (1_000, 1_000, 0, None, 4096),
        (10, 100, 8192, None, 8192),
        (10_000, 2_000, 0, Some(131_072), 16_384),
        (5_000, 2_000, 0, Some(6_000), 6_000),
        (5_000, u32::MAX, 0, Some(32_768), 32_768),
    ] {
        let size = ollama::context_size(&request(&prompt(tokens), output), at_least, window).unwrap();
        assert_eq!(size, expected, "{tokens} {output} {at_least} {window:?}");
    }
    let fault = ollama::context_size(&request(&prompt(9_000), 10), 0, Some(8192));
    assert!(matches!(fault, Err(ModelFault::ContextOverflow { .. })));
}

#[test]
fn a_cut_prompt_raises_the_alarm() {
    let long = request(&prompt(10_000), 10);
    assert!(matches!(ollama::check_truncation(&long, Some(4096)), Err(ModelFault::ContextOverflow { .. })));
    for read in [None, Some(0), Some(6_000), Some(20_000)] {
        assert_eq!(ollama::check_truncation(&long, read), Ok(()), "{read:?}");
    }
    assert_eq!(ollama::check_truncation(&request("short", 10), Some(2)), Ok(()));
}

#[test]
fn a_grammar_beats_a_schema_and_neither_goes_beside_tools() {
    let grammar = serde_json::from_value(json!({"rules": [["root", {"literal": "yes"}]]})).unwrap();
    let mut asked = request("go", 10);
    asked.constraint = Some(Constraint { grammar: Some(grammar), json_schema: Some(json!({"type": "object"})) });
    let body = llamacpp::encode("m", &asked, |_| Some("root ::= \"yes\"".to_owned()));
    assert_eq!((body.get("grammar"), body.get("response_format")), (Some(&json!("root ::= \"yes\"")), None));
    let body = llamacpp::encode("m", &asked, |_| None);
    assert!(body.get("grammar").is_none() && body.get("response_format").is_some());
    asked.tools = serde_json::from_value(json!([
        {"name": "read", "description": "d", "parameters": {}, "effect": "read", "repeat": "Read"}
    ]))
    .unwrap();
    let body = llamacpp::encode("m", &asked, |_| Some("root ::= \"yes\"".to_owned()));
    assert!(body.get("grammar").is_none() && body.get("response_format").is_none() && body.get("tools").is_some());
}

proptest! {
    #[test]
    fn the_context_holds_prompt_and_output_unless_the_window_is_smaller(
        text in "\\PC{0,400}", output in 1_u32..100_000, at_least in 0_u32..100_000, window in prop::option::of(512_u32..200_000)
    ) {
        let asked = request(&text, output);
        if let Ok(size) = ollama::context_size(&asked, at_least, window) {
            prop_assert!(window.is_none_or(|window| size <= window));
            prop_assert!(window.is_some() || (size >= output && size >= at_least));
        }
    }
}
