//! Every dialect from draft-04 on, written in 2020-12. What cannot be translated exactly is refused with its name.

use std::borrow::Cow;

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::circle;
use crate::{
    contract::{Below, below, subschemas},
    json::Pointer,
};

/// No keyword of anybody's: what draft-04 says of an integer beside its being whole. "A JSON number without a fraction
/// or exponent part" (draft-04 core, 3.5), so `1.0` is none. Only the same words prove it.
pub const WRITTEN_WHOLE: &str = "writtenWhole";

/// No keyword of anybody's: a `format` that rejects values. Only the same words prove it.
pub const ASSERTED_FORMAT: &str = "assertedFormat";

/// What the set algebra does not know, and would pass over.
pub const OPAQUE: [&str; 2] = [WRITTEN_WHOLE, ASSERTED_FORMAT];

/// The first dialect in which validators know a format; the one after all for a format of nobody's, which rejects nothing.
fn defined(format: &str) -> Draft {
    match format {
        "date-time" | "date" | "time" | "email" | "idn-email" | "hostname" | "ipv4" | "ipv6" | "uri"
        | "regex" => Draft::Draft4,
        "uri-reference" | "uri-template" | "json-pointer" => Draft::Draft6,
        "relative-json-pointer" | "idn-hostname" | "iri" | "iri-reference" => Draft::Draft7,
        "uuid" | "duration" => Draft::Draft201909,
        _ => Draft::Unknown,
    }
}

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

/// Whether the dialect of a document makes anything of a keyword. What it does not know asserts nothing, by the
/// specification; some validators assert it all the same.
#[must_use]
pub fn asserts(document: &Value, keyword: &str) -> bool {
    let draft = of(document);
    draft >= since(keyword) && !is_retired(keyword, draft)
}

/// A keyword of older dialects that others took the place of (2019-09 validation, 6.5; 2020-12 core, 10.3.1).
fn is_retired(keyword: &str, draft: Draft) -> bool {
    match keyword {
        "dependencies" => draft >= Draft::Draft201909,
        "additionalItems" => draft >= Draft::Draft202012,
        _ => false,
    }
}

/// The schema as its dialect reads it: without `dependencies` where the dialect retired it, which the validator would
/// assert.
pub fn without_retired(schema: &Value, draft: Draft) -> Cow<'_, Value> {
    if draft < Draft::Draft201909 || !holds_key(schema, "dependencies") {
        return Cow::Borrowed(schema);
    }
    let mut copy = schema.clone();
    drop_retired(&mut copy);
    Cow::Owned(copy)
}

