//! Servers behind HTTP that are followed: the stream of a legacy session, `subscriptions/listen`, HTTP+SSE.

use axum::{
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use toolpact::mcp::Source;

use super::{A, B, Behaviour, Seen, modern, serve, status, tools, typed};
use crate::mcp::changes::Followed;

const CHANGED: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
const ACKNOWLEDGED: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\
    \"params\":{\"notifications\":{\"toolsListChanged\":true}}}\n\n";

async fn follow(behaviour: Behaviour) -> (Followed, impl Fn() -> Vec<Seen>) {
    let (url, log) = serve(behaviour).await;
    let source = Source::http(&url, Vec::new()).expect("a URL");
    (Followed::new(source), move || log.lock().expect("whole").clone())
}

/// The tools grow with every question.
fn listed(seen: &Seen) -> Response {
    seen.stream(&tools(if seen.nth == 0 { &[A] } else { &[A, B] }))
}

/// A legacy server that declares that it tells, with this answer to a GET.
fn legacy(seen: &Seen, get: fn(&Seen) -> Response) -> Response {
    match (&seen.verb, seen.method()) {
        (&Method::GET, _) => get(seen),
        (_, "tools/list") => listed(seen),
        (_, "initialize") => {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}"#;
            let mut response = seen.json(result);
            response.headers_mut().insert("mcp-session-id", "s1".parse().expect("a header value"));
            response
        }
        _ => super::legacy(seen),
    }
}

/// What the server that was asked last says on its open stream.
fn push(log: &[Seen], text: &'static str) {
    log.last().expect("it was asked").push(text);
}

#[tokio::test]
async fn a_legacy_session_is_followed_on_its_stream() {
    let (mut followed, log) = follow(|seen| legacy(seen, |seen| seen.open(": hello\n\n"))).await;
    assert_eq!(followed.next().await, "1");
    push(&log(), CHANGED);
    assert_eq!(followed.next().await, "2");
    assert_eq!(followed.dropped().await, "unheard");
    let get = log().into_iter().find(|seen| seen.verb == Method::GET).expect("it was asked for");
    assert_eq!((get.header("mcp-session-id"), get.header("accept")), (Some("s1"), Some("text/event-stream")));
    assert!(log().iter().any(|seen| seen.verb == Method::DELETE), "the session is ended");
}

#[tokio::test]
async fn a_stream_that_ends_is_opened_again_where_it_broke_off() {
    let (mut followed, log) = follow(|seen| {
        legacy(seen, |seen| match (seen.nth, seen.header("last-event-id")) {
            (0, None) => typed("text/event-stream", "id: e1\nretry: 1\ndata:\n\n"),
            (1, Some("e1")) => typed("text/event-stream", format!("id: e2\n{CHANGED}")),
            (2, Some("e2")) => seen.open(": hello\n\n"),
            _ => status(StatusCode::BAD_REQUEST),
        })
    })
    .await;
    assert_eq!(followed.next().await, "1");
    assert_eq!(followed.next().await, "2");
    assert_eq!(followed.dropped().await, "unheard");
    let gets = log().iter().filter(|seen| seen.verb == Method::GET).count();
    assert!(gets >= 2, "{gets}");
}

#[tokio::test]
async fn a_stream_that_cannot_say_what_was_missed_has_the_list_read() {
    let (mut followed, _) = follow(|seen| {
        legacy(seen, |seen| match seen.nth {
            0 => typed("text/event-stream", "retry: 1\ndata:\n\n"),
            _ => seen.open(": hello\n\n"),
        })
    })
    .await;
    assert_eq!(followed.next().await, "1");
    assert_eq!(followed.next().await, "2");
    assert_eq!(followed.dropped().await, "unheard");
}

#[tokio::test]
async fn a_stream_that_ends_all_the_time_is_given_up() {
    let rows: [(&str, Behaviour, usize); 3] = [
        (
            "nothing to go on after, so each has the list read",
            |seen| legacy(seen, |_| typed("text/event-stream", "retry: 0\n\n")),
            5,
        ),
        (
            "events that tell nothing",
            |seen| legacy(seen, |_| typed("text/event-stream", "retry: 0\ndata: {}\n\n")),
            5,
        ),
        (
            "events to go on after",
            |seen| {
                legacy(seen, |seen| {
                    typed("text/event-stream", format!("id: {}\nretry: 0\ndata:\n\n", seen.nth))
                })
            },
            1,
        ),
    ];
    let checks = rows.map(async |(name, behaviour, listings)| {
        let (mut followed, log) = follow(behaviour).await;
        // What comes after these is no listing.
        let mut told = Vec::new();
        for _ in 0..=listings {
            told.push(followed.next().await);
        }
        assert_eq!(told.pop().as_deref(), Some("none"), "{name}: {told:?}");
        let (_, ended) = followed.until_it_ends().await;
        assert!(
            ended.contains("unsupported: ") && ended.contains("ended 5 times in a row"),
            "{name}: {ended}"
        );
        assert_eq!(log().iter().filter(|seen| seen.verb == Method::GET).count(), 5, "{name}");
    });
    futures_util::future::join_all(checks).await;
}

