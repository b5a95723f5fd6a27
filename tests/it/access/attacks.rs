//! What attackers try, each refused.

use axum::http::Method;
use serde_json::json;
use toolpact::access::{CallerKind, Role};

use super::{answer, check, stranger, token, with_session, with_token};
use crate::{
    ask::{get, post, submit},
    seed,
};

const ME: &str = "/api/v1/me";

#[tokio::test]
async fn forged_credentials_are_none() {
    let app = seed::story().await;
    let (_, secret) = token(&app, "mara", CallerKind::Human, Role::Admin).await;
    let other: String = secret.chars().rev().collect();
    for bearer in
        ["", "tp_", &secret[..74], &secret.to_uppercase(), &format!("{secret}0"), &other, "' OR 1=1 --"]
    {
        assert_eq!(check(&app, with_token(get(ME), bearer)).await, "401 invalid-token", "{bearer}");
    }
    for scheme in ["Basic", "Token", "bearer:", "Digest"] {
        let ask = stranger(get(ME)).header("authorization", &format!("{scheme} {secret}"));
        assert_eq!(check(&app, ask).await, "401 invalid-token", "{scheme}");
    }
    for session in ["0", &"0".repeat(64), &secret, "%00", "' OR 1=1 --"] {
        assert!(check(&app, with_session(get(ME), session)).await.starts_with("401 "), "{session}");
    }
    // A wrong token is not made good by a right session: whoever shows it means it.
    let both = with_session(get(ME), "0").header("authorization", "Bearer tp_0");
    assert_eq!(check(&app, both).await, "401 invalid-token");
}

#[tokio::test]
async fn a_name_that_is_claimed_gives_nothing() {
    let app = seed::story().await;
    let (_, secret) = token(&app, "eve", CallerKind::Human, Role::Viewer).await;
    for header in
        ["toolpact-on-behalf-of", "toolpact-actor", "x-forwarded-user", "x-remote-user", "x-original-url"]
    {
        let ask = with_token(post("/api/v1/environments/production/promote", json!({})), &secret);
        assert_eq!(check(&app, ask.header(header, "admin")).await, "403 role-needed", "{header}");
        assert_eq!(
            check(&app, stranger(get(ME)).header(header, "admin")).await,
            "401 unauthenticated",
            "{header}"
        );
    }
}

#[tokio::test]
async fn paths_that_are_written_otherwise_open_nothing() {
    let app = seed::story().await;
    for path in [
        "/api/v1/../v1/servers",
        "/api//v1/servers",
        "/api/v1/servers/",
        "/API/v1/servers",
        "/api/v1/%73ervers",
        "/api/v1/servers%2f..%2fcatalogs",
        "/livez/../api/v1/servers",
        "/assets/../servers",
        "/login/../servers",
        "/assets/%2e%2e/servers",
        "//servers",
        "/servers;a=b",
    ] {
        let got = answer(&app, stranger(get(path))).await;
        assert!(got.status != 200, "{path}: {}", got.status);
        assert!(!got.body.contains("order_query"), "{path}");
    }
}

#[tokio::test]
async fn methods_that_are_said_otherwise_change_nothing() {
    let app = seed::story().await;
    for header in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let ask = stranger(get("/catalogs/shop/drafts/4/reject")).header(header, "POST");
        assert_eq!(answer(&app, ask).await.status, 405, "{header}");
    }
    for method in [Method::PUT, Method::DELETE, Method::PATCH, Method::TRACE, Method::OPTIONS] {
        let got = answer(&app, stranger(get("/catalogs/shop/drafts/4")).method(method.clone())).await;
        assert!(matches!(got.status.as_u16(), 401 | 403 | 405), "{method}: {}", got.status);
    }
}

#[tokio::test]
async fn a_form_of_another_site_is_refused_whoever_is_signed_in() {
    let app = seed::story().await;
    let (_, secret) = token(&app, "mara", CallerKind::Human, Role::Admin).await;
    let session = app.sign_in(&secret).await.expect("signed in");
    let reject = || submit("/catalogs/shop/drafts/4/reject", &[("reason", "no")]);
    for (header, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let mut ask = reject().header(header, value);
        if header == "origin" {
            ask = ask.header("sec-fetch-site", "");
        }
        assert_eq!(answer(&app, with_session(ask, &session)).await.status, 403, "{header}: {value}");
    }
    assert_eq!(
        answer(&app, with_session(reject(), &session)).await.status,
        303,
        "that of our own page is not"
    );
}

