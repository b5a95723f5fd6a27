//! Containment, asked directly: pairs that are easily called contained and are not, and pairs that must stay provable.

use serde_json::{Value, json};
use toolpact::{
    contract::normal_schema,
    schema::{Answer, Schema, contained, tried},
};

const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_06: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";

fn read(schema: &Value) -> Schema {
    Schema::new(schema).unwrap_or_else(|e| panic!("{schema}: {e}"))
}

/// The value is good in `inner` and bad in `outer`, so nobody may call them contained, nor write them in one way.
fn check_apart(inner: &Value, outer: &Value, value: &Value) {
    let (a, b) = (read(inner), read(outer));
    assert_eq!((a.accepts(value), b.accepts(value)), (Some(true), Some(false)), "{inner} {outer} {value}");
    let answer = contained(&a, &b, &[]);
    assert!(!matches!(answer, Answer::Contained(_)), "{inner} in {outer}: {answer:?}, but {value}");
    assert_ne!(normal_schema(inner), normal_schema(outer), "two meanings, one normal form");
}

fn of(dialect: &str, mut schema: Value) -> Value {
    schema["$schema"] = dialect.into();
    schema
}

#[test]
fn a_keyword_that_a_dialect_does_not_know_asserts_nothing() {
    let cases = [
        (DRAFT_07, json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1})),
        (DRAFT_07, json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"a": 1})),
        (DRAFT_07, json!({"unevaluatedProperties": false}), json!({"a": 1})),
        (DRAFT_07, json!({"unevaluatedItems": false}), json!([1])),
        (DRAFT_07, json!({"prefixItems": [{"type": "string"}]}), json!([1])),
        (DRAFT_07, json!({"contains": {"type": "string"}, "minContains": 2}), json!(["a"])),
        (DRAFT_07, json!({"contains": {"type": "string"}, "maxContains": 1}), json!(["a", "b"])),
        (DRAFT_06, json!({"if": {"type": "string"}, "then": {"minLength": 2}}), json!("a")),
        (DRAFT_04, json!({"const": 1}), json!("a")),
        (DRAFT_04, json!({"contains": {"type": "string"}}), json!([])),
        (DRAFT_04, json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1})),
        (DRAFT_2019, json!({"prefixItems": [{"type": "string"}]}), json!([1])),
    ];
    for (dialect, schema, value) in cases {
        check_apart(&of(dialect, schema.clone()), &schema, &value);
    }
}

#[test]
fn a_schema_read_in_another_dialect_is_another_schema() {
    let whole = json!({"type": "integer"});
    check_apart(&whole, &of(DRAFT_04, whole.clone()), &json!(1.0));
    // What 2019-09 split in two is no longer read.
    let needs = json!({"dependencies": {"a": ["b"]}});
    check_apart(&needs, &of(DRAFT_07, needs.clone()), &json!({"a": 1}));
    check_apart(&json!({"enum": [1]}), &of(DRAFT_04, whole.clone()), &json!(1.0));
    // Beside a reference draft-07 reads nothing.
    let beside = json!({"$defs": {"s": {}}, "properties": {"a": {"$ref": "#/$defs/s", "type": "string"}}});
    check_apart(&of(DRAFT_07, beside.clone()), &beside, &json!({"a": 1}));
    let embedded = json!({"properties": {"a": {"$schema": DRAFT_07, "$id": "https://example.com/a", "$ref": "#/$defs/s", "$defs": {"s": {}}, "type": "string"}}});
    let plain = json!({"properties": {"a": {"type": "string"}}});
    let answer = contained(&read(&embedded), &read(&plain), &[]);
    assert!(!matches!(answer, Answer::Contained(_)), "{answer:?}");
}

