//! The story from a snapshot to a rollback, its refusals, and its events.

mod access;
mod announced;
mod contexts;
mod documents;
mod drafts;
mod gates;
mod polling;
mod references;
mod reviews;
mod servers;
mod sides;
mod sweep;
mod webhooks;

use std::sync::Arc;

use serde_json::json;
use toolpact::{
    app::{App, AppError, Kind, MoveRequest, Overrides},
    catalog::{CatalogVersion, MoveKind},
    json::Digest,
    name::CatalogName,
    store::Store,
};

use crate::database::Own;
use crate::support::{Noon, app, is, listing, release, to, tool};

/// A catalog `orders` whose version 2026.11.30 holds tool `a`, and 2026.11.30.1 also tool `b`.
async fn two_versions() -> (App, Arc<dyn Store>) {
    let (app, store) = app().await;
    app.record(&is("orders"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    let first = app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
    app.approve(&first.catalog, first.id, false, "first", "ann").await.expect("approved");
    let recorded = app.record(&is("orders"), listing(&[tool("a", &["id"]), tool("b", &[])]), "ci").await;
    let second = recorded.expect("recorded").drafts.remove(0);
    app.approve(&second.catalog, second.id, true, "second", "ann").await.expect("approved");
    (app, store)
}

fn first() -> CatalogVersion {
    is("2026.11.30")
}

fn second() -> CatalogVersion {
    is("2026.11.30.1")
}

fn orders() -> CatalogName {
    is("orders")
}

/// How a use case was refused: kind, code, message.
fn refused<T: std::fmt::Debug>(answer: Result<T, AppError>) -> (Kind, &'static str, String) {
    match answer {
        Ok(answer) => panic!("was not refused: {answer:?}"),
        Err(e) => (e.kind, e.code, e.message),
    }
}

#[tokio::test]
async fn a_version_is_promoted_rolled_back_held_and_released() {
    let (app, _store) = two_versions().await;
    let moved = app.promote(&to("production", first(), 0)).await.expect("promoted");
    assert_eq!((moved.generation, moved.from, moved.to), (1, None, first()));
    app.promote(&to("production", second(), 1)).await.expect("promoted");
    let back = app.rollback(&to("production", first(), 2)).await.expect("rolled back");
    assert_eq!((back.kind, back.generation, back.from), (MoveKind::Rollback, 3, Some(second())));

    let [page] = &app.environment(&is("production")).await.expect("there")[..] else { panic!("one catalog") };
    assert_eq!((page.pointer.version, page.pointer.hold), (first(), Some(second())));
    assert!(page.promotable.is_empty() && page.rollback_targets.is_empty(), "{page:?}");
    assert_eq!(page.history.iter().map(|m| m.generation).collect::<Vec<_>>(), [3, 2, 1]);

    let (kind, code, message) = refused(app.promote(&to("production", second(), 3)).await);
    assert_eq!((kind, code), (Kind::Conflict, "held"), "{message}");
    assert_eq!(refused(app.rollback(&to("production", second(), 3)).await).1, "held");
    app.release_hold(&release(None, 3)).await.expect("released");
    assert_eq!(refused(app.release_hold(&release(None, 3)).await).1, "not-held");
    app.promote(&to("production", second(), 3)).await.expect("promoted again");

    let events = app.events(100).await.expect("events");
    let kinds: Vec<&str> = events.iter().rev().map(|e| e.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "snapshot.recorded",
            "catalog.applied",
            "draft.created",
            "draft.approved",
            "snapshot.recorded",
            "draft.created",
            "draft.approved",
            "environment.promoted",
            "environment.promoted",
            "environment.rolled-back",
            "environment.hold-released",
            "environment.promoted",
        ]
    );
    let check = app.verify_events().await.expect("checked");
    assert_eq!((check.events, check.broken), (12, None));
}

#[tokio::test]
async fn every_version_that_a_rollback_left_stays_held_until_released() {
    let (app, _store) = two_versions().await;
    app.apply("orders", "catalogVersion: 2026.12.01\ntools: []\n", "ann").await.expect("applied");
    let third: CatalogVersion = is("2026.12.01");
    app.promote(&to("production", first(), 0)).await.expect("promoted");
    app.promote(&to("production", second(), 1)).await.expect("promoted");
    app.rollback(&to("production", first(), 2)).await.expect("rolled back");
    app.promote(&to("production", third, 3)).await.expect("promoted");
    app.rollback(&to("production", first(), 4)).await.expect("rolled back");
    for (held, hold) in
        [([third, second()].as_slice(), Some(third)), (&[second()], Some(second())), (&[], None)]
    {
        let page = app.environment(&is("production")).await.expect("there").remove(0);
        assert_eq!(page.pointer.hold, hold);
        assert_eq!(page.promotable.len(), 2 - held.len());
        assert_eq!(page.rollback_targets.len(), 2 - held.len());
        for version in held {
            assert_eq!(refused(app.promote(&to("production", *version, 5)).await).1, "held");
        }
        assert_eq!(page.holds, held);
        if hold.is_some() {
            let release = async |version, generation| app.release_hold(&release(version, generation)).await;
            assert_eq!(refused(release(hold, 4).await).0, Kind::Stale);
            assert_eq!(refused(release(Some(first()), 5).await).1, "not-held");
            if held.len() > 1 {
                let (kind, code, message) = refused(release(None, 5).await);
                assert_eq!((kind, code), (Kind::Invalid, "version-needed"), "{message}");
            }
            release(hold, 5).await.expect("released");
            // A retry, whose first answer was lost, must not release the next one.
            assert_eq!(refused(release(hold, 5).await).1, "not-held");
        }
    }
    app.promote(&to("production", second(), 5)).await.expect("promoted");
}

#[tokio::test]
async fn moves_that_make_no_sense_are_refused_and_leave_no_trace() {
    let (app, _store) = two_versions().await;
    app.promote(&to("staging", first(), 0)).await.expect("promoted");
    let before = app.events(100).await.expect("events").len();
    let asked = |version, generation| to("staging", version, generation);
    let cases: Vec<(bool, MoveRequest, Kind, &str, &str)> = vec![
        (
            true,
            asked(second(), 0),
            Kind::Stale,
            "stale-generation",
            "`staging` is at generation 1 of catalog `orders`, not 0: ann moved it to 2026.11.30 on 2026-11-30T12:00:00Z",
        ),
        (
            true,
            to("prod", second(), 4),
            Kind::NotFound,
            "unknown-environment",
            "environment `prod` does not exist",
        ),
        (
            true,
            asked(first(), 1),
            Kind::Conflict,
            "already-live",
            "version 2026.11.30 is live in `staging` already, at generation 1",
        ),
        (
            true,
            asked(is("2026.11.29"), 1),
            Kind::NotFound,
            "unknown-version",
            "catalog `orders` has no version 2026.11.29",
        ),
        (
            true,
            MoveRequest { reason: " ".to_owned(), ..asked(second(), 1) },
            Kind::Invalid,
            "empty-reason",
            "the reason is empty",
        ),
        (
            true,
            MoveRequest { reason: "a\0b".to_owned(), ..asked(second(), 1) },
            Kind::Invalid,
            "invalid-reason",
            "the reason holds U+0000, which not every database can keep",
        ),
        (
            true,
            MoveRequest { idempotency_key: Some("k".repeat(4_000)), ..asked(second(), 1) },
            Kind::Invalid,
            "invalid-idempotency-key",
            "an idempotency key has 1 to 128 bytes",
        ),
        (
            true,
            MoveRequest { catalog: Some(is("order")), ..asked(second(), 1) },
            Kind::NotFound,
            "unknown-catalog",
            "catalog `order` does not exist; did you mean `orders`?",
        ),
        (
            false,
            asked(second(), 1),
            Kind::Conflict,
            "never-live",
            "version 2026.11.30.1 of catalog `orders` was never live in `staging`",
        ),
        (
            false,
            asked(first(), 1),
            Kind::Conflict,
            "already-live",
            "version 2026.11.30 is live in `staging` already, at generation 1",
        ),
        (
            false,
            to("stagin", first(), 0),
            Kind::NotFound,
            "unknown-environment",
            "environment `stagin` does not exist; did you mean `staging`?",
        ),
    ];
    for (promote, request, kind, code, message) in cases {
        let answer = if promote { app.promote(&request).await } else { app.rollback(&request).await };
        assert_eq!(refused(answer), (kind, code, message.to_owned()), "{request:?}");
    }
    assert_eq!(app.events(100).await.expect("events").len(), before);
}

#[tokio::test]
async fn of_two_racing_promotes_one_wins() {
    let own = Own::new().await;
    let (one, other) = (own.open(Arc::new(Noon)).await, own.open(Arc::new(Noon)).await);
    let text = "catalogVersion: 2026.11.30\ntools: []\n";
    one.apply("orders.yaml", text, "ann").await.expect("applied");
    other.apply("orders.yaml", &text.replace(".30", ".30.1"), "ann").await.expect("applied");
    for generation in 0..20 {
        // Whoever wins a round moves away from what the round before left.
        let version = if generation % 2 == 0 { first() } else { second() };
        let request = to("production", version, generation);
        let (a, b) = tokio::join!(one.promote(&request), other.promote(&request));
        let won = [&a, &b].into_iter().filter(|r| r.is_ok()).count();
        assert_eq!(won, 1, "{a:?} {b:?}");
        let lost = a.err().or(b.err()).expect("one lost");
        assert_eq!(lost.kind, Kind::Stale, "{lost}");
    }
    assert_eq!(one.verify_events().await.expect("checked").broken, None);
    assert_eq!(one.environments().await.expect("there")[0].history.len(), 20);
}

#[tokio::test]
async fn writers_of_different_things_wait_for_each_other() {
    let own = Own::new().await;
    let (one, other) = (own.open(Arc::new(Noon)).await, own.open(Arc::new(Noon)).await);
    for approvals in 0..20 {
        let document = |name| format!("catalog: {name}\npolicy: {{approvals: {approvals}}}");
        let (a, b) = (document("a"), document("b"));
        // Of both, the event is chained behind the last.
        let (a, b) = tokio::join!(one.apply("a", &a, "ann"), other.apply("b", &b, "bob"));
        a.expect("applied");
        b.expect("applied");
    }
    assert_eq!(one.verify_events().await.expect("checked").broken, None);
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_another_request_none() {
    let (app, _store) = two_versions().await;
    let keyed = |request: MoveRequest| MoveRequest { idempotency_key: Some("k1".to_owned()), ..request };
    let request = keyed(to("production", first(), 0));
    let answer = app.promote(&request).await.expect("promoted");
    app.promote(&to("production", second(), 1)).await.expect("moved on");
    let again = app.promote(&request).await.expect("answered again");
    assert_eq!(answer, again);
    for other in [
        keyed(to("production", first(), 2)),
        keyed(to("production", second(), 0)),
        keyed(to("staging", first(), 0)),
        MoveRequest { reason: "another".to_owned(), ..request.clone() },
    ] {
        let (kind, code, _) = refused(app.promote(&other).await);
        assert_eq!((kind, code), (Kind::Blocked, "idempotency-key-reused"), "{other:?}");
    }
    assert_eq!(refused(app.rollback(&request).await).1, "idempotency-key-reused");
    assert_eq!(app.environments().await.expect("there")[0].history.len(), 2);
}

#[tokio::test]
async fn a_retry_without_a_catalog_is_answered_though_there_are_two_by_now() {
    let (app, _store) = two_versions().await;
    let request = MoveRequest { idempotency_key: Some("k1".to_owned()), ..to("production", first(), 0) };
    let answer = app.promote(&request).await.expect("promoted");
    app.apply("mail", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    assert_eq!(app.promote(&request).await.expect("answered again"), answer);
    let named = MoveRequest { catalog: Some(orders()), ..request };
    assert_eq!(refused(app.promote(&named).await).1, "idempotency-key-reused");
}

#[tokio::test]
async fn a_key_that_was_kept_before_there_was_anything_to_insist_on_is_good() {
    let (app, store) = two_versions().await;
    let request = MoveRequest { idempotency_key: Some("k1".to_owned()), ..to("production", first(), 0) };
    app.promote(&request).await.expect("promoted");
    let sent = json!({
        "kind": "promote", "environment": "production", "catalog": null, "version": "2026.11.30", "generation": 0,
        "reason": "because", "actor": "ann",
    });
    let (kept, _) = store.answered("k1").await.expect("it answers").expect("it was kept");
    assert_eq!(kept, Digest::of(&sent));
    let insists = Overrides { record_probe: true, ..Overrides::default() };
    let other = MoveRequest { overrides: insists, ..request };
    assert_eq!(refused(app.promote(&other).await).1, "idempotency-key-reused");
}

#[tokio::test]
async fn racing_retries_move_the_pointer_once() {
    let own = Own::new().await;
    let app = own.open(Arc::new(Noon)).await;
    app.apply("orders", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    let request = MoveRequest { idempotency_key: Some("k1".to_owned()), ..to("production", first(), 0) };
    let (a, b) = tokio::join!(app.promote(&request), app.promote(&request));
    assert_eq!(a.expect("answered"), b.expect("answered"));
    assert_eq!(app.environments().await.expect("there")[0].history.len(), 1);
}
