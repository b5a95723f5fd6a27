//! Environments: reading them, moving their pointers, and what stops a move.

use insta::assert_snapshot;
use serde_json::json;

use super::{check, check_parts};
use crate::{
    ask::{Ask, get, post},
    seed,
};

fn promote(environment: &str, version: &str) -> Ask {
    post(
        &format!("/api/v1/environments/{environment}/promote"),
        json!({"version": version, "reason": "because"}),
    )
}

fn rollback(environment: &str, version: &str) -> Ask {
    post(
        &format!("/api/v1/environments/{environment}/rollback"),
        json!({"version": version, "reason": "because"}),
    )
}

#[tokio::test]
async fn an_unknown_environment_is_not_found() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, get("/api/v1/environments/prod")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-environment",
      "title": "unknown environment",
      "status": 404,
      "detail": "environment `prod` does not exist",
      "code": "unknown-environment",
      "help": "known: production, staging"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/environments/production?catalog=other")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/never-promoted",
      "title": "never promoted",
      "status": 404,
      "detail": "catalog `other` was never live in environment `production`",
      "code": "never-promoted"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/environments/production?catalogue=shop")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-query",
      "title": "invalid query",
      "status": 400,
      "detail": "the query cannot be read: catalogue: unknown field `catalogue`, expected `catalog`",
      "code": "invalid-query"
    }
    "#);
}

#[tokio::test]
async fn an_environment_shows_its_generation_as_etag() {
    let app = seed::story().await;
    let parts = [
        "/items/0/version",
        "/items/0/generation",
        "/items/0/hold",
        "/items/0/promotable",
        "/items/0/rollbackTargets",
        "/items/0/history/0",
    ];
    assert_snapshot!(check_parts(&app, get("/api/v1/environments/production"), &parts).await, @r#"
    200 content-type=application/json etag="3-…"
    /items/0/version: "2026.11.26"
    /items/0/generation: 3
    /items/0/hold: "2026.11.28"
    /items/0/promotable: []
    /items/0/rollbackTargets: []
    /items/0/history/0: {"environment":"production","catalog":"shop","generation":3,"kind":"rollback","from":"2026.11.28","to":"2026.11.26","reason":"support agents loop on order_track","actor":"oncall","at":"2026-11-29T03:12:00Z","grounds":{"verdict":"breaking","approvers":["jonas"]}}
    "#);
    let parts = ["/items/0/environment", "/items/1/environment", "/items/2"];
    assert_snapshot!(check_parts(&app, get("/api/v1/environments"), &parts).await, @r#"
    200 content-type=application/json
    /items/0/environment: "production"
    /items/1/environment: "staging"
    /items/2: null
    "#);
}

#[tokio::test]
async fn a_move_needs_the_generation_that_was_seen() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, promote("staging", "2026.11.26")).await, @r#"
    428 content-type=application/problem+json
    {
      "type": "/errors/missing-if-match",
      "title": "missing if match",
      "status": 428,
      "detail": "the header `If-Match` is missing; what others may change is changed only from the state that was seen",
      "code": "missing-if-match",
      "help": "GET it, look at it, and send its `ETag` as `If-Match`; of an environment its `generation` will do, `\"3\"`, which is `\"0\"` where nothing was ever live"
    }
    "#);
    for tag in ["3", "\"x\"", "*", "W/\"2\"", "\"2\", \"3\"", "\"-1\"", "\"+2\""] {
        let answer = check(&app, promote("staging", "2026.11.26").header("if-match", tag)).await;
        assert!(answer.contains("\"code\": \"invalid-if-match\""), "{tag}: {answer}");
    }
}

#[tokio::test]
async fn a_stale_move_names_who_was_faster() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, promote("production", "2026.11.28").header("if-match", "\"2\"")).await, @r#"
    412 content-type=application/problem+json
    {
      "type": "/errors/stale-generation",
      "title": "stale generation",
      "status": 412,
      "detail": "`production` is at generation 3 of catalog `shop`, not 2: oncall moved it to 2026.11.26 on 2026-11-29T03:12:00Z",
      "code": "stale-generation",
      "help": "look at the environment again, then repeat with its generation"
    }
    "#);
    assert_snapshot!(check(&app, rollback("staging", "2026.11.26").header("if-match", "\"1\"")).await, @r#"
    412 content-type=application/problem+json
    {
      "type": "/errors/stale-generation",
      "title": "stale generation",
      "status": 412,
      "detail": "`staging` is at generation 2 of catalog `shop`, not 1: jonas moved it to 2026.11.28 on 2026-11-28T14:45:00Z",
      "code": "stale-generation",
      "help": "look at the environment again, then repeat with its generation"
    }
    "#);
}

