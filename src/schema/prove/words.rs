//! Keywords by themselves: which assert something, and when two sides say one in the same words.

use serde_json::Value;

use crate::{
    contract::WORDS,
    schema::{
        dialect::{ASSERTED_FORMAT, WRITTEN_WHOLE},
        facts::{self, Node, Part, types},
    },
};

/// Whether two schemas are the same to the letter and mean the same.
pub(super) fn same(a: Node<'_>, b: Node<'_>) -> bool {
    a.id() == b.id() || facts::alike(a, b)
}

/// A keyword that the inner side says in the same words.
pub(super) fn said(inner: &Part<'_>, outer: &Part<'_>, keyword: &str, value: &Value) -> bool {
    let same_with = |other: &str| match (inner.get(other), outer.get(other)) {
        (None, None) => true,
        (Some(a), Some(b)) => same(inner.node.at(a), outer.node.at(b)),
        _ => false,
    };
    inner.get(keyword).is_some_and(|v| same(inner.node.at(v), outer.node.at(value)))
        && match keyword {
            "additionalProperties" => same_with("properties") && same_with("patternProperties"),
            "items" => same_with("prefixItems"),
            "contains" => same_with("minContains") && same_with("maxContains"),
            "if" => same_with("then") && same_with("else"),
            // They look at everything beside them.
            "unevaluatedProperties" | "unevaluatedItems" => same(inner.node, outer.node),
            _ => true,
        }
}

pub(super) fn asserts_nothing(keyword: &str, value: &Value) -> bool {
    !KNOWN.contains(&keyword)
        || value == &Value::Bool(true)
            && matches!(
                keyword,
                "additionalProperties"
                    | "items"
                    | "propertyNames"
                    | "unevaluatedProperties"
                    | "unevaluatedItems"
            )
        || keyword == "propertyNames" && takes_every_name(value)
}

/// Whether a schema asks of a name no more than that it is a text. Its keywords are those listed here: a reference, say,
/// has not been followed.
fn takes_every_name(names: &Value) -> bool {
    let harmless = |(keyword, value): (&String, &Value)| {
        WORDS.contains(&keyword.as_str())
            || keyword == "type" && facts::named_types(value) & types::STRING == types::STRING
    };
    names.as_object().is_some_and(|members| members.iter().all(harmless))
}

/// Keywords that assert something. Others are annotations by the specification (2020-12 core, 6.5).
const KNOWN: [&str; 35] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "prefixItems",
    "contains",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    WRITTEN_WHOLE,
    ASSERTED_FORMAT,
];
