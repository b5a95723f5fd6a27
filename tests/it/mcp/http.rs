//! Servers behind HTTP: an axum router on a loopback port, one behaviour a row.

mod answers;
mod follow;
mod http_sse;
pub(crate) mod oauth;
mod spoken;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, Method, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::{Era, Listing, Outcome},
};

use super::{Expected, complaint, fails, ok, ok_with, patient};

const A: &str = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
const B: &str = r#"{"name":"b","inputSchema":{"type":"object"}}"#;

/// One request as the server sees it.
#[derive(Debug, Clone)]
struct Seen {
    verb: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    /// The JSON-RPC message; null where there is none.
    message: Value,
    /// How many of this method came before.
    nth: usize,
    /// The stream that the last GET opened.
    down: Down,
}

/// Marks a response that is never sent.
#[derive(Debug, Clone)]
struct Withheld;

type Down = Arc<Mutex<Option<UnboundedSender<Bytes>>>>;

impl Seen {
    fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The answer to this request, as JSON.
    fn json(&self, result: &str) -> Response {
        typed("application/json", self.envelope(result))
    }

    /// The answer to this request, as an event stream.
    fn stream(&self, result: &str) -> Response {
        typed("text/event-stream", format!("event: message\nid: 1\ndata: {}\n\n", self.envelope(result)))
    }

    /// A stream that stays open and begins with this.
    fn open(&self, first: &str) -> Response {
        let (sender, receiver) = unbounded_channel();
        let first = Bytes::from(first.to_owned());
        sender.send(first).expect("the receiver is here");
        *self.down.lock().expect("whole") = Some(sender);
        let stream = futures_util::stream::unfold(receiver, async |mut receiver| {
            Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
        });
        typed("text/event-stream", Body::from_stream(stream))
    }

    /// Says something on the open stream.
    fn push(&self, text: impl Into<Bytes>) {
        if let Some(down) = &*self.down.lock().expect("whole") {
            // Nobody listens any more: that is the client's choice.
            let _ = down.send(text.into());
        }
    }

    /// Ends the open stream.
    fn hang_up(&self) {
        *self.down.lock().expect("whole") = None;
    }

    fn envelope(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.message["id"])
    }

    fn error(&self, status: StatusCode, code: i64, message: &str, data: Value) -> Response {
        let error = json!({"code": code, "message": message, "data": data});
        let body = json!({"jsonrpc": "2.0", "id": self.message["id"], "error": error}).to_string();
        (status, [("content-type", "application/json")], body).into_response()
    }
}

fn typed(content_type: &str, body: impl Into<Body>) -> Response {
    ([("content-type", content_type)], body.into()).into_response()
}

fn status(status: StatusCode) -> Response {
    (status, [("content-type", "text/html")], "<h1>no</h1>").into_response()
}

fn tools(tools: &[&str]) -> String {
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}

type Behaviour = fn(&Seen) -> Response;

