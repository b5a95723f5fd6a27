//! From a snapshot to a rollback and the release of its hold, all of it asked of the API but the snapshots.

use insta::assert_snapshot;
use serde_json::{Value, json};
use toolpact::app::App;

use crate::{
    ask::{Ask, answer, get, post, put},
    support::{app, is, listing, tool},
};

const CATALOG: &str = "/api/v1/catalogs/orders";

/// What was asked, by whom, and what came of it, a line each.
struct Told {
    app: App,
    lines: Vec<String>,
}

impl Told {
    /// Asks as this person; keeps the status and what these pointers name.
    async fn ask(&mut self, who: &str, what: &str, ask: Ask, parts: &[&str]) -> Value {
        let answer = answer(&self.app, ask.header("toolpact-actor", who)).await;
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let refused = if answer.status.is_client_error() { &["/code"][..] } else { parts };
        let shown: Vec<String> =
            refused.iter().map(|part| body.pointer(part).unwrap_or(&Value::Null).to_string()).collect();
        self.lines.push(format!("{who}: {what}: {} {}", answer.status.as_u16(), shown.join(" ")));
        body
    }

    async fn draft(&mut self, who: &str, id: i64, verb: &str, body: Value) -> Value {
        let path = format!("{CATALOG}/drafts/{id}");
        let tag = answer(&self.app, get(&path)).await.header("etag").to_owned();
        let ask = post(&format!("{path}/{verb}"), body).header("if-match", &tag);
        self.ask(who, &format!("{verb} d-{id}"), ask, &["/version", "/needed"]).await
    }

    async fn moved(&mut self, who: &str, verb: &str, environment: &str, version: &str, seen: u32) -> Value {
        let path = format!("/api/v1/environments/{environment}/{verb}");
        let ask = post(&path, json!({"version": version, "reason": "because"}))
            .header("if-match", &format!("\"{seen}\""));
        self.ask(who, &format!("{verb} {version} in {environment}"), ask, &["/generation", "/grounds"]).await
    }

    async fn lists(&mut self, tools: &[Value]) {
        let recorded = self.app.record(&is("orders"), listing(tools), "poller").await.expect("recorded");
        let drafts: Vec<String> = recorded.drafts.iter().map(|draft| format!("d-{}", draft.id)).collect();
        self.lines.push(format!("poller: lists {} tools: {}", tools.len(), drafts.join(" ")));
    }
}

