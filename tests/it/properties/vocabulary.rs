//! The words that schemas and values are made of: keywords, names, patterns, texts, with what is easily read wrongly.

/// What a schema says of its dialect; nothing, and a URI that nobody knows, mean 2020-12.
pub(super) const DIALECTS: [Option<&str>; 9] = [
    None,
    None,
    Some("http://json-schema.org/draft-04/schema#"),
    Some("http://json-schema.org/draft-06/schema#"),
    Some("http://json-schema.org/draft-07/schema#"),
    Some("https://json-schema.org/draft-07/schema"),
    Some("https://json-schema.org/draft/2019-09/schema"),
    Some("https://json-schema.org/draft/2020-12/schema"),
    Some("https://example.com/some/schema"),
];

/// Property names; some are keywords as well.
pub(super) const NAMES: [&str; 14] =
    ["a", "b", "c", "ab", "a", "b", "", "é", "a/b", "1", "type", "$ref", "description", "enum"];

pub(super) const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Patterns, with what is easily read wrongly; texts that they take stand in [`TEXTS`].
#[rustfmt::skip]
pub(super) const PATTERNS: [&str; 44] = [
    "^a",
    "b",
    "^[a-b]+$",
    ".",
    "^$",
    "",
    ".*",
    "^.*$",
    ".+",
    "^.+$",
    "\\d",
    "^\\d+$",
    "\\D",
    "^[\\D]+$",
    "[\\W]",
    "^[\\W_]$",
    "^\\W*$",
    "^\\w+$",
    "^[\\w-]+$",
    "^\\S+$",
    "[\\S]",
    "\\s",
    "^[\\s\\S]*$",
    "^[!--]$",
    "^[+--]+$",
    "[&&]",
    "^[a&&b]$",
    "^[~~]$",
    "^[[a]",
    "^[a-z&&[^b]]$",
    "^(?!a)",
    "^(?=a)b?",
    "(?<!a)b",
    "\\bx",
    "x\\b",
    "$",
    "a$",
    "^a$|^b$",
    "^(a|b)*$",
    "^\\p{L}+$",
    "^[^a]*$",
    "^a{2,}$",
    "^é?$",
    "\\u0061",
];

#[rustfmt::skip]
pub(super) const TEXTS: [&str; 46] = [
    "", "a", "b", "ab", "aa", "ba", "abc", "aaa", "1", "12", "1a", "é", "e\u{301}", "٣", "😀", "😀a", " ",
    "\t", "\n", "a\n", "a ", "a b", "x", " x", "xy", "-x", "!", "-", "+", ",", "&", "&&", "~", "[", "]",
    "_", "A", "K", "\u{212a}", "\u{17f}", "\u{a0}", "\u{85}", "\u{2028}", "\u{feff}", "\r", "true",
];

/// References: usual ones, ones into places that hold no schema, an anchor, and nowhere.
#[rustfmt::skip]
pub(super) const REFERENCES: [&str; 25] = [
    "#/$defs/d", "#/$defs/d", "#/$defs/d", "#/$defs/e", "#/definitions/d", "#/definitions/d", "#/$defs/%64", "#",
    "#/x-defs/d", "#/x-defs/d", "#/examples/0", "#/default", "#/$defs/e/const", "#/$defs/e/enum/0", "#/properties/a",
    "#/properties/b", "#/allOf/0", "#/items", "#/not", "#/dependencies/a", "#/properties/a/x-y", "#k", "#k", "#k",
    "#/$defs/nowhere",
];

/// Every keyword of every dialect, some more often.
#[rustfmt::skip]
pub(super) const KEYWORDS: [&str; 62] = [
    "type", "type", "type", "type", "enum", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems",
    "uniqueItems", "items", "items", "additionalItems", "prefixItems", "contains", "minContains",
    "maxContains", "unevaluatedItems", "properties", "properties", "properties", "patternProperties",
    "additionalProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "required",
    "required", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies",
    "allOf", "anyOf", "anyOf", "oneOf", "not", "if", "$ref", "$ref", "$anchor", "$id", "id", "$schema",
    "contentMediaType", "contentEncoding", "contentSchema", "default", "examples", "description",
    "$comment", "x-defs",
];

/// Keywords that go with a type, so that schemas are mostly about something.
pub(super) fn of_type(name: &str) -> &'static [&'static str] {
    match name {
        "integer" | "number" => &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "enum",
            "const",
            "not",
        ],
        "string" => &["minLength", "maxLength", "pattern", "pattern", "enum", "const", "format", "not"],
        "array" => &[
            "minItems",
            "maxItems",
            "uniqueItems",
            "items",
            "items",
            "additionalItems",
            "prefixItems",
            "contains",
            "minContains",
            "maxContains",
            "unevaluatedItems",
        ],
        "object" => &[
            "properties",
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
            "unevaluatedProperties",
        ],
        _ => &["enum", "const", "description", "not"],
    }
}
