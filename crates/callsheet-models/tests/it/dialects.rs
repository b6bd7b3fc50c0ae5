//! Tests what the dialects compute: the context requested from an Ollama server, and the alarm about cut prompts.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use callsheet_models::wire::{Asked, Decoder, Shape, anthropic, gemini, llamacpp, ollama, openai, responses};
use callsheet_runtime::ports::{Constraint, Message, ModelFault, ModelRequest};
use proptest::prelude::*;
use serde_json::json;

fn request(prompt: &str, max_output_tokens: u32) -> ModelRequest {
    serde_json::from_value(json!({
        "label": "plan", "system": "", "messages": [{"role": "user", "text": prompt}],
        "max_output_tokens": max_output_tokens,
    }))
    .unwrap()
}

/// A prompt of `tokens` tokens, plus eight for its frame.
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

/// covers: 5.14
#[test]
fn servers_say_whether_a_model_sees() {
    for (entry, vision) in [
        (json!({"id": "m"}), None),
        (json!({"id": "m", "capabilities": {"vision": true}}), Some(true)),
        (json!({"id": "m", "architecture": {"input_modalities": ["text", "image"]}}), Some(true)),
        (json!({"id": "m", "architecture": {"input_modalities": ["text"]}}), Some(false)),
        (json!({"id": "other", "capabilities": {"vision": true}}), None),
    ] {
        assert_eq!(openai::vision_of(&json!({"data": [entry]}), "m"), vision, "{entry}");
    }
    assert_eq!(ollama::description(&json!({"capabilities": ["completion", "vision"]})).vision, Some(true));
    assert_eq!(ollama::description(&json!({"capabilities": ["completion"]})).vision, Some(false));
    assert_eq!(ollama::description(&json!({})).vision, None);
    assert_eq!(llamacpp::properties(&json!({"modalities": {"vision": true, "audio": false}})).vision, Some(true));
    assert_eq!(llamacpp::properties(&json!({"n_ctx": 4096})).vision, None);
}

/// A server counts pictures as it likes, so they say nothing about a cut.
///
/// covers: 5.14
#[test]
fn a_picture_raises_no_alarm_about_a_cut_prompt() {
    let mut asked = request(&prompt(300), 10);
    let picture = json!({"blob": "sha256:0", "format": "png", "width": 4_000, "height": 3_000, "bytes": 9});
    let Message::User { pictures, .. } = &mut asked.messages[0] else { panic!("it is a user's message") };
    pictures.push(serde_json::from_value(picture).unwrap());
    assert_eq!(asked.picture_tokens(), 4_096);
    assert_eq!(ollama::check_truncation(&asked, Some(400)), Ok(()));
    assert!(ollama::context_size(&asked, 0, None).unwrap() > 5_000, "there is room for it");
}

#[test]
fn a_grammar_beats_a_schema_and_neither_goes_beside_tools() {
    let grammar = serde_json::from_value(json!({"rules": [["root", {"literal": "yes"}]]})).unwrap();
    let mut asked = request("go", 10);
    asked.constraint =
        Some(Constraint { grammar: Some(grammar), json_schema: Some(json!({"type": "object"})), form: None });
    let llamacpp = |request: &ModelRequest| {
        let (shape, thoughts) = (Shape::default(), BTreeMap::new());
        llamacpp::encode(&Asked { model: "m", request, shape: &shape, thoughts: &thoughts, context: 0 })
    };
    let body = llamacpp(&asked);
    assert_eq!((body.get("grammar"), body.get("response_format")), (Some(&json!("root ::= \"yes\"\n")), None));
    asked.tools = serde_json::from_value(json!([
        {"name": "read", "description": "d", "parameters": {}, "effect": "read", "repeat": "Read"}
    ]))
    .unwrap();
    let body = llamacpp(&asked);
    assert!(body.get("grammar").is_none() && body.get("response_format").is_none() && body.get("tools").is_some());
    asked.tools.clear();
    asked.constraint.as_mut().unwrap().grammar = None;
    let body = llamacpp(&asked);
    assert!(body.get("grammar").is_none() && body.get("response_format").is_some());
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

    #[test]
    fn no_stream_breaks_a_decoder(frames in prop::collection::vec(frame(), 0..8)) {
        let decoders: [Box<dyn Decoder>; 5] = [
            Box::new(openai::OpenAiDecoder::default()),
            Box::new(ollama::OllamaDecoder::default()),
            Box::new(responses::ResponseDecoder::default()),
            Box::new(anthropic::MessageDecoder::default()),
            Box::new(gemini::ContentDecoder::default()),
        ];
        for mut decoder in decoders {
            let mut text = String::new();
            let fed = frames.iter().try_for_each(|frame| decoder.feed(frame).map(|more| text.push_str(&more)));
            if fed.is_ok() && let Ok(decoded) = decoder.finish() {
                prop_assert_eq!(decoded.text, text);
            }
        }
    }
}

/// Frames that resemble those of a wire, with values of every type where a decoder looks.
fn frame() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!("x")),
        Just(json!(-1)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"index": -3, "id": 4, "function": {"name": "n", "arguments": {"a": 1}}}])),
        Just(json!([{"function": null}, "odd"])),
        Just(json!({"type": "tool_use", "input": 1, "name": "n"})),
        Just(json!({"type": "thinking", "thinking": "t"})),
        Just(json!({"type": "text_delta", "text": "t", "signature": "s", "partial_json": "{"})),
        Just(json!({"type": "function_call", "name": "n", "arguments": 3})),
        Just(json!([{"text": "t", "thought": true}, {"text": "u"}, {"functionCall": {"name": "n"}}])),
    ];
    let keys = ["content", "reasoning", "thinking", "tool_calls", "reasoning_details"];
    let kinds = [
        "message",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
        "response.output_item.done",
        "response.output_text.delta",
        "response.completed",
    ];
    let chosen = (prop::sample::select(keys.to_vec()), prop::sample::select(kinds.to_vec()));
    let body = (chosen, value.clone(), value.clone(), value).prop_map(|((key, kind), inner, a, b)| {
        json!({
            "choices": [{"delta": {key: inner.clone()}, "finish_reason": a.clone()}], "usage": b.clone(), "done": a.clone(),
            "done_reason": b.clone(), "message": {key: inner.clone()}, "type": kind, "index": a.clone(),
            "content_block": inner.clone(), "delta": inner.clone(), "item": inner.clone(), "content": inner.clone(),
            "response": {"status": a.clone(), "usage": b.clone()},
            "candidates": [{"content": {"parts": inner}, "finishReason": a}], "usageMetadata": b,
        })
        .to_string()
    });
    prop_oneof![body, Just("[DONE]".to_owned()), "\\PC{0,20}"]
}

#[test]
fn a_list_of_models_tells_the_window_of_one() {
    let answer = json!({"data": [
        {"id": "brook", "max_model_len": 4096}, {"id": "lake", "context_length": 8192}, {"id": "pond", "object": "model"},
        {"id": "sea", "context_window": 0},
    ]});
    for (model, window) in [("brook", Some(4096)), ("lake", Some(8192)), ("pond", None), ("sea", None), ("none", None)]
    {
        assert_eq!(openai::window_of(&answer, model), window, "{model}");
    }
    assert_eq!(openai::window_of(&answer["data"], "brook"), Some(4096), "a list alone");
    assert_eq!(openai::window_of(&json!({"error": "no"}), "brook"), None);
}
