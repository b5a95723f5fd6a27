//! The audit log.

use insta::assert_snapshot;
use serde_json::json;

use super::{check, check_parts};
use crate::{
    ask::{answer, get, post},
    seed,
};

#[tokio::test]
async fn limits_that_make_no_sense_are_refused() {
    let app = seed::empty().await;
    assert_snapshot!(check(&app, get("/api/v1/events?limit=0")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-query",
      "title": "invalid query",
      "status": 400,
      "detail": "the query asks for 0 items; 1 to 1000 can be asked for",
      "code": "invalid-query"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/events?limit=many")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-query",
      "title": "invalid query",
      "status": 400,
      "detail": "the query cannot be read: limit: invalid digit found in string",
      "code": "invalid-query"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/events")).await, @r#"
    200 content-type=application/json
    {
      "items": []
    }
    "#);
}

#[tokio::test]
async fn every_write_by_the_api_leaves_its_event() {
    let app = seed::story().await;
    let draft = "/api/v1/catalogs/shop/drafts/4";
    let tag = answer(&app, get(draft)).await.header("etag").to_owned();
    let reject = post(&format!("{draft}/reject"), json!({"reason": "keep `all`"})).header("if-match", &tag);
    assert!(check(&app, reject).await.starts_with("200 "));
    let parts = ["/items/0/kind", "/items/0/actor", "/items/0/subject", "/items/1"];
    assert_snapshot!(check_parts(&app, get("/api/v1/events?limit=1"), &parts).await, @r#"
    200 content-type=application/json
    /items/0/kind: "draft.rejected"
    /items/0/actor: "api"
    /items/0/subject: "catalog/shop"
    /items/1: null
    "#);
}
