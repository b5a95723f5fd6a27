//! Whether a value holds only names that a schema declares: a second reading of DESIGN's assumption, not the engine's.

use serde_json::{Map, Value};

/// Whether every object in the value holds only properties that the document declares for it by name or by a schema,
/// through everything that speaks of it. Objects of which it declares nothing are free, except the whole.
pub(super) fn only_declared(document: &Value, value: &Value) -> bool {
    let dialect = document.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let is = |names: &[&str]| names.iter().any(|name| dialect.contains(name));
    let alone = is(&["draft-04", "draft-06", "draft-07"]);
    Reader { root: document, alone, conditions: !is(&["draft-04", "draft-06"]) }.holds(
        &[document],
        value,
        true,
    )
}

struct Reader<'a> {
    root: &'a Value,
    /// Nothing beside `$ref` counts.
    alone: bool,
    /// The dialect has `if`.
    conditions: bool,
}

impl<'a> Reader<'a> {
    fn holds(&self, schemas: &[&'a Value], value: &Value, whole: bool) -> bool {
        let parts = self.parts(schemas);
        match value {
            Value::Object(map) => {
                let speaks = [
                    "properties",
                    "patternProperties",
                    "required",
                    "additionalProperties",
                    "unevaluatedProperties",
                ];
                let free = !whole && !parts.iter().any(|p| speaks.iter().any(|k| p.contains_key(*k)));
                free || map.iter().all(|(name, value)| {
                    let met: Vec<&Value> = parts.iter().flat_map(|part| Self::named(part, name)).collect();
                    !met.is_empty() && self.holds(&met, value, false)
                })
            }
            Value::Array(items) => items.iter().enumerate().all(|(i, item)| {
                let met: Vec<&Value> = parts.iter().flat_map(|part| Self::item(part, i)).collect();
                self.holds(&met, item, false)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    fn named(part: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
        if let Some(schema) = part.get("properties").and_then(|p| p.get(name)) {
            return Some(schema);
        }
        // A schema for whatever name makes a map of it, if it says a thing that every dialect understands.
        const PLAIN: [&str; 8] =
            ["type", "enum", "minimum", "pattern", "properties", "required", "allOf", "anyOf"];
        part.get("additionalProperties").filter(|s| PLAIN.iter().any(|k| s.get(*k).is_some()))
    }

    fn item(part: &'a Map<String, Value>, index: usize) -> Option<&'a Value> {
        let listed = |key: &str| part.get(key).and_then(Value::as_array);
        match listed("prefixItems").or(listed("items")) {
            Some(prefix) if index < prefix.len() => Some(&prefix[index]),
            Some(_) => part.get("additionalItems").or(part.get("items").filter(|i| !i.is_array())),
            None => part.get("items"),
        }
    }

    /// The objects of keywords that speak of the same value.
    fn parts(&self, schemas: &[&'a Value]) -> Vec<&'a Map<String, Value>> {
        let (mut out, mut seen, mut queue) = (Vec::new(), Vec::new(), schemas.to_vec());
        while let Some(schema) = queue.pop() {
            let Value::Object(members) = schema else { continue };
            if seen.contains(&std::ptr::from_ref(members)) {
                continue;
            }
            seen.push(std::ptr::from_ref(members));
            let target = members.get("$ref").and_then(Value::as_str).and_then(|t| t.strip_prefix('#'));
            queue.extend(target.and_then(|t| self.root.pointer(t)));
            if self.alone && members.contains_key("$ref") {
                continue;
            }
            out.push(members);
            for key in ["allOf", "anyOf", "oneOf"] {
                queue.extend(members.get(key).and_then(Value::as_array).into_iter().flatten());
            }
            if self.conditions {
                queue.extend(["if", "then", "else"].iter().filter_map(|k| members.get(*k)));
            }
        }
        out
    }
}
