//! Drafts: made, read, approved and rejected.

use insta::assert_snapshot;
use serde_json::{Value, json};
use toolpact::app::App;

use super::{check, check_parts};
use crate::{
    ask::{Ask, answer, get, post},
    seed,
};

const DRAFT: &str = "/api/v1/catalogs/shop/drafts/4";

/// A decision on the draft as it is now.
async fn decide(app: &App, verb: &str, body: Value) -> Ask {
    let tag = answer(app, get(DRAFT)).await.header("etag").to_owned();
    post(&format!("{DRAFT}/{verb}"), body).header("if-match", &tag)
}

#[tokio::test]
async fn an_unknown_draft_is_not_found() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, get("/api/v1/catalogs/shop/drafts/99")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-draft",
      "title": "unknown draft",
      "status": 404,
      "detail": "catalog `shop` has no draft `d-99`",
      "code": "unknown-draft",
      "help": "its newest draft is d-4"
    }
    "#);
    assert_snapshot!(check(&app, post("/api/v1/catalogs/shop/drafts/99/reject", json!({"reason": "x"})).header("if-match", "\"x\"")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-draft",
      "title": "unknown draft",
      "status": 404,
      "detail": "catalog `shop` has no draft `d-99`",
      "code": "unknown-draft",
      "help": "its newest draft is d-4"
    }
    "#);
}

#[tokio::test]
async fn a_draft_is_known_by_its_number_or_as_people_write_it() {
    let app = seed::story().await;
    let parts =
        ["/id", "/base", "/status", "/report/verdict", "/report/tools/0/findings/0/witness", "/decision"];
    let by_number = check_parts(&app, get(DRAFT), &parts).await;
    assert_snapshot!(by_number, @r#"
    200 content-type=application/json
    /id: 4
    /base: "2026.11.28"
    /status: "pending"
    /report/verdict: "breaking"
    /report/tools/0/findings/0/witness: {"value":{"customer":"c-1","state":"all"},"at":"/state","reason":"\"all\" is not one of \"open\" or \"closed\""}
    /decision: null
    "#);
    assert_eq!(check_parts(&app, get("/api/v1/catalogs/shop/drafts/d-4"), &parts).await, by_number);
}

#[tokio::test]
async fn a_draft_of_what_is_not_there_is_refused() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, post("/api/v1/catalogs/empty/drafts", json!({}))).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-catalog",
      "title": "unknown catalog",
      "status": 404,
      "detail": "catalog `empty` does not exist",
      "code": "unknown-catalog",
      "help": "known: shop"
    }
    "#);
    assert_snapshot!(check(&app, post("/api/v1/catalogs/new/drafts", json!({"servers": ["ghost"]}))).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-server",
      "title": "unknown server",
      "status": 404,
      "detail": "server `ghost` does not exist",
      "code": "unknown-server",
      "help": "take a snapshot of it first: `toolpact snapshot ghost -- COMMAND`"
    }
    "#);
}

#[tokio::test]
async fn a_draft_is_made_of_the_latest_snapshots() {
    let app = seed::story().await;
    let ask = post("/api/v1/catalogs/second/drafts", json!({"servers": ["orders"]}));
    assert_snapshot!(check_parts(&app, ask, &["/catalog", "/base", "/status", "/createdBy", "/members/0/tool"]).await, @r#"
    201 content-type=application/json location=/api/v1/catalogs/second/drafts/5
    /catalog: "second"
    /base: null
    /status: "pending"
    /createdBy: "api"
    /members/0/tool: "customer_note"
    "#);
}

#[tokio::test]
async fn an_approval_needs_a_reason_and_the_acceptance_of_what_breaks() {
    let app = seed::story().await;
    let approve = async |body| decide(&app, "approve", body).await;
    assert_snapshot!(check(&app, approve(json!({"reason": ""})).await).await, @r#"
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
    assert_snapshot!(check(&app, approve(json!({"reason": "go"})).await).await, @r#"
    422 content-type=application/problem+json
    {
      "type": "/errors/policy-blocks",
      "title": "policy blocks",
      "status": 422,
      "detail": "draft `d-4` is blocked by the catalog's policy: breaking: tool `order_query`: `state` no longer accepts \"all\" (and 4 more)",
      "code": "policy-blocks",
      "help": "accept the findings with a reason, or reject the draft"
    }
    "#);
    let accepted = async || approve(json!({"reason": "all callers moved", "acceptBreaking": true})).await;
    assert_snapshot!(check_parts(&app, accepted().await, &["/version", "/draft", "/approvedBy", "/reason"]).await, @r#"
    201 content-type=application/json location=/api/v1/catalogs/shop/versions/2026.11.30
    /version: "2026.11.30"
    /draft: 4
    /approvedBy: "api"
    /reason: "all callers moved"
    "#);
    assert_snapshot!(check(&app, accepted().await).await, @r#"
    409 content-type=application/problem+json
    {
      "type": "/errors/draft-decided",
      "title": "draft decided",
      "status": 409,
      "detail": "draft `d-4` is approved already, by api on 2026-11-30T12:00:00Z",
      "code": "draft-decided",
      "help": "a decision is final; draft again"
    }
    "#);
}

#[tokio::test]
async fn a_rejection_is_final() {
    let app = seed::story().await;
    let reject = async || decide(&app, "reject", json!({"reason": "keep `all`"})).await;
    assert_snapshot!(check_parts(&app, reject().await, &["/status", "/decision"]).await, @r#"
    200 content-type=application/json
    /status: "rejected"
    /decision: {"by":"api","at":"2026-11-30T12:00:00Z","reason":"keep `all`"}
    "#);
    assert!(check(&app, reject().await).await.starts_with("409 "));
}