#[test]
fn a_reference_leads_where_validators_follow_it() {
    // Into a place that no dialect holds schemas in, nothing is translated.
    let tuple = json!({"x-parts": {"a": {"items": [{"type": "string"}]}}, "properties": {"p": {"$ref": "#/x-parts/a"}}});
    let items = json!({"properties": {"p": {"items": {"type": "string"}}}});
    check_apart(&of(DRAFT_07, tuple), &items, &json!({"p": ["a", 1]}));
    // What is left out for being words can still be pointed to.
    let pointed =
        |named: &str| json!({"examples": [{"type": named}], "properties": {"a": {"$ref": "#/examples/0"}}});
    check_apart(&pointed("string"), &pointed("integer"), &json!({"a": "b"}));
    let listed = |first: Value| json!({"enum": [first, {"type": "string"}, {}], "not": {"$ref": "#/enum/0"}});
    assert_ne!(normal_schema(&listed(json!({"const": 1}))), normal_schema(&listed(json!({"const": 2}))));
    for target in ["#%2Fexamples%2F0", "#/%65xamples/0"] {
        let pointed =
            |named: &str| json!({"examples": [{"type": named}], "properties": {"a": {"$ref": target}}});
        assert_ne!(normal_schema(&pointed("string")), normal_schema(&pointed("integer")), "{target}");
    }
    let dynamic = |named: &str| json!({"examples": [{"type": named}], "properties": {"a": {"$dynamicRef": "#/examples/0"}}});
    check_apart(&dynamic("string"), &dynamic("integer"), &json!({"a": "b"}));
    let open = |more: Value| json!({"properties": {"a": {"$ref": "#/additionalProperties"}}, "additionalProperties": more});
    assert_ne!(
        normal_schema(&open(json!(true))),
        normal_schema(&json!({"properties": {"a": {"$ref": "#/additionalProperties"}}}))
    );
    // An anchor is one only where a schema stands.
    let anchored = json!({
        "const": {"x": {"$anchor": "a", "type": "integer"}},
        "$defs": {"s": {"$anchor": "a"}},
        "properties": {"x": {"$ref": "#a"}}
    });
    let value = json!({"x": {"$anchor": "a", "type": "integer"}});
    check_apart(&anchored, &json!({"properties": {"x": {"type": "integer"}}}), &value);
}

#[test]
fn numbers_are_compared_as_they_are() {
    let whole = |values: Value| json!({"type": "integer", "enum": values});
    check_apart(&whole(json!([1e300])), &whole(json!([5])), &json!(1e300));
    check_apart(&json!({"enum": [1e30]}), &json!({"not": {"type": "integer"}}), &json!(1e30));
    let (even, odd) = (9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64);
    check_apart(&json!({"enum": [even, odd]}), &json!({"enum": [even]}), &json!(odd));
}

#[test]
fn patterns_mean_what_ecma_262_says() {
    let pattern = |p: &str| json!({"type": "string", "pattern": p});
    let cases = [
        (r"^[\D]$", r"^D$", "x"),
        (r"^[\W_]$", r"^[_W]$", "-"),
        (r"^[\]\D]$", r"^[\]D]$", "x"),
        (r"^[!--]$", r"^[!]$", "%"),
        (r"^[a&&b]$", r"^b$", "a"),
        (r"^[a~~b]$", r"^[~]$", "a"),
        (r"^[\s\S]$", r"^[a-z]$", "\n"),
    ];
    for (inner, outer, text) in cases {
        check_apart(&pattern(inner), &pattern(outer), &json!(text));
    }
    // What ECMA-262 has no meaning for, engines give different ones.
    for (inner, outer, text) in [("^aa$", "^a*+a$", "aa"), ("^aa$", "^a++a$", "aa")] {
        check_apart(&pattern(inner), &pattern(outer), &json!(text));
    }
    for odd in ["^*b", "b$?", "^a{2}{1}$", "(?<1 x>a)b", "(?<n>a)(?<n>b)", "a|*", "(?<=a)b"] {
        let answer = contained(&read(&pattern("^aab$")), &read(&pattern(odd)), &[]);
        assert!(!matches!(answer, Answer::Contained(_)), "{odd}: {answer:?}");
    }
    // Patterns decide what names and listed values are worth.
    let named = |p: &str, s: Value| json!({"type": "object", "patternProperties": {p: s}});
    check_apart(
        &named(r"^[\D]$", json!({})),
        &json!({"type": "object", "properties": {"x": {"type": "string"}}}),
        &json!({"x": 1}),
    );
    check_apart(&json!({"enum": ["x"]}), &pattern(r"^[^\D]$"), &json!("x"));
}

