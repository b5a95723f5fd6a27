//! Documents applied to catalogs that others change as well: rehearsed, refused where they would undo, told to overwrite.

use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use serde_json::json;
use toolpact::{
    app::{App, Clock, Kind, Place, catalogs::Apply},
    catalog::{Catalog, CatalogServer, Policy},
    diff::Level,
};

use super::{orders, refused};
use crate::{
    database::Own,
    support::{Noon, app, is, listing, noon, tool},
};

const FIRST: &str =
    "catalog: orders\npolicy: {failOn: [breaking]}\nenvironments: {staging: {}}\nservers: {orders: {}}\n";

/// A catalog that was made by [`FIRST`], and its settings.
async fn applied() -> (App, Catalog) {
    let (app, _) = app().await;
    for server in ["orders", "mail"] {
        app.record(&is(server), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    }
    let applied = app.apply("orders.yaml", FIRST, "ann").await.expect("applied");
    (app, applied.catalog)
}

/// Sets the catalog by the API, as it stands after this change.
async fn set(app: &App, change: impl FnOnce(&mut Catalog)) -> Catalog {
    let now = app.catalog(&orders()).await.expect("there").catalog;
    let mut next = now.clone();
    change(&mut next);
    app.put_catalog(next, Some(&now.digest()), "ben").await.expect("set")
}

#[tokio::test]
async fn a_document_does_not_undo_what_others_set_unless_told_to() {
    let (app, _) = applied().await;
    set(&app, |c| c.policy.fail_on = vec![Level::Breaking, Level::Risky]).await;
    set(&app, |c| c.servers.push(CatalogServer::all(is("mail")))).await;
    let before = app.events(100).await.expect("events").len();
    let (kind, code, message) = refused(app.apply("orders.yaml", FIRST, "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "changed-elsewhere"));
    assert_eq!(
        message,
        "orders.yaml would undo what others set in catalog `orders` since a document was applied to it: `policy`, \
         server `mail`"
    );
    assert_eq!(app.events(100).await.expect("events").len(), before);
    // What it leaves alone, and what it says as others do, it does not undo.
    let taken =
        "catalog: orders\npolicy: {failOn: [breaking, risky]}\nenvironments: {staging: {}, dev: {}}\n";
    app.apply("orders.yaml", taken, "ann").await.expect("applied");
    // What the last document did not speak of is others' word still.
    let (_, _, message) = refused(app.apply("orders.yaml", FIRST, "ann").await);
    assert!(message.ends_with("applied to it: server `mail`"), "{message}");
    let overwrite = Apply { overwrite: true, ..Apply::default() };
    app.apply_as("orders.yaml", FIRST, overwrite, "ann").await.expect("told to");
    app.apply("orders.yaml", FIRST, "ann").await.expect("since the last document nobody else set anything");
    set(&app, |c| c.environments.clear()).await;
    assert_eq!(refused(app.apply("orders.yaml", FIRST, "ann").await).1, "changed-elsewhere");
    let done = app.apply_as("orders.yaml", FIRST, overwrite, "ann").await.expect("told to");
    assert_eq!(done.changes, ["+ environments:", "+   staging: {}"]);
}

#[tokio::test]
async fn a_rehearsal_says_what_would_change_and_writes_nothing() {
    let (app, before) = applied().await;
    let events = app.events(100).await.expect("events").len();
    let rehearse = async |text: &str| {
        app.apply_as("orders.yaml", text, Apply { dry_run: true, ..Apply::default() }, "ann").await
    };
    let text = "catalog: orders\npolicy: {failOn: [breaking], approvals: 2}\nservers: {orders: {tools: [a], command: [x]}}\n";
    let told = rehearse(text).await.expect("rehearsed");
    assert_eq!(
        told.changes,
        ["+   approvals: 2", "-   orders: {}", "+   orders:", "+     command: [x]", "+     tools: [a]"]
    );
    assert_eq!((told.unchanged, told.registered), (false, vec![is("orders")]));
    assert!(rehearse(FIRST).await.expect("rehearsed").unchanged);
    assert_eq!(refused(rehearse("catalog: orders\nfoo: 1\n").await).1, "invalid-document");
    assert_eq!(app.events(100).await.expect("events").len(), events);
    assert_eq!(app.catalog(&orders()).await.expect("there").catalog, before);
    assert!(app.registered().await.expect("there").is_empty());
}

#[tokio::test]
async fn settings_are_put_on_what_was_seen_and_nothing_else() {
    let (app, before) = applied().await;
    let put = async |settings: &Catalog, seen: Option<&Catalog>| {
        let seen = seen.map(Catalog::digest);
        app.put_catalog(settings.clone(), seen.as_ref(), "ben").await
    };
    let mut next = before.clone();
    next.policy = Policy { approvals: 1, ..Policy::default() };
    assert_eq!(refused(put(&next, None).await).0, Kind::Stale, "it is there already");
    assert_eq!(refused(put(&next, Some(&next)).await).0, Kind::Stale);
    let set = put(&next, Some(&before)).await.expect("set");
    assert_eq!(set.policy.approvals, 1);
    assert_eq!(refused(put(&before, Some(&before)).await).0, Kind::Stale, "it moved since");

    let elsewhere = Catalog { name: is("shop"), ..before.clone() };
    assert_eq!(refused(put(&elsewhere, Some(&before)).await).0, Kind::Stale, "it is not there");
    put(&elsewhere, None).await.expect("made");
    let mut unknown = set.clone();
    unknown.servers.push(CatalogServer::all(is("order")));
    assert_eq!(refused(put(&unknown, Some(&set)).await).1, "unknown-server");
    let mut circle = set.clone();
    circle.environments =
        serde_json::from_value(json!({"a": {"after": "b"}, "b": {"after": "a"}})).expect("policies");
    assert_eq!(refused(put(&circle, Some(&set)).await).1, "bad-environments");
}

#[tokio::test]
async fn a_document_that_leaves_a_part_out_does_not_make_it_its_own() {
    let (app, _) = applied().await;
    set(&app, |c| c.policy.approvals = 2).await;
    app.apply("orders.yaml", "catalog: orders\nenvironments: {dev: {}}\n", "ann").await.expect("applied");
    assert_eq!(refused(app.apply("orders.yaml", FIRST, "ann").await).1, "changed-elsewhere");

    // What a document says as others did is its own word from then on, though nothing changed.
    let (app, _) = applied().await;
    set(&app, |c| c.policy.approvals = 2).await;
    let second = "catalog: orders\npolicy: {failOn: [breaking], approvals: 2}\n";
    assert!(app.apply("orders.yaml", second, "ann").await.expect("applied").unchanged);
    set(&app, |c| c.policy.approvals = 0).await;
    assert_eq!(refused(app.apply("orders.yaml", second, "ann").await).1, "changed-elsewhere");
}

const OVERWRITE: Apply = Apply { dry_run: false, overwrite: true };

/// A clock that lets another process do something when it is looked at, which is after everything was read and before
/// anything is written.
struct Meanwhile(Mutex<Vec<fn(App)>>, Place);

impl Clock for Meanwhile {
    fn now(&self) -> DateTime<Utc> {
        let next = self.0.lock().expect("whole").pop();
        if let Some(act) = next {
            let place = self.1.clone();
            let other =
                std::thread::spawn(move || act(block_on(App::open(&place, Arc::new(Noon))).expect("opened")));
            other.join().expect("it was done");
        }
        noon()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

/// Says something of the draft.
fn remarks(app: App) {
    block_on(app.comment(&orders(), 1, None, "who still sends `all`?", "jonas")).expect("said");
}

/// Sets the catalog.
fn sets(app: App) {
    block_on(set(&app, |catalog| catalog.policy.approvals = 7));
}

#[tokio::test]
async fn who_only_says_something_meanwhile_is_in_nobodys_way() {
    let own = Own::new().await;
    let app = own.open(Arc::new(Noon)).await;
    app.record(&is("orders"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    let before = app.apply("orders.yaml", FIRST, "ann").await.expect("applied").catalog;
    app.draft(&orders(), &[], "ci").await.expect("drafted");
    let meanwhile = async |act| {
        App::open(&own.place(), Arc::new(Meanwhile(Mutex::new(vec![act]), own.place())))
            .await
            .expect("opened")
    };
    let mut next = before.clone();
    next.policy.approvals = 1;
    let put = async |app: App| app.put_catalog(next.clone(), Some(&before.digest()), "ben").await;
    let resets = async || app.apply_as("orders.yaml", FIRST, OVERWRITE, "ann").await.expect("applied");
    assert_eq!(refused(put(meanwhile(sets).await).await).1, "stale-settings");
    resets().await;
    put(meanwhile(remarks).await).await.expect("set");
    resets().await;

    let text = FIRST.replace("staging: {}", "staging: {}, dev: {}");
    let applied = meanwhile(remarks).await.apply("orders.yaml", &text, "ann").await.expect("applied");
    assert_eq!(applied.catalog.environments.len(), 2);
    let text = text.replace("failOn: [breaking]", "failOn: []");
    let undone = meanwhile(sets).await.apply("orders.yaml", &text, "ann").await;
    assert_eq!(refused(undone).1, "changed-elsewhere");
    assert_eq!(
        app.events(100).await.expect("events").iter().filter(|e| e.kind == "draft.commented").count(),
        2
    );
}
