//! Servers and their listings.

use insta::assert_snapshot;

use super::{check, check_parts};
use crate::{ask::get, seed};

#[tokio::test]
async fn an_unknown_server_is_not_found() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, get("/api/v1/servers/order")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-server",
      "title": "unknown server",
      "status": 404,
      "detail": "server `order` does not exist; did you mean `orders`?",
      "code": "unknown-server",
      "help": "known: billing, orders"
    }
    "#);
}

#[tokio::test]
async fn servers_are_listed_with_how_their_last_listing_ended() {
    let app = seed::story().await;
    let parts = [
        "/items/0/name",
        "/items/0/last/outcome",
        "/items/0/last/evidence/message",
        "/items/0/lastOk",
        "/items/1/name",
        "/items/1/lastOk/tools",
        "/items/1/lastOk/digest",
    ];
    assert_snapshot!(check_parts(&app, get("/api/v1/servers"), &parts).await, @r#"
    200 content-type=application/json
    /items/0/name: "billing"
    /items/0/last/outcome: "unavailable"
    /items/0/last/evidence/message: "server `billing` ended before it answered `initialize`, with exit code 1"
    /items/0/lastOk: null
    /items/1/name: "orders"
    /items/1/lastOk/tools: 4
    /items/1/lastOk/digest: "sha256:374272931dece0265e666d41d9dfcdcdcccea925cc365acf3151b1aa80123292"
    "#);
}

#[tokio::test]
async fn a_server_shows_its_listings_and_tools() {
    let app = seed::story().await;
    let parts = [
        "/name",
        "/listings/0/outcome",
        "/listings/2/provenance/serverInfo/version",
        "/tools/0/name",
        "/tools/0/tool/title",
        "/tools/0/digests/contract",
        "/tools/0/aliases/gemini-cli",
        "/tools/0/aliasWarnings",
    ];
    assert_snapshot!(check_parts(&app, get("/api/v1/servers/orders"), &parts).await, @r#"
    200 content-type=application/json
    /name: "orders"
    /listings/0/outcome: "ok"
    /listings/2/provenance/serverInfo/version: "1.4.0"
    /tools/0/name: "order_query"
    /tools/0/tool/title: "Query orders"
    /tools/0/digests/contract: "sha256:5925fa084705f9fce82896d679ee6a105c2821cc356c921d57c6431ada54e181"
    /tools/0/aliases/gemini-cli: "mcp_orders_order_query"
    /tools/0/aliasWarnings: null
    "#);
}

#[tokio::test]
async fn a_server_that_was_never_listed_says_where_it_is_found() {
    let app = seed::story().await;
    let document =
        "catalog: later\nservers:\n  later:\n    url: https://user:s3cr3t@later.example/mcp?key=s3cr3t\n";
    app.apply("later.yaml", document, "ann").await.expect("applied");
    let parts = ["/items/1/name", "/items/1/source", "/items/1/last"];
    assert_snapshot!(check_parts(&app, get("/api/v1/servers"), &parts).await, @r#"
    200 content-type=application/json
    /items/1/name: "later"
    /items/1/source: "https://later.example/mcp"
    /items/1/last: null
    "#);
    let parts = ["/source", "/listings", "/tools"];
    assert_snapshot!(check_parts(&app, get("/api/v1/servers/later"), &parts).await, @r#"
    200 content-type=application/json
    /source: "https://later.example/mcp"
    /listings: []
    /tools: []
    "#);
    for page in ["/servers", "/servers/later", "/"] {
        let shown = crate::ask::answer(&app, get(page)).await;
        assert!(shown.status.is_success() && !shown.body.contains("s3cr3t"), "{page}");
    }
}