#[tokio::test]
async fn a_speech_of_many_words_is_one_change() {
    let (mut followed, log) = follow(|seen| legacy(seen, |seen| seen.open(": hello\n\n"))).await;
    assert_eq!(followed.next().await, "1");
    log().last().expect("it was asked").push(CHANGED.repeat(100));
    assert_eq!(followed.next().await, "2");
    let more = tokio::time::timeout(std::time::Duration::from_secs(1), followed.next()).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test]
async fn a_server_that_cannot_be_followed_is_listed_once() {
    let rows: [(&str, Behaviour, &str); 5] = [
        (
            "legacy without a stream",
            |seen| legacy(seen, |_| status(StatusCode::METHOD_NOT_ALLOWED)),
            "unsupported: ",
        ),
        (
            "legacy that declares nothing",
            |seen| if seen.method() == "tools/list" { listed(seen) } else { super::legacy(seen) },
            "does not declare that it says when its tools change",
        ),
        (
            "modern that does not know the question",
            |seen| if seen.method() == "tools/list" { listed(seen) } else { modern(seen) },
            "does not tell when its tools change: ",
        ),
        (
            "modern that answers it with an error",
            |seen| match seen.method() {
                "tools/list" => listed(seen),
                "subscriptions/listen" => seen.error(StatusCode::OK, -32601, "no", Value::Null),
                _ => modern(seen),
            },
            "does not tell when its tools change: -32601: no",
        ),
        (
            "modern that ends its stream",
            |seen| match seen.method() {
                "tools/list" => listed(seen),
                "subscriptions/listen" => typed("text/event-stream", format!("id: e1\n{ACKNOWLEDGED}")),
                _ => modern(seen),
            },
            "lost: unavailable: ",
        ),
    ];
    for (name, behaviour, words) in rows {
        let (followed, _) = follow(behaviour).await;
        let (told, ended) = followed.until_it_ends().await;
        assert_eq!(told, ["1"], "{name}: {ended}");
        assert!(ended.contains(words), "{name}: {ended}");
    }
}

#[tokio::test]
async fn a_modern_server_is_followed_by_subscription() {
    let (mut followed, log) = follow(|seen| match seen.method() {
        "tools/list" => listed(seen),
        "subscriptions/listen" => seen.open(ACKNOWLEDGED),
        _ => modern(seen),
    })
    .await;
    assert_eq!(followed.next().await, "1");
    push(&log(), CHANGED);
    assert_eq!(followed.next().await, "2");
    assert_eq!(followed.dropped().await, "unheard");
    let told: Vec<String> = log().iter().map(|seen| seen.method().to_owned()).collect();
    assert_eq!(told, ["server/discover", "subscriptions/listen", "tools/list", "tools/list"]);
    let asked = &log()[1].message["params"];
    assert_eq!(asked["notifications"]["toolsListChanged"], true);
    assert_eq!(asked["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn an_http_sse_session_is_followed_on_its_one_stream() {
    let (mut followed, log) = follow(|seen| match (&seen.verb, seen.path.as_str(), seen.method()) {
        (&Method::GET, "/mcp", _) => seen.open("event: endpoint\ndata: /messages\n\n"),
        (_, "/messages", method) => {
            let result = match method {
                "initialize" => {
                    r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}}}"#
                        .to_owned()
                }
                _ => tools(if seen.nth == 0 { &[A] } else { &[A, B] }),
            };
            if seen.message["id"].is_number() {
                seen.push(format!("data: {}\n\n", seen.envelope(&result)));
            }
            StatusCode::ACCEPTED.into_response()
        }
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    })
    .await;
    assert_eq!(followed.next().await, "1");
    push(&log(), CHANGED);
    assert_eq!(followed.next().await, "2");
    log().last().expect("it was asked").hang_up();
    let (told, ended) = followed.until_it_ends().await;
    assert!(
        told.is_empty() && ended.contains("ended the event stream on which it says what changed"),
        "{ended}"
    );
}
