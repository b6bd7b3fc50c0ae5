//! Content in the forms that servers send: a text, a list of parts, or a single part.

use serde_json::Value;

/// Keys of a part that contain thinking.
const THINKING: [&str; 2] = ["thinking", "reasoning"];
/// Types of parts that are thinking, whichever key contains their text.
const THINKING_TYPES: [&str; 3] = ["thinking", "reasoning", "reasoning_text"];
/// The deepest nesting of parts.
const MAX_DEPTH: usize = 8;

/// Visible text and thinking in a piece of content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Visible text.
    pub text: String,
    /// Thinking.
    pub thinking: String,
}

/// Reads content of any form.
pub(crate) fn read(value: &Value) -> Content {
    let mut content = Content::default();
    collect(value, false, MAX_DEPTH, &mut content);
    content
}

fn collect(value: &Value, thinks: bool, depth: usize, content: &mut Content) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::String(text) if thinks => content.thinking.push_str(text),
        Value::String(text) => content.text.push_str(text),
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, thinks, depth, content)),
        Value::Object(part) => {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            let thinks = thinks || THINKING_TYPES.contains(&kind);
            for key in THINKING {
                if let Some(inner) = part.get(key) {
                    collect(inner, true, depth, content);
                }
            }
            for key in ["text", "content"] {
                if let Some(inner) = part.get(key) {
                    collect(inner, thinks, depth, content);
                    break;
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_has_many_shapes() {
        for (value, text, thinking) in [
            (json!("a"), "a", ""),
            (json!(null), "", ""),
            (json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", ""),
            (json!({"type": "text", "text": "a"}), "a", ""),
            (json!(["a", "b"]), "ab", ""),
            (json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "a"}]), "a", "hm"),
            (json!([{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "a"}]), "a", "hm"),
            (json!([{"type": "image_url", "image_url": {"url": "x"}}]), "", ""),
        ] {
            let found = read(&value);
            assert_eq!((found.text.as_str(), found.thinking.as_str()), (text, thinking), "{value}");
        }
    }
}
