//! Documents in and out, and what people write for one side of a diff.

use toolpact::{
    app::{Kind, MoveRequest},
    catalog::Policy,
    diff::Assumption,
};

use super::{first, orders, refused, two_versions};
use crate::support::{app, is, listing, to, tool};

#[tokio::test]
async fn a_document_is_applied_once_and_exported_as_it_was() {
    let (app, _store) = app().await;
    let text = "\
catalogVersion: 2025.01.12
tools:
  - name: order_query_v2
    contractVersion: 2
    compatibility: breaking
  - name: order_query
    contractVersion: 1
    compatibility: backward-compatible
";
    let applied = app.apply("catalogs/payments.yaml", text, "ann").await.expect("applied");
    assert_eq!((applied.catalog.name.as_str(), applied.unchanged), ("payments", false));
    assert!(app.apply("catalogs/payments.yaml", text, "ann").await.expect("applied").unchanged);
    assert_eq!(app.export(&is("payments"), None).await.expect("exported"), text);
    assert_eq!(app.events(10).await.expect("events").len(), 2);

    let other = text.replace("contractVersion: 2", "contractVersion: 3");
    let (kind, code, _) = refused(app.apply("payments", &other, "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "version-exists"));
    let (kind, _, message) =
        refused(app.apply("catalogs/payments.yaml", &text.replace("breaking", "braking"), "ann").await);
    assert_eq!(kind, Kind::Invalid);
    assert!(message.starts_with("catalogs/payments.yaml:5:20: unknown word `braking`"), "{message}");
    let (_, code, message) = refused(app.side("payments@2025.01.12").await);
    assert_eq!(code, "no-contracts", "{message}");
}

#[tokio::test]
async fn an_exported_version_can_be_applied_elsewhere() {
    let (here, _store) = two_versions().await;
    let text = here.export(&orders(), None).await.expect("exported");
    let (there, _store) = app().await;
    there.apply("x.yaml", &text, "bob").await.expect("applied");
    assert_eq!(there.export(&orders(), None).await.expect("exported"), text);
    assert!(text.contains("version: \"1.2.3\""), "{text}");
    // Its contracts are not there, and that is said rather than compared with nothing.
    let (_, code, message) = refused(there.side("orders@2026.11.30.1").await);
    assert_eq!(code, "contract-not-stored", "{message}");
    let listed = [tool("b", &[]), tool("a", &["id"])];
    let recorded = there.record(&is("orders"), listing(&listed), "ci").await.expect("recorded");
    assert_eq!(there.side("orders@2026.11.30.1").await.expect("now it is").servers[0].1.len(), 2);
    assert!(recorded.drafts.is_empty(), "the same contracts in another order are nothing to review");
}

#[tokio::test]
async fn sides_are_found_by_what_people_write() {
    let (app, _store) = two_versions().await;
    app.promote(&to("production", first(), 0)).await.expect("promoted");
    let digest = app.server(&is("orders")).await.expect("there").listings[0].digest.clone().expect("ok");
    let (hex, short) = (&digest.as_str()[7..], digest.short());
    for (text, tools) in [
        ("orders@latest".to_owned(), 2),
        (format!("orders@{digest}"), 2),
        (format!("orders@{short}"), 2),
        (format!("orders@sha256:{}", &hex[..6]), 2),
        ("orders@2026.11.30".to_owned(), 1),
        ("orders@2026.11.30.1".to_owned(), 2),
        ("production".to_owned(), 1),
    ] {
        let side = app.side(&text).await.unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((side.label.as_str(), side.servers.len()), (text.as_str(), 1));
        assert_eq!(side.servers[0].1.len(), tools, "{text}");
    }
    for (text, kind, code) in [
        ("order@latest", Kind::NotFound, "unknown-server"),
        ("orders@abc", Kind::Invalid, "bad-side"),
        ("orders@ffffffffffff", Kind::NotFound, "unknown-snapshot"),
        ("orders@2026.11.29", Kind::NotFound, "unknown-version"),
        ("order@2026.11.29", Kind::NotFound, "unknown-catalog"),
        ("orders@2026.11", Kind::Invalid, "bad-side"),
        ("prod", Kind::NotFound, "unknown-environment"),
        ("no such.json", Kind::Invalid, "bad-side"),
        ("@", Kind::Invalid, "bad-side"),
        ("", Kind::Invalid, "bad-side"),
    ] {
        let (found, found_code, message) = refused(app.side(text).await);
        assert_eq!((found, found_code), (kind, code), "{text}: {message}");
    }
}

#[test]
fn files_that_are_no_tools_list_are_refused_by_name() {
    let deep =
        format!("{{\"tools\":[{{\"name\":\"a\",\"inputSchema\":{}}}]}}", "[".repeat(120) + &"]".repeat(120));
    for (text, code) in [
        ("{", "not-json"),
        ("", "not-json"),
        ("12", "not-a-tools-list"),
        ("{\"tool\":[]}", "not-a-tools-list"),
        ("{\"error\":{\"code\":-32601}}", "not-a-tools-list"),
        ("{\"tools\":[],\"nextCursor\":\"x\"}", "one-page"),
        ("[{\"name\":\"a\"}]", "unreadable-tool"),
        (&deep, "unreadable-tool"),
    ] {
        let side = toolpact::app::view::file_side("tools.json", text);
        let (kind, found, message) = refused(side);
        assert_eq!((kind, found), (Kind::Invalid, code), "{text}: {message}");
        assert!(message.starts_with("`tools.json` "), "{message}");
    }
}

#[tokio::test]
async fn a_reference_stands_under_the_policy_of_what_it_names() {
    let (app, _store) = two_versions().await;
    // The catalog `orders` lets everything pass; the server of the same name stands under no catalog.
    app.apply("orders", "catalog: orders\npolicy: {failOn: []}\n", "ann").await.expect("applied");
    app.apply(
        "shop",
        "catalog: shop\npolicy: {assume: strict}\ncatalogVersion: 2026.11.30\ntools: []\n",
        "ann",
    )
    .await
    .expect("applied");
    app.promote(&MoveRequest { catalog: Some(is("shop")), ..to("staging", is("2026.11.30"), 0) })
        .await
        .expect("promoted");
    let lax = Policy { fail_on: Vec::new(), ..Policy::default() };
    let strict = Policy { assume: Assumption::Strict, ..Policy::default() };
    for (reference, policy) in [
        ("orders@latest", Policy::default()),
        ("orders@sha256:0123456789", Policy::default()),
        ("orders@2026.11.30", lax),
        ("shop@latest", strict.clone()),
        ("staging", strict),
        ("nowhere", Policy::default()),
    ] {
        assert_eq!(app.policy_of(reference).await.expect("a policy"), policy, "{reference}");
    }
}

#[tokio::test]
async fn the_log_tells_where_servers_are_found_but_no_secret_of_it() {
    let (app, _store) = app().await;
    let text = "\
catalog: orders
servers:
  local:
    command: [npx, server, --api-key, hidden]
  remote:
    url: https://user:hidden@example.com/mcp?key=hidden
";
    app.apply("orders.yaml", text, "ann").await.expect("applied");
    let events = app.events(9).await.expect("events");
    let applied = events.iter().find(|e| e.kind == "catalog.applied").expect("it was applied");
    assert_eq!(
        applied.data["servers"],
        serde_json::json!([
            {"name": "local", "source": "npx server --api-key …"},
            {"name": "remote", "source": "https://example.com/mcp"},
        ])
    );
    assert!(!format!("{events:?}").contains("hidden"), "{events:?}");
    // The document itself comes back whole.
    assert!(app.export(&orders(), None).await.expect("exported").contains("--api-key, hidden"));
}
