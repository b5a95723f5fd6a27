//! Tokens: made, used, seen, taken back.

use serde_json::{Value, json};
use toolpact::access::{CallerKind, Role};

use super::{answer, check, token, with_token};
use crate::{
    ask::{get, post, put},
    seed,
};

const ME: &str = "/api/v1/me";

#[tokio::test]
async fn a_token_says_who_calls_until_it_is_taken_back() {
    let app = seed::story().await;
    let (id, secret) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let me: Value =
        serde_json::from_str(&answer(&app, with_token(get(ME), &secret)).await.body).expect("JSON");
    assert_eq!(me["name"], "mara");
    assert_eq!(me["rights"], json!(["read", "draft", "review"]));
    assert_eq!(me["auth"], format!("token:{id}"));
    let revoke = || get(&format!("/api/v1/tokens/{id}")).method(axum::http::Method::DELETE);
    assert_eq!(check(&app, revoke()).await, "200");
    assert_eq!(check(&app, with_token(get(ME), &secret)).await, "401 invalid-token");
    assert_eq!(check(&app, revoke()).await, "409 token-revoked");
}

#[tokio::test]
async fn what_a_token_does_is_done_in_its_owners_name() {
    let app = seed::story().await;
    for (owner, kind, shown) in [
        ("mara", CallerKind::Human, "mara"),
        ("build", CallerKind::Ci, "ci:build"),
        ("bot", CallerKind::Agent, "agent:bot"),
    ] {
        let (id, secret) = token(&app, owner, kind, Role::Author).await;
        let remark = post("/api/v1/catalogs/shop/drafts/4/comments", json!({ "text": "a remark" }))
            .header("x-request-id", "r-7")
            .header("idempotency-key", &format!("k-{owner}"))
            .header("toolpact-on-behalf-of", "jonas");
        assert_eq!(check(&app, with_token(remark, &secret)).await, "201");
        let events = answer(&app, get("/api/v1/events?limit=1")).await.body;
        let event: Value = serde_json::from_str(&events).expect("JSON");
        let event = &event["items"][0];
        assert_eq!(event["actor"], shown);
        let origin = json!({
            "auth": format!("token:{id}"), "onBehalfOf": "jonas", "requestId": "r-7", "idempotencyKey": format!("k-{owner}"),
        });
        assert_eq!(event["origin"], origin);
    }
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let app = seed::story().await;
    let make = || {
        let body = json!({ "name": "pipeline", "owner": "build", "kind": "ci", "roles": ["author"] });
        post("/api/v1/tokens", body).header("idempotency-key", "k-1")
    };
    let made = answer(&app, make()).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.header("cache-control"), "no-store");
    let body: Value = serde_json::from_str(&made.body).expect("JSON");
    let secret = body["secret"].as_str().expect("a secret").to_owned();
    assert_eq!(check(&app, make()).await, "409 secret-shown-once");
    let id = body["token"]["id"].as_str().expect("an id");
    for path in ["/api/v1/tokens".to_owned(), format!("/api/v1/tokens/{id}"), "/api/v1/events".to_owned()] {
        let shown = answer(&app, get(&path)).await.body;
        assert!(shown.contains(id) && !shown.contains(&secret[..40]), "{path}");
    }
}

#[tokio::test]
async fn nobody_gives_away_more_than_they_have() {
    let app = seed::story().await;
    let (_, reviewer) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let (_, pipeline) = token(&app, "build", CallerKind::Ci, Role::Operator).await;
    let make = |owner: &str, kind: &str, role: &str| {
        post("/api/v1/tokens", json!({ "name": "n", "owner": owner, "kind": kind, "roles": [role] }))
    };
    for (secret, owner, kind, role, wanted) in [
        (&reviewer, "mara", "human", "reviewer", "201"),
        (&reviewer, "mara", "ci", "reviewer", "403 role-needed"),
        (&reviewer, "mara", "agent", "viewer", "403 role-needed"),
        (&reviewer, "mara", "human", "operator", "403 role-needed"),
        (&reviewer, "mara", "human", "admin", "403 role-needed"),
        (&reviewer, "jonas", "human", "reviewer", "403 role-needed"),
        (&pipeline, "build", "ci", "operator", "403 kind-forbidden"),
        (&pipeline, "ci:build", "human", "operator", "403 kind-forbidden"),
    ] {
        let got = check(&app, with_token(make(owner, kind, role), secret)).await;
        assert_eq!(got, wanted, "{owner} {kind} {role}");
    }
}

#[tokio::test]
async fn tokens_of_others_are_not_seen() {
    let app = seed::story().await;
    let (mine, secret) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let (other, _) = token(&app, "jonas", CallerKind::Human, Role::Admin).await;
    let list = answer(&app, with_token(get("/api/v1/tokens"), &secret)).await.body;
    assert!(list.contains(&mine) && !list.contains(&other), "{list}");
    let path = format!("/api/v1/tokens/{other}");
    assert_eq!(check(&app, with_token(get(&path), &secret)).await, "404 unknown-token");
    let revoke = with_token(get(&path).method(axum::http::Method::DELETE), &secret);
    assert_eq!(check(&app, revoke).await, "404 unknown-token");
}

