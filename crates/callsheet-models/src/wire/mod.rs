//! Pure dialects: a canonical request into JSON, the frames of a stream into a canonical reply. No I/O.

pub(crate) mod content;
pub(crate) mod end;
pub mod llamacpp;
pub(crate) mod names;
#[cfg(feature = "hosted")]
pub(crate) mod native;
pub mod ollama;
pub mod openai;

use callsheet_core::record::{StopReason, Usage};
use callsheet_core::spec::ToolCall;
use callsheet_runtime::ports::{Message, ModelFault, ModelRequest};
use serde_json::{Value, json};

use crate::fault::{self, FaultContext};

/// Bytes of text or arguments a reply may have; its token cap is far below, so more is a server gone wild.
const MAX_REPLY: usize = 16 * 1024 * 1024;

/// What a stream said, before provider, prices and estimates are added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Visible text.
    pub text: String,
    /// Thinking kept apart.
    pub thinking: String,
    /// Tool calls.
    pub calls: Vec<RawCall>,
    /// Tokens, if the server counted.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub stop: StopReason,
    /// The provider's word for the end, if nobody knows what it means.
    pub unlisted_end: Option<String>,
}

/// A tool call as it came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCall {
    /// Id, empty if the server gave none.
    pub id: String,
    /// Tool name.
    pub name: String,
    /// Arguments; a text when they are not JSON.
    pub arguments: Value,
}

/// Why a stream could not be read.
#[derive(Clone, Debug, PartialEq)]
pub enum WireError {
    /// A frame is not what the dialect says.
    Garbled(String),
    /// It ended before the reply did.
    BrokenOff,
    /// The provider ended the reply with a word for a failure.
    Ended(String),
    /// It held nothing.
    Empty,
    /// The server sent an error object.
    Refused(Value),
    /// It grew past every bound.
    TooLong,
}

impl WireError {
    /// As a fault of the port.
    pub fn into_fault(self, context: &FaultContext) -> ModelFault {
        let provider = &context.provider;
        match self {
            Self::Garbled(what) => fault::communication(format!("{provider} sent a frame that cannot be read: {what}")),
            Self::BrokenOff => fault::communication(format!("the stream of {provider} broke off")),
            Self::Ended(word) => fault::communication(format!("{provider} ended its reply with `{word}`")),
            Self::Empty => fault::communication(format!("the stream of {provider} was empty")),
            Self::Refused(error) => fault::from_stream(&error, context),
            Self::TooLong => fault::communication(format!("the stream of {provider} did not end")),
        }
    }
}

/// Reads one stream.
pub trait Decoder: Send {
    /// One frame; returns the visible text it added.
    fn feed(&mut self, frame: &str) -> Result<String, WireError>;

    /// The end mark was read.
    fn is_done(&self) -> bool;

    /// The reply, once the stream ended.
    fn finish(self: Box<Self>) -> Result<Decoded, WireError>;

    /// The reply so far, which only repeats itself.
    fn stop(self: Box<Self>) -> Decoded;
}

/// The messages of a request in the form that OpenAI made common. Wires differ in how a call and the result of a call
/// (id, tool name, text) look.
fn chat_messages(
    request: &ModelRequest,
    call: impl Fn(&ToolCall) -> Value,
    result: impl Fn(&str, &str, &str) -> Value,
) -> Value {
    let mut list = Vec::new();
    if !request.system.is_empty() {
        list.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        list.push(match message {
            Message::User { text } => json!({"role": "user", "content": text}),
            Message::Assistant { text, calls } if calls.is_empty() => json!({"role": "assistant", "content": text}),
            Message::Assistant { text, calls } => {
                let calls: Vec<Value> = calls.iter().map(&call).collect();
                json!({"role": "assistant", "content": text, "tool_calls": calls})
            }
            Message::Tool { id, name, text, .. } => result(id, name, text),
        });
    }
    Value::Array(list)
}

/// Appends to a text under the bound on replies.
pub(crate) fn append(to: &mut String, more: &str) -> Result<(), WireError> {
    if to.len().saturating_add(more.len()) > MAX_REPLY {
        return Err(WireError::TooLong);
    }
    to.push_str(more);
    Ok(())
}

/// Arguments as JSON: `{}` for nothing, the text itself when it is not JSON, so that whoever checks the call can say so.
pub(crate) fn arguments_of(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A schema without the counts that hosted vendors refuse in strict mode; the reader checks what matters of them.
pub(crate) fn without_bounds(schema: &Value) -> Value {
    const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"];
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| !(BOUNDS.contains(&name.as_str()) && value.is_number()));
            Value::Object(kept.map(|(name, value)| (name.clone(), without_bounds(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_bounds).collect()),
        other => other.clone(),
    }
}

/// Gives every call an id that no earlier call of the conversation has: `<name>-<n>` where the server gave none or one
/// that is taken. Names become canonical again.
pub(crate) fn with_ids(calls: Vec<RawCall>, request: &ModelRequest) -> Vec<ToolCall> {
    let mut taken = std::collections::BTreeSet::new();
    let mut numbers = std::collections::BTreeMap::new();
    for message in &request.messages {
        if let Message::Assistant { calls, .. } = message {
            taken.extend(calls.iter().map(|call| call.id.clone()));
        }
    }
    let names = names::Names::of(request);
    let mut named = Vec::with_capacity(calls.len());
    for call in calls {
        let call = RawCall { name: names.canonical(call.name), ..call };
        let mut id = call.id;
        while id.is_empty() || taken.contains(&id) {
            let n = numbers.entry(call.name.clone()).or_insert(0_u32);
            *n = n.saturating_add(1);
            id = format!("{}-{n}", call.name);
        }
        taken.insert(id.clone());
        named.push(ToolCall { name: call.name, id, arguments: call.arguments });
    }
    named
}
