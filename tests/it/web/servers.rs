//! Servers on their pages: added by a URL, asked now, looked through; tools with their past; and search.

use axum::http::StatusCode;
use serde_json::{Value, json};
use toolpact::app::App;

use super::check;
use crate::{
    ask::{Ask, answer, get, submit},
    seed, support,
};

async fn at(app: &App, path: &str) -> String {
    let page = answer(app, get(path)).await;
    assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
    check(path, &page);
    page.body
}

async fn refused(app: &App, ask: Ask, status: StatusCode, says: &str) {
    let page = answer(app, ask).await;
    assert_eq!(page.status, status, "{}", page.body);
    check("a form", &page);
    assert!(page.body.contains(says), "{says}: {}", page.body);
}

#[tokio::test]
async fn a_server_is_added_by_its_url_and_never_by_a_command() {
    let app = seed::story().await;
    let add = |url: &'static str| submit("/servers", &[("name", "maps"), ("url", url)]);
    refused(&app, add("npx -y maps"), StatusCode::BAD_REQUEST, "toolpact servers add maps -- COMMAND").await;
    refused(&app, add("file:///etc/passwd"), StatusCode::BAD_REQUEST, "is no URL").await;
    let added = answer(&app, add("https://maps.example/${HOME}/mcp")).await;
    assert_eq!(
        (added.status, added.header("location")),
        (StatusCode::SEE_OTHER, "/servers/maps"),
        "{}",
        added.body
    );
    // What a browser sends refers to nothing.
    let specs = app.registered().await.expect("read");
    let spec = specs.iter().find(|spec| spec.name.as_str() == "maps").expect("registered");
    assert!(spec.references().is_empty(), "{spec:?}");
    let page = at(&app, "/servers/maps").await;
    assert!(page.contains("Snapshot now") && page.contains("It was never asked"), "{page}");
    refused(&app, add("https://other.example/mcp"), StatusCode::CONFLICT, "registered as").await;
    refused(&app, submit("/servers/orders/snapshot", &[]), StatusCode::NOT_FOUND, "is not registered").await;
}

#[tokio::test]
async fn servers_are_looked_through_by_name_outcome_and_team() {
    let app = seed::story().await;
    let team = [("name", "shop-people"), ("members", "mara"), ("servers", "orders")];
    assert_eq!(answer(&app, submit("/teams", &team)).await.status, StatusCode::SEE_OTHER);
    for (query, orders, billing) in [
        ("", true, true),
        ("?name=ORD", true, false),
        ("?outcome=unavailable", false, true),
        ("?outcome=ok&team=shop-people", true, false),
        ("?team=nobody-of-ours", false, false),
        ("?after=billing", true, false),
    ] {
        let page = at(&app, &format!("/servers{query}")).await;
        let has = |name: &str| page.contains(&format!("<a href=\"/servers/{name}\">"));
        assert_eq!((has("orders"), has("billing")), (orders, billing), "{query}: {page}");
    }
    // Live where its first release is, and it lists a third by now.
    let page = at(&app, "/servers?name=orders").await;
    for told in ["shop-people", "stdio", "2025-11-25", "drift", "/environments/production"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let overview = at(&app, "/").await;
    for told in ["lists something else", "with exit code 1", "generation 3", "href=\"/servers/billing\""] {
        assert!(overview.contains(told), "{told}: {overview}");
    }
    let bad = answer(&app, get("/servers?outcome=fine")).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_tool_shows_every_contract_and_change_that_it_had() {
    let app = seed::story().await;
    let page = at(&app, "/servers/orders/tools/order_query/history").await;
    for told in ["2026.11.26", "initial", "no longer accepts", "drafts/4", "pending"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    // One that the server lists no more has its past still.
    let page = at(&app, "/servers/orders/tools/order_cancel/history").await;
    assert!(page.contains("does not list it any more"), "{page}");
    let never = answer(&app, get("/servers/orders/tools/never/history")).await;
    assert_eq!(never.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn search_finds_servers_tools_and_parameters() {
    let app = seed::story().await;
    let page = at(&app, "/search?q=ORDER").await;
    for link in ["/servers/orders", "/servers/orders/tools/order_query"] {
        assert!(page.contains(&format!("class=\"row\" href=\"{link}\"")), "{link}: {page}");
    }
    let page = at(&app, "/search?q=descending").await;
    assert!(page.contains("sort.descending"), "{page}");
    assert!(at(&app, "/search?q=nothing-like-it").await.contains("Nothing found"));
    let long = answer(&app, get(&format!("/search?q={}", "x".repeat(101)))).await;
    assert_eq!(long.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn pages_of_550_tools_stay_small() {
    let app = seed::empty().await;
    let tool = |i: usize| {
        let words = "Does one of the many things that this server can do, at some length. ".repeat(4);
        json!({ "name": format!("tool_number_{i}"), "description": words, "inputSchema": { "type": "object", "properties": {
            "subject": { "type": "string", "description": words } } } })
    };
    let all: Vec<Value> = (0..550).map(tool).collect();
    let (big, shop) = (seed::name("big"), seed::name("shop"));
    app.record(&big, support::listing(&all), "poller").await.expect("it is recorded");
    app.draft(&shop, std::slice::from_ref(&big), "ann").await.expect("a draft forms");
    app.approve(&shop, 1, true, "as it is", "ann").await.expect("it is approved");
    for path in [
        "/",
        "/servers",
        "/servers/big",
        "/servers/big?tools=400",
        "/servers/big/tools/tool_number_7",
        "/servers/big/tools/tool_number_7/history",
        "/catalogs/shop/versions/2026.11.30",
        "/catalogs/shop/versions/2026.11.30?tools=500",
        "/catalogs/shop/policy?failOn=compatible",
        "/search?q=tool",
        "/search?q=subject",
        "/events",
    ] {
        let page = at(&app, path).await;
        assert!(page.len() < 300_000, "{path} has {} bytes", page.len());
    }
    assert!(at(&app, "/servers/big?tools=400").await.contains("tool_number_549"));
}
