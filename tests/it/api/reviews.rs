//! Reviews of drafts: approvals by others, remarks, edits.

use insta::assert_snapshot;
use serde_json::{Value, json};
use toolpact::app::App;

use super::{check, check_parts};
use crate::{
    ask::{Ask, answer, get, patch, post},
    seed,
};

const DRAFT: &str = "/api/v1/catalogs/shop/drafts/4";

/// The story, under a policy that asks for two others.
async fn story() -> App {
    let app = seed::story().await;
    app.apply("shop.yaml", "catalog: shop\npolicy: {failOn: [], approvals: 2}\n", "ann")
        .await
        .expect("applied");
    app
}

async fn seen(app: &App, ask: Ask) -> Ask {
    let tag = answer(app, get(DRAFT)).await.header("etag").to_owned();
    ask.header("if-match", &tag)
}

async fn approve(app: &App, who: &str) -> Ask {
    let ask = post(&format!("{DRAFT}/approve"), json!({"reason": "fine"}));
    seen(app, ask).await.by(who)
}

#[tokio::test]
async fn an_author_does_not_approve_where_others_have_to() {
    let app = story().await;
    let edit = patch(DRAFT, json!([{"op": "replace", "path": "/members/0/status", "value": "deprecated"}]));
    let edited = answer(&app, seen(&app, edit).await.by("mara")).await;
    assert_eq!(edited.status.as_u16(), 200, "{}", edited.body);
    assert_snapshot!(check(&app, approve(&app, "mara").await).await, @r#"
    422 content-type=application/problem+json
    {
      "type": "/errors/own-draft",
      "title": "own draft",
      "status": 422,
      "detail": "draft `d-4` was edited by mara; by the policy of catalog `shop` 2 other people have to approve it",
      "code": "own-draft",
      "help": "ask somebody who had no part in it"
    }
    "#);
}

#[tokio::test]
async fn a_draft_is_a_version_once_enough_others_approved_it() {
    let app = story().await;
    assert_snapshot!(check(&app, approve(&app, "jonas").await).await, @r#"
    202 content-type=application/json
    {
      "draft": 4,
      "approvals": [
        {
          "actor": "jonas",
          "reason": "fine",
          "at": "2026-11-30T12:00:00Z"
        }
      ],
      "needed": 2
    }
    "#);
    let parts =
        ["/draft", "/status", "/approvals/0/actor", "/approvals/1", "/needed", "/standing/0", "/queue"];
    assert_snapshot!(check_parts(&app, get(&format!("{DRAFT}/review")), &parts).await, @r#"
    200 content-type=application/json
    /draft: 4
    /status: "pending"
    /approvals/0/actor: "jonas"
    /approvals/1: null
    /needed: 2
    /standing/0: {"change":"sha256:02e846efaf96e96d606ba139c5ccaf0e20b567e225ecad4aa003d41d4321a8d9"}
    /queue: []
    "#);
    let parts = ["/version", "/approvedBy"];
    assert_snapshot!(check_parts(&app, approve(&app, "ann").await, &parts).await, @r#"
    201 content-type=application/json location=/api/v1/catalogs/shop/versions/2026.11.30
    /version: "2026.11.30"
    /approvedBy: "ann"
    "#);
}

#[tokio::test]
async fn a_rejected_change_is_not_approved_whatever_is_accepted() {
    let app = story().await;
    let reject = json!({"draft": 4, "rule": "required-added", "ruling": "reject", "reason": "too early"});
    let decided = answer(&app, post("/api/v1/catalogs/shop/decisions", reject)).await;
    assert_eq!(decided.status.as_u16(), 201, "{}", decided.body);
    let ask = post(&format!("{DRAFT}/approve"), json!({"reason": "fine", "acceptBreaking": true}));
    assert_snapshot!(check(&app, seen(&app, ask).await).await, @r#"
    422 content-type=application/problem+json
    {
      "type": "/errors/change-rejected",
      "title": "change rejected",
      "status": 422,
      "detail": "draft `d-4` holds a change that was rejected: breaking: tool `order_query`: `region` is required now (rejected by api: too early)",
      "code": "change-rejected",
      "help": "reject the draft, edit the tool out of it, or decide again on the change"
    }
    "#);
}

#[tokio::test]
async fn remarks_are_on_a_draft_or_on_one_of_its_changes() {
    let app = story().await;
    let path = format!("{DRAFT}/comments");
    let nowhere = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for (body, status, code) in [
        (json!({"text": " "}), 400, "bad-comment"),
        (json!({"text": "x".repeat(10_001)}), 400, "bad-comment"),
        (json!({"text": "x", "change": nowhere}), 404, "unknown-change"),
        (json!({"text": "x", "change": "e3b0c442"}), 400, "invalid-body"),
    ] {
        let answer = answer(&app, post(&path, body)).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert!(answer.body.contains(&format!("\"code\":\"{code}\"")), "{}", answer.body);
    }
    let unknown = post("/api/v1/catalogs/shop/drafts/99/comments", json!({"text": "x"}));
    assert!(check(&app, unknown).await.starts_with("404 "));
    let draft: Value = serde_json::from_str(&answer(&app, get(DRAFT)).await.body).expect("a draft");
    let change = &draft["report"]["tools"][0]["findings"][0]["fingerprint"];
    let said = post(&path, json!({"text": "who sends `all`?", "change": change}));
    let parts = ["/id", "/draft", "/text", "/actor"];
    assert_snapshot!(check_parts(&app, said.by("ben"), &parts).await, @r#"
    201 content-type=application/json
    /id: 1
    /draft: 4
    /text: "who sends `all`?"
    /actor: "ben"
    "#);
    let review: Value =
        serde_json::from_str(&answer(&app, get(&format!("{DRAFT}/review"))).await.body).expect("a review");
    assert_eq!(review["comments"][0]["change"], *change);
}

#[tokio::test]
async fn an_edit_of_another_state_or_of_more_than_members_is_refused() {
    let app = story().await;
    let test = || json!([{"op": "test", "path": "/members/0/tool", "value": "customer_note"}]);
    let code = |body: &str| serde_json::from_str::<Value>(body).unwrap_or_default()["code"].clone();
    assert_eq!(code(&answer(&app, patch(DRAFT, test())).await.body), "missing-if-match");
    let other = patch(DRAFT, test()).header("if-match", "\"other\"");
    assert_eq!(code(&answer(&app, other).await.body), "stale-etag");
    let plain = seen(&app, patch(DRAFT, test())).await.header("content-type", "application/json");
    assert_snapshot!(check(&app, plain).await, @r#"
    415 content-type=application/problem+json
    {
      "type": "/errors/wrong-content-type",
      "title": "wrong content type",
      "status": 415,
      "detail": "the body has the content type `application/json`; this route reads application/json-patch+json",
      "code": "wrong-content-type",
      "help": "send `Content-Type: application/json-patch+json`"
    }
    "#);
    let doubling = |n| Value::Array(vec![json!({"op": "copy", "from": "/members", "path": "/members/-"}); n]);
    let nesting: Vec<Value> = (0..400)
        .flat_map(|_| {
            [
                json!({"op": "add", "path": "/y", "value": {}}),
                json!({"op": "move", "from": "/x", "path": "/y/x"}),
                json!({"op": "move", "from": "/y", "path": "/x"}),
            ]
        })
        .collect();
    let nesting = Value::Array([vec![json!({"op": "add", "path": "/x", "value": {}})], nesting].concat());
    for (operations, status, expected) in [
        (test(), 409, "nothing-changed"),
        (json!([]), 409, "nothing-changed"),
        (json!([{"op": "remove", "path": "/members/9"}]), 400, "bad-patch"),
        (json!([{"op": "remove", "path": "members"}]), 400, "bad-patch"),
        (json!([{"op": "replace", "path": "/digestPolicy", "value": "tp9"}]), 400, "bad-patch"),
        (json!([{"op": "replace", "path": "/members/0/contractVersion", "value": "0.1.0"}]), 400, "bad-edit"),
        (doubling(40), 400, "bad-patch"),
        (nesting, 400, "bad-patch"),
    ] {
        let shown: String = operations.to_string().chars().take(80).collect();
        let answer = answer(&app, seen(&app, patch(DRAFT, operations)).await).await;
        assert_eq!(answer.status.as_u16(), status, "{shown}: {}", answer.body);
        assert_eq!(code(&answer.body), expected, "{shown}: {}", answer.body);
    }
}

#[tokio::test]
async fn an_edit_judges_anew_and_approvals_begin_anew() {
    let app = story().await;
    assert!(check(&app, approve(&app, "jonas").await).await.starts_with("202 "));
    let before = answer(&app, get(DRAFT)).await.header("etag").to_owned();
    let edit = patch(
        DRAFT,
        json!([
            {"op": "test", "path": "/members/1/tool", "value": "order_query"},
            {"op": "remove", "path": "/members/1"},
            {"op": "replace", "path": "/members/0/contractVersion", "value": "1.1.0"},
        ]),
    );
    let parts = [
        "/status",
        "/members/0/contractVersion",
        "/members/1/tool",
        "/editedBy",
        "/earlier",
        "/report/verdict",
    ];
    let edit = seen(&app, edit).await.by("mara");
    assert_snapshot!(check_parts(&app, edit, &parts).await, @r#"
    200 content-type=application/json
    /status: "pending"
    /members/0/contractVersion: "1.1.0"
    /members/1/tool: "order_refund"
    /editedBy: ["mara"]
    /earlier: []
    /report/verdict: "breaking"
    "#);
    let review = check_parts(&app, get(&format!("{DRAFT}/review")), &["/approvals"]).await;
    assert!(review.ends_with("/approvals: []"), "{review}");
    let stale = post(&format!("{DRAFT}/approve"), json!({"reason": "fine"})).header("if-match", &before);
    assert!(check(&app, stale).await.contains("stale-etag"));
}

#[tokio::test]
async fn for_whom_a_caller_acts_is_a_claim_beside_its_own_name() {
    let app = seed::story().await;
    let make = || post("/api/v1/catalogs/second/drafts", json!({"servers": ["orders"]}));
    for name in ["", "two words", "ü", "a\tb", &"x".repeat(65)] {
        let refused = check(&app, make().header("toolpact-on-behalf-of", name)).await;
        assert!(refused.starts_with("400 ") && refused.contains("invalid-on-behalf-of"), "{name}: {refused}");
    }
    let long = "x".repeat(64);
    let made = check_parts(&app, make().header("toolpact-on-behalf-of", &long), &["/createdBy"]).await;
    assert!(made.ends_with("/createdBy: \"api\""), "{made}");
    let events = check_parts(&app, get("/api/v1/events?limit=1"), &["/items/0/origin/onBehalfOf"]).await;
    assert!(events.ends_with(&format!("\"{long}\"")), "{events}");
    // The same key under another name is another request.
    let keyed = |who: &str| make().header("idempotency-key", "k-1").by(who);
    assert!(check(&app, keyed("mara")).await.starts_with("201 "));
    assert!(check(&app, keyed("jonas")).await.contains("idempotency-key-reused"));
}
