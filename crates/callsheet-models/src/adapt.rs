//! How requests are adapted to what a provider refuses: parameters are left out or renamed, the system text moves into
//! the first message, the token cap shrinks. Adaptations are learned from refusals or configured, and kept for each
//! model. Pure.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_runtime::ports::{Message, ModelRequest};
use serde_json::{Map, Value};

use crate::fault::numbers_in;

/// Names of the cap on the reply. Requests are built with the first one.
const CAPS: [&str; 6] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxOutputTokens", "num_predict"];

/// Members of a body that hold parameters.
const GROUPS: [&str; 2] = ["options", "generationConfig"];

/// Members that a request cannot do without, and members whose refusal the caller handles.
const KEPT: [&str; 20] = [
    "model",
    "messages",
    "input",
    "contents",
    "system",
    "instructions",
    "systemInstruction",
    "stream",
    "tools",
    "response_format",
    "grammar",
    "format",
    "text",
    "output_config",
    "responseMimeType",
    "responseJsonSchema",
    "options",
    "generationConfig",
    "num_ctx",
    "max_tokens",
];

/// Words of a refusal that show that a role is unknown.
const ROLE: [&str; 4] = ["role", "template", "system message", "system prompt"];

/// Role of the system text; also its name in settings.
const SYSTEM: &str = "system";

/// What is sent differently from the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adaptation {
    /// Parameters to leave out. `system` moves that text into the first message.
    pub omitted: BTreeSet<String>,
    /// New names of parameters, by their default name.
    pub names: BTreeMap<String, String>,
    /// The name of the cap on the reply.
    pub cap_name: Option<String>,
    /// The largest cap that the provider accepts.
    pub most_output: Option<u32>,
}

/// A change in response to a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Omit(String),
    NameCap(String),
    Cap(u32),
}

impl Change {
    /// The change that a refusal asks for, if the refusal names something that was sent.
    pub fn of(refusal: &str, sent: &Map<String, Value>, request: &ModelRequest) -> Option<Self> {
        let low = refusal.to_lowercase();
        Self::of_cap(&low, sent, request).or_else(|| {
            if !request.system.is_empty() && refuses_system(&low) {
                return Some(Self::Omit(SYSTEM.to_owned()));
            }
            let optional = parameters(sent).filter(|key| !KEPT.contains(key) && !CAPS.contains(key));
            let named = optional.filter_map(|key| Some((place_of(&low, key)?, key)));
            named.min().map(|(_, key)| Self::Omit(key.to_owned()))
        })
    }

    fn of_cap(low: &str, sent: &Map<String, Value>, request: &ModelRequest) -> Option<Self> {
        let ours = CAPS.iter().find(|name| parameters(sent).any(|sent| sent == **name))?;
        let named = place_of(low, ours).is_some();
        let other = CAPS.iter().find(|name| snake(name) != snake(ours) && place_of(low, name).is_some());
        if let Some(other) = other.filter(|_| named) {
            return Some(Self::NameCap((*other).to_owned()));
        }
        let numbers = numbers_in(low);
        let cap = u64::from(request.max_output_tokens);
        if named || other.is_some() || numbers.contains(&cap) {
            let smaller = numbers.into_iter().filter(|number| (1..cap).contains(number)).max();
            if let Some(most) = smaller.and_then(|most| u32::try_from(most).ok()) {
                return Some(Self::Cap(most));
            }
        }
        named.then(|| Self::Omit((*ours).to_owned()))
    }

    /// The change in words for people.
    pub fn words(&self, provider: &str) -> String {
        match self {
            Self::Omit(name) if name == SYSTEM => {
                format!(
                    "{provider} does not accept the system role, so its text goes into the first message ([providers.{provider}] omit)"
                )
            }
            Self::Omit(name) => {
                format!(
                    "{provider} does not accept `{name}`, so Callsheet no longer sends it ([providers.{provider}] omit)"
                )
            }
            Self::NameCap(name) => {
                format!("{provider} calls the limit of a reply `{name}` ([providers.{provider}] max_tokens_name)")
            }
            Self::Cap(most) => {
                format!("{provider} limits replies to {most} tokens ([providers.{provider}] max_output)")
            }
        }
    }
}

