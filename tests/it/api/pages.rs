//! Lists, a page at a time: every item once, in order, and no cursor but that of the list.

use serde_json::{Value, json};
use toolpact::app::App;

use super::check;
use crate::{
    ask::{answer, get, post},
    seed,
};

/// Every list of the story: where it is, and how its items are told apart.
const LISTS: [(&str, &str); 12] = [
    ("/api/v1/servers", "/name"),
    ("/api/v1/servers/orders/snapshots", "/id"),
    ("/api/v1/servers/orders/snapshots?outcome=ok", "/id"),
    ("/api/v1/catalogs", "/name"),
    ("/api/v1/catalogs/shop/versions", "/version"),
    ("/api/v1/catalogs/shop/drafts", "/id"),
    ("/api/v1/environments", "/environment"),
    ("/api/v1/environments/production/moves", "/generation"),
    ("/api/v1/environments/production/moves?catalog=shop", "/generation"),
    ("/api/v1/events", "/seq"),
    ("/api/v1/checks", "/id"),
    ("/api/v1/checks?catalog=shop&verdict=breaking", "/id"),
];

/// The story, with builds that were checked.
async fn story() -> App {
    let app = seed::story().await;
    for commit in ["a1", "a2", "a3"] {
        let check = json!({
            "environment": "production", "servers": [{"server": "orders", "listing": {"tools": []}}],
            "context": {"commit": commit},
        });
        assert_eq!(answer(&app, post("/api/v1/checks", check)).await.status, 201);
    }
    app
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}"))
}

fn keys(page: &Value, key: &str) -> Vec<String> {
    let items = page["items"].as_array().expect("items");
    items.iter().map(|item| item.pointer(key).expect("a key").to_string()).collect()
}

#[tokio::test]
async fn page_by_page_every_item_comes_once_and_in_order() {
    let app = story().await;
    for (path, key) in LISTS {
        let whole = parsed(&answer(&app, get(path)).await.body);
        assert!(whole["next"].is_null(), "{path}");
        let (expected, mut seen) = (keys(&whole, key), Vec::new());
        let mut next = Some(format!("{path}{}limit=1", if path.contains('?') { '&' } else { '?' }));
        while let Some(path) = next {
            let answer = answer(&app, get(&path)).await;
            let page = parsed(&answer.body);
            assert!(page["items"].as_array().is_some_and(|items| items.len() <= 1), "{path}");
            seen.extend(keys(&page, key));
            let link = answer.header("link");
            next =
                link.strip_prefix('<').and_then(|l| l.strip_suffix(">; rel=\"next\"")).map(ToOwned::to_owned);
            let cursor = page["next"].as_str();
            assert_eq!(next.is_some(), cursor.is_some(), "{path}: {link}");
            if let (Some(next), Some(cursor)) = (&next, cursor) {
                assert!(next.ends_with(&format!("cursor={cursor}")), "{next}");
                assert_eq!(next.matches("cursor=").count(), 1, "{next}");
            }
        }
        assert!(!seen.is_empty(), "{path}");
        assert_eq!(seen, expected, "{path}");
    }
}

#[tokio::test]
async fn what_is_added_meanwhile_moves_nothing() {
    let app = seed::story().await;
    let first = parsed(&answer(&app, get("/api/v1/events?limit=2")).await.body);
    let cursor = first["next"].as_str().expect("there are more").to_owned();
    let path = format!("/api/v1/events?limit=2&cursor={cursor}");
    let before = answer(&app, get(&path)).await.body;
    app.apply("later.yaml", "catalog: later\nservers:\n  a:\n    command: [a]\n", "ann")
        .await
        .expect("applied");
    assert_eq!(answer(&app, get(&path)).await.body, before);
}

#[tokio::test]
async fn a_cursor_of_another_list_or_none_is_refused() {
    let app = seed::story().await;
    let events = parsed(&answer(&app, get("/api/v1/events?limit=1")).await.body);
    let events = events["next"].as_str().expect("there are more").to_owned();
    for (path, _) in LISTS {
        let with =
            |cursor: &str| format!("{path}{}cursor={cursor}", if path.contains('?') { '&' } else { '?' });
        let foreign = if path == "/api/v1/events" { "bm9uZQ" } else { events.as_str() };
        // `["x",1]`, a list's name alone, no base64, nothing, and what is too long to be one.
        for cursor in [foreign, "WyJ4IiwxXQ", "WyJldmVudHMiXQ", "%21", "", &"A".repeat(4_000)] {
            let refused = check(&app, get(&with(cursor))).await;
            assert!(
                refused.starts_with("400 ") && refused.contains("invalid-cursor"),
                "{path} {cursor}: {refused}"
            );
        }
        for limit in ["0", "1001", "-1", "many", "1e3"] {
            let path = with("x").replace("cursor=x", &format!("limit={limit}"));
            let refused = check(&app, get(&path)).await;
            assert!(refused.starts_with("400 ") && refused.contains("invalid-query"), "{path}: {refused}");
        }
    }
}

#[tokio::test]
async fn lists_are_filtered_by_what_their_readers_look_for() {
    let app = seed::story().await;
    for (path, key, expected) in [
        ("servers?outcome=unavailable", "/name", r#""billing""#),
        ("servers?outcome=ok", "/name", r#""orders""#),
        ("servers?outcome=timeout", "/name", ""),
        ("servers/billing/snapshots?outcome=ok", "/id", ""),
        ("catalogs/shop/drafts?status=pending", "/id", "4"),
        ("catalogs/shop/drafts?status=approved", "/id", "2 1"),
        ("catalogs/shop/drafts?status=rejected", "/id", ""),
        ("events?kind=environment.&actor=oncall", "/data/generation", "3"),
        ("events?kind=environment.promoted&subject=environment/staging", "/data/generation", "2 1"),
        ("events?kind=environment.promote", "/seq", ""),
        ("events?since=2026-11-29T00:00:00Z&kind=environment.", "/data/generation", "3"),
        ("events?since=2030-01-01T00:00:00Z", "/seq", ""),
    ] {
        let page = parsed(&answer(&app, get(&format!("/api/v1/{path}"))).await.body);
        assert_eq!(keys(&page, key).join(" "), expected, "{path}");
        assert!(page["next"].is_null(), "{path}");
    }
}

#[tokio::test]
async fn lists_of_what_is_not_there_are_not_empty_but_refused() {
    let app = seed::story().await;
    for path in [
        "servers/ghost/snapshots",
        "catalogs/ghost/versions",
        "catalogs/ghost/drafts",
        "environments/ghost/moves",
        "environments/production/moves?catalog=ghost",
    ] {
        let refused = check(&app, get(&format!("/api/v1/{path}"))).await;
        assert!(refused.starts_with("404 "), "{path}: {refused}");
    }
}
