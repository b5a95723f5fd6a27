//! What no handler sees: unknown routes, wrong methods, foreign origins and hosts, unreadable bodies, probes.

use axum::{Router, http::Method, response::IntoResponse as _, routing};
use insta::assert_snapshot;
use serde_json::json;
use toolpact::{
    app::{AppError, Kind},
    http,
};

use super::{check, shown};
use crate::{
    ask::{get, post, sent},
    seed,
};

const PROMOTE: &str = "/api/v1/environments/production/promote";

#[tokio::test]
async fn unknown_routes_are_problems_at_every_depth() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, get("/api/v1/nothing")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-route",
      "title": "unknown route",
      "status": 404,
      "detail": "`/api/v1/nothing` is no route of this API",
      "code": "unknown-route"
    }
    "#);
    for path in
        ["/api", "/api/", "/api/v2/servers", "/api/v1/servers/", "/api/v1/catalogs/shop/drafts/1/burn"]
    {
        assert!(
            check(&app, get(path)).await.starts_with("404 content-type=application/problem+json"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_wrong_method_says_which_are_allowed() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, get(PROMOTE)).await, @r#"
    405 content-type=application/problem+json allow=POST
    {
      "type": "/errors/wrong-method",
      "title": "wrong method",
      "status": 405,
      "detail": "`/api/v1/environments/production/promote` does not answer GET",
      "code": "wrong-method"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/servers").method(Method::DELETE)).await, @r#"
    405 content-type=application/problem+json allow=GET,HEAD
    {
      "type": "/errors/wrong-method",
      "title": "wrong method",
      "status": 405,
      "detail": "`/api/v1/servers` does not answer DELETE",
      "code": "wrong-method"
    }
    "#);
}

#[tokio::test]
async fn names_that_cannot_be_are_refused_before_anything_is_looked_up() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, get("/api/v1/servers/-x")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-path",
      "title": "invalid path",
      "status": 400,
      "detail": "`-x` cannot be the name of a server; use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit",
      "code": "invalid-path"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/catalogs/shop/versions/2026.1.2")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-path",
      "title": "invalid path",
      "status": 400,
      "detail": "`2026.1.2` is no catalogVersion; one is a date such as 2026.11.30, the second of that day 2026.11.30.1",
      "code": "invalid-path"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/catalogs/shop/drafts/last")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-path",
      "title": "invalid path",
      "status": 400,
      "detail": "`last` is no draft; drafts are numbered, such as d-31",
      "code": "invalid-path"
    }
    "#);
}

