//! What can be told of a schema without its meta-schema: that it is certain to be valid, and to compile.
//!
//! Compiling the meta-schema costs a process more than all the rest of a short diff, and checking a schema against it
//! more than proving most pairs. "No" never comes from here: of what is not plain, the meta-schema is asked.

use std::cell::RefCell;

use jsonschema::Draft;
use serde_json::Value;

use super::{FastMap, ecma, limits};
use crate::contract::{Below, below};

/// Whether a schema document is certain to meet the meta-schema of its dialect and to compile.
#[must_use]
pub fn is_plain(document: &Value, draft: Draft) -> bool {
    // Older dialects differ in too much, and are rare.
    matches!(draft, Draft::Draft7 | Draft::Draft201909 | Draft::Draft202012)
        && document.get("$schema").is_none_or(|uri| uri.as_str().is_some_and(is_well_known))
        && Form { document, draft }.schema(document, true)
}

fn is_well_known(uri: &str) -> bool {
    matches!(
        uri.trim_end_matches('#'),
        "http://json-schema.org/draft-07/schema"
            | "https://json-schema.org/draft/2019-09/schema"
            | "https://json-schema.org/draft/2020-12/schema"
    )
}

struct Form<'a> {
    document: &'a Value,
    draft: Draft,
}

impl Form<'_> {
    fn schema(&self, schema: &Value, root: bool) -> bool {
        match schema {
            Value::Bool(_) => true,
            Value::Object(members) => members.iter().all(|(key, value)| self.member(key, value, root)),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
        }
    }

    fn member(&self, keyword: &str, value: &Value, root: bool) -> bool {
        match keyword {
            "$schema" => root,
            "$ref" => value.as_str().is_some_and(|target| self.is_definition(target)),
            // Names of documents and places: only compiling tells.
            "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveAnchor"
            | "$recursiveRef" | "$vocabulary" => false,
            "pattern" => value.as_str().is_some_and(is_pattern),
            "patternProperties" => value.as_object().is_some_and(|map| {
                map.iter().all(|(pattern, sub)| is_pattern(pattern) && self.schema(sub, false))
            }),
            "type" => match value {
                Value::Array(names) => names.iter().all(is_type) && !names.is_empty() && are_names(value),
                name => is_type(name),
            },
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "examples" => value.is_array(),
            "title" | "description" | "$comment" | "format" | "contentEncoding" | "contentMediaType" => {
                value.is_string()
            }
            "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => value.is_boolean(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|n| n > 0.0),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains" => value.is_u64(),
            "required" => are_names(value),
            "dependentRequired" => value.as_object().is_some_and(|map| map.values().all(are_names)),
            keyword => match (below(keyword), value) {
                (None, _) => true,
                (Some(Below::Schema), schema) => self.schema(schema, false),
                (Some(Below::SchemaOrList), Value::Array(_)) if self.draft == Draft::Draft202012 => false,
                (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                    !items.is_empty() && items.iter().all(|item| self.schema(item, false))
                }
                (Some(Below::SchemaOrList), schema) => self.schema(schema, false),
                (Some(Below::Map), Value::Object(map)) => map.values().all(|sub| self.schema(sub, false)),
                (Some(Below::List | Below::Map | Below::MapOfSchemaOrNames), _) => false,
            },
        }
    }

    /// Whether a reference leads to a definition in the usual place, which is looked at where it stands.
    fn is_definition(&self, target: &str) -> bool {
        ["$defs", "definitions"].iter().any(|place| {
            let name = target.strip_prefix("#/").and_then(|t| t.strip_prefix(place)?.strip_prefix('/'));
            let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
            name.is_some_and(|name| {
                name.bytes().all(plain)
                    && self.document.get(place).is_some_and(|definitions| definitions.get(name).is_some())
            })
        })
    }
}

/// A pattern that every engine reads alike.
fn is_pattern(pattern: &str) -> bool {
    thread_local! {
        // Both sides hold the same few patterns, and schemas that a program wrote the same one at every date.
        static KNOWN: RefCell<FastMap<String, bool>> = RefCell::default();
    }
    let read = || ecma::translate(pattern).is_some_and(|p| regex_syntax::Parser::new().parse(&p).is_ok());
    KNOWN.with_borrow_mut(|known| {
        if let Some(is) = known.get(pattern) {
            return *is;
        }
        if known.len() >= limits::KNOWN_PATTERNS {
            known.clear();
        }
        *known.entry(pattern.to_owned()).or_insert_with(read)
    })
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        matches!(name, "null" | "boolean" | "integer" | "number" | "string" | "array" | "object")
    })
}

