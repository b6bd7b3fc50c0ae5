//! Computes how large a schema becomes when each reference is replaced by its target. The validator follows every
//! reference anew. So a small schema whose parts each refer twice to the next one could keep a run busy for years.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::limits::{EXPANSION, REFERENCES};

/// Tells a person why validating against a schema could take too long. `None` if it is fast enough.
pub(crate) fn expansion_fault(schema: &Value) -> Option<String> {
    let mut expansion = Expansion { schema, sizes: BTreeMap::new(), open: Vec::new() };
    match expansion.size(schema, true) {
        Ok(size) if size <= EXPANSION => None,
        Ok(_) => Some(format!("its references expand to more than {EXPANSION} parts")),
        Err(fault) => Some(fault),
    }
}

struct Expansion<'a> {
    schema: &'a Value,
    /// The sizes of the targets of references.
    sizes: BTreeMap<&'a str, u64>,
    /// The references that were followed to get here.
    open: Vec<&'a str>,
}

impl<'a> Expansion<'a> {
    fn size(&mut self, value: &'a Value, is_root: bool) -> Result<u64, String> {
        let mut size = 1_u64;
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let part = match (key.as_str(), inner.as_str()) {
                        ("$ref", Some(to)) => self.referred(to)?,
                        // Inside another document, the same reference would have another target.
                        ("$dynamicRef" | "$recursiveRef", Some(_)) => return Err(format!("it uses `{key}`")),
                        ("$id" | "id", Some(_)) if !is_root && (key == "$id" || self.is_old()) => {
                            return Err(format!("a part of it has an `{key}`"));
                        }
                        _ => self.size(inner, false)?,
                    };
                    size = size.saturating_add(part);
                }
            }
            Value::Array(items) => {
                for inner in items {
                    size = size.saturating_add(self.size(inner, false)?);
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn referred(&mut self, to: &'a str) -> Result<u64, String> {
        if let Some(known) = self.sizes.get(to) {
            return Ok(*known);
        }
        // A part that contains itself is followed only as deep as the arguments are nested.
        if self.open.contains(&to) {
            return Ok(1);
        }
        if self.open.len() >= REFERENCES {
            return Err(format!("it has more than {REFERENCES} references in a row"));
        }
        let unknown = || format!("its reference `{}` has no target in it", to.chars().take(80).collect::<String>());
        let pointer = to.strip_prefix('#').ok_or_else(unknown)?;
        let target = self.schema.pointer(pointer).ok_or_else(unknown)?;
        self.open.push(to);
        let size = self.size(target, pointer.is_empty());
        self.open.pop();
        self.sizes.insert(to, size.clone()?);
        size
    }

    /// Whether the schema uses a draft in which `id` begins a new document.
    fn is_old(&self) -> bool {
        self.schema.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("draft-04"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn doubling(levels: usize, key: &str) -> Value {
        let mut parts = Map::from_iter([("a0".to_owned(), json!({"type": "string"}))]);
        for level in 1..=levels {
            let below = json!({"$ref": format!("#/{key}/a{}", level - 1)});
            parts.insert(format!("a{level}"), json!({"anyOf": [below, below]}));
        }
        json!({"type": "object", key: parts, "properties": {"place": {"$ref": format!("#/{key}/a{levels}")}}})
    }

    #[test]
    fn a_schema_that_doubles_itself_is_refused() {
        let fault = expansion_fault(&doubling(31, "$defs")).unwrap();
        assert!(fault.contains("more than 100000 parts"), "{fault}");
        assert!(expansion_fault(&doubling(31, "definitions")).is_some());
        let link = |level: u32| (format!("a{level:03}"), json!({"$ref": format!("#/$defs/a{:03}", level + 1)}));
        let chain: Map<String, Value> = (0..200).map(link).collect();
        assert!(expansion_fault(&json!({"$defs": chain})).unwrap().contains("in a row"));
        assert_eq!(expansion_fault(&doubling(6, "$defs")), None);
    }

    #[test]
    fn a_schema_that_contains_itself_is_fine_and_one_that_hides_its_references_is_not() {
        let tree = json!({"type": "object", "$defs": {"node": {"type": "object", "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}, "$ref": "#/$defs/node"});
        assert_eq!(expansion_fault(&tree), None);
        assert_eq!(
            expansion_fault(&json!({"$id": "https://example.org/x", "properties": {"$ref": {"$ref": "#"}}})),
            None
        );
        for hidden in [
            json!({"$defs": {"a": {"$anchor": "b"}}, "$ref": "#b"}),
            json!({"$defs": {"a": {"$id": "b"}}, "$ref": "b"}),
            json!({"$dynamicRef": "#x"}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"a": {"id": "b"}}}),
            json!({"$ref": "#/nowhere"}),
        ] {
            assert!(expansion_fault(&hidden).is_some(), "{hidden}");
        }
        assert_eq!(expansion_fault(&json!({"default": {"id": "a"}})), None);
    }
}
