//! Schemas that a hostile or broken server may send: every diff of them ends, says something, and nothing panics.

use serde_json::{Map, Value, json};
use toolpact::diff::{Assumption, Level, diff};

use crate::rules::side;

fn nested(levels: usize, leaf: Value) -> Value {
    (0..levels).fold(leaf, |inner, _| json!({"type": "object", "properties": {"a": inner}}))
}

fn wide(n: usize, extra: Value) -> Value {
    let mut properties: Map<String, Value> =
        (0..n).map(|i| (format!("p{i}"), json!({"anyOf": [{"type": "string"}, {"type": "null"}]}))).collect();
    properties.insert("last".to_owned(), extra);
    json!({"type": "object", "properties": properties})
}

fn union(n: usize, extra: Value) -> Value {
    let branch = |i: usize| json!({"type": "object", "properties": {"k": {"const": i}, "v": {"type": ["string", "null"]}}, "required": ["k"]});
    let mut branches: Vec<Value> = (0..n).map(branch).collect();
    branches.push(extra);
    json!({"type": "object", "properties": {"u": {"oneOf": branches}}})
}

fn chain(n: usize, end: Value) -> Value {
    let mut defs: Map<String, Value> =
        (0..n).map(|i| (format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}))).collect();
    defs.insert(format!("d{n}"), end);
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

/// Objects in objects, each by a reference.
fn deep(n: usize, end: Value) -> Value {
    let object =
        |i: usize| json!({"type": "object", "properties": {"a": {"$ref": format!("#/$defs/d{}", i + 1)}}});
    let mut defs: Map<String, Value> = (0..n).map(|i| (format!("d{i}"), object(i))).collect();
    defs.insert(format!("d{n}"), end);
    json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs})
}

fn lists(leaf: Value) -> Value {
    let list = |inner: Value| json!({"type": "array", "items": inner, "minItems": 4_000});
    json!({"type": "object", "properties": {"a": list(list(list(leaf)))}})
}

fn patterned(n: usize, end: Value) -> Value {
    let properties: Map<String, Value> =
        (0..n).map(|i| (format!("p{i}"), json!({"type": "string"}))).collect();
    let patterns: Map<String, Value> = (0..n)
        .map(|i| (format!("^x{i}[a-z]+$"), json!({"type": "string"})))
        .chain([("^p".to_owned(), end)])
        .collect();
    json!({"type": "object", "properties": properties, "patternProperties": patterns})
}

/// The verdict both ways; that it comes at all is the point.
fn both(a: &Value, b: &Value) -> (Level, Level) {
    // Several tools, so that threads judge them.
    let list = |schema: &Value| {
        let tool = |name: &str| json!({"name": name, "inputSchema": schema, "outputSchema": schema});
        json!([tool("t"), tool("u")])
    };
    let (a, b) = (side("a", &list(a)), side("b", &list(b)));
    for assumption in [Assumption::Declared, Assumption::Strict] {
        assert!(diff(&a, &a, assumption).tools.is_empty(), "a list against itself");
    }
    (diff(&a, &b, Assumption::Declared).verdict, diff(&b, &a, Assumption::Strict).verdict)
}

#[test]
fn large_schemas_end_with_an_answer() {
    let text = || json!({"type": "string"});
    let short = || json!({"type": "string", "maxLength": 3});
    let cases = [
        ("90 levels", nested(45, text()), nested(45, short())),
        ("2,000 properties", wide(2_000, text()), wide(2_000, short())),
        ("200 branches", union(200, json!({"type": "string"})), union(200, json!({"type": "integer"}))),
        ("a chain of 500 references", chain(500, text()), chain(500, short())),
        ("objects through 3,000 references", deep(3_000, text()), deep(3_000, short())),
        ("lists in lists in lists", lists(text()), lists(short())),
        ("300 patterns", patterned(300, text()), patterned(300, short())),
        (
            "a huge bound",
            json!({"type": "object", "properties": {"a": {"type": "array", "minItems": 1_000_000_000}}}),
            json!({"type": "object", "properties": {"a": {"type": "array", "minItems": 2_000_000_000}}}),
        ),
        (
            "numbers at the edge",
            json!({"type": "object", "properties": {"a": {"type": "number", "maximum": 1e300}}}),
            json!({"type": "object", "properties": {"a": {"type": "number", "maximum": -1e300}}}),
        ),
        (
            "an explosive pattern",
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(a|b)*a(a|b){18}"}}}),
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(a|b)*b(a|b){18}"}}}),
        ),
    ];
    for (name, a, b) in &cases {
        let (there, back) = both(a, b);
        assert!(there > Level::Compatible && back > Level::Compatible, "{name}: {there} {back}");
    }
}