/// Whether an object with this member stands anywhere in a value.
pub fn holds_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(k, v)| k == key || holds_key(v, key)),
        Value::Array(items) => items.iter().any(|v| holds_key(v, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn drop_retired(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    members.shift_remove("dependencies");
    for (keyword, value) in members {
        match (below(keyword), value) {
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                items.iter_mut().for_each(drop_retired);
            }
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => {
                map.values_mut().for_each(drop_retired);
            }
            (Some(Below::Schema | Below::SchemaOrList), sub) => drop_retired(sub),
            _ => {}
        }
    }
}

/// The first dialect that asserts a keyword. Before it the keyword is one nobody knows, and asserts nothing.
fn since(keyword: &str) -> Draft {
    match keyword {
        "const" | "contains" | "propertyNames" => Draft::Draft6,
        "if" | "then" | "else" => Draft::Draft7,
        "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "minContains"
        | "maxContains"
        | "$anchor" => Draft::Draft201909,
        "prefixItems" => Draft::Draft202012,
        _ => Draft::Draft4,
    }
}

/// Whether a schema means in 2020-12 what it means in its own dialect, word for word: [`translate`] would copy it. Most do,
/// and a copy costs more than all else that is done with a small schema. "No" only means that it was not seen at once.
#[must_use]
pub fn is_as_written(schema: &Value, draft: Draft, formats: bool) -> bool {
    let mut targets = Vec::new();
    if draft <= Draft::Draft4 || !keeps_its_words(schema, draft, formats, true, &mut targets) {
        return false;
    }
    targets.sort_unstable();
    targets.dedup();
    targets.iter().all(|target| leads_to_a_schema(schema, target, draft))
        && (targets.is_empty() || circle::find(schema).is_none())
}

fn keeps_its_words<'a>(
    schema: &'a Value,
    draft: Draft,
    formats: bool,
    root: bool,
    targets: &mut Vec<&'a str>,
) -> bool {
    let Value::Object(members) = schema else { return true };
    if reference_alone(members, draft) && members.len() > 1 {
        return false;
    }
    members.iter().all(|(key, value)| {
        let mut kept = |sub| keeps_its_words(sub, draft, formats, false, targets);
        match (key.as_str(), value) {
            ("$schema", _) => root,
            ("$ref", Value::String(target)) => {
                targets.push(target);
                target.starts_with('#')
            }
            (
                "$id"
                | "id"
                | "$recursiveRef"
                | "$recursiveAnchor"
                | "$dynamicRef"
                | "$dynamicAnchor"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "dependencies"
                | "additionalItems"
                | WRITTEN_WHOLE
                | ASSERTED_FORMAT,
                _,
            ) => false,
            ("format", _) => !formats,
            ("items", Value::Array(_)) => false,
            (key, _) if draft < since(key) => false,
            (key, value) => match (below(key), value) {
                (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => map.values().all(kept),
                (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => items.iter().all(kept),
                (Some(Below::Schema | Below::SchemaOrList), sub) => kept(sub),
                _ => true,
            },
        }
    })
}

/// The schema in 2020-12, without `$schema`.
///
/// # Errors
/// Names what has no exact translation.
pub fn translate(schema: &Value, draft: Draft, formats: bool) -> Result<Value, String> {
    let mut translator = Translator { draft, formats, targets: Vec::new() };
    let mut out = translator.node(schema, true)?;
    if let Value::Object(members) = &mut out {
        members.shift_remove("$schema");
    }
    let refers = !translator.targets.is_empty();
    for target in translator.targets {
        if !leads_to_a_schema(schema, target, draft) {
            return Err(format!("`$ref` to `{target}` leads to no place for schemas"));
        }
    }
    if refers && let Some(target) = circle::find(&out) {
        return Err(format!("the schema of one value stands on itself, by way of `$ref` to `{target}`"));
    }
    Ok(out)
}

struct Translator<'a> {
    draft: Draft,
    /// `format` rejects values.
    formats: bool,
    /// What references point to.
    targets: Vec<&'a str>,
}

impl<'a> Translator<'a> {
    fn node(&mut self, schema: &'a Value, root: bool) -> Result<Value, String> {
        let Value::Object(members) = schema else { return Ok(schema.clone()) };
        let draft = self.draft;
        let tuples = draft < Draft::Draft202012;
        let ref_only = reference_alone(members, draft);
        let mut out = Map::new();
        for (key, value) in members {
            let unread = ref_only && !matches!(key.as_str(), "$ref" | "$defs" | "definitions");
            if unread || draft < since(key) || is_retired(key, draft) || OPAQUE.contains(&key.as_str()) {
                continue;
            }
            match (key.as_str(), value) {
                ("$recursiveRef" | "$recursiveAnchor", _) if draft != Draft::Draft201909 => {}
                ("$dynamicRef" | "$dynamicAnchor", _) if draft != Draft::Draft202012 => {}
                ("$dynamicRef" | "$recursiveRef" | "$recursiveAnchor" | "$dynamicAnchor", _) => {
                    return Err(format!("`{key}` is not modelled"));
                }
                ("unevaluatedItems", _)
                    if draft == Draft::Draft201909 && members.contains_key("contains") =>
                {
                    return Err(
                        "`unevaluatedItems` beside `contains` is read in two ways in 2019-09".to_owned()
                    );
                }
                ("$schema", _) if !root && of(schema) != draft => {
                    return Err("an embedded schema of another dialect is not modelled".to_owned());
                }
                ("$id" | "id", Value::String(_)) if !root => {
                    return Err(format!("an embedded `{key}` is not modelled"));
                }
                ("$id", _) | ("id", Value::String(_)) => {}
                ("$ref", Value::String(target)) if !target.starts_with('#') => {
                    return Err(format!("`$ref` to `{target}` leaves the document, and nothing is fetched"));
                }
                ("$ref", Value::String(target)) => {
                    self.targets.push(target);
                    out.insert(key.clone(), value.clone());
                }
                ("type", types) if draft == Draft::Draft4 && names_integer(types) => {
                    out.insert(key.clone(), types.clone());
                    out.insert(WRITTEN_WHOLE.to_owned(), Value::Bool(true));
                }
                ("format", Value::String(format)) if self.formats => {
                    // A later dialect would assert what this one does not know.
                    if draft >= defined(format) {
                        out.insert(key.clone(), value.clone());
                        // Names of hosts follow another RFC since draft-07.
                        let older = format == "hostname" && draft < Draft::Draft7;
                        let asserted = if older { "hostname (RFC 1034)" } else { format };
                        out.insert(ASSERTED_FORMAT.to_owned(), asserted.into());
                    }
                }
                ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) if draft == Draft::Draft4 => {}
                ("minimum" | "maximum", bound) if draft == Draft::Draft4 => {
                    let exclusive = if key == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
                    let strict = members.get(exclusive) == Some(&Value::Bool(true));
                    out.insert(if strict { exclusive.to_owned() } else { key.clone() }, bound.clone());
                }
                ("items", Value::Array(items)) if tuples => {
                    let items = items.iter().map(|i| self.node(i, false)).collect::<Result<_, _>>()?;
                    out.insert("prefixItems".to_owned(), Value::Array(items));
                    if let Some(rest) = members.get("additionalItems") {
                        out.insert("items".to_owned(), self.node(rest, false)?);
                    }
                }
                // Without a tuple it says nothing.
                ("additionalItems", _) => {}
                ("dependencies", Value::Object(map)) => {
                    let (mut names, mut schemas) = (Map::new(), Map::new());
                    for (name, needs) in map {
                        if needs.is_array() {
                            names.insert(name.clone(), needs.clone());
                        } else {
                            schemas.insert(name.clone(), self.node(needs, false)?);
                        }
                    }
                    for (key, map) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
                        if map.is_empty() {
                            continue;
                        }
                        out.insert(key.to_owned(), Value::Object(map));
                    }
                }
                _ => _ = out.insert(key.clone(), self.children(key, value)?),
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

    fn children(&mut self, key: &str, value: &'a Value) -> Result<Value, String> {
        Ok(match (below(key), value) {
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => Value::Object(
                map.iter()
                    .map(|(name, sub)| Ok((name.clone(), self.node(sub, false)?)))
                    .collect::<Result<_, String>>()?,
            ),
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                Value::Array(items.iter().map(|i| self.node(i, false)).collect::<Result<_, _>>()?)
            }
            (Some(Below::Schema | Below::SchemaOrList), sub) => self.node(sub, false)?,
            _ => value.clone(),
        })
    }
}

/// Up to draft-07 everything beside `$ref` is ignored, but definitions can still be pointed into.
fn reference_alone(members: &Map<String, Value>, draft: Draft) -> bool {
    draft < Draft::Draft201909 && members.get("$ref").is_some_and(Value::is_string)
}

/// Whether a translated schema says something that the set algebra does not know.
pub fn is_opaque(translated: &Value) -> bool {
    OPAQUE.iter().any(|key| holds_key(translated, key))
}

/// Takes integers and no other numbers.
fn names_integer(types: &Value) -> bool {
    match types {
        Value::Array(names) => names.iter().any(|n| n == "integer") && !names.iter().any(|n| n == "number"),
        name => name == "integer",
    }
}

/// Whether a reference leads to a place that holds a schema in this dialect, and that stays where it is in 2020-12.
/// Elsewhere (inside `examples`, below a keyword nobody knows) nothing is translated.
fn leads_to_a_schema(root: &Value, reference: &str, draft: Draft) -> bool {
    let Some(fragment) = reference.strip_prefix('#').and_then(percent_decoded) else { return false };
    if fragment.is_empty() {
        return true;
    }
    if !fragment.starts_with('/') {
        return draft >= since("$anchor") && anchored(root, &fragment).is_some();
    }
    let (mut at, pointer) = (root, Pointer::from(fragment.as_str()));
    let mut steps = pointer.steps();
    while let Some(keyword) = steps.next() {
        let Value::Object(members) = at else { return false };
        let definitions = matches!(keyword.as_str(), "$defs" | "definitions");
        let moved = matches!(
            keyword.as_str(),
            "additionalItems" | "dependencies" | "unevaluatedItems" | "unevaluatedProperties"
        );
        if moved || draft < since(&keyword) || reference_alone(members, draft) && !definitions {
            return false;
        }
        let next = match (below(&keyword), members.get(&keyword)) {
            (Some(Below::Map), Some(Value::Object(map))) => steps.next().and_then(|name| map.get(&name)),
            (Some(Below::List), Some(Value::Array(items))) => {
                steps.next().and_then(|i| items.get(i.parse::<usize>().ok()?))
            }
            (Some(Below::Schema | Below::SchemaOrList), Some(schema)) => Some(schema),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return false,
        }
    }
    at.is_object() || at.is_boolean()
}

/// The schema that a reference inside `root` points to. Only pointers and plain anchors of the same document.
#[must_use]
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() {
        return Some(root);
    }
    let fragment = percent_decoded(fragment)?;
    if !fragment.starts_with('/') {
        return anchored(root, &fragment);
    }
    if fragment.contains('~') {
        return root.pointer(&fragment);
    }
    // Most of what is asked: without escapes, steps are read where they stand.
    fragment.split('/').skip(1).try_fold(root, |at, step| match at {
        Value::Object(members) => members.get(step),
        at => at.pointer(&format!("/{step}")),
    })
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

/// The schema of this name; what merely looks like one (inside `const`, `enum`, `default`) is none. Of two with one name
/// nobody knows which is meant (2020-12 core, 8.2.2: "undefined").
fn anchored<'a>(root: &'a Value, anchor: &str) -> Option<&'a Value> {
    let (mut queue, mut found) = (vec![root], None);
    while let Some(schema) = queue.pop() {
        if schema.get("$anchor").and_then(Value::as_str) == Some(anchor) && found.replace(schema).is_some() {
            return None;
        }
        queue.extend(subschemas(schema).map(|(_, sub)| sub));
    }
    found
}
