//! However long the history is, a page of it is read in the order of an index: the plans of all statements that lists and
//! pages run say so. How long that takes is measured in `benches/lists.rs`.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, sqlite::SqliteConnectOptions};
use toolpact::app::{App, Place};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

use crate::{
    ask::{answer, get},
    long::{self, Size},
    support::{Noon, is, listing, to, tool},
};

/// Tables that grow for as long as the service runs, as far as there is a history of them here: a table of one row is read whole
/// for good reasons.
const LONG: &[&str] = &[
    "content",
    "contracts",
    "snapshots",
    "snapshot_tools",
    "listings",
    "versions",
    "drafts",
    "moves",
    "events",
    "decisions",
    "checks",
];

/// Lists and pages, each as its reader meets it.
const PATHS: &[&str] = &[
    "/api/v1/servers",
    "/api/v1/servers?outcome=timeout",
    "/api/v1/servers/orders",
    "/api/v1/servers/server-000001/snapshots",
    "/api/v1/servers/server-000001/snapshots?outcome=ok",
    "/api/v1/catalogs",
    "/api/v1/catalogs/orders",
    "/api/v1/catalogs/orders/versions",
    "/api/v1/catalogs/orders/drafts",
    "/api/v1/catalogs/orders/drafts?status=rejected",
    "/api/v1/environments",
    "/api/v1/environments/production",
    "/api/v1/environments/production/catalog",
    "/api/v1/environments/production/moves",
    "/api/v1/environments/production/moves?catalog=orders",
    "/api/v1/events",
    "/api/v1/events?subject=subject/7",
    "/api/v1/events?kind=kind.7",
    "/api/v1/events?actor=actor-7",
    "/api/v1/events?kind=kind.&actor=actor-7&subject=subject/7",
    "/api/v1/checks",
    "/api/v1/checks?catalog=orders&verdict=risky",
    "/api/v1/checks?environment=production",
    "/api/v1/checks?repository=acme/7&branch=main",
    "/",
    "/checks",
    "/servers",
    "/servers/orders",
    "/catalogs",
    "/catalogs/orders",
    "/environments",
    "/environments/production",
    "/events",
];

/// Keeps the statements that are run, as the database's client logs them.
#[derive(Clone, Default)]
struct Statements(Arc<Mutex<BTreeSet<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            event.record(&mut self.clone());
        }
    }
}

impl tracing::field::Visit for Statements {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        if matches!(field.name(), "db.statement" | "summary") {
            self.0.lock().expect("whole").insert(value.trim().to_owned());
        }
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Everything that a history is copied from: one listing, draft, version and move.
async fn story(app: &App) {
    app.record(&is("orders"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    let draft = app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
    app.approve(&is("orders"), draft.id, false, "first", "ann").await.expect("approved");
    app.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
}

/// Set in the process that this test has to itself: what the client logs does not say of which database it is.
const ALONE: &str = "TOOLPACT_TEST_ALONE";

#[tokio::test]
async fn no_list_and_no_page_reads_a_whole_history() {
    if std::env::var_os(ALONE).is_none() {
        let this = std::env::current_exe().expect("this program");
        let mut alone = std::process::Command::new(this);
        alone.args(["--exact", "scale::no_list_and_no_page_reads_a_whole_history"]).env(ALONE, "1");
        let ended = alone.output().expect("it starts");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolpact.db");
    let app = App::open(&Place::File(file.clone()), Arc::new(Noon)).await.expect("opened");
    story(&app).await;
    long::fill(&file.to_string_lossy(), Size { servers: 120, history: 4_000 }).await;
    let mut db = SqliteConnectOptions::new().filename(&file).connect().await.expect("a second connection");
    // Opened anew, so that its connections know what was counted.
    let app = App::open(&Place::File(file), Arc::new(Noon)).await.expect("opened");
    let statements = Statements::default();
    let filter = tracing_subscriber::filter::LevelFilter::DEBUG;
    tracing_subscriber::registry().with(statements.clone().with_filter(filter)).init();
    for path in PATHS {
        let first = answer(&app, get(path)).await;
        assert_eq!(first.status, 200, "{path}: {}", first.body);
        let Some(cursor) = serde_json::from_str::<Value>(&first.body)
            .ok()
            .and_then(|page| page["next"].as_str().map(ToOwned::to_owned))
        else {
            continue;
        };
        let next = format!("{path}{}cursor={cursor}", if path.contains('?') { '&' } else { '?' });
        assert_eq!(answer(&app, get(&next)).await.status, 200, "{next}");
    }
    let statements = statements.0.lock().expect("whole").clone();
    let mut looked_at = 0;
    let reads = |s: &&String| (s.starts_with("SELECT") || s.starts_with("WITH")) && !s.ends_with('…');
    for statement in statements.iter().filter(reads) {
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let plan =
            sqlx::raw_sql(explain).fetch_all(&mut db).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
        let steps: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        // In the order of an index, and no further than a page.
        let is_page = statement.contains(" LIMIT ")
            && !statement.contains(" WHERE ")
            && !steps.concat().contains("TEMP B-TREE");
        for table in LONG.iter().filter(|_| !is_page) {
            // As it is, or under the name that the statement gives it.
            let names = [format!("SCAN {table}"), format!("SCAN {}", alias(statement, table))];
            let scanned = steps
                .iter()
                .any(|step| names.iter().any(|n| step == n || step.starts_with(&format!("{n} "))));
            assert!(!scanned, "{table} is read whole: {statement}\n{}", steps.join("\n"));
        }
        looked_at += 1;
    }
    assert!(looked_at > 15, "{statements:?}");
}

/// What a statement calls a table.
fn alias<'a>(statement: &'a str, table: &'a str) -> &'a str {
    let mut words = statement.split_whitespace().skip_while(|word| *word != table);
    words.next();
    words
        .next()
        .filter(|word| word.len() <= 2 && word.bytes().all(|b| b.is_ascii_lowercase()))
        .unwrap_or(table)
}
