//! A database of the first migration is brought up to date with what it holds; and a process that runs goes on while another
//! one adds columns.

use std::path::Path;

use axum::http::Method;
use serde_json::Value;
use sqlx::migrate::Migrator;
use toolpact::app::{App, ReleaseRequest};

use crate::{
    access::walk,
    ask::{answer, get},
    database::{Behind, Own},
    seed::{self, StandingClock, name},
};

/// What the first toolpact wrote.
const FIRST: &str = include_str!("first.sql");

fn folder(db: &Behind) -> &'static str {
    if db.is_postgres() { "migrations/postgres" } else { "migrations/sqlite" }
}

/// Runs the migrations up to this one.
async fn upto(db: &mut Behind, last: i64) {
    let mut migrator = Migrator::new(Path::new(folder(db))).await.expect("the migrations");
    migrator.migrations.to_mut().retain(|migration| migration.version <= last);
    match db {
        Behind::Sqlite(db) => migrator.run(db).await,
        Behind::Postgres(db) => migrator.run(db).await,
    }
    .expect("the migrations");
}

/// A database as the first toolpact left it.
async fn first(own: &Own) {
    let mut db = own.behind().await;
    upto(&mut db, 1).await;
    db.run(FIRST).await.unwrap_or_else(|e| panic!("{e}"));
    if db.is_postgres() {
        for table in ["listings", "drafts"] {
            db.texts(&format!(
                "SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id))::text FROM {table}"
            ))
            .await;
        }
    }
}

#[tokio::test]
async fn a_database_of_the_first_migration_keeps_all_it_holds_and_goes_on() {
    let own = Own::new().await;
    first(&own).await;
    let app = own.open(StandingClock::at("2026-12-01T12:00:00Z")).await;
    for (path, at, wanted) in [
        ("environments", "/items/0/version", "2026.11.30"),
        ("environments", "/items/0/generation", "3"),
        ("environments", "/items/0/hold", "2026.11.30.1"),
        ("environments/production/moves", "/items/0/kind", "rollback"),
        ("environments/production/moves", "/items/0/reason", "notes are lost"),
        ("environments/production/moves", "/items/2/to", "2026.11.30"),
        (
            "environments/production/catalog?format=mcp",
            "/tools/0/description",
            "Cancels an order — “at once”.",
        ),
        ("catalogs/orders/versions", "/items/0/version", "2026.11.30.1"),
        ("catalogs/orders/versions", "/items/0/tools", "2"),
        ("catalogs/orders/versions/2026.11.30.1", "/approvedBy", "ann"),
        ("catalogs/orders/drafts", "/items/0/verdict", "breaking"),
        ("catalogs/orders/drafts/3", "/createdBy", "ben"),
        ("catalogs/orders", "/servers/0/name", "orders"),
        ("servers", "/items/0/name", "orders"),
        ("servers/orders/snapshots", "/items/2/tools", "2"),
        ("servers?outcome=ok", "/items/0/name", "orders"),
        ("events", "/items/0/kind", "draft.created"),
    ] {
        let got = answer(&app, get(&format!("/api/v1/{path}"))).await;
        let body: Value =
            serde_json::from_str(&got.body).unwrap_or_else(|e| panic!("{path}: {e}: {}", got.body));
        let said = body.pointer(at).map(|v| v.as_str().map_or_else(|| v.to_string(), ToOwned::to_owned));
        assert_eq!(said.as_deref(), Some(wanted), "{path} at {at}: {}", got.body);
    }
    let checked = app.verify_events().await.unwrap_or_else(|e| panic!("{e}"));
    assert!(checked.broken.is_none(), "{checked:?}");
    // And it goes on: the hold is lifted, and what waits is refused.
    lifted(&app).await;
    app.reject(&name("orders"), 3, "it breaks callers", "ann").await.unwrap_or_else(|e| panic!("{e}"));
    let checked = app.verify_events().await.unwrap_or_else(|e| panic!("{e}"));
    assert!(checked.broken.is_none(), "{checked:?}");
}

