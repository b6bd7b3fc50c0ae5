//! Ollama's own `/api/chat`. It has two traps: it silently cuts a prompt that is longer than `num_ctx`, and it loads
//! the model again if `num_ctx` changes. So the context grows in coarse steps with the prompt and never shrinks, and
//! the number of tokens read is compared with the number sent.

use callsheet_core::nouns::ToolCall;
use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{ModelFault, ModelRequest, ShownPicture};
use serde_json::{Map, Value, json};

use super::end::End;
use super::{
    Asked, Decoded, Decoder, RawCall, WireError, append, base64_of, chat_messages, content, frame_value, object, openai,
};

/// Path of a chat.
pub const CHAT: &str = "/api/chat";
/// Path that describes a model.
pub const SHOW: &str = "/api/show";
/// Path that lists models.
pub const TAGS: &str = "/api/tags";
/// Path that lists loaded models.
pub const LOADED: &str = "/api/ps";

/// The context grows in steps of this many tokens.
const STEP: u64 = 2048;

/// How long the model stays loaded after a call.
const KEEP_ALIVE: &str = "30m";

/// Shorter prompts, in tokens, are too short to detect a cut.
const ALARM_FROM: u64 = 256;

/// The context to request: the measured prompt plus a quarter, plus the output cap, rounded up to the step. At least
/// `at_least` (the previous request), at most the model's window.
pub fn context_size(request: &ModelRequest, at_least: u32, window: Option<u32>) -> Result<u32, ModelFault> {
    let prompt = request.estimated_tokens();
    if let Some(window) = window.filter(|window| prompt > u64::from(*window)) {
        return Err(ModelFault::ContextOverflow {
            message: format!("about {prompt} tokens, the model's window has {window}"),
        });
    }
    let wanted = prompt.saturating_add(prompt / 4).saturating_add(u64::from(request.max_output_tokens));
    let stepped = wanted.div_ceil(STEP).saturating_mul(STEP).max(u64::from(at_least));
    let capped = stepped.min(u64::from(window.unwrap_or(u32::MAX)));
    Ok(u32::try_from(capped).unwrap_or(u32::MAX))
}

/// Fails if the server read clearly less than was sent, because then it cut the prompt.
pub fn check_truncation(request: &ModelRequest, read: Option<u64>) -> Result<(), ModelFault> {
    // How much a picture counts differs between models.
    let sent = request.text_tokens();
    match read {
        // A count of zero, or no count, means that the prompt came from the cache (older servers).
        Some(read) if read > 0 && sent >= ALARM_FROM && read.saturating_mul(2) < sent => {
            Err(ModelFault::ContextOverflow {
                message: format!("the server read {read} of about {sent} tokens, so it cut the prompt"),
            })
        }
        _ => Ok(()),
    }
}

/// The request for this wire. `truncate` and `shift` ask newer servers to refuse instead of cutting.
pub fn encode(asked: &Asked<'_>) -> Map<String, Value> {
    let request = asked.request;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    body.insert("messages".to_owned(), messages(request));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), openai::tools(request));
    }
    if let Some(schema) = asked.schema() {
        body.insert("format".to_owned(), schema);
    }
    body.insert("stream".to_owned(), json!(true));
    body.insert("truncate".to_owned(), json!(false));
    body.insert("shift".to_owned(), json!(false));
    body.insert("keep_alive".to_owned(), json!(KEEP_ALIVE));
    let mut options = Map::new();
    options.insert("num_ctx".to_owned(), json!(asked.context));
    options.insert("num_predict".to_owned(), json!(request.max_output_tokens));
    if let Some(temperature) = request.temperature {
        options.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(seed) = request.seed {
        // The server stores seeds in a signed number.
        options.insert("seed".to_owned(), json!(seed & 0x7fff_ffff));
    }
    body.insert("options".to_owned(), Value::Object(options));
    body
}

/// Arguments are sent as an object, because the server refuses anything else. Each result is one message, in the order
/// of the calls. If known, the id distinguishes equal names.
fn messages(request: &ModelRequest) -> Value {
    let call =
        |call: &ToolCall| json!({"id": call.id, "function": {"name": call.name, "arguments": object(&call.arguments)}});
    let result = |id: &str, name: &str, text: &str| json!({"role": "tool", "tool_name": name, "tool_call_id": id, "content": text});
    let user = |text: &str, pictures: &[ShownPicture]| match pictures {
        [] => json!({"role": "user", "content": text}),
        _ => {
            let images: Vec<String> = pictures.iter().map(base64_of).collect();
            json!({"role": "user", "content": text, "images": images})
        }
    };
    chat_messages(request, user, call, result)
}

