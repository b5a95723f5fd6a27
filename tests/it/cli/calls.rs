//! Recorded calls given to diff and gate: which of them is the witness, what else is made of them, and how they are refused.

use serde_json::{Value, json};

use super::{BLOCKED, INVALID, PASSED};
use crate::command::{Ended, User};

/// A list with one tool, `convert`.
fn list(schema: Value) -> String {
    json!({"server": "units", "tools": [{"name": "convert", "inputSchema": schema}]}).to_string()
}

/// Takes any unit.
fn baseline() -> String {
    list(json!({
        "type": "object",
        "properties": {"unit": {"type": "string"}, "amount": {"type": "number"}, "note": {"type": "string"}},
        "required": ["unit"],
    }))
}

/// Takes these units only.
fn candidate(units: &[&str]) -> String {
    list(json!({
        "type": "object",
        "properties": {"unit": {"enum": units}, "amount": {"type": "number"}, "note": {"type": "string"}},
        "required": ["unit"],
    }))
}

fn gate(candidate: &str, calls: &str, more: &[&str]) -> Ended {
    let user = User::new();
    user.file("baseline.json", baseline());
    user.file("candidate.json", candidate);
    user.file("calls.jsonl", calls);
    let args = ["gate", "--baseline", "baseline.json", "--file", "candidate.json", "--calls", "calls.jsonl"];
    user.run(&[&args, more].concat())
}

/// The report in JSON.
#[track_caller]
fn report(candidate: &str, calls: &str, code: i32) -> Value {
    let ended = gate(candidate, calls, &["--format", "json"]).code(code);
    serde_json::from_str(&ended.stdout).expect("it is JSON")
}

/// The only witness.
fn witness(report: &Value) -> &Value {
    &report["tools"][0]["findings"][0]["witness"]
}

const CALLS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"convert","arguments":{"unit":"km","amount":7}}}
{"jsonrpc":"2.0","id":2,"result":{"content":[]}}
{"name":"convert","arguments":{"unit":"furlong","amount":3,"note":"for Ada and Bob"}}
{"name":"convert","arguments":{"unit":"furlong","amount":3,"note":"for Ada"}}

{"server":"units","name":"convert","arguments":{"unit":"km","note":"again"}}
{"server":"other","name":"convert","arguments":{"unit":"furlong"}}
{"name":"convert","arguments":{"unit":4}}
"#;

#[test]
fn a_recorded_call_that_breaks_is_the_witness_as_it_stands() {
    let built = report(&candidate(&["km", "mile"]), "", BLOCKED);
    assert_eq!(witness(&built)["value"], json!({"unit": "a"}));
    assert!(witness(&built).get("origin").is_none() && built.get("calls").is_none(), "{built}");

    let recorded = report(&candidate(&["km", "mile"]), CALLS, BLOCKED);
    assert_eq!(witness(&recorded)["value"], json!({"unit": "furlong", "amount": 3, "note": "for Ada"}));
    assert_eq!(witness(&recorded)["origin"], "recorded");
    assert_eq!(recorded["tools"][0]["calls"], json!({"recorded": 5, "rejectedBefore": 1, "broken": 2}));
    assert_eq!(recorded["calls"], json!({"recorded": 6, "skipped": 2, "unmatched": 1, "broken": 2}));

    // In whatever order they were recorded.
    let turned = CALLS.lines().rev().collect::<Vec<_>>().join("\n");
    assert_eq!(report(&candidate(&["km", "mile"]), &turned, BLOCKED), recorded);
}

