//! Servers that are shell scripts: they read a line where a request is due, and say a line.

use std::{fs::File, io::Read as _, path::Path, process::Command, time::Duration};

use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::{Era, Listing, Outcome},
};

use super::{Expected, complaint, fails, hasty, ok, ok_with, patient};

const NO_SUCH_METHOD: &str =
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1.0.0"},"instructions":"be kind"}}"#;
const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":1,"cacheScope":"public","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"2.0.0"}}}}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const A: &str = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
const B: &str = r#"{"name":"b","inputSchema":{"type":"object"}}"#;

/// Waits for a line.
const READ: &str = "read -r line || exit 0";
/// Waits for the end.
const REST: &str = "while read -r line; do :; done";

fn say(text: &str) -> String {
    format!("printf '%s\\n' '{}'", text.replace('\'', r"'\''"))
}

fn script(steps: &[&str]) -> String {
    steps.join("\n")
}

/// A legacy server up to its first `tools/list`, which has id 3.
fn legacy(steps: &[&str]) -> String {
    let (refused, initialized) = (say(NO_SUCH_METHOD), say(INITIALIZED));
    let mut all = vec![READ, &refused, READ, &initialized, READ, READ];
    all.extend(steps);
    script(&all)
}

/// A modern server up to its first `tools/list`, which has id 2.
fn modern(steps: &[&str]) -> String {
    let discovered = say(DISCOVERED);
    let mut all = vec![READ, &discovered, READ];
    all.extend(steps);
    script(&all)
}

