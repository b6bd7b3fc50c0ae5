//! Pure dialects: they encode a canonical request as JSON, and decode the frames of a stream to a canonical reply. No
//! I/O. Other differences are in a row of [`Wire`].

pub mod anthropic;
pub(crate) mod content;
pub(crate) mod end;
pub mod gemini;
pub mod llamacpp;
pub(crate) mod names;
pub(crate) mod native;
pub mod ollama;
pub mod openai;
pub mod responses;
pub mod schema;

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use callsheet_core::nouns::ToolCall;
use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{Message, ModelFault, ModelRequest, ShownPicture};
use serde_json::{Map, Value, json};

use crate::config::Dialect;
use crate::fault::{self, FaultContext};
use crate::transport::Framing;

use end::{End, Stopped};
use schema::SchemaForm;

/// What the transport must know about a dialect, and its pure encoder and decoder.
pub(crate) struct Wire {
    /// Path below the base URL. `{model}` stands for the name of the model.
    pub path: &'static str,
    /// How its streams are split.
    pub framing: Framing,
    /// Header for the key, and the text before the key in it.
    pub key: (&'static str, &'static str),
    /// Headers for every request.
    pub headers: &'static [(&'static str, &'static str)],
    /// The form of reply schemas that its hosted vendors accept.
    pub schema: SchemaForm,
    /// Encodes the request.
    pub encode: fn(&Asked<'_>) -> Map<String, Value>,
    /// Decodes the reply.
    pub decoder: fn() -> Box<dyn Decoder>,
}

const BEARER: (&str, &str) = ("authorization", "Bearer ");

impl Wire {
    const OPENAI: Self = Self {
        path: openai::PATH,
        framing: Framing::Events,
        key: BEARER,
        headers: &[],
        schema: SchemaForm::Strict,
        encode: openai::encode,
        decoder: || Box::<openai::OpenAiDecoder>::default(),
    };

    /// The row of a dialect. `None` if it has no wire.
    pub fn of(dialect: Dialect) -> Option<Self> {
        Some(match dialect {
            Dialect::Openai => Self::OPENAI,
            Dialect::Llamacpp => {
                Self { path: llamacpp::PATH, schema: SchemaForm::Whole, encode: llamacpp::encode, ..Self::OPENAI }
            }
            Dialect::OpenaiResponses => Self {
                path: "/responses",
                encode: responses::encode,
                decoder: || Box::<responses::ResponseDecoder>::default(),
                ..Self::OPENAI
            },
            Dialect::Anthropic => Self {
                path: "/messages",
                key: ("x-api-key", ""),
                headers: &[("anthropic-version", "2023-06-01")],
                schema: SchemaForm::Closed,
                encode: anthropic::encode,
                decoder: || Box::<anthropic::MessageDecoder>::default(),
                ..Self::OPENAI
            },
            Dialect::Gemini => Self {
                path: "/models/{model}:streamGenerateContent?alt=sse",
                key: ("x-goog-api-key", ""),
                schema: SchemaForm::Unbounded,
                encode: gemini::encode,
                decoder: || Box::<gemini::ContentDecoder>::default(),
                ..Self::OPENAI
            },
            Dialect::Ollama => Self {
                path: ollama::CHAT,
                framing: Framing::Lines,
                schema: SchemaForm::Whole,
                encode: ollama::encode,
                decoder: || Box::<ollama::OllamaDecoder>::default(),
                ..Self::OPENAI
            },
            Dialect::Scripted | Dialect::Embedded => return None,
        })
    }
}

/// How requests to one model of a vendor differ within its dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The form of a reply schema.
    pub schema: SchemaForm,
    /// For Responses: the model thinks, and the request asks for its thinking.
    pub thinks: bool,
    /// For Chat: the member of a message with calls that returns the thinking.
    pub thinking_member: Option<String>,
    /// For Gemini: the first call of a turn needs a signature.
    pub signed_calls: bool,
}

/// The input for encoding a request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// The request, with names that the wire accepts.
    pub request: &'a ModelRequest,
    /// What the vendor needs differently.
    pub shape: &'a Shape,
    /// The thinking behind earlier calls in its original form, by call id.
    pub thoughts: &'a BTreeMap<String, Value>,
    /// For Ollama: tokens of the context.
    pub context: u32,
}

impl<'a> Asked<'a> {
    /// The schema of the reply, in the accepted form.
    fn schema(&self) -> Option<Value> {
        let constraint = self.request.constraint.as_ref()?;
        self.shape.schema.of(constraint.json_schema.as_ref()?)
    }

    fn thoughts_of(&self, call: &ToolCall) -> Option<&'a Value> {
        self.thoughts.get(&call.id)
    }
}

/// The maximum number of bytes of text or arguments in a reply. The token cap is far below, so more than this means
/// that the server malfunctions.
const MAX_REPLY: usize = 16 * 1024 * 1024;

/// The content of a stream, before provider, prices and estimates are added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Visible text.
    pub text: String,
    /// Thinking, kept separate.
    pub thinking: String,
    /// Tool calls.
    pub calls: Vec<RawCall>,
    /// Token counts, if the server counted.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub stop: StopReason,
    /// The provider's word for the end, if its meaning is unknown.
    pub unlisted_end: Option<String>,
    /// Tokens of input that the provider stored in its cache.
    pub cache_written: u64,
}