/// What `/api/show` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The longest context that the model was made for, in tokens.
    pub window: Option<u32>,
    /// Whether it calls tools. `None` if an older server does not say.
    pub tools: Option<bool>,
    /// Whether it sees pictures. `None` if an older server does not say.
    pub vision: Option<bool>,
    /// Whether it writes text, instead of only turning text into numbers as embedding models do. `None` if the server
    /// does not say.
    pub writes: Option<bool>,
}

/// Reads an answer of `/api/show`.
pub fn description(answer: &Value) -> Description {
    let info = answer.get("model_info").and_then(Value::as_object);
    let window = info
        .into_iter()
        .flatten()
        .find(|(key, _)| key.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64())
        .and_then(|n| u32::try_from(n).ok());
    let capabilities = answer.get("capabilities").and_then(Value::as_array);
    let can = |what: &str| capabilities.map(|list| list.iter().any(|entry| entry == what));
    // Only embedding models pool their input.
    let pools = info.is_some_and(|info| info.keys().any(|key| key.ends_with(".pooling_type")));
    Description {
        window,
        tools: can("tools"),
        vision: can("vision"),
        writes: can("completion").or(pools.then_some(false)),
    }
}

/// Reads the model names of an answer of `/api/tags` or `/api/ps`.
pub fn model_names(answer: &Value) -> Vec<String> {
    let models = answer.get("models").and_then(Value::as_array).into_iter().flatten();
    models.filter_map(|model| model.get("name").and_then(Value::as_str).map(str::to_owned)).collect()
}

/// What `/api/tags` returns for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Name.
    pub name: String,
    /// Size of its file.
    pub bytes: Option<u64>,
    /// Whether it is an embedding model. Their architectures are all named after the first one, BERT.
    pub encodes: bool,
}

/// Reads an answer of `/api/tags`.
pub fn listed(answer: &Value) -> Vec<Listed> {
    let models = answer.get("models").and_then(Value::as_array).into_iter().flatten();
    let read = |model: &Value| {
        let family = model.pointer("/details/family").and_then(Value::as_str).unwrap_or_default();
        Some(Listed {
            name: model.get("name")?.as_str()?.to_owned(),
            bytes: model.get("size").and_then(Value::as_u64),
            encodes: family.ends_with("bert"),
        })
    };
    models.filter_map(read).collect()
}

/// Reads the lines of a chat.
#[derive(Debug, Default)]
pub struct OllamaDecoder {
    decoded: Decoded,
    end: End,
    loads: bool,
    seen: bool,
}

impl Decoder for OllamaDecoder {
    fn feed(&mut self, frame: &str) -> Result<String, WireError> {
        let line = frame_value(frame)?;
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        self.seen = true;
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            let word = line.get("done_reason").and_then(Value::as_str).unwrap_or_default();
            self.end.marked = true;
            // The answer to a request without messages, or to an unload: nothing was generated.
            self.loads = matches!(word, "load" | "unload");
            self.end.say(word);
            self.decoded.usage = usage(&line);
        }
        let Some(message) = line.get("message") else { return Ok(String::new()) };
        if let Some(thinking) = message.get("thinking").and_then(Value::as_str) {
            append(&mut self.decoded.thinking, thinking)?;
        }
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            let arguments = call.pointer("/function/arguments").filter(|value| !value.is_null());
            self.decoded.calls.push(RawCall {
                id: text("/id"),
                name: text("/function/name"),
                arguments: arguments.cloned().unwrap_or_else(|| json!({})),
                thought: None,
            });
        }
        let said = message.get("content").map(content::read).unwrap_or_default();
        append(&mut self.decoded.thinking, &said.thinking)?;
        append(&mut self.decoded.text, &said.text)?;
        Ok(said.text)
    }

    fn is_done(&self) -> bool {
        self.end.marked
    }

    fn finish(self: Box<Self>) -> Result<Decoded, WireError> {
        if !self.seen || self.loads {
            return Err(WireError::Empty);
        }
        if !self.end.marked {
            return Err(WireError::BrokenOff);
        }
        self.decoded.ended(&self.end)
    }

    fn stop(self: Box<Self>) -> Decoded {
        Decoded { stop: StopReason::Repeated, ..self.decoded }
    }
}

fn usage(line: &Value) -> Option<Usage> {
    let number = |key: &str| line.get(key).and_then(Value::as_u64);
    let output = number("eval_count")?;
    Some(Usage { input: number("prompt_eval_count").unwrap_or_default(), output, cached: 0, cost_usd: None })
}
