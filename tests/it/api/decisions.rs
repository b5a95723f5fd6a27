//! Decisions on single changes: what is refused, what is made, and how they are found again.

use insta::assert_snapshot;
use serde_json::{Value, json};
use toolpact::app::App;

use super::{check, check_parts};
use crate::{
    ask::{Ask, answer, get, post},
    seed,
};

const DECISIONS: &str = "/api/v1/catalogs/shop/decisions";

/// A decision on what a rule found in the draft of the story.
fn on_rule(rule: &str, more: Value) -> Ask {
    let mut body = json!({"draft": 4, "rule": rule, "ruling": "accept", "reason": "callers move"});
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    post(DECISIONS, body)
}

async fn decided(app: &App, ask: Ask) -> Value {
    let answer = answer(app, ask).await;
    assert_eq!(answer.status.as_u16(), 201, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("decisions")
}

#[tokio::test]
async fn a_decision_that_makes_no_sense_is_refused() {
    let app = seed::story().await;
    let before = app.events(100).await.expect("events").len();
    assert_snapshot!(check(&app, on_rule("tool-gone", json!({}))).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-rule",
      "title": "unknown rule",
      "status": 404,
      "detail": "rule `tool-gone` does not exist",
      "code": "unknown-rule",
      "help": "known: description-cue-added, enum-value-removed, pattern-changed, property-added, property-removed, required-added, tool-added, tool-removed, type-widened"
    }
    "#);
    assert_snapshot!(check(&app, on_rule("tool-removed", json!({"changes": ["sha256:0123456789"]}))).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-body",
      "title": "invalid body",
      "status": 400,
      "detail": "the body names neither `changes` alone or of a `check`, nor a `draft` with a `rule`",
      "code": "invalid-body",
      "errors": [
        {
          "pointer": "",
          "detail": "the body names neither `changes` alone or of a `check`, nor a `draft` with a `rule`"
        }
      ]
    }
    "#);
    for (body, status, code) in [
        (json!({"expires": "2020-01-01T00:00:00Z"}), 400, "bad-expiry"),
        (json!({"expires": "2027-01-01T00:00:00Z", "ruling": "reject"}), 400, "bad-expiry"),
        (json!({"expires": "+12027-01-01T00:00:00Z"}), 400, "invalid-body"),
        (json!({"owner": "team"}), 400, "owner-without-expiry"),
        (json!({"owner": "a\nb", "expires": "2027-01-01T00:00:00Z"}), 400, "invalid-body"),
        (json!({"reason": " "}), 400, "empty-reason"),
        (json!({"environment": "prodution"}), 404, "unknown-environment"),
        (json!({"draft": 99}), 404, "unknown-draft"),
        (json!({"draft": null}), 400, "invalid-body"),
        (json!({"draft": null, "rule": null, "changes": []}), 400, "no-change"),
        (json!({"draft": null, "rule": null, "changes": ["12345"]}), 400, "invalid-body"),
        (json!({"draft": null, "rule": null, "changes": ["0123456789"]}), 404, "unknown-change"),
    ] {
        let about = body.to_string();
        let answer = answer(&app, on_rule("tool-removed", body)).await;
        assert_eq!(answer.status.as_u16(), status, "{about}: {}", answer.body);
        assert!(answer.body.contains(&format!("\"code\":\"{code}\"")), "{about}: {}", answer.body);
    }
    assert!(check(&app, get("/api/v1/catalogs/shp/decisions")).await.starts_with("404 "));
    assert_eq!(app.events(100).await.expect("events").len(), before);
}

#[tokio::test]
async fn a_waiver_names_its_change_its_owner_and_its_end() {
    let app = seed::story().await;
    let waiver =
        json!({"owner": "team-orders", "expires": "2027-01-31T00:00:00Z", "environment": "production"});
    let parts = [
        "/items/0/id",
        "/items/0/catalog",
        "/items/0/summary",
        "/items/0/environment",
        "/items/0/ruling",
        "/items/0/owner",
        "/items/0/expires",
        "/items/0/actor",
        "/items/1",
    ];
    let ask = on_rule("enum-value-removed", waiver).by("mara");
    assert_snapshot!(check_parts(&app, ask, &parts).await, @r#"
    201 content-type=application/json
    /items/0/id: 1
    /items/0/catalog: "shop"
    /items/0/summary: "breaking: tool `order_query`: `state` no longer accepts \"all\""
    /items/0/environment: "production"
    /items/0/ruling: "accept"
    /items/0/owner: "team-orders"
    /items/0/expires: "2027-01-31T00:00:00Z"
    /items/0/actor: "mara"
    /items/1: null
    "#);
}

#[tokio::test]
async fn decisions_are_listed_newest_first_and_filtered() {
    let app = seed::story().await;
    let made = decided(&app, on_rule("enum-value-removed", json!({"expires": "2026-12-24T00:00:00Z"}))).await;
    let change = made["items"][0]["change"].as_str().expect("a fingerprint").to_owned();
    decided(&app, on_rule("required-added", json!({"ruling": "reject"}))).await;
    decided(
        &app,
        on_rule("required-added", json!({"expires": "2026-12-31T00:00:00Z", "environment": "staging"})),
    )
    .await;
    let replaced = json!({"expires": "2026-12-01T00:00:00Z"});
    decided(&app, on_rule("tool-removed", replaced)).await;
    decided(&app, on_rule("tool-removed", json!({"ruling": "withdraw"}))).await;
    let short = &change["sha256:".len()..][..8];
    for (query, expected) in [
        (String::new(), "5 4 3 2 1"),
        ("ruling=reject".to_owned(), "2"),
        ("ruling=accept".to_owned(), "4 3 1"),
        (format!("change={change}"), "1"),
        (format!("change={}", short.to_uppercase()), "1"),
        ("change=00000000".to_owned(), ""),
        ("environment=staging".to_owned(), "3"),
        // Neither the waiver that was withdrawn, nor what never ends.
        ("expiresBefore=2026-12-24T00:00:00Z".to_owned(), "1"),
        ("expiresBefore=2027-01-01T00:00:00Z".to_owned(), "3 1"),
        ("limit=2".to_owned(), "5 4"),
    ] {
        let page: Value =
            serde_json::from_str(&answer(&app, get(&format!("{DECISIONS}?{query}"))).await.body)
                .expect("a page");
        let ids: Vec<String> =
            page["items"].as_array().expect("items").iter().map(|d| d["id"].to_string()).collect();
        assert_eq!(ids.join(" "), expected, "{query}");
        if query == "limit=2" {
            let cursor = page["next"].as_str().expect("there are more");
            let rest = check(&app, get(&format!("{DECISIONS}?limit=9&cursor={cursor}"))).await;
            assert_eq!(rest.matches("\"id\":").count(), 3, "{rest}");
        }
    }
    for query in ["change=12345", "change=sha256:", "ruling=maybe", "expiresBefore=soon", "expires=1"] {
        let refused = check(&app, get(&format!("{DECISIONS}?{query}"))).await;
        assert!(refused.starts_with("400 "), "{query}: {refused}");
    }
}