#[tokio::test]
async fn bad_tokens_are_not_made() {
    let app = seed::empty().await;
    let good = json!({ "name": "n", "owner": "o", "kind": "human", "roles": ["viewer"] });
    for (member, value, wanted) in [
        ("name", json!(""), "400 invalid-name"),
        ("owner", json!("ci:x"), "400 invalid-owner"),
        ("owner", json!("two words"), "400 invalid-owner"),
        ("roles", json!([]), "400 no-role"),
        ("roles", json!(["king"]), "400 invalid-body"),
        ("kind", json!("robot"), "400 invalid-body"),
        ("expiresAt", json!("2020-01-01T00:00:00Z"), "400 bad-expiry"),
        ("expiresAt", json!("2999-01-01T00:00:00Z"), "400 bad-expiry"),
        ("catalogs", json!(["-"]), "400 invalid-body"),
        ("more", json!(1), "400 invalid-body"),
    ] {
        let mut body = good.clone();
        body[member] = value.clone();
        assert_eq!(check(&app, post("/api/v1/tokens", body)).await, wanted, "{member}: {value}");
    }
    assert!(app.tokens().await.expect("read").is_empty());
}

#[tokio::test]
async fn only_the_team_that_owns_a_catalog_decides_on_it() {
    let app = seed::story().await;
    let team = put("/api/v1/teams/payments", json!({ "members": ["mara"], "catalogs": ["shop"] }));
    assert_eq!(check(&app, team.header("if-none-match", "*")).await, "201");
    let (_, owner) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let (_, other) = token(&app, "jonas", CallerKind::Human, Role::Reviewer).await;
    let path = "/api/v1/catalogs/shop/drafts/4";
    let etag = answer(&app, get(path)).await.header("etag").to_owned();
    let reject = || post(&format!("{path}/reject"), json!({ "reason": "no" })).header("if-match", &etag);
    assert_eq!(check(&app, with_token(reject(), &other)).await, "403 team-needed");
    assert_eq!(check(&app, with_token(reject(), &owner)).await, "200");
}

#[tokio::test]
async fn a_team_is_changed_from_what_was_seen() {
    let app = seed::story().await;
    let path = "/api/v1/teams/payments";
    let set = |members: Value| put(path, json!({ "members": members, "servers": ["orders"] }));
    assert_eq!(check(&app, set(json!(["a"])).header("if-match", "\"0\"")).await, "404 unknown-team");
    assert_eq!(check(&app, set(json!(["a"])).header("if-none-match", "*")).await, "201");
    assert_eq!(check(&app, set(json!(["a"])).header("if-none-match", "*")).await, "412 stale-etag");
    let etag = answer(&app, get(path)).await.header("etag").to_owned();
    assert_eq!(check(&app, set(json!(["a", "b"])).header("if-match", &etag)).await, "200");
    assert_eq!(check(&app, set(json!(["c"])).header("if-match", &etag)).await, "412 stale-etag");
    assert_eq!(check(&app, set(json!([""])).header("if-match", &etag)).await, "412 stale-etag");
    let remove = || get(path).method(axum::http::Method::DELETE);
    assert_eq!(check(&app, remove()).await, "428 missing-if-match");
    let etag = answer(&app, get(path)).await.header("etag").to_owned();
    assert_eq!(check(&app, remove().header("if-match", &etag)).await, "204");
    assert_eq!(check(&app, get(path)).await, "404 unknown-team");
}

#[tokio::test]
async fn the_first_token_is_an_admins_and_there_is_one() {
    let app = seed::empty().await;
    let (first, secret) = app.first_token().await.expect("made").expect("the first");
    assert_eq!((first.owner.as_str(), first.kind), ("admin", CallerKind::Human));
    assert_eq!(check(&app, with_token(get("/api/v1/tokens"), &secret)).await, "200");
    assert!(app.first_token().await.expect("looked").is_none());
    app.revoke_token(&first.id, "root").await.expect("taken back");
    assert!(app.first_token().await.expect("looked").is_none(), "it was made once and for all");
}

/// A token of a person's own, made with what they show.
async fn made(app: &super::App, secret: &str, expires: Option<&str>) -> (String, serde_json::Value) {
    let body =
        json!({ "name": "n", "owner": "mara", "kind": "human", "roles": ["viewer"], "expiresAt": expires });
    let got = answer(app, with_token(post("/api/v1/tokens", body), secret)).await;
    (super::said(&got), serde_json::from_str(&got.body).expect("JSON"))
}

#[tokio::test]
async fn what_a_token_made_ends_with_it() {
    let app = seed::story().await;
    let (id, first) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let (status, second) = made(&app, &first, None).await;
    assert_eq!(status, "201");
    let second = second["secret"].as_str().expect("a secret").to_owned();
    let (_, third) = made(&app, &second, None).await;
    let third = third["secret"].as_str().expect("a secret").to_owned();
    app.revoke_token(&id, "root").await.expect("taken back");
    for secret in [&first, &second, &third] {
        assert_eq!(check(&app, with_token(get(ME), secret)).await, "401 invalid-token");
    }
}

#[tokio::test]
async fn a_token_that_ends_makes_none_that_lasts() {
    let app = seed::story().await;
    let new = toolpact::app::access::tokens::NewToken {
        name: "n".to_owned(),
        owner: "mara".to_owned(),
        kind: CallerKind::Human,
        roles: [Role::Reviewer].into(),
        scope: toolpact::access::Scope::default(),
        expires_at: Some(app.now() + chrono::TimeDelta::days(1)),
    };
    let (_, secret) = app.create_token(new, "root").await.expect("made");
    for (expires, wanted) in [
        (None, "400 bad-expiry"),
        (Some("2026-12-24T00:00:00Z"), "400 bad-expiry"),
        (Some("2026-12-01T00:00:00Z"), "201"),
    ] {
        assert_eq!(made(&app, &secret, expires).await.0, wanted, "{expires:?}");
    }
    let session = app.sign_in(&secret).await.expect("signed in");
    let body = json!({ "name": "n", "owner": "mara", "kind": "human", "roles": ["viewer"] });
    let ask =
        super::with_session(post("/api/v1/tokens", body), &session).header("sec-fetch-site", "same-origin");
    assert_eq!(check(&app, ask).await, "400 bad-expiry", "nor does a session");
}