#[tokio::test]
async fn secrets_are_in_no_event_error_or_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolpact.db");
    let app =
        toolpact::app::App::open(&crate::database::file(&file), std::sync::Arc::new(crate::support::Noon))
            .await
            .expect("opened");
    let (_, secret) = token(&app, "mara", CallerKind::Human, Role::Admin).await;
    let session = app.sign_in(&secret).await.expect("signed in");
    let link = app.link("you").expect("randomness");
    let made =
        post("/api/v1/tokens", json!({ "name": "n", "owner": "o", "kind": "ci", "roles": ["author"] }))
            .header("idempotency-key", "k-1");
    let made = answer(&app, with_token(made, &secret)).await.body;
    let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    let second = made["secret"].as_str().expect("a secret").to_owned();
    let mut seen = String::new();
    for ask in [
        get("/api/v1/events"),
        get("/api/v1/tokens"),
        get("/events"),
        post("/api/v1/tokens", json!({ "name": secret })),
    ] {
        seen +=
            &answer(&app, with_token(ask, &secret)).await.body.replace(&format!("\"name\":\"{secret}\""), "");
    }
    seen += &answer(&app, with_token(get(ME), &format!("{secret}x"))).await.body;
    seen += &format!("{:?}", app.authenticate(&secret).await);
    drop(app);
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
        kept.extend(std::fs::read(entry.path()).expect("a file"));
    }
    for canary in [&secret, &session, &link, &second] {
        assert!(!seen.contains(canary.as_str()), "{canary} was told");
        let bytes = canary.as_bytes();
        assert!(!kept.windows(bytes.len()).any(|window| window == bytes), "{canary} is in the database");
    }
}

/// A service over sockets is limited by caller and by address.
#[tokio::test]
async fn who_calls_too_often_is_told_to_wait() {
    use std::num::NonZeroU32;
    use toolpact::guard::{Limits, Rates};

    let app = seed::story().await;
    let (_, busy) = token(&app, "mara", CallerKind::Human, Role::Viewer).await;
    let (_, calm) = token(&app, "jonas", CallerKind::Human, Role::Viewer).await;
    let one = NonZeroU32::MIN;
    let router = toolpact::http::service(
        toolpact::http::router(app.clone()),
        app.clone(),
        "127.0.0.1:7878".parse().expect("an address"),
        std::sync::Arc::new(Limits::new(Rates { calls: one, failures: one, ..Rates::default() })),
    );
    let ask = async |secret: &str| {
        use tower::ServiceExt as _;
        let address: std::net::SocketAddr = "192.0.2.7:1".parse().expect("an address");
        let mut request = axum::http::Request::builder()
            .uri(ME)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {secret}"))
            .body(axum::body::Body::empty())
            .expect("a request");
        request.extensions_mut().insert(axum::extract::ConnectInfo(address));
        let response = router.clone().oneshot(request).await.expect("it answers");
        let after =
            response.headers().get("retry-after").and_then(|v| v.to_str().ok()).map(ToOwned::to_owned);
        (response.status().as_u16(), after)
    };
    // A burst of ten, and whatever a second on a busy machine gives back.
    let mut refused = None;
    for _ in 0..1_000 {
        let (status, after) = ask(&busy).await;
        if status == 429 {
            refused = after;
            break;
        }
        assert_eq!(status, 200);
    }
    assert_eq!(refused.as_deref(), Some("1"));
    assert_eq!(ask(&calm).await.0, 200, "nobody pays for others");
    assert_eq!(ask("tp_0").await.0, 401);
    let mut slowed = false;
    for _ in 0..100 {
        slowed |= ask("tp_0").await.0 == 429;
    }
    assert!(slowed, "an address that guesses is slowed");
    assert_eq!(ask(&calm).await.0, 200, "whoever knows is let through from there");
}

#[tokio::test]
async fn nobody_approves_what_their_own_pipeline_made() {
    let app = seed::story().await;
    let policy =
        json!({ "policy": { "approvals": 1 }, "environments": [], "servers": [{ "name": "orders" }] });
    let settings = answer(&app, get("/api/v1/catalogs/shop")).await.header("etag").to_owned();
    let set = crate::ask::put("/api/v1/catalogs/shop", policy).header("if-match", &settings);
    assert_eq!(check(&app, set).await, "200");
    let (_, person) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    for kind in [CallerKind::Ci, CallerKind::Agent] {
        let (_, hand) = token(&app, "mara", kind, Role::Author).await;
        let draft = "/api/v1/catalogs/shop/drafts/4";
        let body = answer(&app, get(draft)).await;
        let edit = crate::ask::patch(draft, json!([{ "op": "remove", "path": "/members/1" }]));
        let edited = check(&app, with_token(edit, &hand).header("if-match", body.header("etag"))).await;
        assert_eq!(edited, "200", "{kind} edits");
        let etag = answer(&app, get(draft)).await.header("etag").to_owned();
        let approve = post(&format!("{draft}/approve"), json!({ "reason": "mine", "acceptBreaking": true }));
        let got = check(&app, with_token(approve, &person).header("if-match", &etag)).await;
        assert_eq!(got, "422 own-draft", "{kind}");
    }
}

