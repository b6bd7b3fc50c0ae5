//! Anthropic messages. For a conversation, the cache covers everything up to the mark on the last message; for a single
//! question, everything before the question.

use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{Message, ShownPicture};
use serde_json::{Map, Value, json};

use super::end::End;
use super::{
    Asked, Decoded, Decoder, RawCall, Turn, WireError, append, arguments_of, base64_of, frame_value, object, turns,
    user_content,
};

/// The maximum number of blocks kept of one reply.
const MAX_BLOCKS: usize = 1024;

/// The request for this wire.
pub fn encode(asked: &Asked<'_>) -> Map<String, Value> {
    let request = asked.request;
    let (mut tools, mut messages) = (tools(asked), messages(asked));
    let mut system = json!({"content": request.system});
    let marked = match messages.as_mut_slice() {
        [_, .., last] => parts_of(last).last_mut(),
        _ if request.system.is_empty() => tools.last_mut(),
        _ => parts_of(&mut system).last_mut(),
    };
    if let Some(block) = marked.and_then(Value::as_object_mut) {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    body.insert("stream".to_owned(), json!(true));
    if !request.system.is_empty() {
        body.insert("system".to_owned(), system["content"].take());
    }
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    if let Some(schema) = asked.schema() {
        body.insert("output_config".to_owned(), json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    body.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
    body
}

/// Native tools by type and name, and the schemas of the tools that none of them replaces.
fn tools(asked: &Asked<'_>) -> Vec<Value> {
    let request = asked.request;
    let native = request.native_tools.iter().map(|tool| json!({"type": tool.kind, "name": tool.name}));
    let executed = |name: &String| request.native_tools.iter().any(|tool| tool.executes.contains(name));
    let others = request.tools.iter().filter(|tool| !executed(&tool.name));
    let others =
        others.map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}));
    native.chain(others).collect()
}

/// Puts the results of one turn into one message. Thinking goes back before the turn that it led to.
fn messages(asked: &Asked<'_>) -> Vec<Value> {
    let message = |turn: Turn<'_>| match turn {
        Turn::User { text, pictures } => {
            let content = user_content(text, pictures, image, |text| json!({"type": "text", "text": text}));
            json!({"role": "user", "content": content})
        }
        Turn::Assistant { text, calls: [] } => json!({"role": "assistant", "content": text}),
        Turn::Assistant { text, calls } => {
            let mut blocks = Vec::new();
            for (number, call) in calls.iter().enumerate() {
                blocks.extend(asked.thoughts_of(call).and_then(Value::as_array).into_iter().flatten().cloned());
                if number == 0 && !text.is_empty() {
                    blocks.push(json!({"type": "text", "text": text}));
                }
                let input = object(&call.arguments);
                blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
            }
            json!({"role": "assistant", "content": blocks})
        }
        Turn::Results(results) => {
            json!({"role": "user", "content": results.iter().map(|result| tool_result(result)).collect::<Vec<_>>()})
        }
    };
    turns(asked.request).into_iter().map(message).collect()
}

fn image(picture: &ShownPicture) -> Value {
    let source = json!({
        "type": "base64", "media_type": picture.about.format.media_type(), "data": base64_of(picture),
    });
    json!({"type": "image", "source": source})
}

fn tool_result(message: &Message) -> Value {
    let Message::Tool { id, text, error, .. } = message else { return Value::Null };
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
    if let Some(members) = block.as_object_mut().filter(|_| *error) {
        members.insert("is_error".to_owned(), json!(true));
    }
    block
}

/// The parts of a message. A plain text is converted to one part.
fn parts_of(message: &mut Value) -> &mut [Value] {
    let Some(content) = message.get_mut("content") else { return &mut [] };
    if let Value::String(text) = content {
        *content = json!([{"type": "text", "text": text}]);
    }
    content.as_array_mut().map(Vec::as_mut_slice).unwrap_or_default()
}

/// Reads the events of a message, or a message in one piece.
#[derive(Debug, Default)]
pub struct MessageDecoder {
    decoded: Decoded,
    blocks: Vec<(u64, Block)>,
    end: End,
    seen: bool,
}

/// An unfinished block of a reply. Text goes directly into the reply.
#[derive(Debug)]
enum Block {
    Thinking { text: String, signature: String },
    Redacted(Value),
    Call { id: String, name: String, whole: Value, pieces: String },
}

