//! Tools as a server declares them, and as models and skills see them.

use callsheet_core::nouns::{BlobId, RepeatClass, ToolEffect, ToolSpec};
use callsheet_core::visible::visible;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::expansion::expansion_fault;
use crate::limits::{DESCRIPTION, NAME, SCHEMA, TOLD, TOLD_PART};
use crate::settings::ServerSettings;
use crate::words::say;

/// A tool as its server declares it. A person confirms all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredTool {
    /// The name that the server uses.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub schema: Value,
}

/// The name that models and skills use: `SERVER__TOOL`.
pub fn canonical_name(server: &str, tool: &str) -> String {
    let mut name = String::new();
    for c in server.chars().map(plain) {
        // `__` separates server and tool, so the server's part contains no two in a row.
        if c != '_' || !name.ends_with('_') {
            name.push(c);
        }
    }
    let tool: String = tool.chars().map(plain).collect();
    format!("{}__{tool}", name.trim_matches('_'))
}

fn plain(c: char) -> char {
    let c = c.to_ascii_lowercase();
    if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '_' }
}

impl DeclaredTool {
    /// Reads a tool from a server's list. [`Self::fault`] later reports what is missing or of the wrong type.
    pub(crate) fn of(listed: Value) -> Self {
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let (name, description) = (text(listed.get("name")), text(listed.get("description")));
        let schema = listed.get("inputSchema").cloned().unwrap_or_default();
        Self { name, description, schema }
    }

    /// The hash of the declaration and of the server's place.
    fn hash(&self, place: &BlobId) -> BlobId {
        BlobId::of(&serde_json::to_vec(&(place, self)).unwrap_or_default())
    }

    /// Tells a person why the tool cannot be used. `None` if it can.
    pub fn fault(&self) -> Option<String> {
        let schema = serde_json::to_string(&self.schema).map_or(usize::MAX, |text| text.len());
        let known = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        if self.name.is_empty() || self.name.len() > NAME || !self.name.chars().all(known) {
            return Some(format!("its name must have 1 to {NAME} letters, digits, `_`, `-`, `.` and `/`"));
        }
        if self.description.len() > DESCRIPTION {
            return Some(format!("its description has more than {DESCRIPTION} bytes"));
        }
        if schema > SCHEMA {
            return Some(format!("the schema of its arguments has more than {SCHEMA} bytes"));
        }
        if !self.schema.is_object() {
            return Some("it has no schema for its arguments".to_owned());
        }
        if let Some(why) = expansion_fault(&self.schema) {
            return Some(format!("the schema of its arguments can't be used: {why}"));
        }
        let error = jsonschema::validator_for(&self.schema).err()?;
        let error: String = error.to_string().chars().take(200).collect();
        Some(format!("the schema of its arguments can't be used: {error}"))
    }

    /// The tool as a run knows it. Only the person can say that a tool only reads. The server's own hints do not count.
    pub fn spec(&self, server: &ServerSettings) -> ToolSpec {
        let reads = server.reads.contains(&self.name);
        let name = canonical_name(&server.name, &self.name);
        let description = clipped(&visible(self.description.trim()), TOLD);
        let mut parameters = self.schema.clone();
        clean(&mut parameters);
        ToolSpec {
            // The name in skills written for Claude.
            aliases: vec![format!("mcp__{name}")],
            description: say("description", &[("server", &visible(&server.name)), ("description", &description)]),
            parameters,
            effect: if reads { ToolEffect::Read } else { ToolEffect::Write },
            repeat: if reads { RepeatClass::Read } else { RepeatClass::Once },
            exclusive: !reads,
            named_only: true,
            granted_as: Some(self.hash(&server.place())),
            name,
        }
    }
}