#[test]
fn what_is_unevaluated_depends_on_what_was_said() {
    let said = json!({"type": "object", "additionalProperties": true, "unevaluatedProperties": false});
    let unsaid = json!({"type": "object", "unevaluatedProperties": false});
    check_apart(&said, &unsaid, &json!({"a": 1}));
    let through = |part: Value| json!({"allOf": [part], "unevaluatedProperties": false});
    check_apart(
        &through(json!({"additionalProperties": {}})),
        &through(json!({"properties": {}})),
        &json!({"a": 1}),
    );
}

#[test]
fn a_schema_that_stands_on_itself_proves_nothing() {
    let circles = [
        json!({"not": {"$ref": "#"}}),
        json!({"oneOf": [{"$ref": "#"}, {"type": "string"}]}),
        json!({"if": {"$ref": "#"}, "then": {"type": "string"}}),
        json!({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
        json!({"$id": "https://example.com/self", "not": {"$ref": "https://example.com/self#"}}),
        json!({"$id": "https://example.com/self", "not": {"$ref": "self"}}),
        json!({"$dynamicAnchor": "node", "not": {"$dynamicRef": "#node"}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true, "not": {"$recursiveRef": "#"}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"$ref": "#"}}}),
        json!({"not": {"$ref": "#in"}, "unevaluatedProperties": {"$dynamicAnchor": "node"}, "$defs": {"a": {"$anchor": "in", "allOf": [{"not": {"$ref": "#in"}}]}}}),
    ];
    for schema in &circles {
        for other in [json!({"type": "string"}), json!({"not": {}})] {
            for (inner, outer) in [(schema, &other), (&other, schema)] {
                let answer = contained(&read(inner), &read(outer), &[]);
                assert!(matches!(answer, Answer::Unknown(_)), "{inner} in {outer}: {answer:?}");
            }
        }
        assert!(tried(&read(schema), &read(&json!(false)), &[&json!("a")]).is_none(), "{schema}");
    }
    // A reference that is met again deeper in the value is no circle, in whatever words.
    let deeper = [
        json!({"properties": {"a": {"$ref": "#"}, "b": false}}),
        json!({"$id": "https://example.com/tree", "properties": {"a": {"$ref": "tree"}, "b": false}}),
        json!({"$dynamicAnchor": "node", "properties": {"a": {"$dynamicRef": "#node"}, "b": false}}),
    ];
    for schema in &deeper {
        let answer = contained(&read(&json!({})), &read(schema), &[]);
        assert!(matches!(answer, Answer::Refuted(_)), "{schema}: {answer:?}");
    }
}

/// A proof that leans on one that fails later falls with it, whatever was proved in between.
#[test]
fn a_proof_stands_only_while_what_it_leans_on_does() {
    let definitions = |named: &str| {
        let to = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
        let object = |properties: Value| json!({"type": "object", "properties": properties});
        json!({
            "L": object(json!({"n": to("I")})),
            "I": object(json!({"x": to("M"), "z": to("Z"), "w": {"type": named}})),
            "M": object(json!({"m": to("X")})),
            "X": object(json!({"y": to("Y"), "back": to("L")})),
            "Y": object(json!({"up": to("M")})),
            "Z": object(json!({"q0": object(json!({"q": to("Y")}))})),
        })
    };
    let inner = json!({"type": "object", "allOf": [{"$ref": "#/$defs/L"}], "$defs": definitions("number")});
    let beside = json!({"type": "object", "properties": {"n": {"type": "object", "properties": {"z": {"$ref": "#/$defs/Z"}}}}});
    let outer =
        json!({"type": "object", "anyOf": [{"$ref": "#/$defs/L"}, beside], "$defs": definitions("string")});
    let value = json!({"n": {"z": {"q0": {"q": {"up": {"m": {"back": {"n": {"w": 5}}}}}}}}});
    check_apart(&inner, &outer, &value);
}