impl Decoded {
    /// Adds the reason of the end. Fails if the end is not a valid one.
    fn ended(mut self, end: &End) -> Result<Self, WireError> {
        let Stopped { reason, unlisted } = end.reason(!self.calls.is_empty())?;
        (self.stop, self.unlisted_end) = (reason, unlisted);
        Ok(self)
    }

    /// Marks the reply as refused, with what the model said instead.
    fn refused(mut self, words: &str) -> Result<Self, WireError> {
        if !words.is_empty() {
            self.stop = StopReason::Refused;
            append(&mut self.text, words)?;
        }
        Ok(self)
    }
}

/// A tool call as received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCall {
    /// Id. Empty if the server sent none.
    pub id: String,
    /// Tool name.
    pub name: String,
    /// Arguments. A text if they are not JSON.
    pub arguments: Value,
    /// The thinking behind it, in the form in which its wire accepts it back.
    pub thought: Option<Value>,
}

/// Why a stream could not be read.
#[derive(Clone, Debug, PartialEq)]
pub enum WireError {
    /// A frame does not follow the dialect.
    Garbled(String),
    /// The stream ended before the reply did.
    BrokenOff,
    /// The provider ended the reply with a word for a failure.
    Ended(String),
    /// The stream was empty.
    Empty,
    /// The server sent an error object.
    Refused(Value),
    /// The stream exceeded every limit.
    TooLong,
}

impl WireError {
    /// The fault for the port.
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
    /// Reads one frame and returns the visible text that it added.
    fn feed(&mut self, frame: &str) -> Result<String, WireError>;

    /// Whether the end mark was read.
    fn is_done(&self) -> bool;

    /// The reply, after the stream has ended.
    fn finish(self: Box<Self>) -> Result<Decoded, WireError>;

    /// The reply so far, if it only repeats itself and is stopped.
    fn stop(self: Box<Self>) -> Decoded;
}

/// The bytes of a picture in base64.
fn base64_of(picture: &ShownPicture) -> String {
    BASE64_STANDARD.encode(&picture.content)
}

/// A picture as an address that contains it.
fn data_url(picture: &ShownPicture) -> String {
    format!("data:{};base64,{}", picture.about.format.media_type(), base64_of(picture))
}

/// The content of a user's message: its text or, if it has pictures, these and then the text, each as a part.
fn user_content(
    text: &str,
    pictures: &[ShownPicture],
    part: impl Fn(&ShownPicture) -> Value,
    text_part: impl Fn(&str) -> Value,
) -> Value {
    if pictures.is_empty() {
        return json!(text);
    }
    Value::Array(pictures.iter().map(part).chain([text_part(text)]).collect())
}

/// The messages of a request in OpenAI's common form. Wires differ in how a user's message with pictures, a call and its
/// result (id, tool name, text) are written.
fn chat_messages(
    request: &ModelRequest,
    user: impl Fn(&str, &[ShownPicture]) -> Value,
    call: impl Fn(&ToolCall) -> Value,
    result: impl Fn(&str, &str, &str) -> Value,
) -> Value {
    let mut list = Vec::new();
    if !request.system.is_empty() {
        list.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        list.push(match message {
            Message::User { text, pictures } => user(text, pictures),
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

/// Appends to a text up to the limit on replies.
pub(crate) fn append(to: &mut String, more: &str) -> Result<(), WireError> {
    if to.len().saturating_add(more.len()) > MAX_REPLY {
        return Err(WireError::TooLong);
    }
    to.push_str(more);
    Ok(())
}

/// Arguments as JSON: `{}` for nothing, and the text itself if it is not JSON, so that whoever checks the call can
/// report it.
pub(crate) fn arguments_of(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Arguments as an object, for wires that accept nothing else.
pub(crate) fn object(arguments: &Value) -> Value {
    if arguments.is_object() { arguments.clone() } else { json!({"input": arguments}) }
}

/// A frame as JSON.
fn frame_value(frame: &str) -> Result<Value, WireError> {
    serde_json::from_str(frame).map_err(|error| WireError::Garbled(error.to_string()))
}

/// A message of a conversation. The results of one turn are grouped.
enum Turn<'a> {
    User { text: &'a str, pictures: &'a [ShownPicture] },
    Assistant { text: &'a str, calls: &'a [ToolCall] },
    Results(Vec<&'a Message>),
}

/// The turns of a conversation, without empty ones.
fn turns(request: &ModelRequest) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    for message in &request.messages {
        match (message, turns.last_mut()) {
            (Message::Tool { .. }, Some(Turn::Results(results))) => results.push(message),
            (Message::Tool { .. }, _) => turns.push(Turn::Results(vec![message])),
            (Message::User { text, pictures }, _) => turns.push(Turn::User { text, pictures }),
            (Message::Assistant { text, calls }, _) if text.is_empty() && calls.is_empty() => {}
            (Message::Assistant { text, calls }, _) => turns.push(Turn::Assistant { text, calls }),
        }
    }
    turns
}

/// Gives every call an id that no earlier call of the conversation has: `<name>-<n>` if the server sent none or one
/// that is already used. Names become canonical again.
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

/// Whether an id has the form that [`with_ids`] creates.
fn is_own_id(id: &str, name: &str) -> bool {
    let number = id.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
