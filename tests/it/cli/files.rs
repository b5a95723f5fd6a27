//! Diff and gate of files: what passes, what blocks, and how it is said.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{BLOCKED, INVALID, PASSED, diff, recorded};
use crate::command::User;

#[test]
fn a_list_against_itself_passes_in_silence() {
    let user = User::new();
    let same = recorded("orders-1.json");
    let ended = user.run(&["gate", "--baseline", &same, "--file", &same]).code(PASSED);
    assert_eq!(ended.stdout, "gate: passed; nothing changed (3 tools)\n");
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_compatible_release_passes_the_gate() {
    let user = User::new();
    let ended = user
        .run(&[
            "gate",
            "--baseline",
            &recorded("orders-1.json"),
            "--file",
            &recorded("orders-2-compatible.json"),
        ])
        .code(PASSED);
    assert!(ended.stdout.contains("gate: passed"), "{}", ended.stdout);
}

#[test]
fn a_breaking_release_is_blocked_and_the_last_line_names_the_rule() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let ended = user.run(&["gate", "--baseline", &baseline, "--file", &candidate]).code(BLOCKED);
    let last = ended.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("gate: blocked by "), "{}", ended.stdout);
    for part in ["breaking: tool `find_orders`", r#"{"state":"all"}"#, "tool `ping`", "`reason`", "help: "] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
}

/// A release that generates its schemas anew, with nothing changed for anyone: each tool is written otherwise in its own
/// way.
#[test]
fn schemas_written_anew_are_one_line() {
    let plain = || {
        json!({
            "type": "object",
            "properties": {
                "kind": { "const": "order" },
                "limit": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }] },
                "state": { "type": "string", "enum": ["open", "closed"] },
                "filter": {
                    "type": "object",
                    "properties": { "from": { "type": ["string", "null"] } },
                    "additionalProperties": true,
                },
            },
            "required": ["kind", "limit"],
        })
    };
    let changes: [fn(&mut Value); 7] = [
        |s| s["$schema"] = "https://json-schema.org/draft/2020-12/schema".into(),
        |s| {
            let members: Vec<_> = s.as_object().expect("an object").clone().into_iter().rev().collect();
            *s = Value::Object(members.into_iter().collect());
            s["required"] = json!(["limit", "kind"]);
        },
        |s| _ = s["properties"]["filter"].as_object_mut().expect("an object").remove("additionalProperties"),
        |s| {
            s["properties"]["limit"] = json!({ "type": ["integer", "null"], "minimum": 1 });
            s["properties"]["filter"]["properties"]["from"] =
                json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        },
        |s| s["properties"]["kind"] = json!({ "type": "string", "enum": ["order"] }),
        |s| s["properties"]["state"] = json!({ "anyOf": [{ "const": "open" }, { "const": "closed" }] }),
        |s| {
            s["$defs"] = json!({ "filter": s["properties"]["filter"] });
            s["properties"]["filter"] = json!({ "$ref": "#/$defs/filter" });
        },
    ];
    // Each change alone, and every three in a row at once: 28 tools.
    let few = |i: usize| vec![i % 7];
    let three = |i: usize| vec![i % 7, (i + 1) % 7, (i + 2) % 7];
    let picked = (0..28).map(|i| if i < 14 { few(i) } else { three(i) });
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (i, picked) in picked.enumerate() {
        let tool = |schema: &Value| {
            // Half of them promise a result as well.
            if i % 2 == 0 {
                json!({ "name": format!("tool_{i}"), "inputSchema": schema })
            } else {
                json!({ "name": format!("tool_{i}"), "inputSchema": schema, "outputSchema": schema })
            }
        };
        let mut schema = plain();
        before.push(tool(&schema));
        for change in picked {
            changes[change](&mut schema);
        }
        after.push(tool(&schema));
    }
    let user = User::new();
    user.file("before.json", Value::Array(before).to_string());
    user.file("after.json", Value::Array(after).to_string());
    for sides in [["before.json", "after.json"], ["after.json", "before.json"]] {
        let ended = user.run(&[&["diff"], &sides[..]].concat()).code(PASSED);
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let [folded, "", verdict, bump] = lines.as_slice() else { panic!("{}", ended.stdout) };
        assert_eq!(
            *folded,
            "compatible: 28 tools: the schema is written otherwise and takes the same values (notation-changed)"
        );
        assert!(verdict.contains("28 of 28 tools differ"), "{verdict}");
        assert!(bump.starts_with("  required bump: none"), "{bump}");
        // Programs are told of each.
        let ended = user.run(&[&["diff", "--format", "json"], &sides[..]].concat()).code(PASSED);
        let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let tools = report["tools"].as_array().expect("tools");
        assert_eq!(tools.len(), 28);
        for finding in tools.iter().flat_map(|t| t["findings"].as_array().expect("findings")) {
            assert_eq!(
                (&finding["rule"], &finding["level"]),
                (&json!("notation-changed"), &json!("compatible"))
            );
        }
    }
}

