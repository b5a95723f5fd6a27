//! Access by client credentials: a server on a loopback port that is a protected resource and the authorization server
//! it trusts, one behaviour a row.

mod hostile;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::Request,
    http::{HeaderMap, Method, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use toolpact::{
    mcp::{self, Limits, OAuth, Source, Tokens},
    snapshot::{Listing, Outcome},
};

use super::silence;
use crate::mcp::{Expected, complaint, fails, ok, patient};

pub(crate) const SECRET: &str = "s3cr3t & more";
/// How every token begins; its number follows.
pub(crate) const TOKEN: &str = "t0ken-of-access-";
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
const ISSUER: &str = "/.well-known/oauth-authorization-server/tenant";

/// One request as the server sees it.
pub(crate) struct Asked {
    verb: Method,
    path: String,
    headers: HeaderMap,
    body: String,
    /// `http://127.0.0.1:PORT`.
    base: String,
    /// How many requests of this path came before.
    nth: usize,
    /// How many tokens were given before.
    given: usize,
}

impl Asked {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The number of the token that came with it.
    fn token(&self) -> Option<usize> {
        self.header("authorization").strip_prefix("Bearer ")?.strip_prefix(TOKEN)?.parse().ok()
    }

    fn says(&self, pair: &str) -> bool {
        self.body.split('&').any(|part| part == pair)
    }
}

type Behaviour = fn(&Asked) -> Response;

fn body(value: Value) -> Response {
    axum::Json(value).into_response()
}

fn challenge(parameters: &str) -> Response {
    (StatusCode::UNAUTHORIZED, [("www-authenticate", format!("Bearer {parameters}"))]).into_response()
}

/// What the protected resource says; a modern server with one tool.
fn resource(asked: &Asked) -> Response {
    let Some(_) = asked.token() else {
        let at = format!("{}{METADATA}", asked.base);
        return challenge(&format!("error=\"invalid_token\", resource_metadata=\"{at}\""));
    };
    let message: Value = serde_json::from_str(&asked.body).expect("JSON");
    let result = match message["method"].as_str() {
        Some("tools/list") => json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}),
        _ => json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
    };
    body(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn token(asked: &Asked) -> Response {
    lasting(asked, &json!({"expires_in": 3600}))
}

/// A token with these members beside, where the client is the right one.
fn lasting(asked: &Asked, more: &Value) -> Response {
    let credentials = BASE64_STANDARD.encode("client:s3cr3t+%26+more");
    let by_header = asked.header("authorization") == format!("Basic {credentials}");
    let by_body = asked.says("client_id=client") && asked.says("client_secret=s3cr3t+%26+more");
    if !(by_header || by_body) || !asked.says("grant_type=client_credentials") {
        return refusal(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    let mut answer = json!({"access_token": format!("{TOKEN}{}", asked.given + 1), "token_type": "bearer"});
    for (name, value) in more.as_object().expect("members") {
        answer[name] = value.clone();
    }
    body(answer)
}

fn refusal(status: StatusCode, code: &str) -> Response {
    (status, axum::Json(json!({"error": code, "error_description": SECRET}))).into_response()
}

/// The whole of it, as it should be.
pub(crate) fn honest(asked: &Asked) -> Response {
    let base = &asked.base;
    match asked.path.as_str() {
        "/mcp" => resource(asked),
        METADATA => body(
            json!({"resource": format!("{base}/mcp"), "authorization_servers": [format!("{base}/tenant")]}),
        ),
        ISSUER => {
            body(json!({"issuer": format!("{base}/tenant"), "token_endpoint": format!("{base}/token")}))
        }
        "/token" => token(asked),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A server on a port of its own; gives its base and the paths that it was asked for.
pub(crate) async fn start(behaviour: Behaviour) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let base = format!("http://{}", listener.local_addr().expect("it is bound"));
    let log = Arc::new(Mutex::new(Vec::<String>::new()));
    let (seen, own) = (Arc::clone(&log), base.clone());
    let router = Router::new().fallback(move |request: Request| async move {
        let (parts, body) = request.into_parts();
        let bytes: Bytes = axum::body::to_bytes(body, 1 << 20).await.expect("a small body");
        let path = parts.uri.path().to_owned();
        let (nth, given) = {
            let mut seen = seen.lock().expect("no test panics while it holds this");
            let count = |path: &str| seen.iter().filter(|known| *known == path).count();
            let counts = (count(&path), count("/token"));
            seen.push(path.clone());
            counts
        };
        let body = String::from_utf8_lossy(&bytes).into_owned();
        behaviour(&Asked { verb: parts.method, path, headers: parts.headers, body, base: own, nth, given })
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (base, log)
}

fn client() -> OAuth {
    OAuth {
        token_url: None,
        client_id: "client".to_owned(),
        client_secret: SECRET.to_owned(),
        scope: None,
        resource: None,
        tokens: Tokens::default(),
    }
}

async fn list(base: &str, client: &OAuth, limits: &Limits) -> Listing {
    let source = Source::http(&format!("{base}/mcp"), Vec::new()).expect("a URL");
    let source = source.with_oauth(client.clone()).expect("a client");
    assert!(!format!("{source:?}{client:?}").contains("s3cr3t"));
    let listing = mcp::list(&source, limits).await;
    let all = format!("{listing:?}");
    assert!(!all.contains(TOKEN) && !all.contains(SECRET), "{all}");
    listing
}

struct Row {
    name: &'static str,
    behaviour: Behaviour,
    client: fn(&str) -> OAuth,
    limits: Limits,
    expected: Expected,
    /// The paths that are asked for, in order; empty: whichever.
    asks: &'static [&'static str],
}

fn row(name: &'static str, behaviour: Behaviour, expected: Expected) -> Row {
    Row { name, behaviour, client: |_| client(), limits: patient(), expected, asks: &[] }
}

async fn check(rows: Vec<Row>) {
    let mut complaints = Vec::new();
    for Row { name, behaviour, client, limits, expected, asks } in rows {
        let (base, log) = start(behaviour).await;
        let listing = list(&base, &client(&base), &limits).await;
        complaints.extend(complaint(name, &listing, &expected));
        let log = log.lock().expect("whole");
        if !asks.is_empty() && *log != *asks {
            complaints.push(format!("{name}: asked for {log:?}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn refused(words: &'static str) -> Expected {
    fails(Outcome::AuthRequired, words)
}

#[tokio::test]
async fn access_is_had_by_a_token_however_its_issuer_is_found() {
    check(vec![
        Row {
            asks: &["/mcp", METADATA, ISSUER, "/token", "/mcp", "/mcp"],
            ..row("named by the refusal", honest, ok(1))
        },
        Row {
            client: |base| OAuth { token_url: Some(format!("{base}/token")), ..client() },
            asks: &["/token", "/mcp", "/mcp"],
            ..row("named by its user", honest, ok(1))
        },
        Row {
            asks: &["/mcp", METADATA, "/.well-known/oauth-protected-resource", ISSUER, "/token", "/mcp", "/mcp"],
            ..row(
                "not named, and found at the root",
                |asked| match asked.path.as_str() {
                    "/mcp" if asked.token().is_none() => challenge("realm=\"x\""),
                    METADATA => StatusCode::NOT_FOUND.into_response(),
                    "/.well-known/oauth-protected-resource" => {
                        body(json!({"authorization_servers": [format!("{}/tenant", asked.base)]}))
                    }
                    _ => honest(asked),
                },
                ok(1),
            )
        },
        row(
            "an issuer that is known to OpenID Connect only",
            |asked| match asked.path.as_str() {
                ISSUER | "/.well-known/openid-configuration/tenant" => StatusCode::NOT_FOUND.into_response(),
                "/tenant/.well-known/openid-configuration" => {
                    let base = &asked.base;
                    body(json!({"issuer": format!("{base}/tenant/"), "token_endpoint": format!("{base}/token")}))
                }
                _ => honest(asked),
            },
            ok(1),
        ),
        row(
            "an issuer that wants the secret in the body",
            |asked| match asked.path.as_str() {
                ISSUER => {
                    let base = &asked.base;
                    body(json!({
                        "issuer": format!("{base}/tenant"), "token_endpoint": format!("{base}/token"),
                        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
                    }))
                }
                "/token" if !asked.header("authorization").is_empty() => {
                    refusal(StatusCode::UNAUTHORIZED, "invalid_client")
                }
                _ => honest(asked),
            },
            ok(1),
        ),
        row(
            "the server's own name for itself is what the token is for",
            |asked| match asked.path.as_str() {
                METADATA => {
                    let base = &asked.base;
                    body(json!({"resource": base, "authorization_servers": [format!("{base}/tenant")]}))
                }
                "/token" if !asked.says(&format!("resource={}", asked.base.replace(':', "%3A").replace('/', "%2F"))) => {
                    refusal(StatusCode::BAD_REQUEST, "invalid_target")
                }
                _ => honest(asked),
            },
            ok(1),
        ),
        Row {
            client: |_| OAuth {
                scope: Some("tools read".to_owned()),
                resource: Some("urn:orders".to_owned()),
                ..client()
            },
            ..row(
                "a scope and a resource of its user's choice",
                |asked| match asked.path.as_str() {
                    "/token" if !(asked.says("scope=tools+read") && asked.says("resource=urn%3Aorders")) => {
                        refusal(StatusCode::BAD_REQUEST, "invalid_scope")
                    }
                    _ => honest(asked),
                },
                ok(1),
            )
        },
        row(
            "metadata that moved within its origin",
            |asked| match asked.path.as_str() {
                METADATA => (StatusCode::FOUND, [(LOCATION, "/moved")]).into_response(),
                "/moved" => body(json!({"authorization_servers": [format!("{}/tenant", asked.base)]})),
                _ => honest(asked),
            },
            ok(1),
        ),
        row(
            "a legacy server",
            |asked| {
                let message: Value = serde_json::from_str(&asked.body).unwrap_or_default();
                let answer = |result: Value| body(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                match (asked.path.as_str(), asked.token(), message["method"].as_str()) {
                    ("/mcp", Some(_), Some("initialize")) => {
                        answer(json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}))
                    }
                    ("/mcp", Some(_), Some("server/discover")) => StatusCode::BAD_REQUEST.into_response(),
                    _ => honest(asked),
                }
            },
            ok(1),
        ),
    ])
    .await;
}

#[tokio::test]
async fn where_there_is_no_access_the_cause_is_told() {
    check(vec![
        Row {
            client: |_| OAuth { client_secret: "s3cr3t of another".to_owned(), ..client() },
            ..row(
                "a wrong secret",
                honest,
                refused(
                    "/token` answered the request for a token with status 401 and error `invalid_client`",
                ),
            )
        },
        Row {
            client: |base| OAuth {
                token_url: Some(format!("{base}/token?key=s3cr3t")),
                client_secret: "another".to_owned(),
                ..client()
            },
            asks: &["/token"],
            ..row(
                "a wrong secret, before the server is asked",
                honest,
                refused("/token` answered the request for a token with status 401"),
            )
        },
        row(
            "an error that says the secret",
            |asked| match asked.path.as_str() {
                "/token" => refusal(StatusCode::BAD_REQUEST, SECRET),
                _ => honest(asked),
            },
            refused("with status 400 and error `of its own`"),
        ),
        row(
            "a token that the server refuses",
            |asked| match asked.path.as_str() {
                "/mcp" => challenge("error=\"insufficient_scope\""),
                _ => honest(asked),
            },
            refused("though it was given a token that had just been issued"),
        ),
        row(
            "a token of another kind",
            |asked| match asked.path.as_str() {
                "/token" => lasting(asked, &json!({"token_type": "mac"})),
                _ => honest(asked),
            },
            refused("gave a token that is no bearer token"),
        ),
        row(
            "a token that fits no header",
            |asked| match asked.path.as_str() {
                "/token" => lasting(asked, &json!({"access_token": "a\nb"})),
                _ => honest(asked),
            },
            refused("gave a token that fits no header"),
        ),
        row(
            "a token endpoint that falls over",
            |asked| match asked.path.as_str() {
                "/token" => (StatusCode::INTERNAL_SERVER_ERROR, "<h1>oh</h1>").into_response(),
                _ => honest(asked),
            },
            refused("answered the request for a token with status 500 and no reason"),
        ),
        row(
            "a token endpoint that is a web page",
            |asked| match asked.path.as_str() {
                "/token" => "<h1>welcome</h1>".into_response(),
                _ => honest(asked),
            },
            refused("answered the request for a token with no token"),
        ),
        Row {
            limits: Limits { request: Duration::from_millis(300), ..patient() },
            ..row(
                "a token endpoint that stays silent",
                |asked| match asked.path.as_str() {
                    "/token" => silence().into_response(),
                    _ => honest(asked),
                },
                refused("/token` did not answer in time"),
            )
        },
        row(
            "a server that says nothing of tokens",
            |asked| match asked.path.as_str() {
                "/mcp" => challenge("realm=\"x\""),
                _ => StatusCode::NOT_FOUND.into_response(),
            },
            refused("it does not say who issues tokens for it"),
        ),
        Row {
            asks: &["/mcp", "/mcp", "/mcp", METADATA, ISSUER, "/token", "/mcp"],
            ..row(
                "a server that refuses a GET only, and has no stream there",
                |asked| match (asked.path.as_str(), &asked.verb, asked.token()) {
                    ("/mcp", &Method::POST, _) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
                    ("/mcp", _, Some(_)) => StatusCode::NOT_FOUND.into_response(),
                    _ => honest(asked),
                },
                fails(Outcome::Unavailable, "status 405"),
            )
        },
        row(
            "a server that trusts nobody",
            |asked| match asked.path.as_str() {
                METADATA => body(json!({"resource": format!("{}/mcp", asked.base)})),
                _ => honest(asked),
            },
            refused("names no authorization server"),
        ),
        row(
            "an issuer without a token endpoint",
            |asked| match asked.path.as_str() {
                ISSUER => body(json!({"issuer": format!("{}/tenant", asked.base)})),
                _ => honest(asked),
            },
            refused("names no token endpoint"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_token_is_kept_until_shortly_before_it_ends_or_until_it_is_refused() {
    for (name, behaviour, tokens) in [
        ("one that lasts", honest as Behaviour, 1),
        (
            "one that ends within seconds",
            |asked| match asked.path.as_str() {
                "/token" => lasting(asked, &json!({"expires_in": 30})),
                _ => honest(asked),
            },
            2,
        ),
        (
            "one of which nobody says how long it lasts",
            |asked| if asked.path == "/token" { lasting(asked, &json!({})) } else { honest(asked) },
            1,
        ),
        (
            "one that is revoked between two listings",
            |asked| match (asked.path.as_str(), asked.token()) {
                ("/mcp", Some(1)) if asked.nth >= 3 => challenge("error=\"invalid_token\""),
                _ => honest(asked),
            },
            2,
        ),
        (
            "one that is revoked while a list is read",
            |asked| match (asked.path.as_str(), asked.token()) {
                ("/mcp", Some(1)) if asked.nth >= 2 => challenge("error=\"invalid_token\""),
                _ => honest(asked),
            },
            2,
        ),
    ] {
        let (base, log) = start(behaviour).await;
        let client = OAuth { resource: Some(format!("{base}/mcp")), ..client() };
        for _ in 0..2 {
            assert_eq!(complaint(name, &list(&base, &client, &patient()).await, &ok(1)), None);
        }
        let asked = log.lock().expect("whole").iter().filter(|path| *path == "/token").count();
        assert_eq!(asked, tokens, "{name}");
    }
}

#[tokio::test]
async fn a_token_is_given_to_nobody_but_the_client_that_got_it() {
    let (base, log) = start(honest).await;
    let right = OAuth { token_url: Some(format!("{base}/token")), ..client() };
    assert_eq!(list(&base, &right, &patient()).await.outcome, Outcome::Ok);
    let wrong = OAuth { client_secret: "another".to_owned(), ..right.clone() };
    assert_eq!(list(&base, &wrong, &patient()).await.outcome, Outcome::AuthRequired);
    let scoped = OAuth { scope: Some("more".to_owned()), ..right };
    assert_eq!(list(&base, &scoped, &patient()).await.outcome, Outcome::Ok);
    let asked = log.lock().expect("whole").iter().filter(|path| *path == "/token").count();
    assert_eq!(asked, 3);
}

#[test]
fn what_can_be_no_client_is_refused_at_once() {
    let source = || Source::http("https://h/mcp", Vec::new()).expect("a URL");
    let header = || Source::http("https://h/mcp", vec![("authorization".into(), "x".into())]).expect("a URL");
    let command = || Source::command("x".to_owned(), Vec::new());
    for (source, client, words) in [
        (source(), OAuth { client_id: String::new(), ..client() }, "a client has an id and a secret"),
        (source(), OAuth { client_secret: String::new(), ..client() }, "a client has an id and a secret"),
        (
            source(),
            OAuth { token_url: Some("h/token".into()), ..client() },
            "the token URL is no http or https",
        ),
        (
            source(),
            OAuth { token_url: Some("file:///x".into()), ..client() },
            "the token URL is no http or https",
        ),
        (
            source(),
            OAuth { resource: Some("https://h/#a".into()), ..client() },
            "the resource has a fragment",
        ),
        (header(), client(), "a header `Authorization` stands beside them"),
        (command(), client(), "they are for a URL, not for a command"),
    ] {
        let error = source.with_oauth(client).expect_err("refused").to_string();
        assert!(error.contains(words), "{error}");
    }
}