#[tokio::test]
async fn bodies_are_read_strictly() {
    let app = seed::story().await;
    let promote = |body: &str| post(PROMOTE, json!({})).header("if-match", "\"3\"").body(body);
    assert_snapshot!(check(&app, promote("{")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body cannot be read: EOF while parsing an object at line 1 column 1",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "",
          "detail": "the body cannot be read: EOF while parsing an object at line 1 column 1"
        }
      ]
    }
    "#);
    assert_snapshot!(check(&app, promote("[\"shop\",\"2026.11.26\",\"why\"]")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body is no JSON object",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "",
          "detail": "the body is no JSON object"
        }
      ]
    }
    "#);
    assert_snapshot!(check(&app, promote(r#"{"version":"2026.11.26","reason":"why","force":true}"#)).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body cannot be read: unknown field `force`, expected one of `catalog`, `version`, `reason`, `recordProbe`, `emergency` at line 1 column 46",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "/force",
          "detail": "unknown field `force`, expected one of `catalog`, `version`, `reason`, `recordProbe`, `emergency` at line 1 column 46"
        }
      ]
    }
    "#);
    assert_snapshot!(check(&app, promote(r#"{"version":"tomorrow","reason":"why"}"#)).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body cannot be read: `tomorrow` is no catalogVersion; one is a date such as 2026.11.30, the second of that day 2026.11.30.1 at line 1 column 21",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "/version",
          "detail": "`tomorrow` is no catalogVersion; one is a date such as 2026.11.30, the second of that day 2026.11.30.1 at line 1 column 21"
        }
      ]
    }
    "#);
    assert_snapshot!(check(&app, promote("{}").header("content-type", "text/plain")).await, @r#"
    415 content-type=application/problem+json
    {
      "type": "/errors/wrong-content-type",
      "title": "wrong content type",
      "status": 415,
      "detail": "the body has the content type `text/plain`; this route reads application/json",
      "code": "wrong-content-type",
      "help": "send `Content-Type: application/json`"
    }
    "#);
    let large = format!(r#"{{"version":"2026.11.26","reason":"{}"}}"#, "x".repeat(64 << 10));
    assert_snapshot!(check(&app, promote(&large)).await, @r#"
    413 content-type=application/problem+json
    {
      "type": "/errors/body-too-large",
      "title": "body too large",
      "status": 413,
      "detail": "the body is larger than this route reads",
      "code": "body-too-large"
    }
    "#);
}

#[tokio::test]
async fn a_page_of_another_site_cannot_write() {
    let app = seed::story().await;
    let ask = || post(PROMOTE, json!({"version": "2026.11.26", "reason": "why"})).header("if-match", "\"3\"");
    assert_snapshot!(check(&app, ask().header("sec-fetch-site", "cross-site")).await, @r#"
    403 content-type=application/problem+json
    {
      "type": "/errors/cross-origin",
      "title": "cross origin",
      "status": 403,
      "detail": "the request comes from another site than this one",
      "code": "cross-origin",
      "help": "send it from this service's own pages, or without a browser"
    }
    "#);
    let foreign = check(&app, ask().header("origin", "https://evil.example")).await;
    assert!(foreign.starts_with("403 "), "{foreign}");
}

#[tokio::test]
async fn on_loopback_only_names_of_this_machine_are_answered() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, get("/api/v1/servers").header("host", "rebound.example:7878")).await, @r#"
    421 content-type=application/problem+json
    {
      "type": "/errors/foreign-host",
      "title": "foreign host",
      "status": 421,
      "detail": "`rebound.example:7878` is no name of this machine, and this service listens on loopback only",
      "code": "foreign-host",
      "help": "ask for it as localhost, 127.0.0.1 or [::1]"
    }
    "#);
    for host in ["localhost", "127.0.0.1:7878", "[::1]:7878", "LOCALHOST:1", "toolpact.localhost"] {
        assert!(check(&app, get("/livez").header("host", host)).await.starts_with("200 "), "{host}");
    }
    for host in
        ["127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80", "", "[::1", "192.168.0.7"]
    {
        assert!(check(&app, get("/livez").header("host", host)).await.starts_with("421 "), "{host}");
    }
}

#[tokio::test]
async fn probes_answer() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, get("/livez")).await, @r#"
    200 content-type=application/json
    {
      "status": "ok"
    }
    "#);
    assert_snapshot!(check(&app, get("/readyz")).await, @r#"
    200 content-type=application/json
    {
      "status": "ok",
      "checks": {
        "serving": "ok",
        "database": "ok"
      }
    }
    "#);
    app.drain();
    assert_snapshot!(check(&app, get("/readyz")).await, @r#"
    503 content-type=application/problem+json
    {
      "type": "/errors/draining",
      "title": "draining",
      "status": 503,
      "detail": "the process was told to stop, and ends what it has begun",
      "code": "draining",
      "help": "send requests to another process"
    }
    "#);
    assert!(check(&app, get("/livez")).await.starts_with("200 "), "it lives to its end");
}

#[tokio::test]
async fn a_panic_is_a_problem_that_tells_nothing() {
    let router = Router::new()
        .route("/", routing::get(async || -> &'static str { panic!("the secret of the house") }));
    assert_snapshot!(shown(&sent(&seed::empty().await, router, get("/")).await), @r#"
    500 content-type=application/problem+json
    {
      "type": "/errors/internal",
      "title": "internal",
      "status": 500,
      "detail": "this is a fault of the service; its log has the particulars",
      "code": "internal"
    }
    "#);
}

#[tokio::test]
async fn our_own_fault_is_told_without_particulars() {
    let fault = || AppError::new(Kind::Internal, "corrupt-row", "row 7 of `drafts` holds a secret");
    let router =
        Router::new().route("/", routing::get(async move || http::Error::from(fault()).into_response()));
    assert_snapshot!(shown(&sent(&seed::empty().await, router, get("/")).await), @r#"
    500 content-type=application/problem+json
    {
      "type": "/errors/internal",
      "title": "internal",
      "status": 500,
      "detail": "this is a fault of the service; its log has the particulars",
      "code": "internal"
    }
    "#);
}