/// The answer to `tools/list` number `id`.
fn page(id: u64, result: &str) -> String {
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn tools(id: u64, tools: &[&str]) -> String {
    page(id, &format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
}

fn then(id: u64, tool: &str, cursor: &str) -> String {
    page(id, &format!(r#"{{"tools":[{tool}],"nextCursor":{cursor}}}"#))
}

/// A legacy server that answers its first `tools/list` with this result.
fn lists(result: &str) -> String {
    legacy(&[&page(3, result), REST])
}

async fn list(script: &str, limits: &Limits) -> Listing {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let source = Source::stdio(command).expect("there is a command");
    mcp::list(&source, limits).await
}

/// Runs every row and tells all that end otherwise than expected.
async fn check(rows: Vec<(&'static str, String, Limits, Expected)>) {
    let mut complaints = Vec::new();
    for (name, script, limits, expected) in rows {
        let listing = list(&script, &limits).await;
        complaints.extend(complaint(name, &listing, &expected));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test]
async fn a_conversation_begins_in_either_era() {
    let two = tools(2, &[A, B]);
    let three = tools(3, &[A, B]);
    let (refused, initialized) = (say(NO_SUCH_METHOD), say(INITIALIZED));
    let quick = Limits { probe: Duration::from_millis(50), ..patient() };
    let refuses_initialize = say(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}"#);
    check(vec![
        ("modern", modern(&[&two, REST]), patient(), ok(2)),
        ("legacy", legacy(&[&three, REST]), patient(), ok(2)),
        (
            "legacy that ignores what it does not know",
            script(&[READ, READ, &initialized, READ, READ, &three, REST]),
            quick.clone(),
            ok(2),
        ),
        (
            "slow legacy whose refusal comes when `initialize` was sent as well",
            script(&[READ, READ, &refused, &initialized, READ, READ, &three, REST]),
            quick.clone(),
            ok(2),
        ),
        (
            "slow legacy whose refusal has no id",
            script(&[
                READ,
                READ,
                &say(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}"#),
                &initialized,
                READ,
                READ,
                &three,
                REST,
            ]),
            quick.clone(),
            ok_with(2, "without the id"),
        ),
        (
            "slow modern that was asked both ways",
            script(&[READ, READ, &say(DISCOVERED), &refuses_initialize, READ, &three, REST]),
            quick.clone(),
            ok(2),
        ),
        (
            "modern that refuses `initialize` before it answers",
            script(&[READ, READ, &refuses_initialize, &say(DISCOVERED), READ, &three, REST]),
            quick.clone(),
            ok(2),
        ),
        (
            "legacy that refuses with an odd error",
            script(&[
                READ,
                &say(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not initialized"}}"#),
                READ,
                &initialized,
                READ,
                READ,
                &three,
                REST,
            ]),
            patient(),
            ok(2),
        ),
        (
            "legacy that answers everything with something",
            script(&[
                READ,
                &say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
                READ,
                &initialized,
                READ,
                READ,
                &three,
                REST,
            ]),
            patient(),
            ok(2),
        ),
        (
            "legacy that dies of the modern question",
            format!(
                "read -r line; case $line in *server/discover*) exit 1;; esac\n{}",
                script(&[
                    &say(&INITIALIZED.replace(r#""id":2"#, r#""id":1"#)),
                    READ,
                    READ,
                    &two,
                    REST
                ])
            ),
            patient(),
            ok(2),
        ),
        (
            "modern of another revision",
            script(&[
                READ,
                &say(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2027-01-01"]}}}"#),
                "read -r line; case $line in *2027-01-01*) ;; *) exit 9;; esac",
                &say(&DISCOVERED.replace(r#""id":1"#, r#""id":2"#).replace("2026-07-28", "2027-01-01")),
                READ,
                &three,
                REST,
            ]),
            patient(),
            ok_with(2, "2027-01-01"),
        ),
        (
            "modern of unknown revisions only",
            script(&[
                READ,
                &say(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported","data":{"supported":["next"]}}}"#),
                REST,
            ]),
            patient(),
            fails(Outcome::Error, "it supports next"),
        ),
        (
            "legacy that refuses `initialize`",
            script(&[READ, &refused, READ, &refuses_initialize, REST]),
            patient(),
            fails(Outcome::Error, "refused `initialize`: -32601: no"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_the_server_says_of_itself_is_kept() {
    let listing =
        list(&modern(&[&page(2, r#"{"tools":[],"ttlMs":5000,"cacheScope":"private"}"#), REST]), &patient())
            .await;
    let provenance = listing.provenance;
    assert_eq!(provenance.era, Some(Era::Modern));
    assert_eq!(provenance.protocol_version.as_deref(), Some("2026-07-28"));
    assert_eq!(provenance.server_version(), Some("2.0.0"));
    assert_eq!((provenance.ttl_ms, provenance.cache_scope.as_deref()), (Some(5000), Some("private")));

    let initialized = say(&INITIALIZED.replace("2025-11-25", "1.0"));
    let script = script(&[READ, &say(NO_SUCH_METHOD), READ, &initialized, READ, READ, &tools(3, &[A]), REST]);
    let provenance = list(&script, &patient()).await.provenance;
    assert_eq!(provenance.era, Some(Era::Legacy));
    assert_eq!(provenance.protocol_version.as_deref(), Some("1.0"), "any version is taken");
    assert_eq!(provenance.server_version(), Some("1.0.0"));
    assert_eq!(provenance.instructions.as_deref(), Some("be kind"));
    assert!(provenance.capabilities.is_some_and(|c| c["tools"]["listChanged"] == true));
}

#[tokio::test]
async fn pages_are_read_to_the_end_and_no_further() {
    let loops = "id=3; while :; do printf '%s\\n' \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":{\\\"tools\\\":[],\\\"nextCursor\\\":\\\"$CURSOR\\\"}}\"; read -r line || exit 0; id=$((id+1)); done";
    let error = |id: u64| {
        say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"boom"}}}}"#))
    };
    check(vec![
        ("two pages", legacy(&[&then(3, A, r#""p2""#), READ, &tools(4, &[B]), REST]), patient(), ok(2)),
        (
            "an empty cursor is a cursor",
            legacy(&[&then(3, A, r#""""#), READ, &tools(4, &[B]), REST]),
            patient(),
            ok(2),
        ),
        (
            "a cursor goes back as it came",
            legacy(&[
                &then(3, A, r#""a\u0062/\/""#),
                r#"read -r line; case $line in *'"cursor":"a\u0062/\/"'*) ;; *) exit 9;; esac"#,
                &tools(4, &[B]),
                REST,
            ]),
            patient(),
            ok(2),
        ),
        (
            "a null cursor is the end",
            lists(&format!(r#"{{"tools":[{A}],"nextCursor":null}}"#)),
            patient(),
            ok(1),
        ),
        (
            "a numeric cursor",
            lists(&format!(r#"{{"tools":[{A}],"nextCursor":2}}"#)),
            patient(),
            Expected { outcome: Outcome::Malformed, words: "`nextCursor` is a number", tools: 1 },
        ),
        (
            "the same cursor again",
            legacy(&[&loops.replace("$CURSOR", "again")]),
            patient(),
            fails(Outcome::Malformed, "a cursor that was used before"),
        ),
        (
            "ever-new cursors",
            legacy(&[&loops.replace("$CURSOR", "p$id")]),
            Limits { pages: 20, ..patient() },
            fails(Outcome::TooLarge, "the limit is 20 pages"),
        ),
        (
            "an error on page 2, once",
            legacy(&[
                &then(3, A, r#""p2""#),
                READ,
                &error(4),
                READ,
                &then(5, A, r#""p2""#),
                READ,
                &tools(6, &[B]),
                REST,
            ]),
            patient(),
            ok_with(2, "read again from page 1"),
        ),
        (
            "an error on page 2, always",
            legacy(&[
                &then(3, A, r#""p2""#),
                READ,
                &error(4),
                READ,
                &then(5, A, r#""p2""#),
                READ,
                &error(6),
                REST,
            ]),
            patient(),
            Expected { outcome: Outcome::Partial, words: "broke off after page 1", tools: 1 },
        ),
        (
            "death on page 2",
            legacy(&[&then(3, A, r#""p2""#), READ, "exit 7"]),
            patient(),
            Expected { outcome: Outcome::Partial, words: "exited with code 7", tools: 1 },
        ),
        (
            "too many tools",
            legacy(&[&tools(3, &[A, B, A]), REST]),
            Limits { tools: 2, ..patient() },
            Expected { outcome: Outcome::TooLarge, words: "3 tools, the limit is 2", tools: 3 },
        ),
        (
            "too many bytes",
            legacy(&[&then(3, A, r#""p2""#), READ, &tools(4, &[B]), REST]),
            Limits { total_bytes: 100, ..patient() },
            Expected { outcome: Outcome::TooLarge, words: "the limit is 100", tools: 2 },
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_list_that_moves_is_read_until_it_holds_still() {
    let changed = say(CHANGED);
    check(vec![
        (
            "changed before it was asked",
            script(&[
                READ,
                &changed,
                &say(NO_SUCH_METHOD),
                READ,
                &changed,
                &say(INITIALIZED),
                READ,
                READ,
                &tools(3, &[A]),
                REST,
            ]),
            patient(),
            ok(1),
        ),
        (
            "changed while it was read, to the same",
            legacy(&[&changed, &tools(3, &[A]), READ, &tools(4, &[A]), REST]),
            patient(),
            ok(1),
        ),
        (
            "changed while it was read, once",
            legacy(&[&changed, &tools(3, &[A]), READ, &tools(4, &[A, B]), READ, &tools(5, &[A, B]), REST]),
            patient(),
            ok_with(2, "the list changed while it was read"),
        ),
        (
            "never the same",
            legacy(&[
                &changed,
                &tools(3, &[A]),
                READ,
                &changed,
                &tools(4, &[B]),
                READ,
                &changed,
                &tools(5, &[A, B]),
                REST,
            ]),
            patient(),
            Expected { outcome: Outcome::Unstable, words: "other tools each time", tools: 2 },
        ),
        (
            "a tool on two pages, because the list shifted",
            legacy(&[
                &then(3, A, r#""p2""#),
                READ,
                &tools(4, &[A, B]),
                READ,
                &tools(5, &[A, B]),
                READ,
                &tools(6, &[A, B]),
                REST,
            ]),
            patient(),
            ok_with(2, "the list changed while it was read"),
        ),
    ])
    .await;
}

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

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let rows = vec![
        (
            "dies at once",
            "echo 'no module named x' >&2; exit 3".to_owned(),
            patient(),
            fails(Outcome::Unavailable, "exited with code 3 before it answered"),
        ),
        (
            "dies when it was asked to list",
            legacy(&["exit 4"]),
            patient(),
            fails(Outcome::Unavailable, "exited with code 4"),
        ),
        (
            "dies half-way through its answer",
            legacy(&["printf '{\"jsonrpc\":\"2.0\",\"id\":3,\"resu'; exit 5"]),
            patient(),
            fails(Outcome::Unavailable, "exited with code 5"),
        ),
        (
            "is killed",
            legacy(&["kill -9 $$"]),
            patient(),
            fails(Outcome::Unavailable, "was ended by signal 9"),
        ),
        (
            "closes its stdout",
            legacy(&["exec >&-", REST]),
            patient(),
            fails(Outcome::Unavailable, "closed its stdout"),
        ),
        (
            "says nothing at all",
            REST.to_owned(),
            hasty(),
            fails(Outcome::Timeout, "did not say anything within 300ms"),
        ),
        (
            "does not end its handshake",
            script(&[READ, &say(NO_SUCH_METHOD), REST]),
            hasty(),
            fails(Outcome::Timeout, "did not answer `initialize`"),
        ),
        (
            "takes longer than all the time there is",
            legacy(&[REST]),
            Limits { total: Duration::from_millis(500), ..patient() },
            fails(Outcome::Timeout, "took longer than 500ms"),
        ),
    ];
    check(rows).await;

    let listing = list("echo 'no module named x' >&2; exit 3", &patient()).await;
    assert_eq!(listing.evidence.exit_code, Some(3));
    assert_eq!(listing.evidence.stderr_tail, "no module named x");

    let source =
        Source::stdio(vec!["/nowhere/server".to_owned(), "x".to_owned()]).expect("there is a command");
    let listing = mcp::list(&source, &patient()).await;
    let expected =
        fails(Outcome::Unavailable, "`/nowhere/server` could not be started: there is no such program");
    assert_eq!(complaint("no such program", &listing, &expected), None);
}

#[tokio::test]
async fn stderr_is_drained_and_its_end_is_kept() {
    let flood = "i=0; while [ $i -lt 4000 ]; do echo \"line $i of a log that would fill any pipe\" >&2; i=$((i+1)); done; printf '\\033[31mlast\\n' >&2";
    let listing = list(&legacy(&[flood, &tools(3, &[A]), REST]), &patient()).await;
    assert_eq!(complaint("flood", &listing, &ok(1)), None);
    let tail = &listing.evidence.stderr_tail;
    assert!(tail.len() <= 8 << 10 && tail.ends_with("[31mlast"), "{tail}");
}

#[tokio::test]
async fn a_server_is_told_little_of_its_surroundings() {
    let tool = r#"{"name":"'"$(env | cut -d= -f1 | tr '\n' ' ')"'","inputSchema":{}}"#;
    let answer =
        format!("printf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"tools\":[{tool}]}}}}'");
    let listing = list(&legacy(&[&answer, REST]), &patient()).await;
    let names = listing.tools[0].raw.get();
    assert!(names.contains("PATH"), "{names}");
    // Set by cargo for this very process.
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !names.contains("CARGO_MANIFEST_DIR"),
        "{names}"
    );
}

/// Makes a pipe in the file system; reading it to its end waits until every process that holds it is gone.
fn fifo(dir: &Path) -> String {
    let path = dir.join("alive").display().to_string();
    assert!(Command::new("mkfifo").arg(&path).status().is_ok_and(|s| s.success()), "mkfifo");
    path
}

#[tokio::test]
async fn a_server_that_will_not_end_is_ended_with_its_children() {
    let dir = tempfile::tempdir().expect("a directory");
    let alive = fifo(dir.path());
    let stubborn = format!("trap '' TERM\n( trap '' TERM; while :; do sleep 1; done ) > '{alive}' &\n");
    let script = stubborn + &legacy(&[&tools(3, &[A]), "while :; do sleep 1; done"]);
    let watch = tokio::task::spawn_blocking(move || File::open(alive).and_then(|mut f| f.read(&mut [0])));
    let listing = list(&script, &patient()).await;
    assert_eq!(complaint("stubborn", &listing, &ok(1)), None);
    assert_eq!(listing.evidence.exit_code, None, "it did not end by itself");
    let ended = tokio::time::timeout(Duration::from_secs(30), watch).await;
    assert!(matches!(ended, Ok(Ok(Ok(0)))), "a child outlived the listing: {ended:?}");
}

#[tokio::test]
async fn dropping_a_listing_ends_the_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let alive = fifo(dir.path());
    let script = format!("( while :; do sleep 1; done ) > '{alive}' &\nwhile :; do sleep 1; done");
    let (up, is_up) = tokio::sync::oneshot::channel();
    let watch = tokio::task::spawn_blocking(move || {
        let mut file = File::open(alive)?;
        let _ = up.send(());
        file.read(&mut [0])
    });
    let limits = patient();
    tokio::select! {
        listing = list(&script, &limits) => panic!("it cannot end: {:?}", listing.evidence),
        up = is_up => up.expect("the watch lives"),
    }
    let ended = tokio::time::timeout(Duration::from_secs(30), watch).await;
    assert!(matches!(ended, Ok(Ok(Ok(0)))), "a child outlived the listing: {ended:?}");
}
