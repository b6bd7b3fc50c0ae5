//! The port for language models. Adapters translate; they neither retry nor read replies.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::nouns::{Picture, ToolCall, ToolSpec, tokens};
use callsheet_core::record::{StopReason, Usage};
use callsheet_format::grammar::{Form, Grammar};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What an adapter can do beyond plain text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Native tool calling.
    pub tools: bool,
    /// Output constrained by a JSON schema.
    pub json_schema: bool,
    /// Output constrained by a grammar.
    pub grammar: bool,
    /// Whole replies are requested in their JSON form (`callsheet_format::grammar::Form`) if no grammar is accepted.
    pub twins: bool,
    /// Whether `Model::count_tokens` counts tokens.
    pub counts_tokens: bool,
    /// Whether it accepts a sampling temperature. Some hosted models refuse one.
    pub temperature: bool,
    /// A sampling seed.
    pub seed: bool,
    /// Whether it sees pictures.
    pub vision: bool,
}

/// Where the size of a window comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowFrom {
    /// The configuration.
    Setting,
    /// The server.
    Server,
    /// The row of its vendor.
    Vendor,
    /// The script of a scripted model.
    Script,
    /// The weights of an embedded model, and the memory that they may use.
    File,
}

impl WindowFrom {
    /// In words for people, after the number.
    pub fn words(self) -> &'static str {
        match self {
            Self::Setting => "as set",
            Self::Server => "as the server says",
            Self::Vendor => "from the table of vendors",
            Self::Script => "as the script says",
            Self::File => "from the model file",
        }
    }
}

/// What is known about a model before it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// `PROVIDER/MODEL`, or `embedded:PATH`, `scripted:FILE`.
    pub id: String,
    /// Provider whose slot pool it uses.
    pub provider: String,
    /// Context window in tokens, if known.
    pub window: Option<u32>,
    /// Where that number comes from. `None` if the window is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_from: Option<WindowFrom>,
    /// Whether its price is unknown, so that no cost limit can hold it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    /// US dollars per million input tokens, if it has a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_input: Option<f64>,
    /// US dollars per million output tokens, if it has a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_output: Option<f64>,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl ModelInfo {
    /// A model of a provider that answers with plain text. Its window is unknown, and its calls cost nothing.
    pub fn new(provider: &str, model: &str) -> Self {
        Self {
            id: format!("{provider}/{model}"),
            provider: provider.to_owned(),
            window: None,
            window_from: None,
            unpriced: false,
            price_input: None,
            price_output: None,
            capabilities: Capabilities::default(),
        }
    }
}

/// The notation of a native tool's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeNotation {
    /// `view`, `create`, `str_replace`, `insert`.
    TextEditor,
    /// A line for the shell.
    Bash,
}

/// A tool that a vendor's models were trained on. It is only another form of canonical tools: its calls are converted
/// to theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeTool {
    /// The vendor's name for its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The vendor's name for the tool.
    pub name: String,
    /// The notation of its calls.
    pub notation: NativeNotation,
    /// Canonical tools that its calls are converted to. It is offered only together with all of them. For an editor,
    /// the first reads and the last writes.
    pub executes: Vec<String>,
}

/// A picture in a message. A recorded request contains what is known of it, and its bytes are a blob.
#[derive(Clone, Serialize, Deserialize)]
pub struct ShownPicture {
    /// What is known of it.
    #[serde(flatten)]
    pub about: Picture,
    /// Its bytes. Empty in a request that was read from a record.
    #[serde(skip)]
    pub content: Arc<[u8]>,
}

/// The hash stands for the bytes.
impl PartialEq for ShownPicture {
    fn eq(&self, other: &Self) -> bool {
        self.about == other.about
    }
}

impl Eq for ShownPicture {}

impl std::fmt::Debug for ShownPicture {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.about.fmt(formatter)
    }
}

/// One message of a request, after the system text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From the host.
    User {
        /// Text.
        text: String,
        /// Pictures, in the order of the numbers that the text gives them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<ShownPicture>,
    },
    /// From the model, earlier in a loop; or, in an example, what the model should have said.
    Assistant {
        /// Text. May be empty beside calls.
        text: String,
        /// Calls it made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// Output of a call.
    Tool {
        /// Id of the call.
        id: String,
        /// Tool name.
        name: String,
        /// Output.
        text: String,
        /// The tool failed.
        #[serde(default)]
        error: bool,
    },
}

/// Constraint on the form of the reply. An adapter uses the strongest form that it supports and ignores the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// Grammar of the whole reply.
    pub grammar: Option<Grammar>,
    /// JSON schema of the whole reply.
    pub json_schema: Option<Value>,
    /// The form whose JSON `json_schema` describes, which converts the reply back to Markdown. Never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
}

