//! What pruning forgets, and what it never does.

mod checks;

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use chrono::{DateTime, TimeDelta, Utc};
use toolpact::{
    app::{App, Clock, retention::KeepRules, view::Pruned},
    snapshot::{Listing, SurfaceKind, SurfaceListing, split},
};

use crate::{
    database::{Behind, Own},
    support::{is, listing, noon, to, tool},
};

/// A clock that is turned.
#[derive(Default)]
struct Days(AtomicI64);

impl Clock for Days {
    fn now(&self) -> DateTime<Utc> {
        noon() + TimeDelta::days(self.0.load(Ordering::Relaxed))
    }
}

/// A server that lists something else each day, over a database of the test's own.
struct Server {
    own: Own,
    app: App,
    db: Behind,
    days: Arc<Days>,
}

impl Server {
    async fn new() -> Self {
        let (own, days) = (Own::new().await, Arc::new(Days::default()));
        let app = own.open(days.clone()).await;
        let db = own.behind().await;
        Self { own, app, db, days }
    }

    /// Lists this on the next day.
    async fn lists(&self, tools: &[&str]) {
        self.days.0.fetch_add(1, Ordering::Relaxed);
        self.app.record(&is("orders"), of(tools), "ci").await.expect("recorded");
    }

    async fn prune(&self, listings: usize, days: u32) -> Pruned {
        let rules = KeepRules { listings, days };
        let foreseen = self.app.prunable(&rules).await.expect("looked");
        let done = self.app.prune(&rules, "ann").await.expect("pruned");
        assert_eq!(foreseen, done, "what was said is what was done");
        assert_eq!(self.app.prunable(&rules).await.expect("looked"), Pruned::default(), "all of it");
        assert_eq!(self.app.verify_events().await.expect("checked").broken, None);
        done
    }
}

