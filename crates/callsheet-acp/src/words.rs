//! Texts for an editor. Editors render Markdown, so all text passes `Shown::markdown`: it then contains no HTML, loads
//! no pictures, and hides no characters.

use agent_client_protocol::v1::schema::{ContentBlock, ContentChunk, SessionUpdate, TextContent, ToolCallContent};
use callsheet_app::{Refusal, one_line};
use callsheet_runtime::shown::Shown;

use crate::limits::{LINE, WORDS};

/// A text for people, in a content block.
pub(crate) fn block(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(Shown::markdown(text).into_string()))
}

/// A paragraph of the agent's message.
pub(crate) fn message(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(block(&format!("{}\n\n", text.trim_end()))))
}

/// A part of the agent's message, which has passed the door.
pub(crate) fn chunk(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::Text(TextContent::new(text))))
}

/// A part of what the agent writes for itself, such as a plan. It has passed the door.
pub(crate) fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(ContentBlock::Text(TextContent::new(text))))
}

/// A line about progress. Editors fold such lines away.
pub(crate) fn progress(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(block(&format!("{}\n\n", one_line(text, WORDS)))))
}

/// What the person wrote earlier.
pub(crate) fn said(text: &str) -> SessionUpdate {
    SessionUpdate::UserMessageChunk(ContentChunk::new(block(text)))
}

/// A text as the content of a tool call.
pub(crate) fn content(text: &str) -> ToolCallContent {
    ToolCallContent::from(block(text))
}

/// A text on one line, for titles and plan entries.
pub(crate) fn line(text: &str) -> String {
    Shown::markdown(&one_line(text, LINE)).into_string()
}

/// The first `most` bytes of a text, and a note on how much is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    format!("{kept}\n\n[{} more bytes are not shown]", text.len().saturating_sub(kept.len()))
}

/// A refusal, and what to do about it.
pub(crate) fn refused(refusal: &Refusal) -> String {
    let Refusal { what, advice, .. } = refusal;
    if advice.is_empty() { what.clone() } else { format!("{what}. {advice}") }
}
