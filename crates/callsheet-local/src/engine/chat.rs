//! Turns a request into tokens, with the chat template of the model file.
//!
//! The texts of messages are tokenised separately and never as special tokens, so no document can forge a turn.

use callsheet_core::fence::fence;
use callsheet_core::nouns::ToolCall;
use callsheet_runtime::ports::{Message, ModelFault, ModelRequest};
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;

use super::session::engine_fault;

/// The template used when the file has none, or one llama.cpp does not know.
const FALLBACK: &str = "chatml";
/// A private-use character around the number of a message.
const MARK: char = '\u{E0C5}';

/// The whole request as tokens, up to the place where the reply starts.
pub(super) fn tokens(model: &LlamaModel, request: &ModelRequest) -> Result<Vec<LlamaToken>, ModelFault> {
    let turns = turns(request);
    let marks: Vec<String> = (0..turns.len()).map(|index| format!("{MARK}{index}{MARK}")).collect();
    let messages =
        turns.iter().zip(&marks).map(|((role, _), mark)| LlamaChatMessage::new((*role).into(), mark.clone()));
    let messages = messages.collect::<Result<Vec<_>, _>>().map_err(engine_fault)?;
    let framed = frame(model, &messages)?;
    let vocab = model.vocab();
    let mut tokens = Vec::new();
    let mut rest = framed.as_str();
    let bos = String::from_utf8_lossy(&vocab.token_to_piece(vocab.bos(), true, None)).into_owned();
    // The template may write the first token itself.
    let mut add_first = vocab.should_add_bos() && (bos.is_empty() || !framed.starts_with(&bos));
    for ((_, text), mark) in turns.iter().zip(&marks) {
        let Some((before, after)) = rest.split_once(mark.as_str()) else {
            return Err(engine_fault("the chat template of the file dropped a message"));
        };
        vocab.tokenize_into(before.as_bytes(), &mut tokens, add_first, true);
        vocab.tokenize_into(text.as_bytes(), &mut tokens, false, false);
        (rest, add_first) = (after, false);
    }
    vocab.tokenize_into(rest.as_bytes(), &mut tokens, add_first, true);
    Ok(tokens)
}

fn frame(model: &LlamaModel, messages: &[LlamaChatMessage]) -> Result<String, ModelFault> {
    let complete = |framed: &String| (0..messages.len()).all(|index| framed.contains(&format!("{MARK}{index}{MARK}")));
    let own =
        model.chat_template(None).ok().and_then(|template| model.apply_chat_template(&template, messages, true).ok());
    if let Some(framed) = own.filter(complete) {
        return Ok(framed);
    }
    let template = LlamaChatTemplate::new(FALLBACK).map_err(engine_fault)?;
    model.apply_chat_template(&template, messages, true).map_err(engine_fault)
}

/// Roles and texts. Consecutive texts of one role become one turn, because many templates require alternating roles.
fn turns(request: &ModelRequest) -> Vec<(&'static str, String)> {
    let mut turns: Vec<(&'static str, String)> = Vec::new();
    if !request.system.trim().is_empty() {
        turns.push(("system", request.system.clone()));
    }
    for message in &request.messages {
        let (role, text) = match message {
            Message::User { text, .. } => ("user", text.clone()),
            Message::Tool { id, text, .. } => ("user", tool_output(id, text)),
            Message::Assistant { text, calls } => ("assistant", with_calls(text, calls)),
        };
        match turns.last_mut().filter(|(last, _)| *last == role) {
            Some((_, known)) => {
                known.push_str("\n\n");
                known.push_str(&text);
            }
            None => turns.push((role, text)),
        }
    }
    turns
}

/// Writes a tool output like the output of a fixed call (spec 10.4): it names its call and stands in a fence, so the
/// model cannot take it for words of the user.
fn tool_output(id: &str, text: &str) -> String {
    format!("### Tool output {id}\n\n{}", fence("text", text).trim_end())
}

/// Writes calls in the wire format of spec 3.7. A model without tool calling has already written them into its text, so
/// they are not repeated.
fn with_calls(text: &str, calls: &[ToolCall]) -> String {
    let mut out = text.trim_end().to_owned();
    if calls.is_empty() || out.to_lowercase().contains("## tool calls") {
        return out;
    }
    out.push_str(if out.is_empty() { "## Tool Calls" } else { "\n## Tool Calls" });
    for call in calls {
        let json = serde_json::json!({ "name": call.name, "id": call.id, "arguments": call.arguments });
        out.push_str(&format!("\n```json\n{json}\n```"));
    }
    out
}