/// Only a header of theirs changes: the calls that need it are refused over HTTP, and the others are not.
#[test]
fn a_recorded_call_that_needs_another_header_is_the_witness() {
    let tool = |unit: Value, more: Value| {
        list(
            json!({"type": "object", "properties": {"unit": unit, "amount": {"type": "number"}, "more": more}}),
        )
    };
    let plain = json!({"type": "string"});
    let named = |header: &str| json!({"type": "string", "x-mcp-header": header});
    let before = |unit: Value| tool(unit, json!(true));
    let broken = |baseline: &str, candidate: &str, assume: &str| {
        let user = User::new();
        user.file("baseline.json", baseline);
        user.file("candidate.json", candidate);
        user.file("calls.jsonl", CALLS);
        let args = ["diff", "baseline.json", "candidate.json", "--calls", "calls.jsonl", "--format", "json"];
        let ended = user.run(&[&args[..], &["--assume", assume]].concat()).code(PASSED);
        serde_json::from_str::<Value>(&ended.stdout).expect("it is JSON")
    };
    // (baseline, candidate, how many break, the witness and where it is refused)
    let first = json!({"unit": "km", "amount": 7});
    for (baseline, candidate, count, at) in [
        (before(plain.clone()), before(named("Unit")), 4, "/unit"),
        (before(named("Measure")), before(named("Unit")), 4, "/unit"),
        // To readers on the way something is lost, to callers nothing.
        (before(named("Unit")), before(plain.clone()), 0, ""),
        // No client of HTTP lists the tool.
        (before(plain.clone()), before(named("no name")), 4, ""),
        // Nobody sends it.
        (before(plain.clone()), tool(plain.clone(), named("More")), 0, ""),
    ] {
        for assume in ["declared", "strict"] {
            let report = broken(&baseline, &candidate, assume);
            let tool = &report["tools"][0];
            let calls = json!({"recorded": 5, "rejectedBefore": 1, "broken": count});
            assert_eq!(tool["calls"], calls, "{candidate} {assume}: {report}");
            if count > 0 {
                assert_eq!(witness(&report)["value"], first, "{report}");
                assert_eq!(witness(&report)["at"], at, "{report}");
                assert_eq!(witness(&report)["origin"], "recorded", "{report}");
            }
        }
    }
    // What nobody declared was sent all the same, so it breaks under either assumption.
    let undeclared = list(json!({"type": "object", "properties": {"amount": {"type": "number"}}}));
    let declared =
        list(json!({"type": "object", "properties": {"amount": {"type": "number"}, "unit": named("Unit")}}));
    for assume in ["declared", "strict"] {
        let report = broken(&undeclared, &declared, assume);
        let findings = report["tools"][0]["findings"].as_array().expect("a list");
        let header = findings.iter().find(|f| f["rule"] == "header-changed").expect("it is told");
        let plainest = json!({"unit": 4});
        assert_eq!(
            (&header["level"], &header["witness"]["value"]),
            (&json!("breaking"), &plainest),
            "{report}"
        );
    }
}

#[test]
fn the_text_says_what_was_recorded_and_how_many_calls_break() {
    let text = gate(&candidate(&["km", "mile"]), CALLS, &[]).code(BLOCKED).stdout;
    for part in [
        "\"for Ada\"}   a recorded call, accepted by the baseline, rejected by the candidate\n",
        "  calls: 2 of 5 recorded calls of tool `convert` on server `units` are rejected by the candidate\n",
        "  calls: 6 recorded, 2 rejected by the candidate alone; rejected by the baseline already: 1; ",
        "of tools that the baseline does not list: 1; other messages skipped: 2\n",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(text.lines().last().is_some_and(|line| line.starts_with("gate: blocked")), "{text}");
}

#[test]
fn calls_that_are_all_fine_lend_their_values_to_the_witness() {
    // Both are taken still; what breaks has to be built, and stands beside what callers send.
    let calls = r#"[{"name": "convert", "arguments": {"unit": "km", "note": "short"}},
        {"name": "convert", "arguments": {"unit": "km", "note": "again"}}]"#;
    let bounded = list(json!({
        "type": "object",
        "properties": {
            "unit": {"type": "string"},
            "amount": {"type": "number"},
            "note": {"type": "string", "maxLength": 12},
        },
        "required": ["unit"],
    }));
    let good = report(&bounded, calls, BLOCKED);
    assert_eq!(witness(&good)["value"], json!({"unit": "km", "note": "aaaaaaaaaaaaa"}));
    assert!(witness(&good).get("origin").is_none(), "{good}");
    assert_eq!(good["calls"], json!({"recorded": 2, "skipped": 0, "unmatched": 0, "broken": 0}));

    // So do calls that the baseline rejects.
    let calls = r#"{"name":"convert","arguments":{"unit":3,"note":"for the record"}}"#;
    let rejected = report(&bounded, calls, BLOCKED);
    assert_eq!(witness(&rejected)["value"], json!({"unit": "a", "note": "for the record"}));

    let text = gate(&baseline(), calls, &[]).code(PASSED).stdout;
    assert!(text.contains("  calls: 1 recorded, none rejected by the candidate alone\n"), "{text}");
}

