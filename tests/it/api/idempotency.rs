//! `Idempotency-Key`: sent twice, done once.

use std::sync::Arc;

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde_json::json;
use toolpact::{
    app::{
        App,
        answers::{Begun, Lost},
    },
    json::Digest,
    store::Store,
};

use crate::{
    ask::{Answer, Ask, answer, get, post},
    database::Own,
    seed::{self, StandingClock},
};

const DRAFTS: &str = "/api/v1/catalogs/second/drafts";

fn draft() -> Ask {
    post(DRAFTS, json!({"servers": ["orders"]}))
}

async fn events(app: &App) -> usize {
    app.events(1_000).await.expect("events").len()
}

/// Forgets what was answered under every key, as time does.
async fn forget_all(store: &Arc<dyn Store>) {
    let later: DateTime<Utc> = "2027-11-30T12:00:00Z".parse().expect("a time");
    store.begin_answer("k-2", &Digest::of_bytes(b"another"), later, later, later).await.expect("it answers");
}

fn code(answer: &Answer) -> String {
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap_or_default();
    format!("{} {}", answer.status.as_u16(), body["code"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn an_empty_header_is_not_told_what_was_answered_to_none() {
    let app = seed::story().await;
    let make = || {
        let body =
            json!({"draft": 4, "rule": "enum-value-removed", "ruling": "accept", "reason": "callers move"});
        post("/api/v1/catalogs/shop/decisions", body).header("idempotency-key", "k-behalf")
    };
    assert_eq!(answer(&app, make()).await.status, StatusCode::CREATED);
    let empty = answer(&app, make().header("toolpact-on-behalf-of", "")).await.body;
    assert!(empty.contains("idempotency-key-reused"), "{empty}");
}

#[tokio::test]
async fn the_same_request_under_a_key_is_done_once_and_answered_alike() {
    let app = seed::story().await;
    let first = answer(&app, draft().header("idempotency-key", "k-1")).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (StatusCode::CREATED, ""));
    let done = events(&app).await;
    let again = answer(&app, draft().header("idempotency-key", "k-1")).await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    for name in ["content-type", "location", "etag"] {
        assert_eq!(again.headers.get(name), first.headers.get(name), "{name}");
    }
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(events(&app).await, done);
}

#[tokio::test]
async fn a_key_is_not_used_for_another_request() {
    let app = seed::story().await;
    let tag = answer(&app, get("/api/v1/catalogs/shop/drafts/4")).await.header("etag").to_owned();
    assert_eq!(answer(&app, draft().header("idempotency-key", "k-1")).await.status, StatusCode::CREATED);
    let done = events(&app).await;
    for other in [
        post(DRAFTS, json!({"servers": ["orders"], "x": 1})),
        post("/api/v1/catalogs/third/drafts", json!({"servers": ["orders"]})),
        post("/api/v1/catalogs/shop/drafts/4/reject", json!({"reason": "no"})).header("if-match", &tag),
        post("/api/v1/environments/dev/promote", json!({"version": "2026.11.28", "reason": "why"}))
            .header("if-match", "\"0\""),
    ] {
        let refused = answer(&app, other.header("idempotency-key", "k-1")).await;
        assert_eq!(code(&refused), "422 idempotency-key-reused");
    }
    assert_eq!(events(&app).await, done);
}

#[tokio::test]
async fn a_refusal_is_not_kept() {
    let app = seed::story().await;
    let unknown = || post("/api/v1/catalogs/second/drafts", json!({})).header("idempotency-key", "k-1");
    assert_eq!(code(&answer(&app, unknown()).await), "404 unknown-catalog");
    assert_eq!(answer(&app, draft()).await.status, StatusCode::CREATED);
    assert_eq!(answer(&app, unknown()).await.status, StatusCode::CREATED, "it is there by now");

    // That the catalog has to be named is true only while there are two of them that are live there.
    let unnamed = || {
        let ask = post("/api/v1/environments/dev/promote", json!({"version": "2026.11.26", "reason": "why"}));
        ask.header("if-match", "\"0\"").header("idempotency-key", "k-2")
    };
    assert_eq!(code(&answer(&app, unnamed()).await), "400 catalog-needed");
    let named = json!({"catalog": "shop", "version": "2026.11.26", "reason": "why"});
    let named = post("/api/v1/environments/dev/promote", named).header("if-match", "\"0\"");
    assert_eq!(answer(&app, named.header("idempotency-key", "k-2")).await.status, StatusCode::OK);
}

/// As it was left by a process that ended between its work and the keeping of its answer.
async fn lose_answers(own: &Own) {
    let lost = "UPDATE answers SET status = NULL, headers = NULL, body = NULL";
    own.behind().await.run(lost).await.expect("lost");
}

#[tokio::test]
async fn what_was_done_by_a_process_that_is_gone_undoes_nothing_that_came_later() {
    const DECISIONS: &str = "/api/v1/catalogs/shop/decisions";
    const DRAFT: &str = "/api/v1/catalogs/shop/drafts/4";
    let own = Own::new().await;
    own.place().migrate().await.expect("migrated");
    let store = own.place().open().await.expect("opened");
    _ = seed::story_over(&store).await;
    let app = App::new(store.clone(), StandingClock::at("2026-11-30T12:00:00Z"));
    let tag = answer(&app, get(DRAFT)).await.header("etag").to_owned();
    let decides = |ruling| {
        let body = json!({"draft": 4, "rule": "tool-removed", "ruling": ruling, "reason": "why"});
        post(DECISIONS, body)
    };
    let of_staging = |verb| post(&format!("/api/v1/environments/staging/{verb}"), json!({"reason": "why"}));
    let rejects = || post(&format!("{DRAFT}/reject"), json!({"reason": "no"})).header("if-match", &tag);
    assert_eq!(answer(&app, of_staging("freeze")).await.status, StatusCode::CREATED);

    // Each is done, its answer is lost, and somebody else does the opposite where that can be done.
    let cases = [
        (decides("accept"), Some(decides("reject")), decides("accept"), "409 idempotency-key-in-flight"),
        (
            of_staging("unfreeze"),
            Some(of_staging("freeze")),
            of_staging("unfreeze"),
            "409 idempotency-key-in-flight",
        ),
        (rejects(), None, rejects(), "412 stale-etag"),
    ];
    for (at, (first, opposite, again, refusal)) in cases.into_iter().enumerate() {
        let key = format!("k-{at}");
        let done = answer(&app, first.header("idempotency-key", &key)).await;
        assert!(done.status.is_success(), "{}", done.body);
        lose_answers(&own).await;
        if let Some(opposite) = opposite {
            assert_eq!(answer(&app, opposite).await.status, StatusCode::CREATED);
        }
        let events_before = events(&app).await;
        let later = App::new(store.clone(), StandingClock::at("2026-11-30T12:16:00Z"));
        let retried = answer(&later, again.header("idempotency-key", &key)).await;
        assert_eq!(code(&retried), refusal, "{}", retried.body);
        assert_eq!(events(&app).await, events_before, "{refusal}");
    }
}

#[tokio::test]
async fn a_key_whose_request_is_worked_on_has_to_wait() {
    let app = seed::story().await;
    let ask = || draft().header("idempotency-key", "k-1");
    // The digest of the request, as the first of two sees it, is not known here: the key is taken under another one first.
    let other = Digest::of_bytes(b"another");
    assert_eq!(app.begin_answer("k-1", &other, Lost::DoneAgain).await.expect("it answers"), Begun::Fresh);
    assert_eq!(code(&answer(&app, ask()).await), "422 idempotency-key-reused");
    app.forget_answer("k-1", &other).await.expect("it answers");
    // Both at once: one does it, and the other waits or gets its answer.
    let (one, two) = tokio::join!(answer(&app, ask()), answer(&app, ask()));
    let codes = [code(&one), code(&two)];
    assert!(codes.contains(&"201 ".to_owned()), "{codes:?}");
    assert!(codes.iter().all(|c| c == "201 " || c == "409 idempotency-key-in-flight"), "{codes:?}");
    let drafts = answer(&app, get(DRAFTS)).await.body;
    assert_eq!(drafts.matches("\"id\":").count(), 1, "{drafts}");
    for waits in [one, two].iter().filter(|a| a.status == StatusCode::CONFLICT) {
        assert_eq!(waits.header("retry-after"), "1");
    }
}

#[tokio::test]
async fn a_move_says_that_it_was_made_before_even_where_only_its_own_record_knows() {
    let store = crate::database::store().await;
    let app = seed::story_over(&store).await;
    let ask = || {
        post("/api/v1/environments/staging/rollback", json!({"version": "2026.11.26", "reason": "why"}))
            .header("if-match", "\"2\"")
            .header("idempotency-key", "k-1")
    };
    let first = answer(&app, ask()).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (StatusCode::OK, ""));
    for gone in [false, true] {
        if gone {
            // As after a restart.
            forget_all(&store).await;
        }
        let again = answer(&app, ask()).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
}

#[tokio::test]
async fn a_release_is_done_once_even_where_only_its_own_record_knows() {
    let store = crate::database::store().await;
    let app = seed::story_over(&store).await;
    let back =
        post("/api/v1/environments/staging/rollback", json!({"version": "2026.11.26", "reason": "why"}));
    assert_eq!(answer(&app, back.header("if-match", "\"2\"")).await.status, StatusCode::OK);
    let ask = |reason| {
        post("/api/v1/environments/staging/release-hold", json!({"reason": reason}))
            .header("if-match", "\"3\"")
            .header("idempotency-key", "k-1")
    };
    assert_eq!(answer(&app, ask("mended")).await.status, StatusCode::NO_CONTENT);
    let done = events(&app).await;
    // As after a restart; then nothing is held any more, and then the pointer has moved on as well.
    for moves_on in [false, true] {
        forget_all(&store).await;
        let again = answer(&app, ask("mended")).await;
        assert_eq!(again.status, StatusCode::NO_CONTENT);
        assert_eq!(again.header("idempotency-replayed"), "true");
        forget_all(&store).await;
        assert_eq!(code(&answer(&app, ask("another")).await), "422 idempotency-key-reused");
        if !moves_on {
            assert_eq!(events(&app).await, done);
            let on = post(
                "/api/v1/environments/staging/promote",
                json!({"version": "2026.11.28", "reason": "mended"}),
            );
            assert_eq!(answer(&app, on.header("if-match", "\"3\"")).await.status, StatusCode::OK);
        }
    }
}

#[tokio::test]
async fn a_key_is_1_to_128_printable_characters() {
    let app = seed::story().await;
    for key in ["", " ", "ü", "tab\tin", &"k".repeat(129)] {
        let refused = answer(&app, draft().header("idempotency-key", key)).await;
        assert_eq!(code(&refused), "400 invalid-idempotency-key", "{key:?}");
    }
    for key in ["!", "two words", &"k".repeat(128)] {
        assert_ne!(
            answer(&app, draft().header("idempotency-key", key)).await.status,
            StatusCode::BAD_REQUEST
        );
    }
}