/// What a legacy server says to all but `tools/list`.
fn legacy(seen: &Seen) -> Response {
    match seen.method() {
        "server/discover" => {
            seen.error(StatusCode::BAD_REQUEST, -32000, "Bad Request: no session", Value::Null)
        }
        "initialize" => {
            let result = r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"fake","version":"1.0.0"}}"#;
            let mut response = seen.stream(result);
            let id = format!("session-{}", seen.nth).parse().expect("a header value");
            response.headers_mut().insert("mcp-session-id", id);
            response
        }
        "notifications/initialized" => StatusCode::ACCEPTED.into_response(),
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// What a modern server says to all but `tools/list`.
fn modern(seen: &Seen) -> Response {
    match seen.method() {
        "server/discover" => seen.json(r#"{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#),
        _ => seen.error(StatusCode::NOT_FOUND, -32601, "no such method", Value::Null),
    }
}

/// A server on a port of its own; gives its URL and what it saw.
async fn serve(behaviour: Behaviour) -> (String, Arc<Mutex<Vec<Seen>>>) {
    let log = Arc::new(Mutex::new(Vec::<Seen>::new()));
    let seen_by = Arc::clone(&log);
    let down = Down::default();
    let router = Router::new().fallback(move |request: Request| async move {
        let (parts, body) = request.into_parts();
        let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.expect("a small body");
        let mut seen = Seen {
            verb: parts.method,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            message: serde_json::from_slice(&body).unwrap_or_default(),
            nth: 0,
            down,
        };
        {
            let mut log = seen_by.lock().expect("no test panics while it holds this");
            let same = |s: &&Seen| s.method() == seen.method() && s.verb == seen.verb;
            seen.nth = log.iter().filter(same).count();
            log.push(seen.clone());
        }
        let response = behaviour(&seen);
        if response.extensions().get::<Withheld>().is_some() {
            std::future::pending::<()>().await;
        }
        response
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}/mcp", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, log)
}

async fn list(url: &str, headers: &[(&str, &str)], limits: &Limits) -> Listing {
    let headers = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    mcp::list(&Source::http(url, headers).expect("a URL"), limits).await
}

/// Runs every row and tells all that end otherwise than expected.
async fn check(rows: Vec<(&'static str, Behaviour, Limits, Expected)>) {
    let mut complaints = Vec::new();
    for (name, behaviour, limits, expected) in rows {
        let (url, _) = serve(behaviour).await;
        let listing = list(&url, &[], &limits).await;
        complaints.extend(complaint(name, &listing, &expected));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn first_list(seen: &Seen) -> bool {
    seen.method() == "tools/list" && seen.nth == 0
}

/// A body that never ends and never says anything.
fn silence() -> Body {
    Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>())
}

#[tokio::test]
async fn a_conversation_begins_in_either_era() {
    check(vec![
        (
            "modern",
            |seen| if first_list(seen) { seen.json(&tools(&[A, B])) } else { modern(seen) },
            patient(),
            ok(2),
        ),
        (
            "legacy",
            |seen| if first_list(seen) { seen.json(&tools(&[A, B])) } else { legacy(seen) },
            patient(),
            ok(2),
        ),
        (
            "legacy that does not know the path for that",
            |seen| match seen.method() {
                "server/discover" => status(StatusCode::NOT_FOUND),
                "tools/list" => seen.stream(&tools(&[A])),
                _ => legacy(seen),
            },
            patient(),
            ok(1),
        ),
        (
            "legacy that falls over the question",
            |seen| match seen.method() {
                "server/discover" => status(StatusCode::INTERNAL_SERVER_ERROR),
                "tools/list" => seen.stream(&tools(&[A])),
                _ => legacy(seen),
            },
            patient(),
            ok(1),
        ),
        (
            "legacy that answers the question with an error and status 200",
            |seen| match seen.method() {
                "server/discover" => seen.error(StatusCode::OK, -32601, "no such method", Value::Null),
                "tools/list" => seen.json(&tools(&[A])),
                _ => legacy(seen),
            },
            patient(),
            ok(1),
        ),
        (
            "legacy that stays silent",
            |seen| match seen.method() {
                "server/discover" => typed("application/json", silence()),
                "tools/list" => seen.json(&tools(&[A])),
                _ => legacy(seen),
            },
            Limits { probe: Duration::from_millis(50), ..patient() },
            ok(1),
        ),
        (
            "modern that is slow at first",
            |seen| match seen.method() {
                "server/discover" if seen.nth == 0 => typed("application/json", silence()),
                "tools/list" => seen.json(&tools(&[A])),
                _ => modern(seen),
            },
            Limits { probe: Duration::from_millis(50), ..patient() },
            ok(1),
        ),
        (
            "modern of another revision",
            |seen| match seen.method() {
                "server/discover" if seen.header("mcp-protocol-version") == Some("2027-01-01") => {
                    seen.json(r#"{"supportedVersions":["2027-01-01"]}"#)
                }
                "server/discover" => seen.error(
                    StatusCode::BAD_REQUEST,
                    -32022,
                    "unsupported",
                    json!({"supported": ["2027-01-01"]}),
                ),
                _ => seen.json(&tools(&[A])),
            },
            patient(),
            ok_with(1, "2027-01-01"),
        ),
        (
            "modern that refuses at first what it supports",
            |seen| match (seen.method(), seen.nth) {
                ("server/discover", 0) => seen.error(
                    StatusCode::BAD_REQUEST,
                    -32022,
                    "unsupported",
                    json!({"supported": ["2026-07-28"]}),
                ),
                ("tools/list", _) => seen.json(&tools(&[A])),
                _ => modern(seen),
            },
            patient(),
            ok(1),
        ),
        (
            "modern that sends us round in circles",
            |seen| {
                let other = if seen.nth.is_multiple_of(2) { "2027-01-01" } else { "2026-07-28" };
                seen.error(StatusCode::BAD_REQUEST, -32022, "unsupported", json!({"supported": [other]}))
            },
            patient(),
            fails(Outcome::Error, "refused `server/discover`: -32022: unsupported; it supports 2027-01-01"),
        ),
        (
            "modern that wants what we do not declare",
            |seen| seen.error(StatusCode::BAD_REQUEST, -32021, "needs sampling", Value::Null),
            patient(),
            fails(Outcome::Error, "refused `server/discover`: -32021: needs sampling"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_modern_request_says_everything_itself() {
    let (url, log) =
        serve(|seen| if first_list(seen) { seen.json(&tools(&[A])) } else { modern(seen) }).await;
    let listing = list(&url, &[("X-Key", "hidden")], &patient()).await;
    assert_eq!(complaint("modern", &listing, &ok(1)), None);
    assert_eq!(listing.provenance.era, Some(Era::Modern));
    assert!(!format!("{listing:?}").contains("hidden"));
    let log = log.lock().expect("whole");
    assert_eq!(log.len(), 2, "no handshake, no goodbye");
    for seen in log.iter() {
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(seen.header("mcp-method"), Some(seen.method()));
        assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(seen.header("x-key"), Some("hidden"));
        let meta = &seen.message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "toolpact");
    }
}

#[tokio::test]
async fn a_legacy_session_is_kept_renewed_and_ended() {
    let (url, log) = serve(|seen| match seen.method() {
        "tools/list" if seen.nth == 0 => status(StatusCode::NOT_FOUND),
        "tools/list" => seen.stream(&tools(&[A])),
        _ => legacy(seen),
    })
    .await;
    let listing = list(&url, &[], &patient()).await;
    assert_eq!(complaint("legacy", &listing, &ok(1)), None);
    assert_eq!(listing.provenance.protocol_version.as_deref(), Some("2025-06-18"));
    assert!(!format!("{listing:?}").contains("session-"));
    let log = log.lock().expect("whole");
    let told: Vec<(&str, Option<&str>, Option<&str>)> = log
        .iter()
        .map(|seen| {
            let what = if seen.verb == Method::DELETE { "DELETE" } else { seen.method() };
            (what, seen.header("mcp-session-id"), seen.header("mcp-protocol-version"))
        })
        .collect();
    let version = Some("2025-06-18");
    assert_eq!(
        told,
        [
            ("server/discover", None, Some("2026-07-28")),
            ("initialize", None, None),
            ("notifications/initialized", Some("session-0"), version),
            ("tools/list", Some("session-0"), version),
            ("initialize", None, None),
            ("notifications/initialized", Some("session-1"), version),
            ("tools/list", Some("session-1"), version),
            ("DELETE", Some("session-1"), version),
        ]
    );
}

#[tokio::test]
async fn lists_come_as_json_or_as_a_stream_in_pages() {
    check(vec![
        (
            "two pages",
            |seen| match (seen.method(), seen.message["params"]["cursor"].as_str()) {
                ("tools/list", None) => seen.json(&format!(r#"{{"tools":[{A}],"nextCursor":""}}"#)),
                ("tools/list", Some("")) => seen.stream(&tools(&[B])),
                _ => modern(seen),
            },
            patient(),
            ok(2),
        ),
        (
            "a stream with everything in it",
            |seen| match seen.method() {
                "tools/list" => {
                    let answer = seen.envelope(&tools(&[A])).replacen(',', ",\r\ndata: ", 1);
                    let stream = format!(
                        "\u{feff}: hello\r\nid: 0\r\nretry: 10\r\ndata:\r\n\r\nevent: other\rdata: {{}}\r\r\
                         data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\n\n\
                         data: {{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\"}}\n\n\
                         event: message\r\ndata: {answer}\r\n\r\n"
                    );
                    typed("text/event-stream; charset=utf-8", stream)
                }
                // Our refusal of what the server asked.
                "" if seen.message["error"]["code"] == -32601 => StatusCode::ACCEPTED.into_response(),
                _ => legacy(seen),
            },
            patient(),
            ok(1),
        ),
        (
            "a list that changed while it was read",
            |seen| match (seen.method(), seen.nth) {
                ("tools/list", 0) => typed(
                    "text/event-stream",
                    format!(
                        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}}\n\ndata: {}\n\n",
                        seen.envelope(&tools(&[A]))
                    ),
                ),
                ("tools/list", 1 | 2) => seen.stream(&tools(&[A, B])),
                _ => legacy(seen),
            },
            patient(),
            ok_with(2, "the list changed"),
        ),
        (
            "an error on page 2, always",
            |seen| match (seen.method(), seen.message["params"]["cursor"].as_str()) {
                ("tools/list", None) => seen.json(&format!(r#"{{"tools":[{A}],"nextCursor":"p2"}}"#)),
                ("tools/list", Some(_)) => seen.error(StatusCode::OK, -32602, "no such cursor", Value::Null),
                _ => modern(seen),
            },
            patient(),
            Expected { outcome: Outcome::Partial, words: "no such cursor", tools: 1 },
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_failed_request_says_how() {
    check(vec![
        (
            "401 with a challenge",
            |_| (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer realm=\"x\"")]).into_response(),
            patient(),
            fails(Outcome::AuthRequired, "status 401 Unauthorized; it asks for Bearer realm=\"x\""),
        ),
        ("401 without", |_| status(StatusCode::UNAUTHORIZED), patient(), fails(Outcome::AuthRequired, "401")),
        (
            "403 for the list only",
            |seen| if first_list(seen) { status(StatusCode::FORBIDDEN) } else { modern(seen) },
            patient(),
            fails(Outcome::AuthRequired, "answered `tools/list` with status 403 Forbidden"),
        ),
        (
            "429",
            |_| (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")]).into_response(),
            patient(),
            fails(Outcome::Unavailable, "429 Too Many Requests; retry after 7"),
        ),
        (
            "502 with a page",
            |_| status(StatusCode::BAD_GATEWAY),
            patient(),
            fails(Outcome::Unavailable, "502 Bad Gateway"),
        ),
        (
            "a page in place of JSON",
            |_| typed("text/html", "<h1>welcome</h1>"),
            patient(),
            fails(Outcome::Unavailable, "with status 200 and `text/html` in place of JSON"),
        ),
        (
            "nothing here",
            |_| status(StatusCode::NOT_FOUND),
            patient(),
            fails(Outcome::Unavailable, "404 Not Found"),
        ),
        (
            "an error with a status",
            |seen| {
                if first_list(seen) {
                    seen.error(StatusCode::BAD_REQUEST, -32602, "bad params", Value::Null)
                } else {
                    modern(seen)
                }
            },
            patient(),
            fails(Outcome::Error, "400 Bad Request and error -32602: bad params"),
        ),
        (
            "JSON that is no JSON-RPC",
            |seen| if first_list(seen) { typed("application/json", "{\"tools\":[]}") } else { modern(seen) },
            patient(),
            fails(Outcome::Malformed, "something that is no JSON-RPC"),
        ),
        (
            "an answer to something else",
            |seen| {
                if first_list(seen) {
                    typed("application/json", r#"{"jsonrpc":"2.0","id":99,"result":{"tools":[]}}"#)
                } else {
                    modern(seen)
                }
            },
            patient(),
            fails(Outcome::Malformed, "an answer to something else"),
        ),
        (
            "a stream that ends early",
            |seen| if first_list(seen) { typed("text/event-stream", ": bye\n\n") } else { modern(seen) },
            patient(),
            fails(Outcome::Unavailable, "ended its event stream before it answered `tools/list`"),
        ),
        (
            "a stream that stays silent",
            |seen| if first_list(seen) { typed("text/event-stream", silence()) } else { modern(seen) },
            Limits { request: Duration::from_millis(300), ..patient() },
            fails(Outcome::Timeout, "did not answer `tools/list` in time"),
        ),
        (
            "a body of 20 MB",
            |seen| {
                if first_list(seen) {
                    typed("application/json", vec![b' '; 20_000_000])
                } else {
                    modern(seen)
                }
            },
            patient(),
            fails(Outcome::TooLarge, "answered `tools/list` with more than 16777216 bytes"),
        ),
        (
            "an event of 20 MB",
            |seen| {
                if first_list(seen) {
                    typed("text/event-stream", vec![b'x'; 20_000_000])
                } else {
                    modern(seen)
                }
            },
            patient(),
            fails(Outcome::TooLarge, "answered `tools/list` with more than 16777216 bytes"),
        ),
        (
            "cursors without end",
            |seen| {
                if seen.method() == "tools/list" {
                    seen.json(&format!(r#"{{"tools":[],"nextCursor":"p{}"}}"#, seen.nth))
                } else {
                    modern(seen)
                }
            },
            Limits { pages: 20, ..patient() },
            fails(Outcome::TooLarge, "the limit is 20 pages"),
        ),
        (
            "redirects in a circle",
            |_| (StatusCode::TEMPORARY_REDIRECT, [("location", "/mcp")]).into_response(),
            patient(),
            fails(Outcome::Unavailable, "redirects more than 3 times"),
        ),
    ])
    .await;

    let (url, _) = serve(|_| (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")]).into_response()).await;
    let evidence = list(&url, &[], &patient()).await.evidence;
    assert_eq!((evidence.http_status, evidence.retry_after.as_deref()), (Some(429), Some("7")));
}

#[tokio::test]
async fn a_redirect_is_followed_within_the_origin_only() {
    let (url, log) = serve(|seen| match (seen.path.as_str(), seen.method()) {
        ("/mcp", _) => (StatusCode::PERMANENT_REDIRECT, [("location", "/mcp/")]).into_response(),
        (_, "tools/list") => seen.json(&tools(&[A])),
        _ => modern(seen),
    })
    .await;
    let listing = list(&url, &[("X-Key", "hidden")], &patient()).await;
    assert_eq!(complaint("within", &listing, &ok(1)), None);
    assert_eq!(log.lock().expect("whole").len(), 3, "the redirect is remembered");

    let (url, _) =
        serve(|_| (StatusCode::FOUND, [("location", "http://127.0.0.1:9/mcp")]).into_response()).await;
    let listing = list(&url, &[("X-Key", "hidden")], &patient()).await;
    let expected = fails(
        Outcome::Unavailable,
        "a redirect to another origin, `http://127.0.0.1:9`, which is not followed",
    );
    assert_eq!(complaint("elsewhere", &listing, &expected), None);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}/mcp?key=hidden", listener.local_addr().expect("it is bound"));
    drop(listener);
    let listing = list(&url, &[], &patient()).await;
    let expected = fails(Outcome::Unavailable, "/mcp` cannot be reached: Connection refused");
    assert_eq!(complaint("closed", &listing, &expected), None);
    assert!(!format!("{listing:?}").contains("hidden"));
}

#[tokio::test]
async fn every_byte_of_a_tool_is_kept() {
    let (url, _) = serve(|seen| match seen.method() {
        "tools/list" => seen.json(&format!("{{\"tools\":[ {ODD} ]}}")),
        _ => modern(seen),
    })
    .await;
    let listing = list(&url, &[], &patient()).await;
    assert_eq!(complaint("odd", &listing, &ok(1)), None);
    assert_eq!(listing.tools[0].raw.get(), ODD);
}

const ODD: &str = r#"{ "name":"\u0061" , "inputSchema":{"maximum":1e2,"default":0.10,"const":12345678901234567890123,"x":1,"x":2}, "x-unknown":[ ] }"#;
