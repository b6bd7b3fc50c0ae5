//! Token counts where the provider gives none: ceil(ASCII characters / 4 + other characters) (spec 5.8).

use callsheet_runtime::ports::{Message, ModelRequest};

/// Tokens a message's frame (role and separators) takes in common chat templates, rounded up.
const FRAME_TOKENS: u64 = 8;

/// Estimated tokens of a text.
pub fn estimate(text: &str) -> u64 {
    u64::from(callsheet_core::spec::tokens(text))
}

/// Estimated tokens of everything a model reads for a request.
pub fn estimate_request(request: &ModelRequest) -> u64 {
    let messages: u64 = request
        .messages
        .iter()
        .map(|message| {
            FRAME_TOKENS
                + match message {
                    Message::User { text } => estimate(text),
                    Message::Assistant { text, calls } => {
                        let calls: u64 =
                            calls.iter().map(|call| estimate(&call.name) + estimate(&call.arguments.to_string())).sum();
                        estimate(text) + calls
                    }
                    Message::Tool { text, .. } => estimate(text),
                }
        })
        .sum();
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| {
            FRAME_TOKENS + estimate(&tool.name) + estimate(&tool.description) + estimate(&tool.parameters.to_string())
        })
        .sum();
    estimate(&request.system) + messages + tools
}