#[test]
fn references_in_a_circle_end_with_an_answer() {
    let cases = [
        json!({"type": "object", "$ref": "#"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
        json!({"type": "object", "properties": {"next": {"$ref": "#"}}}),
        json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}),
        json!({"type": "object", "properties": {"l": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "object", "properties": {"l": {"$ref": "#/$defs/t"}, "r": {"$ref": "#/$defs/t"}, "n": {"$ref": "#/$defs/t"}}}}}),
        json!({"type": "object", "allOf": [{"$ref": "#"}]}),
        json!({"type": "object", "properties": {"a": {"not": {"$ref": "#/properties/a"}}}}),
    ];
    for a in &cases {
        for b in &cases {
            if a != b {
                both(a, b);
            }
        }
    }
}

#[test]
fn keywords_of_the_wrong_kind_are_findings_and_no_panic() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!([]),
        json!([1, null]),
        json!({}),
        json!({"a": 1}),
    ];
    let keywords = [
        "type",
        "enum",
        "const",
        "minimum",
        "maxLength",
        "multipleOf",
        "pattern",
        "items",
        "prefixItems",
        "contains",
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "$ref",
        "$defs",
        "definitions",
        "$id",
        "$anchor",
        "$schema",
        "$dynamicRef",
        "unevaluatedProperties",
        "format",
        "default",
        "examples",
        "title",
        "minContains",
        "uniqueItems",
        "exclusiveMinimum",
        "dependencies",
        "additionalItems",
    ];
    let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for keyword in keywords {
        for value in &odd {
            let mut inner = Map::from_iter([("type".to_owned(), json!("string"))]);
            inner.insert(keyword.to_owned(), value.clone());
            let below = json!({"type": "object", "properties": {"a": inner}});
            let mut root = plain.clone();
            root[keyword] = value.clone();
            for schema in [&below, &root] {
                if schema != &plain && schema.is_object() {
                    both(&plain, schema);
                }
            }
        }
    }
}

/// Lists of which nothing stays: what each tool may have become is looked for by words and arguments, not pair by pair.
#[test]
fn two_long_lists_without_a_common_tool_end_with_an_answer() {
    const TOOLS: usize = 2_000;
    let list = |name: &dyn Fn(usize) -> String, parameters: usize| -> Value {
        let properties: Map<String, Value> = (0..parameters)
            .map(|i| (format!("p{i}"), json!({"enum": ["get_it", "set_it", "lose_it"]})))
            .collect();
        let tool =
            |i| json!({"name": name(i), "inputSchema": {"type": "object", "properties": properties.clone()}});
        (0..TOOLS).map(tool).collect()
    };
    let general = ["do", "execute", "handle", "manage", "perform"];
    let cases: [(&str, Value, Value); 3] = [
        ("one word in all names", list(&|i| format!("it_was{i}"), 3), list(&|i| format!("it_is{i}"), 3)),
        ("one schema", list(&|i| format!("old{i}"), 20), list(&|i| format!("new{i}"), 20)),
        (
            "as many parts as are looked at",
            list(&|i| format!("was{i}_it{}", i / 25), 20),
            list(&|i| format!("{}_{}_it{}", general[i % 5], general[i / 5 % 5], i / 25), 20),
        ),
    ];
    for (name, before, after) in &cases {
        let (before, after) = (side("a", before), side("b", after));
        let report = diff(&before, &after, Assumption::Declared);
        assert_eq!(report.tools.len(), 2 * TOOLS, "{name}");
        // What shares one word with thousands is no part of them.
        let hints = report.tools.iter().flat_map(|t| &t.findings).filter(|f| f.message.contains("looks"));
        assert_eq!(hints.count(), 0, "{name}");
        assert_eq!(report, diff(&before, &after, Assumption::Declared), "{name}");
    }
}
