//! Every dialect from draft-04 on, written in 2020-12. What cannot be translated exactly is refused with its name.

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::contract::{Below, below};

/// The dialect a schema names; 2020-12 where it names none or one we do not know.
#[must_use]
pub fn of(schema: &Value) -> Draft {
    let uri = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let uri = uri.trim_end_matches('#').trim_end_matches('/');
    if uri.ends_with("draft-04/schema") {
        Draft::Draft4
    } else if uri.ends_with("draft-06/schema") {
        Draft::Draft6
    } else if uri.ends_with("draft-07/schema") {
        Draft::Draft7
    } else if uri.ends_with("draft/2019-09/schema") {
        Draft::Draft201909
    } else {
        Draft::Draft202012
    }
}

/// The schema in 2020-12, without `$schema`.
///
/// # Errors
/// Names the keyword that has no exact translation.
pub fn translate(schema: &Value, draft: Draft) -> Result<Value, String> {
    let mut out = node(schema, draft, true)?;
    if let Value::Object(members) = &mut out {
        members.shift_remove("$schema");
    }
    Ok(out)
}

fn node(schema: &Value, draft: Draft, root: bool) -> Result<Value, String> {
    let Value::Object(members) = schema else { return Ok(schema.clone()) };
    let old = matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7);
    let tuples = old || draft == Draft::Draft201909;
    let mut out = Map::new();
    // Up to draft-07 everything beside `$ref` is ignored, but it can still be pointed into.
    let ref_only = old && members.get("$ref").is_some_and(Value::is_string);
    for (key, value) in members {
        if ref_only && !matches!(key.as_str(), "$ref" | "$defs" | "definitions") {
            continue;
        }
        match (key.as_str(), value) {
            ("$recursiveRef" | "$dynamicRef" | "$recursiveAnchor" | "$dynamicAnchor", _) => {
                return Err(format!("`{key}` is not modelled"));
            }
            ("$id" | "id", Value::String(_)) if !root => {
                return Err(format!("an embedded `{key}` is not modelled"));
            }
            ("$id", _) | ("id", Value::String(_)) => {}
            ("$ref", Value::String(target)) if !target.starts_with('#') => {
                return Err(format!("`$ref` to `{target}` leaves the document, and nothing is fetched"));
            }
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) if draft == Draft::Draft4 => {}
            ("minimum" | "maximum", bound) if draft == Draft::Draft4 => {
                let exclusive = if key == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
                let strict = members.get(exclusive) == Some(&Value::Bool(true));
                out.insert(if strict { exclusive.to_owned() } else { key.clone() }, bound.clone());
            }
            ("items", Value::Array(items)) if tuples => {
                let items = items.iter().map(|i| node(i, draft, false)).collect::<Result<_, _>>()?;
                out.insert("prefixItems".to_owned(), Value::Array(items));
                if let Some(rest) = members.get("additionalItems") {
                    out.insert("items".to_owned(), node(rest, draft, false)?);
                }
            }
            // Without a tuple it says nothing.
            ("additionalItems", _) if tuples => {}
            ("dependencies", Value::Object(map)) if tuples => {
                let (mut names, mut schemas) = (Map::new(), Map::new());
                for (name, needs) in map {
                    if needs.is_array() {
                        names.insert(name.clone(), needs.clone());
                    } else {
                        schemas.insert(name.clone(), node(needs, draft, false)?);
                    }
                }
                for (key, map) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
                    if !map.is_empty() {
                        out.insert(key.to_owned(), Value::Object(map));
                    }
                }
            }
            _ => _ = out.insert(key.clone(), children(key, value, draft)?),
        }
    }
    // Where nothing else speaks of the same value, "unevaluated" is "additional".
    const IN_PLACE: [&str; 9] =
        ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
    if !IN_PLACE.iter().any(|k| out.contains_key(*k)) {
        for (unevaluated, plain) in
            [("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")]
        {
            if !out.contains_key("contains")
                && let Some(schema) = out.shift_remove(unevaluated)
            {
                out.entry(plain).or_insert(schema);
            }
        }
    }
    Ok(Value::Object(out))
}

fn children(key: &str, value: &Value, draft: Draft) -> Result<Value, String> {
    Ok(match (below(key), value) {
        (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => Value::Object(
            map.iter()
                .map(|(name, sub)| Ok((name.clone(), node(sub, draft, false)?)))
                .collect::<Result<_, String>>()?,
        ),
        (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
            Value::Array(items.iter().map(|i| node(i, draft, false)).collect::<Result<_, _>>()?)
        }
        (Some(Below::Schema | Below::SchemaOrList), sub) => node(sub, draft, false)?,
        _ => value.clone(),
    })
}

/// The schema that a reference inside `root` points to. Only pointers and plain anchors of the same document.
#[must_use]
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() {
        return Some(root);
    }
    let fragment = percent_decoded(fragment)?;
    if fragment.starts_with('/') { root.pointer(&fragment) } else { anchored(root, &fragment) }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let (mut out, bytes, mut i) = (Vec::new(), text.as_bytes(), 0);
    while i < bytes.len() {
        if bytes[i] == b'%' {
            out.push(u8::from_str_radix(text.get(i + 1..i + 3)?, 16).ok()?);
            i += 3;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    String::from_utf8(out).ok()
}

fn anchored<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) if map.get("$anchor").and_then(Value::as_str) == Some(anchor) => Some(value),
        Value::Object(map) => map.values().find_map(|v| anchored(v, anchor)),
        Value::Array(items) => items.iter().find_map(|v| anchored(v, anchor)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