impl Adaptation {
    /// Adds a change. Returns false if it is already known.
    pub(crate) fn learn(&mut self, change: Change) -> bool {
        match change {
            Change::Omit(name) => self.omitted.insert(name),
            Change::NameCap(name) => self.cap_name.replace(name.clone()) != Some(name),
            Change::Cap(most) => self.most_output.replace(most) != Some(most),
        }
    }

    /// Applies the changes that must be made before the request is encoded for a wire.
    pub fn request(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        if self.omitted.contains("temperature") {
            request.temperature = None;
        }
        if self.omitted.contains("seed") {
            request.seed = None;
        }
        if let Some(most) = self.most_output {
            request.max_output_tokens = request.max_output_tokens.min(most);
        }
        if self.omitted.contains(SYSTEM) && !request.system.is_empty() {
            let system = std::mem::take(&mut request.system);
            match request.messages.first_mut() {
                Some(Message::User { text, .. }) => *text = format!("{system}\n\n{text}"),
                _ => request.messages.insert(0, Message::user(system)),
            }
        }
        request
    }

    /// Applies the other changes to the body.
    pub fn body(&self, body: &mut Map<String, Value>) {
        for (usual, name) in &self.names {
            rename(body, &[usual], name);
        }
        if let Some(name) = &self.cap_name {
            rename(body, &CAPS, name);
        }
        for name in self.omitted.iter().flat_map(|usual| [Some(usual), self.names.get(usual)]).flatten() {
            body.shift_remove(name);
            for group in GROUPS {
                if let Some(members) = body.get_mut(group).and_then(Value::as_object_mut) {
                    members.shift_remove(name);
                }
            }
        }
    }
}

/// The names of all parameters of a body.
fn parameters(body: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let inner = GROUPS.iter().filter_map(|name| body.get(*name)?.as_object()).flat_map(Map::keys);
    body.keys().chain(inner).map(String::as_str)
}

/// Renames the first of these members that exists.
fn rename(body: &mut Map<String, Value>, usual: &[&str], name: &str) {
    let in_group = GROUPS.iter().find(|group| {
        let members = body.get(**group).and_then(Value::as_object);
        members.is_some_and(|members| usual.iter().any(|usual| members.contains_key(*usual)))
    });
    let members = match in_group.and_then(|group| body.get_mut(*group)).and_then(Value::as_object_mut) {
        Some(members) => members,
        None => body,
    };
    if let Some(value) = usual.iter().find_map(|usual| members.shift_remove(*usual)) {
        members.insert(name.to_owned(), value);
    }
}

/// Whether the model's template, or the server, does not support a system text.
fn refuses_system(low: &str) -> bool {
    let only_others = low.contains("roles") && low.contains("user") && low.contains("assistant");
    place_of(low, SYSTEM).is_some() && ROLE.iter().any(|word| low.contains(word)) || only_others
}

/// Where a text names a parameter as a separate word, in either style of writing names.
fn place_of(low: &str, name: &str) -> Option<usize> {
    word_at(low, &snake(name)).or_else(|| word_at(low, &name.to_lowercase()))
}

