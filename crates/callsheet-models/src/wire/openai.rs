//! OpenAI chat completions, which vLLM, LM Studio, llama.cpp and many gateways also speak.

use callsheet_core::nouns::ToolCall;
use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{ModelRequest, ShownPicture};
use serde_json::{Map, Value, json};

use super::end::End;
use super::schema::SchemaForm;
use super::{
    Asked, Decoded, Decoder, RawCall, WireError, append, arguments_of, chat_messages, content, data_url, frame_value,
    user_content,
};

/// Path below the base URL.
pub const PATH: &str = "/chat/completions";
/// Path that lists models.
pub const MODELS: &str = "/models";

/// Servers' names for the window in their list of models. The standard defines none.
const WINDOW: [&str; 4] = ["max_model_len", "max_context_length", "context_length", "context_window"];

/// The maximum number of calls kept of one reply.
const MAX_CALLS: usize = 128;

/// The maximum number of details of thinking that are kept, and the members of a detail that arrive in pieces.
const MAX_DETAILS: usize = 1024;
const JOINED: [&str; 3] = ["text", "summary", "data"];

/// The request for this wire.
pub fn encode(asked: &Asked<'_>) -> Map<String, Value> {
    let request = asked.request;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(request));
    }
    body.insert("messages".to_owned(), messages(asked));
    if let Some(schema) = asked.schema() {
        let mut format = json!({"name": "reply", "schema": schema});
        if let Some(members) = format.as_object_mut().filter(|_| asked.shape.schema == SchemaForm::Strict) {
            members.insert("strict".to_owned(), json!(true));
        }
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": format}));
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

/// Reads the window of a model from an answer of `/models`, if the server reports it.
pub fn window_of(answer: &Value, model: &str) -> Option<u32> {
    let entry = entry_of(answer, model)?;
    let told = WINDOW.iter().find_map(|key| entry.get(*key).and_then(Value::as_u64));
    told.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0)
}

/// Whether a model sees pictures, according to an answer of `/models`. Servers say it in different members, and most say
/// nothing.
pub fn vision_of(answer: &Value, model: &str) -> Option<bool> {
    let entry = entry_of(answer, model)?;
    let told = entry.pointer("/capabilities/vision").and_then(Value::as_bool);
    let kinds = ["/architecture/input_modalities", "/input_modalities", "/modalities/input"];
    let kinds = kinds.iter().find_map(|place| entry.pointer(place)?.as_array());
    told.or_else(|| kinds.map(|kinds| kinds.iter().any(|kind| kind == "image")))
}

/// What an answer of `/models` says of a model. Some vendors send only the list.
/// The models of an answer of `/models` that does not list this one. `None` if it lists the model, or no model at all.
pub fn others_than(answer: &Value, model: &str) -> Option<Vec<String>> {
    let models = answer.get("data").unwrap_or(answer).as_array()?;
    let names = models.iter().filter_map(|entry| entry.get("id").and_then(Value::as_str)).map(str::to_owned);
    let names: Vec<String> = names.collect();
    (!names.is_empty() && names.iter().all(|name| name != model)).then_some(names)
}

fn entry_of<'a>(answer: &'a Value, model: &str) -> Option<&'a Value> {
    let models = answer.get("data").unwrap_or(answer).as_array()?;
    models.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model))
}

/// Tools in the form that OpenAI and Ollama share.
pub(crate) fn tools(request: &ModelRequest) -> Value {
    let tools = request.tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
        }})
    });
    Value::Array(tools.collect())
}

