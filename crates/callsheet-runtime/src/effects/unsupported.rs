//! What a result says and never read (spec 3.14): its text beside the prompt that it replies to.

use callsheet_format::reply::{still_said, unsupported};
use serde::Deserialize;

use crate::fault::DriveFault;
use crate::ports::Message;

/// The part of a recorded prompt that is material.
#[derive(Deserialize)]
struct Asked {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    system: String,
    messages: Vec<Message>,
}

/// All that a recorded prompt says to its model.
pub(super) fn shown_text(prompt: &[u8]) -> Result<String, DriveFault> {
    let asked: Asked = serde_json::from_slice(prompt).map_err(DriveFault::defect)?;
    let shown = asked.request.messages.iter().filter(|message| !matches!(message, Message::Assistant { .. }));
    Ok(shown.fold(asked.request.system, |text, message| format!("{text}\n{}", message.text())))
}

/// What `text` says word for word and neither the recorded prompt nor `own` shows, which is what the reply writes into files;
/// and those of `marks`, of what it was made of, that it still says.
pub(super) fn not_found<'a>(
    prompt: &[u8],
    text: &str,
    own: &str,
    marks: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<String>, DriveFault> {
    let asked: Asked = serde_json::from_slice(prompt).map_err(DriveFault::defect)?;
    // What the model said itself earlier shows nothing.
    let shown = asked.request.messages.iter().filter(|message| !matches!(message, Message::Assistant { .. }));
    let known = [own, asked.request.system.as_str()].into_iter();
    let material: Vec<&str> = known.chain(shown.map(Message::text)).collect();
    let mut found = unsupported(text, &material);
    for mark in still_said(text, marks) {
        if !found.contains(&mark) {
            found.push(mark);
        }
    }
    Ok(found)
}
