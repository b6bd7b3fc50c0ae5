//! The table that decides what a provider's refusal means and who can fix it (spec 12.1-12.3), for every dialect and
//! vendor.

pub mod pause;

use std::time::{Duration, SystemTime};

use callsheet_runtime::ports::ModelFault;
use serde_json::Value;

/// How many characters of a provider's own words a fault keeps.
const MAX_WORDS: usize = 400;

/// What vendors say, in lower case, when a prompt is too long. Applies to any refusal except 401, 403 and 429.
const OVERFLOW: &[&str] = &[
    "context length",
    "context_length_exceeded",
    "context window",
    "context size",
    "exceed_context_size",
    "maximum context",
    "max context",
    "exceeds the available context",
    "exceeds the maximum number of tokens",
    "input token count",
    "input is too long",
    "prompt is too long",
    "prompt too long",
    "input length and `max_tokens` exceed",
    "input length and max_tokens exceed",
    "reduce the length of the messages",
    "reduce the length of the input",
    "tokens in request more than max tokens",
    "request_too_large",
    "too many input tokens",
    "kv cache is full",
    "truncating input prompt",
];

/// Error types inside a stream (which has no status) that a retry may fix.
const PASSING: &[&str] = &[
    "overloaded",
    "server_error",
    "internal",
    "unavailable",
    "rate_limit",
    "rate limit",
    "timeout",
    "timed out",
    "resource_exhausted",
    "api_error",
    "try again",
    "no slot available",
    "loading model",
    "connection reset",
    "runner process",
    "llama runner",
];

/// What a fault names, so that the user can check it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultContext {
    /// Provider name.
    pub provider: String,
    /// Model name.
    pub model: String,
    /// Variable the key came from.
    pub key_variable: Option<String>,
}

/// Words that mean that a quota is used up or money is missing, so waiting does not help.
const NO_QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "exceeded your current quota",
    "quota exceeded for the month",
    "billing_hard_limit",
    "billing hard limit",
    "credit balance",
    "insufficient balance",
    "insufficient credit",
    "insufficient fund",
    "out of credits",
    "not enough credits",
    "payment required",
    "spending limit",
];

