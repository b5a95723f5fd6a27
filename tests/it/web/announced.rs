//! What was announced to go is told wherever the change is looked at.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::{Value, json};
use toolpact::{
    app::App,
    catalog::CatalogVersion,
    name::{CatalogName, ServerName},
};

use super::check;
use crate::{
    ask::{answer, get, post},
    support::{Hands, is, listing, to},
};

fn tools(names: &[&str]) -> Vec<Value> {
    let tool =
        |name: &&str| json!({"name": name, "description": "Deprecated.", "inputSchema": {"type": "object"}});
    names.iter().map(tool).collect()
}

async fn says(app: &App, path: &str, text: &str) {
    let page = answer(app, get(path)).await;
    assert_eq!(page.status.as_u16(), 200, "{path}: {}", page.body);
    check(path, &page);
    assert!(page.body.contains(text), "{path}: no `{text}` in {}", page.body);
}

#[tokio::test]
async fn the_pages_of_checks_drafts_and_moves_say_since_when_it_was_announced_and_when_it_may_go() {
    let clock = Hands::at_noon();
    let app = App::new(crate::database::store().await, Arc::new(clock.clone()));
    let (catalog, server): (CatalogName, ServerName) = (is("orders"), is("orders"));
    app.record(&server, listing(&tools(&["a", "b"])), "ci").await.expect("recorded");
    app.draft(&catalog, std::slice::from_ref(&server), "ci").await.expect("drafted");
    app.approve(&catalog, 1, false, "first", "ann").await.expect("approved");
    let first: CatalogVersion = is("2026.11.30");
    app.promote(&to("production", first, 0)).await.expect("promoted");
    let settings =
        "catalog: orders\npolicy: {deprecationDays: 90}\nenvironments: {production: {probe: skip}}\n";
    app.apply("orders.yaml", settings, "ann").await.expect("applied");

    clock.by(TimeDelta::days(89));
    let build = json!({
        "environment": "production", "servers": [{"server": "orders", "listing": {"tools": tools(&["a"])}}],
    });
    let made: Value =
        serde_json::from_str(&answer(&app, post("/api/v1/checks", build)).await.body).expect("JSON");
    assert_eq!(
        made["standing"][0]["announced"],
        json!({"since": "2026-11-30", "days": 90, "from": "2027-02-28", "over": false})
    );
    app.record(&server, listing(&tools(&["a"])), "ci").await.expect("recorded");
    let (check, draft) = ("/checks/1", "/catalogs/orders/drafts/2");
    let told = "Announced on 2026-11-30, 90 days promised: it may go";
    for path in [check, draft] {
        says(&app, path, &format!("{told} from 2027-02-28 on.")).await;
    }
    says(&app, draft, "until somebody decides, or until its day comes").await;

    clock.by(TimeDelta::days(1));
    for path in [check, draft] {
        says(&app, path, &format!("{told}.")).await;
    }
    says(&app, check, "No change stands in the way").await;
    let approved = app.approve(&catalog, 2, false, "it goes", "ann").await.expect("approved");
    let version = approved.version.expect("one is enough").version;
    let path = format!("/environments/production/preflight?kind=promote&catalog=orders&version={version}");
    says(&app, &path, "Changes that were announced").await;
    says(&app, &path, "announced on 2026-11-30, 90 days promised").await;
}
