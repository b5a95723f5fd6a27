//! Rows that were changed, dropped, inserted or moved behind the back of the triggers, at any place, on either database.

use std::sync::Arc;

use chrono::{SecondsFormat, TimeDelta};
use serde_json::json;
use toolpact::{
    app::App,
    catalog::{
        Event,
        chain::Checkpoint,
        event::{NewEvent, Origin},
    },
};

use crate::{
    database::{Behind, Own},
    support::{Noon, noon},
};

/// A log of so many events, each with a copy of its row to go back to, and no triggers.
struct Log {
    app: App,
    db: Behind,
    events: Vec<Event>,
    _own: Own,
}

/// A chain of so many events; from `forged` on, what happened is told otherwise.
fn chain(length: usize, forged: usize) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::with_capacity(length);
    for n in 1..=length {
        let new = NewEvent {
            at: noon() + TimeDelta::seconds(i64::try_from(n).expect("small")),
            actor: if n < forged { "ann" } else { "bob" }.to_owned(),
            kind: ["draft.approved", "environment.promoted", "snapshot.recorded"][n % 3],
            subject: format!("catalog/c{}", n % 7),
            data: json!({ "draft": n, "reason": format!("because ‘{n}’"), "hold": null, "tools": ["a", "b"] }),
            origin: n.is_multiple_of(2).then(|| Origin {
                auth: format!("token:{n}"),
                on_behalf_of: None,
                request_id: Some(format!("r-{n}")),
                idempotency_key: None,
            }),
            seal: None,
        };
        events.push(Event::chained(new, events.last().map(|last| (last.seq, last.digest.clone()))));
    }
    events
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The rows of events as statements.
fn rows(events: &[Event]) -> String {
    let row = |e: &Event| {
        let origin = e
            .origin
            .as_ref()
            .map_or_else(|| "NULL".to_owned(), |origin| text(&serde_json::to_string(origin).expect("JSON")));
        format!(
            "({}, {}, {}, {}, {}, {}, {origin}, {}, {})",
            e.seq,
            text(&e.at.to_rfc3339_opts(SecondsFormat::Micros, true)),
            text(&e.actor),
            text(&e.kind),
            text(&e.subject),
            text(&e.data.to_string()),
            text(e.previous.as_str()),
            text(e.digest.as_str()),
        )
    };
    let insert = |events: &[Event]| {
        let all: Vec<String> = events.iter().map(row).collect();
        format!(
            "INSERT INTO events (seq, at, actor, kind, subject, data, origin, previous, digest) VALUES {}",
            all.join(", ")
        )
    };
    events.chunks(500).map(insert).collect::<Vec<_>>().join(";\n")
}

impl Log {
    async fn new(length: usize) -> Self {
        let own = Own::new().await;
        let app = own.open(Arc::new(Noon)).await;
        let mut db = own.behind().await;
        let on = if db.is_postgres() { " ON events" } else { "" };
        for trigger in ["events_are_immutable", "events_are_kept"] {
            db.run(&format!("DROP TRIGGER {trigger}{on}")).await.expect("dropped");
        }
        if !db.is_postgres() {
            db.run("PRAGMA synchronous = OFF; DROP TRIGGER events_are_not_replaced").await.expect("dropped");
        }
        let events = chain(length, usize::MAX);
        db.run(&rows(&events)).await.expect("written");
        db.run("CREATE TABLE kept AS SELECT * FROM events; CREATE UNIQUE INDEX kept_by_seq ON kept (seq)")
            .await
            .expect("kept");
        Self { app, db, events, _own: own }
    }

    fn length(&self) -> i64 {
        i64::try_from(self.events.len()).expect("small")
    }

    /// A checkpoint that was taken when there were so many events.
    fn checkpoint(&self, seq: usize) -> Checkpoint {
        let Event { seq, digest, .. } = &self.events[seq - 1];
        Checkpoint { seq: *seq, digest: digest.clone(), count: *seq, at: noon() }
    }

    async fn found(&self, checkpoints: &[Checkpoint]) -> Option<(i64, String)> {
        self.app.verify_events_past(checkpoints.to_vec()).await.expect("checked").broken
    }