#[tokio::test]
async fn what_the_state_forbids_is_a_conflict() {
    let app = seed::story().await;
    let held = promote("production", "2026.11.28").header("if-match", "\"3\"");
    assert_snapshot!(check(&app, held).await, @r#"
    409 content-type=application/problem+json
    {
      "type": "/errors/held",
      "title": "held",
      "status": 409,
      "detail": "version 2026.11.28 is held in `production`: it was left by a rollback",
      "code": "held",
      "help": "release the hold first, if what was wrong is mended"
    }
    "#);
    let live = promote("staging", "2026.11.28").header("if-match", "\"2\"");
    assert_snapshot!(check(&app, live).await, @r#"
    409 content-type=application/problem+json
    {
      "type": "/errors/already-live",
      "title": "already live",
      "status": 409,
      "detail": "version 2026.11.28 is live in `staging` already, at generation 2",
      "code": "already-live",
      "help": "nothing has to be done"
    }
    "#);
    let unknown = promote("staging", "2026.12.24").header("if-match", "\"2\"");
    assert_snapshot!(check(&app, unknown).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-version",
      "title": "unknown version",
      "status": 404,
      "detail": "catalog `shop` has no version 2026.12.24",
      "code": "unknown-version",
      "help": "its newest version is 2026.11.28"
    }
    "#);
}

#[tokio::test]
async fn a_move_needs_a_reason() {
    let app = seed::story().await;
    let silent =
        post("/api/v1/environments/staging/promote", json!({"version": "2026.11.26", "reason": " "}));
    assert_snapshot!(check(&app, silent.header("if-match", "\"2\"")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/empty-reason",
      "title": "empty reason",
      "status": 400,
      "detail": "the reason is empty",
      "code": "empty-reason",
      "help": "say why, for whoever reads the history",
      "errors": [
        {
          "pointer": "/reason",
          "detail": "the reason is empty"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn a_promotion_moves_the_pointer_and_answers_the_new_generation() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, promote("dev", "2026.11.28").header("if-match", "\"0\"")).await, @r#"
    200 content-type=application/json etag="1"
    {
      "environment": "dev",
      "catalog": "shop",
      "generation": 1,
      "kind": "promote",
      "to": "2026.11.28",
      "reason": "because",
      "actor": "api",
      "at": "2026-11-30T12:00:00Z",
      "grounds": {
        "approvers": [
          "jonas"
        ],
        "probed": [
          {
            "server": "orders",
            "answer": "unregistered"
          }
        ]
      }
    }
    "#);
}

#[tokio::test]
async fn a_rollback_holds_what_it_left_until_the_hold_is_released() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, rollback("staging", "2026.11.26").header("if-match", "\"2\"")).await, @r#"
    200 content-type=application/json etag="3"
    {
      "environment": "staging",
      "catalog": "shop",
      "generation": 3,
      "kind": "rollback",
      "from": "2026.11.28",
      "to": "2026.11.26",
      "reason": "because",
      "actor": "api",
      "at": "2026-11-30T12:00:00Z",
      "grounds": {
        "verdict": "breaking",
        "approvers": [
          "jonas"
        ]
      }
    }
    "#);
    let again = || promote("staging", "2026.11.28").header("if-match", "\"3\"");
    assert!(check(&app, again()).await.starts_with("409 "));
    let release = post("/api/v1/environments/staging/release-hold", json!({"reason": "mended"}));
    assert_snapshot!(check(&app, release.header("if-match", "\"3\"")).await, @r#"204"#);
    assert!(check(&app, again()).await.starts_with("200 "));
}

#[tokio::test]
async fn a_retry_under_the_same_key_gets_the_same_answer() {
    let app = seed::story().await;
    let ask =
        || rollback("staging", "2026.11.26").header("if-match", "\"2\"").header("idempotency-key", "k-1");
    let first = check(&app, ask()).await;
    assert!(first.starts_with("200 "), "{first}");
    assert_eq!(check(&app, ask()).await, first);
    let other = promote("dev", "2026.11.26").header("if-match", "\"0\"").header("idempotency-key", "k-1");
    assert_snapshot!(check(&app, other).await, @r#"
    422 content-type=application/problem+json
    {
      "type": "/errors/idempotency-key-reused",
      "title": "idempotency key reused",
      "status": 422,
      "detail": "the idempotency key was used for another request; use a new key for a new request",
      "code": "idempotency-key-reused"
    }
    "#);
    let long = ask().header("idempotency-key", &"k".repeat(129));
    assert!(check(&app, long).await.contains("invalid-idempotency-key"));
}

#[tokio::test]
async fn the_live_catalog_is_sent_once_and_then_known_by_its_digest() {
    let app = seed::story().await;
    let path = "/api/v1/environments/staging/catalog";
    let environment = check_parts(&app, get("/api/v1/environments/staging"), &["/items/0/digest"]).await;
    let digest = environment.split("digest: ").nth(1).expect("it has a digest").trim_matches('"');
    let etag = format!("\"{digest}.2026.11.28.json\"");
    let parts = ["/catalog", "/version", "/members/3/tool", "/members/3/contentHash", "/servers/0/server"];
    let first = check_parts(&app, get(path), &parts).await.replace(&etag, "[tag]");
    assert_snapshot!(first, @r#"
    200 content-type=application/json etag=[tag]
    /catalog: "shop"
    /version: "2026.11.28"
    /members/3/tool: "order_track"
    /members/3/contentHash: "sha256-Zsof63wxsAFlfmYp3G8j18ryynRBJ99w1fsmBsEDXD8"
    /servers/0/server: "orders"
    "#);
    let known = check(&app, get(path).header("if-none-match", &etag)).await.replace(&etag, "[tag]");
    assert_snapshot!(known, @"304 etag=[tag]");
    let weak = get(path).header("if-none-match", &format!("\"other\", W/{etag}"));
    assert!(check(&app, weak).await.starts_with("304 "));
    assert!(check(&app, get(path).header("if-none-match", "\"other\"")).await.starts_with("200 "));
}
