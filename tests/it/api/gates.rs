//! What stands in the way of a move: rehearsals, freezes, and refusals that say all of it.

use insta::assert_snapshot;
use serde_json::{Value, json};
use toolpact::app::App;

use super::{check, check_parts};
use crate::{
    ask::{Ask, answer, get, post},
    seed,
};

/// The story, with environments that demand something.
async fn story() -> App {
    let app = seed::story().await;
    let document = "catalog: shop\nenvironments:\n  staging: {}\n  production: {after: staging, approvals: 2}\n  \
                    edge: {after: production, approvals: 3, maxTools: 2}\n";
    app.apply("shop.yaml", document, "ann").await.expect("applied");
    app
}

fn ask(environment: &str, verb: &str, seen: u32, body: Value) -> Ask {
    post(&format!("/api/v1/environments/{environment}/{verb}"), body)
        .header("if-match", &format!("\"{seen}\""))
}

#[tokio::test]
async fn a_rehearsal_that_makes_no_sense_is_refused_as_the_move_is() {
    let app = story().await;
    for (environment, seen, body, status, code) in [
        ("production", 2, json!({"kind": "promote", "version": "2026.11.28"}), 412, "stale-generation"),
        ("production", 3, json!({"kind": "promote", "version": "2026.11.28"}), 409, "held"),
        ("production", 3, json!({"kind": "promote", "version": "2026.11.26"}), 409, "already-live"),
        ("production", 3, json!({"kind": "promote", "version": "2020.01.01"}), 404, "unknown-version"),
        ("nowhere", 0, json!({"kind": "rollback", "version": "2026.11.26"}), 404, "unknown-environment"),
        (
            "staging",
            2,
            json!({"kind": "promote", "version": "2026.11.26", "emergency": true}),
            400,
            "emergency-promotion",
        ),
        (
            "staging",
            2,
            json!({"kind": "promote", "version": "2026.11.26", "catalog": "shp"}),
            404,
            "unknown-catalog",
        ),
        ("staging", 2, json!({"kind": "move", "version": "2026.11.26"}), 400, "invalid-body"),
    ] {
        let answer = answer(&app, ask(environment, "preflight", seen, body.clone())).await;
        assert_eq!(answer.status.as_u16(), status, "{body}: {}", answer.body);
        assert!(answer.body.contains(&format!("\"code\":\"{code}\"")), "{body}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_rehearsal_shows_every_gate_and_moves_nothing() {
    let app = story().await;
    let before = app.events(100).await.expect("events").len();
    let edge = ask("edge", "preflight", 0, json!({"kind": "promote", "version": "2026.11.28"}));
    let parts =
        ["/kind", "/to", "/generation", "/passes", "/gates", "/report", "/grounds", "/servers/0/server"];
    assert_snapshot!(check_parts(&app, edge, &parts).await, @r#"
    200 content-type=application/json
    /kind: "promote"
    /to: "2026.11.28"
    /generation: 0
    /passes: false
    /gates: [{"code":"order","passed":false,"overridden":false,"message":"version 2026.11.28 is held in `production`, which comes before: it was left by a rollback","help":"release the hold there first, if what was wrong is mended"},{"code":"approvals","passed":false,"overridden":false,"message":"version 2026.11.28 was approved by 1 of 3 people who had no part in it","help":"let others approve d-2 as well"},{"code":"too-many-tools","passed":false,"overridden":false,"message":"version 2026.11.28 holds 4 tools, the policy allows 2","help":"select fewer of the servers' tools, or take some out of the draft"},{"code":"policy-blocks","passed":true,"overridden":false,"message":"no change blocks that nobody accepted"}]
    /report: null
    /grounds: {"approvers":["jonas"]}
    /servers/0/server: "orders"
    "#);
    let back = ask("staging", "preflight", 2, json!({"kind": "rollback", "version": "2026.11.26"}));
    let parts = ["/from", "/to", "/passes", "/gates", "/report/verdict", "/report/tools/0/tool", "/earlier"];
    assert_snapshot!(check_parts(&app, back, &parts).await, @r#"
    200 content-type=application/json
    /from: "2026.11.28"
    /to: "2026.11.26"
    /passes: true
    /gates: [{"code":"policy-blocks","passed":true,"overridden":false,"message":"no change blocks that nobody accepted"}]
    /report/verdict: "breaking"
    /report/tools/0/tool: "order_track"
    /earlier: []
    "#);
    assert_eq!(app.events(100).await.expect("events").len(), before);
}

#[tokio::test]
async fn a_refused_move_says_all_that_stands_in_its_way() {
    let app = story().await;
    let refused = ask("edge", "promote", 0, json!({"version": "2026.11.28", "reason": "because"}));
    assert_snapshot!(check(&app, refused).await, @r#"
    422 content-type=application/problem+json
    {
      "type": "/errors/order",
      "title": "order",
      "status": 422,
      "detail": "nothing was promoted: version 2026.11.28 is held in `production`, which comes before: it was left by a rollback",
      "code": "order",
      "help": "release the hold there first, if what was wrong is mended",
      "gates": [
        {
          "code": "order",
          "passed": false,
          "overridden": false,
          "message": "version 2026.11.28 is held in `production`, which comes before: it was left by a rollback",
          "help": "release the hold there first, if what was wrong is mended"
        },
        {
          "code": "approvals",
          "passed": false,
          "overridden": false,
          "message": "version 2026.11.28 was approved by 1 of 3 people who had no part in it",
          "help": "let others approve d-2 as well"
        },
        {
          "code": "too-many-tools",
          "passed": false,
          "overridden": false,
          "message": "version 2026.11.28 holds 4 tools, the policy allows 2",
          "help": "select fewer of the servers' tools, or take some out of the draft"
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn nothing_moves_where_it_is_frozen_but_for_an_emergency() {
    let app = story().await;
    let freeze = |verb: &str, body: Value| post(&format!("/api/v1/environments/staging/{verb}"), body);
    for (verb, body, status, code) in [
        ("freeze", json!({"reason": ""}), 400, "empty-reason"),
        ("freeze", json!({"reason": "a\u{0}b"}), 400, "invalid-reason"),
        ("freeze", json!({"reason": "x".repeat(4_001)}), 400, "invalid-reason"),
        ("freeze", json!({"reason": "sale", "catalog": "shp"}), 404, "unknown-catalog"),
        ("unfreeze", json!({"reason": "over"}), 409, "not-frozen"),
    ] {
        let answer = answer(&app, freeze(verb, body)).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert!(answer.body.contains(&format!("\"code\":\"{code}\"")), "{}", answer.body);
    }
    assert_snapshot!(check(&app, freeze("freeze", json!({"reason": "the sale"})).by("ann")).await, @r#"
    201 content-type=application/json
    {
      "environment": "staging",
      "reason": "the sale",
      "actor": "ann",
      "at": "2026-11-30T12:00:00Z"
    }
    "#);
    assert!(check(&app, freeze("freeze", json!({"reason": "again"}))).await.contains("\"frozen-already\""));
    let parts = ["/items/0/freezes", "/items/0/history/0/grounds"];
    assert_snapshot!(check_parts(&app, get("/api/v1/environments/staging"), &parts).await, @r#"
    200 content-type=application/json etag="2-…"
    /items/0/freezes: [{"environment":"staging","reason":"the sale","actor":"ann","at":"2026-11-30T12:00:00Z"}]
    /items/0/history/0/grounds: {"verdict":"compatible","approvers":["jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    "#);
    let back = |emergency| {
        ask(
            "staging",
            "rollback",
            2,
            json!({"version": "2026.11.26", "reason": "down", "emergency": emergency}),
        )
    };
    assert_snapshot!(check(&app, back(false)).await, @r#"
    422 content-type=application/problem+json
    {
      "type": "/errors/frozen",
      "title": "frozen",
      "status": 422,
      "detail": "nothing was rolled back: environment `staging` is frozen since 2026-11-30T12:00:00Z by ann: the sale",
      "code": "frozen",
      "help": "wait until it is unfrozen; an emergency rollback goes on",
      "gates": [
        {
          "code": "frozen",
          "passed": false,
          "overridden": false,
          "message": "environment `staging` is frozen since 2026-11-30T12:00:00Z by ann: the sale",
          "help": "wait until it is unfrozen; an emergency rollback goes on"
        }
      ]
    }
    "#);
    assert_snapshot!(check_parts(&app, back(true), &["/generation", "/grounds"]).await, @r#"
    200 content-type=application/json etag="3"
    /generation: 3
    /grounds: {"verdict":"breaking","approvers":["jonas"],"overridden":["frozen"],"emergency":true}
    "#);
    assert_eq!(answer(&app, freeze("unfreeze", json!({"reason": "over"}))).await.status.as_u16(), 204);
    let after = check_parts(&app, get("/api/v1/environments/staging"), &["/items/0/freezes"]).await;
    assert!(after.ends_with("/items/0/freezes: []"), "{after}");
}