/// A list whose tools take an argument that tells them apart; the first has a prompt beside it.
fn of(tools: &[&str]) -> Listing {
    let tools: Vec<_> = tools.iter().map(|name| tool(name, &[name])).collect();
    let mut listing = listing(&tools);
    let prompt = format!(r#"[{{"name":"with {}"}}]"#, tools.len());
    listing.surfaces = vec![SurfaceListing::read(SurfaceKind::Prompts, split(&prompt).expect("an array"))];
    listing
}

fn gone(listings: u64, snapshots: u64, surfaces: u64, texts: u64) -> Pruned {
    Pruned { listings, snapshots, surfaces, texts, checks: 0 }
}

/// The event of a batch.
fn pruned(server: &Server) -> toolpact::catalog::event::NewEvent {
    toolpact::catalog::event::NewEvent {
        at: server.app.now(),
        actor: "ann".to_owned(),
        kind: "store.pruned",
        subject: "store".to_owned(),
        data: serde_json::json!({}),
        origin: None,
        seal: None,
    }
}

#[tokio::test]
async fn what_no_rule_keeps_goes_with_the_texts_that_nothing_else_holds() {
    let mut server = Server::new().await;
    for tools in [&["a"] as &[&str], &["a", "b"], &["a", "b", "c"], &["a"], &["d"], &["d"]] {
        server.lists(tools).await;
    }
    assert_eq!(server.prune(6, 0).await, gone(0, 0, 0, 0), "six are kept for their number");
    assert_eq!(server.prune(0, 5).await, gone(0, 0, 0, 0), "and for their age");
    // The first goes, but what it brought was listed again.
    assert_eq!(server.prune(5, 0).await, gone(1, 0, 0, 0));
    // `a b` and `a b c` go: with them `b`, `c` and two lists of prompts of one text each. `a` is held by what is left.
    assert_eq!(server.prune(3, 0).await, gone(2, 2, 2, 4));
    // The newest of a context is kept whatever the rules say.
    assert_eq!(server.prune(0, 0).await, gone(2, 1, 0, 1));
    assert_eq!(server.db.count("listings").await, 1);
    assert_eq!(server.db.count("content").await, 2);
    let left = server.app.server(&is("orders")).await.expect("there");
    assert_eq!((left.listings.len(), left.tools.len()), (1, 1));
    // A failed listing is not the last good one.
    let mut failed = of(&[]);
    failed.outcome = toolpact::snapshot::Outcome::Timeout;
    for _ in 0..3 {
        server.days.0.fetch_add(1, Ordering::Relaxed);
        server.app.record(&is("orders"), failed.clone(), "ci").await.expect("recorded");
    }
    assert_eq!(server.prune(0, 0).await, gone(2, 0, 0, 0));
    assert_eq!(server.app.server(&is("orders")).await.expect("there").tools.len(), 1);
}

#[tokio::test]
async fn what_was_live_and_what_is_drafted_is_never_forgotten() {
    let mut server = Server::new().await;
    server.lists(&["a"]).await;
    let draft = server.app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
    server.app.approve(&is("orders"), draft.id, false, "first", "ann").await.expect("approved");
    server.app.promote(&to("production", is("2026.12.01"), 0)).await.expect("promoted");
    // Drafted, and superseded by what comes next; never drafted, because it is what the version holds; and the newest.
    for tools in [&["a", "b"] as &[&str], &["a", "c"], &["a"], &["a", "d"]] {
        server.lists(tools).await;
    }
    let tables = ["versions", "drafts", "moves", "pointers", "events", "approvals", "decisions", "comments"];
    let mut before = Vec::new();
    for table in tables {
        before.push(server.db.count(table).await);
    }
    let exported = server.app.export(&is("orders"), None).await.expect("exported");
    let pinned = server.db.number("SELECT count(DISTINCT snapshot) FROM listings").await;
    let done = server.prune(0, 0).await;
    assert_eq!(
        (done.listings, done.snapshots),
        (1, 0),
        "of the two listings of `a` the newer tells where it came from"
    );
    assert_eq!(server.db.number("SELECT count(DISTINCT snapshot) FROM listings").await, pinned);
    for (table, before) in tables.into_iter().zip(before) {
        let now = server.db.count(table).await;
        assert_eq!(now, before + i64::from(table == "events"), "{table}");
    }
    assert_eq!(server.app.export(&is("orders"), None).await.expect("exported"), exported);
    let version = server.app.version(&is("orders"), is("2026.12.01")).await.expect("there");
    assert_eq!(server.app.pinned_tools(&version, None).await.expect("whole").len(), 1);
    for draft in server.app.catalog(&is("orders")).await.expect("there").drafts {
        for side in server.app.get_draft(&is("orders"), draft.id).await.expect("there").content.servers {
            let store = server.own.place().open().await.expect("opened");
            assert!(store.snapshot(&side.server, &side.snapshot).await.expect("read").is_some());
        }
    }
    // What a prune did is in the log.
    let last = server.app.events(1).await.expect("read").remove(0);
    assert_eq!((last.kind.as_str(), last.actor.as_str()), ("store.pruned", "ann"));
    assert_eq!(last.data["listings"], 1);
}

#[tokio::test]
async fn a_text_that_a_document_names_by_its_digest_stays() {
    let mut server = Server::new().await;
    server.lists(&["a"]).await;
    let draft = server.app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
    server.app.approve(&is("orders"), draft.id, false, "first", "ann").await.expect("approved");
    let document = server.app.export(&is("orders"), None).await.expect("exported");
    // One that does not say which snapshot it was.
    let document: Vec<&str> =
        document.lines().filter(|line| !line.trim_start().starts_with("snapshot:")).collect();
    let document = document.join("\n");
    // In a database that knows the server's listings and nothing of the catalog, but for the document.
    let other = Server::new().await;
    other.lists(&["a"]).await;
    other.lists(&["b"]).await;
    other.app.apply("orders.yaml", &document, "ann").await.expect("applied");
    let done = other.prune(0, 0).await;
    assert_eq!(done.listings, 1);
    let version = other.app.version(&is("orders"), is("2026.12.01")).await.expect("there");
    assert_eq!(other.app.pinned_tools(&version, None).await.expect("its text is here").len(), 1);
    assert!(server.db.count("content").await > 0);
}

#[tokio::test]
async fn what_is_decided_meanwhile_is_looked_at_again() {
    let server = Server::new().await;
    for tools in [&["a"] as &[&str], &["b"], &["c"]] {
        server.lists(tools).await;
    }
    let store = server.own.place().open().await.expect("opened");
    let keep = toolpact::store::Keep { newest: 0, since: server.app.now() };
    let since = store.last_event().await.expect("read");
    let found = store.forgettable(&keep).await.expect("read");
    assert_eq!(found.listings[0].1.len(), 2);
    server.app.apply("other.yaml", "catalog: other\n", "ann").await.expect("applied");
    let batch = toolpact::store::PruneBatch { listings: found.listings[0].1.clone(), ..Default::default() };
    let refused = store.prune(&batch, since, pruned(&server)).await;
    assert!(matches!(refused, Err(toolpact::store::StoreError::Shifted)), "{refused:?}");
    assert_eq!(server.prune(0, 0).await.listings, 2);
}
