//! What is wrong with a tool whatever it is compared with.

use serde_json::{Value, json};
use toolpact::lint;

use crate::{contract::contract, rules::side};

/// Each remark on headers as `rule place`.
fn check(input_schema: &Value, expected: &[&str]) {
    let tool = json!({ "name": "query", "inputSchema": input_schema });
    let contract = contract(&tool.to_string()).expect("a contract");
    let of_headers = lint::tool(&contract).into_iter().filter(|r| r.rule == "invalid-header");
    let said: Vec<String> = of_headers.map(|r| format!("{} {}", r.rule, r.at)).collect();
    assert_eq!(said, expected, "{input_schema}");
}

#[test]
fn a_header_that_clients_must_not_accept_is_found_without_a_baseline() {
    let parameter = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let mirrored = |header: Value| parameter(json!({ "type": "string", "x-mcp-header": header }));
    let at = "invalid-header /properties/a/x-mcp-header";
    check(&mirrored(json!("Region")), &[]);
    for header in [json!(""), json!("a b"), json!("a:b"), json!("a\nb"), json!("é"), json!(1), json!(null)] {
        check(&mirrored(header), &[at]);
    }
    for kind in [json!("number"), json!("object"), json!("null"), json!(["string"]), json!(null)] {
        let schema = parameter(json!({ "type": kind, "x-mcp-header": "A" }));
        check(&schema, &["invalid-header /properties/a/type"]);
    }
    // Inside a parameter it is one as well; by any other way it is none.
    let annotated = json!({ "type": "string", "x-mcp-header": "A" });
    check(&parameter(json!({ "type": "object", "properties": { "b": annotated } })), &[]);
    for keyword in ["items", "additionalProperties", "not", "if", "contains"] {
        let place = format!("invalid-header /properties/a/{keyword}/x-mcp-header");
        check(&parameter(json!({ keyword: annotated })), &[&place]);
        let below = format!("invalid-header /properties/a/{keyword}/properties/b/x-mcp-header");
        check(&parameter(json!({ keyword: { "properties": { "b": annotated } } })), &[&below]);
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        let place = format!("invalid-header /properties/a/{keyword}/0/x-mcp-header");
        check(&parameter(json!({ keyword: [annotated] })), &[&place]);
    }
    for keyword in ["patternProperties", "dependentSchemas", "$defs", "definitions"] {
        let place = format!("invalid-header /properties/a/{keyword}/b/x-mcp-header");
        check(&parameter(json!({ keyword: { "b": annotated } })), &[&place]);
    }
    // Written by its code it is the same keyword.
    let coded = r#"{"name":"query","inputSchema":{"x-mcp\u002dheader":"A"}}"#;
    assert_eq!(lint::tool(&contract(coded).expect("a contract")).len(), 1);
    // What only looks like an annotation: a property of that name, and values.
    check(&json!({ "properties": { "x-mcp-header": { "type": "string" } } }), &[]);
    check(&parameter(json!({ "default": { "x-mcp-header": 1 }, "enum": [{ "x-mcp-header": 1 }] })), &[]);
}

#[test]
fn a_list_is_judged_by_itself() {
    let object = json!({ "type": "object" });
    let tool = |name: &str, schema: &Value| json!({ "name": name, "inputSchema": schema });
    let no_schema = json!({ "type": "object", "properties": { "a": { "type": "text" } } });
    let gives =
        json!({ "name": "a", "inputSchema": object, "outputSchema": { "type": "object", "required": "a" } });
    // (list, each finding as `level tool rule surface`)
    for (list, expected) in [
        (json!([]), vec![]),
        (json!([tool("a", &object), tool("b", &object)]), vec![]),
        (json!([tool("a", &no_schema)]), vec!["breaking a invalid-schema input"]),
        (json!([gives]), vec!["breaking a invalid-schema output"]),
        (
            json!([tool("a", &object), tool("b", &object), tool("a", &object)]),
            vec!["risky a duplicate-tool-name listing"],
        ),
        (
            json!([
                tool("a", &object),
                tool("b", &no_schema),
                tool("a", &json!({ "type": "object", "required": ["x"] }))
            ]),
            vec!["breaking a duplicate-tool-name listing", "breaking b invalid-schema input"],
        ),
        (
            json!([tool("a", &object), tool("a", &object), tool("b", &no_schema)]),
            vec!["breaking b invalid-schema input", "risky a duplicate-tool-name listing"],
        ),
    ] {
        let linted = lint::side(&side("list", &list));
        let said: Vec<String> = linted
            .findings
            .iter()
            .map(|f| format!("{} {} {} {}", f.finding.level, f.tool, f.finding.rule, f.finding.surface))
            .collect();
        assert_eq!(said, expected, "{list}");
        assert_eq!(linted.tools, list.as_array().map_or(0, Vec::len));
    }
}