impl Decoder for MessageDecoder {
    fn feed(&mut self, frame: &str) -> Result<String, WireError> {
        let event = frame_value(frame)?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        let of = |name: &str| event.get(name).unwrap_or(&Value::Null);
        let index = of("index").as_u64().unwrap_or_default();
        match of("type").as_str().unwrap_or_default() {
            "message" => return self.whole(&event),
            "message_start" => self.read_usage(of("message").get("usage")),
            "content_block_start" => return self.begin(index, of("content_block")),
            "content_block_delta" => return self.go_on(index, of("delta")),
            "message_delta" => {
                self.end.say(of("delta").get("stop_reason").and_then(Value::as_str).unwrap_or_default());
                self.read_usage(event.get("usage"));
            }
            "message_stop" => self.end.marked = true,
            _ => return Ok(String::new()),
        }
        self.seen = true;
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
        for (_, block) in self.blocks {
            match block {
                // The vendor refuses thinking without its signature.
                Block::Thinking { signature, .. } if signature.is_empty() => {}
                Block::Thinking { text, signature } => {
                    thoughts.push(json!({"type": "thinking", "thinking": text, "signature": signature}));
                }
                Block::Redacted(block) => thoughts.push(block),
                Block::Call { id, name, whole, pieces } => {
                    let arguments = if pieces.trim().is_empty() { whole } else { arguments_of(&pieces) };
                    let thought = std::mem::take(&mut thoughts);
                    let thought = (!thought.is_empty()).then_some(Value::Array(thought));
                    decoded.calls.push(RawCall { id, name, arguments, thought });
                }
            }
        }
        decoded.ended(&self.end)
    }

    fn stop(self: Box<Self>) -> Decoded {
        Decoded { stop: StopReason::Repeated, ..self.decoded }
    }
}

impl MessageDecoder {
    fn whole(&mut self, message: &Value) -> Result<String, WireError> {
        let mut text = String::new();
        let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
        for (index, block) in (0..).zip(blocks) {
            append(&mut text, &self.begin(index, block)?)?;
        }
        self.read_usage(message.get("usage"));
        self.end.say(message.get("stop_reason").and_then(Value::as_str).unwrap_or_default());
        (self.end.marked, self.seen) = (true, true);
        Ok(text)
    }

    fn begin(&mut self, index: u64, block: &Value) -> Result<String, WireError> {
        self.seen = true;
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let begun = match text("type").as_str() {
            "text" => {
                append(&mut self.decoded.text, &text("text"))?;
                return Ok(text("text"));
            }
            "thinking" => {
                append(&mut self.decoded.thinking, &text("thinking"))?;
                Block::Thinking { text: text("thinking"), signature: text("signature") }
            }
            "redacted_thinking" => Block::Redacted(block.clone()),
            "tool_use" => {
                let whole = block.get("input").filter(|input| !input.is_null()).cloned().unwrap_or_else(|| json!({}));
                Block::Call { id: text("id"), name: text("name"), whole, pieces: String::new() }
            }
            _ => return Ok(String::new()),
        };
        if self.blocks.len() < MAX_BLOCKS {
            self.blocks.push((index, begun));
        }
        Ok(String::new())
    }

    fn go_on(&mut self, index: u64, delta: &Value) -> Result<String, WireError> {
        let piece = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let block = self.blocks.iter_mut().rev().find(|(at, _)| *at == index).map(|(_, block)| block);
        match (piece("type"), block) {
            ("text_delta", _) => {
                append(&mut self.decoded.text, piece("text"))?;
                return Ok(piece("text").to_owned());
            }
            ("thinking_delta", block) => {
                append(&mut self.decoded.thinking, piece("thinking"))?;
                if let Some(Block::Thinking { text, .. }) = block {
                    append(text, piece("thinking"))?;
                }
            }
            ("signature_delta", Some(Block::Thinking { signature, .. })) => append(signature, piece("signature"))?,
            ("input_json_delta", Some(Block::Call { pieces, .. })) => append(pieces, piece("partial_json"))?,
            _ => {}
        }
        Ok(String::new())
    }

    /// Counts arrive at the start; those of the output arrive again at the end. Cached input is counted separately.
    fn read_usage(&mut self, told: Option<&Value>) {
        let Some(told) = told.filter(|told| told.is_object()) else { return };
        let count = |key: &str| told.get(key).and_then(Value::as_u64);
        let usage = self.decoded.usage.get_or_insert_with(Usage::default);
        if let Some(fresh) = count("input_tokens") {
            let cached = count("cache_read_input_tokens").unwrap_or_default();
            let written = count("cache_creation_input_tokens").unwrap_or_default();
            usage.input = fresh.saturating_add(cached).saturating_add(written);
            (usage.cached, self.decoded.cache_written) = (cached, written);
        }
        usage.output = count("output_tokens").unwrap_or(usage.output);
    }
}
