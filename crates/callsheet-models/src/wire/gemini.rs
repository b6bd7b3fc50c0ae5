//! Gemini `generateContent`. The path contains the name of the model.

use callsheet_core::nouns::ToolCall;
use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{Message, ShownPicture};
use serde_json::{Map, Value, json};

use super::end::End;
use super::{
    Asked, Decoded, Decoder, RawCall, Turn, WireError, append, base64_of, frame_value, is_own_id, object, turns,
};

/// The maximum number of calls kept of one reply.
const MAX_CALLS: usize = 128;

/// Replaces a lost signature, for models that refuse calls without one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The request for this wire.
pub fn encode(asked: &Asked<'_>) -> Map<String, Value> {
    let request = asked.request;
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": request.system}]}));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}),
        );
        body.insert("tools".to_owned(), json!([{"functionDeclarations": tools.collect::<Vec<_>>()}]));
    }
    let contents = turns(request).into_iter().map(|turn| content(asked, turn));
    body.insert("contents".to_owned(), Value::Array(contents.collect()));
    let mut config = Map::new();
    if let Some(schema) = asked.schema() {
        config.insert("responseMimeType".to_owned(), json!("application/json"));
        config.insert("responseJsonSchema".to_owned(), schema);
    }
    if let Some(temperature) = request.temperature {
        config.insert("temperature".to_owned(), json!(temperature));
    }
    config.insert("maxOutputTokens".to_owned(), json!(request.max_output_tokens));
    if let Some(seed) = request.seed {
        config.insert("seed".to_owned(), json!(seed));
    }
    body.insert("generationConfig".to_owned(), Value::Object(config));
    body
}

fn content(asked: &Asked<'_>, turn: Turn<'_>) -> Value {
    let (role, parts) = match turn {
        Turn::User { text, pictures } => {
            ("user", pictures.iter().map(inline).chain([json!({"text": text})]).collect::<Vec<_>>())
        }
        Turn::Assistant { text, calls } => {
            let said = (!text.is_empty()).then(|| json!({"text": text}));
            let called = calls.iter().enumerate().map(|(number, call)| function_call(asked, number, call));
            ("model", said.into_iter().chain(called).collect())
        }
        Turn::Results(results) => ("user", results.iter().map(|result| function_response(result)).collect()),
    };
    json!({"role": role, "parts": parts})
}

fn inline(picture: &ShownPicture) -> Value {
    json!({"inlineData": {"mimeType": picture.about.format.media_type(), "data": base64_of(picture)}})
}

fn function_call(asked: &Asked<'_>, number: usize, call: &ToolCall) -> Value {
    let mut part = json!({"functionCall": {"name": call.name, "args": object(&call.arguments)}});
    add_id(&mut part, "/functionCall", &call.id, &call.name);
    let stand_in = || (asked.shape.signed_calls && number == 0).then(|| json!(NO_SIGNATURE));
    let signature = asked.thoughts_of(call).cloned().or_else(stand_in);
    if let (Some(signature), Some(members)) = (signature, part.as_object_mut()) {
        members.insert("thoughtSignature".to_owned(), signature);
    }
    part
}

fn function_response(message: &Message) -> Value {
    let Message::Tool { id, name, text, error } = message else { return Value::Null };
    let key = if *error { "error" } else { "output" };
    let mut part = json!({"functionResponse": {"name": name, "response": {key: text}}});
    add_id(&mut part, "/functionResponse", id, name);
    part
}

/// Adds the id of a call. Calls that came without an id go back without one; their order distinguishes them.
fn add_id(part: &mut Value, place: &str, id: &str, name: &str) {
    if let Some(members) = part.pointer_mut(place).and_then(Value::as_object_mut).filter(|_| !is_own_id(id, name)) {
        members.insert("id".to_owned(), json!(id));
    }
}

/// Reads the answers of a stream, each with the parts that it adds, or all of them in one list.
#[derive(Debug, Default)]
pub struct ContentDecoder {
    decoded: Decoded,
    end: End,
    seen: bool,
}

impl Decoder for ContentDecoder {
    fn feed(&mut self, frame: &str) -> Result<String, WireError> {
        match frame_value(frame)? {
            Value::Array(answers) => answers.iter().try_fold(String::new(), |mut text, answer| {
                append(&mut text, &self.read(answer)?)?;
                Ok(text)
            }),
            answer => self.read(&answer),
        }
    }

    fn is_done(&self) -> bool {
        self.end.marked
    }

    fn finish(self: Box<Self>) -> Result<Decoded, WireError> {
        if self.seen { self.decoded.ended(&self.end) } else { Err(WireError::Empty) }
    }

    fn stop(self: Box<Self>) -> Decoded {
        Decoded { stop: StopReason::Repeated, ..self.decoded }
    }
}

impl ContentDecoder {
    fn read(&mut self, answer: &Value) -> Result<String, WireError> {
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(WireError::Refused(error.clone()));
        }
        self.seen = true;
        if let Some(usage) = answer.get("usageMetadata").and_then(usage) {
            self.decoded.usage = Some(usage);
        }
        if answer.pointer("/promptFeedback/blockReason").is_some_and(Value::is_string) {
            self.end.say("blocked");
            self.end.marked = true;
        }
        let Some(candidate) = answer.pointer("/candidates/0") else { return Ok(String::new()) };
        if let Some(word) = candidate.get("finishReason").and_then(Value::as_str) {
            self.end.say(word);
            self.end.marked = true;
        }
        let mut said = String::new();
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            if let Some(call) = part.get("functionCall").filter(|_| self.decoded.calls.len() < MAX_CALLS) {
                let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let arguments = call.get("args").filter(|args| !args.is_null()).cloned().unwrap_or_else(|| json!({}));
                let thought = part.get("thoughtSignature").cloned();
                self.decoded.calls.push(RawCall { id: text("id"), name: text("name"), arguments, thought });
            }
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            if part.get("thought").and_then(Value::as_bool) == Some(true) {
                append(&mut self.decoded.thinking, text)?;
            } else {
                append(&mut self.decoded.text, text)?;
                said.push_str(text);
            }
        }
        Ok(said)
    }
}

/// Thinking is counted apart from the candidates, and what the vendor's tools read apart from the prompt.
fn usage(told: &Value) -> Option<Usage> {
    let count = |key: &str| told.get(key).and_then(Value::as_u64).unwrap_or_default();
    told.get("promptTokenCount").and_then(Value::as_u64)?;
    Some(Usage {
        input: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cached: count("cachedContentTokenCount"),
        cost_usd: None,
    })
}
