//! How answers travel in Streamable HTTP: streams that break off and are resumed, compressed bodies, sessions, batches.

use std::{io::Write as _, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{Method, StatusCode},
    response::Response,
};
use flate2::{Compression, write::GzEncoder};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use toolpact::{mcp::Limits, snapshot::Outcome};

use super::{A, B, Seen, check, complaint, first_list, legacy, list, modern, serve, status, tools, typed};
use crate::mcp::{fails, ok, ok_with, patient};

/// A legacy server whose answer to the first `tools/list` breaks off after this, and what it says to GETs.
fn broken_off(seen: &Seen, first: &'static str, then: fn(&Seen, Option<&str>) -> Response) -> Response {
    match (&seen.verb, seen.method()) {
        (_, "tools/list") => typed("text/event-stream", first),
        (&Method::GET, _) => then(seen, seen.header("last-event-id")),
        _ => legacy(seen),
    }
}

/// The rest of the stream: the list is the third request, after discover and initialize.
fn rest() -> Response {
    let result = tools(&[A, B]);
    typed("text/event-stream", format!("data: {{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{result}}}\n\n"))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all")
}

fn encoded(coding: &'static str, content_type: &str, body: Vec<u8>) -> Response {
    let mut response = typed(content_type, body);
    response.headers_mut().insert("content-encoding", coding.parse().expect("a header value"));
    response
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed_where_it_may_be() {
    check(vec![
        (
            "by the server's choice, after the pause that it wants",
            |seen| {
                broken_off(seen, "id: e7\nretry: 1\ndata:\n\n", |_, id| match id {
                    Some("e7") => rest(),
                    _ => status(StatusCode::BAD_REQUEST),
                })
            },
            patient(),
            ok(2),
        ),
        (
            "again and again, from the last event",
            |seen| {
                broken_off(seen, "id: e0\ndata:\n\n", |seen, id| match (seen.nth, id) {
                    (0, Some("e0")) => typed("text/event-stream", "id: e1\ndata:\n\n"),
                    // Nothing new: the id before still counts.
                    (1 | 2, Some("e1")) => typed("text/event-stream", ": wait\n\n"),
                    (3, Some("e1")) => rest(),
                    _ => status(StatusCode::BAD_REQUEST),
                })
            },
            patient(),
            ok(2),
        ),
        (
            "a connection that is lost",
            |seen| match (&seen.verb, seen.method()) {
                (_, "tools/list") => {
                    let first = async { Ok(Bytes::from_static(b"id: e7\ndata:\n\n")) };
                    let lost = async {
                        // So that what came before is on its way.
                        tokio::task::yield_now().await;
                        Err(std::io::Error::other("lost"))
                    };
                    let parts = stream::once(first).chain(stream::once(lost));
                    typed("text/event-stream", Body::from_stream(parts))
                }
                (&Method::GET, _) if seen.header("last-event-id") == Some("e7") => rest(),
                _ => legacy(seen),
            },
            patient(),
            ok(2),
        ),
        (
            "not without an id",
            |seen| broken_off(seen, "retry: 1\ndata:\n\n", |_, _| rest()),
            patient(),
            fails(Outcome::Unavailable, "ended its event stream before it answered `tools/list`"),
        ),
        (
            "not where the server refuses it",
            |seen| broken_off(seen, "id: e7\ndata:\n\n", |_, _| status(StatusCode::METHOD_NOT_ALLOWED)),
            patient(),
            fails(Outcome::Unavailable, "ended its event stream before it answered `tools/list`"),
        ),
        (
            "not without end",
            |seen| {
                broken_off(seen, "id: e7\ndata:\n\n", |_, _| typed("text/event-stream", "id: e8\ndata:\n\n"))
            },
            patient(),
            fails(Outcome::Unavailable, "ended its event stream before it answered `tools/list`"),
        ),
        (
            "not after a pause that the listing has no time for",
            |seen| broken_off(seen, "id: e7\nretry: 18446744073709551615\ndata:\n\n", |_, _| rest()),
            patient(),
            fails(Outcome::Timeout, "wants to be asked for its answer to `tools/list` after"),
        ),
        (
            "not of a modern server, which has no such thing",
            |seen| match seen.verb {
                Method::GET => rest(),
                _ if first_list(seen) => typed("text/event-stream", "id: e7\ndata:\n\n"),
                _ => modern(seen),
            },
            patient(),
            fails(Outcome::Unavailable, "ended its event stream before it answered `tools/list`"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_resumed_stream_says_whose_it_is() {
    let (url, log) = serve(|seen| broken_off(seen, "id: e7\ndata:\n\n", |_, _| rest())).await;
    let listing = list(&url, &[("X-Key", "hidden")], &patient()).await;
    assert_eq!(complaint("resumed", &listing, &ok(2)), None);
    let log = log.lock().expect("whole");
    let get = log.iter().find(|seen| seen.verb == Method::GET).expect("it was resumed");
    for (name, value) in [
        ("accept", "text/event-stream"),
        ("last-event-id", "e7"),
        ("mcp-session-id", "session-0"),
        ("mcp-protocol-version", "2025-06-18"),
        ("x-key", "hidden"),
    ] {
        assert_eq!(get.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn what_is_capped_is_the_decompressed_body() {
    let limits = || Limits { message_bytes: 1 << 20, ..patient() };
    check(vec![
        (
            "a compressed answer",
            |seen| match seen.method() {
                "tools/list" => {
                    encoded("gzip", "application/json", gzip(seen.envelope(&tools(&[A, B])).as_bytes()))
                }
                _ => modern(seen),
            },
            limits(),
            ok(2),
        ),
        (
            "a compressed stream",
            |seen| match seen.method() {
                "tools/list" => {
                    let event = format!("data: {}\n\n", seen.envelope(&tools(&[A])));
                    encoded("gzip", "text/event-stream", gzip(event.as_bytes()))
                }
                _ => legacy(seen),
            },
            limits(),
            ok(1),
        ),
        (
            "a kilobyte that grows to a megabyte",
            |seen| match seen.method() {
                "tools/list" => encoded("gzip", "application/json", gzip(&vec![b' '; (1 << 20) + 1])),
                _ => modern(seen),
            },
            limits(),
            fails(Outcome::TooLarge, "answered `tools/list` with more than 1048576 bytes"),
        ),
        (
            "an event that grows",
            |seen| match seen.method() {
                "tools/list" => encoded("gzip", "text/event-stream", gzip(&vec![b'x'; (1 << 20) + 1])),
                _ => modern(seen),
            },
            limits(),
            fails(Outcome::TooLarge, "answered `tools/list` with more than 1048576 bytes"),
        ),
        (
            "a refusal that grows",
            |seen| match seen.method() {
                "tools/list" => {
                    let mut response = encoded("gzip", "text/html", gzip(&vec![b'x'; 50 << 20]));
                    *response.status_mut() = StatusCode::BAD_REQUEST;
                    response
                }
                _ => modern(seen),
            },
            limits(),
            fails(Outcome::Unavailable, "answered `tools/list` with status 400"),
        ),
        (
            "a coding that nobody asked for",
            |seen| match seen.method() {
                "tools/list" => encoded("br", "application/json", b"\x0b\x02\x80".to_vec()),
                _ => modern(seen),
            },
            limits(),
            fails(Outcome::Malformed, "in a content encoding it was not asked for, `br`"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_answer_may_come_in_a_batch() {
    let batch: super::Behaviour = |seen| match seen.method() {
        "tools/list" => {
            let told = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
            typed("application/json", format!("[{told},{}]", seen.envelope(&tools(&[A]))))
        }
        _ => legacy(seen),
    };
    check(vec![("a batch of 2025-03-26", batch, patient(), ok(1))]).await;
}

#[tokio::test]
async fn a_secret_that_a_server_lists_is_told_by_its_name() {
    let (url, _) = serve(|seen| match (seen.method(), seen.header("authorization"), seen.header("x-mode")) {
        ("tools/list", Some(secret), Some(mode)) => {
            let words = json!(format!("for {mode}: {}", secret.trim_start_matches("Bearer ")));
            seen.json(&format!(r#"{{"tools":[{{"name":"a","description":{words},"inputSchema":{{}}}}]}}"#))
        }
        _ => modern(seen),
    })
    .await;
    for (secret, told) in [(r#"s3cr3t-of-"mine""#, true), ("short", false)] {
        let headers = [("X-Mode", "read-only"), ("Authorization", &format!("Bearer {secret}"))];
        let listing = list(&url, &headers, &patient()).await;
        let expected =
            if told { ok_with(1, "lists what was sent as `Authorization`, a secret") } else { ok(1) };
        assert_eq!(complaint(secret, &listing, &expected), None);
        assert!(!format!("{:?}", listing.evidence).contains("s3cr3t"), "{:?}", listing.evidence);
    }
}

#[tokio::test]
async fn a_session_is_renewed_once_and_only_in_legacy() {
    let (url, log) = serve(|seen| match seen.method() {
        "tools/list" => status(StatusCode::NOT_FOUND),
        _ => legacy(seen),
    })
    .await;
    let listing = list(&url, &[], &Limits { request: Duration::from_secs(5), ..patient() }).await;
    let expected = fails(Outcome::Unavailable, "answered `tools/list` with status 404");
    assert_eq!(complaint("gone", &listing, &expected), None);
    let begun = log.lock().expect("whole").iter().filter(|seen| seen.method() == "initialize").count();
    assert_eq!(begun, 2);

    let (url, log) = serve(|seen| {
        let mut response = if first_list(seen) { seen.json(&tools(&[A])) } else { modern(seen) };
        response.headers_mut().insert("mcp-session-id", "s1".parse().expect("a header value"));
        response
    })
    .await;
    assert_eq!(complaint("modern", &list(&url, &[], &patient()).await, &ok(1)), None);
    let log = log.lock().expect("whole");
    let told: Vec<Option<&str>> = log.iter().map(|seen| seen.header("mcp-session-id")).collect();
    assert_eq!(told, [None, None], "no session, and so no goodbye");
    assert!(log.iter().all(|seen| !matches!(seen.message, Value::Null)));
}
