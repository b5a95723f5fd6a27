//! What a catalog is set to: seen first, then changed as a whole.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{check, check_parts};
use crate::{
    ask::{answer, get, put},
    seed,
};

const SHOP: &str = "/api/v1/catalogs/shop";

fn settings() -> Value {
    json!({
        "policy": {"approvals": 1, "failOn": ["breaking"], "maxTools": 40},
        "environments": [
            {"name": "a-production", "policy": {"after": "staging", "approvals": 2, "probe": "record"}},
            {"name": "staging", "policy": {}},
        ],
        "servers": [{"name": "orders", "tools": ["order_*", "!order_cancel"]}],
    })
}

#[tokio::test]
async fn a_catalog_is_set_only_as_it_was_seen() {
    let app = seed::story().await;
    let before = app.events(100).await.expect("events").len();
    for (ask, status, code) in [
        (put(SHOP, settings()), 428, "missing-if-match"),
        (put(SHOP, settings()).header("if-match", "*"), 400, "invalid-if-match"),
        (put(SHOP, settings()).header("if-match", "\"0123456789ab-0\""), 412, "stale-settings"),
        (put(SHOP, settings()).header("if-none-match", "*"), 412, "stale-settings"),
        (put(SHOP, settings()).header("if-none-match", "\"x\""), 400, "invalid-if-none-match"),
        (
            put(SHOP, settings()).header("if-none-match", "*").header("if-match", "\"x\""),
            400,
            "invalid-if-none-match",
        ),
        (put("/api/v1/catalogs/new", settings()).header("if-match", "\"x\""), 404, "unknown-catalog"),
    ] {
        let answer = answer(&app, ask).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert!(answer.body.contains(&format!("\"code\":\"{code}\"")), "{}", answer.body);
    }
    assert_eq!(app.events(100).await.expect("events").len(), before);
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused_where_they_stand() {
    let app = seed::story().await;
    let tag = answer(&app, get(SHOP)).await.header("etag").to_owned();
    for (member, value, code, pointer) in [
        ("policy", json!({"approvals": 100_001}), "invalid-body", "/policy/approvals"),
        ("policy", json!([]), "invalid-body", "/policy"),
        ("policy", json!({"failon": []}), "invalid-body", "/policy/failon"),
        ("environments", json!({"dev": {}}), "invalid-body", "/environments"),
        ("environments", json!([["dev", {}]]), "invalid-body", "/environments/0"),
        (
            "environments",
            json!([{"name": "dev", "policy": {"maxTools": 100_001}}]),
            "invalid-body",
            "/environments/0/policy/maxTools",
        ),
        ("policy", json!({"deprecationDays": 100_001}), "invalid-body", "/policy/deprecationDays"),
        (
            "environments",
            json!([{"name": "dev", "policy": {}}, {"name": "dev", "policy": {}}]),
            "invalid-body",
            "/environments/1/name",
        ),
        ("environments", json!([{"name": "dev", "policy": {"after": "dev"}}]), "bad-environments", ""),
        ("servers", json!([{"name": "orders", "tools": ["[a"]}]), "invalid-body", "/servers/0/tools"),
        ("servers", json!([{"name": "orders"}, {"name": "orders"}]), "invalid-body", "/servers/1/name"),
        (
            "servers",
            json!([{"name": "orders", "source": {"command": ["sh"]}}]),
            "invalid-body",
            "/servers/0/source",
        ),
        ("servers", json!([{"name": "ghost"}]), "unknown-server", ""),
    ] {
        let mut body = settings();
        body[member] = value;
        let answer = answer(&app, put(SHOP, body.clone()).header("if-match", &tag)).await;
        let problem: Value = serde_json::from_str(&answer.body).expect("a problem");
        assert_eq!(problem["code"], code, "{body}: {}", answer.body);
        if !pointer.is_empty() {
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {}", answer.body);
        }
    }
    for member in ["policy", "environments", "servers"] {
        let mut body = settings();
        body.as_object_mut().expect("an object").remove(member);
        let refused = check(&app, put(SHOP, body).header("if-match", &tag)).await;
        assert!(refused.contains(&format!("missing field `{member}`")), "{refused}");
    }
}

#[tokio::test]
async fn what_is_set_replaces_what_was_and_is_read_back() {
    let app = seed::story().await;
    let seen = answer(&app, get(SHOP)).await.header("etag").to_owned();
    // That a draft is rejected meanwhile is in nobody's way.
    app.reject(&seed::name("shop"), 4, "not now", "ann").await.expect("rejected");
    let parts = ["/policy", "/environments", "/servers", "/versions/0/version"];
    let ask = put(SHOP, settings()).header("if-match", &seen).by("mara");
    let set = check_parts(&app, ask, &parts).await;
    assert_snapshot!(set, @r#"
    200 content-type=application/json etag="4d67f5e84c06-…"
    /policy: {"assume":"declared","formats":"risky","failOn":["breaking"],"compatibility":"full","against":"latest","approvals":1,"maxTools":40}
    /environments: [{"name":"staging","policy":{}},{"name":"a-production","policy":{"after":"staging","approvals":2,"probe":"record"}}]
    /servers: [{"name":"orders","tools":["order_*","!order_cancel"]}]
    /versions/0/version: "2026.11.28"
    "#);
    let read = check_parts(&app, get(SHOP), &parts).await;
    assert_eq!(read, set);
    let stale = check(&app, put(SHOP, settings()).header("if-match", &seen)).await;
    assert!(stale.starts_with("412 ") && stale.contains("stale-settings"), "{stale}");
    // What is read can be sent back, and changes nothing.
    let now = answer(&app, get(SHOP)).await;
    let page: Value = serde_json::from_str(&now.body).expect("a catalog");
    let before = app.events(100).await.expect("events").len();
    let same =
        json!({"policy": page["policy"], "environments": page["environments"], "servers": page["servers"]});
    let again = answer(&app, put(SHOP, same).header("if-match", now.header("etag"))).await;
    assert_eq!((again.status.as_u16(), again.header("etag")), (200, now.header("etag")), "{}", again.body);
    let events = app.events(100).await.expect("events");
    assert_eq!(events.len(), before);
    assert_eq!(events[0].actor, "mara");
}

#[tokio::test]
async fn a_catalog_is_made_where_it_is_not_there() {
    let app = seed::story().await;
    let ask = || put("/api/v1/catalogs/new", settings()).header("if-none-match", "*");
    assert_snapshot!(check_parts(&app, ask(), &["/name", "/versions", "/servers"]).await, @r#"
    201 content-type=application/json etag="6bc2ddbf4c66-…" location=/api/v1/catalogs/new
    /name: "new"
    /versions: []
    /servers: [{"name":"orders","tools":["order_*","!order_cancel"]}]
    "#);
    assert!(check(&app, ask()).await.starts_with("412 "));
}

#[tokio::test]
async fn where_a_server_is_found_is_not_set_and_stays() {
    let app = seed::story().await;
    let document = "catalog: shop\nservers:\n  orders:\n    command: [orders-mcp, --quiet]\n";
    app.apply("shop.yaml", document, "ann").await.expect("applied");
    let tag = answer(&app, get(SHOP)).await.header("etag").to_owned();
    let set = answer(&app, put(SHOP, settings()).header("if-match", &tag)).await;
    assert_eq!(set.status.as_u16(), 200, "{}", set.body);
    let kept = app.export(&seed::name("shop"), None).await.expect("exported");
    assert!(kept.contains("orders-mcp"), "{kept}");
}
