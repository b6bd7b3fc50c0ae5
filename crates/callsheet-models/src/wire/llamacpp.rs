//! A llama.cpp server: chat completions, constrained by a grammar if the request has one. The server chooses the slot,
//! because it picks the one whose cache has the longest common prefix with the prompt.

use serde_json::{Map, Value, json};

use super::{Asked, openai};

/// Path below the base URL.
pub const PATH: &str = "/v1/chat/completions";

/// Path that returns window and slots.
pub const PROPERTIES: &str = "/props";
/// Path that lists models.
pub const MODELS: &str = "/v1/models";

/// The request for this wire. The server accepts either a grammar or a schema, and no grammar together with tools.
pub fn encode(asked: &Asked<'_>) -> Map<String, Value> {
    let request = asked.request;
    let mut body = openai::encode(asked);
    let grammar = request.constraint.as_ref().and_then(|constraint| constraint.grammar.as_ref());
    if !request.tools.is_empty() {
        body.shift_remove("response_format");
    } else if let Some(grammar) = grammar {
        body.shift_remove("response_format");
        body.insert("grammar".to_owned(), json!(grammar.to_gbnf()));
    }
    body.insert("cache_prompt".to_owned(), json!(true));
    body
}

/// What `/props` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Context window of one slot in tokens.
    pub window: Option<u32>,
    /// Number of slots.
    pub slots: Option<u32>,
    /// Whether the model sees pictures. `None` if an older server does not say.
    pub vision: Option<bool>,
}

/// Reads an answer of `/props`.
pub fn properties(answer: &Value) -> Properties {
    let number = |pointer: &str| answer.pointer(pointer).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    Properties {
        window: number("/default_generation_settings/n_ctx").or_else(|| number("/n_ctx")).filter(|n| *n > 0),
        slots: number("/total_slots").filter(|n| *n > 0),
        vision: answer.pointer("/modalities/vision").and_then(Value::as_bool),
    }
}

/// Reads the model names of an answer of `/v1/models`.
pub fn model_names(answer: &Value) -> Vec<String> {
    let ids = answer.get("data").and_then(Value::as_array).into_iter().flatten();
    ids.filter_map(|model| model.get("id").and_then(Value::as_str).map(str::to_owned)).collect()
}