#[tokio::test]
async fn the_changes_of_checks_from_before_are_found_by_their_fingerprints() {
    let own = Own::new().await;
    let mut db = own.behind().await;
    upto(&mut db, 16).await;
    // What a server wrote may hold anything that JSON can.
    let message = r#""message":"a \\u0000 \u0000 \"fingerprint\":\"sha256:00\" 'x'""#;
    let finding = |print: &str| format!(r#"{{{message},"before":1e999,"fingerprint":"sha256:{print}"}}"#);
    let report = |prints: &[&str]| {
        let findings: Vec<_> = prints.iter().map(|print| finding(print)).collect();
        format!(r#"{{"tools":[{{"findings":[]}},{{"findings":[{}]}}]}}"#, findings.join(","))
    };
    let insert = |digest: &str, newest: String, earlier: String| {
        let [newest, earlier] = [newest, earlier].map(|text| text.replace('\'', "''"));
        format!(
            "INSERT INTO checks (digest, catalog, environment, version, servers, verdict, report, earlier, created_by, created_at)
             VALUES ('{digest}', 'orders', 'production', '2026.11.30', '[]', 'risky', '{newest}', '{earlier}', 'ci', '2026')"
        )
    };
    for sql in [
        "INSERT INTO catalogs (name, policy, servers) VALUES ('orders', '{}', '[]')".to_owned(),
        insert("a", report(&["aa", "bb"]), format!("[{},{}]", report(&["aa", "cc"]), report(&[]))),
        insert("b", r#"{"tools":[]}"#.to_owned(), "[]".to_owned()),
        insert("c", report(&["cc"]), "[]".to_owned()),
    ] {
        db.run(&sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    own.place().migrate().await.unwrap_or_else(|e| panic!("{e}"));
    let held =
        "SELECT catalog || ' ' || CAST(check_id AS TEXT) || ' ' || fingerprint FROM check_changes ORDER BY 1";
    assert_eq!(
        db.texts(held).await,
        ["orders 1 sha256:aa", "orders 1 sha256:bb", "orders 1 sha256:cc", "orders 3 sha256:cc"]
    );
    let store = own.place().open().await.unwrap_or_else(|e| panic!("{e}"));
    for (hex, ids) in [("cc", vec![3]), ("a", vec![1]), ("0", vec![]), ("", vec![1, 1])] {
        assert_eq!(store.checks_holding(&name("orders"), hex).await.expect("read"), ids, "{hex}");
    }
}

/// Lifts the hold on production, which stands at generation 3.
async fn lifted(app: &App) {
    let release = ReleaseRequest {
        environment: name("production"),
        catalog: None,
        version: None,
        generation: 3,
        reason: "it was looked into".to_owned(),
        actor: "ann".to_owned(),
        idempotency_key: None,
    };
    app.release_hold(&release).await.unwrap_or_else(|e| panic!("{e}"));
}

/// Everything that can be read, with the names that the story has.
async fn read(app: &App) -> Vec<(String, u16, String)> {
    let mut all = Vec::new();
    for row in walk::rows() {
        // What is counted and what is followed says something else each time.
        let steady = !["/metrics", "/readyz", "/stream"].iter().any(|end| row.path.ends_with(end));
        if row.method == Method::GET && steady {
            let got = answer(app, walk::ask(row).header("x-request-id", "one")).await;
            all.push((row.path.clone(), got.status.as_u16(), got.body));
        }
    }
    all
}

#[tokio::test]
async fn a_process_goes_on_reading_and_writing_while_another_adds_columns() {
    let own = Own::new().await;
    own.place().migrate().await.unwrap_or_else(|e| panic!("{e}"));
    let store = own.place().open().await.unwrap_or_else(|e| panic!("{e}"));
    let app = seed::story_over(&store).await;
    // Twice, so that statements are prepared on the connections that are asked again.
    let (_, before) = (read(&app).await, read(&app).await);
    assert!(before.len() > 40 && before.iter().all(|(_, status, _)| *status < 500));

    let mut db = own.behind().await;
    let tables = if db.is_postgres() {
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'"
    } else {
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    };
    for table in db.texts(tables).await {
        db.run(&format!("ALTER TABLE {table} ADD COLUMN later TEXT"))
            .await
            .unwrap_or_else(|e| panic!("{table}: {e}"));
    }
    for (before, after) in before.into_iter().zip(read(&app).await) {
        assert_eq!(before, after);
    }
    app.reject(&name("shop"), 4, "it breaks callers", "ann").await.unwrap_or_else(|e| panic!("{e}"));
    lifted(&app).await;
    assert!(app.verify_events().await.unwrap_or_else(|e| panic!("{e}")).broken.is_none());
}

/// What a migration may do while processes of the release before it run: add. Where something has to go, it goes with a later
/// release, whose migration is named here with the reason.
#[test]
fn a_migration_only_adds() {
    const TAKES: &[&str] = &[
        "drop table",
        "drop column",
        "rename",
        "alter column",
        "set not null",
        "set data type",
        "delete from",
    ];
    for engine in ["sqlite", "postgres"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
        let mut files: Vec<_> =
            std::fs::read_dir(folder).expect("migrations").map(|e| e.expect("a file").path()).collect();
        files.sort();
        assert!(files.len() > 10);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("SQL");
            let code: Vec<_> = text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
            for statement in code.join(" ").to_lowercase().split(';') {
                let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
                let what = || format!("{}: {statement}", file.display());
                // A trigger's body is not what the migration does.
                if statement.starts_with("create ") || statement.starts_with("begin") {
                    continue;
                }
                assert!(!TAKES.iter().any(|takes| statement.contains(takes)), "{}", what());
                let adds = statement.contains("add column") && statement.contains("not null");
                assert!(
                    !adds || statement.contains("default"),
                    "{} leaves no value to the release before",
                    what()
                );
            }
        }
    }
}

/// On PostgreSQL a statement that is prepared fails once its columns are other ones than it was prepared with: the process
/// above would. So each says which it reads.
#[test]
fn statements_name_the_columns_they_read() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store")];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("source").map(|entry| entry.expect("a file").path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = std::fs::read_to_string(&entry).expect("source");
            for (line, number) in text.lines().zip(1..) {
                let all = ["SELECT *", "SELECT DISTINCT *", "RETURNING *", ".*,", ".* FROM"];
                let said = all.iter().find(|all| line.contains(**all));
                assert_eq!(said, None, "{}:{number}: name the columns", entry.display());
            }
            read += text.matches("SELECT ").count();
        }
    }
    assert!(read > 100, "the scan found {read} statements");
}