/// Arguments are sent as a text. Thinking goes back in the member that the vendor expects.
fn messages(asked: &Asked<'_>) -> Value {
    let call = |call: &ToolCall| {
        json!({"id": call.id, "type": "function", "function": {
            "name": call.name, "arguments": call.arguments.to_string(),
        }})
    };
    let result = |id: &str, _: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let user = |text: &str, pictures: &[ShownPicture]| {
        let part = |picture: &ShownPicture| json!({"type": "image_url", "image_url": {"url": data_url(picture)}});
        let content = user_content(text, pictures, part, |text| json!({"type": "text", "text": text}));
        json!({"role": "user", "content": content})
    };
    let mut messages = chat_messages(asked.request, user, call, result);
    let Some(member) = &asked.shape.thinking_member else { return messages };
    for message in messages.as_array_mut().into_iter().flatten() {
        let first = message.pointer("/tool_calls/0/id").and_then(Value::as_str);
        let thought = first.and_then(|id| asked.thoughts.get(id)?.get(member)).cloned();
        if let (Some(thought), Some(members)) = (thought, message.as_object_mut()) {
            members.insert(member.clone(), thought);
        }
    }
    messages
}

/// Reads chunks of a completion, or a completion in one piece.
#[derive(Debug, Default)]
pub struct OpenAiDecoder {
    decoded: Decoded,
    calls: PartialCalls,
    thought: Thought,
    refusal: String,
    end: End,
    seen: bool,
}

impl Decoder for OpenAiDecoder {
    fn feed(&mut self, frame: &str) -> Result<String, WireError> {
        if frame.trim() == "[DONE]" {
            self.end.marked = true;
            return Ok(String::new());
        }
        let mut chunk = frame_value(frame)?;
        if let Value::Array(list) = &mut chunk {
            // Gemini's gateway wraps its error object in a list.
            chunk = list.first_mut().map(Value::take).unwrap_or_default();
        }
        if let Some(error) = error_in(&chunk) {
            return Err(WireError::Refused(error.clone()));
        }
        let told = chunk.get("usage").filter(|usage| usage.is_object()).or_else(|| chunk.pointer("/x_groq/usage"));
        if let Some(usage) = told.and_then(usage) {
            self.decoded.usage = Some(usage);
        }
        let Some(choice) = chunk.pointer("/choices/0") else { return Ok(String::new()) };
        self.seen = true;
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        if let Some(word) = choice.get("finish_reason").and_then(Value::as_str) {
            self.end.say(word);
        }
        match choice.get("delta").or_else(|| choice.get("message")) {
            Some(delta) => self.read_delta(delta),
            None => Ok(String::new()),
        }
    }

    fn is_done(&self) -> bool {
        self.end.marked
    }

    fn finish(self: Box<Self>) -> Result<Decoded, WireError> {
        if !self.seen {
            return Err(WireError::Empty);
        }
        let mut decoded = self.decoded;
        decoded.calls = self.calls.finish();
        if let Some(first) = decoded.calls.first_mut() {
            first.thought = self.thought.finish();
        }
        decoded.ended(&self.end)?.refused(&self.refusal)
    }

    fn stop(self: Box<Self>) -> Decoded {
        Decoded { stop: StopReason::Repeated, ..self.decoded }
    }
}

/// The error object of a chunk. In the old `error:` field of a stream, the chunk is the object itself.
fn error_in(chunk: &Value) -> Option<&Value> {
    let bare = chunk.get("choices").is_none() && chunk.get("message").is_some() && chunk.get("code").is_some();
    chunk.get("error").filter(|error| !error.is_null()).or_else(|| bare.then_some(chunk))
}

impl OpenAiDecoder {
    fn read_delta(&mut self, delta: &Value) -> Result<String, WireError> {
        for key in ["reasoning_content", "reasoning"] {
            if let Some(thinking) = delta.get(key).and_then(Value::as_str) {
                append(&mut self.decoded.thinking, thinking)?;
                append(&mut self.thought.text, thinking)?;
                break;
            }
        }
        for detail in delta.get("reasoning_details").and_then(Value::as_array).into_iter().flatten() {
            self.thought.read(detail)?;
        }
        for (position, call) in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten().enumerate() {
            self.calls.read(position as u64, call)?;
        }
        // The form from before lists of calls.
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.calls.read(0, &json!({"function": function}))?;
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            append(&mut self.refusal, refusal)?;
        }
        let said = delta.get("content").map(content::read).unwrap_or_default();
        append(&mut self.decoded.thinking, &said.thinking)?;
        append(&mut self.decoded.text, &said.text)?;
        Ok(said.text)
    }
}