#[tokio::test]
async fn the_whole_story_is_told_by_the_api() {
    let mut told = Told { app: app().await.0, lines: Vec::new() };
    told.lists(&[tool("a", &["id"]), tool("b", &[])]).await;
    let settings = json!({
        "policy": {"approvals": 2},
        "environments": [
            {"name": "production", "policy": {"after": "staging"}},
            {"name": "staging", "policy": {"after": "dev"}},
            {"name": "dev", "policy": {}},
        ],
        "servers": [{"name": "orders"}],
    });
    let ask = put(CATALOG, settings).header("if-none-match", "*");
    told.ask("mara", "makes the catalog", ask, &["/environments/0/name", "/environments/2/name"]).await;
    let ask = post(&format!("{CATALOG}/drafts"), json!({}));
    told.ask("mara", "drafts", ask, &["/id", "/createdBy"]).await;
    told.draft("mara", 1, "approve", json!({"reason": "mine"})).await;
    told.draft("jonas", 1, "approve", json!({"reason": "as they stand"})).await;
    told.draft("ann", 1, "approve", json!({"reason": "as they stand"})).await;
    for environment in ["dev", "staging", "production"] {
        told.moved("jonas", "promote", environment, "2026.11.30", 0).await;
    }

    // The server drifts: `a` requires `id`, and `b` is gone.
    let mut a = tool("a", &["id"]);
    a["inputSchema"]["required"] = json!(["id"]);
    told.lists(&[a]).await;
    told.draft("jonas", 2, "approve", json!({"reason": "go"})).await;
    let decisions = format!("{CATALOG}/decisions");
    let removed = json!({"draft": 2, "rule": "tool-removed", "ruling": "accept", "reason": "nobody uses b"});
    told.ask("ben", "accepts that b goes", post(&decisions, removed), &["/items/0/summary"]).await;
    let review = answer(&told.app, get(&format!("{CATALOG}/drafts/2/review"))).await;
    let review: Value = serde_json::from_str(&review.body).expect("a review");
    let standing = review["standing"].as_array().expect("changes").iter();
    let open = standing.filter(|s| s["blocks"] == "open").map(|s| s["change"].clone()).collect::<Vec<_>>();
    let waived = json!({
        "changes": open, "ruling": "accept", "reason": "all callers send it", "owner": "team-orders",
        "expires": "2026-12-24T00:00:00Z",
    });
    told.ask("ben", "waives the rest", post(&decisions, waived), &["/items/0/summary", "/items/0/expires"])
        .await;
    told.draft("jonas", 2, "approve", json!({"reason": "go"})).await;
    told.draft("ann", 2, "approve", json!({"reason": "go"})).await;

    told.moved("jonas", "promote", "production", "2026.11.30.1", 1).await;
    for environment in ["dev", "staging", "production"] {
        told.moved("jonas", "promote", environment, "2026.11.30.1", 1).await;
    }
    told.moved("oncall", "rollback", "production", "2026.11.30", 2).await;
    told.moved("jonas", "promote", "production", "2026.11.30.1", 3).await;
    let release = post("/api/v1/environments/production/release-hold", json!({"reason": "mended"}));
    told.ask("oncall", "releases the hold", release.header("if-match", "\"3\""), &[]).await;
    told.moved("jonas", "promote", "production", "2026.11.30.1", 3).await;
    assert_snapshot!(told.lines.join("\n"), @r#"
    poller: lists 2 tools: 
    mara: makes the catalog: 201 "dev" "production"
    mara: drafts: 201 1 "api:mara"
    mara: approve d-1: 422 "own-draft"
    jonas: approve d-1: 202 null 2
    ann: approve d-1: 201 "2026.11.30" null
    jonas: promote 2026.11.30 in dev: 200 1 {"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    jonas: promote 2026.11.30 in staging: 200 1 {"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    jonas: promote 2026.11.30 in production: 200 1 {"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    poller: lists 1 tools: d-2
    jonas: approve d-2: 422 "policy-blocks"
    ben: accepts that b goes: 201 "breaking: tool `b`: tool `b` is no longer listed"
    ben: waives the rest: 201 "breaking: tool `a`: parameter `id` is required now" "2026-12-24T00:00:00Z"
    jonas: approve d-2: 202 null 2
    ann: approve d-2: 201 "2026.11.30.1" null
    jonas: promote 2026.11.30.1 in production: 422 "order"
    jonas: promote 2026.11.30.1 in dev: 200 2 {"verdict":"breaking","decisions":[1,2],"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    jonas: promote 2026.11.30.1 in staging: 200 2 {"verdict":"breaking","decisions":[1,2],"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    jonas: promote 2026.11.30.1 in production: 200 2 {"verdict":"breaking","decisions":[1,2],"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    oncall: rollback 2026.11.30 in production: 200 3 {"verdict":"compatible","approvers":["api:ann","api:jonas"]}
    jonas: promote 2026.11.30.1 in production: 409 "held"
    oncall: releases the hold: 204 
    jonas: promote 2026.11.30.1 in production: 200 4 {"verdict":"breaking","decisions":[1,2],"approvers":["api:ann","api:jonas"],"probed":[{"server":"orders","answer":"unregistered"}]}
    "#);

    let events = answer(&told.app, get("/api/v1/events")).await;
    let events: Value = serde_json::from_str(&events.body).expect("events");
    let events = events["items"].as_array().expect("events").iter().rev();
    let events: Vec<String> = events
        .map(|e| [&e["actor"], &e["kind"], &e["subject"]].map(|v| v.as_str().unwrap_or_default()).join(" "))
        .collect();
    assert_snapshot!(events.join("\n"), @r#"
    poller snapshot.recorded server/orders
    api:mara catalog.applied catalog/orders
    api:mara draft.created catalog/orders
    api:jonas draft.endorsed catalog/orders
    api:ann draft.approved catalog/orders
    api:jonas environment.promoted environment/dev
    api:jonas environment.promoted environment/staging
    api:jonas environment.promoted environment/production
    poller snapshot.recorded server/orders
    poller draft.created catalog/orders
    api:ben change.decided catalog/orders
    api:ben change.decided catalog/orders
    api:jonas draft.endorsed catalog/orders
    api:ann draft.approved catalog/orders
    api:jonas environment.promoted environment/dev
    api:jonas environment.promoted environment/staging
    api:jonas environment.promoted environment/production
    api:oncall environment.rolled-back environment/production
    api:oncall environment.hold-released environment/production
    api:jonas environment.promoted environment/production
    "#);
    assert!(told.app.verify_events().await.expect("verified").broken.is_none());
}