#[tokio::test]
async fn an_admin_of_one_catalog_is_no_admin_of_the_service() {
    let app = seed::story().await;
    let (all, _) = token(&app, "root", CallerKind::Human, Role::Admin).await;
    let bounded = |catalog: Option<&str>, environment: Option<&str>| toolpact::access::Caller {
        scope: super::scope(catalog, environment),
        ..toolpact::access::Caller::local("bounded")
    };
    let hook = json!({ "name": "mine", "url": "https://receiver.example/" });
    let settings = answer(&app, get("/api/v1/catalogs/shop")).await.header("etag").to_owned();
    let set = json!({ "policy": {}, "environments": [], "servers": [] });
    let draft = answer(&app, get("/api/v1/catalogs/shop/drafts/4")).await.header("etag").to_owned();
    let new = |owner: &str, kind: &str| json!({ "name": "mine", "owner": owner, "kind": kind, "roles": ["viewer"], "catalogs": ["shop"] });
    for (ask, catalog, environment, wanted) in [
        (post("/api/v1/webhooks", hook), Some("shop"), None, "403 out-of-scope"),
        (
            crate::ask::put("/api/v1/teams/t", json!({ "members": ["me"], "catalogs": ["shop"] })),
            Some("shop"),
            None,
            "403 out-of-scope",
        ),
        (get(&format!("/api/v1/tokens/{all}")), Some("shop"), None, "404 unknown-token"),
        (
            get(&format!("/api/v1/tokens/{all}")).method(Method::DELETE),
            Some("shop"),
            None,
            "404 unknown-token",
        ),
        (
            crate::ask::put("/api/v1/catalogs/shop", set).header("if-match", &settings),
            None,
            Some("dev"),
            "403 out-of-scope",
        ),
        (
            post(
                "/api/v1/catalogs/shop/decisions",
                json!({ "rule": "property-removed", "draft": 4, "ruling": "accept", "reason": "mine" }),
            ),
            None,
            Some("dev"),
            "403 out-of-scope",
        ),
        (
            post(
                "/api/v1/catalogs/shop/decisions",
                json!({ "rule": "property-removed", "draft": 4, "ruling": "accept", "reason": "mine", "environment": "production" }),
            ),
            None,
            Some("dev"),
            "403 out-of-scope",
        ),
        // A version may go everywhere.
        (
            post(
                "/api/v1/catalogs/shop/drafts/4/approve",
                json!({ "reason": "mine", "acceptBreaking": true }),
            )
            .header("if-match", &draft),
            None,
            Some("dev"),
            "403 out-of-scope",
        ),
        (
            post("/api/v1/catalogs/shop/drafts/4/reject", json!({ "reason": "mine" }))
                .header("if-match", &draft),
            None,
            Some("dev"),
            "403 out-of-scope",
        ),
        // Who a person is, is said for the whole service.
        (post("/api/v1/tokens", new("root", "human")), Some("shop"), None, "403 out-of-scope"),
        (post("/api/v1/tokens", new("somebody", "human")), Some("shop"), None, "403 out-of-scope"),
        (post("/api/v1/tokens", new("bounded", "human")), Some("shop"), None, "201"),
        (post("/api/v1/tokens", new("root", "ci")), Some("shop"), None, "403 out-of-scope"),
        (post("/api/v1/tokens", new("deploy", "ci")), Some("shop"), None, "201"),
    ] {
        let ask = ask.caller(Some(bounded(catalog, environment)));
        assert_eq!(check(&app, ask).await, wanted);
    }
}

#[tokio::test]
async fn a_draft_gives_nobody_a_look_at_other_servers() {
    let app = seed::story().await;
    for kind in CallerKind::ALL {
        let (_, secret) = token(&app, "mara", kind, Role::Author).await;
        for (catalog, server) in [("shop", "billing"), ("mine", "orders")] {
            let ask = post(&format!("/api/v1/catalogs/{catalog}/drafts"), json!({ "servers": [server] }));
            let got = check(&app, with_token(ask, &secret)).await;
            let wanted = if kind == CallerKind::Human { "403 role-needed" } else { "403 kind-forbidden" };
            assert_eq!(got, wanted, "{kind} {catalog} {server}");
        }
    }
}