#[test]
fn a_witness_comes_as_the_message_that_carries_it() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let asked = ["--witness", "jsonrpc"];
    let ended = user.run(&[&["diff", &baseline, &candidate], &asked[..]].concat()).code(PASSED);
    let line = ended.stdout.lines().find_map(|l| l.trim().strip_prefix("message")).expect("a message");
    let message: Value = serde_json::from_str(line).expect("JSON, whole");
    assert_eq!(message["method"], "tools/call");
    assert_eq!(message["params"], json!({"name": "cancel_order", "arguments": {"id": "a"}}));
    let json = ["--format", "json"];
    let ended = user.run(&[&["diff", &baseline, &candidate], &asked[..], &json].concat()).code(PASSED);
    assert!(ended.stdout.contains(r#""method": "tools/call""#), "{}", ended.stdout);
    // Unasked, a report holds the value alone.
    let ended = user.run(&[&["diff", &baseline, &candidate], &json[..]].concat()).code(PASSED);
    assert!(!ended.stdout.contains("tools/call"), "{}", ended.stdout);

    // A result, with text in it that a terminal must not obey.
    let tool = |schema: Value| {
        json!([{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]).to_string()
    };
    let said =
        |texts: Value| json!({"type": "object", "required": ["a"], "properties": {"a": {"enum": texts}}});
    user.file("one.json", tool(said(json!(["x"]))));
    user.file("two.json", tool(said(json!(["x", "\u{202e}y"]))));
    let ended = user.run(&[&["diff", "one.json", "two.json"], &asked[..]].concat()).code(PASSED);
    let line = ended.stdout.lines().find_map(|l| l.trim().strip_prefix("message")).expect("a message");
    assert!(!line.contains('\u{202e}'), "{line}");
    let message: Value = serde_json::from_str(line).expect("JSON, whole");
    assert_eq!(message["result"]["structuredContent"], json!({"a": "\u{202e}y"}));
}

#[test]
fn what_a_format_is_taken_for_is_the_callers_choice() {
    let user = User::new();
    let tool =
        |day: Value| json!([{"name": "t", "inputSchema": {"type": "object", "properties": {"day": day}}}]);
    user.file("one.json", tool(json!({"type": "string"})).to_string());
    user.file("two.json", tool(json!({"type": "string", "format": "date"})).to_string());
    let gate = |more: &[&str]| {
        user.run(
            &[&["gate", "--baseline", "one.json", "--file", "two.json", "--fail-on", "breaking,risky"], more]
                .concat(),
        )
    };
    gate(&[]).code(BLOCKED);
    gate(&["--format-policy", "annotate"]).code(PASSED);
    let asserted = gate(&["--format-policy", "assert"]).code(BLOCKED);
    assert!(
        asserted.stdout.starts_with("breaking: ") && asserted.stdout.contains("witness"),
        "{}",
        asserted.stdout
    );
    gate(&["--format-policy", "ignore"]).code(INVALID);
}

#[test]
fn a_diff_shows_and_never_blocks() {
    let user = User::new();
    user.run(&["diff", &recorded("orders-1.json"), &recorded("orders-3-breaking.json")]).code(PASSED);
}

#[test]
fn what_blocks_is_the_callers_choice() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let gate =
        |levels| user.run(&["gate", "--baseline", &baseline, "--file", &candidate, "--fail-on", levels]);
    gate("none").code(PASSED);
    gate("breaking").code(BLOCKED);
    gate("breaking,risky,undecided").code(BLOCKED);
    gate("compatible").code(INVALID);
}

#[test]
fn json_has_the_words_of_the_text() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let ended =
        user.run(&["gate", "--baseline", &baseline, "--file", &candidate, "--format", "json"]).code(BLOCKED);
    let answer: serde_json::Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    assert_eq!(answer["passed"], false);
    assert_eq!(answer["verdict"], "breaking");
    assert_eq!(answer["assumption"], "declared");
    assert_eq!(answer["requiredBump"], "major");
    assert_eq!(answer["policy"]["failOn"], serde_json::json!(["breaking", "undecided"]));
    assert!(answer["blockedBy"]["rule"].is_string());
    let finding = &answer["tools"][0]["findings"][0];
    for key in ["rule", "level", "surface", "pointer", "message", "fingerprint"] {
        assert!(finding.get(key).is_some(), "no {key} in {finding}");
    }
}

#[test]
fn a_side_may_come_from_stdin() {
    let user = User::new();
    let list = std::fs::read_to_string(recorded("orders-1.json")).expect("it is recorded");
    let ended = user.run_with_stdin(&["diff", "-", &recorded("orders-1.json")], &list).code(PASSED);
    assert!(ended.stdout.contains("nothing changed"));
    user.run_with_stdin(&["diff", "-", "-"], &list).code(INVALID);
}

#[test]
fn a_reader_that_stops_is_no_failure() {
    let user = User::new();
    let mut child = user
        .command(&["diff", &recorded("orders-1.json"), &recorded("orders-3-breaking.json")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(PASSED));
    assert!(output.stderr.is_empty());
}

#[test]
fn what_a_server_wrote_cannot_reach_the_terminal_as_a_command() {
    let user = User::new();
    let tool =
        |name: &str| format!(r#"[{{"name":"{name}","description":"x","inputSchema":{{"type":"object"}}}}]"#);
    let ended = diff(&user, &tool("a\\u001b[2J\\u202e"), &tool("b")).code(PASSED);
    assert!(ended.stdout.contains("a\\u{1b}[2J\\u{202e}"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'));
}
