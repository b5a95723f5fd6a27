//! Which state an answer shows, and requests that hold only for one: `ETag`, `If-None-Match`, `If-Match`; and the name of
//! a request.

use axum::http::Method;
use serde_json::json;

use super::description::operations;
use crate::{
    ask::{Ask, answer, get, post},
    seed,
};

const DRAFT: &str = "/api/v1/catalogs/shop/drafts/4";

/// Every path that is read to its end, with names of the story.
fn readable() -> Vec<String> {
    let named = |path: &str| {
        let names = [
            ("{server}", "orders"),
            ("{catalog}", "shop"),
            ("{environment}", "staging"),
            ("{draft}", "d-4"),
            ("{check}", "1"),
            ("{webhook}", "on-call"),
        ];
        names
            .iter()
            .fold(path.replace("{version}", "2026.11.28"), |path, (part, name)| path.replace(part, name))
    };
    let all = operations().into_iter().filter(|(method, path, _)| {
        *method == Method::GET && path.starts_with("/api") && !path.ends_with("/stream")
    });
    // Nobody of the story has a token or a team.
    let all = all.filter(|(_, path, _)| !path.contains("{token}") && !path.contains("{team}"));
    let mut all: Vec<String> = all.map(|(_, path, _)| named(path)).collect();
    all.extend(["mcp", "yaml"].map(|f| format!("/api/v1/environments/staging/catalog?format={f}")));
    all.push("/api/v1/catalogs/shop/versions/2026.11.28?format=yaml".to_owned());
    all
}

#[tokio::test]
async fn whatever_is_read_is_sent_once_and_then_known_by_its_tag() {
    let app = seed::story().await;
    let webhook = json!({"name": "on-call", "url": "https://hooks.example.com/"});
    assert_eq!(answer(&app, post("/api/v1/webhooks", webhook)).await.status, 201);
    let check = json!({
        "environment": "production", "servers": [{"server": "orders", "listing": {"tools": []}}],
    });
    assert_eq!(answer(&app, post("/api/v1/checks", check)).await.status, 201);
    assert!(readable().len() > 15, "{:?}", readable());
    for path in readable() {
        let first = answer(&app, get(&path)).await;
        assert_eq!(first.status, 200, "{path}: {}", first.body);
        let tag = first.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.len() > 5, "{path}: {tag}");
        for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
            let again = answer(&app, get(&path).header("if-none-match", &known)).await;
            assert_eq!((again.status.as_u16(), again.header("etag")), (304, tag.as_str()), "{path} {known}");
        }
        assert_eq!(answer(&app, get(&path).header("if-none-match", "\"other\"")).await.status, 200, "{path}");
        let head = answer(&app, get(&path).method(Method::HEAD)).await;
        assert_eq!((head.status.as_u16(), head.header("etag")), (200, tag.as_str()), "HEAD {path}");
        let known = get(&path).method(Method::HEAD).header("if-none-match", &tag);
        assert_eq!(answer(&app, known).await.status, 304, "HEAD {path}");
    }
}

#[tokio::test]
async fn the_tag_of_an_environment_changes_with_all_that_it_shows() {
    let app = seed::story().await;
    let path = "/api/v1/environments/production";
    let before = answer(&app, get(path)).await.header("etag").to_owned();
    assert!(before.starts_with("\"3-"), "{before}");
    let release = post(&format!("{path}/release-hold"), json!({"reason": "mended"}));
    assert_eq!(answer(&app, release.header("if-match", &before)).await.status, 204);
    let after = answer(&app, get(path).header("if-none-match", &before)).await;
    assert_eq!(after.status, 200, "the hold is gone, so it shows something else");
    assert!(after.header("etag").starts_with("\"3-") && after.header("etag") != before);
}

#[tokio::test]
async fn a_draft_is_decided_on_only_as_it_was_read() {
    let app = seed::story().await;
    let approve = || post(&format!("{DRAFT}/approve"), json!({"reason": "moved", "acceptBreaking": true}));
    let reject = || post(&format!("{DRAFT}/reject"), json!({"reason": "no"}));
    let check = async |ask: Ask, status: u16, code: &str| {
        let answer = answer(&app, ask).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert!(answer.body.contains(&format!("\"code\":\"{code}\"")), "{}", answer.body);
    };
    for ask in [approve, reject as fn() -> Ask] {
        check(ask(), 428, "missing-if-match").await;
        check(ask().header("if-match", "\"other\""), 412, "stale-etag").await;
        for tag in ["*", "W/\"a\"", "4", "", "\"a\", b"] {
            check(ask().header("if-match", tag), 400, "invalid-if-match").await;
        }
    }
    let tag = answer(&app, get(DRAFT)).await.header("etag").to_owned();
    let several = format!("\"older\", {tag}");
    assert_eq!(answer(&app, reject().header("if-match", &several)).await.status, 200);
    check(approve().header("if-match", &tag), 412, "stale-etag").await;
    let now = answer(&app, get(DRAFT)).await.header("etag").to_owned();
    check(approve().header("if-match", &now), 409, "draft-decided").await;
}

#[tokio::test]
async fn a_request_has_a_name_that_its_answer_says() {
    let app = seed::empty().await;
    let named = async |id: &str| {
        let ask = get("/api/v1/nothing").header("x-request-id", id);
        answer(&app, ask).await.header("x-request-id").to_owned()
    };
    for id in ["4711", "a-b_c.d:e/f+g=", &"x".repeat(128)] {
        assert_eq!(named(id).await, id);
    }
    let mut made = Vec::new();
    for id in ["", "two words", "<b>", &"x".repeat(129)] {
        made.push(named(id).await);
    }
    made.push(answer(&app, get("/livez")).await.header("x-request-id").to_owned());
    for (at, id) in made.iter().enumerate() {
        assert!(id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert!(!made[..at].contains(id), "{id} came twice");
    }
}