/// Thinking, in the members in which vendors expect it back.
#[derive(Debug, Default)]
struct Thought {
    text: String,
    details: Vec<Value>,
}

impl Thought {
    /// Reads a piece. Pieces of one detail have the same index. Their texts are joined, and the last piece has the
    /// signature.
    fn read(&mut self, piece: &Value) -> Result<(), WireError> {
        let same = |last: &Value| ["type", "index"].iter().all(|key| last.get(*key) == piece.get(*key));
        let Some(last) = self.details.last_mut().filter(|last| same(last)).and_then(Value::as_object_mut) else {
            if self.details.len() < MAX_DETAILS {
                self.details.push(piece.clone());
            }
            return Ok(());
        };
        for (name, value) in piece.as_object().into_iter().flatten() {
            match (last.get_mut(name), value) {
                (Some(Value::String(text)), Value::String(more)) if JOINED.contains(&name.as_str()) => {
                    append(text, more)?;
                }
                (_, Value::Null) => {}
                _ => {
                    last.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Option<Value> {
        let mut members = Map::new();
        if !self.text.is_empty() {
            members.insert("reasoning_content".to_owned(), json!(self.text));
        }
        if !self.details.is_empty() {
            members.insert("reasoning_details".to_owned(), Value::Array(self.details));
        }
        (!members.is_empty()).then_some(Value::Object(members))
    }
}

/// Calls that arrive in pieces. Servers distinguish calls by index, by id, or only by order.
#[derive(Debug, Default)]
struct PartialCalls(Vec<PartialCall>);

#[derive(Debug, Default)]
struct PartialCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl PartialCalls {
    fn read(&mut self, position: u64, piece: &Value) -> Result<(), WireError> {
        let text = |pointer: &str| piece.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let arguments = match piece.pointer("/function/arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(object) => object.to_string(),
        };
        let index = piece.get("index").and_then(Value::as_u64).unwrap_or(position);
        let known = self.0.iter().rposition(|call| call.index == index);
        let part = match known.filter(|at| self.0.get(*at).is_some_and(|call| !call.ends_before(id, name, &arguments)))
        {
            Some(at) => self.0.get_mut(at),
            None if self.0.len() >= MAX_CALLS => None,
            None => {
                self.0.push(PartialCall { index, ..PartialCall::default() });
                self.0.last_mut()
            }
        };
        let Some(part) = part else { return Ok(()) };
        // Id and name come once, but some servers repeat them in every chunk.
        if part.id.is_empty() {
            part.id = id.to_owned();
        }
        if part.name.is_empty() {
            part.name = name.to_owned();
        }
        append(&mut part.arguments, &arguments)
    }

    fn finish(self) -> Vec<RawCall> {
        let named = self.0.into_iter().filter(|call| !call.name.is_empty());
        let raw = |call: PartialCall| RawCall {
            id: call.id,
            name: call.name,
            arguments: arguments_of(&call.arguments),
            thought: None,
        };
        named.map(raw).collect()
    }
}

impl PartialCall {
    /// Whether a piece with the same index belongs to another call: it has another id and a name, or it starts again
    /// after the arguments are complete.
    fn ends_before(&self, id: &str, name: &str, arguments: &str) -> bool {
        let other_id = !id.is_empty() && !self.id.is_empty() && id != self.id;
        let is_complete = || serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok();
        match (other_id, name.is_empty()) {
            (true, false) => true,
            (true, true) => is_complete(),
            (false, false) => id.is_empty() && !arguments.is_empty() && is_complete(),
            (false, true) => false,
        }
    }
}

/// Some vendors count thinking only in the total.
fn usage(value: &Value) -> Option<Usage> {
    let count = |key: &str| value.get(key).and_then(Value::as_u64);
    let input = count("prompt_tokens")?;
    let total = count("total_tokens").unwrap_or_default();
    Some(Usage {
        input,
        output: count("completion_tokens").unwrap_or_default().max(total.saturating_sub(input)),
        cached: value.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64).unwrap_or_default(),
        cost_usd: None,
    })
}
