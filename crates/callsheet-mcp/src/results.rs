//! Turns results of calls into text for a model.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use callsheet_core::nouns::{PICTURES, Picture};
use callsheet_core::visible::visible_line;
use callsheet_runtime::pictures::picture_of;
use callsheet_runtime::ports::ShownPicture;
use rmcp::model::{ContentBlock, ResourceContents};
use serde::Deserialize;
use serde_json::Value;

use crate::words::say;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Its result, with the pictures that the text names, in its order.
    Result(String, Vec<ShownPicture>),
    /// The tool reports that it failed.
    Failed(String),
}

/// The text of a result: at most `cap` bytes, and a note if more was cut. Blocks without text are only named.
pub(crate) fn answer(result: &Value, cap: usize) -> Answer {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = blocks.iter().map(|block| ContentBlock::deserialize(block).map_err(|_| block)).collect::<Vec<_>>();
    let mut pictures = Vec::new();
    let mut parts: Vec<String> = read
        .iter()
        .map(|read| read.as_ref().map_or_else(|odd| unknown(odd), |known| block(known, &mut pictures)))
        .collect();
    // Servers usually repeat structured content as text for models, so the text is enough.
    let has_text = read.iter().any(|block| matches!(block, Ok(ContentBlock::Text(_))));
    if let Some(structured) = result.get("structuredContent").filter(|_| !has_text) {
        parts.push(serde_json::to_string_pretty(structured).unwrap_or_default());
    }
    let mut text = parts.join("\n");
    if text.trim().is_empty() {
        text = say("nothing", &[]);
    }
    let shown = text.floor_char_boundary(cap);
    if shown < text.len() {
        let note = say("cut", &[("shown", &shown), ("all", &text.len())]);
        text.truncate(shown);
        text.push_str(&format!("\n{note}"));
    }
    match result.get("isError") {
        Some(Value::Bool(true)) => Answer::Failed(text),
        _ => Answer::Result(text, pictures),
    }
}

fn unknown(block: &Value) -> String {
    let kind: String = block.get("type").and_then(Value::as_str).unwrap_or("unknown").chars().take(40).collect();
    say("not-shown", &[("kind", &"content"), ("type", &visible_line(&kind)), ("bytes", &block.to_string().len())])
}

/// The text of a block. Adds its picture, if a model may see it.
fn block(block: &ContentBlock, pictures: &mut Vec<ShownPicture>) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            shown(&image.data, pictures).unwrap_or_else(|| not_shown("picture", &image.mime_type, &image.data))
        }
        ContentBlock::Audio(audio) => not_shown("sound", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("{}\n{text}", say("resource", &[("name", &"resource"), ("uri", uri)]))
            }
            ResourceContents::BlobResourceContents { mime_type, blob, .. } => shown(blob, pictures)
                .unwrap_or_else(|| not_shown("file", mime_type.as_deref().unwrap_or("unknown"), blob)),
            _ => not_shown("resource", "unknown", ""),
        },
        ContentBlock::ResourceLink(link) => say("resource", &[("name", &link.name), ("uri", &link.uri)]),
        _ => not_shown("content", "unknown", ""),
    }
}

/// What is said of a picture, which is added to those that a model may see. `None` if it cannot be shown.
fn shown(data: &str, pictures: &mut Vec<ShownPicture>) -> Option<String> {
    let shown = picture(data).filter(|_| pictures.len() < PICTURES)?;
    let Picture { format, width, height, .. } = shown.about;
    pictures.push(shown);
    Some(say("picture", &[("format", &format.name()), ("width", &width), ("height", &height)]))
}

/// A picture by its content, whatever type the server claims.
pub(crate) fn picture(data: &str) -> Option<ShownPicture> {
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    let about = picture_of(&bytes).filter(|about| !about.is_too_large())?;
    Some(ShownPicture { about, content: bytes.into() })
}

fn not_shown(kind: &str, mime: &str, base64: &str) -> String {
    say("not-shown", &[("kind", &kind), ("type", &mime), ("bytes", &(base64.len() / 4 * 3))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: Value, cap: usize) -> Answer {
        answer(&value, cap)
    }

    fn result(text: impl Into<String>) -> Answer {
        Answer::Result(text.into(), Vec::new())
    }

    #[test]
    fn a_structure_is_shown_without_a_text_and_pictures_are_named() {
        let shown = of(
            json!({"content": [
                {"type": "image", "data": "QUJD", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
                {"type": "resource_link", "uri": "file:///b", "name": "b"}
            ], "structuredContent": {"n": 1}}),
            1_000,
        );
        let wanted = "[picture of type image/png, about 3 bytes, not shown]\n[resource: file:///a]\ntwo\n[b: file:///b]\n{\n  \"n\": 1\n}";
        assert_eq!(shown, result(wanted));
        let repeated = of(json!({"content": [{"type": "text", "text": "n is 1"}], "structuredContent": {"n": 1}}), 99);
        assert_eq!(repeated, result("n is 1"));
    }

    /// The type that the server claims does not count.
    ///
    /// covers: 13.4
    #[test]
    fn a_picture_is_passed_on_by_its_content() {
        let dot = "R0lGODdhAQABAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs=";
        let block = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/svg+xml"});
        let Answer::Result(text, pictures) = of(json!({"content": [block(dot), block("PHN2Zy8+")]}), 1_000) else {
            panic!("it failed");
        };
        let wanted = "[picture: GIF, 1 x 1 pixels]\n[picture of type image/svg+xml, about 6 bytes, not shown]";
        assert_eq!((text.as_str(), pictures.len()), (wanted, 1));
        let many = vec![block(dot); PICTURES + 1];
        let Answer::Result(_, pictures) = of(json!({"content": many}), 10_000) else { panic!("it failed") };
        assert_eq!(pictures.len(), PICTURES);
    }

    #[test]
    fn a_block_of_an_unknown_kind_loses_nothing_else() {
        let shown = of(json!({"content": [{"type": "hologram", "x": 1}, {"type": "text", "text": "41 cm"}, 3]}), 1_000);
        let wanted = "[content of type hologram, about 25 bytes, not shown]\n41 cm\n[content of type unknown, about 1 bytes, not shown]";
        assert_eq!(shown, result(wanted));
    }

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let shown = of(json!({"content": [{"type": "text", "text": "ä".repeat(50)}], "isError": true}), 11);
        assert_eq!(shown, Answer::Failed(format!("{}\n[cut: 10 of 100 bytes shown]", "ä".repeat(5))));
        assert_eq!(of(json!({"content": []}), 10), result("The call s\n[cut: 10 of 38 bytes shown]"));
    }
}