    /// Does it, looks, and undoes it.
    async fn after(&mut self, sql: &str, checkpoints: &[Checkpoint]) -> Option<(i64, String)> {
        self.db.run(sql).await.unwrap_or_else(|e| panic!("{e}: {}", &sql[..sql.len().min(300)]));
        let found = self.found(checkpoints).await;
        let undo = "DELETE FROM events WHERE NOT EXISTS (
                        SELECT 1 FROM kept k WHERE k.seq = events.seq AND k.at = events.at AND k.actor = events.actor
                        AND k.kind = events.kind AND k.subject = events.subject AND k.data = events.data
                        AND coalesce(k.origin, '') = coalesce(events.origin, '') AND k.previous = events.previous
                        AND k.digest = events.digest);
                    INSERT INTO events SELECT * FROM kept k
                    WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = k.seq)";
        self.db.run(undo).await.expect("undone");
        found
    }
}

/// Every kind of tampering with a row that the chain alone shows, with the event that is named and why.
fn seen_by_the_chain(p: i64, last: i64) -> Vec<(String, i64, String)> {
    let edited = "its content is not what its digest says";
    let unnamed = "it does not name the event before it";
    let rewritten = "it is not written as it was";
    let zeros = format!("sha256:{}", "0".repeat(64));
    let edit = |column: &str, value: &str| format!("UPDATE events SET {column} = {value} WHERE seq = {p}");
    let mut all: Vec<(String, i64, String)> = [
        (edit("at", "'2026-11-29T12:00:00.000000Z'"), p, edited),
        (edit("actor", "'mallory'"), p, edited),
        (edit("kind", "'draft.rejected'"), p, edited),
        (edit("subject", "subject || 'x'"), p, edited),
        (edit("data", "replace(data, 'because', 'perhaps')"), p, edited),
        (edit("origin", "'{\"auth\":\"token:0\"}'"), p, edited),
        (edit("previous", &text(&zeros)), p, unnamed),
        (edit("digest", &text(&zeros)), p, edited),
        // What means the same is not written by toolpact.
        (edit("data", "data || ' '"), p, rewritten),
        (edit("data", "'{\"draft\":0,' || substr(data, 2)"), p, rewritten),
        (edit("at", "replace(at, 'Z', '+00:00')"), p, rewritten),
        (edit("at", "'yesterday'"), p, "the stored event time cannot be read"),
        (edit("data", "'{'"), p, "the stored event data cannot be read"),
        (edit("origin", "'null'"), p, "the stored event origin cannot be read"),
        (edit("digest", "'none'"), p, "the stored event digest cannot be read"),
        // One more, with later ones moved up.
        (
            format!(
                "UPDATE events SET seq = -seq - 1 WHERE seq >= {p}; UPDATE events SET seq = -seq WHERE seq < 0;
                 INSERT INTO events (seq, at, actor, kind, subject, data, origin, previous, digest)
                 SELECT {p}, at, actor, kind, subject, data, origin, '{zeros}', '{zeros}'
                 FROM kept WHERE seq = {p}"
            ),
            p,
            unnamed,
        ),
        // One more, before all or behind all.
        (
            format!(
                "INSERT INTO events (seq, at, actor, kind, subject, data, origin, previous, digest)
                 SELECT {p} - {last} - 1, at, actor, kind, subject, data, origin, '{zeros}', '{zeros}'
                 FROM kept WHERE seq = {p}"
            ),
            p - last - 1,
            "it stands where event 1 belongs",
        ),
        (
            format!(
                "INSERT INTO events (seq, at, actor, kind, subject, data, origin, previous, digest)
                 SELECT {last} + 1, at, actor, kind, subject, data, origin, '{zeros}', '{zeros}'
                 FROM kept WHERE seq = {p}"
            ),
            last + 1,
            unnamed,
        ),
    ]
    .into_iter()
    .map(|(sql, seq, why)| (sql, seq, why.to_owned()))
    .collect();
    if p < last {
        let missing = format!("event {p} is missing");
        all.push((format!("DELETE FROM events WHERE seq = {p}"), p + 1, missing.clone()));
        all.push((edit("seq", &format!("{last} + 9")), p + 1, missing));
        all.push((
            format!(
                "UPDATE events SET seq = 0 WHERE seq = {p}; UPDATE events SET seq = {p} WHERE seq = {p} + 1;
                 UPDATE events SET seq = {p} + 1 WHERE seq = 0"
            ),
            p,
            unnamed.to_owned(),
        ));
    }
    all
}

