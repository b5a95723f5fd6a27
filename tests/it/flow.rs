//! The story from a snapshot to a rollback, its refusals, and its events.

use std::sync::Arc;

use toolpact::{
    app::{App, AppError, Kind, MoveRequest, view::Drift},
    catalog::{CatalogVersion, Content, DraftStatus, MoveKind, event::NewEvent},
    diff::{Assumption, Bump, Level, Report},
    name::CatalogName,
    snapshot::{Evidence, Listing, Outcome, Provenance},
    store::{Catalogs as _, NewDraft, sqlite::SqliteStore},
};

use crate::support::{Noon, app, is, listing, noon, report, to, tool};

/// A catalog `orders` whose version 2026.11.30 holds tool `a`, and 2026.11.30.1 also tool `b`.
async fn two_versions() -> (App, SqliteStore) {
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
    let released = app.release_hold(&is("production"), None, 3, "mended", "ann").await;
    released.expect("released");
    assert_eq!(refused(app.release_hold(&is("production"), None, 3, "mended", "ann").await).1, "not-held");
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
        if hold.is_some() {
            assert_eq!(
                refused(app.release_hold(&is("production"), None, 4, "mended", "ann").await).0,
                Kind::Stale
            );
            app.release_hold(&is("production"), None, 5, "mended", "ann").await.expect("released");
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
            Kind::Stale,
            "stale-generation",
            "`prod` is at generation 0 of catalog `orders`, not 4: nothing was ever live there",
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
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolpact.db");
    let open = || async { App::open(&file, Arc::new(Noon)).await.expect("opened") };
    let (one, other) = (open().await, open().await);
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
async fn racing_retries_move_the_pointer_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let app = App::open(&folder.path().join("new/toolpact.db"), Arc::new(Noon)).await.expect("opened");
    app.apply("orders", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    let request = MoveRequest { idempotency_key: Some("k1".to_owned()), ..to("production", first(), 0) };
    let (a, b) = tokio::join!(app.promote(&request), app.promote(&request));
    assert_eq!(a.expect("answered"), b.expect("answered"));
    assert_eq!(app.environments().await.expect("there")[0].history.len(), 1);
}

// -- snapshots and drafts -----------------------------------------------------------------------------------------------

#[tokio::test]
async fn drift_makes_a_draft_and_a_newer_one_supersedes_it() {
    let (app, _store) = two_versions().await;
    let server = is("orders");
    let both = [tool("a", &["id"]), tool("b", &[])];
    let same = app.record(&server, listing(&both), "ci").await.expect("recorded");
    assert_eq!((same.drift, same.drafts.len()), (Drift::Identical, 0));

    let third = [tool("a", &["id"]), tool("b", &["x"])];
    let drift = app.record(&server, listing(&third), "ci").await.expect("recorded");
    assert!(matches!(drift.drift, Drift::Drift(_)), "{:?}", drift.drift);
    let old = &drift.drafts[0];
    let again = app.record(&server, listing(&third), "ci").await.expect("recorded");
    assert_eq!((again.drift, again.drafts.len()), (Drift::Identical, 0));
    assert_eq!(app.draft(&orders(), &[], "ann").await.expect("the pending one").id, old.id);

    let fourth = [tool("a", &["id"]), tool("b", &["x"]), tool("c", &[])];
    let new = app.record(&server, listing(&fourth), "ci").await.expect("recorded").drafts.remove(0);
    let status = |id| {
        let app = app.clone();
        async move { app.get_draft(&orders(), id).await.expect("there").status }
    };
    assert_eq!((status(old.id).await, status(new.id).await), (DraftStatus::Superseded, DraftStatus::Pending));

    let strict = app.draft_report(&orders(), new.id, Assumption::Strict).await.expect("judged again");
    assert_eq!((strict.assumption, strict.baseline.as_str()), (Assumption::Strict, "orders@2026.11.30.1"));
    assert_eq!(strict.tools.len(), new.report.tools.len());

    // What was refused does not come back by itself, only when somebody asks.
    let rejected = app.reject(&orders(), new.id, "not now", "ann").await.expect("rejected");
    assert_eq!((rejected.status, rejected.reason.as_str()), (DraftStatus::Rejected, "not now"));
    let swept = app.record(&server, listing(&fourth), "ci").await.expect("recorded");
    assert!(swept.drafts.is_empty());
    let asked = app.draft(&orders(), &[], "ann").await.expect("drafted");
    assert!(asked.id > new.id);

    // Back at what is approved: nothing is left to review.
    app.record(&server, listing(&both), "ci").await.expect("recorded");
    assert_eq!(status(asked.id).await, DraftStatus::Superseded);
    assert_eq!(refused(app.draft(&orders(), &[], "ann").await).1, "nothing-changed");
    let (kind, code, message) = refused(app.approve(&orders(), asked.id, false, "why not", "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "draft-decided"), "{message}");
    assert_eq!(app.verify_events().await.expect("checked").broken, None);
}

#[tokio::test]
async fn a_failed_listing_is_kept_and_never_reads_as_tools_removed() {
    let (app, _store) = two_versions().await;
    for outcome in Outcome::ALL.into_iter().filter(|o| *o != Outcome::Ok) {
        let evidence = Evidence { message: "it failed".to_owned(), ..Evidence::default() };
        let failed =
            Listing { outcome, evidence, provenance: Provenance::file("x"), tools: listing(&[]).tools };
        let recorded = app.record(&is("orders"), failed, "ci").await.expect("recorded");
        assert_eq!((recorded.drift, recorded.listing.digest), (Drift::Unknown, None));
        assert!(recorded.drafts.is_empty() && recorded.skipped.is_empty());
    }
    let page = app.server(&is("orders")).await.expect("there");
    assert_eq!((page.listings.len(), page.tools.len()), (10, 2));
    assert_eq!(page.listings[0].evidence.message, "it failed");

    // A list with a tool that cannot be read is not `ok`, whoever says so.
    let mut odd = listing(&[tool("a", &[])]);
    odd.tools[0].raw = serde_json::value::RawValue::from_string("{\"name\":\"a\"}".to_owned()).expect("JSON");
    let recorded = app.record(&is("orders"), odd, "ci").await.expect("recorded");
    assert_eq!(recorded.listing.outcome, Outcome::Malformed);
    assert_eq!(recorded.listing.evidence.message, "server `orders`: tool `a` has no `inputSchema`");
}

/// A pending draft of catalog `orders` with this report, as if the engine had judged so.
async fn judged(store: &SqliteStore, base: Option<CatalogVersion>, report: Report) -> i64 {
    let new = NewDraft {
        catalog: orders(),
        base,
        content: Content::new(Vec::new(), Vec::new()),
        report,
        created_by: "ci".to_owned(),
        created_at: noon(),
    };
    let event = NewEvent {
        at: noon(),
        actor: "ci".to_owned(),
        kind: "draft.created",
        subject: "catalog/orders".to_owned(),
        data: serde_json::json!({}),
    };
    store.open_draft(new, event).await.expect("opened").id
}

#[tokio::test]
async fn the_policy_blocks_what_nobody_accepted_and_absolute_findings_for_ever() {
    let cases = [
        (Level::Compatible, false, false, None),
        (Level::Risky, false, false, None),
        (Level::Breaking, false, false, Some("policy-blocks")),
        (Level::Undecided, false, false, Some("policy-blocks")),
        (Level::Breaking, false, true, None),
        (Level::Undecided, false, true, None),
        (Level::Breaking, true, true, Some("absolute-finding")),
        (Level::Compatible, true, true, Some("absolute-finding")),
    ];
    for (level, absolute, accept, code) in cases {
        let (app, store) = two_versions().await;
        let id = judged(&store, Some(second()), report("a", level, Bump::Major, absolute)).await;
        assert_eq!(refused(app.approve(&orders(), id, true, "", "ann").await).1, "empty-reason");
        let answer = app.approve(&orders(), id, accept, "we asked everyone", "ann").await;
        match code {
            None => assert_eq!(answer.map_err(|e| e.message).map(|v| v.version), Ok(is("2026.11.30.2"))),
            Some(code) => {
                let (kind, found, message) = refused(answer);
                assert_eq!((kind, found), (Kind::Blocked, code), "{message}");
                assert_eq!(app.get_draft(&orders(), id).await.expect("there").status, DraftStatus::Pending);
            }
        }
    }
}

#[tokio::test]
async fn a_draft_whose_base_was_overtaken_cannot_be_approved() {
    let (app, store) = two_versions().await;
    let id = judged(&store, Some(second()), report("a", Level::Compatible, Bump::Minor, false)).await;
    app.apply("orders.yaml", "catalogVersion: 2026.12.24\ntools: []\n", "ann").await.expect("applied");
    let (kind, code, message) = refused(app.approve(&orders(), id, true, "go", "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "stale-draft"));
    assert_eq!(
        message,
        format!(
            "draft `d-{id}` was made on 2026.11.30.1, the newest version of catalog `orders` is 2026.12.24"
        )
    );
    // The next version does not sort before the one that came from a later day.
    let next =
        judged(&store, Some(is("2026.12.24")), report("a", Level::Compatible, Bump::Minor, false)).await;
    let version = app.approve(&orders(), next, false, "go", "ann").await.expect("approved");
    assert_eq!(version.version, is("2026.12.24.1"));
}

// -- documents and sides ------------------------------------------------------------------------------------------------

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
