//! The form of a schema document: where schemas stand in it, what is words or notation, and what is left without them.

use serde_json::{Map, Value};

use crate::json;

/// Keywords of JSON Schema that say something to readers and nothing to validators.
pub const WORDS: [&str; 4] = ["title", "description", "examples", "$comment"];

/// Where subschemas sit below a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// The value is a schema.
    Schema,
    /// The value is an array of schemas.
    List,
    /// The value maps names to schemas.
    Map,
    /// The value is a schema or an array of them (`items` before 2020-12).
    SchemaOrList,
    /// The value maps names to schemas or to arrays of names (`dependencies`).
    MapOfSchemaOrNames,
}

/// Where subschemas sit below `keyword`, if any; every draft from 4 to 2020-12.
#[must_use]
pub fn below(keyword: &str) -> Option<Below> {
    Some(match keyword {
        "additionalProperties"
        | "additionalItems"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "contentSchema" => Below::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Below::List,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Below::Map,
        "items" => Below::SchemaOrList,
        "dependencies" => Below::MapOfSchemaOrNames,
        _ => return None,
    })
}

/// The schemas directly inside a schema, each with the keyword it stands under.
pub fn subschemas(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema.as_object().into_iter().flatten().flat_map(|(keyword, value)| {
        let (one, list, map) = match (below(keyword), value) {
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => (None, Some(items), None),
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => (None, None, Some(map)),
            (Some(Below::Schema | Below::SchemaOrList), value) => (Some(value), None, None),
            _ => (None, None, None),
        };
        let all = one.into_iter().chain(list.into_iter().flatten());
        all.chain(map.into_iter().flat_map(Map::values)).map(move |sub| (keyword.as_str(), sub))
    })
}

/// What a schema refers to, at any depth and in any dialect's words.
#[must_use]
pub fn references(schema: &Value) -> Vec<&str> {
    let (mut found, mut queue) = (Vec::new(), vec![schema]);
    while let Some(value) = queue.pop() {
        match value {
            Value::Object(map) => queue.extend(map.iter().filter_map(|(key, value)| match value {
                Value::String(target) => {
                    if matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") {
                        found.push(target.as_str());
                    }
                    None
                }
                value => Some(value),
            })),
            Value::Array(items) => queue.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

/// A schema document without words and notation; see [`super::normal`]. A document with a reference into what is left out or
/// put in order here (`#/examples/0`, `#/enum/1`) stays as it is.
#[must_use]
pub fn normal_schema(document: &Value) -> Value {
    // An escaped character can be any step.
    let elsewhere = |target: &str| {
        let path = target.split_once("#/").map(|(_, path)| path);
        target.contains('%') || path.is_some_and(|path| !leads_by_schemas(path))
    };
    if references(document).into_iter().any(elsewhere) {
        return document.clone();
    }
    normal_node(document, asks_what_is_unevaluated(document))
}

/// Whether a schema asks, at any depth, which properties other keywords spoke of.
fn asks_what_is_unevaluated(schema: &Value) -> bool {
    schema.get("unevaluatedProperties").is_some()
        || subschemas(schema).any(|(_, sub)| asks_what_is_unevaluated(sub))
}

/// Whether every step of a JSON Pointer goes by a keyword that holds schemas, and that is never left out.
fn leads_by_schemas(path: &str) -> bool {
    let mut steps = path.split('/');
    while let Some(keyword) = steps.next() {
        match below(keyword) {
            _ if keyword == "additionalProperties" => return false,
            // An array of schemas, or one: the index is a step as well where there is one.
            Some(Below::Schema) => {}
            Some(Below::List | Below::Map | Below::MapOfSchemaOrNames) => {
                if steps.next().is_none() {
                    return false;
                }
            }
            Some(Below::SchemaOrList) => {
                let mut ahead = steps.clone();
                if ahead.next().is_some_and(|step| step.bytes().all(|b| b.is_ascii_digit())) {
                    steps = ahead;
                }
            }
            None => return false,
        }
    }
    true
}

fn normal_node(schema: &Value, unevaluated: bool) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let normal = |schema: &Value| normal_node(schema, unevaluated);
    let mut out = Map::new();
    for (key, value) in members {
        if WORDS.contains(&key.as_str()) {
            continue;
        }
        let value = match (key.as_str(), below(key), value) {
            ("required", _, Value::Array(names)) => sorted(names),
            ("type", _, Value::Array(types)) => match sorted(types) {
                Value::Array(one) if one.len() == 1 => one[0].clone(),
                types => types,
            },
            ("enum", _, Value::Array(values)) => sorted(values),
            (_, Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                Value::Array(items.iter().map(normal).collect())
            }
            (_, Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => {
                Value::Object(map.iter().map(|(k, v)| (k.clone(), normal(v))).collect())
            }
            (_, Some(Below::Schema | Below::SchemaOrList), value) => normal(value),
            _ => value.clone(),
        };
        if !says_nothing(key, &value, unevaluated) {
            out.insert(key.clone(), value);
        }
    }
    Value::Object(out)
}

fn says_nothing(keyword: &str, value: &Value, unevaluated: bool) -> bool {
    match keyword {
        "additionalProperties" => {
            !unevaluated && (value == &Value::Bool(true) || value.as_object().is_some_and(Map::is_empty))
        }
        "properties" | "patternProperties" | "$defs" | "definitions" => {
            value.as_object().is_some_and(Map::is_empty)
        }
        "required" => value.as_array().is_some_and(Vec::is_empty),
        _ => false,
    }
}

/// In order, each value once; integers that one double stands for are several.
fn sorted(values: &[Value]) -> Value {
    let mut keyed: Vec<(Vec<u8>, &Value)> = values.iter().map(|v| (json::canonical(v), v)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.to_string().cmp(&b.1.to_string())));
    keyed.dedup_by(|a, b| a.0 == b.0 && json::equal(a.1, b.1));
    Value::Array(keyed.into_iter().map(|(.., v)| v.clone()).collect())
}

/// Visits every word ([`WORDS`]) of a schema with its place.
pub fn words<'a>(schema: &'a Value, at: &json::Pointer, visit: &mut impl FnMut(json::Pointer, &'a Value)) {
    let Value::Object(members) = schema else { return };
    for (key, value) in members {
        match (below(key), value) {
            _ if WORDS.contains(&key.as_str()) => visit(at.join(key), value),
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                let here = at.join(key);
                for (i, item) in items.iter().enumerate() {
                    words(item, &here.join(i), visit);
                }
            }
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => {
                let here = at.join(key);
                for (name, sub) in map {
                    words(sub, &here.join(name), visit);
                }
            }
            (Some(_), sub) => words(sub, &at.join(key), visit),
            (None, _) => {}
        }
    }
}
