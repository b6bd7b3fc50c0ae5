//! The requests that the suite sends. Their words are files under `prompts/conformance`.

use std::time::Duration;

use callsheet_core::nouns::{RepeatClass, ToolCall, ToolEffect, ToolSpec};
use callsheet_format::grammar;
use callsheet_format::grammar::{Expr, Form, Grammar};
use serde_json::{Value, json};

use crate::ports::{Constraint, Message, ModelRequest};

/// Time that the call of a check may take, because small machines are slow.
const DEADLINE: Duration = Duration::from_secs(120);

fn request(label: &str, text: &str, max_output_tokens: u32) -> ModelRequest {
    ModelRequest {
        label: format!("conformance {label}"),
        system: include_str!("../../prompts/conformance/system.md").trim_end().to_owned(),
        messages: vec![Message::user(text.trim_end())],
        tools: Vec::new(),
        native_tools: Vec::new(),
        constraint: None,
        max_output_tokens,
        temperature: Some(0.0),
        seed: Some(7),
        deadline: DEADLINE,
    }
}

/// A plain question.
pub(super) fn text() -> ModelRequest {
    request("text", include_str!("../../prompts/conformance/text.md"), 64)
}

/// A request for something long, cut at `max_output_tokens`. Also used to measure speed.
pub fn story_request(max_output_tokens: u32) -> ModelRequest {
    request("story", include_str!("../../prompts/conformance/story.md"), max_output_tokens)
}

/// A question that needs the tool.
pub(super) fn tool() -> ModelRequest {
    let mut request = request("tool", include_str!("../../prompts/conformance/tool.md"), 200);
    request.tools.push(weather());
    request
}

/// A conversation in which two calls of one turn were answered, one of them by a failure.
pub(super) fn results() -> ModelRequest {
    let mut request = request("results", include_str!("../../prompts/conformance/results.md"), 64);
    request.tools.push(weather());
    let call =
        |id: &str, city: &str| ToolCall { name: "weather".into(), id: id.into(), arguments: json!({"city": city}) };
    let result = |id: &str, text: &str, error: bool| Message::Tool {
        id: id.into(),
        name: "weather".into(),
        text: text.into(),
        error,
    };
    let calls = vec![call("weather-1", "Oslo"), call("weather-2", "Rome")];
    request.messages.push(Message::Assistant { text: String::new(), calls });
    request.messages.push(result("weather-1", "4 °C, rain", false));
    request.messages.push(result("weather-2", "21 °C, sun", true));
    request
}

/// A question whose reply must match a schema.
pub(super) fn schema() -> ModelRequest {
    let mut request = request("schema", include_str!("../../prompts/conformance/schema.md"), 64);
    request.constraint = Some(Constraint { json_schema: Some(tomato_schema()), ..Constraint::default() });
    request
}

/// The form of the reply to [`twin`]: a merge, which is the shortest form.
pub(super) fn twin_form() -> Form {
    grammar::merge()
}

/// A question whose whole reply is requested in its JSON form.
pub(super) fn twin() -> ModelRequest {
    let mut request = request("twin", include_str!("../../prompts/conformance/twin.md"), 200);
    let form = twin_form();
    request.constraint = Some(Constraint { json_schema: Some(form.schema()), form: Some(form), grammar: None });
    request
}

/// A question whose reply must follow a grammar.
pub(super) fn grammar() -> ModelRequest {
    let mut request = request("grammar", include_str!("../../prompts/conformance/grammar.md"), 16);
    let choice = Expr::Choice(vec![Expr::Literal("yes".into()), Expr::Literal("no".into())]);
    let grammar = Grammar { rules: vec![("root".into(), choice)] };
    request.constraint = Some(Constraint { grammar: Some(grammar), ..Constraint::default() });
    request
}

/// A prompt of about `tokens` tokens.
pub(super) fn long(tokens: u32) -> ModelRequest {
    let words = "alpha beta gamma delta ".repeat(usize::try_from(tokens / 4).unwrap_or_default());
    request("long", &words, 16)
}

fn tomato_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "green", "yellow"]},
            "letters": {"type": "integer"},
        },
        "required": ["colour", "letters"],
        "additionalProperties": false,
    })
}

fn weather() -> ToolSpec {
    ToolSpec {
        name: "weather".to_owned(),
        description: include_str!("../../prompts/conformance/tool-description.md").trim_end().to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": false,
        }),
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}
