//! OpenAI Responses. The vendor stores nothing, so the thinking of a turn with calls goes back with them, encrypted.

use std::collections::BTreeMap;

use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{Message, ShownPicture};
use serde_json::{Map, Value, json};

use super::end::End;
use super::{
    Asked, Decoded, Decoder, RawCall, Turn, WireError, append, arguments_of, data_url, frame_value, turns, user_content,
};

/// The maximum number of items kept of one reply.
const MAX_ITEMS: usize = 1024;

/// The request for this wire.
pub fn encode(asked: &Asked<'_>) -> Map<String, Value> {
    let request = asked.request;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    body.insert("store".to_owned(), json!(false));
    body.insert("stream".to_owned(), json!(true));
    if !request.system.is_empty() {
        body.insert("instructions".to_owned(), json!(request.system));
    }
    if !request.tools.is_empty() {
        // A missing `strict` means true, which a schema with an optional property violates.
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false,
            })
        });
        body.insert("tools".to_owned(), Value::Array(tools.collect()));
    }
    if asked.shape.thinks {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    body.insert("input".to_owned(), Value::Array(items(asked)));
    if let Some(schema) = asked.schema() {
        let format = json!({"type": "json_schema", "name": "reply", "strict": true, "schema": schema});
        body.insert("text".to_owned(), json!({"format": format}));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    body.insert("max_output_tokens".to_owned(), json!(request.max_output_tokens));
    body
}

fn items(asked: &Asked<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns(asked.request) {
        match turn {
            Turn::User { text, pictures } => {
                let part = |picture: &ShownPicture| json!({"type": "input_image", "image_url": data_url(picture)});
                let content = user_content(text, pictures, part, |text| json!({"type": "input_text", "text": text}));
                items.push(json!({"role": "user", "content": content}));
            }
            Turn::Assistant { text, calls: [] } => items.push(said(text)),
            Turn::Assistant { text, calls } => {
                for (number, call) in calls.iter().enumerate() {
                    items.extend(asked.thoughts_of(call).and_then(Value::as_array).into_iter().flatten().cloned());
                    if number == 0 && !text.is_empty() {
                        items.push(said(text));
                    }
                    items.push(json!({
                        "type": "function_call", "call_id": call.id, "name": call.name,
                        "arguments": call.arguments.to_string(),
                    }));
                }
            }
            Turn::Results(results) => items.extend(results.iter().filter_map(|result| match result {
                Message::Tool { id, text, .. } => {
                    Some(json!({"type": "function_call_output", "call_id": id, "output": text}))
                }
                Message::User { .. } | Message::Assistant { .. } => None,
            })),
        }
    }
    items
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// Reads the events of a response, or a response in one piece.
#[derive(Debug, Default)]
pub struct ResponseDecoder {
    decoded: Decoded,
    /// Calls and thinking, by their position in the reply.
    items: BTreeMap<u64, Item>,
    refusal: String,
    end: End,
    seen: bool,
}

#[derive(Debug)]
enum Item {
    Thinking(Value),
    Call { id: String, name: String, arguments: String },
}

impl Decoder for ResponseDecoder {
    fn feed(&mut self, frame: &str) -> Result<String, WireError> {
        // Some gateways end every stream with this. In this dialect, an event ends a response.
        if frame.trim() == "[DONE]" {
            return Ok(String::new());
        }
        let event = frame_value(frame)?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        if event.get("object").and_then(Value::as_str) == Some("response") {
            return self.whole(&event);
        }
        let index = event.get("output_index").and_then(Value::as_u64).unwrap_or_default();
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        self.seen |= kind.starts_with("response.");
        match kind {
            "error" => return Err(WireError::Refused(event)),
            "response.output_text.delta" => {
                append(&mut self.decoded.text, delta)?;
                return Ok(delta.to_owned());
            }
            "response.refusal.delta" => append(&mut self.refusal, delta)?,
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                append(&mut self.decoded.thinking, delta)?;
            }
            "response.function_call_arguments.delta" => {
                if let Some(Item::Call { arguments, .. }) = self.items.get_mut(&index) {
                    append(arguments, delta)?;
                }
            }
            "response.output_item.added" | "response.output_item.done" => {
                self.item(index, event.get("item").unwrap_or(&Value::Null))?;
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end_of(event.get("response").unwrap_or(&Value::Null))?;
            }
            _ => {}
        }
        Ok(String::new())
    }

    fn is_done(&self) -> bool {
        self.end.marked
    }

    fn finish(self: Box<Self>) -> Result<Decoded, WireError> {
        if !self.seen {
            return Err(WireError::Empty);
        }
        let mut decoded = self.decoded;
        let mut thoughts = Vec::new();
        for item in self.items.into_values() {
            match item {
                Item::Thinking(item) => thoughts.push(item),
                Item::Call { id, name, arguments } => {
                    let thought = std::mem::take(&mut thoughts);
                    let thought = (!thought.is_empty()).then_some(Value::Array(thought));
                    decoded.calls.push(RawCall { id, name, arguments: arguments_of(&arguments), thought });
                }
            }
        }
        decoded.ended(&self.end)?.refused(&self.refusal)
    }

    fn stop(self: Box<Self>) -> Decoded {
        Decoded { stop: StopReason::Repeated, ..self.decoded }
    }
}

impl ResponseDecoder {
    fn whole(&mut self, response: &Value) -> Result<String, WireError> {
        let mut said = String::new();
        let output = response.get("output").and_then(Value::as_array).into_iter().flatten();
        for (index, item) in (0..).zip(output) {
            self.item(index, item)?;
            for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
                append(&mut self.refusal, text("refusal"))?;
                if text("type") == "output_text" {
                    append(&mut said, text("text"))?;
                }
            }
            for part in item.get("summary").and_then(Value::as_array).into_iter().flatten() {
                append(&mut self.decoded.thinking, part.get("text").and_then(Value::as_str).unwrap_or_default())?;
            }
        }
        append(&mut self.decoded.text, &said)?;
        self.seen = true;
        self.end_of(response)?;
        Ok(said)
    }

    /// An item that begins, or a finished item with its whole content.
    fn item(&mut self, index: u64, item: &Value) -> Result<(), WireError> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let read = match text("type") {
            // Only encrypted thinking can go back.
            "reasoning" if !text("encrypted_content").is_empty() => Item::Thinking(item.clone()),
            "function_call" => {
                let mut arguments = String::new();
                append(&mut arguments, text("arguments"))?;
                if let (true, Some(Item::Call { arguments: before, .. })) =
                    (arguments.is_empty(), self.items.get(&index))
                {
                    arguments.clone_from(before);
                }
                Item::Call { id: text("call_id").to_owned(), name: text("name").to_owned(), arguments }
            }
            _ => return Ok(()),
        };
        if self.items.len() < MAX_ITEMS {
            self.items.insert(index, read);
        }
        Ok(())
    }

    fn end_of(&mut self, response: &Value) -> Result<(), WireError> {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        if let Some(usage) = response.get("usage").and_then(usage) {
            self.decoded.usage = Some(usage);
        }
        let reason = response.pointer("/incomplete_details/reason").or_else(|| response.get("status"));
        self.end.say(reason.and_then(Value::as_str).unwrap_or_default());
        self.end.marked = true;
        Ok(())
    }
}

fn usage(told: &Value) -> Option<Usage> {
    Some(Usage {
        input: told.get("input_tokens").and_then(Value::as_u64)?,
        output: told.get("output_tokens").and_then(Value::as_u64).unwrap_or_default(),
        cached: told.pointer("/input_tokens_details/cached_tokens").and_then(Value::as_u64).unwrap_or_default(),
        cost_usd: None,
    })
}