#[test]
fn what_is_contained_stays_proved() {
    let cases = [
        (
            of(DRAFT_07, json!({"items": [{"type": "string"}], "additionalItems": false})),
            json!({"prefixItems": [{"type": "string"}], "items": false}),
        ),
        (of(DRAFT_07, json!({"dependencies": {"a": ["b"]}})), json!({"dependentRequired": {"a": ["b"]}})),
        (
            of(
                DRAFT_07,
                json!({"$ref": "#/definitions/x", "definitions": {"x": {"type": "string", "minLength": 1}}}),
            ),
            json!({"type": "string"}),
        ),
        (
            of(DRAFT_04, json!({"type": "number", "minimum": 0, "exclusiveMinimum": true})),
            json!({"type": "number", "exclusiveMinimum": 0}),
        ),
        (
            json!({"type": "string", "pattern": r"^[\d\-]+$"}),
            json!({"type": "string", "pattern": r"^[\w.\-]+$"}),
        ),
        (
            json!({"type": "string", "pattern": r"^[A-Z]{2}-\d{1,3}$"}),
            json!({"type": "string", "pattern": r"^\S+$"}),
        ),
        (
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["id"]}}}),
            json!({"properties": {"next": {"$ref": "#"}}}),
        ),
    ];
    cases.iter().for_each(|(inner, outer)| check_contained(inner, outer));
}

fn check_contained(inner: &Value, outer: &Value) {
    let answer = contained(&read(inner), &read(outer), &[]);
    assert!(matches!(answer, Answer::Contained(_)), "{inner} in {outer}: {answer:?}");
}

#[test]
fn texts_are_decided_by_automata() {
    let text = |mut more: Value| {
        more["type"] = "string".into();
        more
    };
    let cases = [
        (json!({"maxLength": 1}), json!({"not": {"pattern": "^ab"}})),
        (json!({"pattern": "^[ab]$"}), json!({"enum": ["a", "b"]})),
        (json!({"pattern": "^a{3}$"}), json!({"minLength": 3, "maxLength": 3})),
        (json!({"pattern": "^a?$", "minLength": 1}), json!({"const": "a"})),
        (json!({"pattern": "^a"}), json!({"not": {"pattern": "^b"}})),
        (json!({"minLength": 1}), json!({"pattern": r"[\s\S]"})),
        (json!({"pattern": "^[ac]$", "not": {"pattern": "^a"}}), json!({"const": "c"})),
        (
            json!({"not": {"minLength": 5, "pattern": "a"}}),
            json!({"anyOf": [{"maxLength": 4}, {"pattern": "[^a]"}]}),
        ),
        (json!({"pattern": r"[^\s\S]"}), json!({"not": {}})),
        (json!({"pattern": "^(?:ab)+$"}), json!({"oneOf": [{"pattern": "^a"}, {"pattern": "^b"}]})),
    ];
    for (inner, outer) in cases {
        check_contained(&text(inner), &text(outer));
    }
    check_apart(&text(json!({"minLength": 1})), &text(json!({"pattern": ".+"})), &json!("\n"));
    check_refuted(&text(json!({"minLength": 1})), &text(json!({"pattern": ".+"})));
    check_refuted(&text(json!({"pattern": "^[a-z]{2,40}$"})), &text(json!({"pattern": "^[a-z]{2,39}$"})));
    let names =
        |p: &str| json!({"type": "object", "patternProperties": {p: true}, "additionalProperties": false});
    check_contained(&names("^alpha"), &names("^a"));
    check_refuted(&names("^a"), &names("^alpha"));
}

#[test]
fn numbers_and_counts_are_decided_by_arithmetic() {
    let whole = |step: Value| json!({"type": "integer", "multipleOf": step});
    check_contained(&whole(json!(1.5)), &whole(json!(3)));
    check_contained(
        &json!({"allOf": [{"multipleOf": 0.2}, {"multipleOf": 0.3}]}),
        &json!({"multipleOf": 0.6}),
    );
    check_refuted(&whole(json!(2)), &whole(json!(3)));
    let counted = |more: Value| json!({"type": "array", "items": {"type": "integer"}, "contains": more});
    let list = json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2});
    check_contained(&list, &counted(json!({"type": "number"})));
    let mut few = counted(json!({"type": "integer"}));
    few["maxContains"] = 2.into();
    check_contained(&few, &json!({"maxItems": 2}));
    check_refuted(
        &json!({"type": "array"}),
        &json!({"contains": {"type": "integer"}, "minContains": 0, "maxContains": 1}),
    );
    check_refuted(
        &json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1}),
        &json!({"multipleOf": 0.5}),
    );
    check_contained(&json!({"const": [{"a": true}], "not": {"const": [{"a": true}]}}), &json!(false));
}