#[tokio::test]
async fn a_token_that_is_shown_as_a_session_is_none() {
    let app = seed::story().await;
    let (_, secret) = token(&app, "build", CallerKind::Ci, Role::Viewer).await;
    assert_eq!(check(&app, with_token(get(ME), &secret)).await, "200");
    assert_eq!(check(&app, with_session(get(ME), &secret)).await, "401 unauthenticated");
    let session =
        app.sign_in(&token(&app, "mara", CallerKind::Human, Role::Viewer).await.1).await.expect("signed in");
    assert_eq!(check(&app, with_session(get(ME), &session)).await, "200");
    assert_eq!(check(&app, with_token(get(ME), &session)).await, "401 invalid-token");
    // Links are not spent by whoever only looks whether they lead somewhere.
    let link = app.link("you").expect("randomness");
    let path = format!("/login/link?secret={link}");
    assert_eq!(answer(&app, stranger(get(&path).method(Method::HEAD))).await.status, 405);
    assert_eq!(answer(&app, stranger(get(&path))).await.status, 303);
}

#[tokio::test]
async fn a_token_that_may_little_ends_none_of_its_owner_that_may_much() {
    let app = seed::story().await;
    let (much, strong) = token(&app, "mara", CallerKind::Human, Role::Admin).await;
    let (little, weak) = token(&app, "mara", CallerKind::Human, Role::Viewer).await;
    let end = |id: &str| get(&format!("/api/v1/tokens/{id}")).method(Method::DELETE);
    let listed = answer(&app, with_token(get("/api/v1/tokens"), &weak)).await.body;
    assert!(listed.contains(&little) && !listed.contains(&much), "{listed}");
    assert_eq!(check(&app, with_token(end(&much), &weak)).await, "404 unknown-token");
    assert_eq!(check(&app, with_token(get(ME), &strong)).await, "200");
    assert_eq!(check(&app, with_token(end(&little), &weak)).await, "200", "what is shown can be given up");
}

/// A credential is looked up by its digest, which tells nothing of how near another one is: how long that takes leads nowhere.
#[test]
fn what_is_nearly_a_token_is_as_far_from_it_as_anything() {
    use toolpact::access::token;
    let secret = token::written(&[7; 32]);
    let digest = token::digest(&secret).expect("a token");
    for place in 0..secret.len() {
        for other in ["0", "f", "Z", "_"] {
            let mut near = secret.clone();
            near.replace_range(place..=place, other);
            // The checksum lets nearly none through, and what it lets through has nothing in common.
            assert!(
                near == secret || token::digest(&near).is_none_or(|d| d.hex()[..4] != digest.hex()[..4]),
                "{near}"
            );
        }
    }
    assert!(token::digest(&secret[..secret.len() - 1]).is_none());
}

/// A browser shows its old session with everything it asks for; that keeps nobody out, and neither does who signs in all day.
#[tokio::test]
async fn old_sessions_keep_nobody_out_and_sessions_are_not_begun_without_end() {
    use std::{num::NonZeroU32, sync::Arc};
    use tower::ServiceExt as _;

    use toolpact::guard::{Limits, Rates};

    let app = seed::story().await;
    let (_, secret) = token(&app, "mara", CallerKind::Human, Role::Viewer).await;
    let (_, other) = token(&app, "jonas", CallerKind::Human, Role::Viewer).await;
    let one = NonZeroU32::MIN;
    let routes = toolpact::http::router(app.clone()).merge(toolpact::web::router(app.clone()));
    let limits = Limits::new(Rates { failures: one, sessions: one, ..Rates::default() });
    let bound = "127.0.0.1:7878".parse().expect("an address");
    let service = toolpact::http::service(routes, app.clone(), bound, Arc::new(limits));
    let ask = async |method: Method, path: &str, header: (&str, &str), body: &str| {
        let address: std::net::SocketAddr = "192.0.2.7:1".parse().expect("an address");
        let mut request = axum::http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost:7878")
            .header("content-type", "application/x-www-form-urlencoded")
            .header(header.0, header.1)
            .body(axum::body::Body::from(body.to_owned()))
            .expect("a request");
        request.extensions_mut().insert(axum::extract::ConnectInfo(address));
        service.clone().oneshot(request).await.expect("it answers").status().as_u16()
    };
    let old = format!("__Host-toolpact={}", "a".repeat(64));
    for _ in 0..30 {
        assert_ne!(ask(Method::GET, "/login", ("cookie", &old), "").await, 429);
        assert_eq!(ask(Method::GET, ME, ("cookie", &old), "").await, 401);
    }
    let sign_in = async |secret: &str| {
        ask(Method::POST, "/login", ("sec-fetch-site", "same-origin"), &format!("token={secret}")).await
    };
    assert_eq!(sign_in(&secret).await, 303);
    assert_eq!(sign_in(&secret).await, 429);
    assert_eq!(sign_in(&other).await, 303, "nobody pays for others");
}
