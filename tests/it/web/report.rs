//! How a report is arranged on a page.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::check;
use crate::{
    ask::{answer, get},
    seed, support,
};

#[tokio::test]
async fn tools_that_are_only_written_otherwise_are_told_at_once() {
    let app = seed::empty().await;
    let list = |anew: bool| -> Vec<Value> {
        let kind = |i: usize| match (anew, i) {
            // One that breaks, beside 28 that do not.
            (true, 28) => json!({ "type": "integer" }),
            (true, _) => json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            (false, _) => json!({ "type": ["string", "null"] }),
        };
        let tool = |i| json!({ "name": format!("tool_{i}"), "inputSchema": { "type": "object", "properties": { "a": kind(i) } } });
        (0..29).map(tool).collect()
    };
    let (orders, shop) = (seed::name("orders"), seed::name("shop"));
    app.record(&orders, support::listing(&list(false)), "poller").await.expect("it is recorded");
    app.draft(&shop, std::slice::from_ref(&orders), "ann").await.expect("a draft forms");
    app.approve(&shop, 1, true, "as it is", "ann").await.expect("it is approved");
    app.record(&orders, support::listing(&list(true)), "poller").await.expect("it is recorded");
    let path = "/diff?baseline=shop@2026.11.30&candidate=orders@latest";
    let page = answer(&app, get(path)).await;
    assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
    check(path, &page);
    let times = |text: &str| page.body.matches(text).count();
    assert_eq!(times("<h3>28 tools</h3>"), 1, "{path}: {}", page.body);
    assert_eq!(times("href=\"/rules/notation-changed\""), 1, "{path}");
    assert_eq!(times("28 tools that are only written otherwise"), 1, "{path}");
    // Each is named in both lists, and the one that breaks stands by itself.
    assert_eq!((times(">tool_7<"), times(">tool_28<")), (2, 2), "{path}");
    assert!(!page.body.contains("are not shown here"), "{path}");

    // A review folds them, says how many there are, and shows what breaks.
    let path = "/catalogs/shop/drafts/2?assume=declared";
    let page = answer(&app, get(path)).await;
    check(path, &page);
    for text in [
        "<details class=\"breaking\" open>",
        "<details class=\"notation\">",
        "Notation <span class=\"count\">28</span>",
    ] {
        assert!(page.body.contains(text), "no {text} in {}", page.body);
    }
}

#[tokio::test]
async fn a_review_of_six_hundred_changes_stays_small_and_reaches_each() {
    let app = seed::empty().await;
    let list = |kind: &str| -> Vec<Value> {
        let properties: serde_json::Map<String, Value> = (0..20)
            .map(|i| (format!("property_{i}"), json!({ "type": kind, "description": "what it is" })))
            .collect();
        let tool = |i| json!({ "name": format!("tool_{i}"), "inputSchema": { "type": "object", "properties": properties } });
        (0..30).map(tool).collect()
    };
    let (orders, shop) = (seed::name("orders"), seed::name("shop"));
    app.record(&orders, support::listing(&list("string")), "poller").await.expect("it is recorded");
    app.draft(&shop, std::slice::from_ref(&orders), "ann").await.expect("a draft forms");
    app.approve(&shop, 1, true, "as it is", "ann").await.expect("it is approved");
    app.record(&orders, support::listing(&list("integer")), "poller").await.expect("it is recorded");
    let (mut at, mut seen) = ("/catalogs/shop/drafts/2".to_owned(), 0);
    loop {
        let page = answer(&app, get(&at)).await;
        assert_eq!(page.status, StatusCode::OK, "{at}: {}", page.body);
        assert!(page.body.len() < 300_000, "{at} has {} bytes", page.body.len());
        assert!(page.body.contains("Breaking <span class=\"count\">450</span>"), "{at}");
        seen += 1;
        assert!(seen < 100, "it comes to no end");
        // Those of which the engine says that it does not know are a group of their own.
        let breaking = page.body.split("<details class=\"undecided\"").next().unwrap_or_default();
        let Some((before, _)) = breaking.split_once(" after these") else { break };
        let (_, link) = before.rsplit_once("href=\"").expect("by a link");
        at = link.split(['#', '"']).next().unwrap_or_default().to_owned();
    }
    assert!(seen > 4, "the queue is shown a stretch at a time");
}