#[test]
fn what_was_sent_is_sent_whatever_callers_are_taken_to_send() {
    let closed = list(json!({
        "type": "object",
        "properties": {"unit": {"type": "string"}, "amount": {"type": "number"}, "note": {"type": "string"}},
        "required": ["unit"],
        "additionalProperties": false,
    }));
    gate(&closed, "", &[]).code(PASSED);
    let report = report(&closed, r#"{"name":"convert","arguments":{"unit":"km","trace":"t-1"}}"#, BLOCKED);
    assert_eq!(report["verdicts"], json!({"declared": "breaking", "strict": "breaking"}));
    assert_eq!(report["blockedBy"]["rule"], "additional-properties-closed");
    assert_eq!(witness(&report)["value"], json!({"unit": "km", "trace": "t-1"}));
}

#[test]
fn a_recorded_call_is_not_hidden_by_what_else_breaks() {
    let call = r#"{"name":"convert","arguments":{"unit":"km","trace":"t-1"}}"#;
    for (properties, keywords, rule) in [
        (json!({"trace": {"type": "integer"}}), json!({}), "property-added"),
        (json!({"trace": {"$ref": "#/properties/amount"}}), json!({}), "property-added"),
        (json!({}), json!({"additionalProperties": {"type": "number"}}), "unexplained-change"),
    ] {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "unit": {"type": "string"},
                "amount": {"type": "number"},
                "note": {"type": "string", "maxLength": 12},
            },
            "required": ["unit"],
        });
        for (members, at) in [(properties, "/properties"), (keywords, "")] {
            let more = members.as_object().cloned().unwrap_or_default();
            schema.pointer_mut(at).and_then(Value::as_object_mut).expect("an object").extend(more);
        }
        let report = report(&list(schema), call, BLOCKED);
        let findings = report["tools"][0]["findings"].as_array().expect("findings");
        let shown: Vec<&Value> = findings.iter().filter(|f| f["witness"]["origin"] == "recorded").collect();
        let [only] = shown.as_slice() else { panic!("{report}") };
        assert_eq!((&only["rule"], &only["level"]), (&json!(rule), &json!("breaking")));
        assert!(findings.iter().any(|f| f["rule"] == "bound-tightened"), "{report}");
    }
}

#[test]
fn calls_of_a_tool_that_is_gone_break() {
    let report = report(r#"{"tools":[]}"#, CALLS, BLOCKED);
    assert_eq!(witness(&report)["value"], json!({"unit": "km", "amount": 7}));
    assert_eq!(witness(&report)["reason"], "there is no tool `convert` any more");
    assert_eq!(report["tools"][0]["calls"], json!({"recorded": 5, "rejectedBefore": 1, "broken": 4}));
}

#[test]
fn what_holds_no_recorded_calls_is_refused_by_file_and_line() {
    let deep = format!(r#"{{"name":"convert","arguments":{{"a":{}{}}}}}"#, "[".repeat(120), "]".repeat(120));
    let large = format!(r#"{{"name":"convert","arguments":{{"note":"{}"}}}}"#, "x".repeat(1 << 20));
    let many = "{\"name\":\"x\",\"arguments\":{}}\n".repeat(100_001);
    for (calls, parts) in [
        ("{\"name\":\"convert\",\"arguments\":{}}\n\n{\"name\":", &["line 3", "not valid JSON"] as &[&str]),
        ("recorded calls", &["line 1", "not valid JSON"]),
        ("[{\"name\":\"convert\",\"arguments\":{}},\n{]", &["line 2", "not valid JSON"]),
        (&format!("[\n{{}},\n{deep}]"), &["line 3", "122 levels deep", "the limit is 100"]),
        (&format!("{{}}\n{large}"), &["line 2", "the limit is 1048576"]),
        (&many, &["more than 100000 recorded calls"]),
        (&" ".repeat((16 << 20) + 1), &["16777216 bytes", "limit for recorded calls"]),
    ] {
        let ended = gate(&baseline(), calls, &[]).code(INVALID);
        for part in ["`calls.jsonl`"].iter().chain(parts) {
            assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
        }
    }
}

#[test]
fn recorded_calls_may_come_from_stdin_but_not_beside_a_side_from_there() {
    let user = User::new();
    user.file("baseline.json", baseline());
    user.file("candidate.json", candidate(&["km"]));
    let args = ["diff", "baseline.json", "candidate.json", "--calls", "-"];
    let ended = user.run_with_stdin(&args, CALLS).code(PASSED);
    assert!(ended.stdout.contains("a recorded call"), "{}", ended.stdout);
    for args in [
        &["diff", "-", "candidate.json", "--calls", "-"] as &[&str],
        &["gate", "--baseline", "baseline.json", "--file", "-", "--calls", "-"],
    ] {
        let ended = user.run_with_stdin(args, &baseline()).code(INVALID);
        assert!(ended.stderr.contains("stdin can be read once"), "{}", ended.stderr);
    }
    user.run(&["diff", "baseline.json", "candidate.json", "--calls", "none.jsonl"]).code(INVALID);
}
