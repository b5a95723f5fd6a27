//! What the database keeps, keeps once, and refuses to forget.

mod bounds;
mod upgrade;

use std::{path::Path, sync::Arc};

use chrono::TimeDelta;
use toolpact::{
    app::{App, Kind},
    json::Digest,
    snapshot::{Listing, MAX_ABOUT_BYTES, SurfaceKind, SurfaceListing, split},
    store::{Begun, KeptAnswer, Moved, PointerChange},
};

use crate::{
    database::{self, Own},
    support::{Noon, is, listing, noon, to, tool},
};

/// A database with one version promoted once, the use cases over it, and a connection behind their back.
struct Behind {
    app: App,
    db: database::Behind,
    own: Own,
}

impl Behind {
    async fn new() -> Self {
        let own = Own::new().await;
        let app = own.open(Arc::new(Noon)).await;
        app.record(&is("orders"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
        let draft = app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
        app.approve(&is("orders"), draft.id, false, "first", "ann").await.expect("approved");
        app.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
        let db = own.behind().await;
        Self { app, db, own }
    }

    async fn run(&mut self, sql: &str) -> Result<u64, String> {
        self.db.run(sql).await
    }

    async fn count(&mut self, table: &str) -> i64 {
        self.db.count(table).await
    }
}

/// One tool, spelled as given.
fn spelled(text: &str) -> Listing {
    toolpact::app::view::file_listing("x", text).unwrap_or_else(|e| panic!("{e}"))
}

#[tokio::test]
async fn unchanged_sweeps_write_no_content() {
    let mut behind = Behind::new().await;
    let tables = ["content", "contracts", "snapshots", "snapshot_tools"];
    let mut before = Vec::new();
    for table in tables {
        before.push(behind.count(table).await);
    }
    for _ in 0..3 {
        behind.app.record(&is("orders"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    }
    for (table, before) in tables.into_iter().zip(before) {
        assert_eq!(behind.count(table).await, before, "{table}");
    }
    assert_eq!(behind.count("listings").await, 4);
    // Another server with the same tool shares its text.
    let content = behind.count("content").await;
    behind.app.record(&is("mirror"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    assert_eq!(behind.count("content").await, content);
    assert_eq!(behind.count("snapshots").await, 2);
}

#[tokio::test]
async fn every_byte_of_a_tool_is_kept_though_its_digest_ignores_spelling() {
    let (app, store) = crate::support::app().await;
    let texts = [
        r#"{ "name": "a", "inputSchema": {"type":"object"}, "x-odd": 1.0, "é": "\u00e9" }"#,
        r#"{"inputSchema":{"type":"object"},"é":"é","name":"a","x-odd":1}"#,
    ];
    let mut digests = Vec::new();
    for (server, text) in ["one", "two"].into_iter().zip(texts) {
        let row =
            app.record(&is(server), spelled(&format!("[{text}]")), "ci").await.expect("recorded").listing;
        let digest = row.digest.expect("ok");
        let kept = store.snapshot(&is(server), &digest).await.expect("read").expect("there");
        assert_eq!(kept.tools[0].raw.get(), text);
        digests.push(digest);
    }
    assert_eq!(digests[0], digests[1]);
}

#[tokio::test]
async fn the_texts_of_many_tools_are_read_at_once_and_one_each() {
    let (app, store) = crate::support::app().await;
    for server in ["one", "two"] {
        // The second spells each in its own way: a tool has one digest, and two texts.
        let space = if server == "one" { "" } else { " " };
        let text = |n| format!(r#"{{"name":"t{n}",{space}"inputSchema":{{}}}}"#);
        let tools: Vec<String> = (0..250).map(text).collect();
        app.record(&is(server), spelled(&format!("[{}]", tools.join(","))), "ci").await.expect("recorded");
    }
    let digest = store.last_ok(&is("one")).await.expect("read").and_then(|row| row.digest).expect("ok");
    let tools = store.tool_digests(&is("one"), &digest).await.expect("read");
    let strange = Digest::of_bytes(b"nobody's");
    for count in [0, 1, 99, 100, 101, 200, 250] {
        let mut raws: Vec<&Digest> = tools.iter().take(count).map(|(_, raw)| raw).collect();
        raws.extend([&strange, &strange]);
        let texts = store.tool_texts(&raws).await.expect("read");
        assert_eq!(texts.len(), count);
        for (name, raw) in tools.iter().take(count) {
            let text: serde_json::Value = serde_json::from_str(&texts[raw]).expect("JSON");
            assert_eq!(text["name"], name.as_str());
        }
    }
    assert!(store.tool_texts(&[]).await.expect("read").is_empty());
}

#[tokio::test]
async fn surfaces_are_kept_once_and_byte_for_byte() {
    let mut behind = Behind::new().await;
    let text = r#"{ "uri": "x://\u0061", "size": 1.0 }"#;
    let with = |items: &str| {
        let mut listing = listing(&[tool("a", &["id"])]);
        let items = split(items).expect("an array");
        listing.surfaces = vec![SurfaceListing::read(SurfaceKind::Resources, items)];
        listing
    };
    let first = behind.app.record(&is("orders"), with(&format!("[{text}]")), "ci").await.expect("recorded");
    assert!(first.surfaces.is_empty(), "there was none to compare with");
    let digest = first.listing.surfaces[0].digest.clone().expect("it was read");
    let mut before = Vec::new();
    for table in ["content", "surfaces", "surface_items"] {
        before.push((table, behind.count(table).await));
    }
    for _ in 0..3 {
        behind.app.record(&is("orders"), with(&format!("[{text}]")), "ci").await.expect("recorded");
    }
    for (table, count) in before {
        assert_eq!(behind.count(table).await, count, "{table}");
    }
    let drift = behind.app.record(&is("orders"), with("[]"), "ci").await.expect("recorded");
    assert_eq!(drift.surfaces[0].removed, ["x://a"]);
    let store = behind.own.place().open().await.expect("opened");
    let kept = store.surface_items(&is("orders"), SurfaceKind::Resources, &digest).await.expect("read");
    assert_eq!(kept.iter().map(|item| item.raw.get()).collect::<Vec<_>>(), [text]);
}

#[tokio::test]
async fn what_a_server_says_of_itself_is_kept_within_bounds() {
    let mut behind = Behind::new().await;
    let mut long = listing(&[tool("a", &["id"])]);
    long.provenance.instructions = Some("é".repeat(MAX_ABOUT_BYTES));
    long.provenance.protocol_version = Some("2".repeat(1 << 20));
    long.provenance.capabilities = Some(serde_json::json!({ "x": "y".repeat(1 << 20) }));
    let row = behind.app.record(&is("orders"), long, "ci").await.expect("recorded").listing;
    assert_eq!(row.provenance.instructions.map(|text| text.len()), Some(MAX_ABOUT_BYTES));
    assert_eq!(row.provenance.protocol_version.map(|text| text.len()), Some(MAX_ABOUT_BYTES));
    assert_eq!(row.provenance.capabilities, None);
    assert_eq!(
        row.evidence.warnings,
        [
            "`capabilities` has 1048584 bytes, the limit is 65536; it was left out",
            "`instructions` has 131072 bytes, the limit is 65536; it was cut",
            "`protocolVersion` has 1048576 bytes, the limit is 65536; it was cut",
        ]
    );
    let kept = behind.db.number("SELECT CAST(max(length(provenance)) AS BIGINT) FROM listings").await;
    assert!(kept < 200_000, "{kept}");
}

#[tokio::test]
async fn history_can_be_read_and_added_to_but_not_changed() {
    let mut behind = Behind::new().await;
    let cases = [
        ("UPDATE versions SET reason = 'other'", "versions are immutable"),
        ("DELETE FROM versions", "versions are kept"),
        ("UPDATE content SET body = '{}'", "content is immutable"),
        ("DELETE FROM content", "FOREIGN KEY constraint failed"),
        ("UPDATE drafts SET status = 'pending', version = NULL", "decided drafts are final"),
        ("DELETE FROM drafts", "drafts are kept"),
        ("UPDATE moves SET actor = 'bob'", "moves are only ever added"),
        ("DELETE FROM moves", "moves are only ever added"),
        ("UPDATE events SET actor = 'bob'", "events are only ever added"),
        ("DELETE FROM events WHERE seq = 1", "events are only ever added"),
        ("UPDATE pointers SET version = '2027.01.01'", "FOREIGN KEY constraint failed"),
        ("UPDATE moves SET to_version = '2027.01.01'", "moves are only ever added"),
        ("UPDATE pointers SET generation = 0", "CHECK constraint failed"),
        ("UPDATE listings SET outcome = 'timeout'", "CHECK constraint failed"),
    ];
    for (sql, refusal) in cases {
        let answer = behind.run(sql).await;
        let refusal = match refusal {
            "FOREIGN KEY constraint failed" if behind.db.is_postgres() => "violates foreign key constraint",
            "CHECK constraint failed" if behind.db.is_postgres() => "violates check constraint",
            refusal => refusal,
        };
        assert!(answer.as_ref().is_err_and(|e| e.contains(refusal)), "{sql}: {answer:?}");
    }
}

#[tokio::test]
async fn tampering_with_the_log_is_found_at_the_event() {
    let cases = [
        ("UPDATE events SET actor = 'bob' WHERE seq = 3", 3, "its content is not what its digest says"),
        ("UPDATE events SET data = '{}' WHERE seq = 1", 1, "its content is not what its digest says"),
        (
            "UPDATE events SET at = '2026-11-30T12:00:01.123456Z' WHERE seq = 2",
            2,
            "its content is not what its digest says",
        ),
        ("DELETE FROM events WHERE seq = 2", 3, "event 2 is missing"),
        ("DELETE FROM events WHERE seq = 1", 2, "event 1 is missing"),
        (
            "UPDATE events SET digest = 'sha256:ZEROS' WHERE seq = 2",
            2,
            "its content is not what its digest says",
        ),
        (
            "UPDATE events SET previous = 'sha256:ZEROS' WHERE seq = 4",
            4,
            "it does not name the event before it",
        ),
    ];
    for (sql, seq, why) in cases {
        let mut behind = Behind::new().await;
        assert_eq!(behind.app.verify_events().await.expect("checked").broken, None);
        let on = if behind.db.is_postgres() { " ON events" } else { "" };
        for trigger in ["events_are_immutable", "events_are_kept"] {
            behind.run(&format!("DROP TRIGGER {trigger}{on}")).await.expect("dropped");
        }
        behind.run(&sql.replace("ZEROS", &"0".repeat(64))).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        let broken = behind.app.verify_events().await.expect("checked").broken;
        assert_eq!(broken, Some((seq, why.to_owned())), "{sql}");
    }
}

#[tokio::test]
async fn a_write_whose_event_cannot_be_written_leaves_nothing() {
    let mut behind = Behind::new().await;
    let refuse = if behind.db.is_postgres() {
        "CREATE TRIGGER no_room BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse('disk full')"
    } else {
        "CREATE TRIGGER no_room BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    };
    behind.run(refuse).await.expect("a trigger");
    let tables = [
        "listings",
        "snapshots",
        "content",
        "contracts",
        "drafts",
        "versions",
        "catalogs",
        "moves",
        "pointers",
        "idempotency_keys",
    ];
    let mut before = Vec::new();
    for table in tables {
        before.push(behind.count(table).await);
    }
    let app = behind.app.clone();
    let other = "catalog: orders\ncatalogVersion: 2026.12.01\ntools: []\n";
    let mut keyed = to("staging", is("2026.11.30"), 0);
    keyed.idempotency_key = Some("k".to_owned());
    let failures = [
        app.record(&is("orders"), listing(&[tool("b", &[])]), "ci").await.err(),
        app.apply("x", other, "ann").await.err(),
        app.apply("y", "catalog: new", "ann").await.err(),
        app.promote(&keyed).await.err(),
    ];
    for failure in failures {
        let failure = failure.expect("refused");
        assert_eq!(failure.kind, Kind::Unavailable);
        assert!(failure.message.contains("disk full"), "{failure}");
    }
    for (table, before) in tables.into_iter().zip(before) {
        assert_eq!(behind.count(table).await, before, "{table}");
    }
}

#[tokio::test]
async fn a_database_is_opened_again_as_it_was_left() {
    let behind = Behind::new().await;
    let export = behind.app.export(&is("orders"), None).await.expect("exported");
    let again = behind.own.open(Arc::new(Noon)).await;
    assert_eq!(again.export(&is("orders"), None).await.expect("exported"), export);
    assert_eq!(again.environments().await.expect("there").len(), 1);
    assert_eq!(again.events(100).await.expect("events"), behind.app.events(100).await.expect("events"));
}

#[tokio::test]
async fn a_new_database_can_be_opened_by_many_at_once() {
    for _ in 0..20 {
        let own = Own::new().await;
        let opening = (0..8).map(|_| {
            let place = own.place();
            tokio::spawn(async move {
                App::migrate(&place).await?;
                App::open(&place, Arc::new(Noon)).await.map(|_| ())
            })
        });
        for opened in opening.collect::<Vec<_>>() {
            opened.await.expect("no panic").unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

#[tokio::test]
async fn a_move_is_told_to_every_process() {
    let own = Own::new().await;
    let app = own.open(Arc::new(Noon)).await;
    // Two processes, each with two who remember.
    let (one, other) = (own.place().open().await.expect("opened"), own.place().open().await.expect("opened"));
    let mut listening = Vec::new();
    for store in [&one, &one, &other, &other] {
        listening.push(store.changes().await.expect("heard"));
    }
    app.apply("orders", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    app.apply("orders", "catalogVersion: 2026.12.01\ntools: []\n", "ann").await.expect("applied");
    let here = App::new(one.clone(), Arc::new(Noon));
    app.promote(&to("staging", is("2026.11.30"), 0)).await.expect("promoted");
    here.promote(&to("staging", is("2026.12.01"), 1)).await.expect("promoted");
    here.promote(&to("staging", is("2026.11.30"), 1)).await.expect_err("stale, and so nothing to tell");
    app.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
    for changes in &mut listening {
        let mut last = Vec::new();
        while last.len() < 2
            || last.iter().any(|m: &Moved| m.environment == is("staging") && m.generation < 2)
        {
            let Some(PointerChange::Moved(moved)) = changes.next().await else { panic!("nothing was lost") };
            assert_eq!(moved.catalog, is("orders"));
            last.retain(|m| m.environment != moved.environment);
            last.push(moved);
        }
        let mut stand: Vec<_> = last.iter().map(|m| (m.environment.as_str(), m.generation)).collect();
        stand.sort_unstable();
        assert_eq!(stand, [("production", 1), ("staging", 2)]);
    }
}

#[tokio::test]
async fn a_lost_connection_is_told_and_mended() {
    let mut behind = Behind::new().await;
    if !behind.db.is_postgres() {
        return;
    }
    let store = behind.own.place().open().await.expect("opened");
    let mut changes = store.changes().await.expect("heard");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    behind.run(cut).await.expect("cut");
    assert_eq!(changes.next().await, Some(PointerChange::Lost));
    assert_eq!(changes.next().await, Some(PointerChange::Regained));
    behind.app.promote(&to("staging", is("2026.11.30"), 0)).await.expect("promoted");
    let moved = Moved { environment: is("staging"), catalog: is("orders"), generation: 1 };
    assert_eq!(changes.next().await, Some(PointerChange::Moved(moved)));
}

#[tokio::test]
async fn any_name_that_a_server_gives_a_tool_is_kept() {
    let (app, store) = crate::support::app().await;
    let long = "é".repeat(4_000);
    let names = ["a\0b", "\0", "a\\0b", "\\", "\u{202e}x", long.as_str()];
    let tools: Vec<_> = names.iter().map(|name| tool(name, &["id"])).collect();
    let row = app.record(&is("odd"), listing(&tools), "ci").await.expect("recorded").listing;
    let kept = store.tool_digests(&is("odd"), &row.digest.expect("ok")).await.expect("read");
    assert_eq!(kept.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
}

#[tokio::test]
async fn a_database_of_a_newer_toolpact_or_another_program_is_left_alone() {
    let mut behind = Behind::new().await;
    let (digest, now) = if behind.db.is_postgres() { ("'\\x00'", "now()") } else { ("x'00'", "0") };
    let newer = format!(
        "INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time)
         VALUES (9999, 'later', {now}, TRUE, {digest}, 0)"
    );
    behind.run(&newer).await.expect("noted");
    let place = behind.own.place();
    for error in [App::open(&place, Arc::new(Noon)).await.err(), App::migrate(&place).await.err()] {
        let error = error.expect("refused");
        let why = "a newer toolpact made it: it has migration 9999, which this one does not know";
        assert!(error.message.ends_with(why), "{error}");
    }
    let foreign = Own::new().await;
    let mut db = foreign.behind().await;
    db.run("CREATE TABLE theirs (id INTEGER)").await.expect("a table");
    let place = foreign.place();
    for error in [App::open(&place, Arc::new(Noon)).await.err(), App::migrate(&place).await.err()] {
        let error = error.expect("refused");
        assert!(error.message.ends_with("it is a database of another program"), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "these are notes, ".repeat(100)).expect("written");
    for path in [file.as_path(), folder.path(), Path::new("/dev/null/x.db")] {
        let error = App::open(&database::file(path), Arc::new(Noon)).await.err().expect("refused");
        assert_eq!((error.kind, error.code), (Kind::Unavailable, "database-unavailable"));
        assert!(
            error.message.starts_with(&format!("database `{}` could not be opened: ", path.display())),
            "{error}"
        );
    }
    assert_eq!(std::fs::read_to_string(&file).expect("read").len(), 1_700);
}

#[tokio::test]
async fn an_answer_belongs_to_its_request_until_it_is_forgotten_or_old() {
    let store = crate::database::store().await;
    let (one, other) = (Digest::of_bytes(b"one"), Digest::of_bytes(b"other"));
    let answer = || KeptAnswer {
        status: 201,
        headers: vec![("etag".to_owned(), "x".to_owned())],
        body: b"{\0}".to_vec(),
    };
    let begun = async |request: &Digest, minutes: i64| {
        let now = noon() + TimeDelta::minutes(minutes);
        let (kept, given_up) = (now - TimeDelta::hours(24), now - TimeDelta::minutes(5));
        store.begin_answer("k", request, now, kept, given_up).await.expect("it answers")
    };
    assert_eq!(begun(&one, 0).await, Begun::Fresh);
    assert_eq!(begun(&one, 4).await, Begun::InFlight);
    assert_eq!(begun(&other, 4).await, Begun::Reused);
    store.forget_answer("k", &one).await.expect("it answers");
    assert_eq!(begun(&other, 4).await, Begun::Fresh);
    assert_eq!(begun(&one, 10).await, Begun::Fresh, "whoever began it is gone");
    // The one that was given up comes late: the key is not its own any more.
    store.finish_answer("k", &other, answer()).await.expect("it answers");
    store.forget_answer("k", &other).await.expect("it answers");
    assert_eq!(begun(&one, 11).await, Begun::InFlight);
    store.finish_answer("k", &one, answer()).await.expect("it answers");
    store.forget_answer("k", &other).await.expect("it answers");
    assert_eq!(begun(&one, 23 * 60).await, Begun::Answered(answer()));
    assert_eq!(begun(&other, 23 * 60).await, Begun::Reused);
    assert_eq!(begun(&other, 25 * 60).await, Begun::Fresh);
}
