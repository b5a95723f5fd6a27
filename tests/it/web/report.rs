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
    for path in
        ["/diff?baseline=shop@2026.11.30&candidate=orders@latest", "/catalogs/shop/drafts/2?assume=declared"]
    {
        let page = answer(&app, get(path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        check(path, &page);
        let times = |text: &str| page.body.matches(text).count();
        assert_eq!(times("<h3>28 tools</h3>"), 1, "{path}: {}", page.body);
        assert_eq!(times("href=\"/rules/notation-changed\""), 1, "{path}");
        assert_eq!(times("28 tools that are only written otherwise"), 1, "{path}");
        // Each is named in both lists, and the one that breaks stands by itself.
        assert_eq!(times(">tool_7<"), 2, "{path}");
        assert_eq!(times(">tool_28<") - times("href=\"#f-"), 2, "{path}");
        assert!(!page.body.contains("are not shown here"), "{path}");
    }
}