/// Converts `maxTokens` to `max_tokens`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn word_at(low: &str, name: &str) -> Option<usize> {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    low.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = low.get(..*at).and_then(|text| text.chars().next_back());
        let behind = low.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(of_word) && !behind.is_some_and(of_word)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request() -> ModelRequest {
        serde_json::from_value(json!({
            "label": "", "system": "Be brief.", "messages": [{"role": "user", "text": "Hello"}],
            "max_output_tokens": 8192, "temperature": 0.2, "seed": 7,
        }))
        .unwrap()
    }

    fn sent() -> Map<String, Value> {
        let body = json!({"model": "m", "messages": [], "max_tokens": 8192, "temperature": 0.2, "seed": 7,
            "stream": true, "stream_options": {"include_usage": true}, "cache_prompt": true});
        body.as_object().unwrap().clone()
    }

    /// covers: 12.3
    #[test]
    fn a_refusal_names_what_is_to_change() {
        let omit = |name: &str| Some(Change::Omit(name.to_owned()));
        for (words, change) in [
            ("stream_options: Extra inputs are not permitted", omit("stream_options")),
            (r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"not permitted"}]}"#, omit("seed")),
            ("Unsupported value: 'temperature' does not support 0.2 with this model.", omit("temperature")),
            (
                "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
                Some(Change::NameCap("max_completion_tokens".to_owned())),
            ),
            (
                "max_tokens is too large: 8192. This model supports at most 4096 completion tokens",
                Some(Change::Cap(4096)),
            ),
            ("max_tokens must be between 1 and 2,048", Some(Change::Cap(2048))),
            ("8192 output tokens were asked for, at most 1024 are possible", Some(Change::Cap(1024))),
            ("unknown field max_tokens", omit("max_tokens")),
            ("System role not supported", omit("system")),
            ("the chat template knows no role system", omit("system")),
            ("Only user and assistant roles are supported!", omit("system")),
            ("unknown argument `cache_prompt` in streaming request", omit("cache_prompt")),
            ("invalid model", None),
            ("the system is down", None),
            ("reseed the randomseed", None),
        ] {
            assert_eq!(Change::of(words, &sent(), &request()), change, "{words}");
        }
    }

    #[test]
    fn what_was_learned_is_sent_otherwise() {
        let mut adapted = Adaptation::default();
        assert!(adapted.learn(Change::Omit("stream_options".to_owned())));
        assert!(!adapted.learn(Change::Omit("stream_options".to_owned())));
        adapted.learn(Change::Omit("system".to_owned()));
        adapted.learn(Change::Omit("seed".to_owned()));
        adapted.learn(Change::NameCap("max_completion_tokens".to_owned()));
        adapted.learn(Change::Cap(100));
        let request = adapted.request(&request());
        assert_eq!((request.system.as_str(), request.seed, request.max_output_tokens), ("", None, 100));
        assert_eq!(request.messages, [Message::user("Be brief.\n\nHello")]);
        let mut body = sent();
        adapted.body(&mut body);
        assert_eq!(body.get("max_completion_tokens"), Some(&json!(8192)));
        assert!(!body.contains_key("max_tokens") && !body.contains_key("stream_options") && !body.contains_key("seed"));
    }

    #[test]
    fn a_parameter_may_have_another_name() {
        let body = |adapted: &Adaptation| {
            let mut body = json!({"seed": 7, "generationConfig": {"maxOutputTokens": 5}}).as_object().unwrap().clone();
            adapted.body(&mut body);
            Value::Object(body)
        };
        let mut adapted = Adaptation { cap_name: Some("cap".to_owned()), ..Adaptation::default() };
        adapted.names.insert("seed".to_owned(), "random_seed".to_owned());
        assert_eq!(body(&adapted), json!({"generationConfig": {"cap": 5}, "random_seed": 7}));
        for omitted in ["seed", "random_seed"] {
            let adapted = Adaptation { omitted: BTreeSet::from([omitted.to_owned()]), ..adapted.clone() };
            assert_eq!(body(&adapted), json!({"generationConfig": {"cap": 5}}), "{omitted}");
        }
    }

    #[test]
    fn parameters_of_a_group_are_known_in_either_notation() {
        let sent = json!({"contents": [], "generationConfig": {"maxOutputTokens": 8192, "seed": 7}});
        for (words, change) in [
            ("maxOutputTokens must be at most 2048", Change::Cap(2048)),
            ("Invalid value at 'generation_config.max_output_tokens' (at most 2048)", Change::Cap(2048)),
            ("Unknown name \"seed\" at 'generation_config'", Change::Omit("seed".to_owned())),
        ] {
            assert_eq!(Change::of(words, sent.as_object().unwrap(), &request()), Some(change), "{words}");
        }
    }
}
