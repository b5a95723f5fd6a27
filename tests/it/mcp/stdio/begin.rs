//! How a conversation begins, and what the server says of itself.

use std::time::Duration;

use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::{Era, Outcome},
};

use super::{
    A, B, DISCOVERED, INITIALIZED, NO_SUCH_METHOD, READ, REST, check, legacy, list, modern, page, say,
    script, tools,
};
use crate::{
    command::{answers, script as script_of},
    mcp::{fails, ok, ok_with, patient},
};

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
async fn a_server_is_asked_again_as_it_was_found_to_speak() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let tools = answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let old = script_of(&tools)
        .replace("read -r line; do", &format!("read -r line; do\n  echo \"$line\" >> {}", log.display()));
    // From its third process on it refuses what it knew, and describes itself.
    let described = DISCOVERED.replace(r#""id":1"#, r#""id":%s"#);
    let renewed = old.replace("case $line in", &format!(
        "case \"$(grep -c initialized {})$line\" in\n  [2-9]*'\"initialize\"'*) printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{{\"code\":-32022}}}}\\n' \"$id\" ;;\n  [2-9]*discover*) printf '{described}\\n' \"$id\" ;;",
        log.display()
    ));
    let both: &[&str] = &["server/discover", "initialize"];
    for (name, server, expected) in [
        ("legacy", old, [both, &["initialize"], &["initialize"], &["initialize"]]),
        (
            "legacy, then modern",
            renewed,
            [both, &["initialize"], &["initialize", "server/discover"], &["server/discover"]],
        ),
    ] {
        let source = Source::stdio(["bash", "-c", &server].map(str::to_owned).to_vec()).expect("a command");
        let (limits, mut before) = (patient(), 0);
        std::fs::write(&log, "").expect("written");
        for (nth, expected) in expected.into_iter().enumerate() {
            let listing = mcp::list(&source, &limits).await;
            assert_eq!(listing.outcome, Outcome::Ok, "{name} {nth}: {:?}", listing.evidence);
            let text = std::fs::read_to_string(&log).expect("it was asked");
            let asked = text.lines().skip(before).map(|line| {
                let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
                message["method"].as_str().expect("a method").to_owned()
            });
            let asked: Vec<_> =
                asked.filter(|what| what != "notifications/initialized" && what != "tools/list").collect();
            assert_eq!(asked, expected, "{name} {nth}");
            before = text.lines().count();
        }
    }
}
