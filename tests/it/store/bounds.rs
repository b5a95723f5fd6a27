//! What a PostgreSQL server does not get done in time ends: whoever asked is told so, nothing of it is kept, and the next one
//! is served on the same connections.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::json;
use toolpact::app::App;

use super::Behind;
use crate::{
    ask::{Answer, Ask, answer, get, post},
    support::Noon,
};

/// What is written by a move.
const TABLES: [&str; 4] = ["moves", "pointers", "events", "idempotency_keys"];

/// What keeps the server from getting it done, what ends that, and how that is told.
const TROUBLES: [(&str, &str, &str, &str); 3] = [
    (
        "another-writer",
        "SELECT pg_advisory_lock(x'746f6f6c70616374'::bigint)",
        "SELECT pg_advisory_unlock_all()",
        "canceling statement due to lock timeout",
    ),
    (
        "locked-table",
        "BEGIN; LOCK TABLE pointers IN ACCESS EXCLUSIVE MODE",
        "ROLLBACK",
        "canceling statement due to lock timeout",
    ),
    (
        // In the last statement of a move, after its pointer and its history were written.
        "slow-statement",
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
         CREATE TRIGGER hangs BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION hang()",
        "DROP TRIGGER hangs ON events",
        "canceling statement due to statement timeout",
    ),
];

fn promote(environment: &str, key: &str) -> Ask {
    let body = json!({ "version": "2026.11.30", "reason": "because" });
    let ask = post(&format!("/api/v1/environments/{environment}/promote"), body);
    ask.header("if-match", "\"0\"").header("idempotency-key", key)
}

fn assert_late(answer: &Answer, why: &str) {
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.body);
    assert_eq!(answer.header("retry-after"), "1");
    for part in [r#""code":"database-unavailable""#, r#""help":"try again"#, why] {
        assert!(answer.body.contains(part), "no {part} in {}", answer.body);
    }
}

#[tokio::test]
async fn what_takes_a_server_too_long_ends_and_is_undone() {
    let mut behind = Behind::new().await;
    if !behind.db.is_postgres() {
        return;
    }
    // Bounds that are tighter than ours stay, so that nobody has to wait for those here.
    let tighter = "DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET lock_timeout = ''300ms''', current_database());
        EXECUTE format('ALTER DATABASE %I SET statement_timeout = ''2s''', current_database());
    END $$";
    behind.run(tighter).await.expect("set");
    let app = App::open(&behind.own.place(), Arc::new(Noon)).await.expect("opened");
    for (environment, begin, end, why) in TROUBLES {
        let mut before = Vec::new();
        for table in TABLES {
            before.push(behind.count(table).await);
        }
        behind.run(begin).await.expect("it begins");
        assert_late(&answer(&app, promote(environment, environment)).await, why);
        // More than there are connections for.
        let (a, b, c) = tokio::join!(
            answer(&app, promote(environment, "a")),
            answer(&app, promote(environment, "b")),
            answer(&app, promote(environment, "c")),
        );
        for late in [a, b, c] {
            assert_late(&late, "canceling statement due to");
        }
        let read = answer(&app, get("/api/v1/environments")).await;
        if environment == "locked-table" {
            assert_late(&read, why);
        } else {
            assert_eq!(read.status, StatusCode::OK, "readers wait for nobody");
        }
        behind.run(end).await.expect("it ends");
        for (table, count) in TABLES.into_iter().zip(before) {
            assert_eq!(behind.count(table).await, count, "{environment}: {table}");
        }
        let done = answer(&app, promote(environment, environment)).await;
        assert_eq!((done.status, done.header("etag")), (StatusCode::OK, "\"1\""), "{}", done.body);
    }
    assert_eq!(app.verify_events().await.expect("checked").broken, None);
}
