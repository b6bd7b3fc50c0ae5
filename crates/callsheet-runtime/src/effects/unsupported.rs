//! Finds what a result says without having read it (spec 3.14): compares its text with the prompt that it answers.

use callsheet_format::reply::{still_said, unsupported};
use serde::Deserialize;

use crate::fault::DriveFault;
use crate::ports::Message;

/// The part of a recorded prompt that counts as material.
#[derive(Deserialize)]
struct Asked {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    system: String,
    messages: Vec<Message>,
}

/// Everything that a recorded prompt tells its model.
pub(super) fn shown_text(prompt: &[u8]) -> Result<String, DriveFault> {
    let asked: Asked = serde_json::from_slice(prompt).map_err(DriveFault::defect)?;
    let shown = asked.request.messages.iter().filter(|message| !matches!(message, Message::Assistant { .. }));
    Ok(shown.fold(asked.request.system, |text, message| format!("{text}\n{}", message.text())))
}

/// What `text` says word for word, although neither the recorded prompt nor `own` shows it. `own` is what the reply
/// writes into files. Also returns those of `marks`, of its sources, that it still says.
pub(super) fn not_found<'a>(
    prompt: &[u8],
    text: &str,
    own: &str,
    marks: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<String>, DriveFault> {
    let asked: Asked = serde_json::from_slice(prompt).map_err(DriveFault::defect)?;
    // What the model itself said earlier shows nothing.
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
