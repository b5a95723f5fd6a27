//! What a line is, what an answer is, and how large they may be.

use std::time::Duration;

use toolpact::{mcp::Limits, snapshot::Outcome};

use super::{A, B, CHANGED, REST, check, legacy, list, lists, say, then, tools};
use crate::mcp::{Expected, complaint, fails, ok, ok_with, patient};

#[tokio::test]
async fn lines_are_told_apart_by_what_they_are() {
    let three = tools(3, &[A]);
    let noisy = legacy(&[
        &say("starting up"),
        &say(""),
        &say(r#"{"level":"info"}"#),
        &say(r#"["x"]"#),
        &say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#),
        &say(r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#),
        r#"read -r line; case $line in '{"jsonrpc":"2.0","id":3,"error":{"code":-32601,'*) ;; *) exit 9;; esac"#,
        &say(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#),
        r#"read -r line; case $line in '{"jsonrpc":"2.0","id":"p","result":{}}') ;; *) exit 9;; esac"#,
        &say(r#"{"jsonrpc":"2.0","id":99,"result":{"tools":[]}}"#),
        &three,
        REST,
    ]);
    let listing = list(&noisy, &patient()).await;
    assert_eq!(complaint("noise", &listing, &ok(1)), None);
    assert_eq!(listing.evidence.stray_lines, 5);
    assert_eq!(listing.evidence.stray_samples[..3], ["starting up", r#"{"level":"info"}"#, r#"["x"]"#]);

    let answer =
        |envelope: &str| legacy(&[&say(&envelope.replace("RESULT", &format!(r#"{{"tools":[{A}]}}"#))), REST]);
    check(vec![
        ("an id as a string", answer(r#"{"jsonrpc":"2.0","id":"3","result":RESULT}"#), patient(), ok(1)),
        ("no `jsonrpc`", answer(r#"{"id":3,"result":RESULT}"#), patient(), ok_with(1, "without `jsonrpc`")),
        (
            "a null error beside the result",
            answer(r#"{"jsonrpc":"2.0","id":3,"error":null,"result":RESULT}"#),
            patient(),
            ok(1),
        ),
        (
            "a byte order mark",
            answer("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":RESULT}"),
            patient(),
            ok(1),
        ),
        ("carriage returns", answer("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":RESULT}\r"), patient(), ok(1)),
        (
            "a batch",
            answer(&format!(r#"[{CHANGED},{{"jsonrpc":"2.0","id":3,"result":RESULT}}]"#))
                .replace(CHANGED, r#"{"jsonrpc":"2.0","method":"x"}"#),
            patient(),
            ok(1),
        ),
        ("a last line without an end", legacy(&[&three.replace("\\n", ""), "exit 0"]), patient(), ok(1)),
        (
            "an answer over several lines",
            legacy(&[&say("{\"jsonrpc\":\"2.0\",\n\"id\":3,\n\"result\":{\"tools\":[]}}"), REST]),
            Limits { request: Duration::from_millis(300), ..patient() },
            fails(Outcome::Timeout, "did not answer `tools/list` within 300ms"),
        ),
        (
            "bytes that are no UTF-8",
            legacy(&["printf '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"\\377\"}\\n'", REST]),
            Limits { request: Duration::from_millis(300), ..patient() },
            fails(Outcome::Timeout, "did not answer `tools/list`"),
        ),
        (
            "talk without end",
            legacy(&["while :; do echo x || exit 0; done"]),
            Limits { request: Duration::from_millis(300), ..patient() },
            fails(Outcome::Timeout, "did not answer `tools/list`"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_error_is_never_an_empty_list() {
    let error = |text: &str| legacy(&[&say(text), REST]);
    check(vec![
        (
            "a JSON-RPC error",
            error(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"boom"}}"#),
            patient(),
            fails(Outcome::Error, "answered `tools/list` with error -32603: boom"),
        ),
        (
            "no such method",
            error(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}"#),
            patient(),
            fails(Outcome::Error, "-32601"),
        ),
        (
            "an error without an id",
            error(r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"boom"}}"#),
            patient(),
            fails(Outcome::Error, "boom"),
        ),
        (
            "the Python SDK's error without an id",
            error(r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"boom"}}"#),
            patient(),
            fails(Outcome::Error, "boom"),
        ),
        (
            "an error that is a string",
            error(r#"{"jsonrpc":"2.0","id":3,"error":"boom"}"#),
            patient(),
            fails(Outcome::Error, "boom"),
        ),
        (
            "an error whose code is a string",
            error(r#"{"jsonrpc":"2.0","id":3,"error":{"code":"-32603","message":"boom"}}"#),
            patient(),
            fails(Outcome::Error, "-32603: boom"),
        ),
        ("a null result", lists("null"), patient(), fails(Outcome::Malformed, "the result is null")),
        ("a bare array", lists("[]"), patient(), fails(Outcome::Malformed, "the result is an array")),
        ("no tools", lists("{}"), patient(), fails(Outcome::Malformed, "it has no `tools`")),
        ("null tools", lists(r#"{"tools":null}"#), patient(), fails(Outcome::Malformed, "`tools` is null")),
        (
            "tools by name",
            lists(r#"{"tools":{"a":{}}}"#),
            patient(),
            fails(Outcome::Malformed, "`tools` is an object"),
        ),
        (
            "tools twice",
            lists(r#"{"tools":[],"tools":[]}"#),
            patient(),
            fails(Outcome::Malformed, "duplicate field `tools`"),
        ),
        (
            "an unfinished result",
            lists(r#"{"tools":[],"resultType":"input_required"}"#),
            patient(),
            fails(Outcome::Malformed, "input_required"),
        ),
        ("an empty list is a list", lists(r#"{"tools":[]}"#), patient(), ok(0)),
    ])
    .await;
}

#[tokio::test]
async fn an_odd_tool_costs_no_other() {
    let odd = |outcome, words| Expected { outcome, words, tools: 3 };
    let with = |tool: &str| lists(&format!(r#"{{"tools":[{A},{tool},{B}]}}"#));
    let deep = format!(
        r#"{{"name":"deep","inputSchema":{}{}}}"#,
        r#"{"not":"#.repeat(300),
        format_args!("true{}", "}".repeat(300))
    );
    check(vec![
        ("a tool without a name", with(r#"{"inputSchema":{}}"#), patient(), odd(Outcome::Malformed, "tool number 2 has no `name`")),
        ("a numeric name", with(r#"{"name":7,"inputSchema":{}}"#), patient(), odd(Outcome::Malformed, "tool number 2 has the name 7")),
        ("no inputSchema", with(r#"{"name":"odd"}"#), patient(), odd(Outcome::Malformed, "tool `odd` has no `inputSchema`")),
        ("a null inputSchema", with(r#"{"name":"odd","inputSchema":null}"#), patient(), odd(Outcome::Malformed, "tool `odd` has an `inputSchema` that is no object")),
        ("a tool that is null", with("null"), patient(), odd(Outcome::Malformed, "tool number 2 is no object")),
        ("a schema 300 levels deep", with(&deep), patient(), odd(Outcome::TooLarge, "tool `deep` nests 301 levels deep")),
        ("odd fields elsewhere", with(r#"{"name":"odd","inputSchema":{"type":"string"},"description":null,"annotations":{"readOnlyHint":"yes"},"icons":[{"theme":"x"}],"_meta":[]}"#), patient(), ok(3)),
        ("a name twice", with(A), patient(), Expected { words: "the tool name `a` occurs more than once", ..ok(3) }),
    ])
    .await;
}

#[tokio::test]
async fn every_byte_of_a_tool_is_kept() {
    let odd = r#"{ "name" : "caf\u00e9 \/" ,  "inputSchema":{"type":"object","minimum":1e2,"maximum":12345678901234567890123,"default":0.10,"properties":{"z":{},"a":{}},"x":1,"x":2},"x-unknown":{"é":[ ]},"execution":{"taskSupport":"required"} }"#;
    let listing = list(&lists(&format!("{{ \"tools\" : [ {odd} ,\t{A}] }}")), &patient()).await;
    assert_eq!(listing.outcome, Outcome::Ok, "{:?}", listing.evidence);
    let raw: Vec<&str> = listing.tools.iter().map(|t| t.raw.get()).collect();
    assert_eq!(raw, [odd, A]);
}

#[tokio::test]
async fn size_is_bounded_and_large_lists_are_no_trouble() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("answer");
    let many: Vec<String> = (0..5_000)
        .map(|n| format!(r#"{{"name":"t{n}","description":"{}","inputSchema":{{}}}}"#, "x".repeat(1_000)))
        .collect();
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"tools\":[{}]}}}}\n", many.join(","));
    std::fs::write(&file, answer).expect("it can be written");
    check(vec![
        ("5,000 tools in 5 MB", legacy(&[&format!("cat '{}'", file.display()), REST]), patient(), ok(5_000)),
        (
            "a line of 20 MB",
            legacy(&["head -c 20000000 /dev/zero | tr '\\0' x; echo", REST]),
            patient(),
            fails(Outcome::TooLarge, "a line of more than 16777216 bytes"),
        ),
        (
            "a line without end",
            legacy(&["tr '\\0' x < /dev/zero"]),
            Limits { message_bytes: 1 << 20, ..patient() },
            fails(Outcome::TooLarge, "a line of more than 1048576 bytes"),
        ),
        (
            "a cursor of 100 kB",
            legacy(&[
                "c=$(head -c 100000 /dev/zero | tr '\\0' c)",
                &then(3, A, "\"CURSOR\"").replace("CURSOR", "'\"$c\"'"),
                REST,
            ]),
            patient(),
            Expected { outcome: Outcome::TooLarge, words: "a cursor has 100002 bytes", tools: 1 },
        ),
    ])
    .await;
}