/// A canonical request: what is recorded as the prompt of a call, and what cassettes compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The purpose of the call, such as `plan` or `refine find-code-1`. For logs and scripted models; never sent.
    pub label: String,
    /// System text.
    pub system: String,
    /// Messages, the first one from the user: examples, the prompt, then the conversation.
    pub messages: Vec<Message>,
    /// Tools offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Native tools that replace some of `tools`. An adapter that supports none sends the schemas of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native_tools: Vec<NativeTool>,
    /// Form of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// Hard cap of the reply in tokens. Always set.
    pub max_output_tokens: u32,
    /// Sampling temperature, for models that accept one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Sampling seed, for models that accept one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Time for the whole call.
    #[serde(skip, default = "default_deadline")]
    pub deadline: Duration,
}

/// How many tokens a message's frame (role and separators) takes in common chat templates, rounded up.
const FRAME_TOKENS: u64 = 8;

impl ModelRequest {
    /// Estimated tokens of everything that a model reads for it, including pictures and tools.
    pub fn estimated_tokens(&self) -> u64 {
        self.text_tokens().saturating_add(self.picture_tokens())
    }

    /// Its pictures.
    pub fn pictures(&self) -> impl Iterator<Item = &ShownPicture> {
        self.messages.iter().flat_map(Message::pictures)
    }

    /// Estimated tokens of its pictures. Servers count them very differently.
    pub fn picture_tokens(&self) -> u64 {
        self.pictures().map(|picture| u64::from(picture.about.tokens())).sum()
    }

    /// Estimated tokens of everything else.
    pub fn text_tokens(&self) -> u64 {
        let count = |text: &str| u64::from(tokens(text));
        let messages = self.messages.iter().map(|message| {
            let calls = match message {
                Message::Assistant { calls, .. } => calls.as_slice(),
                Message::User { .. } | Message::Tool { .. } => &[],
            };
            let calls = calls.iter().map(|call| count(&call.name) + count(&call.arguments.to_string()));
            FRAME_TOKENS + count(message.text()) + calls.sum::<u64>()
        });
        let tools = self.tools.iter().map(|tool| {
            FRAME_TOKENS + count(&tool.name) + count(&tool.description) + count(&tool.parameters.to_string())
        });
        count(&self.system) + messages.sum::<u64>() + tools.sum::<u64>()
    }
}

impl Message {
    /// A message of the host without pictures.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), pictures: Vec::new() }
    }

    /// Its pictures.
    pub fn pictures(&self) -> &[ShownPicture] {
        match self {
            Self::User { pictures, .. } => pictures,
            Self::Assistant { .. } | Self::Tool { .. } => &[],
        }
    }

    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::User { text, .. } | Self::Assistant { text, .. } | Self::Tool { text, .. } => text,
        }
    }
}

fn default_deadline() -> Duration {
    Duration::from_secs(600)
}

/// A canonical reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelReply {
    /// Visible text.
    pub text: String,
    /// Thinking that the provider kept separate from the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// Native tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Cost.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
    /// `PROVIDER/MODEL` that answered.
    pub model: String,
    /// What a person should know about it, one line each. Not a part of the reply.
    #[serde(skip)]
    pub notices: Vec<String>,
}

/// Why a call gave no reply. Messages contain no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelFault {
    /// The connection, TLS or a timeout failed, the stream broke or was empty, or the status was 408, 425 or 5xx. The
    /// provider is at fault; a retry may help.
    #[error("{message}")]
    Communication {
        /// What happened.
        message: String,
    },
    /// A limit of the provider, or a model that is still loading. All further calls to it should wait.
    #[error("{message}")]
    Busy {
        /// What happened.
        message: String,
        /// How long, if the provider tells.
        wait: Option<Duration>,
    },
    /// Credentials, an unknown model, another 4xx, or a missing file. The user must fix it; a retry does not help.
    #[error("{message}")]
    Configuration {
        /// What happened and what to do.
        message: String,
    },
    /// The provider has no quota left, or no memory for the model. Neither waiting nor another request helps.
    #[error("{message}")]
    Exhausted {
        /// What happened.
        message: String,
    },
    /// The prompt does not fit, or would have been cut silently (Ollama). Smaller budgets fix it.
    #[error("the prompt does not fit: {message}")]
    ContextOverflow {
        /// What happened.
        message: String,
    },
    /// `ModelRequest::deadline` passed.
    #[error("this call ran out of time")]
    Deadline,
    /// Cancelled by us.
    #[error("cancelled")]
    Cancelled,
}

impl ModelFault {
    /// The name of this kind of fault, for logs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Communication { .. } => "communication",
            Self::Busy { .. } => "busy",
            Self::Configuration { .. } => "configuration",
            Self::Exhausted { .. } => "exhausted",
            Self::ContextOverflow { .. } => "context_overflow",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Receives streamed text. It goes only to viewers, never into the record.
pub type DeltaSink<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// One model.
#[async_trait]
pub trait Model: Send + Sync {
    /// What is known about it.
    fn info(&self) -> &ModelInfo;

    /// Makes one call: sends once, streams text to `deltas`, and stops within 50 ms when cancelled.
    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault>;

    /// Tools that this model was trained on.
    fn native_tools(&self) -> &[NativeTool] {
        &[]
    }

    /// The provider's own token count of a text, if it is cheap to get.
    fn count_tokens(&self, _text: &str) -> Option<u32> {
        None
    }
}