async fn check_places(log: &mut Log, places: impl IntoIterator<Item = i64>) {
    assert_eq!(log.found(&[]).await, None);
    let last = log.length();
    for p in places {
        for (sql, seq, why) in seen_by_the_chain(p, last) {
            let found = log.after(&sql, &[]).await;
            let named = found.as_ref().is_some_and(|(at, cause)| *at == seq && cause.contains(&why));
            assert!(named, "event {p} of {last}: {sql}: expected event {seq}, {why}; found {found:?}");
        }
    }
    assert_eq!(log.found(&[]).await, None, "everything was undone");
}

#[tokio::test]
async fn whatever_is_done_to_a_row_is_found_at_every_place() {
    let mut log = Log::new(24).await;
    check_places(&mut log, 1..=24).await;
}

#[tokio::test]
async fn whatever_is_done_to_a_row_of_ten_thousand_is_found() {
    let mut log = Log::new(10_000).await;
    // The first and the last, and both sides of where one reading ends and the next begins.
    check_places(&mut log, [1, 1_000, 1_001, 10_000]).await;
}

#[tokio::test]
async fn an_end_that_is_gone_is_found_by_a_checkpoint_and_only_by_one() {
    let mut log = Log::new(24).await;
    let checkpoints = [log.checkpoint(10), log.checkpoint(24)];
    for p in 1..=24 {
        let cut = format!("DELETE FROM events WHERE seq >= {p}");
        assert_eq!(log.after(&cut, &[]).await, None, "a shorter chain is one");
        let (seq, why) = log.after(&cut, &checkpoints).await.expect("found");
        assert!(
            seq == p && why.contains("it is missing") && why.contains("saw event 24"),
            "{p}: {seq}: {why}"
        );
    }
}

#[tokio::test]
async fn a_chain_that_was_made_anew_is_found_by_a_checkpoint_and_only_by_one() {
    let mut log = Log::new(24).await;
    let checkpoints = [log.checkpoint(20), log.checkpoint(24), log.checkpoint(10)];
    for p in 1..=24 {
        let anew = format!("DELETE FROM events; {}", rows(&chain(24, p)));
        assert_eq!(log.after(&anew, &[]).await, None, "it is a chain");
        let (seq, why) = log.after(&anew, &checkpoints).await.expect("found");
        let first = match p {
            1..=10 => 1,
            11..=20 => 11,
            _ => 21,
        };
        assert!(seq == first && why.contains("are not those that were there"), "{p}: {seq}: {why}");
    }
    let check = log.app.verify_events_past(checkpoints.to_vec()).await.expect("checked");
    assert_eq!((check.broken, check.checkpoints, check.vouched), (None, 3, Some(24)));
}

#[tokio::test]
async fn a_checkpoint_of_a_chain_that_cannot_be_is_refused() {
    let log = Log::new(3).await;
    let (seq, why) = log.found(&[Checkpoint { count: 2, ..log.checkpoint(3) }]).await.expect("found");
    assert!(seq == 3 && why.contains("of 2 events, which no chain has"), "{why}");
}

#[tokio::test]
async fn what_history_is_made_of_cannot_be_written_over_either() {
    let own = Own::new().await;
    let app = own.open(Arc::new(Noon)).await;
    app.apply("orders", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    app.promote(&crate::support::to("production", crate::support::is("2026.11.30"), 0))
        .await
        .expect("promoted");
    let mut db = own.behind().await;
    let cases = if db.is_postgres() {
        [
            ("TRUNCATE events CASCADE", "only ever added"),
            ("TRUNCATE signatures", "signatures are only ever added"),
            ("TRUNCATE moves CASCADE", "only ever added"),
            ("TRUNCATE versions CASCADE", "kept"),
        ]
    } else {
        [
            ("INSERT OR REPLACE INTO events SELECT * FROM events", "events are only ever added"),
            ("INSERT OR REPLACE INTO moves SELECT * FROM moves", "moves are only ever added"),
            ("INSERT OR REPLACE INTO versions SELECT * FROM versions", "versions are immutable"),
            (
                "REPLACE INTO events (seq, at, actor, kind, subject, data, previous, digest) SELECT 9, at, actor, kind, subject, data, previous, 'x' FROM events",
                "events are only ever added",
            ),
        ]
    };
    for (sql, refusal) in cases {
        let answer = db.run(sql).await;
        assert!(answer.as_ref().is_err_and(|e| e.contains(refusal)), "{sql}: {answer:?}");
    }
    assert_eq!(app.verify_events().await.expect("checked").broken, None);
}
