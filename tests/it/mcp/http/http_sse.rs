//! Servers that speak HTTP+SSE: a GET opens the stream, messages are POSTed elsewhere, answers come on the stream.

use std::time::Duration;

use axum::{
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use toolpact::{
    mcp::Limits,
    snapshot::{Era, Outcome, Transport},
};

use super::{A, B, Seen, Withheld, check, complaint, list, serve, silence, status, tools, typed};
use crate::mcp::{Expected, fails, ok, ok_with, patient};

const FIRST: &str = "event: endpoint\ndata: /messages?session=hidden-1\n\n";

/// What such a server does with all but `tools/list`.
pub(super) fn old(seen: &Seen) -> Response {
    opened_by(FIRST, seen)
}

fn opened_by(first: &str, seen: &Seen) -> Response {
    match (&seen.verb, seen.path.as_str(), seen.method()) {
        (&Method::GET, "/mcp", _) => seen.open(first),
        (_, "/messages", _) if seen.query != "session=hidden-1" => status(StatusCode::FORBIDDEN),
        (_, "/messages", "initialize") => {
            say(seen, r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"fake"}}"#)
        }
        (_, "/messages", _) => StatusCode::ACCEPTED.into_response(),
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// Answers the request on the stream.
pub(super) fn say(seen: &Seen, result: &str) -> Response {
    seen.push(format!("event: message\r\ndata: {}\r\n\r\n", seen.envelope(result)));
    StatusCode::ACCEPTED.into_response()
}

fn listed(seen: &Seen, with: fn(&Seen) -> Response) -> Response {
    if seen.method() == "tools/list" { with(seen) } else { old(seen) }
}

#[tokio::test]
async fn a_list_comes_on_the_stream() {
    check(vec![
        ("one page", |seen| listed(seen, |seen| say(seen, &tools(&[A, B]))), patient(), ok(2)),
        (
            "two pages",
            |seen| {
                listed(seen, |seen| match seen.nth {
                    0 => say(seen, &format!(r#"{{"tools":[{A}],"nextCursor":"p2"}}"#)),
                    _ => say(seen, &tools(&[B])),
                })
            },
            patient(),
            ok(2),
        ),
        (
            "a whole URL for messages, of the same origin",
            |seen| match seen.method() {
                "tools/list" => say(seen, &tools(&[A])),
                _ => {
                    let host = seen.header("host").expect("clients say it");
                    opened_by(
                        &format!(
                            ": hello\n\nevent: endpoint\ndata: http://{host}/messages?session=hidden-1\n\n"
                        ),
                        seen,
                    )
                }
            },
            patient(),
            ok(1),
        ),
        (
            "a POST that opens the stream as well",
            |seen| match (&seen.verb, seen.path.as_str()) {
                (&Method::POST, "/mcp") => typed("text/event-stream", FIRST),
                _ => listed(seen, |seen| say(seen, &tools(&[A]))),
            },
            patient(),
            ok(1),
        ),
        (
            "a refusal that comes late",
            |seen| match (&seen.verb, seen.path.as_str(), seen.method()) {
                (&Method::POST, "/mcp", "server/discover") => typed("application/json", silence()),
                _ => listed(seen, |seen| say(seen, &tools(&[A]))),
            },
            Limits { probe: Duration::from_millis(50), ..patient() },
            ok(1),
        ),
        (
            "a redirect of the stream",
            |seen| match (&seen.verb, seen.path.as_str()) {
                (&Method::GET, "/mcp") => {
                    (StatusCode::TEMPORARY_REDIRECT, [("location", "/mcp/")]).into_response()
                }
                (&Method::GET, "/mcp/") => seen.open(FIRST),
                _ => listed(seen, |seen| say(seen, &tools(&[A]))),
            },
            patient(),
            ok(1),
        ),
        (
            "noise before the answer",
            |seen| {
                listed(seen, |seen| {
                    seen.push(
                        ": still here\n\nevent: endpoint\ndata: /elsewhere\n\ndata: not JSON\n\n\
                         data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"roots/list\"}\n\n\
                         data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{\"tools\":[]}}\n\n",
                    );
                    say(seen, &tools(&[A]))
                })
            },
            patient(),
            ok(1),
        ),
        (
            "a list that changed while it was read",
            |seen| {
                listed(seen, |seen| {
                    if seen.nth == 0 {
                        seen.push(
                            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
                        );
                        return say(seen, &tools(&[A]));
                    }
                    say(seen, &tools(&[A, B]))
                })
            },
            patient(),
            ok_with(2, "the list changed"),
        ),
        (
            "an error on page 2, always",
            |seen| {
                listed(seen, |seen| match seen.message["params"]["cursor"].as_str() {
                    None => say(seen, &format!(r#"{{"tools":[{A}],"nextCursor":"p2"}}"#)),
                    Some(_) => {
                        let id = &seen.message["id"];
                        seen.push(format!(
                            "data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32603}}}}\n\n"
                        ));
                        StatusCode::ACCEPTED.into_response()
                    }
                })
            },
            patient(),
            Expected { outcome: Outcome::Partial, words: "-32603", tools: 1 },
        ),
        (
            "an answer before the POST is through",
            |seen| {
                listed(seen, |seen| {
                    let mut accepted = say(seen, &tools(&[A]));
                    accepted.extensions_mut().insert(Withheld);
                    accepted
                })
            },
            patient(),
            ok(1),
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_stream_that_fails_says_how() {
    check(vec![
        (
            "a URL for messages at another origin",
            |seen| opened_by("event: endpoint\ndata: http://127.0.0.1:9/messages?session=hidden-1\n\n", seen),
            patient(),
            fails(Outcome::Malformed, "names another origin, `http://127.0.0.1:9`, as the URL for messages"),
        ),
        (
            "another scheme",
            |seen| opened_by("event: endpoint\ndata: file:///etc/passwd\n\n", seen),
            patient(),
            fails(Outcome::Malformed, "names another origin"),
        ),
        (
            "no URL",
            |seen| opened_by("event: endpoint\ndata: http://[\n\n", seen),
            patient(),
            fails(Outcome::Malformed, "names what is no URL"),
        ),
        (
            "another event first",
            |seen| opened_by("data: {}\n\n", seen),
            patient(),
            fails(Outcome::Unavailable, "answered `initialize` with status 405"),
        ),
        (
            "a stream for those with credentials",
            |seen| match seen.verb {
                Method::GET => (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response(),
                _ => old(seen),
            },
            patient(),
            fails(Outcome::AuthRequired, "401 Unauthorized; it asks for Bearer"),
        ),
        (
            "a stream that ends",
            |seen| {
                listed(seen, |seen| {
                    seen.hang_up();
                    StatusCode::ACCEPTED.into_response()
                })
            },
            patient(),
            fails(Outcome::Unavailable, "ended its event stream before it answered `tools/list`"),
        ),
        (
            "no answer",
            |seen| listed(seen, |_| StatusCode::ACCEPTED.into_response()),
            Limits { request: Duration::from_millis(300), ..patient() },
            fails(Outcome::Timeout, "did not answer `tools/list` in time"),
        ),
        (
            "an event of 20 MB",
            |seen| {
                listed(seen, |seen| {
                    seen.push(vec![b'x'; 20_000_000]);
                    StatusCode::ACCEPTED.into_response()
                })
            },
            patient(),
            fails(Outcome::TooLarge, "answered `tools/list` with more than 16777216 bytes"),
        ),
        (
            "a message that is refused",
            |seen| listed(seen, |_| status(StatusCode::NOT_FOUND)),
            patient(),
            fails(Outcome::Unavailable, "answered `tools/list` with status 404"),
        ),
        (
            "a message that is sent elsewhere",
            |seen| {
                listed(seen, |_| {
                    (StatusCode::TEMPORARY_REDIRECT, [("location", "http://127.0.0.1:9/")]).into_response()
                })
            },
            patient(),
            fails(Outcome::Unavailable, "a redirect to another origin, `http://127.0.0.1:9`"),
        ),
        (
            "cursors without end",
            |seen| listed(seen, |seen| say(seen, &format!(r#"{{"tools":[],"nextCursor":"p{}"}}"#, seen.nth))),
            Limits { pages: 20, ..patient() },
            fails(Outcome::TooLarge, "the limit is 20 pages"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_server_that_never_stops_talking_is_late() {
    let (url, _) = serve(|seen| {
        listed(seen, |seen| {
            let talking = seen.clone();
            tokio::spawn(async move {
                while talking.down.lock().expect("whole").as_ref().is_some_and(|down| !down.is_closed()) {
                    talking.push("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
                    tokio::task::yield_now().await;
                }
            });
            StatusCode::ACCEPTED.into_response()
        })
    })
    .await;
    let listing = list(&url, &[], &Limits { request: Duration::from_millis(300), ..patient() }).await;
    let expected = fails(Outcome::Timeout, "did not answer `tools/list` in time");
    assert_eq!(complaint("talking", &listing, &expected), None);
}

#[tokio::test]
async fn a_session_begins_as_the_specification_says_and_shows_no_secret() {
    let (url, log) = serve(|seen| {
        listed(seen, |seen| {
            seen.push("data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"roots/list\"}\n\n");
            say(seen, &tools(&[A]))
        })
    })
    .await;
    let listing = list(&url, &[("X-Key", "hidden-2")], &patient()).await;
    assert_eq!(complaint("old", &listing, &ok(1)), None);
    assert_eq!(listing.provenance.transport, Transport::Sse);
    assert_eq!(listing.provenance.era, Some(Era::Legacy));
    assert_eq!(listing.provenance.target, url);
    assert!(!format!("{listing:?}").contains("hidden"));
    let log = log.lock().expect("whole");
    assert!(log.iter().all(|seen| seen.header("x-key") == Some("hidden-2")));
    let told: Vec<String> = log
        .iter()
        .map(|seen| match &seen.message {
            Value::Null => format!("{} {}", seen.verb, seen.path),
            answer if seen.method().is_empty() => format!("{} {}", seen.path, answer["error"]["code"]),
            _ => format!("{} {}", seen.path, seen.method()),
        })
        .collect();
    assert_eq!(
        told,
        [
            "/mcp server/discover",
            "/mcp initialize",
            "GET /mcp",
            "/messages initialize",
            "/messages notifications/initialized",
            "/messages tools/list",
            "/messages -32601",
        ]
    );
}
