//! Diffs of two lists that are sent.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{check, check_parts};
use crate::{
    ask::{Ask, get, post},
    seed,
};

fn diff(baseline: Value, candidate: Value) -> Ask {
    post("/api/v1/diff", json!({"baseline": baseline, "candidate": candidate}))
}

#[tokio::test]
async fn what_is_no_tools_list_is_refused_by_the_name_of_its_side() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, diff(json!([]), json!("tools"))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/not-a-tools-list",
      "title": "not a tools list",
      "status": 400,
      "detail": "`candidate` is not a tools list: it is neither an object nor an array; expected {\"tools\":[...]}, a JSON-RPC response, or a bare array of tools",
      "code": "not-a-tools-list",
      "help": "save the whole answer to `tools/list`, for example with `toolpact snapshot`"
    }
    "#);
    assert_snapshot!(check(&app, diff(json!({"tools": [{"name": "x"}]}), json!([]))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/unreadable-tool",
      "title": "unreadable tool",
      "status": 400,
      "detail": "`baseline` cannot be read as a tools list: tool `x` has no `inputSchema`",
      "code": "unreadable-tool",
      "help": "ask the server's author to list a tool as the protocol describes it"
    }
    "#);
    assert_snapshot!(check(&app, diff(json!({"tools": [], "nextCursor": "2"}), json!([]))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/one-page",
      "title": "one page",
      "status": 400,
      "detail": "`baseline` is only one page of a longer list (it has a `nextCursor`); save the whole list",
      "code": "one-page",
      "help": "save the whole answer to `tools/list`, for example with `toolpact snapshot`"
    }
    "#);
    assert_snapshot!(check(&app, post("/api/v1/diff", json!({"baseline": []}))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body cannot be read: missing field `candidate` at line 1 column 15",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "",
          "detail": "missing field `candidate` at line 1 column 15"
        }
      ]
    }
    "#);
    let assume = json!({"baseline": [], "candidate": [], "assume": "hope"});
    assert_snapshot!(check(&app, post("/api/v1/diff", assume)).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body cannot be read: unknown variant `hope`, expected `declared` or `strict` at line 1 column 45",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "/assume",
          "detail": "unknown variant `hope`, expected `declared` or `strict` at line 1 column 45"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn large_lists_are_read_and_larger_ones_refused() {
    let app = seed::empty().await;
    let list = |bytes: usize| json!([{"name": "t", "description": "x".repeat(bytes), "inputSchema": {"type": "object"}}]);
    let large = check_parts(&app, diff(list(1 << 20), list(1 << 20)), &["/verdict", "/tools"]).await;
    assert_snapshot!(large, @r#"
    200 content-type=application/json
    /verdict: "compatible"
    /tools: []
    "#);
    assert!(check(&app, diff(list(9 << 20), list(9 << 20))).await.starts_with("413 "));
}

#[tokio::test]
async fn recorded_calls_are_held_against_both_lists() {
    let app = seed::empty().await;
    let list = |units: Value| {
        let schema = json!({"type": "object", "properties": {"unit": units}});
        json!([{"name": "convert", "inputSchema": schema}])
    };
    let ask = |calls: Value| {
        let (baseline, candidate) = (list(json!({"type": "string"})), list(json!({"enum": ["km", "mile"]})));
        post("/api/v1/diff", json!({"baseline": baseline, "candidate": candidate, "calls": calls}))
    };
    let call = |unit: &str| json!({"method": "tools/call", "params": {"name": "convert", "arguments": {"unit": unit}}});
    let parts = ["/calls", "/tools/0/calls", "/tools/0/findings/0/witness"];
    let answer = check_parts(&app, ask(json!([call("km"), call("furlong"), {"result": {}}])), &parts).await;
    assert_snapshot!(answer, @r#"
    200 content-type=application/json
    /calls: {"recorded":2,"skipped":1,"unmatched":0,"broken":1}
    /tools/0/calls: {"recorded":2,"rejectedBefore":0,"broken":1}
    /tools/0/findings/0/witness: {"value":{"unit":"furlong"},"at":"/unit","reason":"\"furlong\" is not one of \"km\" or \"mile\"","origin":"recorded"}
    "#);
    assert_snapshot!(check(&app, ask(call("km"))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body cannot be read: `calls` is no array",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "/calls",
          "detail": "`calls` is no array"
        }
      ]
    }
    "#);
    let deep: Value = serde_json::from_str(&("[".repeat(110) + &"]".repeat(110))).expect("JSON");
    assert_snapshot!(check(&app, ask(json!([deep]))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/unreadable-calls",
      "title": "unreadable calls",
      "status": 400,
      "detail": "`calls` line 1: nests 110 levels deep, the limit is 100",
      "code": "unreadable-calls",
      "help": "record `tools/call` requests, one a line, each as it was sent; or an array of them"
    }
    "#);
    // Nothing of a call is kept.
    assert!(!check(&app, get("/api/v1/events")).await.contains("furlong"));
}