/// Codes that mean the same, whatever else the answer contains.
const NO_QUOTA_CODES: &[&str] = &["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];

/// Words that mean that a server lacks memory for the model.
const NO_MEMORY: &[&str] = &["memory", "failed to allocate", "unable to allocate", "cudamalloc"];

/// Words of a server that is loading a model.
const LOADING: &[&str] = &["loading", "warming up", "starting up", "not ready", "still starting"];

/// Words of an error inside a stream that mean a temporary limit.
const LIMITED: &[&str] = &["rate_limit", "rate limit", "resource_exhausted", "too many requests"];

fn speaks_of(words: &str, list: &[&str]) -> bool {
    let low = words.to_lowercase();
    list.iter().any(|text| low.contains(text))
}

/// The fault for an HTTP status other than 2xx. `pause` is the time that the provider asks for ([`pause::asked`]).
pub fn from_status(status: u16, body: &str, pause: Option<Duration>, context: &FaultContext) -> ModelFault {
    let words = words_of(body);
    let provider = &context.provider;
    if !matches!(status, 401 | 403 | 429) && is_overflow(body) {
        return ModelFault::ContextOverflow { message: words };
    }
    if let Some(message) = lasting(status, body, pause, context) {
        return ModelFault::Exhausted { message };
    }
    let answered = || join(&format!("{provider} answered {status}"), &words);
    // With another status, these words mean that loading failed.
    let loads = status == 503 && speaks_of(body, LOADING);
    match status {
        429 => ModelFault::Busy { message: answered(), wait: pause },
        408 | 425 | 500..=599 if pause.is_some() || loads => ModelFault::Busy { message: answered(), wait: pause },
        408 | 425 | 500..=599 => ModelFault::Communication { message: answered() },
        401 | 403 => {
            let advice = match &context.key_variable {
                Some(variable) => format!("{provider} rejected the API key in {variable} ({status}); set a valid one"),
                None => {
                    format!("{provider} requires an API key ({status}); set `api_key_env` in [providers.{provider}]")
                }
            };
            ModelFault::Configuration { message: join(&advice, &words) }
        }
        404 => ModelFault::Configuration {
            message: join(
                &format!("{provider} does not know the model `{}` or the address (404)", context.model),
                &words,
            ),
        },
        300..=399 => ModelFault::Configuration {
            message: format!("{provider} redirects ({status}); set `base_url` to the address it redirects to"),
        },
        _ => {
            ModelFault::Configuration { message: join(&format!("{provider} rejected the request ({status})"), &words) }
        }
    }
}

/// The fault for a problem that neither a retry nor waiting fixes: no quota, no memory.
fn lasting(status: u16, body: &str, pause: Option<Duration>, context: &FaultContext) -> Option<String> {
    let (provider, words) = (&context.provider, words_of(body));
    // A limit per minute may be worded like a quota. If the provider asks for a pause, it means such a limit.
    let no_quota = speaks_of(body, NO_QUOTA_CODES) || pause.is_none() && speaks_of(body, NO_QUOTA);
    if status == 402 || no_quota && !matches!(status, 401 | 404) {
        return Some(join(&format!("{provider} has no quota left for this key ({status})"), &words));
    }
    (matches!(status, 500..=599) && speaks_of(&words, NO_MEMORY))
        .then(|| join(&format!("{provider} has too little memory for `{}`", context.model), &words))
}

/// The fault for an error object that came inside a stream.
pub fn from_stream(error: &Value, context: &FaultContext) -> ModelFault {
    let body = error.to_string();
    let pause = pause::in_body(&body, SystemTime::now());
    if let Some(status) = stream_status(error) {
        return from_status(status, &body, pause, context);
    }
    if is_overflow(&body) {
        return ModelFault::ContextOverflow { message: words_of(&body) };
    }
    if let Some(message) = lasting(500, &body, pause, context) {
        return ModelFault::Exhausted { message };
    }
    let message = join(&format!("{} broke off with an error", context.provider), &words_of(&body));
    if speaks_of(&body, LIMITED) {
        return ModelFault::Busy { message, wait: pause };
    }
    if speaks_of(&body, PASSING) {
        return ModelFault::Communication { message };
    }
    ModelFault::Configuration { message }
}

/// A communication fault.
pub fn communication(message: impl Into<String>) -> ModelFault {
    ModelFault::Communication { message: message.into() }
}

/// Whether the provider's words say that the prompt does not fit.
fn is_overflow(words: &str) -> bool {
    speaks_of(words, OVERFLOW)
}

/// Whether the words of a refusal contain two numbers of which the larger is close to the size of our prompt or counts
/// tokens. Then the prompt does not fit, however the refusal is worded.
pub fn counts_overflow(words: &str, sent: u64) -> bool {
    let numbers: Vec<u64> = numbers_in(words).into_iter().filter(|number| *number >= MIN_WINDOW).collect();
    let (Some(large), Some(small)) = (numbers.iter().max(), numbers.iter().min()) else { return false };
    let near = *large >= sent / 2 && *large <= sent.saturating_mul(2);
    large > small && (near || speaks_of(words, &["token"]))
}

/// The smallest window that any server has.
const MIN_WINDOW: u64 = 256;

/// Whole numbers in a text, without thousands separators.
pub(crate) fn numbers_in(text: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut digits = String::new();
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let between =
            matches!(c, ',' | '_' | '\'') && !digits.is_empty() && chars.peek().is_some_and(char::is_ascii_digit);
        if c.is_ascii_digit() && (!digits.is_empty() || !before.is_alphanumeric() && before != '.') {
            digits.push(c);
        } else if !between {
            numbers.extend(digits.parse::<u64>());
            digits.clear();
        }
        before = c;
    }
    numbers.extend(digits.parse::<u64>());
    numbers
}

/// The status that some servers put into the error object, as `code` or `status`.
pub(crate) fn stream_status(error: &Value) -> Option<u16> {
    let inner = error.get("error").unwrap_or(error);
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    ["code", "status", "status_code", "statusCode"]
        .iter()
        .find_map(|key| inner.get(key).and_then(number))
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code))
}

/// The provider's own words: the message of a JSON error, else the text, shortened and on one line.
pub(crate) fn words_of(body: &str) -> String {
    let text = serde_json::from_str::<Value>(body).ok().and_then(|value| message_in(&value));
    let text =
        text.unwrap_or_else(|| if body.trim_start().starts_with('<') { page_words(body) } else { body.to_owned() });
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_WORDS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

fn message_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // Gemini wraps its error object in a list.
        Value::Array(items) => items.first().and_then(message_in),
        Value::Object(map) => {
            ["error", "message", "detail", "msg"].iter().find_map(|key| map.get(*key).and_then(message_in))
        }
        _ => None,
    }
}

/// The words of a page, without tags, styles and scripts.
pub(crate) fn page_words(page: &str) -> String {
    let mut words = String::new();
    let mut hidden: Option<&str> = None;
    for piece in page.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let tag = tag.split(|c: char| c.is_whitespace()).next().unwrap_or_default().to_lowercase();
        if let Some(name) = ["script", "style"].into_iter().find(|name| *name == tag) {
            hidden = Some(name);
        } else if hidden.is_some_and(|name| tag.strip_prefix('/') == Some(name)) {
            hidden = None;
        }
        if hidden.is_none() {
            words.push(' ');
            words.push_str(text);
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn join(ours: &str, theirs: &str) -> String {
    if theirs.is_empty() { ours.to_owned() } else { format!("{ours}: {theirs}") }
}