/// Shortens the descriptions in a schema and makes their invisible characters visible. What validates stays unchanged.
fn clean(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "description" || key == "title" || key == "$comment" => {
                        *text = clipped(&visible(text), TOLD_PART);
                    }
                    _ if ["enum", "const", "default", "examples"].contains(&key.as_str()) => {}
                    _ => clean(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

fn clipped(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::{Reach, ServerAddress};

    fn server(name: &str) -> ServerSettings {
        ServerSettings::new(name, Reach::Address(ServerAddress::default()))
    }

    fn declared(description: &str, schema: Value) -> DeclaredTool {
        DeclaredTool { name: "find".to_owned(), description: description.to_owned(), schema }
    }

    #[test]
    fn names_fit_every_provider_and_cannot_be_another_servers() {
        assert_eq!(canonical_name("memory", "read_graph"), "memory__read_graph");
        assert_eq!(canonical_name("My-DB!", "API-post.search"), "my_db__api_post_search");
        assert_eq!(canonical_name("a__b", "c"), "a_b__c");
        assert_ne!(canonical_name("a", "b__c"), canonical_name("a__b", "c"));
    }

    #[test]
    fn a_description_is_cut_and_hides_nothing() {
        let schema = json!({"type": "object", "properties": {"description": {"type": "string", "description": "x".repeat(999)}},
            "const": {"title": "\u{200b}"}});
        let spec = declared(&format!("Finds\u{202e} {}", "y".repeat(5_000)), schema).spec(&server("s"));
        assert!(spec.description.contains("Finds<U+202E> yyy") && spec.description.chars().count() < 1_200);
        let inner = spec.parameters["properties"]["description"]["description"].as_str().unwrap();
        assert_eq!(inner.chars().count(), 301);
        assert_eq!(spec.parameters["const"]["title"], "\u{200b}");
        assert_eq!((spec.effect, spec.repeat), (ToolEffect::Write, RepeatClass::Once));
        assert!(spec.named_only);
    }

    #[test]
    fn only_the_person_says_that_a_tool_reads() {
        let reading = ServerSettings { reads: vec!["find".to_owned()], ..server("s") };
        let spec = declared("Finds.", json!({"type": "object"})).spec(&reading);
        assert_eq!((spec.effect, spec.repeat), (ToolEffect::Read, RepeatClass::Read));
    }

    #[test]
    fn what_cannot_be_checked_is_not_used() {
        let good = declared("Finds.", json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}));
        assert_eq!(good.fault(), None);
        for odd in [json!({"name": "a"}), json!({"inputSchema": {}}), json!({"name": "a", "inputSchema": []}), json!(3)]
        {
            assert!(DeclaredTool::of(odd.clone()).fault().is_some(), "{odd}");
        }
        let elsewhere = declared("Finds.", json!({"$ref": "http://127.0.0.1:1/schema.json"}));
        assert!(elsewhere.fault().unwrap().contains("can't be used"));
        assert!(declared("Finds.", json!({"type": "thing"})).fault().is_some());
        assert!(declared("Finds.", json!({"title": "x".repeat(40_000)})).fault().unwrap().contains("32768"));
        assert!(declared(&"x".repeat(20_000), json!({})).fault().is_some());
        assert!(DeclaredTool { name: "a\u{200b}b".to_owned(), ..good }.fault().is_some());
    }

    #[test]
    fn a_grant_is_for_one_tool_of_one_place() {
        let granted = |server: &ServerSettings, description: &str| {
            declared(description, json!({"type": "object"})).spec(server).granted_as.unwrap()
        };
        let here = server("s");
        let elsewhere = ServerSettings { project: Some("/p".into()), ..server("s") };
        assert_eq!(granted(&here, "Finds."), granted(&here, "Finds."));
        assert_ne!(granted(&here, "Finds."), granted(&here, "Finds!"));
        assert_ne!(granted(&here, "Finds."), granted(&elsewhere, "Finds."));
        let long = |end: &str| "x".repeat(2_000) + end;
        assert_ne!(granted(&here, &long("A")), granted(&here, &long("B")), "models read only its beginning");
    }
}