#[test]
fn what_is_not_contained_is_shown() {
    let mixed = json!({"type": "array", "items": {"type": ["integer", "string"]}});
    let either = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "string"}}]});
    check_refuted(&mixed, &either);
    for names in [
        json!({"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": false}),
        json!({"propertyNames": {"pattern": "^a+$"}}),
    ] {
        let mut open = names;
        open["type"] = "object".into();
        check_refuted(&open, &json!({"maxProperties": 1}));
        check_refuted(&open, &json!({"maxProperties": 5}));
    }
}

#[test]
fn names_of_properties_are_texts() {
    let any = json!({"type": "object"});
    let named = |names: Value| {
        let mut schema = any.clone();
        schema["propertyNames"] = names;
        schema["$defs"] = json!({"short": {"maxLength": 1}});
        schema
    };
    for names in [json!({"type": "string"}), json!({"type": ["string", "null"], "title": "Key"}), json!({})] {
        check_contained(&any, &named(names));
    }
    for names in [
        json!({"type": "integer"}),
        json!({"type": "string", "maxLength": 1}),
        json!({"type": "string", "allOf": [{"maxLength": 1}]}),
        json!({"type": "string", "$ref": "#/$defs/short"}),
        json!({"type": "string", "then": {"maxLength": 1}, "if": true}),
    ] {
        check_apart(&any, &named(names), &json!({"ab": 1}));
    }
}

#[test]
fn an_asserted_format_rejects_what_validators_reject() {
    let asserted = |schema: &Value| Schema::reading(schema, true).unwrap_or_else(|e| panic!("{schema}: {e}"));
    let of_format = |format: &str| json!({"type": "string", "format": format});
    let text = json!({"type": "string"});
    // inner, outer, whether every value of the one is one of the other; nothing where nobody can tell.
    let cases = [
        (text.clone(), of_format("date"), Some(false)),
        (of_format("date"), text.clone(), Some(true)),
        (of_format("date"), of_format("date"), Some(true)),
        (of_format("date"), of_format("date-time"), Some(false)),
        (json!({"not": of_format("date")}), json!({"not": text.clone()}), Some(false)),
        (json!({"enum": ["2026-11-30"]}), of_format("date"), None),
        (json!({"enum": ["tomorrow"]}), of_format("date"), Some(false)),
        (
            json!({"type": "string", "pattern": "^[0-9]+$"}),
            json!({"type": "string", "pattern": "^[0-9]+$", "format": "date"}),
            Some(false),
        ),
        // Of nobody's, or of a later dialect's.
        (text.clone(), of_format("int32"), Some(true)),
        (text.clone(), of(DRAFT_07, of_format("uuid")), Some(true)),
        (text.clone(), of_format("uuid"), Some(false)),
        (of(DRAFT_06, of_format("hostname")), of_format("hostname"), None),
        (json!({"type": "integer"}), json!({"type": ["integer", "string"], "format": "date"}), Some(true)),
    ];
    for (inner, outer, expected) in cases {
        let answer = contained(&asserted(&inner), &asserted(&outer), &[]);
        let told = match answer {
            Answer::Contained(_) => Some(true),
            Answer::Refuted(_) => Some(false),
            Answer::Unknown(_) => None,
        };
        assert_eq!(told, expected, "{inner} in {outer}: {answer:?}");
    }
}

/// The set algebra breaks a promise to itself on these.
#[test]
fn numbers_beyond_reckoning_end_with_an_answer() {
    let inner =
        json!({"type": "object", "properties": {"a": {"type": "number", "multipleOf": 1e30, "minimum": 2}}});
    let outer = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let answer = contained(&read(&inner), &read(&outer), &[]);
    assert!(!matches!(answer, Answer::Refuted(_)), "{answer:?}");
}

fn check_refuted(inner: &Value, outer: &Value) {
    let answer = contained(&read(inner), &read(outer), &[]);
    assert!(matches!(answer, Answer::Refuted(_)), "{inner} in {outer}: {answer:?}");
}
