//! Catalogs and their versions.

use insta::assert_snapshot;

use super::{check, check_parts};
use crate::{ask::get, seed};

#[tokio::test]
async fn unknown_catalogs_and_versions_are_not_found() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, get("/api/v1/catalogs/shp")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-catalog",
      "title": "unknown catalog",
      "status": 404,
      "detail": "catalog `shp` does not exist; did you mean `shop`?",
      "code": "unknown-catalog",
      "help": "known: shop"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/catalogs/shop/versions/2020.01.01")).await, @r#"
    404 content-type=application/problem+json
    {
      "type": "/errors/unknown-version",
      "title": "unknown version",
      "status": 404,
      "detail": "catalog `shop` has no version 2020.01.01",
      "code": "unknown-version",
      "help": "its newest version is 2026.11.28"
    }
    "#);
    assert_snapshot!(check(&app, get("/api/v1/catalogs/shop/versions/2026.11.28?format=xml")).await, @r#"
    400 content-type=application/problem+json
    {
      "type": "/errors/invalid-query",
      "title": "invalid query",
      "status": 400,
      "detail": "the query cannot be read: format: unknown variant `xml`, expected `json` or `yaml`",
      "code": "invalid-query"
    }
    "#);
}

#[tokio::test]
async fn catalogs_are_listed_with_what_waits() {
    let app = seed::story().await;
    assert_snapshot!(check(&app, get("/api/v1/catalogs")).await, @r#"
    200 content-type=application/json
    {
      "items": [
        {
          "name": "shop",
          "servers": [
            "orders"
          ],
          "latest": "2026.11.28",
          "pending": [
            {
              "id": 4,
              "verdict": "breaking"
            }
          ]
        }
      ]
    }
    "#);
}

#[tokio::test]
async fn a_catalog_leads_to_its_versions_and_drafts() {
    let app = seed::story().await;
    let parts = [
        "/name",
        "/policy",
        "/servers",
        "/versions/0/version",
        "/versions/1/reason",
        "/drafts/0/id",
        "/drafts/0/status",
        "/drafts/1/status",
        "/live/0/environment",
        "/live/1/version",
    ];
    assert_snapshot!(check_parts(&app, get("/api/v1/catalogs/shop"), &parts).await, @r#"
    200 content-type=application/json etag="663cd0e2bc10-…"
    /name: "shop"
    /policy: {"assume":"declared","formats":"risky","failOn":["breaking","undecided"],"compatibility":"full","against":"latest","approvals":0}
    /servers: [{"name":"orders","tools":[]}]
    /versions/0/version: "2026.11.28"
    /versions/1/reason: "the contracts as they stand"
    /drafts/0/id: 4
    /drafts/0/status: "pending"
    /drafts/1/status: "superseded"
    /live/0/environment: "production"
    /live/1/version: "2026.11.28"
    "#);
}

#[tokio::test]
async fn a_version_is_given_as_json_or_as_its_document() {
    let app = seed::story().await;
    let path = "/api/v1/catalogs/shop/versions/2026.11.26";
    let parts = ["/version", "/draft", "/approvedBy", "/members/0/tool", "/members/0/contractVersion"];
    assert_snapshot!(check_parts(&app, get(path), &parts).await, @r#"
    200 content-type=application/json
    /version: "2026.11.26"
    /draft: 1
    /approvedBy: "jonas"
    /members/0/tool: "customer_note"
    /members/0/contractVersion: "1.0.0"
    "#);
    let document = check(&app, get(&format!("{path}?format=yaml"))).await;
    assert!(document.starts_with("200 content-type=application/yaml\n"), "{document}");
    assert!(document.contains("catalogVersion: 2026.11.26"), "{document}");
    assert_eq!(check(&app, get(path).header("accept", "application/yaml, */*")).await, document);
}