/// Texts, each once.
fn are_names(value: &Value) -> bool {
    let Value::Array(names) = value else { return false };
    let new = |(i, name): (usize, &Value)| name.is_string() && !names[..i].contains(name);
    // Many names are compared with each other by the meta-schema, which is quicker at that.
    names.len() <= 256 && names.iter().enumerate().all(new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::validator;

    const KEYWORDS: &[&str] = &[
        "$schema",
        "$id",
        "id",
        "$ref",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
        "$comment",
        "$defs",
        "definitions",
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "items",
        "prefixItems",
        "additionalItems",
        "maxItems",
        "minItems",
        "uniqueItems",
        "contains",
        "maxContains",
        "minContains",
        "maxProperties",
        "minProperties",
        "required",
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "then",
        "else",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "unevaluatedItems",
        "unevaluatedProperties",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "nullable",
        "discriminator",
    ];

    fn values() -> Vec<Value> {
        let mut out = vec![
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-1),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(1e300),
            json!(""),
            json!("a"),
            json!("string"),
            json!("#"),
            json!("#/$defs/d"),
            json!("#/definitions/d"),
            json!("#/$defs/x"),
            json!("#/$defs/"),
            json!("["),
            json!("https://json-schema.org/draft/2020-12/schema"),
            json!("http://json-schema.org/draft-07/schema#"),
            json!("http://json-schema.org/draft-04/schema#"),
            json!("https://example.com/schema"),
            json!("http:// x"),
            json!("base64"),
            json!("application/json"),
            json!([]),
            json!([1]),
            json!(["a"]),
            json!(["a", "a"]),
            json!(["string"]),
            json!(["string", "string"]),
            json!(["string", "null"]),
            json!([{}]),
            json!([true]),
            json!([{"type": 1}]),
            json!([1, 1]),
            json!({}),
            json!({"a": 1}),
            json!({"a": {}}),
            json!({"a": true}),
            json!({"a": ["b"]}),
            json!({"a": ["b", "b"]}),
            json!({"a": {"type": "x"}}),
            json!({"type": "string"}),
            json!({"type": "x"}),
            json!({"[": {}}),
            json!({"$ref": "#/$defs/d"}),
            json!({"$ref": 1}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        ];
        out.extend(out.clone().into_iter().map(|v| json!({ "a": { "items": v } })));
        out
    }

    #[test]
    fn what_is_plain_is_valid_and_compiles() {
        let dialects = [
            (Draft::Draft4, "http://json-schema.org/draft-04/schema#"),
            (Draft::Draft6, "http://json-schema.org/draft-06/schema#"),
            (Draft::Draft7, "http://json-schema.org/draft-07/schema#"),
            (Draft::Draft201909, "https://json-schema.org/draft/2019-09/schema"),
            (Draft::Draft202012, "https://json-schema.org/draft/2020-12/schema"),
        ];
        let (values, mut plain) = (values(), 0);
        for (draft, uri) in dialects {
            for keyword in KEYWORDS {
                for value in &values {
                    let definitions = json!({"d": {"type": "string"}, "": {}});
                    let mut inside =
                        json!({"$schema": uri, "$defs": definitions, "definitions": definitions});
                    let mut root = inside.clone();
                    root[*keyword] = value.clone();
                    inside["properties"] = json!({"p": {"anyOf": [{*keyword: value}]}});
                    for schema in [root, inside] {
                        if is_plain(&schema, draft) {
                            plain += 1;
                            assert!(
                                validator(&schema, draft, false, false).is_some(),
                                "{schema} is not valid"
                            );
                            assert!(
                                jsonschema::meta::options().validate(&schema).is_ok(),
                                "{schema} is not valid"
                            );
                        }
                    }
                }
            }
        }
        assert!(plain > 4_000, "only {plain} were plain");
    }

    #[test]
    fn what_tools_say_is_plain() {
        let cases = [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"id": {"type": "string", "description": "…"}}, "required": ["id"]}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false}),
            json!({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}, "$defs": {"A": {"enum": [1]}}}),
        ];
        for schema in cases {
            assert!(is_plain(&schema, super::super::dialect::of(&schema)), "{schema}");
        }
    }
}
