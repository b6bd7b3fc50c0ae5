//! One table that says whose fault a provider's refusal is (spec 12.1-12.3), for every dialect and vendor.

use std::time::{Duration, SystemTime};

use callsheet_runtime::ports::ModelFault;
use serde_json::Value;

/// Characters of a provider's own words kept in a fault.
const MAX_WORDS: usize = 400;

/// What vendors say, in lower case, when a prompt is too long. Matched on any refusal but 401, 403 and 429.
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

/// Error types inside a stream (where there is no status) that a retry may mend.
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

/// Whom a fault names: what the user can look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultContext {
    /// Provider name.
    pub provider: String,
    /// Model name.
    pub model: String,
    /// Variable the key came from.
    pub key_variable: Option<String>,
}

/// The fault for an HTTP status that is not 2xx.
pub fn from_status(status: u16, body: &str, retry_after: Option<Duration>, context: &FaultContext) -> ModelFault {
    let words = words_of(body);
    let provider = &context.provider;
    if !matches!(status, 401 | 403 | 429) && is_overflow(body) {
        return ModelFault::ContextOverflow { message: words };
    }
    match status {
        408 | 425 | 429 | 500..=599 => {
            ModelFault::Communication { message: join(&format!("{provider} answered {status}"), &words), retry_after }
        }
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
            message: join(&format!("{provider} knows no model `{}` or no such address (404)", context.model), &words),
        },
        300..=399 => ModelFault::Configuration {
            message: format!("{provider} redirects ({status}); set `base_url` to the address it redirects to"),
        },
        _ => {
            ModelFault::Configuration { message: join(&format!("{provider} rejected the request ({status})"), &words) }
        }
    }
}

/// The fault for an error object that came inside a stream.
pub fn from_stream(error: &Value, context: &FaultContext) -> ModelFault {
    let body = error.to_string();
    if let Some(status) = stream_status(error) {
        return from_status(status, &body, None, context);
    }
    if is_overflow(&body) {
        return ModelFault::ContextOverflow { message: words_of(&body) };
    }
    let low = body.to_lowercase();
    let message = join(&format!("{} broke off with an error", context.provider), &words_of(&body));
    if PASSING.iter().any(|text| low.contains(text)) {
        return ModelFault::Communication { message, retry_after: None };
    }
    ModelFault::Configuration { message }
}

/// A communication fault without a waiting time.
pub fn communication(message: impl Into<String>) -> ModelFault {
    ModelFault::Communication { message: message.into(), retry_after: None }
}

/// The words of a provider say that the prompt does not fit.
pub fn is_overflow(words: &str) -> bool {
    let low = words.to_lowercase();
    OVERFLOW.iter().any(|text| low.contains(text))
}

/// The waiting time a provider asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub fn retry_after(header: impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.trim().parse::<u64>().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let text = header("retry-after")?;
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// The status some servers put into the error object, as `code` or `status`.
fn stream_status(error: &Value) -> Option<u16> {
    let inner = error.get("error").unwrap_or(error);
    ["code", "status", "status_code", "statusCode"]
        .iter()
        .find_map(|key| inner.get(key).and_then(Value::as_u64))
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code))
}

/// The provider's own words: the message of a JSON error, else the text, on one line, cut.
fn words_of(body: &str) -> String {
    let text = serde_json::from_str::<Value>(body).ok().and_then(|value| message_in(&value));
    let text = text.unwrap_or_else(|| body.to_owned());
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

fn join(ours: &str, theirs: &str) -> String {
    if theirs.is_empty() { ours.to_owned() } else { format!("{ours}: {theirs}") }
}
