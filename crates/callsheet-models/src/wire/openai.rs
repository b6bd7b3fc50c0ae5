//! OpenAI chat completions, as spoken by vLLM, LM Studio, llama.cpp and many gateways.

use std::collections::BTreeMap;

use callsheet_core::record::{StopReason, Usage};
use callsheet_core::spec::ToolCall;
use callsheet_runtime::ports::ModelRequest;
use serde_json::{Map, Value, json};

use super::{Decoded, Decoder, RawCall, WireError, append, arguments_of, chat_messages};

/// Path below the base URL.
pub const PATH: &str = "/chat/completions";
/// Path that lists models.
pub const MODELS: &str = "/models";

/// What servers call the window of a model in their list; the standard has no word for it.
const WINDOW: [&str; 4] = ["max_model_len", "max_context_length", "context_length", "context_window"];

/// Calls of one reply that are kept.
const MAX_CALLS: usize = 128;

/// The request as this wire wants it.
pub fn encode(model: &str, request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), messages(request));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(request));
    }
    if let Some(schema) = request.constraint.as_ref().and_then(|constraint| constraint.json_schema.as_ref()) {
        let format = json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}});
        body.insert("response_format".to_owned(), format);
    }
    body.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(seed) = request.seed {
        body.insert("seed".to_owned(), json!(seed));
    }
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    body
}

/// Reads the window of a model from an answer of `/models`, where the server tells it.
pub fn window_of(answer: &Value, model: &str) -> Option<u32> {
    let models = answer.get("data").and_then(Value::as_array)?;
    let of_name = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    let entry = models.iter().find(of_name)?;
    let told = WINDOW.iter().find_map(|key| entry.get(*key).and_then(Value::as_u64));
    told.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0)
}

/// Tools in the form OpenAI and Ollama share.
pub(crate) fn tools(request: &ModelRequest) -> Value {
    let tools = request.tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
        }})
    });
    Value::Array(tools.collect())
}

/// Arguments go as a text.
fn messages(request: &ModelRequest) -> Value {
    let call = |call: &ToolCall| {
        json!({"id": call.id, "type": "function", "function": {
            "name": call.name, "arguments": call.arguments.to_string(),
        }})
    };
    chat_messages(request, call, |id, _, text| json!({"role": "tool", "tool_call_id": id, "content": text}))
}

/// Reads chunks of a completion, or a completion in one piece.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    decoded: Decoded,
    calls: BTreeMap<u64, PartialCall>,
    finish: Option<String>,
    done: bool,
    seen: bool,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl Decoder for ChatDecoder {
    fn feed(&mut self, frame: &str) -> Result<String, WireError> {
        if frame.trim() == "[DONE]" {
            self.done = true;
            return Ok(String::new());
        }
        let chunk: Value = serde_json::from_str(frame).map_err(|error| WireError::Garbled(error.to_string()))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        // The old `error:` field of a stream carries the error object itself.
        if chunk.get("choices").is_none() && chunk.get("message").is_some() && chunk.get("code").is_some() {
            return Err(WireError::Refused(chunk));
        }
        if let Some(usage) = chunk.get("usage").and_then(usage) {
            self.decoded.usage = Some(usage);
        }
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(String::new()) };
        self.seen = true;
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(reason.to_owned());
        }
        match choice.get("delta").or_else(|| choice.get("message")) {
            Some(delta) => self.read_delta(delta),
            None => Ok(String::new()),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>) -> Result<Decoded, WireError> {
        if !self.seen {
            return Err(WireError::Empty);
        }
        if self.finish.is_none() && !self.done {
            return Err(WireError::BrokenOff);
        }
        let mut decoded = self.decoded;
        decoded.calls = self
            .calls
            .into_values()
            .filter(|call| !call.name.is_empty())
            .map(|call| RawCall { id: call.id, name: call.name, arguments: arguments_of(&call.arguments) })
            .collect();
        decoded.stop = match self.finish.as_deref() {
            Some("length") => StopReason::Length,
            Some("content_filter") => StopReason::Filtered,
            _ if decoded.calls.is_empty() => StopReason::End,
            _ => StopReason::Tools,
        };
        Ok(decoded)
    }

    fn stop(self: Box<Self>) -> Decoded {
        Decoded { stop: StopReason::Repeated, ..self.decoded }
    }
}

impl ChatDecoder {
    fn read_delta(&mut self, delta: &Value) -> Result<String, WireError> {
        for key in ["reasoning_content", "reasoning"] {
            if let Some(thinking) = delta.get(key).and_then(Value::as_str) {
                append(&mut self.decoded.thinking, thinking)?;
                break;
            }
        }
        for (position, call) in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten().enumerate() {
            self.read_call(position as u64, call)?;
        }
        let text = delta.get("content").and_then(Value::as_str).unwrap_or_default();
        append(&mut self.decoded.text, text)?;
        Ok(text.to_owned())
    }

    fn read_call(&mut self, position: u64, call: &Value) -> Result<(), WireError> {
        let index = call.get("index").and_then(Value::as_u64).unwrap_or(position);
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&index) {
            return Ok(());
        }
        let part = self.calls.entry(index).or_default();
        // Id and name come once; some servers repeat them in every chunk.
        if let Some(id) = call.get("id").and_then(Value::as_str).filter(|_| part.id.is_empty()) {
            part.id = id.to_owned();
        }
        if let Some(name) = call.pointer("/function/name").and_then(Value::as_str).filter(|_| part.name.is_empty()) {
            part.name = name.to_owned();
        }
        match call.pointer("/function/arguments") {
            Some(Value::String(text)) => append(&mut part.arguments, text),
            Some(Value::Null) | None => Ok(()),
            Some(object) => append(&mut part.arguments, &object.to_string()),
        }
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let input = value.get("prompt_tokens").and_then(Value::as_u64)?;
    Some(Usage {
        input,
        output: value.get("completion_tokens").and_then(Value::as_u64).unwrap_or_default(),
        cached: value.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64).unwrap_or_default(),
        cost_usd: None,
    })
}
