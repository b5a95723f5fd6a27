//! What a server was found to speak, or is said to speak, is asked first.

use axum::http::{Method, StatusCode};
use serde_json::Value;
use toolpact::{
    catalog::server::HttpTransport,
    mcp::{self, Limits, Source},
    snapshot::{Era, Outcome, Transport},
};

use super::{A, Behaviour, Seen, legacy, modern, patient, serve, status, tools};
use crate::mcp::http::http_sse::{old, say};

fn listed(seen: &Seen, as_what: Behaviour) -> axum::response::Response {
    if seen.method() == "tools/list" { seen.json(&tools(&[A])) } else { as_what(seen) }
}

/// What was asked since, verbs and methods, without what every session has.
fn asked(log: &[Seen]) -> Vec<&str> {
    let asked =
        log.iter().map(|seen| if seen.verb == Method::POST { seen.method() } else { seen.verb.as_str() });
    asked.filter(|what| !matches!(*what, "notifications/initialized" | "tools/list" | "DELETE")).collect()
}

#[tokio::test]
async fn a_server_is_asked_again_as_it_was_found_to_speak() {
    let old: Behaviour = |seen| match seen.method() {
        "tools/list" => say(seen, &tools(&[A])),
        _ => old(seen),
    };
    // It was legacy, and is modern from its second session on.
    let renewed: Behaviour = |seen| match (seen.method(), seen.nth) {
        ("server/discover", 1..) => modern(seen),
        ("initialize", 1..) => seen.error(StatusCode::BAD_REQUEST, -32022, "too old", Value::Null),
        _ => listed(seen, legacy),
    };
    // And the other way round.
    let aged: Behaviour = |seen| match (seen.method(), seen.nth) {
        ("server/discover", 0) => modern(seen),
        _ => listed(seen, legacy),
    };
    let rows: [(&str, Behaviour, [&[&str]; 3]); 5] = [
        ("modern", |seen| listed(seen, modern), [&["server/discover"]; 3]),
        (
            "legacy",
            |seen| listed(seen, legacy),
            [&["server/discover", "initialize"], &["initialize"], &["initialize"]],
        ),
        (
            "HTTP+SSE",
            old,
            [
                &["server/discover", "initialize", "GET", "initialize"],
                &["GET", "initialize"],
                &["GET", "initialize"],
            ],
        ),
        (
            "legacy, then modern",
            renewed,
            [&["server/discover", "initialize"], &["initialize", "server/discover"], &["server/discover"]],
        ),
        (
            "modern, then legacy",
            aged,
            [&["server/discover"], &["server/discover", "server/discover", "initialize"], &["initialize"]],
        ),
    ];
    for (name, behaviour, expected) in rows {
        let (url, log) = serve(behaviour).await;
        let (source, limits) = (Source::http(&url, Vec::new()).expect("a URL"), patient());
        for (nth, expected) in expected.into_iter().enumerate() {
            let before = log.lock().expect("whole").len();
            let listing = mcp::list(&source, &limits).await;
            assert_eq!(listing.outcome, Outcome::Ok, "{name} {nth}: {:?}", listing.evidence);
            assert_eq!(asked(&log.lock().expect("whole")[before..]), expected, "{name} {nth}");
        }
    }
}

#[tokio::test]
async fn a_server_is_asked_as_its_user_says() {
    let old: Behaviour = |seen| match seen.method() {
        "tools/list" => say(seen, &tools(&[A])),
        _ => old(seen),
    };
    let new: Behaviour = |seen| listed(seen, legacy);
    let rows: [(&str, Behaviour, HttpTransport, Outcome, &[&str]); 4] = [
        ("sse, and it is", old, HttpTransport::Sse, Outcome::Ok, &["GET", "initialize"]),
        ("sse, and it is not", new, HttpTransport::Sse, Outcome::Unavailable, &["GET"]),
        (
            "streamable-http, and it is",
            new,
            HttpTransport::StreamableHttp,
            Outcome::Ok,
            &["server/discover", "initialize"],
        ),
        (
            "streamable-http, and it is not",
            old,
            HttpTransport::StreamableHttp,
            Outcome::Unavailable,
            &["server/discover", "initialize"],
        ),
    ];
    for (name, behaviour, transport, outcome, expected) in rows {
        let (url, log) = serve(behaviour).await;
        let source = Source::http(&url, Vec::new()).expect("a URL").with_transport(transport);
        let listing = mcp::list(&source, &patient()).await;
        assert_eq!(listing.outcome, outcome, "{name}: {:?}", listing.evidence);
        assert_eq!(asked(&log.lock().expect("whole")), expected, "{name}");
        assert_ne!(listing.provenance.era, Some(Era::Modern), "{name}");
        let sse = listing.provenance.transport == Transport::Sse;
        assert_eq!(sse, transport == HttpTransport::Sse && outcome == Outcome::Ok, "{name}");
    }
}

#[tokio::test]
async fn what_fails_is_asked_from_the_start_the_next_time() {
    let behaviour: Behaviour = |seen| match (seen.method(), seen.nth) {
        ("initialize", 1) => status(StatusCode::SERVICE_UNAVAILABLE),
        _ => listed(seen, legacy),
    };
    let (url, log) = serve(behaviour).await;
    let (source, limits) = (Source::http(&url, Vec::new()).expect("a URL"), Limits::default());
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        outcomes.push(mcp::list(&source, &limits).await.outcome);
    }
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Unavailable, Outcome::Ok]);
    let found_out = ["server/discover", "initialize"];
    assert_eq!(asked(&log.lock().expect("whole")), [&found_out[..], &["initialize"], &found_out].concat());
}
