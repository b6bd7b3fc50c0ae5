//! Converts tool names to a form that a provider accepts, and back (spec "Templates" 14). Most canonical names are
//! unchanged; names from other sources may contain characters that no wire accepts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::{Message, ModelRequest};

/// The longest name that every provider accepts.
const LONGEST: usize = 64;
/// Letters of the hash that distinguishes shortened or converted names.
const HASHED: usize = 8;

/// The tools of a request under the names of the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Canonical names by their wire name, for those that differ.
    canonical: BTreeMap<String, String>,
    wire: BTreeMap<String, String>,
}

impl Names {
    /// The names of a request: the tools that it offers, and those of earlier calls.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let mut names = Self::default();
        let offered = request.tools.iter().map(|tool| tool.name.as_str());
        let called = request.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.iter().map(|call| call.name.as_str()).collect(),
            Message::Tool { name, .. } => vec![name.as_str()],
            Message::User { .. } => Vec::new(),
        });
        for name in offered.chain(called).filter(|name| !is_plain(name)) {
            let encoded = encoded(name);
            names.canonical.insert(encoded.clone(), name.to_owned());
            names.wire.insert(name.to_owned(), encoded);
        }
        names
    }

    /// The request with wire names.
    pub(crate) fn encode<'a>(&self, request: &'a ModelRequest) -> Cow<'a, ModelRequest> {
        if self.wire.is_empty() {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for tool in &mut request.tools {
            self.rename(&mut tool.name);
        }
        for message in &mut request.messages {
            match message {
                Message::Assistant { calls, .. } => calls.iter_mut().for_each(|call| self.rename(&mut call.name)),
                Message::Tool { name, .. } => self.rename(name),
                Message::User { .. } => {}
            }
        }
        Cow::Owned(request)
    }

    fn rename(&self, name: &mut String) {
        if let Some(encoded) = self.wire.get(name.as_str()) {
            name.clone_from(encoded);
        }
    }

    /// The canonical name for a wire name.
    pub(crate) fn canonical(&self, name: String) -> String {
        self.canonical.get(&name).cloned().unwrap_or(name)
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty()
        && name.len() <= LONGEST
        && name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// A name that every provider accepts. A hash distinguishes it from other names that look the same after conversion.
fn encoded(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let hash = BlobId::of(name.as_bytes());
    let kept: String = name.chars().map(plain).take(LONGEST - HASHED - 3).collect();
    format!("t_{kept}_{}", hash.as_str().get(..HASHED).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use callsheet_core::nouns::{RepeatClass, ToolCall, ToolEffect, ToolSpec};
    use serde_json::json;

    fn request(names: &[&str]) -> ModelRequest {
        let tools = names.iter().map(|name| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({}),
            effect: ToolEffect::Read,
            repeat: RepeatClass::Read,
            exclusive: false,
            named_only: false,
            aliases: Vec::new(),
            granted_as: None,
        });
        let mut request: ModelRequest =
            serde_json::from_value(json!({"label": "", "system": "", "messages": [], "max_output_tokens": 1})).unwrap();
        request.tools = tools.collect();
        request
    }

    /// covers: templates 14, C45
    #[test]
    fn names_are_encoded_and_mapped_back() {
        let long = "x".repeat(80);
        let odd = ["server.tool", "server_tool", "9lives", "größe", "", long.as_str()];
        let mut request = request(&odd);
        let call = |name: &&str| ToolCall { name: (*name).to_owned(), id: "1".to_owned(), arguments: json!({}) };
        request.messages = vec![Message::Assistant { text: String::new(), calls: odd.iter().map(call).collect() }];
        let names = Names::of(&request);
        let sent = names.encode(&request).into_owned();
        let wire: Vec<String> = sent.tools.iter().map(|tool| tool.name.clone()).collect();
        assert!(wire.iter().all(|name| is_plain(name)), "{wire:?}");
        assert_eq!(wire.iter().collect::<std::collections::BTreeSet<_>>().len(), odd.len(), "{wire:?}");
        let back: Vec<String> = wire.iter().map(|name| names.canonical(name.clone())).collect();
        assert_eq!(back, odd);
        let Message::Assistant { calls, .. } = &sent.messages[0] else { panic!("{sent:?}") };
        assert_eq!(calls.iter().map(|call| &call.name).collect::<Vec<_>>(), wire.iter().collect::<Vec<_>>());
        assert_eq!(sent.tools[1].name, "server_tool", "a plain name goes as it is");
    }
}
